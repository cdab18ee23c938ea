// Figures of an identification in which a reader can zoom and choose poles. Every section.workbench of the page has
// its data and, for print and for browsers without scripts, the same figures as pictures.
import { Bench } from "./bench.js";
import { read as readChoice, save } from "./choice.js";
import { read } from "./data.js";
import { Diagram } from "./diagram.js";
import { Response } from "./response.js";
import { Shape } from "./shape.js";
import style from "./workbench.css";
import { html } from "./svg.js";
import { fillMatrix, fillTable } from "./tables.js";

function build(section) {
  const bench = new Bench(read(section)), { data } = bench;
  const live = html(section, "div", { class: "interactive" });
  const left = html(live, "div", { class: "plots" }), right = html(live, "div", { class: "side" });
  const said = html(live, "p", { class: "said", role: "status", "aria-live": "polite" });

  const bar = html(left, "div", { class: "bar" });
  if (data.response && data.response.pairs.length > 1) {
    const choose = select(bar, data.response.kind === "spectrum" ? "output" : "response", data.response.pairs.map((one, k) => [String(k), one.name]));
    choose.addEventListener("change", () => { bench.pair = Number(choose.value); bench.tell(); });
  }
  const orders = [...new Set(bench.poles.map(one => one.order))].sort((a, b) => a - b);
  const against = select(bar, "compare with", [["auto", data.method], ...orders.map(n => [String(n), `all poles of order ${n}`]), ["none", "nothing"]]);
  against.addEventListener("change", () => { bench.second = against.value; bench.tell(); });
  button(bar, "whole band", "Show the band of interest (0, or a double click)", () => bench.view.reset());
  button(bar, "all", "Show all frequencies", () => bench.view.set(...bench.view.full));

  if (data.response) {
    bench.figures.push(new Response(html(left, "div", { class: "figure" }), bench));
    html(left, "p", { class: "words" }, data.captions.frf || data.captions.spectra || "");
  }
  if (bench.poles.length) {
    key(html(left, "div", { class: "legend poles" }), html(left, "div", { class: "legend" }), bench);
    bench.figures.push(new Diagram(html(left, "div", { class: "figure" }), bench, said));
    html(left, "p", { class: "words" }, data.captions.stabilization || "");
  }
  html(left, "p", { class: "hint" }, "A click on a pole chooses it. Drag to zoom, Shift and drag to move, double click for the band; after a click the wheel zooms. With keys: arrows, Enter, + − 0.");

  const tools = html(right, "div", { class: "bar" });
  if (bench.poles.length) {
    button(tools, "sound modes", "Choose the poles of the sound modes again", () => bench.choose(data.first));
    button(tools, "none", "Choose no pole", () => bench.choose([]));
  }
  let store = null;
  if (data.choice && bench.poles.length) {
    store = button(tools, "save choice", "Save the choice as JSON, for dalembert identify --choice", () => save(bench));
    const file = html(tools, "input", { type: "file", accept: ".json,application/json", hidden: "" });
    button(tools, "open…", "Open a choice that was saved", () => file.click());
    file.addEventListener("change", async () => {
      try { bench.choose(readChoice(await file.files[0].text(), bench)); said.textContent = `${bench.chosen.size} poles chosen`; } catch (error) { said.textContent = error.message; }
      file.value = "";
    });
  }
  const table = html(html(right, "div", { class: "scroll" }), "table", { class: "modes" });
  const shape = html(right, "div", { class: "shape" });
  const own = html(right, "div", { class: "scroll" }), other = html(right, "div", { class: "scroll" });
  const fill = what => {
    if (what === "all") {
      fillTable(table, bench);
      const chosen = bench.chosenList(), several = data.outputs.length > 1;
      fillMatrix(own, bench, several ? chosen : [], chosen, "MAC among the chosen modes");
      fillMatrix(other, bench, several ? chosen : [], bench.secondList(), `MAC of the chosen modes (rows) with ${bench.secondName().replace(/ \(.*/, "")}`);
      if (store) store.disabled = !chosen.length;
    }
    table.querySelectorAll("tbody tr").forEach(row => row.classList.toggle("pointed", Boolean(bench.pointed) && Number(row.dataset.pole) === bench.pointed.pole));
  };
  bench.listeners.push(fill);
  fill("all");
  if (data.outputs.length > 1) bench.shape = new Shape(shape, bench);
  section.classList.add("live");
  bench.tell();
  return bench;
}

function key(list, signs, bench) {
  const items = [["sound", "of a sound mode"], ["uncertain", "of an uncertain mode"], ["spurious", "of the fit only"], ["none", "of no mode"]];
  const present = new Set(bench.poles.map(one => one.class));
  const judged = bench.modes.some(one => one.class);
  for (const [look, text] of items) {
    const name = { sound: "sound", uncertain: "uncertain", spurious: "of the fit only", none: "" }[look];
    const here = present.has(name) || (look === "sound" && present.has("chosen"));
    if (!here || (!judged && look !== "none")) continue;
    const item = html(list, "span");
    html(item, "i", { class: `dot ${look}` });
    item.append(look === "sound" && present.has("chosen") ? "of a mode of the model" : text);
  }
  for (const [sign, text] of [["●", "stable"], ["■", "stable but for the shape"], ["▼", "stable in frequency"], ["·", "new"]]) { const item = html(signs, "span"); html(item, "em", {}, sign); item.append(text); }
  const item = html(list, "span");
  html(item, "i", { class: "ringed" });
  item.append("chosen");
}
function select(parent, words, options) {
  const label = html(parent, "label", {}, `${words} `), made = html(label, "select");
  for (const [value, text] of options) html(made, "option", { value }, text);
  return made;
}
function button(parent, text, title, act) {
  const made = html(parent, "button", { type: "button", title }, text);
  made.addEventListener("click", act);
  return made;
}

const sheet = document.createElement("style");
sheet.textContent = style;
document.head.append(sheet);
window.workbenches = [...document.querySelectorAll("section.workbench")].map(section => {
  try { return build(section); } catch (error) { section.classList.remove("live"); section.querySelector(".interactive")?.remove(); throw error; }
});
