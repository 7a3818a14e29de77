// The page's flow: a photo comes in by any way, is converted at once, and is shown beside its picture.

import { facts, fileName, list, megabytes, size } from "./format.js";
import { inputs } from "./inputs.js";
import { PASSES, Problem } from "./messages.js";
import { convert, convertByUpload, pause } from "./send.js";
import { UNKNOWN, offered, wishes } from "./settings.js";
import { shrunk, tooLarge } from "./shrink.js";
import { slider } from "./slider.js";
import { draw, timings } from "./stages.js";

const BUSY_TRIES = 5; // waits that a server may ask for before that is an error
const LONGEST_WAIT_S = 120; // nobody looks at a countdown for longer
const OWN_FORMATS = { "image/jpeg": "jpeg", "image/png": "png", "image/webp": "webp" };
const BY_SETTINGS = new Set(["unknown_style", "invalid_parameter", "out_of_time", "not_configured"]); // other ones may help

const $ = (id) => document.getElementById(id);
const divider = slider($("view"), $("slider"));

let limits = UNKNOWN;
let photo = null; // {file, name, url, seen}; seen is its {width, height}, null where this browser cannot show it
let picture = null; // {url, wishes}
let running = null; // the AbortController of the conversion under way

// A photo comes in

function take(files, name = null) {
  const file = [...files].find((one) => one.type.startsWith("image/")) ?? files[0];
  if (!file) return;
  forget();
  const url = URL.createObjectURL(file);
  photo = { file, name: name ?? file.name, url, others: files.length - 1 };
  $("before").src = url;
  run();
}

/** Look at the photo, which takes seconds if it is large. */
async function look(signal) {
  const mine = photo;
  const seen = await $("before").decode().then(
    () => ({ width: $("before").naturalWidth, height: $("before").naturalHeight }),
    () => null,
  );
  signal.throwIfAborted();
  mine.seen = seen;
  show("busy");
}

function forget() {
  if (picture) URL.revokeObjectURL(picture.url);
  if (photo) URL.revokeObjectURL(photo.url);
  picture = null;
  for (const id of ["after", "slider", "tag-photo", "tag-picture", "stages", "again-row"]) $(id).hidden = true;
}

// Conversion

async function run() {
  running?.abort(); // one at a time, however often something is pressed
  const mine = (running = new AbortController());
  const wanted = wishes();
  const notes = photo.others > 0 ? [`One photo at a time: the first of ${photo.others + 1} was taken.`] : [];
  show("busy");
  const stopClock = clock();
  const tools = { signal: mine.signal, phase };
  try {
    if (photo.seen === undefined) await look(mine.signal);
    const done = await patiently(() => once(wanted, notes, tools), tools);
    await present(done, wanted, [...notes, ...done.warnings], mine.signal);
  } catch (error) {
    if (mine !== running) return; // another one has taken its place
    if (error.name === "AbortError") cancelled();
    else complain(problem(error));
  } finally {
    stopClock();
    if (mine === running) running = null;
  }
}

async function once(wanted, notes, tools) {
  const { file, seen } = photo;
  if (!tooLarge(file, seen, limits)) return convert(file, wanted, tools);
  if (!seen) {
    if (!limits.uploads) throw new Problem("payload_too_large", `This browser cannot make it smaller, and ${megabytes(limits.max_payload_bytes)} are taken here.`);
    notes.splice(0, Infinity, "Too large for one request, so it went through the upload bucket, which tells no stage times.");
    return convertByUpload(file, wanted, tools);
  }
  phase("Making it smaller");
  const small = await shrunk(file, limits);
  tools.signal.throwIfAborted();
  notes.splice(0, Infinity, `The photo (${size(seen)}, ${megabytes(file.size)}) was too large to send, so it went as ${size(small)}, ${megabytes(small.blob.size)}. The picture loses nothing by that: it has at most ${limits.max_side} px.`);
  const format = wanted.format ?? OWN_FORMATS[file.type] ?? "png";
  return convert(small.blob, { ...wanted, format }, tools);
}

/** Come back when a busy server says so, with a countdown. */
async function patiently(work, { signal }) {
  for (let left = BUSY_TRIES; ; left -= 1) {
    try { return await work(); } catch (problem) {
      const wait = problem.code === "busy" ? problem.retryAfter : null;
      if (wait === null || wait > LONGEST_WAIT_S || left === 0) throw problem;
      for (let seconds = wait; seconds > 0; seconds -= 1) {
        phase(`Busy. Trying again in ${seconds} s`, null, seconds === wait);
        await pause(1000, signal);
      }
    }
  }
}

