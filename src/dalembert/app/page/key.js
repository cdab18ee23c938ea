// Legend of the drawing, and list of keys and mouse actions.
import { COLORS } from "./arrows.js";
import { metres, short } from "./data.js";
import { glyphOf } from "./joints.js";
import { PALETTE } from "./shapes.js";

const byId = id => document.getElementById(id);

function swatch(html) { const one = document.createElement("span"); one.className = "swatch"; one.innerHTML = html; return one; } // safe: only texts of this file
const svg = inside => `<svg viewBox="0 0 26 16" aria-hidden="true">${inside}</svg>`;
const SIGNS = {
  body: svg(`<rect x="2" y="5" width="22" height="6" rx="3" fill="${PALETTE[0]}"/>`),
  flexible: svg(`<path d="M3 11C9 3 17 3 23 11" fill="none" stroke="${PALETTE[0]}" stroke-width="5" stroke-linecap="round"/>`),
  guess: svg(`<rect x="4" y="2" width="18" height="12" fill="${PALETTE[0]}" opacity=".5"/>`),
  hinge: svg(`<circle cx="13" cy="8" r="5.5" fill="#7d8896"/><circle cx="13" cy="8" r="3" fill="#fff"/>`),
  slide: svg(`<path d="M1 8h24" stroke="#7d8896" stroke-width="2"/><rect x="8" y="3" width="10" height="10" fill="#7d8896"/>`),
  ball: svg(`<circle cx="13" cy="8" r="5.5" fill="#7d8896"/>`),
  rolls: svg(`<circle cx="13" cy="7" r="5.5" fill="none" stroke="#343b45" stroke-width="2.4"/><path d="M3 14.6h20" stroke="#7d8896"/>`),
  ground: svg(`<path d="M13 2l6 9H7z" fill="#8a95a3"/><path d="M4 11.6h18M6 15l3-3M11 15l3-3M16 15l3-3" stroke="#8a95a3" fill="none"/>`),
  centre: svg(`<circle cx="13" cy="8" r="5.5" fill="#fff" stroke="#222a34"/><path d="M13 8V2.5A5.5 5.5 0 0 1 18.500 8zM13 8v5.500A5.500 5.500 0 0 1 7.500 8z" fill="#222a34"/>`),
  spring: svg(`<path d="M1 8h4l2-5 3 10 3-10 3 10 3-10 2 5h4" fill="none" stroke="#7d8896" stroke-width="1.6"/>`),
  trace: svg(`<path d="M1 13C8 13 9 3 16 3s7 5 9 5" fill="none" stroke="${PALETTE[3]}" stroke-width="2"/>`),
  reaction: svg(`<path d="M2 8h15" stroke="${COLORS.reaction}" stroke-width="2.400"/><path d="M24 8l-9-5v10z" fill="${COLORS.reaction}"/>`),
  applied: svg(`<path d="M2 8h15" stroke="${COLORS.applied}" stroke-width="2.400"/><path d="M24 8l-9-5v10z" fill="${COLORS.applied}"/>`),
  torque: svg(`<path d="M6 12A7 7 0 1 1 19 10" fill="none" stroke="${COLORS.reaction}" stroke-width="2.400"/><path d="M20.500 15l-5-5.500 7-.500z" fill="${COLORS.reaction}"/>`),
  gravity: svg(`<path d="M13 1v9" stroke="#95a0ae" stroke-width="2.400"/><path d="M13 15l-4.500-7h9z" fill="#95a0ae"/>`),
  rest: svg(`<rect x="2" y="5" width="22" height="6" rx="3" fill="#b9c1cb" opacity=".6"/>`),
};

const MARKS = {
  fixed: ['<rect x="7" y="6" width="12" height="7" fill="#5a6573"/>', "fixed"], pinned: ['<path d="M13 3l6 10H7z" fill="#5a6573"/>', "pinned: cannot move, can turn"],
  guided: ['<circle cx="13" cy="8" r="5" fill="none" stroke="#5a6573" stroke-width="1.6"/>', "guided: held in some directions"], held: ['<circle cx="13" cy="8" r="2.500" fill="#5a6573"/>', "held point"],
  "spring to ground": ['<path d="M13 3l6 10H7z" fill="#3aa57a"/>', "spring to the ground"], mass: ['<circle cx="13" cy="8" r="5.500" fill="#e2a11f"/>', "mass at a point"],
};

