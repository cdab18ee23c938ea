"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const canvas = byId("canvas"), ctx = canvas.getContext("2d");
const PALETTE = ["#3b8eea", "#f08a3c", "#2fae7d", "#d873b0", "#e0b12f", "#8d76d6", "#4fb9cf", "#9aa36b"];
const index = new Map(D.bodies.map((body, i) => [body.name, i]));

// ---- vectors and poses: R(v) turns a body-fixed vector into the world

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const times = (k, a) => [k * a[0], k * a[1], k * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => { const n = Math.hypot(...a); return n > 0 ? times(1 / n, a) : [0, 0, 1]; };
const three = p => [p[0], p[1], p[2] || 0];

function poseOf(body, t) {
  const at = D.step > 0 ? Math.min(Math.max((t - D.start) / D.step, 0), D.frames - 1) : 0;
  const i = Math.min(Math.floor(at), Math.max(D.frames - 2, 0)), w = at - i, j = Math.min(i + 1, D.frames - 1);
  const v = body.pose.map(channel => (1 - w) * channel[i] + w * channel[j]);
  if (D.planar) {
    const c = Math.cos(v[2]), s = Math.sin(v[2]);
    return { o: [v[0], v[1], 0], R: p => [c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]] };
  }
  const n = Math.hypot(v[3], v[4], v[5], v[6]) || 1, e = v[3] / n, u = [v[4] / n, v[5] / n, v[6] / n];
  return { o: v.slice(0, 3), R: p => add(p, times(2, cross(u, add(cross(u, p), times(e, p))))) };
}

let poses = [];
const world = (body, point) => {
  if (body === null || body === undefined || !index.has(body)) return three(point);
  const pose = poses[index.get(body)];
  return add(pose.o, pose.R(three(point)));
};

// what a body is drawn from: its points and lines; a lone point is joined to the origin, like the rod of a pendulum
const drawn = D.bodies.map(body => {
  const points = (body.points || []).map(three);
  let lines = body.lines || [];
  const rod = body.shape && body.shape.kind === "rod" ? body.shape.ends : null;
  if (rod && points.filter(p => Math.hypot(...p) > 0).length < 2) return { points: rod, lines: [[0, 1]], hull: [] };
  if (!lines.length && points.length === 1 && Math.hypot(...points[0]) > 0) { points.push([0, 0, 0]); lines = [[0, 1]]; }
  else if (!lines.length) lines = points.slice(1).map((_, i) => [i, i + 1]);
  return { points, lines, hull: D.planar ? hullOf(points) : [] };
});

// large bodies below small ones, so that none hides another
const reach = drawn.map(body => Math.max(0, ...body.points.map(p => Math.hypot(...p))));
const order = D.bodies.map((_, b) => b).sort((a, b) => reach[b] - reach[a]);

function hullOf(points) {
  const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const half = list => {
    const out = [];
    for (const q of list) { while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], q) <= 0) out.pop(); out.push(q); }
    return out.slice(0, -1);
  };
  return p.length < 3 ? [] : [...half(p), ...half(p.reverse())];
}

// ---- camera

const centre = times(0.5, add(D.low, D.high));
const view = { own: false }; // own: the user has moved it, so a new window size does not
let width = 1, height = 1, ratio = 1;
const size = sub(D.high, D.low);
const radius = D.radius;

function fit() {
  const w = Math.max(width - 120, 60), h = Math.max(height - 130, 60);
  view.target = [...centre]; view.own = false;
  if (D.planar) view.scale = Math.min(w / Math.max(size[0], 1e-9 + 0.05 * size[1]), h / Math.max(size[1], 1e-9 + 0.05 * size[0]));
  else { view.yaw = -0.9; view.pitch = 0.42; view.scale = 1; fitSpatial(w, h); }
}

// everything that is ever drawn, as points: at most a hundred pictures of it
let cloud = null;
function cloudOf() {
  const out = grounded.map(three), n = Math.min(D.frames, 100);
  D.trails.forEach(trail => out.push(...trail.points.filter((_, i) => i % Math.ceil(trail.points.length / 500) === 0)));
  for (let k = 0; k < n; k++) D.bodies.forEach((body, b) => {
    const pose = poseOf(body, D.start + (D.end - D.start) * (n > 1 ? k / (n - 1) : 0)), r = body.shape && body.shape.kind === "sphere" ? body.shape.radius : 0;
    const ball = [[r, 0, 0], [-r, 0, 0], [0, r, 0], [0, -r, 0], [0, 0, r], [0, 0, -r]];
    // the first two faces of a box or cylinder have all its corners
    for (const p of [...drawn[b].points, ...faces[b].slice(0, 2).flat(), ...(r ? ball : [[0, 0, 0]])]) out.push(add(pose.o, pose.R(p)));
  });
  return out;
}

