// Time: playing, stepping, speed, loop; buttons and keys.
const byId = id => document.getElementById(id);
const STOP = "M2 1h3.6v12H2zM8.4 1H12v12H8.4z", GO = "M3 1l10 6-10 6z";

export class Player {
  constructor(D, change) {
    Object.assign(this, { D, change, playing: false, loop: true, speed: D.speed || 1, time: D.start, listeners: [] });
    this.slider = byId("slider");
    this.slider.addEventListener("input", () => { this.play(false); this.seek(+this.slider.value); });
    byId("play").addEventListener("click", () => this.play(!this.playing));
    byId("loop").addEventListener("click", () => this.looping(!this.loop));
    byId("speed").addEventListener("change", event => { this.speed = +event.target.value; });
    document.addEventListener("keydown", event => this.key(event));
    this.keys = {};
    this.take(D);
  }

  take(D) {
    this.D = D;
    this.length = D.end - D.start;
    this.decimals = Math.max(1, Math.min(6, 3 - Math.floor(Math.log10(this.length || 1))));
    Object.assign(this.slider, { min: D.start, max: D.end });
    const list = byId("speed"), all = [...new Set([0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, this.speed])].sort((a, b) => a - b);
    const unit = D.clock === "phase" ? " cycles/s" : "×";
    list.replaceChildren(...all.map(k => new Option(`${+k.toPrecision(3)}${unit}`, k, false, k === this.speed)));
    this.seek(Math.min(Math.max(this.time, D.start), D.end));
  }

  looping(on) { this.loop = on; byId("loop").setAttribute("aria-pressed", on); }

  play(on) {
    this.playing = on && this.length > 0;
    if (this.playing && this.time >= this.D.end) this.time = this.D.start;
    this.before = performance.now();
    byId("sign").setAttribute("d", this.playing ? STOP : GO);
    if (this.playing) this.tick();
  }

  tick() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(now => {
      this.waiting = false;
      if (!this.playing) return;
      let t = this.time + Math.min(Math.max(now - this.before, 0) / 1000, 0.1) * this.speed;
      this.before = now;
      if (t > this.D.end) {
        if (this.loop) t = this.D.start + (t - this.D.end) % this.length;
        else { t = this.D.end; this.play(false); }
      }
      this.seek(t);
      if (this.playing) this.tick();
    });
  }

  seek(t) {
    this.time = Math.min(Math.max(t, this.D.start), this.D.end);
    this.slider.value = this.time;
    const clock = byId("clock"), now = document.createElement("b");
    now.textContent = this.D.clock === "phase" ? `${Math.round(360 * this.time)}°` : this.time.toFixed(this.decimals);
    if (this.D.clock === "phase") clock.replaceChildren("phase ", now);
    else {
      const end = document.createElement("span");
      end.textContent = ` / ${this.D.end.toFixed(this.decimals)}`;
      clock.replaceChildren("t = ", now, end, " s");
    }
    this.change(this.time);
    this.listeners.forEach(act => act(this.time));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const tag = event.target.tagName;
    if (tag === "SELECT" || (tag === "INPUT" && event.target.type !== "range")) return;
    if (event.target.dataset && event.target.dataset.knob !== undefined && event.key.startsWith("Arrow")) return; // arrow keys belong to this slider
    const step = (event.shiftKey ? 10 : 1) * (this.D.picture || 0);
    const own = {
      " ": () => this.play(!this.playing), ArrowRight: () => { this.play(false); this.seek(this.time + step); }, ArrowLeft: () => { this.play(false); this.seek(this.time - step); },
      Home: () => this.seek(this.D.start), End: () => this.seek(this.D.end), l: () => this.looping(!this.loop),
    };
    const act = own[event.key] || this.keys[event.key];
    if (act) { event.preventDefault(); act(); }
  }
}
