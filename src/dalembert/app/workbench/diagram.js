// The stabilization diagram: poles over growing orders, by class and stability; a click chooses a pole.
import { digits, percent } from "./data.js";
import { Figure } from "./figure.js";
import { draw, linear, path, ticks } from "./svg.js";

const REACH = 13; // largest distance [pixels] at which the pointer selects a pole
const NAMES = 20; // pixels between the names of two modes

export class Diagram extends Figure {
  constructor(holder, bench, live) {
    super(holder, bench, "Stabilization diagram: poles over the order of the model. Keys: arrows move from pole to pole, Enter or Space chooses, plus and minus zoom, 0 shows the band.");
    this.live = live;
    this.cursor = null;
    bench.listeners.push(what => (what === "all" ? this.draw() : this.aim()));
    this.svg.addEventListener("focus", () => { if (this.cursor === null && this.svg.matches(":focus-visible")) this.go(this.first()); });
    this.svg.addEventListener("blur", () => { this.cursor = null; this.leave(); });
    this.draw();
  }

  draw() {
    const { bench } = this, orders = bench.poles.map(one => one.order), top = this.room(), high = this.holder.clientWidth < 560 ? 260 : 330;
    const x = this.begin(top + high + 40);
    if (!x) return;
    this.last = Math.max(...orders);
    this.y = linear(Math.min(...orders) - 1.5, this.last + 1.5, top + high, top);
    this.top = top; this.foot = top + high;
    const inner = this.panel(top, top + high, this.y, ticks(0, this.last, 7).filter(n => n >= Math.min(...orders)).map(n => [n, String(n)]), "order (number of states)", 6);
    this.backdrop(inner, top, high);
    this.columns(inner);
    for (const one of bench.poles) {
      if (one.hz < this.view.from || one.hz > this.view.to) continue;
      this.glyph(inner, one);
    }
    for (const one of bench.chosenList()) draw(inner, "circle", { class: "ring", cx: x(one.hz), cy: this.y(one.order), r: 8 });
    this.halo = draw(inner, "circle", { class: "halo", r: 11, hidden: "" });
    this.bottom(top + high);
    this.aim();
  }

  // the sum of all measured responses behind the poles, with its peaks at the columns of poles
  backdrop(inner, top, high) {
    const { response } = this.bench.data;
    if (!response) return;
    const { hz, sum } = response;
    let low = Infinity, up = -Infinity;
    for (let k = 0; k < hz.length; k++) if (hz[k] >= this.view.from && hz[k] <= this.view.to && isFinite(sum[k])) { low = Math.min(low, sum[k]); up = Math.max(up, sum[k]); }
    if (!(up > low)) return;
    const y = linear(low, up, top + high - 4, top + 0.12 * high);
    draw(inner, "path", { class: "backdrop", d: path(k => this.x(hz[k]), k => y(sum[k]), 0, hz.length, this.left, this.right) });
  }

  named() { return this.bench.modes.filter(one => one.class !== "of the fit only" && one.hz >= this.view.from && one.hz <= this.view.to); }
  // names are vertical where they would overlap, at distances larger than their height
  room() { return this.named().length ? 78 : 14; }
  columns(inner) {
    const shown = this.named();
    const most = Math.floor((this.right - this.left) / NAMES);
    const order = { sound: 0, chosen: 0, uncertain: 1 };
    const named = [...shown].sort((a, b) => (order[a.class] ?? 2) - (order[b.class] ?? 2)).slice(0, most).sort((a, b) => a.hz - b.hz);
    const places = apart(named.map(one => this.x(one.hz)), NAMES, this.left + 4, this.right - 4);
    for (const one of shown) draw(inner, "line", { class: `column ${kind(one.class)}`, x1: this.x(one.hz), x2: this.x(one.hz), y1: this.top, y2: this.foot });
    named.forEach((one, k) => {
      const at = this.x(one.hz), to = places[k];
      draw(this.svg, "path", { class: `lead ${kind(one.class)}`, d: `M${at} ${this.top}L${to} ${this.top - 10}` });
      const text = draw(this.svg, "text", { class: "mode", transform: `translate(${to + 4} ${this.top - 14}) rotate(-90)` }, `${digits(one.hz)} Hz`);
      draw(text, "title", {}, `mode ${one.number}, ${one.class || "found"}`);
    });
  }

  glyph(inner, one) {
    const cx = this.x(one.hz), cy = this.y(one.order), look = `${one.class ? kind(one.class) : "none"} label${one.label}${one.outside ? " outside" : ""}`;
    if (one.label === 3) draw(inner, "circle", { class: look, cx, cy, r: 4 });
    else if (one.label === 2) draw(inner, "rect", { class: look, x: cx - 3, y: cy - 3, width: 6, height: 6 });
    else if (one.label === 1) draw(inner, "path", { class: look, d: `M${cx} ${cy + 3.6}l-3.8 -6.6h7.6z` });
    else draw(inner, "circle", { class: look, cx, cy, r: 1.7 });
  }

  ends() { return [this.top, this.foot]; }

  // ---- pointing and choosing

