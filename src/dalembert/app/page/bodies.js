// Drawing of bodies: from their shapes, or from their points.
import * as THREE from "three";
import { three } from "./data.js";
import { Flexible, flexibleMatter } from "./flexible.js";
import { ball, bar, hullBody, hullPlate, matter, mesh, plate } from "./shapes.js";

const Z = new THREE.Vector3(0, 0, 1), DARK = "#1c2430";
const line = () => new THREE.LineBasicMaterial({ color: DARK, transparent: true, opacity: 0.65 });

// points and lines of a body: those of its joints, of its rod, or the line from the origin to its only point
export function form(body) {
  const points = (body.points || []).map(three), shape = body.shape || {};
  if (shape.kind === "rod" && points.filter(p => Math.hypot(...p) > 0).length < 2) return { points: shape.ends, lines: [[0, 1]] };
  let lines = (body.lines || []).filter(([i, j]) => points[i] && points[j]);
  if (!lines.length && points.length === 1 && Math.hypot(...points[0]) > 0) { points.push([0, 0, 0]); lines = [[0, 1]]; }
  else if (!lines.length) lines = points.slice(1).map((_, i) => [i, i + 1]);
  return { points, lines };
}

export function drawBody(machine, body, i) {
  const { D, size: s, thick } = machine, planar = D.planar, z = machine.height(body.name) - thick / 2;
  const color = machine.colors[i], group = new THREE.Group(), material = body.pale ? faint(matter(color)) : matter(color), shape = body.shape || {}, { points, lines } = form(body), wide = machine.rods.has(body.name) ? 0.58 * s : s;
  group.name = body.name;
  if (body.flexible) {
    const flexible = flexibleBody(machine, body, body.pale ? faint(flexibleMatter(color)) : flexibleMatter(color), wide);
    machine.flexible.set(body.name, flexible);
    return group.add(flexible.group);
  }
  const one = solid(machine, shape, material, z);
  if (one) {
    group.add(one);
    for (const p of points) if (outside(machine, shape, p)) group.add(planar ? plate([0, 0, 0], p, 0.6 * s, z + 0.1 * thick, 0.8 * thick, material) : bar([0, 0, 0], p, 0.6 * s, material));
  } else if (!lines.length) group.add(planar && machine.slides(body.name) ? block(s, thick, z, material) : ball([0, 0, planar ? z + thick / 2 : 0], 1.9 * s, material));
  else if (planar) flat(group, points, lines, wide, z, thick, material);
  else spatial(group, points, lines, wide, material, color);
  if (planar && !body.pale) group.add(centre(s, z + thick));
  return group;
}

// an estimate beside the truth
function faint(material) { return Object.assign(material, { transparent: true, opacity: 0.4, depthWrite: false }); }

// what deforms: in the plane its lines are as thin as its layer
export function flexibleBody(machine, body, material, wide = machine.size) {
  const { D: { planar }, size: s, thick } = machine;
  return new Flexible(body.flexible, material, { wide: planar ? 1.05 * wide : wide, flat: planar ? 0.5 * thick / s : 1, lift: machine.height(body.name) });
}

function flat(group, points, lines, s, z, thick, material) {
  const whole = points.length > 2 ? hullPlate(points, 1.05 * s, z, thick, clear(material)) : null;
  if (whole) group.add(whole);
  else for (const [a, b] of lines.slice(0, points.length - 1)) group.add(plate(points[a], points[b], 1.05 * s, z, thick, material));
}

// planar: plates, slabs and discs are transparent, so that parts behind them are visible
function clear(material) { return Object.assign(material.clone(), { transparent: true, opacity: 0.55, depthWrite: false }); }

function spatial(group, points, lines, s, material, color) {
  for (const [a, b] of lines) group.add(bar(points[a], points[b], s, material));
  points.forEach(p => group.add(ball(p, s, material)));
  if (points.length < 3) return;
  const pale = matter(color);
  Object.assign(pale, { transparent: true, opacity: 0.35, side: THREE.DoubleSide, depthWrite: false });
  const whole = hullBody(points, pale);
  if (whole) group.add(whole);
}

// a sliding mass without a shape of its own
function block(s, thick, z, material) {
  const one = mesh(new THREE.BoxGeometry(11 * s, 4.2 * s, thick), material, 30);
  one.position.z = z + thick / 2;
  return one;
}

// symbol of a centre of mass
function centre(s, z) {
  const group = new THREE.Group(), r = 0.62 * s, dark = new THREE.MeshBasicMaterial({ color: "#222a34" }), light = new THREE.MeshBasicMaterial({ color: "#ffffff" });
  for (let k = 0; k < 4; k++) group.add(new THREE.Mesh(new THREE.CircleGeometry(r, 12, k * Math.PI / 2, Math.PI / 2), k % 2 ? light : dark));
  group.add(new THREE.Mesh(new THREE.RingGeometry(0.94 * r, 1.12 * r, 40), dark));
  group.position.z = z + 0.02 * s;
  return group;
}

// triangles in the colours of a file, the others in that of the body
function painted(geometry, colors, material) {
  const all = new Float32Array(geometry.attributes.position.array.length), one = new THREE.Color();
  for (let k = 0; k < all.length; k += 3) material.color.toArray(all, k);
  for (const [first, count, hex] of colors) for (let k = 9 * first; k < 9 * (first + count); k += 3) one.setHex(hex).toArray(all, k);
  geometry.setAttribute("color", new THREE.BufferAttribute(all, 3));
  return Object.assign(material.clone(), { vertexColors: true, color: new THREE.Color(0xffffff) });
}

