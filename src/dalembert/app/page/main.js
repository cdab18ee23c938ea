// The page: data, then a machine or a structure on its stage, time, plots, buttons.
import { decode } from "./data.js";
import { Machine } from "./machine.js";
import { Player } from "./player.js";
import { Plots } from "./plots.js";
import { Stage } from "./stage.js";
import { Structure, structureControls } from "./structure.js";
import { liveControls } from "./live.js";
import { knob } from "./knobs.js";

const byId = id => document.getElementById(id);

export function notice(text, low = false) {
  const box = byId("notice");
  box.textContent = text;
  box.hidden = !text;
  box.classList.toggle("low", low);
}

function toggle(name, title, key, on, act, player) {
  const button = document.createElement("button");
  button.textContent = name; button.title = `${title} (${key})`; button.id = `toggle-${name}`;
  const set = value => { on = value; button.setAttribute("aria-pressed", on); act(on); };
  button.addEventListener("click", () => set(!on));
  player.keys[key] = () => set(!on);
  byId("toggles").append(button);
  set(on);
}

function themes(stage, player) {
  const turn = () => { document.documentElement.dataset.theme = stage.dark ? "light" : "dark"; stage.theme(); stage.ask(); };
  byId("theme").addEventListener("click", turn);
  player.keys.d = turn;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { stage.theme(); stage.ask(); });
}

function views(stage, player) {
  const look = name => { stage.look(name); };
  byId("views").querySelectorAll("[data-view]").forEach(button => button.addEventListener("click", () => look(button.dataset.view)));
  byId("fit").addEventListener("click", () => stage.fit());
  Object.assign(player.keys, { f: () => stage.fit(), 0: () => look("iso"), 1: () => look("x"), 2: () => look("y"), 3: () => look("z") });
}

function plotting(D, stage, player) {
  const has = D.channels && D.channels.names.length > 0 && (D.live || D.channels.time.length > 1), button = byId("plotting"), panel = byId("plots");
  if (!has) { panel.hidden = true; button.hidden = true; return null; }
  const plots = new Plots(D.channels, stage, t => { player.play(false); player.seek(t); });
  const show = on => { panel.hidden = !on; button.setAttribute("aria-pressed", on); if (on) { plots.still = null; plots.draw(); } };
  button.addEventListener("click", () => show(panel.hidden));
  player.keys.p = () => show(panel.hidden);
  return plots;
}

function machineControls(machine, D, stage, player) {
  const redraw = () => { machine.at(player.time); stage.ask(); };
  toggle("names", "Names of joints and bodies", "n", D.bodies.length <= 8, on => { document.body.classList.toggle("nameless", !on); stage.ask(); }, player);
  if (D.frames > 1 || D.live) toggle("traces", "Paths of points", "t", machine.given, on => { machine.showTraces(on && D.frames > 1); machine.traceGroup.visible = on; stage.ask(); }, player);
  if (D.radius > 2.2 * D.own) toggle("follow", "The camera goes with the machine", "g", D.frames > 1 && D.radius > 5 * D.own, on => { machine.follow(on); redraw(); }, player);
  if (!D.forces.length) return;
  const panel = byId("panel");
  const scale = knob("force arrows", { min: -1.5, max: 1.5, value: 0, step: 0.01, format: v => `× ${+(10 ** v).toPrecision(2)}` }, v => { machine.forceScale = 10 ** v; redraw(); });
  scale.id = "force-scale";
  const words = document.createElement("p");
  words.textContent = `Red: what joints do to their second bodies.${D.forces.some(force => force.kind === "applied") ? " Green: applied forces." : ""} The largest is ${+machine.largest.toPrecision(3)} N.`;
  panel.append(scale, words);
  toggle("forces", "Force arrows", "r", false, on => { machine.forceGroup.visible = on; panel.hidden = !on && !D.live; scale.hidden = words.hidden = !on; redraw(); }, player);
}

async function main() {
  const element = byId("data"), D = await decode(element.textContent, element.dataset.packing);
  element.textContent = "";
  byId("title").textContent = D.name || "animation";
  D.own = D.own || D.radius;
  let actor = null, plots = null;
  const stage = new Stage(byId("view"), { ...D, shadows: D.kind === "machine" && D.bodies.length <= 60 });
  const player = new Player(D, t => { if (actor) actor.at(t); if (plots) plots.at(t); stage.ask(); });
  actor = D.kind === "machine" ? new Machine(D, stage) : new Structure(D, stage);
  plots = plotting(D, stage, player);
  views(stage, player);
  themes(stage, player);
  if (D.kind === "machine") machineControls(actor, D, stage, player);
  else structureControls(actor, D, stage, player, toggle);
  if (D.live) liveControls(actor, D, stage, player, plots, notice);
  const wanted = /t=([-+.\de]+)/.exec(location.hash);
  player.seek(wanted && isFinite(+wanted[1]) ? +wanted[1] : D.start);
  player.play(!wanted && !D.live && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  stage.resize();
  // for tests and for people at the console
  window.dalembert = {
    ready: true, data: D, stage, player, plots, actor,
    get time() { return player.time; },
    seek: t => { player.play(false); player.seek(t); stage.draw(); },
    positions: () => actor.positions(),
  };
}

main().catch(error => { notice(error.message || String(error)); console.error(error); });
