// Live view: one slider per joint coordinate; the program that serves the page assembles the machine.
import { unpack } from "./data.js";
import { knob } from "./knobs.js";

const byId = id => document.getElementById(id);

async function ask(what, question) {
  const answer = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
  if (!answer.ok) throw new Error(`The program answered ${answer.status} ${answer.statusText}.`);
  return answer.headers.get("Content-Type").startsWith("application/json") ? answer.json() : unpack(await answer.arrayBuffer());
}

export function liveControls(machine, D, stage, player, plots, notice) {
  const panel = byId("panel"), head = document.createElement("h2"), knobs = new Map();
  const { low, high, radius, own, half } = D, room = { low, high, radius, own, half };
  let wanted = null, busy = false;
  head.textContent = "joints";
  panel.hidden = false;
  panel.append(head);

  const stand = answer => { // show one pose
    const column = values => Object.assign(Float64Array.from(values), { shape: [values.length, 1] });
    const poses = D.bodies.map(({ name, flexible }) => ({ pose: column(answer.poses[name]), ...(flexible ? { flexible: { ...flexible, values: column(answer.elastic[name]) } } : {}) }));
    machine.take({ bodies: poses, start: 0, step: 0, end: 0, frames: 1, picture: 0, ...room });
    player.play(false);
    player.take(D);
    if (!byId("following").hidden) machine.reframe();
    byId("following").hidden = true;
    byId("transport").hidden = true;
    byId("plots").hidden = true;
    show(answer.values);
    stage.ask();
  };
  // a slider that is being dragged keeps its value, the others show the machine; after a refused pose all show the machine
  const show = (values, all = false) => { for (const [name, value] of Object.entries(values)) if (knobs.has(name) && (all || document.activeElement !== knobs.get(name).lastElementChild)) knobs.get(name).set(value); };
  const send = async (what, question, act) => {
    try {
      const answer = await ask(what, question);
      notice(answer.error || "", true);
      if (!answer.error || answer.poses) act(answer);
      if (answer.error && answer.values) show(answer.values, true);
    } catch (error) { notice(`The program that serves this page does not answer. ${error.message}`, true); }
  };
  // only the last position of a slider is sent: earlier ones are dropped while a request is pending
  const move = async (name, value) => {
    wanted = { name, value };
    if (busy) return;
    busy = true;
    while (wanted) { const now = wanted; wanted = null; await send("pose", now, stand); }
    busy = false;
  };
  for (const { name, low, high, value, unit, limits } of D.live.coordinates) {
    const turn = unit === "rad", format = v => turn ? `${(v * 180 / Math.PI).toFixed(1)}°` : `${Math.abs(v) < 1e-6 * (high - low) ? 0 : +v.toPrecision(3)} ${unit}`; // rounding errors are shown as 0
    const one = knob(name, { min: low, max: high, value, step: (high - low) / 2000, format, around: turn }, v => move(name, v));
    knobs.set(name, one);
    one.title = limits ? `${name}, between its stops` : name;
    panel.append(one);
  }
  const row = document.createElement("div"), reset = document.createElement("button"), run = document.createElement("button");
  row.className = "row";
  reset.textContent = "reset"; reset.id = "reset"; run.textContent = "simulate"; run.id = "run";
  run.title = `Simulate ${D.live.until} s from this position`;
  reset.addEventListener("click", () => send("reset", {}, stand));
  run.addEventListener("click", async () => {
    run.disabled = true; run.textContent = "computing…";
    await send("simulate", { until: D.live.until }, motion => {
      const leaves = [0, 1, 2].some(k => motion.low[k] < low[k] || motion.high[k] > high[k]);
      machine.take(leaves ? motion : { ...motion, ...room });
      byId("transport").hidden = false;
      byId("plots").hidden = false;
      if (plots) plots.take(motion.channels);
      player.time = motion.start;
      player.take(D);
      byId("following").hidden = false;
      if (leaves) machine.reframe();
      player.play(true);
    });
    run.disabled = false; run.textContent = "simulate";
  });
  // during playback the sliders show the pose of the machine
  player.listeners.push(t => {
    if (!plots || !(D.frames > 1)) return;
    for (const [name, one] of knobs) {
      const k = plots.channels.names.indexOf(name);
      if (k >= 0) one.set(plots.valueAt(k, t));
    }
  });
  row.append(reset, run);
  panel.append(row);
  byId("transport").hidden = true;
  byId("plots").hidden = true;
}