export function solid(machine, shape, material, z) {
  const { D: { planar }, size: s, thick } = machine;
  if (planar && shape.kind !== "mesh") material = clear(material);
  if (shape.guess) material = Object.assign(material.clone(), { transparent: true, opacity: 0.38, depthWrite: false });
  if (shape.kind === "mesh" && shape.triangles.length) {
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(Float32Array.from(shape.triangles), 3));
    geometry.computeVertexNormals();
    if (shape.colors.length) material = painted(geometry, shape.colors, material);
    material.side = THREE.DoubleSide;
    return mesh(geometry, material, shape.triangles.length < 90000 ? 30 : 0);
  }
  if (shape.kind === "box" && shape.size && Math.max(...shape.size) > 0) {
    const size = shape.size.map(v => Math.max(v, 0.35 * s));
    if (planar) size[2] = thick;
    // a body of which only the inertia is known is drawn as an ellipsoid; its half axes are √(5/12) of the sides of the box
    const one = shape.guess ? mesh(new THREE.SphereGeometry(1, 40, 28).scale(...size.map(v => Math.sqrt(5 / 12) * v)), material) : mesh(new THREE.BoxGeometry(...size), material, 30);
    if (planar) one.position.z = z + thick / 2;
    if (shape.axes) one.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(...shape.axes.map(a => new THREE.Vector3(...a))));
    return one;
  }
  if (shape.kind === "sphere" && shape.radius > 0) {
    const radius = Math.max(shape.radius, 1.4 * s), one = mesh(new THREE.SphereGeometry(radius, 40, 28), material);
    if (planar) { one.scale.z = Math.min(1, thick / (2 * radius)); one.position.z = z + thick / 2; }
    else if (shape.radius >= 1.4 * s) one.add(circles(radius));
    return one;
  }
  if (shape.kind === "cylinder" && shape.radius > 0) {
    const length = planar ? thick : Math.max(shape.length, 0.2 * s), one = shape.tyre && !planar ? wheel(shape.radius, material) : drum(shape.radius, length, material), holder = new THREE.Group();
    one.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...(shape.axis || [0, 0, 1])).normalize());
    if (planar) one.position.z = z + thick / 2;
    holder.add(one);
    return holder;
  }
  return null;
}

function drum(radius, length, material) {
  const one = mesh(new THREE.CylinderGeometry(radius, radius, length, 56).rotateX(Math.PI / 2), material, 30);
  one.add(spokes(radius, length));
  return one;
}

// a tyre on a rim with spokes; one spoke is marked to make the rotation visible
function wheel(radius, material) {
  const group = new THREE.Group(), rubber = matter("#343b45"), steel = new THREE.MeshStandardMaterial({ color: "#aab4c0", roughness: 0.4, metalness: 0.4 }), tube = 0.055 * radius;
  rubber.roughness = 0.85;
  group.add(mesh(new THREE.TorusGeometry(radius - tube, tube, 14, 80), rubber), mesh(new THREE.TorusGeometry(radius - 2.4 * tube, 0.5 * tube, 10, 80), material));
  group.add(mesh(new THREE.CylinderGeometry(1.3 * tube, 1.3 * tube, 3.2 * tube, 24).rotateX(Math.PI / 2), steel));
  for (let k = 0; k < 9; k++) {
    const a = 2 * Math.PI * k / 9;
    group.add(bar([0, 0, 0], [(radius - 2.4 * tube) * Math.cos(a), (radius - 2.4 * tube) * Math.sin(a), 0], (k ? 0.16 : 0.42) * tube, k ? steel : material, 8));
  }
  return group;
}

// marks on round bodies, which make their rotation visible
function spokes(radius, length) {
  const places = [];
  for (const h of [length / 2, -length / 2]) for (let k = 0; k < 3; k++) { const a = 2 * Math.PI * k / 3; places.push(0, 0, 1.01 * h, radius * Math.cos(a), radius * Math.sin(a), 1.01 * h); }
  return new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(places, 3)), line());
}
function circles(radius) {
  const group = new THREE.Group();
  for (const turn of [[0, 0, 0], [Math.PI / 2, 0, 0], [0, Math.PI / 2, 0]]) {
    const one = new THREE.Mesh(new THREE.TorusGeometry(1.002 * radius, 0.012 * radius, 6, 72), new THREE.MeshBasicMaterial({ color: DARK, transparent: true, opacity: 0.6 }));
    one.rotation.set(...turn);
    group.add(one);
  }
  return group;
}

function outside(machine, shape, p) {
  const s = machine.size, size = Math.hypot(...p);
  if (shape.kind === "mesh") return false;
  if (shape.kind === "sphere") return size > 1.02 * Math.max(shape.radius, 1.4 * s);
  if (shape.kind === "box") {
    const own = shape.axes ? shape.axes.map(a => a[0] * p[0] + a[1] * p[1] + a[2] * p[2]) : p;
    return own.some((c, k) => Math.abs(c) > 0.51 * shape.size[k] + 0.5 * s);
  }
  const axis = shape.axis || [0, 0, 1], along = p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2], across = Math.sqrt(Math.max(0, size ** 2 - along ** 2));
  return across > 1.02 * shape.radius || (!machine.D.planar && Math.abs(along) > 0.51 * shape.length + 0.5 * s);
}

// extent of a shape along a direction from its origin: pins must be longer to be visible
export function reach(shape, way) {
  if (!shape) return 0;
  if (shape.kind === "sphere") return shape.radius;
  if (shape.kind === "box" && !shape.axes) return shape.size.reduce((sum, side, k) => sum + side / 2 * Math.abs(way[k]), 0);
  if (shape.kind === "cylinder") { const c = Math.abs(way[0] * shape.axis[0] + way[1] * shape.axis[1] + way[2] * shape.axis[2]); return c * shape.length / 2 + Math.sqrt(Math.max(0, 1 - c * c)) * shape.radius; }
  return 0;
}
