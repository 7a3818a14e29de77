// The divider between photo and picture: pointer, touch, arrow keys, Page Up and Down, Home, End.

const STEPS = { ArrowLeft: -2, ArrowDown: -2, ArrowRight: 2, ArrowUp: 2, PageDown: -10, PageUp: 10, Home: -100, End: 100 };
const REVEAL_MS = 1100;

export function slider(view, divider) {
  let at = 50;
  let showing = 0; // the animation that is under way

  function move(to) {
    at = Math.min(100, Math.max(0, to));
    view.style.setProperty("--at", `${at}%`);
    divider.setAttribute("aria-valuenow", Math.round(at));
    divider.setAttribute("aria-valuetext", `${Math.round(at)} % photo, ${100 - Math.round(at)} % picture`);
  }

  function grab(to) {
    cancelAnimationFrame(showing);
    move(to);
  }

  function follow(event) {
    const box = view.getBoundingClientRect();
    grab(((event.clientX - box.left) / box.width) * 100);
  }

  view.addEventListener("pointerdown", (event) => {
    if (divider.hidden || event.button !== 0) return;
    view.setPointerCapture(event.pointerId);
    follow(event);
    divider.focus({ preventScroll: true, focusVisible: false });
    event.preventDefault();
  });
  view.addEventListener("pointermove", (event) => {
    if (view.hasPointerCapture(event.pointerId)) follow(event);
  });
  divider.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    grab(Math.round(at) + step);
    event.preventDefault();
  });

  /** Wipe from the photo to half of each, once; at once where motion is unwelcome. */
  function reveal() {
    cancelAnimationFrame(showing);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { move(50); return; }
    const begun = performance.now();
    const step = (now) => {
      const part = Math.min(1, (now - begun) / REVEAL_MS);
      move(100 - 50 * (1 - (1 - part) ** 3));
      if (part < 1) showing = requestAnimationFrame(step);
    };
    move(100);
    showing = requestAnimationFrame(step);
  }

  return { reveal };
}
