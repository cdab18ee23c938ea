// Measured response of one pair (or spectral density of one output) with its coherence; the models over it.
import { digits, raise } from "./data.js";
import { Figure } from "./figure.js";
import { fit, grid } from "./residues.js";
import { decades, draw, linear, path } from "./svg.js";

const LOW = 70; // height of the panels of phase and coherence
const KNOWN = 1e-4; // share of the power of a line that is its variance at least: residues of 1 % are no disagreement

export class Response extends Figure {
  constructor(holder, bench) {
    super(holder, bench, "Measured response and models over frequency. Keys: plus and minus zoom, 0 shows the band, left and right move the cursor.");
    this.curves = [];
    bench.listeners.push(what => { if (what === "all") { this.model(); this.draw(); } else this.line(bench.pointed ? bench.pointed.hz : null, ...this.ends()); });
    this.model();
    this.draw();
  }
  get pair() { return this.bench.data.response.pairs[this.bench.pair]; }
  get density() { return this.bench.data.response.kind === "spectrum"; }
  ends() { return [8, (this.low || 40) - 30]; }

  // curves of the models, as functions of frequency, with their fit to the lines of the band
  model() {
    const { bench, pair } = this, { response, dt, band } = bench.data, wide = [0.9 * band[0], 1.1 * band[1]];
    this.curves = [];
    const add = (kind, name, poles, at) => this.curves.push({ kind, name, poles, at, fit: this.judge(at, wide) });
    const second = bench.secondList();
    if (bench.second === "auto" && pair.model) {
      const hz = response.model_hz, { re, im } = pair.model;
      add("second", bench.secondName(), second, at => interpolate(hz, re, im, at));
    } else if (second.length) add("second", bench.secondName(), second, fit(second, response, pair, dt, wide));
    const chosen = bench.chosenList();
    if (chosen.length) add("chosen", "chosen poles", chosen, fit(chosen, response, pair, dt, wide));
  }
  // agreement with the excited lines of the band: the frequency response assurance criterion
  // |Σ w H* Ĥ|² / (Σ w |H|² Σ w |Ĥ|²), weighted by the variances of the lines, of which noise has large ones; of densities
  // the root mean square of the difference in decibels
  judge(at, band) {
    const { hz, excited } = this.bench.data.response, { re, im, deviation } = this.pair;
    let x = 0, y = 0, own = 0, made = 0, count = 0;
    for (let k = 0; k < hz.length; k++) {
      if (hz[k] < band[0] || hz[k] > band[1]) continue;
      if (excited && !excited[k]) continue;
      const [a, b] = at(hz[k]);
      if (this.density) { if (re[k] > 0 && a > 0) { x += (10 * Math.log10(a / re[k])) ** 2; count++; } continue; }
      if (!isFinite(a)) continue;
      const power = re[k] ** 2 + im[k] ** 2, w = deviation ? 1 / (deviation[k] ** 2 + KNOWN * power) : 1;
      if (!isFinite(w)) continue;
      x += w * (re[k] * a + im[k] * b); y += w * (re[k] * b - im[k] * a);
      own += w * power; made += w * (a * a + b * b);
    }
    if (this.density) return count ? `${digits(Math.sqrt(x / count), 2)} dB off` : "";
    return own * made > 0 ? `FRAC ${((x * x + y * y) / (own * made)).toFixed(3)}` : "";
  }

  draw() {
    const { bench, pair } = this, { response } = bench.data, { hz } = response;
    const high = this.holder.clientWidth < 560 ? 190 : 240, phase = !this.density, coherence = Boolean(pair.coherence);
    this.low = 10 + high + (phase ? LOW + 14 : 0) + (coherence ? LOW + 14 : 0) + 40;
    const x = this.begin(this.low);
    if (!x) return;
    const [i, j] = this.inside(hz), size = k => (this.density ? pair.re[k] : Math.hypot(pair.re[k], pair.im[k]));
    const curves = this.curves.map(curve => {
      const lines = grid(this.view.from, this.view.to, curve.poles);
      return { ...curve, hz: lines, values: Array.from(lines, f => curve.at(f)) };
    });
    let low = Infinity, top = 0;
    for (let k = i; k < j; k++) { const s = size(k); if (s > 0) { low = Math.min(low, s); top = Math.max(top, s); } }
    for (const curve of curves) for (const value of curve.values) { const s = this.density ? value[0] : Math.hypot(...value); if (isFinite(s)) top = Math.max(top, s); }
    if (!(top > 0)) { low = 0.1; top = 1; }
    low = Math.max(low, 1e-9 * top);
    const from = Math.log10(low) - 0.15, to = Math.log10(top) + 0.2;
    let edge = 10;
    const y = linear(from, to, edge + high, edge), log = value => (value > 0 ? y(Math.log10(value)) : NaN);
    const marks = decades(from, to, high / 34).map(power => [power, `10${raise(power)}`]);
    const inner = this.panel(edge, edge + high, y, marks.length > 1 ? marks : [[from, digits(10 ** from, 2)], [to, digits(10 ** to, 2)]], pair.unit ? `${this.density ? "density" : "magnitude"} [${pair.unit}]` : this.density ? "density" : "magnitude");
    if (pair.deviation) draw(inner, "path", { class: "spread", d: spreadPath(hz, pair.deviation, size, x, log, i, j, from, y) });
    draw(inner, "path", { class: "measured", d: path(k => x(hz[k]), k => log(size(k)), i, j, this.left, this.right) });
    for (const { kind, hz: f, values } of curves) {
      const value = k => (this.density ? values[k][0] : Math.hypot(...values[k]));
      draw(inner, "path", { class: kind, d: path(k => x(f[k]), k => Math.min(log(value(k)), edge + high + 20), 0, f.length, this.left, this.right) });
    }
    this.poles(inner, edge + high);
    edge += high + 14;
    if (phase) {
      const turn = linear(-180, 180, edge + LOW, edge), angle = (re, im) => turn((180 / Math.PI) * Math.atan2(im, re));
      const part = this.panel(edge, edge + LOW, turn, [[-180, "−180"], [0, "0"], [180, "180"]], "phase [°]");
      const wrapped = (f, at, count) => { let last = null; return path(k => x(f(k)), k => { const p = at(k), jump = last !== null && Math.abs(p - last) > 0.6 * LOW; last = p; return jump ? NaN : p; }, 0, count, this.left, this.right); };
      draw(part, "path", { class: "measured", d: wrapped(k => hz[i + k], k => angle(pair.re[i + k], pair.im[i + k]), j - i) });
      for (const { kind, hz: f, values } of curves) draw(part, "path", { class: kind, d: wrapped(k => f[k], k => angle(...values[k]), f.length) });
      edge += LOW + 14;
    }
    if (coherence) {
      const share = linear(0, 1, edge + LOW, edge), part = this.panel(edge, edge + LOW, share, [[0, "0"], [0.5, "0.5"], [1, "1"]], "coherence");
      draw(part, "path", { class: "coherence", d: path(k => x(hz[k]), k => share(pair.coherence[k]), i, j, this.left, this.right) });
      edge += LOW + 14;
    }
    this.bottom(edge - 14);
    this.legend();
  }