function structureRows(D) {
  const rows = D.beams.length ? [["<path d='M2 8h22' stroke='#5b8fc7' stroke-width='4'/>", "beams and bars"]] : [];
  if (D.triangles.length) rows.push(["<path d='M3 13l5-10h15l-5 10z' fill='#5b8fc7'/>", "surface of a solid"]);
  for (const [kind, at] of Object.entries(D.marks)) if (MARKS[kind] && at.length) rows.push(MARKS[kind]);
  if (D.springs.length) rows.push(["<path d='M1 8h4l2-5 3 10 3-10 3 10 3-10 2 5h4' fill='none' stroke='#3aa57a' stroke-width='1.6'/>", "spring"]);
  if (D.links.length) rows.push(["<path d='M2 8h22' stroke='#8a95a3' stroke-width='2'/>", "rigid link"]);
  return [...rows, ["<path d='M2 8h22' stroke='#b9c1cb' stroke-width='2'/>", "the structure at rest"]];
}

function machineRows(D, machine) {
  const rows = [["body", "bodies, each in its colour"]], legends = new Map(D.joints.filter(j => j.legend).map(j => [j.legend, glyphOf(j).sign]));
  if (D.bodies.some(body => body.shape && body.shape.guess)) rows.push(["guess", "paler: a solid with the body's mass and inertia"]);
  for (const [legend, sign] of [...legends].sort(([a], [b]) => a < b ? -1 : 1)) rows.push([sign, legend]);
  if (D.ground.length) rows.push(["ground", "fixed to the ground"]);
  if (machine.flexible.size) rows.push(["flexible", "flexible body; the slider sets the scale of its deformation"]);
  if (D.planar && D.bodies.some(body => !body.flexible)) rows.push(["centre", "centre of mass"]);
  if (D.springs.length) rows.push(["spring", D.springs.some(s => s.damped) ? "spring; with a damper in it where there is damping" : "spring"]);
  if (machine.modal) rows.push(["rest", "pale: the machine at rest"]);
  else if (D.frames > 1) rows.push(["trace", "paths of points; dark until the current time"]);
  const has = (kind, turns) => D.forces.some(f => f.kind === kind && Boolean(f.turns) === turns), { largest } = machine.efforts;
  if (has("reaction", false)) rows.push(["reaction", `force of a joint on its second body; the largest force is ${short(largest[0], 3)} N`]);
  if (has("applied", false)) rows.push(["applied", "applied force"]);
  if (largest[1] > 0) rows.push(["torque", `torque, curved in its direction of rotation (red: of a joint, green: applied); the largest is ${short(largest[1], 3)} N m`]);
  if (Math.hypot(...(D.gravity || [0])) > 0) rows.push(["gravity", `gravity, ${short(Math.hypot(...D.gravity), 3)} m/s², in the corner with the axes`]);
  return rows;
}

const HANDS = [
  ["space", "play or stop"], ["← →", "one picture back or forward; with shift ten"], ["home end", "to the start, to the end"], ["l", "repeat from the start"],
  ["0 1 2 3", "views: iso, front, side, top"], ["f", "show everything"], ["o", "perspective or parallel"], ["d", "light or dark"], ["s", "save a picture"], ["p", "plots"], ["z", "plots: show the whole time"], ["?", "this list"],
];
const MOUSE = { planar: "Drag moves the scene, right drag turns it, the wheel zooms.", spatial: "Drag turns the scene, right drag moves it, the wheel zooms." };

export function keyBox(D, actor, stage) {
  const box = byId("key");
  const fill = () => {
    const list = document.createElement("dl"), keys = document.createElement("dl"), words = document.createElement("p"), hands = document.createElement("p");
    const rows = D.kind === "machine" ? machineRows(D, actor).map(([sign, text]) => [SIGNS[sign], text]) : structureRows(D).map(([sign, text]) => [svg(sign), text]);
    for (const [sign, text] of rows) { const term = document.createElement("dt"), what = document.createElement("dd"); term.append(swatch(sign)); what.textContent = text; list.append(term, what); }
    for (const [key, text] of HANDS) { const term = document.createElement("dt"), what = document.createElement("dd"), kbd = document.createElement("kbd"); kbd.textContent = key; term.append(kbd); what.textContent = text; keys.append(term, what); }
    words.textContent = `One square of the grid is ${metres(stage.gridStep || 1)}. ${MOUSE[D.planar ? "planar" : "spatial"]}`;
    hands.textContent = "Plots: a click sets the time, a drag zooms, the wheel zooms, shift-drag moves, a double click shows all.";
    box.replaceChildren(list, words, hands, keys);
  };
  return on => { if (on) fill(); box.hidden = !on; };
}
