// Sizes, names and lists as they are shown.

export function size({ width, height }) { return `${width} × ${height} px`; }

export function megabytes(count) {
  return count < 1e6 ? `${Math.max(1, Math.round(count / 1000))} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

/** The photo's own name with the style's, without what some file system could not take. */
export function fileName(name, { blob, style }) {
  const stem = name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N} ._-]+/gu, "_").slice(0, 80) || "photo";
  const end = blob.type === "image/jpeg" ? "jpg" : blob.type.replace("image/", "");
  return `${stem}-${style ?? "anime"}.${end}`;
}

export function facts(element, first, ...rest) {
  const strong = document.createElement("b");
  strong.textContent = first;
  element.replaceChildren(strong, ...rest.map((text) => ` · ${text}`));
}

export function list(element, lines) {
  element.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}