function fitSpatial(w, h) {
  cloud = cloud || cloudOf();
  const cy = Math.cos(view.yaw), sy = Math.sin(view.yaw), cp = Math.cos(view.pitch), sp = Math.sin(view.pitch);
  for (let round = 0; round < 3; round++) { // perspective changes with the target: again
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    view.scale = 1;
    for (const p of cloud) {
      const q = project(p), x = q[0] - width / 2, y = height / 2 - q[1];
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    view.target = add(view.target, add(times((x0 + x1) / 2, [cy, -sy, 0]), times((y0 + y1) / 2, [sp * sy, sp * cy, cp])));
    view.scale = Math.min(w / Math.max(x1 - x0, 0.1 * radius), h / Math.max(y1 - y0, 0.1 * radius));
  }
}

// to the screen: [x, y, depth], depth growing towards the eye; the eye is six radii away
function project(p) {
  const q = sub(p, view.target);
  if (D.planar) return [width / 2 + view.scale * q[0], height / 2 - view.scale * q[1], 0];
  const cy = Math.cos(view.yaw), sy = Math.sin(view.yaw), cp = Math.cos(view.pitch), sp = Math.sin(view.pitch);
  const right = cy * q[0] - sy * q[1], deep = sy * q[0] + cy * q[1];
  const up = cp * q[2] + sp * deep, near = sp * q[2] - cp * deep;
  const k = view.scale / Math.max(1 - near / (6 * radius), 0.05);
  return [width / 2 + k * right, height / 2 - k * up, near];
}

// ---- drawing

let ink = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const key of ["paper", "line", "grid", "grid2", "ink", "soft", "accent", "steel", "pin"]) ink[key] = style.getPropertyValue("--" + key).trim();
}

