// The shape of the mode that is pointed at: places that move along the directions of their channels where the places
// are known, else its components at the outputs.
import { digits, percent } from "./data.js";
import { draw } from "./svg.js";

const SIZE = 260, REACH = 0.2, PERIOD = 1600; // pixels; largest displacement over the size of the scene; ms

export class Shape {
  constructor(holder, bench) {
    Object.assign(this, { bench, holder, turn: [-0.62, 0.42], playing: !matchMedia("(prefers-reduced-motion: reduce)").matches });
    this.title = document.createElement("p");
    this.svg = draw(null, "svg", { role: "img" });
    this.play = document.createElement("button");
    Object.assign(this.play, { type: "button", className: "play" });
    this.play.addEventListener("click", () => { this.playing = !this.playing; this.label(); this.tick(performance.now()); });
    holder.append(this.title, this.svg, this.play);
    this.places = bench.data.places;
    this.play.hidden = !this.places;
    if (this.places) this.prepare();
    bench.listeners.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(holder);
    this.label();
    this.draw();
  }
  label() { this.play.textContent = this.playing ? "hold" : "play"; this.play.setAttribute("aria-pressed", String(!this.playing)); }

  prepare() {
    const { spots } = this.places, axes = [0, 1, 2].map(k => spots.map(spot => spot.at[k]));
    const moves = [0, 1, 2].map(k => spots.some(spot => spot.moves.some(([, axis]) => axis === k)));
    this.middle = axes.map(values => 0.5 * (Math.min(...values) + Math.max(...values)));
    this.extent = Math.hypot(...axes.map(values => Math.max(...values) - Math.min(...values))) || 1;
    const flat = axes[2].every(z => z === axes[2][0]) && !moves[2];
    this.flat = flat; // x to the right, y up, seen from the front
    if (flat) this.turn = [0, 0];
    this.svg.style.touchAction = "pan-y";
    this.svg.style.cursor = flat ? "default" : "grab";
    let from = null;
    this.svg.addEventListener("pointerdown", event => { if (!flat) { from = [event.clientX, event.clientY, ...this.turn]; this.svg.setPointerCapture(event.pointerId); } });
    this.svg.addEventListener("pointermove", event => {
      if (!from) return;
      this.turn = [from[2] + 0.01 * (event.clientX - from[0]), Math.min(1.5, Math.max(-1.5, from[3] + 0.01 * (event.clientY - from[1])))];
      this.tick(performance.now());
    });
    for (const kind of ["pointerup", "pointercancel"]) this.svg.addEventListener(kind, () => { from = null; });
  }

  draw() {
    const one = this.bench.shown, { svg } = this;
    const wide = Math.min(this.holder.clientWidth || SIZE, 420);
    svg.setAttribute("width", wide);
    svg.setAttribute("height", this.places ? SIZE : this.bars(one, wide, true));
    svg.replaceChildren();
    this.wide = wide;
    if (!one) { this.title.textContent = "Point at a pole to see its shape."; return; }
    this.title.textContent = `Shape at ${digits(one.hz, 5)} Hz, damping ${percent(one.damping)}${one.order === undefined ? `, mode ${one.number} of the model` : `, order ${one.order}`}`;
    svg.setAttribute("aria-label", this.title.textContent);
    if (!this.places) { this.bars(one, wide); return; }
    const { spots, lines } = this.places;
    this.still = lines.map(() => draw(svg, "line", { class: "rest" }));
    this.lines = lines.map(() => draw(svg, "line", { class: "moved" }));
    this.dots = spots.map(spot => draw(svg, spot.moves.length ? "circle" : "rect", spot.moves.length ? { class: "spot", r: 4 } : { class: "fixed", width: 8, height: 8 }));
    this.names = spots.length <= 14 ? spots.map(spot => draw(svg, "text", { class: "tick" }, spot.name)) : [];
    const largest = Math.max(...spots.map(spot => Math.hypot(...this.displace(spot, one, 0), ...this.displace(spot, one, Math.PI / 2))), 1e-300);
    this.scale = (REACH * this.extent) / largest;
    this.tick(performance.now());
  }

