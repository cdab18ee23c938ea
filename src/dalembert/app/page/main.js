// The page: reads its data, then builds the machine or structure, the time controls, the plots and the buttons.
import { decode, metres } from "./data.js";
import { Machine } from "./machine.js";
import { Player } from "./player.js";
import { Plots } from "./plots.js";
import { Stage } from "./stage.js";
import { Structure, structureControls } from "./structure.js";
import { liveControls } from "./live.js";
import { SCALES } from "./flexible.js";
import { keyBox } from "./key.js";
import { knob } from "./knobs.js";
import { machineModes } from "./modes.js";
import { picture, savePicture } from "./picture.js";

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
  const buttons = [...byId("views").querySelectorAll("[data-view]")];
  for (const button of buttons) {
    // seen from its edge, a planar machine is invisible
    if (stage.planar && !["front", "iso"].includes(button.dataset.view)) button.remove();
    else button.addEventListener("click", () => stage.look(button.dataset.view));
  }
  byId("fit").addEventListener("click", () => stage.fit());
  Object.assign(player.keys, { f: () => stage.fit(), 0: () => stage.look("iso"), 1: () => stage.look("front") });
  if (stage.planar) return;
  Object.assign(player.keys, { 2: () => stage.look("side"), 3: () => stage.look("top") });
  toggle("parallel", "Parallel, without perspective", "o", false, on => stage.lens(on), player);
}

function page(D, actor, stage, player, plots) {
  const show = keyBox(D, actor, stage), help = byId("help");
  const turn = () => { const on = help.getAttribute("aria-expanded") !== "true"; help.setAttribute("aria-expanded", on); show(on); };
  const save = () => savePicture(picture(stage, plots, byId("title").textContent, `${byId("about").textContent} ${byId("clock").textContent}`.trim()), `${D.name || "animation"}_${player.time.toFixed(3)}`);
  help.addEventListener("click", turn);
  byId("save").addEventListener("click", save);
  Object.assign(player.keys, { "?": turn, s: save, Escape: () => { if (help.getAttribute("aria-expanded") === "true") turn(); } });
  const what = D.kind === "machine" ? `${D.planar ? "Planar machine" : "Machine"} of ${D.bodies.length} bodies and ${D.joints.length} joints` : "Structure";
  stage.renderer.domElement.setAttribute("aria-label", `${D.name || "animation"}. ${what}. Keys: question mark.`);
}

function follows(machine, D, stage, player) {
  if (!(D.frames > 1 || D.live)) return;
  const list = byId("follow");
  byId("following").hidden = !(D.frames > 1);
  list.append(new Option("nothing", "nothing"), ...(D.bodies.length > 1 ? [new Option("machine", "machine")] : []), ...D.bodies.map((body, i) => new Option(body.name, `body ${i}`)));
  const act = () => {
    const value = list.value;
    machine.follow(value === "nothing" ? null : value === "machine" ? "" : D.bodies[+value.slice(5)].name);
    machine.at(player.time);
    stage.ask();
  };
  list.addEventListener("change", act);
  player.keys.g = () => { list.value = list.value === "nothing" ? list.options[1].value : "nothing"; act(); };
  // show a motion within other bounds: whole, or from near where the machine travels far
  machine.reframe = () => { list.value = D.radius > 5 * D.own ? list.options[1].value : "nothing"; act(); };
  if (D.radius > 5 * D.own) machine.reframe();
}

function plotting(D, stage, player) {
  const has = D.channels && D.channels.names.length > 0 && (D.live || D.channels.time.length > 1), button = byId("plotting"), panel = byId("plots");
  if (!has) { panel.hidden = true; button.hidden = true; return null; }
  const plots = new Plots(D.channels, stage, t => { player.play(false); player.seek(t); });
  const show = on => { panel.hidden = !on; button.setAttribute("aria-pressed", on); if (on) { plots.still = null; plots.draw(); } };
  button.addEventListener("click", () => show(panel.hidden));
  player.keys.p = () => show(panel.hidden);
  player.keys.z = () => plots.whole();
  return plots;
}

