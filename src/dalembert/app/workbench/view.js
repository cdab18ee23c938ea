// The range of frequencies that all figures share, and the gestures that change it.

export class View {
  constructor(full, band) {
    this.full = full;
    this.home = [Math.max(band[0], full[0]), Math.min(band[1], full[1])];
    [this.from, this.to] = this.home;
    this.listeners = [];
  }
  set(from, to) {
    if (to < from) [from, to] = [to, from];
    const least = 2e-5 * (this.full[1] - this.full[0]);
    if (!(to - from >= least)) return;
    [this.from, this.to] = [Math.max(from, this.full[0]), Math.min(to, this.full[1])];
    this.listeners.forEach(one => one());
  }
  about(at, factor) { this.set(at - (at - this.from) * factor, at + (this.to - at) * factor); }
  shift(part) {
    const wide = this.to - this.from, from = Math.min(Math.max(this.from + part * wide, this.full[0]), this.full[1] - wide);
    this.set(from, from + wide);
  }
  reset() { this.set(...this.home); }
}

// Pointer and wheel on a figure. ``figure`` has ``svg``, ``view``, ``left``, ``right`` (pixels of its axes),
// ``hertz(x)``, ``point(event)`` (hover), ``leave()`` and ``click(event)``.
export function gestures(figure) {
  const { svg, view } = figure;
  const fingers = new Map();
  let how = null, first = 0, began = null, spread = null;
  const x = event => event.clientX - svg.getBoundingClientRect().left;
  svg.addEventListener("pointerdown", event => {
    if (event.button > 1) return;
    svg.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, x(event));
    first = x(event);
    began = [view.from, view.to];
    how = event.shiftKey || event.button === 1 ? "pan" : "click";
    if (fingers.size === 2) { how = "pinch"; spread = [...fingers.values()].map(one => figure.hertz(one)); figure.band(null); }
  });
  svg.addEventListener("pointermove", event => {
    if (!how) { figure.point(event); return; }
    fingers.set(event.pointerId, x(event));
    if (how === "click" && Math.abs(x(event) - first) > 5) { how = "zoom"; figure.leave(); }
    if (how === "zoom") figure.band([first, x(event)]);
    if (how === "pan") {
      const part = (first - x(event)) / (figure.right - figure.left), wide = began[1] - began[0];
      const from = Math.min(Math.max(began[0] + part * wide, view.full[0]), view.full[1] - wide);
      view.set(from, from + wide);
    }
    if (how === "pinch" && fingers.size === 2) {
      const [a, b] = [...fingers.values()], rate = (spread[1] - spread[0]) / (b - a);
      if (Math.abs(b - a) > 12 && isFinite(rate) && rate > 0) view.set(spread[0] - (a - figure.left) * rate, spread[0] + (figure.right - a) * rate);
    }
  });
  const done = event => {
    fingers.delete(event.pointerId);
    figure.band(null);
    if (how === "click" && event.type === "pointerup") figure.click(event);
    if (how === "zoom" && event.type === "pointerup") view.set(figure.hertz(first), figure.hertz(x(event)));
    if (!fingers.size) how = null;
  };
  svg.addEventListener("pointerup", done);
  svg.addEventListener("pointercancel", done);
  svg.addEventListener("pointerleave", () => { if (!how) figure.leave(); });
  svg.addEventListener("dblclick", () => view.reset());
  svg.addEventListener("wheel", event => {
    // a page scrolls with its wheel; over a figure that was clicked before, or with Ctrl, the wheel zooms
    if (!event.ctrlKey && document.activeElement !== svg) return;
    event.preventDefault();
    view.about(figure.hertz(x(event)), Math.exp(Math.max(-0.5, Math.min(0.5, 0.002 * event.deltaY))));
  }, { passive: false });
}

// Keys that all figures take; true where the key was one of them.
export function zoomKey(view, key) {
  const middle = 0.5 * (view.from + view.to);
  if (key === "+" || key === "=") view.about(middle, 0.6);
  else if (key === "-") view.about(middle, 1 / 0.6);
  else if (key === "0" || key === "Home") view.reset();
  else if (key === "[" || key === "PageUp") view.shift(-0.25);
  else if (key === "]" || key === "PageDown") view.shift(0.25);
  else return false;
  return true;
}
