// Photos over the limits, made smaller in the browser. The server makes them no larger than its longest side anyway.

import { Problem } from "./messages.js";

const SIDES = [2, 1.5, 1]; // times the longest side of a result: twice leaves the fine scaling to the server
const QUALITIES = [0.95, 0.85, 0.75];
const MAYBE_TRANSPARENT = new Set(["image/png", "image/webp", "image/gif", "image/avif"]);

/** Whether a photo has to be made smaller. `seen` is its {width, height}, or null where this browser can't show it. */
export function tooLarge(file, seen, limits) {
  return file.size > limits.max_payload_bytes || Boolean(seen && seen.width * seen.height > limits.max_input_pixels);
}

/** The photo as a Blob within the limits, upright and in sRGB. Rejects with Problem if this browser can't do it. */
export async function shrunk(file, limits) {
  let bitmap;
  try { bitmap = await createImageBitmap(file, { imageOrientation: "from-image" }); } catch { throw new Problem("payload_too_large"); }
  try {
    const transparent = MAYBE_TRANSPARENT.has(file.type) && isTransparent(scaled(bitmap, 256));
    for (const times of SIDES) {
      const canvas = scaled(bitmap, Math.round(limits.max_side * times));
      for (const quality of QUALITIES) {
        const blob = await encoded(canvas, transparent ? "image/webp" : "image/jpeg", quality);
        if (blob && blob.size <= limits.max_payload_bytes) return { blob, width: canvas.width, height: canvas.height };
      }
    }
  } finally {
    bitmap.close();
  }
  throw new Problem("payload_too_large");
}

/** A canvas of at most `side` pixels, by halves first: one large step would skip pixels. */
function scaled(image, side) {
  let from = image;
  while (Math.max(from.width, from.height) > 2 * side) from = drawn(from, 0.5);
  return drawn(from, Math.min(1, side / Math.max(from.width, from.height)));
}

function drawn(image, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function isTransparent(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 3; at < data.length; at += 4) if (data[at] < 255) return true;
  return false;
}

function encoded(canvas, type, quality) {
  return new Promise((resolve) => canvas.toBlob(resolve, type, quality));
}