function machineControls(machine, D, stage, player) {
  const redraw = () => { machine.at(player.time); stage.ask(); }, { traces } = machine;
  toggle("names", "Names of joints and bodies", "n", D.bodies.length <= 8, on => { document.body.classList.toggle("nameless", !on); stage.ask(); }, player);
  if (machine.modal) machineModes(machine, D, stage, player, toggle);
  if (machine.flexible.size) deformationControls(machine, player, redraw);
  if (machine.modal) return;
  // the motion of a travelling machine, or of a single body in space, is hard to see without its path
  const alone = !D.planar && D.bodies.length === 1;
  if (D.frames > 1 || D.live) toggle("traces", "Paths of points", "t", traces.given || (alone && D.frames > 1), on => { traces.show(on && D.frames > 1); traces.group.visible = on; stage.ask(); }, player);
  follows(machine, D, stage, player);
  if (D.forces.length) effortControls(machine, D, player, redraw);
}

// how large the deformation of flexible bodies is drawn
function deformationControls(machine, player, redraw) {
  const panel = byId("panel"), words = document.createElement("p"), format = k => SCALES[k] === 1 ? "true scale" : SCALES[k] === 0 ? "undeformed" : `× ${SCALES[k]}`;
  const scale = knob("deformation", { min: 0, max: SCALES.length - 1, value: SCALES.indexOf(1), step: 1, format }, k => { machine.rescale(SCALES[k]); redraw(); });
  scale.id = "deformation-scale";
  words.id = "deformation-words";
  words.textContent = `${machine.largest > 0 && !machine.modal ? `Largest deflection: ${metres(machine.largest)}, seen from the joints of its body. ` : ""}Joints keep their places in every scale; where they cannot, a thin line joins their two sides.`;
  panel.hidden = false;
  panel.append(scale, words);
  if (machine.largest > 0 && !machine.modal) toggle("colours", "Colours by deflection", "c", false, on => { machine.colored = on; redraw(); }, player);
}

function effortControls(machine, D, player, redraw) {
  const panel = byId("panel"), [force, torque] = machine.efforts.largest, both = force > 0 && torque > 0;
  const scale = knob(force > 0 ? `force ${both ? "and torque " : ""}arrows` : "torque arrows", { min: -1.5, max: 1.5, value: 0, step: 0.01, format: v => `× ${+(10 ** v).toPrecision(2)}` }, v => { machine.efforts.scale = 10 ** v; redraw(); });
  const words = document.createElement("p"), largest = [force > 0 ? `${+force.toPrecision(3)} N` : "", torque > 0 ? `${+torque.toPrecision(3)} N m` : ""].filter(Boolean).join(", ");
  scale.id = "force-scale";
  words.textContent = `${D.forces.some(one => one.kind === "reaction") ? "Red: forces of joints on their second bodies. " : ""}${D.forces.some(one => one.kind === "applied") ? "Green: applied forces. " : ""}${torque > 0 ? "Bent arrows are torques. " : ""}Largest: ${largest}.`;
  panel.append(scale, words);
  toggle("forces", "Arrows of forces and torques", "r", false, on => { machine.efforts.group.visible = on; panel.hidden = !on && !D.live && !machine.flexible.size; scale.hidden = words.hidden = !on; redraw(); }, player);
}

// printing uses a picture of the current view in light colours: the WebGL canvas would be empty on paper
function printing(stage, make) {
  const holder = document.createElement("div"), { dataset } = document.documentElement;
  holder.id = "still";
  document.body.append(holder);
  window.addEventListener("beforeprint", () => {
    const before = dataset.theme;
    dataset.theme = "light"; stage.theme();
    holder.replaceChildren(make());
    if (before === undefined) delete dataset.theme; else dataset.theme = before;
    document.body.classList.add("printed");
    stage.theme(); stage.ask();
  });
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
  page(D, actor, stage, player, plots);
  if (D.live) liveControls(actor, D, stage, player, plots, notice);
  const wanted = /t=([-+.\de]+)/.exec(location.hash);
  player.seek(wanted && isFinite(+wanted[1]) ? +wanted[1] : D.start);
  player.play(!wanted && !D.live && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  stage.resize();
  printing(stage, () => picture(stage, plots, byId("title").textContent, byId("clock").textContent));
  // for tests and for use in the browser console
  window.dalembert = {
    ready: true, data: D, stage, player, plots, actor,
    get time() { return player.time; },
    seek: t => { player.play(false); player.seek(t); stage.draw(); },
    positions: () => actor.positions(),
  };
}

main().catch(error => { notice(error.message || String(error)); console.error(error); });