  // marks of the chosen poles under the magnitude
  poles(inner, bottom) {
    for (const one of this.bench.chosenList()) {
      if (one.hz < this.view.from || one.hz > this.view.to) continue;
      const at = this.x(one.hz);
      draw(inner, "path", { class: "flag", d: `M${at} ${bottom - 9}l4.5 9h-9z` });
    }
  }
  legend() {
    const list = this.holder.querySelector(".legend") || this.holder.insertBefore(document.createElement("div"), this.svg);
    list.className = "legend";
    list.replaceChildren();
    for (const { kind, name, fit: share } of [{ kind: "measured", name: "measured" }, ...this.curves]) {
      const item = document.createElement("span"), key = document.createElement("i");
      key.className = kind;
      item.append(key, share ? `${name}, ${share}` : name);
      if (share) item.title = this.density ? "root mean square of the difference over the band" : "frequency response assurance criterion over the band: 1 where both agree";
      list.append(item);
    }
  }
  inside(hz) {
    let i = 0, j = hz.length;
    while (i < j && hz[i] < this.view.from) i++;
    while (j > i && hz[j - 1] > this.view.to) j--;
    return [Math.max(0, i - 1), Math.min(hz.length, j + 1)];
  }

  point(event) { this.values(this.hertz(event.clientX - this.svg.getBoundingClientRect().left), event.clientY - this.svg.getBoundingClientRect().top); }
  values(f, y = 60) {
    const { hz } = this.bench.data.response, { pair } = this, k = nearest(hz, f);
    this.at = k;
    const size = this.density ? pair.re[k] : Math.hypot(pair.re[k], pair.im[k]), unit = pair.unit ? ` ${pair.unit}` : "";
    const rows = [["frequency", `${digits(hz[k], 5)} Hz`], ["measured", `${digits(size)}${unit}`]];
    if (!this.density) rows.push(["phase", `${((180 / Math.PI) * Math.atan2(pair.im[k], pair.re[k])).toFixed(1)}°`]);
    for (const curve of this.curves) { const value = curve.at(hz[k]); rows.push([curve.name, `${digits(this.density ? value[0] : Math.hypot(...value))}${unit}`]); }
    if (pair.coherence) rows.push(["coherence", pair.coherence[k].toFixed(3)]);
    this.tip(rows, this.x(hz[k]), y);
    this.line(hz[k], ...this.ends());
    this.bench.cursor(hz[k], this);
  }
  leave() { super.leave(); this.line(null); this.bench.cursor(null, this); }
  key(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return false;
    const { hz } = this.bench.data.response, [i, j] = this.inside(hz), middle = Math.round(0.5 * (i + j)), step = (event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1);
    const next = this.at === undefined || hz[this.at] < this.view.from || hz[this.at] > this.view.to ? middle : this.at + step;
    this.values(hz[Math.min(Math.max(next, i), j - 1)]);
    return true;
  }
}

export function nearest(sorted, value) {
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (sorted[middle] < value) low = middle; else high = middle; }
  return value - sorted[low] < sorted[high] - value ? low : high;
}
function interpolate(hz, re, im, at) {
  const last = hz.length - 1;
  if (at < hz[0] || at > hz[last]) return [NaN, NaN];
  let low = 0, high = last;
  while (high - low > 1) { const middle = (low + high) >> 1; if (hz[middle] <= at) low = middle; else high = middle; }
  const part = (at - hz[low]) / (hz[high] - hz[low] || 1);
  return [re[low] + part * (re[high] - re[low]), im ? im[low] + part * (im[high] - im[low]) : 0];
}
function spreadPath(hz, deviation, size, x, log, i, j, from, y) {
  let up = "", down = "";
  for (let k = i; k < j; k++) {
    const s = size(k), d = 2 * deviation[k];
    if (!(s > 0)) continue;
    up += `${up ? "L" : "M"}${x(hz[k]).toFixed(1)} ${log(s + d).toFixed(1)}`;
    down = `L${x(hz[k]).toFixed(1)} ${(s - d > 0 ? Math.min(log(s - d), y(from)) : y(from)).toFixed(1)}${down}`;
  }
  return up + down + (up ? "Z" : "");
}