function path(points, closed) {
  ctx.beginPath();
  points.forEach((p, i) => i ? ctx.lineTo(p[0], p[1]) : ctx.moveTo(p[0], p[1]));
  if (closed) ctx.closePath();
}
function stroke(points, color, thick, closed) {
  path(points, closed);
  ctx.strokeStyle = color; ctx.lineWidth = thick; ctx.lineCap = ctx.lineJoin = "round"; ctx.stroke();
}
function disc(p, r, fill, line, thick) {
  ctx.beginPath(); ctx.arc(p[0], p[1], r, 0, 2 * Math.PI);
  if (fill) { ctx.fillStyle = fill; ctx.fill(); }
  if (line) { ctx.strokeStyle = line; ctx.lineWidth = thick || 1.5; ctx.stroke(); }
}
function shade(hex, k) { // k in -1..1: darker, lighter
  const to = k < 0 ? 0 : 255, a = Math.abs(k);
  const part = i => Math.round(parseInt(hex.slice(i, i + 2), 16) * (1 - a) + to * a);
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}
function label(text, p, dx, dy) {
  ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  ctx.lineWidth = 3; ctx.lineJoin = "round"; ctx.strokeStyle = ink.paper; ctx.strokeText(text, p[0] + dx, p[1] + dy);
  ctx.fillStyle = ink.ink; ctx.fillText(text, p[0] + dx, p[1] + dy);
}
function nice(x) {
  const e = 10 ** Math.floor(Math.log10(x)), m = x / e;
  return (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * e;
}
function metres(x) {
  for (const [k, name] of [[1e3, "km"], [1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "µm"]])
    if (x >= 0.999 * k) return `${+(x / k).toPrecision(3)} ${name}`;
  return `${x.toExponential(0)} m`;
}

function planarGrid() {
  const step = nice(90 / view.scale);
  const [x0, y1] = [view.target[0] - width / 2 / view.scale, view.target[1] + height / 2 / view.scale];
  const [x1, y0] = [view.target[0] + width / 2 / view.scale, view.target[1] - height / 2 / view.scale];
  for (let i = Math.ceil(x0 / step); i * step <= x1; i++) { const x = Math.round(project([i * step, 0, 0])[0]) + 0.5; stroke([[x, 0], [x, height]], i ? ink.grid : ink.grid2, 1); }
  for (let i = Math.ceil(y0 / step); i * step <= y1; i++) { const y = Math.round(project([0, i * step, 0])[1]) + 0.5; stroke([[0, y], [width, y]], i ? ink.grid : ink.grid2, 1); }
  const long = step * view.scale, right = width - 22, y = height - 20;
  stroke([[right - long, y - 4], [right - long, y], [right, y], [right, y - 4]], ink.soft, 1.5);
  ctx.textAlign = "center"; ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif"; ctx.fillStyle = ink.soft;
  ctx.fillText(metres(step), right - long / 2, y - 8); ctx.textAlign = "left";
}

function floorGrid() {
  const step = nice(radius / 4), z = Math.min(0, D.low[2]), n = Math.ceil(1.5 * radius / step);
  const cx = Math.round(centre[0] / step), cy = Math.round(centre[1] / step);
  for (let i = -n; i <= n; i++) {
    stroke([project([(cx + i) * step, (cy - n) * step, z]), project([(cx + i) * step, (cy + n) * step, z])], cx + i ? ink.grid : ink.grid2, 1);
    stroke([project([(cx - n) * step, (cy + i) * step, z]), project([(cx + n) * step, (cy + i) * step, z])], cy + i ? ink.grid : ink.grid2, 1);
  }
  const far = project(view.target), corner = [54, height - 50];
  [["x", [1, 0, 0], "#e5534b"], ["y", [0, 1, 0], "#2fae7d"], ["z", [0, 0, 1], "#3b8eea"]].forEach(([name, axis, color]) => {
    const tip = sub(project(add(view.target, times(1e-3 * radius, axis))), far), k = 30 / (1e-3 * radius * view.scale);
    const end = [corner[0] + k * tip[0], corner[1] + k * tip[1]];
    stroke([corner, end], color, 2);
    ctx.fillStyle = color; ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    ctx.fillText(name, end[0] + (end[0] - corner[0]) * 0.25 - 3, end[1] + (end[1] - corner[1]) * 0.25 + 4);
  });
  ctx.fillStyle = ink.soft; ctx.textAlign = "right"; ctx.fillText(`grid ${metres(step)}`, width - 20, height - 18); ctx.textAlign = "left";
}

// a triangle standing on hatched ground
function groundMark(p) {
  const s = 11, y = p[1] + 1.7 * s;
  stroke([[p[0], p[1]], [p[0] - s, y], [p[0] + s, y]], ink.steel, 1.6, true);
  stroke([[p[0] - 1.7 * s, y], [p[0] + 1.7 * s, y]], ink.steel, 2);
  for (let i = -2; i <= 2; i++) stroke([[p[0] + i * 0.75 * s + 3, y + 1], [p[0] + i * 0.75 * s - 4, y + 8]], ink.steel, 1.2);
}

function zigzag(a, b) {
  const d = [b[0] - a[0], b[1] - a[1]], length = Math.hypot(...d) || 1, n = 16;
  const along = [d[0] / length, d[1] / length], side = [-along[1], along[0]];
  const lead = Math.min(0.15 * length, 22), body = length - 2 * lead, out = [a];
  for (let i = 0; i <= n; i++) {
    const s = lead + body * i / n, w = i === 0 || i === n ? 0 : (i % 2 ? 6 : -6);
    out.push([a[0] + along[0] * s + side[0] * w, a[1] + along[1] * s + side[1] * w]);
  }
  return [...out, b];
}

function link(points, lines, color, thick) {
  for (const [width2, tint] of [[thick + 3, shade(color, -0.35)], [thick, color]])
    for (const [i, j] of lines) if (points[i] && points[j]) stroke([points[i], points[j]], tint, width2);
}

// between the two points of a sliding joint: the guide, or a rod without mass; a scene of old has one point only
const GUIDES = D.joints.filter(joint => joint.other && ["prismatic", "cylindrical", "screw", "point on line", "rod"].includes(joint.type));
const guideEnds = joint => [project(world(joint.body, joint.point)), project(world(joint.other.body, joint.other.point))];
function guide(joint, ends) {
  if (joint.type === "rod") { link(ends, [[0, 1]], "#8a93a0", 3); return; }
  stroke(ends, ink.steel, 1.6);
}

// where a machine stands on the ground: at its joints and at its springs
const grounded = [...D.ground];
for (const s of D.springs) for (const [body, point] of [s.a, s.b])
  if (body === null && !grounded.some(p => Math.hypot(...sub(three(p), three(point))) < 1e-9 * radius)) grounded.push(point);

function drawTrails(t) {
  const now = D.step > 0 ? (t - D.start) / D.step : 0, k = Math.floor(now);
  D.trails.forEach((trail, i) => {
    const color = PALETTE[(i + 3) % PALETTE.length], points = trail.points.map(project);
    ctx.globalAlpha = 0.25; stroke(points, color, 1.5);
    const past = points.slice(0, k + 1);
    if (k + 1 < points.length) past.push([0, 1].map(c => points[k][c] + (now - k) * (points[k + 1][c] - points[k][c])));
    ctx.globalAlpha = 1; stroke(past, color, 2);
  });
}

function drawPlanar() {
  planarGrid();
  drawTrails(time);
  grounded.forEach(p => groundMark(project(p)));
  GUIDES.forEach(joint => guide(joint, guideEnds(joint)));
  for (const s of D.springs) {
    const ends = [project(world(...s.a)), project(world(...s.b))];
    stroke(zigzag(...ends), ink.steel, 1.8);
    ends.forEach(p => disc(p, 3, ink.steel));
  }
  const thick = Math.max(5, Math.min(13, 0.018 * Math.min(width, height)));
  order.forEach(b => {
    const body = D.bodies[b], color = PALETTE[b % PALETTE.length], at = p => project(add(poses[b].o, poses[b].R(p)));
    const hull = drawn[b].hull.map(at);
    if (hull.length) { path(hull, true); ctx.globalAlpha = 0.22; ctx.fillStyle = color; ctx.fill(); ctx.globalAlpha = 1; }
    outline(body).forEach(ring => { const q = ring.map(at); path(q, true); ctx.globalAlpha = 0.22; ctx.fillStyle = color; ctx.fill(); ctx.globalAlpha = 1; stroke(q, shade(color, -0.25), 1.5, true); });
    link(drawn[b].points.map(at), drawn[b].lines, color, thick);
    const x = poses[b].R([1, 0, 0]), turned = Math.atan2(-x[1], x[0]);
    if (body.shape && body.shape.radius > 0) stroke([at([0, 0, 0]), at([body.shape.radius, 0, 0])], shade(color, -0.25), 1.5);
    massMark(project(poses[b].o), drawn[b].lines.length ? 4.5 : 7, turned);
  });
  drawJoints();
}

function outline(body) { // planar shapes: seen along z
  const shape = body.shape || {};
  if (shape.kind === "box" && shape.size) { const [x, y] = shape.size.map(v => v / 2); return [[[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]]]; }
  if (shape.radius > 0) return [ring(shape.radius, 48, [1, 0, 0], [0, 1, 0], [0, 0, 0])];
  return [];
}
function ring(r, n, u, v, c) {
  return Array.from({ length: n }, (_, i) => { const a = 2 * Math.PI * i / n; return add(c, add(times(r * Math.cos(a), u), times(r * Math.sin(a), v))); });
}
function massMark(p, r, turned) {
  disc(p, r, ink.pin, ink.steel, 1.2);
  ctx.fillStyle = ink.steel;
  for (const a of [turned, turned + Math.PI]) { ctx.beginPath(); ctx.moveTo(p[0], p[1]); ctx.arc(p[0], p[1], r, a, a + Math.PI / 2); ctx.fill(); }
}

function drawJoints() {
  const square = new Set(["prismatic", "cylindrical", "point on line"]);
  for (const joint of D.joints) {
    const p = project(world(joint.body, joint.point));
    if (square.has(joint.type)) { ctx.fillStyle = ink.pin; ctx.fillRect(p[0] - 6, p[1] - 6, 12, 12); ctx.strokeStyle = ink.steel; ctx.lineWidth = 2; ctx.strokeRect(p[0] - 6, p[1] - 6, 12, 12); }
    else if (joint.type === "fixed") stroke([[p[0] - 4, p[1] - 4], [p[0] + 4, p[1] + 4]], ink.steel, 2);
    else { for (const q of joint.type === "rod" && joint.other ? guideEnds(joint) : [p]) disc(q, D.planar ? 6 : 4.5, ink.pin, ink.steel, 2); if (joint.type === "spherical") disc(p, 2, ink.steel); }
  }
  if (!names) return;
  D.bodies.forEach((body, b) => label(body.name, project(poses[b].o), 8, -9));
  const spots = []; // joints in one place share a label
  for (const joint of D.joints) {
    const p = project(world(joint.body, joint.point)), near = spots.find(s => Math.hypot(s.p[0] - p[0], s.p[1] - p[1]) < 3);
    if (near) near.names.push(joint.name); else spots.push({ p, names: [joint.name] });
  }
  spots.forEach(s => label(s.names.join(", "), s.p, 10, 15));
}

// spatial shapes as faces, body-fixed
const faces = D.bodies.map(body => {
  const s = body.shape || {};
  if (s.kind === "box" && s.size) {
    const [x, y, z] = s.size.map(v => v / 2), v = [];
    for (const k of [-z, z]) for (const [i, j] of [[-x, -y], [x, -y], [x, y], [-x, y]]) v.push([i, j, k]);
    return [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]].map(f => f.map(i => v[i]));
  }
  if (s.kind === "cylinder" && s.radius > 0) {
    const axis = s.axis, n = 28;
    const u = unit(cross(axis, Math.abs(axis[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0])), v = cross(axis, u), h = s.length / 2;
    const a = ring(s.radius, n, u, v, times(-h, axis)), b = ring(s.radius, n, u, v, times(h, axis));
    return [[...a].reverse(), b, ...a.map((p, i) => [p, a[(i + 1) % n], b[(i + 1) % n], b[i]])];
  }
  return [];
});
const SUN = unit([0.35, -0.5, 0.8]);

function drawSpatial() {
  floorGrid();
  const list = []; // painter's order: far first
  const put = (depth, paint) => list.push({ depth, paint });
  const thick = Math.max(4, Math.min(9, 0.012 * Math.min(width, height)));
  GUIDES.forEach(joint => { const ends = guideEnds(joint); put((ends[0][2] + ends[1][2]) / 2, () => guide(joint, ends)); });
  grounded.forEach(p => { const q = project(p); put(q[2] - 1e-3 * radius, () => groundMark(q)); });
  D.bodies.forEach((body, b) => {
    const color = PALETTE[b % PALETTE.length], at = p => add(poses[b].o, poses[b].R(p));
    const shape = body.shape || {}, solid = faces[b].length > 0;
    faces[b].forEach(face => {
      const w = face.map(at), q = w.map(project), n = unit(cross(sub(w[1], w[0]), sub(w[2], w[0])));
      const area = q.reduce((sum, p, i) => { const r = q[(i + 1) % q.length]; return sum + p[0] * r[1] - r[0] * p[1]; }, 0);
      if (area > 0) return; // seen from behind: screen y points down
      const tint = shade(color, 0.45 * dot(n, SUN) - 0.1);
      put(q.reduce((sum, p) => sum + p[2], 0) / q.length, () => { path(q, true); ctx.fillStyle = tint; ctx.fill(); stroke(q, faces[b].length > 6 && face.length === 4 ? tint : shade(color, -0.45), 1, true); });
    });
    if (shape.kind === "sphere" && shape.radius > 0) {
      const q = project(poses[b].o), k = view.scale / Math.max(1 - q[2] / (6 * radius), 0.05), r = shape.radius * k;
      put(q[2], () => {
        const glow = ctx.createRadialGradient(q[0] - 0.35 * r, q[1] - 0.4 * r, 0.1 * r, q[0], q[1], r);
        glow.addColorStop(0, shade(color, 0.5)); glow.addColorStop(1, shade(color, -0.25)); disc(q, r, glow, shade(color, -0.45), 1);
      });
    }
    if (solid) return;
    const points = drawn[b].points.map(p => project(at(p)));
    drawn[b].lines.forEach(([i, j]) => { if (points[i] && points[j]) put((points[i][2] + points[j][2]) / 2, () => link(points, [[i, j]], color, thick)); });
    if (!drawn[b].lines.length && shape.kind !== "sphere") { const q = project(poses[b].o); put(q[2], () => disc(q, 7, color, shade(color, -0.4))); }
  });
  for (const s of D.springs) {
    const a = project(world(...s.a)), b = project(world(...s.b));
    put((a[2] + b[2]) / 2, () => { stroke(zigzag(a, b), ink.steel, 1.8); disc(a, 3, ink.steel); disc(b, 3, ink.steel); });
  }
  drawTrails(time);
  list.sort((a, b) => a.depth - b.depth).forEach(item => item.paint());
  drawJoints();
}

function draw() {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = ink.paper; ctx.fillRect(0, 0, width, height);
  poses = D.bodies.map(body => poseOf(body, time));
  (D.planar ? drawPlanar : drawSpatial)();
  byId("slider").value = time;
  byId("clock").innerHTML = `t = <b>${time.toFixed(decimals)}</b> / ${D.end.toFixed(decimals)} s`;
}

// ---- playing

const length = D.end - D.start;
const decimals = Math.max(1, Math.min(6, 3 - Math.floor(Math.log10(length || 1))));
let time = D.start, playing = false, names = D.bodies.length <= 8, speed = D.speed, before = 0, waiting = false;

function ask() { if (!waiting) { waiting = true; requestAnimationFrame(tick); } }
function tick(now) {
  waiting = false;
  if (playing) {
    time += Math.min(Math.max(now - before, 0) / 1000, 0.1) * speed;
    if (time > D.end) time = length > 0 ? D.start + (time - D.end) % length : D.start;
    before = now;
    ask();
  }
  draw();
}
function play(on) {
  playing = on && length > 0;
  before = performance.now();
  byId("sign").setAttribute("d", playing ? "M2 1h3.6v12H2zM8.4 1H12v12H8.4z" : "M3 1l10 6-10 6z");
  ask();
}
function seek(t) { time = Math.min(Math.max(t, D.start), D.end); ask(); }
function showNames(on) { names = on; byId("names").setAttribute("aria-pressed", on); ask(); }

byId("title").textContent = D.name;
Object.assign(byId("slider"), { min: D.start, max: D.end });
byId("slider").addEventListener("input", event => { play(false); seek(+event.target.value); });
byId("play").addEventListener("click", () => play(!playing));
byId("fit").addEventListener("click", () => { fit(); ask(); });
byId("names").addEventListener("click", () => showNames(!names));
byId("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  readTheme(); ask();
});
[...new Set([0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, D.speed])].sort((a, b) => a - b).forEach(k => byId("speed").add(new Option(`${+k.toPrecision(3)}×`, k, false, k === D.speed)));
byId("speed").addEventListener("change", event => { speed = +event.target.value; });
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  const step = (event.shiftKey ? 10 : 1) * (D.picture || 0);
  const act = { " ": () => play(!playing), ArrowRight: () => { play(false); seek(time + step); }, ArrowLeft: () => { play(false); seek(time - step); }, f: () => { fit(); ask(); }, n: () => showNames(!names), Home: () => seek(D.start), End: () => seek(D.end) }[event.key];
  if (act) { event.preventDefault(); act(); }
});

