// Channels over time, one frame per unit, with a cursor that follows the time of the machine.
import { nice, short } from "./data.js";
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
    this.choices();
    this.legend();
    new ResizeObserver(() => { this.still = null; this.draw(); }).observe(this.canvas);
    stage.listeners.push(() => { this.still = null; this.draw(); });
    let held = false;
    const go = event => { const t = this.timeAt(event.offsetX); if (t !== null) this.seek(t); };
    this.canvas.addEventListener("pointerdown", event => { held = true; this.canvas.setPointerCapture(event.pointerId); go(event); });
    this.canvas.addEventListener("pointermove", event => { if (held) go(event); });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { held = false; });
    this.grip();
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
    const shown = this.shown.filter(name => channels.names.includes(name));
    Object.assign(this, { channels, start: channels.time[0], end: channels.time[channels.time.length - 1], still: null });
    this.shown = shown.length ? shown : [...channels.shown];
    this.choices();
    this.legend();
    this.draw();
  }

  // ---- which channels

  choices() {
    const list = byId("choices"), { names, units } = this.channels;
    list.replaceChildren();
    names.forEach((name, k) => {
      const label = document.createElement("label"), box = document.createElement("input"), text = document.createElement("span"), unit = document.createElement("em");
      box.type = "checkbox"; box.value = name; box.checked = this.shown.includes(name);
      text.textContent = name; text.title = name; unit.textContent = units[k];
      label.append(box, text, unit);
      list.append(label);
      box.addEventListener("change", () => { this.show(box.checked ? [...this.shown, name] : this.shown.filter(one => one !== name)); });
    });
    byId("filter").oninput = event => { const wanted = event.target.value.toLowerCase(); list.querySelectorAll("label").forEach(label => { label.hidden = !label.textContent.toLowerCase().includes(wanted); }); };
    byId("clear").onclick = event => { event.preventDefault(); list.querySelectorAll("input").forEach(box => { box.checked = false; }); this.show([]); };
  }

  show(names) {
    this.shown = names.filter(name => this.channels.names.includes(name));
    this.still = null;
    byId("choices").querySelectorAll("input").forEach(box => { box.checked = this.shown.includes(box.value); });
    this.legend();
    this.draw();
  }

  legend() {
    const holder = byId("legend"), button = document.createElement("button");
    holder.replaceChildren();
    this.values = this.shown.map((name, i) => {
      const chip = document.createElement("span"), color = document.createElement("i"), text = document.createElement("b"), value = document.createElement("output");
      chip.className = "chip"; color.style.background = PALETTE[i % PALETTE.length];
      text.textContent = name; text.title = name;
      chip.append(color, text, value);
      holder.append(chip);
      return { k: this.channels.names.indexOf(name), value };
    });
    button.textContent = this.shown.length ? "channels…" : "choose channels…";
    button.id = "choose";
    button.addEventListener("click", () => byId("chooser").showModal());
    holder.append(button);
    this.read();
  }

  // value of a channel at the time, between its samples
  valueAt(k, t) {
    const { time, values } = this.channels, n = time.length;
    if (!n) return NaN;
    let low = 0, high = n - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (time[middle] <= t) low = middle; else high = middle; }
    const a = values[k * n + low], b = values[k * n + high], wide = time[high] - time[low];
    return wide > 0 ? a + (b - a) * Math.min(Math.max((t - time[low]) / wide, 0), 1) : a;
  }

  read() {
    for (const { k, value } of this.values) {
      const unit = this.channels.units[k];
      value.textContent = `${short(this.valueAt(k, this.time))}${unit ? " " + unit : ""}`;
    }
  }

  // ---- drawing

  frames() {
    const units = [...new Set(this.shown.map(name => this.channels.units[this.channels.names.indexOf(name)]))];
    const n = units.length, gap = 8, height = (this.height - 24 - 6 - gap * Math.max(0, n - 1)) / Math.max(n, 1);
    return units.map((unit, i) => ({ unit, top: 6 + i * (height + gap), height, names: this.shown.filter(name => this.channels.units[this.channels.names.indexOf(name)] === unit) }));
  }

  timeAt(x) {
    if (!this.inner || !(this.end > this.start)) return null;
    return this.start + (this.end - this.start) * Math.min(Math.max((x - this.inner.left) / this.inner.width, 0), 1);
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
    const share = this.end > this.start ? (this.time - this.start) / (this.end - this.start) : 0, x = inner.left + inner.width * share;
    this.cursor = x;
    ctx.strokeStyle = this.stage.ink.accent; ctx.lineWidth = 1.25;
    ctx.beginPath(); ctx.moveTo(x, 4); ctx.lineTo(x, this.height - 22); ctx.stroke();
    this.shown.forEach((name, i) => {
      const frame = this.placed.find(one => one.names.includes(name)), y = frame.y(this.valueAt(this.channels.names.indexOf(name), this.time));
      if (!isFinite(y)) return;
      ctx.beginPath(); ctx.arc(x, y, 3.4, 0, 7); ctx.fillStyle = PALETTE[i % PALETTE.length]; ctx.fill();
      ctx.lineWidth = 1.5; ctx.strokeStyle = this.stage.ink.paper; ctx.stroke();
    });
  }

  drawStill(ctx) {
    const ink = this.stage.ink, left = 74, right = 24;
    this.inner = { left, width: Math.max(this.width - left - right, 10) };
    const x = t => left + (this.end > this.start ? (t - this.start) / (this.end - this.start) : 0) * this.inner.width;
    ctx.font = FONT;
    const frames = this.placed = this.frames(), bottom = this.height - 22;
    if (!frames.length) { ctx.fillStyle = ink.soft; ctx.textAlign = "center"; ctx.fillText("No channel is shown.", this.width / 2, this.height / 2); return; }
    const step = this.end > this.start ? nice((this.end - this.start) / Math.max(2, this.inner.width / 95)) : 1;
    for (const frame of frames) {
      const [low, high] = this.range(frame.names), h = frame.height;
      frame.y = v => frame.top + h - (v - low) / (high - low) * h;
      ctx.lineWidth = 1; ctx.strokeStyle = ink.grid;
      for (let k = Math.ceil(this.start / step - 1e-9); k * step <= this.end + 1e-9 * step; k++) { const p = Math.round(x(k * step)) + 0.5; ctx.beginPath(); ctx.moveTo(p, frame.top); ctx.lineTo(p, frame.top + h); ctx.stroke(); }
      const rise = nice((high - low) / Math.max(1.6, h / 34));
      ctx.textAlign = "right"; ctx.textBaseline = "middle"; ctx.fillStyle = ink.soft;
      for (let k = Math.ceil(low / rise); k * rise <= high; k++) {
        const p = Math.round(frame.y(k * rise)) + 0.5;
        ctx.strokeStyle = k === 0 ? ink.grid2 : ink.grid;
        ctx.beginPath(); ctx.moveTo(left, p); ctx.lineTo(left + this.inner.width, p); ctx.stroke();
        if (p > frame.top + 4 && p < frame.top + h - 2) ctx.fillText(short(k * rise, 3), left - 7, p);
      }
      ctx.save();
      ctx.translate(11, frame.top + h / 2); ctx.rotate(-Math.PI / 2); ctx.textAlign = "center"; ctx.fillStyle = ink.ink;
      ctx.fillText(frame.unit || "–", 0, 0);
      ctx.restore();
      ctx.save();
      ctx.beginPath(); ctx.rect(left, frame.top - 1, this.inner.width, h + 2); ctx.clip();
      frame.names.forEach(name => this.line(ctx, x, frame.y, name));
      ctx.restore();
    }
    ctx.textAlign = "center"; ctx.textBaseline = "alphabetic"; ctx.fillStyle = ink.soft;
    for (let k = Math.ceil(this.start / step - 1e-9); k * step <= this.end + 1e-9 * step; k++) ctx.fillText(short(k * step), x(k * step), bottom + 15);
    ctx.textAlign = "right"; ctx.fillText("s", this.width - 6, bottom + 15);
  }

  range(names) {
    const { values, time } = this.channels, n = time.length;
    let low = Infinity, high = -Infinity;
    for (const name of names) { const k = this.channels.names.indexOf(name); for (let i = k * n; i < (k + 1) * n; i++) { const v = values[i]; if (v < low) low = v; if (v > high) high = v; } }
    if (!(low <= high)) return [0, 1];
    // a line that is flat but for rounding is drawn flat
    const size = Math.max(Math.abs(low), Math.abs(high)), least = size * 2e-6 || 1;
    if (high - low < least) { const middle = (low + high) / 2, half = size ? 0.5 * size : 1; return [middle - half, middle + half]; }
    const edge = 0.07 * (high - low);
    return [low - edge, high + edge];
  }

  line(ctx, x, y, name) {
    const { values, time } = this.channels, n = time.length, k = this.channels.names.indexOf(name);
    ctx.beginPath();
    let pen = false;
    for (let i = 0; i < n; i++) {
      const v = values[k * n + i];
      if (!isFinite(v)) { pen = false; continue; }
      if (pen) ctx.lineTo(x(time[i]), y(v)); else ctx.moveTo(x(time[i]), y(v));
      pen = true;
    }
    ctx.strokeStyle = PALETTE[this.shown.indexOf(name) % PALETTE.length]; ctx.lineWidth = 1.7; ctx.lineJoin = "round";
    ctx.stroke();
  }

  at(t) { this.time = t; this.read(); this.draw(); }
}
