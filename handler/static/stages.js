// Bars of what took how long, from the Server-Timing header (W3C): name;dur=milliseconds, …

const NAMES = {
  queue: "Waiting for its turn",
  decode: "Reading the photo",
  preprocess: "Making it fit",
  face: "Finding faces",
  inference: "Painting",
  postprocess: "Trimming",
  encode: "Saving the picture",
  upload: "Uploading",
  convert: "Waiting and painting",
  fetch: "Fetching the picture",
  way: "There and back",
};

/** Stage -> milliseconds, in the header's order. */
export function timings(header) {
  const found = header.matchAll(/([\w-]+)\s*;[^,]*?dur=([\d.]+)/g);
  return Object.fromEntries([...found].map(([, name, spent]) => [name, Number(spent)]));
}

/** Draw a row per stage and one for `total`; bars are shares of it. */
export function draw(list, stages, total) {
  const rows = Object.entries(stages).map(([stage, ms]) => row(stage, NAMES[stage] ?? stage, ms, total));
  const sum = row("total", "Altogether", total, null);
  sum.className = "total";
  list.replaceChildren(...rows, sum);
}

function row(stage, name, ms, total) {
  const item = document.createElement("li");
  item.dataset.stage = stage;
  item.dataset.ms = ms;
  item.append(span("name", name), span("ms", said(ms)));
  if (total !== null) {
    const bar = span("bar", "");
    bar.style.setProperty("--share", `${total ? Math.min(100, (ms / total) * 100) : 0}%`);
    item.append(bar);
  }
  return item;
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

function said(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
