// Ways in for a photo: the file dialog, the camera, the clipboard, a drop anywhere on the page.

const $ = (id) => document.getElementById(id);

/** Call `take(files, name)` with the files of whatever way they came; `name` where they have none of their own. */
export function inputs(take) {
  pickers(take);
  addEventListener("paste", ({ clipboardData }) => {
    if (clipboardData?.files.length) take([...clipboardData.files], "pasted");
  });
  drops(take);
  // Touch screens have cameras, and nothing to drop from.
  const mouse = matchMedia("(min-width: 64rem) and (any-pointer: fine)").matches;
  document.body.classList.toggle("touching", navigator.maxTouchPoints > 0 && !mouse);
  if (/Mac|iPhone|iPad/.test(navigator.platform)) document.querySelector("#hint kbd").textContent = "⌘";
}

function pickers(take) {
  for (const button of document.querySelectorAll("[data-pick]")) {
    button.addEventListener("click", () => $(button.dataset.pick).click());
  }
  for (const id of ["file", "camera"]) {
    $(id).addEventListener("change", ({ target }) => {
      take([...target.files]);
      target.value = ""; // so that the same file can be chosen again
    });
  }
}

function drops(take) {
  let depth = 0; // dragenter and dragleave come for every element on the way
  const over = (to) => {
    depth = Math.max(0, to);
    document.body.classList.toggle("dragging", depth > 0);
  };
  const on = (kind, act) => addEventListener(kind, (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    act(event);
  });
  on("dragenter", () => over(depth + 1));
  on("dragleave", () => over(depth - 1));
  on("dragover", () => {});
  on("drop", ({ dataTransfer }) => {
    over(0);
    take([...dataTransfer.files]);
  });
}
