// One drawing of panels above each other over the common frequency axis.
import { draw, html, linear, ticks } from "./svg.js";
import { gestures, zoomKey } from "./view.js";

export const LEFT = 62, RIGHT = 12;

export class Figure {
  constructor(holder, bench, label) {
    Object.assign(this, { bench, view: bench.view, holder });
    this.svg = draw(holder, "svg", { tabindex: "0", role: "group", "aria-label": label });
    this.box = html(holder, "div", { class: "tip", hidden: "" });
    gestures(this);
    this.svg.addEventListener("keydown", event => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (zoomKey(this.view, event.key) || this.key(event)) event.preventDefault();
    });
    this.view.listeners.push(() => this.draw());
    this.marker = null;
    new ResizeObserver(() => this.draw()).observe(holder);
  }
  key() { return false; }
  click() { this.svg.focus({ preventScroll: true }); }
  get left() { return LEFT; }
  get right() { return this.width - RIGHT; }
  hertz(x) { return linear(this.left, this.right, this.view.from, this.view.to)(Math.min(Math.max(x, this.left), this.right)); }

  // clears the drawing and returns the scale of frequencies; ``inner`` is clipped to the axes
  begin(height) {
    this.width = this.holder.clientWidth;
    this.height = height;
    if (this.width < 120) return null;
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren();
    this.x = linear(this.view.from, this.view.to, this.left, this.right);
    return this.x;
  }

  // frame of a panel: y ticks as [[value, text]], grid, label; air: pixels by which its contents may exceed it
  panel(top, bottom, y, marks, label, air = 0) {
    const group = draw(this.svg, "g");
    for (const [value, text] of marks) {
      const at = y(value);
      draw(group, "line", { class: "grid", x1: this.left, x2: this.right, y1: at, y2: at });
      draw(group, "text", { class: "tick", x: this.left - 7, y: at + 3.5, "text-anchor": "end" }, text);
    }
    for (const f of this.marks()) draw(group, "line", { class: "grid", x1: this.x(f), x2: this.x(f), y1: top, y2: bottom });
    draw(group, "line", { class: "axis", x1: this.left, x2: this.left, y1: top, y2: bottom });
    draw(group, "line", { class: "axis", x1: this.left, x2: this.right, y1: bottom, y2: bottom });
    const middle = 0.5 * (top + bottom);
    draw(group, "text", { class: "name", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, label);
    const id = `clip${(Figure.count = (Figure.count || 0) + 1)}`;
    draw(draw(group, "clipPath", { id }), "rect", { x: this.left - air, y: top - air, width: this.right - this.left + 2 * air, height: bottom - top + 2 * air });
    return draw(this.svg, "g", { "clip-path": `url(#${id})` });
  }
  marks() { return ticks(this.view.from, this.view.to, (this.right - this.left) / 72); }
  bottom(at, label = true) {
    for (const f of this.marks()) draw(this.svg, "text", { class: "tick", x: this.x(f), y: at + 15, "text-anchor": "middle" }, String(f));
    if (label) draw(this.svg, "text", { class: "name", x: 0.5 * (this.left + this.right), y: at + 31, "text-anchor": "middle" }, "frequency [Hz]");
  }

  // the band that a drag spans
  band(ends) {
    if (this.span) this.span.remove();
    this.span = null;
    if (!ends) return;
    const [a, b] = ends.map(one => Math.min(Math.max(one, this.left), this.right));
    this.span = draw(this.svg, "rect", { class: "span", x: Math.min(a, b), width: Math.abs(b - a), y: 4, height: this.height - 8 });
  }

  // a vertical line at a frequency, linked over the figures
  line(hz, top, bottom) {
    if (this.marker) this.marker.remove();
    this.marker = null;
    if (hz === null || !this.x || hz < this.view.from || hz > this.view.to) return;
    this.marker = draw(this.svg, "line", { class: "cursor", x1: this.x(hz), x2: this.x(hz), y1: top, y2: bottom });
  }

  // values beside a point, inside the figure; rows of [name, value]
  tip(rows, x, y) {
    const { box } = this;
    box.replaceChildren();
    for (const [name, value] of rows) { html(box, "b", {}, name); html(box, "span", {}, value); }
    box.hidden = false;
    const wide = box.offsetWidth, high = box.offsetHeight;
    box.style.left = `${x + 16 + wide > this.width ? Math.max(2, x - 14 - wide) : x + 16}px`;
    box.style.top = `${Math.max(2, Math.min(y - 0.5 * high, this.height - high - 2))}px`;
  }
  leave() { this.box.hidden = true; }
}
