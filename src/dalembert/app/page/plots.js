// Channels over time, one frame per unit, with a cursor that follows the time of the machine.
import { nice, short, tick, unitText } from "./data.js";
import { PALETTE } from "./shapes.js";

const byId = id => document.getElementById(id);
const FONT = "11.5px system-ui, 'DejaVu Sans', sans-serif";

export class Plots {
  constructor(channels, stage, seek) {
    Object.assign(this, { channels, stage, seek, shown: [...channels.shown], time: channels.time.length ? channels.time[0] : 0 });
    this.canvas = byId("chart");
    this.ctx = this.canvas.getContext("2d");
    this.start = channels.time[0];
    this.end = channels.time[channels.time.length - 1];
    this.colors = new Map();
    this.window = null; // [from, to] when zoomed, else null
    this.choices();
    this.legend();
    new ResizeObserver(() => { this.still = null; this.draw(); }).observe(this.canvas);
    stage.listeners.push(() => { this.still = null; this.draw(); });
    this.hands();
    this.grip();
  }

  get from() { return this.window ? this.window[0] : this.start; }
  get to() { return this.window ? this.window[1] : this.end; }

  // ---- zoom: a drag, the wheel, two fingers; a click sets the time, and so does dragging the cursor or one finger

  zoom(from, to) {
    const least = 1e-6 * (this.end - this.start);
    [from, to] = [Math.max(Math.min(from, to), this.start), Math.min(Math.max(from, to), this.end)];
    this.window = to - from < least || (from <= this.start && to >= this.end) ? null : [from, to];
    this.still = null;
    byId("whole").hidden = !this.window;
    this.draw();
  }
  whole() { this.zoom(this.start, this.end); }
  about(t, factor) { this.zoom(t - (t - this.from) * factor, t + (this.to - t) * factor); }

