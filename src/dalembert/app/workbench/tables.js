// The chosen modes as a table, and the similarity of shapes (MAC) as matrices.
import { digits, percent, spread } from "./data.js";
import { html } from "./svg.js";

const WRITTEN = 12; // modes up to which every MAC is written into its cell

export function fillTable(table, bench) {
  const rows = bench.chosenList(), second = bench.secondList();
  table.replaceChildren();
  html(table, "caption", {}, rows.length ? `Chosen: ${rows.length} ${rows.length === 1 ? "mode" : "modes"}` : "No pole is chosen: click poles of the diagram.");
  if (!rows.length) return;
  const head = html(html(table, "thead"), "tr");
  for (const [name, full] of [["", ""], ["frequency [Hz]", ""], ["damping [%]", ""], ["order", "number of states of the model"], ["MPC", "phase collinearity: 1 for a real shape"], ["MAC", `with the nearest mode of ${bench.secondName() || "the second model"}`], ["", ""]]) html(head, "th", full ? { title: full, scope: "col" } : { scope: "col" }, name);
  const body = html(table, "tbody");
  rows.forEach((one, k) => {
    const row = html(body, "tr", { tabindex: "0", "data-pole": one.pole });
    const near = second.filter(other => Math.abs(other.hz - one.hz) < 0.05 * one.hz), alike = Math.max(...bench.matrix([one], near)[0], -1);
    const known = one.mode >= 0 ? bench.modes[one.mode] : null;
    const cells = [String(k + 1), digits(one.hz, 5), digits(100 * one.damping, 3), String(one.order), one.mpc.toFixed(3), alike < 0 ? "–" : alike.toFixed(2)];
    for (const text of cells) html(row, "td", {}, text);
    if (known && known.hz_deviation) row.title = `${known.class} mode ${known.number} of the automatic model: ${spread(known.hz, known.hz_deviation)} Hz, ${spread(100 * known.damping, 100 * known.damping_deviation)} %`;
    const drop = html(html(row, "td"), "button", { type: "button", title: "Remove it from the choice", "aria-label": `Remove ${digits(one.hz)} Hz` }, "×");
    drop.addEventListener("click", event => { event.stopPropagation(); bench.toggle(one.pole); });
    for (const kind of ["pointerenter", "focus"]) row.addEventListener(kind, () => bench.point(one));
    for (const kind of ["pointerleave", "blur"]) row.addEventListener(kind, () => bench.point(null));
    row.addEventListener("click", () => bench.show(one));
  });
}

// a matrix of numbers between 0 and 1, with the frequencies of its rows and columns
export function fillMatrix(holder, bench, rows, columns, words) {
  holder.replaceChildren();
  holder.hidden = !rows.length || !columns.length;
  if (holder.hidden) return;
  html(holder, "p", {}, words);
  const table = html(holder, "table", { class: "mac", "aria-label": words });
  const values = bench.matrix(rows, columns), written = Math.max(rows.length, columns.length) <= WRITTEN;
  const head = html(html(table, "thead"), "tr", written ? {} : { class: "upright" });
  html(head, "td", {}, "Hz");
  for (const one of columns) html(head, "th", { scope: "col", title: `${digits(one.hz, 5)} Hz` }, digits(one.hz, 3));
  const body = html(table, "tbody");
  rows.forEach((one, i) => {
    const row = html(body, "tr");
    html(row, "th", { scope: "row" }, digits(one.hz, 3));
    columns.forEach((other, j) => {
      const value = values[i][j], cell = html(row, "td", { title: `${digits(one.hz, 5)} Hz and ${digits(other.hz, 5)} Hz: MAC ${value.toFixed(3)}` }, written ? value.toFixed(2) : "");
      cell.style.setProperty("--share", `${Math.round(100 * value)}%`);
      cell.className = value > 0.55 ? "dark" : "";
      cell.addEventListener("pointerenter", () => bench.show(other));
    });
  });
}