async function present(done, wanted, notes, signal) {
  const url = URL.createObjectURL(done.blob);
  $("after").src = url;
  try { await $("after").decode(); } catch {
    picture = null; // the one before is not there any more to go back to
    throw new Problem("no_picture");
  }
  signal.throwIfAborted();
  if (picture) URL.revokeObjectURL(picture.url);
  picture = { url, wishes: JSON.stringify(wanted) };
  const made = { width: $("after").naturalWidth, height: $("after").naturalHeight };
  $("download").href = url;
  $("download").download = fileName(photo.name, done);
  facts($("facts"), size(made), done.blob.type.replace("image/", "").toUpperCase(), megabytes(done.blob.size));
  list($("notes"), notes);
  stages(done);
  show("done", made);
  announce(`Done. The picture has ${size(made)}.`);
  if (photo.seen) divider.reveal();
}

function stages(done) {
  const measured = done.parts ?? timings(done.timing);
  const { total = Object.values(measured).reduce((sum, ms) => sum + ms, 0), ...parts } = measured;
  draw($("bars"), parts, total);
  const way = done.parts ? null : Math.max(0, done.spent - total);
  const kept = !done.parts && !("inference" in parts); // the server gives the same picture for the same photo again
  const told = kept ? "It had been made before, and was kept." : "Measured by the server.";
  $("stages-note").textContent = done.parts ? "As measured here, in the browser." : `${told} There and back took ${Math.round(way)} ms more.`;
}

// What is seen

function show(state, made = photo?.seen) {
  const focused = document.activeElement;
  const done = state === "done";
  const split = done && Boolean(photo.seen);
  $("desk").dataset.state = state;
  $("view").style.setProperty("--ratio", made ? made.width / made.height : 1.5);
  $("view").classList.toggle("blind", !photo?.seen);
  $("view").hidden = state === "empty" || (state === "failed" && !photo?.seen);
  $("before").hidden = !photo?.seen;
  $("drop").hidden = state !== "empty" && !(state === "failed" && !photo?.seen);
  $("other").hidden = !$("drop").hidden;
  $("work").hidden = state !== "busy";
  $("problem").hidden = state !== "failed";
  $("result").hidden = !done;
  $("notes").hidden = !done || !$("notes").children.length;
  $("blind").hidden = done || photo?.seen !== null;
  $("after").hidden = !done;
  $("stages").hidden = !done;
  for (const id of ["slider", "tag-photo", "tag-picture"]) $(id).hidden = !split;
  changed();
  if (focused !== document.body && !focused.checkVisibility()) refocus(state);
}

/** What had the focus is gone: it goes on to what comes next, not to the top of the page. */
function refocus(state) {
  const order = { busy: ["cancel"], failed: ["retry", "other"], done: ["download"], empty: [] }[state];
  (order.map($).find((next) => next.checkVisibility()) ?? document.querySelector("#drop button")).focus();
}

function problem(error) { return error instanceof Problem ? error : new Problem("unknown", String(error)); }

function complain(problem) {
  $("problem-title").textContent = problem.title;
  $("problem-advice").textContent = problem.advice;
  $("problem-detail").textContent = problem.message ? `${problem.message} (${problem.code})` : `(${problem.code})`;
  $("problem").dataset.code = problem.code;
  $("retry").hidden = !PASSES.has(problem.code);
  show("failed");
}

function cancelled() {
  announce("Cancelled.");
  if (picture) show("done", { width: $("after").naturalWidth, height: $("after").naturalHeight });
  else { forget(); photo = null; show("empty"); }
}

function phase(text, share = null, aloud = true) {
  if (share === null) $("progress").removeAttribute("value");
  else $("progress").value = share;
  if ($("phase").textContent === text) return;
  $("phase").textContent = text;
  if (aloud) announce(text);
}

function clock() {
  const begun = performance.now();
  const tick = () => { $("elapsed").textContent = `${((performance.now() - begun) / 1000).toFixed(1)} s`; };
  const timer = setInterval(tick, 100);
  $("phase").textContent = "";
  phase("Reading the photo");
  tick();
  return () => clearInterval(timer);
}

function announce(text) { $("status").textContent = text; }

/** Settings that differ from those of the picture can be applied to it. */
function changed() {
  const state = $("desk").dataset.state;
  const other = state === "done" && picture?.wishes !== JSON.stringify(wishes());
  const applicable = photo && (other || (state === "failed" && BY_SETTINGS.has($("problem").dataset.code)));
  $("again-row").hidden = !applicable;
}

// Everything that is pressed

inputs(take);
$("cancel").addEventListener("click", () => running?.abort());
$("retry").addEventListener("click", () => (photo ? run() : location.reload()));
$("wishes").addEventListener("input", changed);
$("wishes").addEventListener("submit", (event) => { event.preventDefault(); if (photo) run(); });

try { limits = await offered(); } catch (error) { complain(problem(error)); }
document.documentElement.dataset.ready = "";