  hands() {
    const { canvas } = this, fingers = new Map();
    let how = null, first = 0, began = null;
    const go = event => { const t = this.timeAt(event.offsetX); if (t !== null) this.seek(t); };
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event.offsetX);
      first = event.offsetX;
      began = [this.from, this.to];
      how = event.shiftKey || event.button === 1 ? "pan" : event.pointerType === "touch" || Math.abs(event.offsetX - (this.cursor || -99)) < 7 ? "scrub" : "click";
      if (fingers.size === 2) { how = "pinch"; this.spread = [...fingers.values()].map(x => this.timeAt(x)); }
      if (how === "scrub") go(event);
    });
    canvas.addEventListener("pointermove", event => {
      this.hover = event.pointerType === "mouse" && !event.buttons ? [event.offsetX, event.offsetY] : null;
      if (!how) { canvas.style.cursor = Math.abs(event.offsetX - (this.cursor || -99)) < 7 ? "ew-resize" : "crosshair"; this.draw(); return; }
      fingers.set(event.pointerId, event.offsetX);
      if (how === "click" && Math.abs(event.offsetX - first) > 5) how = "zoom";
      if (how === "scrub") go(event);
      else if (how === "zoom") { this.band = [first, event.offsetX]; this.draw(); }
      else if (how === "pan") this.pan(began, first - event.offsetX);
      else if (how === "pinch") this.pinch([...fingers.values()]);
    });
    const done = event => {
      fingers.delete(event.pointerId);
      if (how === "click") go(event);
      if (how === "zoom" && event.type === "pointerup") this.zoom(this.timeAt(first), this.timeAt(event.offsetX));
      this.band = how = null;
      this.draw();
    };
    canvas.addEventListener("pointerup", done);
    canvas.addEventListener("pointercancel", done);
    canvas.addEventListener("pointerleave", () => { this.hover = null; this.draw(); });
    canvas.addEventListener("dblclick", () => this.whole());
    canvas.addEventListener("wheel", event => {
      if (window.top !== window.self && !event.ctrlKey) return; // inside another page the wheel scrolls that page
      event.preventDefault();
      const t = this.timeAt(event.offsetX);
      if (t !== null) this.about(t, Math.exp(Math.max(-0.5, Math.min(0.5, 0.002 * event.deltaY))));
    }, { passive: false });
  }
  pan([from, to], pixels) {
    const wide = to - from, shift = pixels / this.inner.width * wide, start = Math.min(Math.max(from + shift, this.start), this.end - wide);
    this.zoom(start, start + wide);
  }
  pinch([a, b]) {
    const [s, t] = this.spread, wide = Math.abs(b - a) || 1, { left, width } = this.inner, rate = (t - s) / (b - a);
    if (wide < 12 || !isFinite(rate) || rate <= 0) return;
    this.zoom(s - (a - left) * rate, s + (left + width - a) * rate);
  }

  grip() {
    const bar = byId("grip"), panel = byId("plots");
    bar.addEventListener("pointerdown", event => {
      bar.setPointerCapture(event.pointerId);
      const from = event.clientY, height = panel.clientHeight;
      const move = one => panel.style.setProperty("--plots", `${Math.max(90, height + from - one.clientY)}px`);
      bar.addEventListener("pointermove", move);
      bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
    });
  }

  take(channels) {
    const shown = this.chosen ? this.shown.filter(name => channels.names.includes(name)) : [];
    Object.assign(this, { channels, start: channels.time[0], end: channels.time[channels.time.length - 1], still: null, window: null });
    this.shown = shown.length ? shown : [...channels.shown];
    this.choices();
    this.legend();
    this.draw();
  }

  // ---- choice of channels

  choices() {
    const list = byId("choices"), { names, units } = this.channels;
    list.replaceChildren();
    names.forEach((name, k) => {
      const label = document.createElement("label"), box = document.createElement("input"), text = document.createElement("span"), unit = document.createElement("em");
      box.type = "checkbox"; box.value = name; box.checked = this.shown.includes(name);
      text.textContent = name; text.title = name; unit.textContent = unitText(units[k]);
      label.append(box, text, unit);
      list.append(label);
      box.addEventListener("change", () => { this.show(box.checked ? [...this.shown, name] : this.shown.filter(one => one !== name)); });
    });
    byId("filter").oninput = event => { const wanted = event.target.value.toLowerCase(); list.querySelectorAll("label").forEach(label => { label.hidden = !label.textContent.toLowerCase().includes(wanted); }); };
    byId("clear").onclick = event => { event.preventDefault(); list.querySelectorAll("input").forEach(box => { box.checked = false; }); this.show([]); };
  }

  show(names) {
    this.chosen = true;
    this.shown = names.filter(name => this.channels.names.includes(name));
    this.still = null;
    byId("choices").querySelectorAll("input").forEach(box => { box.checked = this.shown.includes(box.value); });
    this.legend();
    this.draw();
  }

  legend() {
    const holder = byId("legend"), button = document.createElement("button");
    holder.replaceChildren();
    this.values = this.shown.map(name => {
      const chip = document.createElement("button"), color = document.createElement("i"), text = document.createElement("b"), value = document.createElement("output");
      chip.className = "chip"; color.style.background = this.color(name);
      text.textContent = name; text.title = name;
      chip.append(color, text, value);
      chip.title = `Hide ${name}`;
      chip.addEventListener("click", () => this.show(this.shown.filter(one => one !== name)));
      holder.append(chip);
      return { k: this.channels.names.indexOf(name), value, digits: this.digits(name) };
    });
    button.textContent = this.shown.length ? "channels…" : "choose channels…";
    button.id = "choose";
    button.addEventListener("click", () => byId("chooser").showModal());
    const whole = document.createElement("button");
    Object.assign(whole, { id: "whole", textContent: "whole time", title: "Show the whole time (z, or a double click)", hidden: !this.window });
    whole.addEventListener("click", () => this.whole());
    holder.append(button, whole);
    this.canvas.setAttribute("aria-label", `${this.shown.join(", ") || "No channel"} over time, ${short(this.start)} to ${short(this.end)} s`);
    this.read();
  }

  listed() { return this.shown.map(name => ({ name, color: this.color(name) })); }
  // a channel keeps its colour as long as it is shown
  color(name) {
    for (const one of this.colors.keys()) if (!this.shown.includes(one)) this.colors.delete(one);
    if (!this.colors.has(name)) {
      const used = new Set(this.colors.values());
      let k = 0;
      while (used.has(k)) k++;
      this.colors.set(name, k);
    }
    return PALETTE[this.colors.get(name) % PALETTE.length];
  }

  // value of a channel at the current time, interpolated
  valueAt(k, t) {
    const { time, values } = this.channels, n = time.length;
    if (!n) return NaN;
    let low = 0, high = n - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (time[middle] <= t) low = middle; else high = middle; }
    const a = values[k * n + low], b = values[k * n + high], wide = time[high] - time[low];
    return wide > 0 ? a + (b - a) * Math.min(Math.max((t - time[low]) / wide, 0), 1) : a;
  }

  // enough digits to show that a channel changes
  digits(name) {
    const [low, high] = this.extent(name, 0, this.channels.time.length - 1), size = Math.max(Math.abs(low), Math.abs(high));
    return high - low > 2e-6 * size ? Math.min(Math.max(4, Math.ceil(Math.log10(size / (high - low))) + 3), 9) : 4;
  }

  reading(k, t, digits = this.digits(this.channels.names[k])) {
    const unit = this.channels.units[k];
    return `${short(this.valueAt(k, t), digits)}${unit ? " " + unitText(unit) : ""}`;
  }

  read() { for (const { k, value, digits } of this.values) value.textContent = this.reading(k, this.time, digits); }

  // ---- drawing

  frames() {
    const unitOf = name => this.channels.units[this.channels.names.indexOf(name)], units = [...new Set(this.shown.map(unitOf))];
    const groups = units.flatMap(unit => this.apart(this.shown.filter(name => unitOf(name) === unit), 5 - units.length).map(names => ({ unit, names })));
    const n = groups.length, gap = 8, height = (this.height - 24 - 6 - gap * Math.max(0, n - 1)) / Math.max(n, 1);
    return groups.map((group, i) => ({ ...group, top: 6 + i * (height + gap), height }));
  }

  // channels of one unit with distant ranges get separate frames: on a common axis each would be a flat line
  apart(names, most) {
    const spans = new Map(names.map(name => [name, this.extent(name, 0, this.channels.time.length - 1)])), groups = [];
    const wide = name => { const [low, high] = spans.get(name); return high - low; };
    for (const name of [...names].sort((a, b) => wide(b) - wide(a))) { // the widest of a group comes first
      const near = groups.find(group => { const all = [...group, name].map(one => spans.get(one)); return Math.max(...all.map(s => s[1])) - Math.min(...all.map(s => s[0])) <= 3 * wide(group[0]); });
      if (near) near.push(name); else groups.push([name]);
    }
    if (groups.length > Math.max(most, 1)) return [names]; // not enough room
    const place = group => Math.min(...group.map(name => names.indexOf(name)));
    return groups.map(group => group.sort((a, b) => names.indexOf(a) - names.indexOf(b))).sort((a, b) => place(a) - place(b));
  }

  timeAt(x) {
    if (!this.inner || !(this.end > this.start)) return null;
    return this.from + (this.to - this.from) * Math.min(Math.max((x - this.inner.left) / this.inner.width, 0), 1);
  }

  draw() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    if (!this.still) {
      Object.assign(this, { width, height });
      this.canvas.width = Math.round(width * ratio); this.canvas.height = Math.round(height * ratio);
      this.still = document.createElement("canvas");
      this.still.width = this.canvas.width; this.still.height = this.canvas.height;
      const ctx = this.still.getContext("2d");
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.drawStill(ctx);
    }
    const { ctx, inner } = this;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.drawImage(this.still, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!inner || !this.shown.length) return;
    const x = this.xOf(this.time);
    this.cursor = x;
    if (x > inner.left - 1 && x < inner.left + inner.width + 1) this.markTime(ctx, x);
    if (this.band) {
      const [a, b] = this.band.map(one => Math.min(Math.max(one, inner.left), inner.left + inner.width));
      ctx.globalAlpha = 0.16; ctx.fillStyle = this.stage.ink.accent; ctx.fillRect(Math.min(a, b), 4, Math.abs(b - a), this.height - 26); ctx.globalAlpha = 1;
    } else if (this.hover && this.hover[0] >= inner.left && this.hover[0] <= inner.left + inner.width) this.drawHover(ctx);
  }
  xOf(t) { return this.inner.left + this.inner.width * (this.to > this.from ? (t - this.from) / (this.to - this.from) : 0); }

  markTime(ctx, x) {
    ctx.strokeStyle = this.stage.ink.accent; ctx.lineWidth = 1.25;
    ctx.beginPath(); ctx.moveTo(x, 4); ctx.lineTo(x, this.height - 22); ctx.stroke();
    for (const { name, color } of this.listed()) {
      const frame = this.placed.find(one => one.names.includes(name)), y = frame.y(this.valueAt(this.channels.names.indexOf(name), this.time));
      if (!isFinite(y) || y < frame.top - 4 || y > frame.top + frame.height + 4) continue;
      ctx.beginPath(); ctx.arc(x, y, 3.4, 0, 7); ctx.fillStyle = color; ctx.fill();
      ctx.lineWidth = 1.5; ctx.strokeStyle = this.stage.ink.paper; ctx.stroke();
    }
  }

  // the values under the pointer
  drawHover(ctx) {
    const { ink } = this.stage, [x, y] = this.hover, t = this.timeAt(x), { names } = this.channels;
    ctx.strokeStyle = ink.soft; ctx.lineWidth = 1; ctx.setLineDash([3, 3]);
    ctx.beginPath(); ctx.moveTo(x, 4); ctx.lineTo(x, this.height - 22); ctx.stroke();
    ctx.setLineDash([]);
    const rows = [["t", short(t, 5) + " s", null], ...this.listed().slice(0, 10).map(({ name, color }) => [name, this.reading(names.indexOf(name), t), color])];
    this.readings = rows.map(([name, value]) => `${name} ${value}`);
    ctx.font = FONT; ctx.textBaseline = "middle";
    const left = Math.max(...rows.map(([name]) => ctx.measureText(name).width)), wide = left + Math.max(...rows.map(row => ctx.measureText(row[1]).width)) + 44, high = 16 * rows.length + 8;
    const a = x + 12 + wide > this.width ? x - 12 - wide : x + 12, b = Math.min(Math.max(y - high / 2, 2), this.height - high - 2);
    ctx.fillStyle = ink.bar; ctx.strokeStyle = ink.line; ctx.globalAlpha = 0.95;
    ctx.beginPath(); ctx.roundRect(a, b, wide, high, 6); ctx.fill(); ctx.globalAlpha = 1; ctx.stroke();
    rows.forEach(([name, value, color], i) => {
      const line = b + 12 + 16 * i;
      if (color) { ctx.fillStyle = color; ctx.fillRect(a + 8, line - 1.5, 10, 3); }
      ctx.fillStyle = ink.ink; ctx.textAlign = "left"; ctx.fillText(name, a + 23, line);
      ctx.textAlign = "right"; ctx.fillText(value, a + wide - 8, line);
    });
  }

  drawStill(ctx) {
    const ink = this.stage.ink, left = 74, right = 24;
    this.inner = { left, width: Math.max(this.width - left - right, 10) };
    const x = t => this.xOf(t), { from, to } = this;
    ctx.font = FONT;
    const frames = this.placed = this.frames(), bottom = this.height - 22;
    if (!frames.length) { ctx.fillStyle = ink.soft; ctx.textAlign = "center"; ctx.fillText("No channel is shown.", this.width / 2, this.height / 2); return; }
    const step = to > from ? nice((to - from) / Math.max(2, this.inner.width / 95)) : 1, digits = Math.max(4, Math.ceil(Math.log10(Math.max(Math.abs(to), Math.abs(from)) / step)) + 1);
    for (const frame of frames) {
      const [low, high] = this.range(frame.names), h = frame.height;
      frame.y = v => frame.top + h - (v - low) / (high - low) * h;
      ctx.lineWidth = 1; ctx.strokeStyle = ink.grid;
      for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) { const p = Math.round(x(k * step)) + 0.5; ctx.beginPath(); ctx.moveTo(p, frame.top); ctx.lineTo(p, frame.top + h); ctx.stroke(); }
      ctx.textAlign = "right"; ctx.textBaseline = "middle"; ctx.fillStyle = ink.soft;
      frame.ticks = this.ticks(frame, low, high);
      for (const { value, text } of frame.ticks) {
        const p = Math.round(frame.y(value)) + 0.5;
        ctx.strokeStyle = value === 0 ? ink.grid2 : ink.grid;
        ctx.beginPath(); ctx.moveTo(left, p); ctx.lineTo(left + this.inner.width, p); ctx.stroke();
        if (text) ctx.fillText(text, left - 7, p);
      }
      ctx.save();
      ctx.translate(11, frame.top + h / 2); ctx.rotate(-Math.PI / 2); ctx.textAlign = "center"; ctx.fillStyle = ink.ink;
      ctx.fillText(unitText(frame.unit), 0, 0);
      ctx.restore();
      ctx.save();
      ctx.beginPath(); ctx.rect(left, frame.top - 1, this.inner.width, h + 2); ctx.clip();
      frame.names.forEach(name => this.line(ctx, x, frame.y, name));
      ctx.restore();
    }
    ctx.textAlign = "center"; ctx.textBaseline = "alphabetic"; ctx.fillStyle = ink.soft;
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k++) ctx.fillText(short(k * step, digits), x(k * step), bottom + 15);
    ctx.textAlign = "right"; ctx.fillText("s", this.width - 6, bottom + 15);
  }

  // ticks of a frame; at least two have labels, since one label gives no scale
  ticks(frame, low, high) {
    const { top, height: h } = frame, fits = v => { const p = frame.y(v); return p > top + 4 && p < top + h - 2; };
    for (let rise = nice((high - low) / Math.max(1.6, h / 34)), tries = 0; ; rise = nice(rise / 2.2), tries++) {
      const values = [];
      for (let k = Math.ceil(low / rise); k * rise <= high; k++) values.push(k * rise);
      if (values.filter(fits).length < 2 && tries < 3) continue;
      return values.map(value => ({ value, text: fits(value) ? tick(value, rise, Math.max(Math.abs(low), Math.abs(high))) : "" }));
    }
  }

  range(names) {
    const [a, b] = this.seen(), all = names.map(name => this.extent(name, a, b)), low = Math.min(...all.map(one => one[0])), high = Math.max(...all.map(one => one[1]));
    if (!(low <= high)) return [0, 1];
    // a line that varies only by rounding is drawn flat
    const size = Math.max(Math.abs(low), Math.abs(high)), least = size * 2e-6 || 1;
    if (high - low < least) { const middle = (low + high) / 2, half = size ? 0.5 * size : 1; return [middle - half, middle + half]; }
    const edge = 0.07 * (high - low);
    return [low - edge, high + edge];
  }

  extent(name, a, b) {
    const { values, time } = this.channels, n = time.length, k = this.channels.names.indexOf(name);
    let low = Infinity, high = -Infinity;
    for (let i = k * n + a; i <= k * n + b; i++) { const v = values[i]; if (v < low) low = v; if (v > high) high = v; }
    return [low, high];
  }

  // first and last visible sample, with one more on either side
  seen() {
    const { time } = this.channels, n = time.length;
    if (!this.window) return [0, n - 1];
    const at = t => { let low = 0, high = n; while (low < high) { const middle = (low + high) >> 1; if (time[middle] < t) low = middle + 1; else high = middle; } return low; };
    return [Math.max(at(this.from) - 1, 0), Math.min(at(this.to), n - 1)];
  }

  line(ctx, x, y, name) {
    const { values, time } = this.channels, n = time.length, k = this.channels.names.indexOf(name);
    ctx.beginPath();
    let pen = false;
    const [a, b] = this.seen();
    for (let i = a; i <= b; i++) {
      const v = values[k * n + i];
      if (!isFinite(v)) { pen = false; continue; }
      if (pen) ctx.lineTo(x(time[i]), y(v)); else ctx.moveTo(x(time[i]), y(v));
      pen = true;
    }
    ctx.strokeStyle = this.color(name); ctx.lineWidth = 1.7; ctx.lineJoin = "round";
    ctx.stroke();
  }

  at(t) { this.time = t; this.read(); this.draw(); }
}