  near(event) {
    const box = this.svg.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = REACH;
    for (const one of this.bench.poles) {
      if (one.hz < this.view.from || one.hz > this.view.to) continue;
      const far = Math.hypot(this.x(one.hz) - px, this.y(one.order) - py);
      if (far < least) { best = one; least = far; }
    }
    return best;
  }
  point(event) {
    const found = this.near(event);
    this.svg.style.cursor = found ? "pointer" : "crosshair";
    if (!found) this.leave(); else this.bench.point(found);
    this.bench.cursor(found ? found.hz : this.hertz(event.clientX - this.svg.getBoundingClientRect().left), this);
  }
  leave() {
    super.leave();
    this.bench.cursor(null, this);
    if (this.bench.pointed && this.cursor === null) this.bench.point(null);
  }
  click(event) {
    super.click(event);
    const found = this.near(event);
    if (!found) return;
    this.cursor = found.pole;
    this.choose(found);
  }
  choose(one) {
    const done = this.bench.toggle(one.pole), words = this.bench.chosen.has(one.pole) ? "chosen" : "no longer chosen";
    this.live.textContent = done ? `${digits(one.hz, 5)} Hz at order ${one.order} ${words}; ${this.bench.chosen.size} chosen` : "outside the excited band: it cannot be chosen";
  }
  aim() {
    const one = this.bench.pointed;
    if (!this.halo) return;
    const here = one && one.pole !== undefined && one.hz >= this.view.from && one.hz <= this.view.to;
    this.halo.toggleAttribute("hidden", !here);
    this.line(one ? one.hz : null, this.top, this.foot);
    if (!here) { this.box.hidden = true; return; }
    const x = this.x(one.hz), y = this.y(one.order);
    this.halo.setAttribute("cx", x); this.halo.setAttribute("cy", y);
    this.tip(describe(one, this.bench), x, y);
  }

  // ---- keys

  first() {
    const chosen = this.bench.chosenList()[0];
    const seen = this.bench.poles.filter(one => one.hz >= this.view.from && one.hz <= this.view.to);
    return chosen && seen.includes(chosen) ? chosen : seen[seen.length - 1];
  }
  go(one) {
    if (!one) return;
    this.cursor = one.pole;
    this.bench.point(one);
    this.live.textContent = describe(one, this.bench).map(([name, value]) => `${name} ${value}`).join(", ");
  }
  key(event) {
    const { bench } = this, now = bench.poles[this.cursor ?? -1];
    if (event.key === "Escape") { this.cursor = null; this.leave(); return true; }
    if ((event.key === "Enter" || event.key === " ") && now) { this.choose(now); return true; }
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step) return false;
    if (!now) { this.go(this.first()); return true; }
    const seen = bench.poles.filter(one => one.hz >= this.view.from && one.hz <= this.view.to);
    const ahead = step[0]
      ? seen.filter(one => one.order === now.order && step[0] * (one.hz - now.hz) > 0).sort((a, b) => step[0] * (a.hz - b.hz))
      : seen.filter(one => step[1] * (one.order - now.order) > 0).sort((a, b) => step[1] * (a.order - b.order) || Math.abs(a.hz - now.hz) - Math.abs(b.hz - now.hz));
    this.go(ahead[0]);
    return true;
  }
}

const kind = name => ({ sound: "sound", chosen: "sound", uncertain: "uncertain", "of the fit only": "spurious" })[name] || "none";

export function describe(one, bench) {
  const rows = [["frequency", `${digits(one.hz, 5)} Hz`], ["damping", percent(one.damping)]];
  if (one.order !== undefined) rows.push(["order", String(one.order)], ["MAC with the order before", one.mac > 0 ? one.mac.toFixed(3) : "–"]);
  rows.push(["phase collinearity", one.mpc.toFixed(3)]);
  if (one.label !== undefined) rows.push(["over the orders", bench.data.labels[one.label]]);
  rows.push(["class", one.class ? (one.pole !== undefined ? `of a mode that is ${one.class}` : one.class) : "of no mode of the model"]);
  if (one.outside) rows.push(["band", "outside: cannot be chosen"]);
  return rows;
}

// places near the wanted ones, ascending, at least ``gap`` apart and within the ends
export function apart(wanted, gap, low, high) {
  const blocks = [];
  wanted.forEach(place => {
    blocks.push({ sum: place, count: 1, places: 1 });
    // overlapping neighbours share the mean of their wanted places
    while (blocks.length > 1) {
      const b = blocks[blocks.length - 1], a = blocks[blocks.length - 2];
      const ma = a.sum / a.count, mb = b.sum / b.count;
      if (mb - ma >= (0.5 * (a.places + b.places)) * gap) break;
      blocks.splice(-2, 2, { sum: a.sum + b.sum, count: a.count + b.count, places: a.places + b.places });
    }
  });
  const found = [];
  for (const block of blocks) {
    const half = 0.5 * (block.places - 1) * gap, middle = Math.min(Math.max(block.sum / block.count, low + half), high - half);
    for (let k = 0; k < block.places; k++) found.push(middle - half + k * gap);
  }
  // the limits at the ends may have made blocks overlap
  for (let k = 1; k < found.length; k++) found[k] = Math.max(found[k], found[k - 1] + gap);
  for (let k = found.length - 1; k >= 0; k--) found[k] = Math.min(found[k], high - (found.length - 1 - k) * gap);
  return found;
}
