// List of modes, amplitude slider, and table of the coordinates in the chosen mode; for structures and machines.
import { knob } from "./knobs.js";

const byId = id => document.getElementById(id);

function made(tag, { text = "", ...rest } = {}, ...inside) {
  const one = Object.assign(document.createElement(tag), rest);
  if (text) one.textContent = text;
  one.append(...inside);
  return one;
}

// `actor` has choose(k) and a scale; returns the function that chooses a mode
export function modeList(actor, D, player, redraw) {
  const panel = byId("panel"), buttons = [], parts = made("table", { id: "parts" });
  const choose = k => {
    actor.choose(k);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === k));
    buttons[k].scrollIntoView({ block: "nearest" });
    const { title, note, parts: moving } = D.modes[k];
    byId("about").textContent = `mode ${k + 1}: ${title}${note ? ", " + note : ""}`;
    if (moving) listed(parts, moving);
    redraw();
  };
  const list = made("div", { className: "modes", id: "modes" });
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", "Modes");
  D.modes.forEach(({ title, note }, k) => {
    const number = made("span", { text: k + 1 }), words = made("b", { text: title }), button = made("button", { title: note || title }, number, words);
    words.style.fontWeight = 500;
    button.addEventListener("click", () => choose(k));
    buttons.push(button);
    list.append(button);
  });
  panel.append(made("h2", { text: "modes" }), list);
  Object.assign(player.keys, { ArrowDown: () => choose(Math.min(actor.mode + 1, D.modes.length - 1)), ArrowUp: () => choose(Math.max(actor.mode - 1, 0)) });
  actor.select = choose;
  return { choose, parts };
}

// amplitude and phase of the coordinates; phases are relative to the coordinate that moves most
function listed(table, moving) {
  const turning = moving.some(([, , phase]) => Math.abs(phase) > 2 && Math.abs(phase) < 178);
  table.replaceChildren(...moving.map(([name, size, phase]) => {
    const bar = made("i"), opposite = Math.abs(phase) > 90;
    bar.style.width = `${Math.round(44 * size)}px`;
    bar.className = opposite && !turning ? "opposite" : "";
    return made("tr", {}, made("td", { text: name, title: name }), made("td", {}, bar), made("td", { text: `${opposite && !turning ? "−" : ""}${size.toFixed(2)}` }), made("td", { text: turning ? `∠ ${Math.round(phase)}°`.replace("-", "−") : "" }));
  }));
}

export function machineModes(machine, D, stage, player, toggle) {
  const panel = byId("panel"), redraw = () => { machine.at(player.time); stage.ask(); };
  panel.hidden = false;
  const { choose, parts } = modeList(machine, D, player, redraw);
  const scale = knob("amplitude", { min: 0, max: 5, value: 1, step: 0.01, format: v => `× ${v.toFixed(2)}` }, v => { machine.scale = v; redraw(); });
  scale.id = "deformation";
  panel.append(scale, parts);
  toggle("rest", "The machine at rest", "b", true, on => { machine.rest.visible = on; stage.ask(); }, player);
  choose(0);
}
