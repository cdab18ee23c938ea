// State of the workbench: chosen poles, comparison, and the pole under the pointer; figures redraw at changes.
import { mac, shapeOf } from "./data.js";
import { View } from "./view.js";

export class Bench {
  constructor(data) {
    this.data = data;
    const { poles, response, band } = data;
    const top = Math.max(band[1], ...(poles ? [...poles.hz].filter(hz => hz <= data.limit) : []), ...(response ? [response.hz[response.hz.length - 1]] : []));
    this.view = new View([0, Math.min(1.02 * top, data.limit)], data.home);
    this.poles = poles ? Array.from(poles.hz, (hz, k) => this.pole(k)) : [];
    this.modes = data.modes.map((one, k) => ({ ...one, shape: { re: Float64Array.from(one.re), im: Float64Array.from(one.im) }, number: k + 1, mode: k }));
    this.chosen = new Set(data.first);
    this.second = "auto";
    this.pair = 0;
    this.pointed = null; // a pole or a mode under the pointer or the cursor
    this.shown = this.chosenList()[0] || this.modes[0] || null; // whose shape moves
    this.listeners = [];
    this.figures = [];
  }

  // the frequency under the pointer of one figure, as a line in the others
  cursor(hz, from) { for (const one of this.figures) if (one !== from) one.line(hz, ...one.ends()); }

  pole(k) {
    const { poles, outputs, modes, band } = this.data, hz = poles.hz[k], mode = poles.mode[k];
    return {
      pole: k, hz, damping: poles.damping[k], order: poles.order[k], label: poles.label[k], mac: poles.mac[k], mpc: poles.mpc[k],
      mode, class: mode < 0 ? "" : modes[mode].class, shape: shapeOf(poles, k, outputs.length),
      outside: !(hz > 0.9 * band[0] && hz < 1.1 * band[1]),
    };
  }

  chosenList() { return [...this.chosen].map(k => this.poles[k]).sort((a, b) => a.hz - b.hz); }

  // modes of the second model: the automatic one, or all poles of one order in the band
  secondList() {
    if (this.second === "auto") return this.modes;
    if (this.second === "none") return [];
    return this.poles.filter(one => one.order === Number(this.second) && !one.outside && one.damping > 0).sort((a, b) => a.hz - b.hz);
  }
  secondName() { return this.second === "auto" ? this.data.method : this.second === "none" ? "" : `order ${this.second}`; }

  toggle(k) {
    if (this.poles[k].outside) return false;
    if (this.chosen.has(k)) this.chosen.delete(k); else this.chosen.add(k);
    this.shown = this.poles[k];
    this.tell();
    return true;
  }
  choose(places) { this.chosen = new Set(places); this.shown = this.chosenList()[0] || this.shown; this.tell(); }
  point(one) {
    if (one === this.pointed) return;
    this.pointed = one;
    if (one) this.shown = one;
    this.tell("pointed");
  }
  show(one) { this.shown = one; this.tell("pointed"); }
  tell(what = "all") { this.listeners.forEach(one => one(what)); }

  matrix(rows, columns) { return rows.map(a => columns.map(b => mac(a.shape, b.shape))); }
}