  // displacement of a spot at a phase angle: a weighted sum of channels
  displace(spot, one, angle) {
    const found = [0, 0, 0], c = Math.cos(angle), s = Math.sin(angle);
    for (const [channel, axis, weight] of spot.moves) found[axis] += weight * (one.shape.re[channel] * c - one.shape.im[channel] * s);
    return found;
  }
  project([x, y, z]) {
    const [a, b] = this.turn, scale = (0.62 * Math.min(this.wide, SIZE)) / this.extent;
    const px = x - this.middle[0], py = y - this.middle[1], pz = z - this.middle[2];
    if (this.flat) return [0.5 * this.wide + scale * px, 0.5 * SIZE - scale * py];
    const u = px * Math.cos(a) - py * Math.sin(a), depth = px * Math.sin(a) + py * Math.cos(a);
    return [0.5 * this.wide + scale * u, 0.5 * SIZE - scale * (pz * Math.cos(b) + depth * Math.sin(b))];
  }
  tick(now) {
    cancelAnimationFrame(this.frame);
    const one = this.bench.shown;
    if (!one || !this.places || !this.dots) return;
    const { spots, lines } = this.places, angle = this.playing ? (2 * Math.PI * (now % PERIOD)) / PERIOD : 0;
    const rest = spots.map(spot => this.project(spot.at));
    const moved = spots.map(spot => { const d = this.displace(spot, one, angle); return this.project(spot.at.map((p, k) => p + this.scale * d[k])); });
    const set = (line, [i, j], at) => { line.setAttribute("x1", at[i][0]); line.setAttribute("y1", at[i][1]); line.setAttribute("x2", at[j][0]); line.setAttribute("y2", at[j][1]); };
    lines.forEach((pair, k) => { set(this.still[k], pair, rest); set(this.lines[k], pair, moved); });
    spots.forEach((spot, k) => {
      const [px, py] = moved[k];
      if (spot.moves.length) { this.dots[k].setAttribute("cx", px); this.dots[k].setAttribute("cy", py); } else { this.dots[k].setAttribute("x", px - 4); this.dots[k].setAttribute("y", py - 4); }
    });
    // names are beside their places at rest, or further down where they would overlap another one
    const taken = [];
    for (const k of this.names.map((_, k) => k).sort((a, b) => rest[a][1] - rest[b][1])) {
      const long = 6.6 * spots[k].name.length, x = Math.max(2, Math.min(rest[k][0] + 10, this.wide - long - 2));
      let y = rest[k][1] - 8;
      while (taken.some(one => Math.abs(one.y - y) < 13 && x < one.x + one.long + 4 && one.x < x + long + 4)) y += 3;
      taken.push({ x, y, long });
      this.names[k].setAttribute("x", x);
      this.names[k].setAttribute("y", y);
    }
    if (this.playing) this.frame = requestAnimationFrame(time => this.tick(time));
  }

  // components, largest 1, with the phase of each that is not in line; or the height that they take
  bars(one, wide, measure = false) {
    const names = this.bench.data.outputs, high = 21, shown = names.slice(0, 40);
    if (measure) return high * shown.length + 24;
    const size = Math.max(...Array.from(one.shape.re, (re, k) => Math.hypot(re, one.shape.im[k])), 1e-300);
    const parts = shown.map((name, k) => {
      const re = one.shape.re[k] / size, im = one.shape.im[k] / size, value = Math.hypot(re, im) * (re < 0 ? -1 : 1), off = (180 / Math.PI) * Math.atan2(re < 0 ? -im : im, Math.abs(re));
      return { name, value, text: value.toFixed(2).replace("-", "−") + (Math.abs(off) > 15 && Math.abs(value) > 0.05 ? ` ∠${Math.round(off)}°` : "") };
    });
    const room = 10 + 6.6 * Math.max(...parts.map(part => part.text.length));
    const left = Math.min(0.36 * wide, 8 + 7.2 * Math.max(...shown.map(name => name.length))), middle = 0.5 * (left + wide - room), half = 0.5 * (wide - room - left) - 4;
    parts.forEach(({ name, value, text: words }, k) => {
      const y = 8 + high * k;
      const text = draw(this.svg, "text", { class: "tick", x: left - 8, y: y + 11, "text-anchor": "end" }, name.length > 18 ? `${name.slice(0, 7)}…${name.slice(-10)}` : name);
      draw(text, "title", {}, name);
      draw(this.svg, "rect", { class: value < 0 ? "component opposite" : "component", x: value < 0 ? middle + half * value : middle, y: y + 2, width: Math.abs(half * value), height: 11, rx: 1.5 });
      draw(this.svg, "text", { class: "tick", x: wide - room + 6, y: y + 11 }, words);
    });
    draw(this.svg, "line", { class: "axis", x1: middle, x2: middle, y1: 4, y2: 8 + high * shown.length });
  }
}
