// A photo on its way: as base64 in JSON, which every gateway carries, or through the upload bucket.

import { Problem, problemOf } from "./messages.js";

const POLL_MS = 1000;
const PATIENCE_MS = 5 * 60 * 1000;
const TYPES = { heic: "image/heic", heif: "image/heif", avif: "image/avif", tif: "image/tiff", tiff: "image/tiff", bmp: "image/bmp" };

/** Ask the server, or the bucket where `url` is absolute. Answers {document, timing}; rejects with Problem or AbortError. */
function ask({ method, url, body = null, type = null, signal, sending = () => {} }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch() does not tell how much of a body has gone
    const bucket = /^https?:/.test(url);
    const header = (name) => (bucket ? null : request.getResponseHeader(name)); // others' are not for our eyes
    const abort = () => request.abort();
    request.open(method, url);
    request.setRequestHeader("Accept", "application/json");
    if (type) request.setRequestHeader("Content-Type", type);
    if (body) request.upload.onprogress = ({ loaded, total }) => sending(total ? loaded / total : 0);
    if (body) request.upload.onload = () => sending(1);
    request.onerror = () => reject(new Problem(bucket ? "bucket_closed" : "unreachable"));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.onloadend = () => signal.removeEventListener("abort", abort);
    request.onload = () => {
      const document = parsed(request.responseText);
      const ok = request.status >= 200 && request.status < 300;
      if (ok) resolve({ document, timing: header("Server-Timing") ?? "" });
      else if (bucket) reject(new Problem("storage_refused", `It answered ${request.status}.`));
      else reject(problemOf(request.status, document, header("Retry-After")));
    };
    if (signal.aborted) { reject(new DOMException("cancelled", "AbortError")); return; }
    signal.addEventListener("abort", abort);
    request.send(body);
  });
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return null; }
}

/** The styles and limits of this server. */
export async function known() {
  const { document } = await ask({ method: "GET", url: "styles", signal: new AbortController().signal });
  if (!document?.styles) throw new Problem("not_ours");
  return document;
}

/** Convert `photo` (a Blob) at once. Answers {blob, width, height, style, warnings, timing, spent}. */
export async function convert(photo, wishes, { signal, phase }) {
  const image = await base64(photo);
  const begun = performance.now();
  const sending = (share) => (share < 1 ? phase("Sending the photo", share) : phase("Painting"));
  phase("Sending the photo", 0);
  const body = JSON.stringify({ image, ...wishes });
  const { document: said, timing } = await ask({ method: "POST", url: "convert", body, type: "application/json", signal, sending });
  const spent = performance.now() - begun;
  return { ...said, blob: pictureOf(said), warnings: said.warnings ?? [], timing, spent };
}

/** Convert `photo` (a File) through the upload bucket. Answers {blob, style, warnings, parts}, parts in ms. */
export async function convertByUpload(photo, wishes, { signal, phase }) {
  const content_type = typeOf(photo);
  const begun = performance.now();
  phase("Sending the photo", 0);
  const { document: form } = await ask({ method: "POST", url: "uploads", type: "application/json", signal, body: JSON.stringify({ content_type, ...wishes }) });
  if (photo.size > form.max_bytes) throw new Problem("payload_too_large");
  const fields = new FormData();
  for (const [name, value] of Object.entries(form.fields)) fields.append(name, value);
  fields.append("file", photo); // last, as S3 wants it
  await ask({ method: "POST", url: form.url, body: fields, signal, sending: (share) => phase("Sending the photo", share) });
  const sent = performance.now();
  phase("Painting");
  const url = await finished(form.id, signal);
  const done = performance.now();
  phase("Fetching the picture");
  const blob = await fetched(url, signal);
  const parts = { upload: sent - begun, convert: done - sent, fetch: performance.now() - done };
  return { blob, style: wishes.style, warnings: [], parts };
}

async function finished(id, signal) {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const { document: said } = await ask({ method: "GET", url: `uploads/${id}`, signal });
    if (said.status === "done") return said.url;
    if (said.status === "failed") throw new Problem(said.code, said.detail);
    await pause(POLL_MS, signal);
  }
  throw new Problem("too_slow");
}

async function fetched(url, signal) {
  let answer;
  try { answer = await fetch(url, { signal }); } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("bucket_closed");
  }
  if (!answer.ok) throw new Problem("storage_refused", `It answered ${answer.status}.`);
  return answer.blob();
}

/** Resolves after `ms`, or rejects when cancelled. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(() => { signal.removeEventListener("abort", stop); resolve(); }, ms);
    const stop = () => { clearTimeout(timer); reject(new DOMException("cancelled", "AbortError")); };
    signal.addEventListener("abort", stop, { once: true });
  });
}

function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Problem("unreadable_file"));
    reader.readAsDataURL(blob);
  });
}

function pictureOf(said) {
  if (typeof said?.image !== "string") throw new Problem("not_ours");
  try { return new Blob([bytes(said.image)], { type: `image/${said.format}` }); } catch { throw new Problem("no_picture"); }
}

function bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function typeOf(photo) {
  if (photo.type.startsWith("image/")) return photo.type;
  return TYPES[photo.name.split(".").pop().toLowerCase()] ?? "image/jpeg";
}