const fingers = new Map();
canvas.addEventListener("pointerdown", event => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, [event.offsetX, event.offsetY]); });
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, event => fingers.delete(event.pointerId));
canvas.addEventListener("pointermove", event => {
  const old = fingers.get(event.pointerId);
  if (!old) return;
  const dx = event.offsetX - old[0], dy = event.offsetY - old[1];
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const far = Math.hypot(event.offsetX - other[0], event.offsetY - other[1]), was = Math.hypot(old[0] - other[0], old[1] - other[1]);
    if (was > 0) view.scale *= far / was;
  } else if (D.planar) { view.target[0] -= dx / view.scale; view.target[1] += dy / view.scale; }
  else if (event.shiftKey || event.buttons === 2) {
    const cy = Math.cos(view.yaw), sy = Math.sin(view.yaw);
    view.target = add(view.target, times(-dx / view.scale, [cy, -sy, 0]));
    view.target[2] += dy / view.scale;
  } else { view.yaw += 0.008 * dx; view.pitch = Math.min(Math.max(view.pitch + 0.008 * dy, -1.55), 1.55); }
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  view.own = true;
  ask();
});
canvas.addEventListener("contextmenu", event => event.preventDefault());
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const k = Math.exp(-0.0015 * event.deltaY), at = [event.offsetX - width / 2, event.offsetY - height / 2];
  if (D.planar) { const s = (1 - 1 / k) / view.scale; view.target[0] += at[0] * s; view.target[1] -= at[1] * s; }
  view.scale *= k; view.own = true;
  ask();
}, { passive: false });

new ResizeObserver(() => {
  ratio = window.devicePixelRatio || 1;
  width = canvas.clientWidth; height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  if (!view.own) fit();
  draw();
}).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); ask(); });

readTheme();
fit();
showNames(names);
const wanted = /t=([-+.\de]+)/.exec(location.hash);
if (wanted && isFinite(+wanted[1])) seek(+wanted[1]);
play(!wanted && !matchMedia("(prefers-reduced-motion: reduce)").matches);
