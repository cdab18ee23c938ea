// Ground, joints and springs.
import * as THREE from "three";
import { distance, three } from "./data.js";
import { reach, solid } from "./bodies.js";
import { ball, coil, matter, mesh, plate, spiral, stadium, strut } from "./shapes.js";

// Glyphs that kinds of joints declare (`GLYPH_SHAPES`): symbol of the legend, a rail to the other body, a block instead
// of a pin, in space a ball of this size.
const GLYPHS = {
  hinge: { sign: "hinge" }, pin: { sign: "hinge" },
  slide: { sign: "slide", rail: true, block: true }, screw: { sign: "slide", rail: true, block: true }, slot: { sign: "slide", rail: true, block: true },
  rod: { sign: "ball", rail: true, ball: 0.6 }, ball: { sign: "ball", ball: 1.35 }, cross: { sign: "ball" },
  wheel: { sign: "rolls" }, sphere: { sign: "rolls" },
};
export function glyphOf(joint) { return GLYPHS[joint.glyph] || GLYPHS.pin; }
const Z = new THREE.Vector3(0, 0, 1);

export function drawGround(machine) {
  const { D, size: s } = machine, places = D.ground.map(three), rails = D.joints.filter(j => j.glyph === "slide" && j.axis && D.planar && j.other && j.other.body === null);
  for (const spring of D.springs) for (const [body, point] of [spring.a, spring.b])
    if (body === null && !places.some(p => distance(p, three(point)) < 1e-9 * D.radius)) places.push(three(point));
  const group = new THREE.Group();
  machine.groundMaterial = new THREE.MeshStandardMaterial({ color: "#8a95a3", roughness: 0.8 });
  machine.hatchMaterial = new THREE.LineBasicMaterial({ color: "#5a6573" });
  const standing = D.ground_shape && solid(machine, D.ground_shape, machine.groundMaterial, 0);
  if (standing) group.add(standing);
  for (const p of standing ? [] : places) {
    const only = rails.length && D.joints.every(j => !(j.other && j.other.body === null && distance(three(j.other.point), p) < 1e-9 * D.radius) || rails.includes(j)) && rails.some(j => distance(three(j.other.point), p) < 1e-9 * D.radius);
    if (only) continue; // the rail is drawn instead
    group.add(D.planar ? stand(machine, p, 2.1 * s) : foot(machine, p, 1.9 * s));
  }
  machine.stage.scene.add(group);
  return group;
}

function stand(machine, p, s) { // a triangle on hatched ground
  const { thick, top, groundMaterial: material, hatchMaterial: hatch } = machine;
  const group = new THREE.Group(), deep = Math.min(thick, s), shape = new THREE.Shape().moveTo(0, 0.25 * s).lineTo(-0.85 * s, -1.45 * s).lineTo(0.85 * s, -1.45 * s).closePath();
  const wedge = mesh(new THREE.ExtrudeGeometry(shape, { depth: deep, bevelEnabled: false }), material, 30);
  const base = mesh(new THREE.BoxGeometry(3.1 * s, 0.22 * s, 1.6 * deep), material, 30);
  base.position.set(0, -1.56 * s, deep / 2);
  const lines = [];
  for (let k = -3; k <= 3; k++) lines.push(0.45 * k * s + 0.2 * s, -1.7 * s, deep, 0.45 * k * s - 0.22 * s, -2.15 * s, deep);
  group.add(wedge, base, new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(lines, 3)), hatch));
  group.position.set(p[0], p[1], -(top / 2 + 1) * 1.15 * thick - 0.5 * deep);
  return group;
}

function foot(machine, p, s) { // a cone on a post that reaches the floor
  const { stage, groundMaterial: material } = machine, up = stage.upward, group = new THREE.Group();
  const cone = mesh(new THREE.CylinderGeometry(0.55 * s, 1.1 * s, 1.3 * s, 28).rotateX(Math.PI / 2), material), base = mesh(new THREE.CylinderGeometry(1.5 * s, 1.5 * s, 0.22 * s, 36).rotateX(Math.PI / 2), material, 30);
  const down = (p[2] - stage.floor()) * up, hangs = machine.hangs(p);
  if (hangs) { cone.rotation.x = Math.PI; cone.position.z = 0.65 * s; base.position.z = 1.4 * s; }
  else { cone.position.z = -0.65 * s; base.position.z = -1.4 * s; }
  group.add(cone, base);
  if (!hangs && down > 2.2 * s) {
    const length = down - 1.5 * s, post = mesh(new THREE.CylinderGeometry(0.5 * s, 0.5 * s, length, 20).rotateX(Math.PI / 2), material), plate = mesh(new THREE.CylinderGeometry(2.1 * s, 2.1 * s, 0.2 * s, 36).rotateX(Math.PI / 2), material, 30);
    post.position.z = -1.5 * s - length / 2; plate.position.z = -down + 0.1 * s;
    group.add(post, plate);
  }
  if (up < 0) group.rotation.x = Math.PI;
  group.position.set(...p);
  return group;
}

export function drawJoint(machine, joint) {
  const { D, size: s, thick, steel, stage } = machine, group = new THREE.Group(), planar = D.planar, slotted = planar && joint.glyph === "slot", square = Boolean(glyphOf(joint).block) && !slotted;
  const leaf = machine.D.joint_springs && machine.D.joint_springs.some(one => one.foot && one.joint === joint.name);
  if (leaf || (!planar && machine.rods.has(joint.body) && joint.axis && glyphOf(joint).block)) return { joint, group, rail: null }; // leaf springs, or tube and rod, are drawn instead
  const heights = [machine.height(joint.body), joint.other ? machine.height(joint.other.body) : 0], low = Math.min(...heights), high = Math.max(...heights);
  if (joint.glyph && planar && !square) {
    const deep = high - low + 1.5 * thick, pin = mesh(new THREE.CylinderGeometry(0.52 * s, 0.52 * s, deep, 28).rotateX(Math.PI / 2), steel);
    const cap = mesh(new THREE.CylinderGeometry(0.34 * s, 0.34 * s, deep * 1.02, 28).rotateX(Math.PI / 2), machine.pin);
    pin.position.z = cap.position.z = (low + high) / 2 + 0.2 * thick;
    group.add(pin, cap);
  } else if (planar && square) {
    const deep = high - low + 1.5 * thick, block = mesh(new THREE.BoxGeometry(1.9 * s, 1.9 * s, deep), steel, 30);
    if (joint.axis) block.rotation.z = Math.atan2(joint.axis[1], joint.axis[0]);
    block.position.z = (low + high) / 2 + 0.2 * thick;
    group.add(block);
  } else if (!planar) for (const part of spatialJoint(machine, joint, square, s, steel)) group.add(part);
  if (joint.radius) group.clear(); // a rolling body touches the ground at another point
  if (slotted && joint.other && joint.other.axis) slot(machine, joint);
  if (joint.lines) strokes(machine, joint);
  const rail = joint.other && glyphOf(joint).rail && !slotted ? mesh(new THREE.CylinderGeometry(0.32 * s, 0.32 * s, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5), steel) : null;
  if (rail && planar) rail.position.z = -0.5 * thick;
  stage.scene.add(group);
  if (rail) stage.scene.add(rail);
  const fixedRail = planar && joint.glyph === "slide" && joint.axis && joint.other && joint.other.body === null;
  if (fixedRail) guide(machine, joint);
  return { joint, group, rail: fixedRail ? null : rail };
}

function spatialJoint(machine, joint, square, s, steel) {
  if (!joint.glyph) return [];
  const round = glyphOf(joint).ball;
  if (round || !joint.axis) return [ball([0, 0, 0], (round || GLYPHS.ball.ball) * s, steel)];
  const way = new THREE.Vector3(...joint.axis).normalize(), turn = new THREE.Quaternion().setFromUnitVectors(Z, way);
  const body = machine.D.bodies[machine.index.get(joint.body)], shape = body && body.shape, point = three(joint.point);
  // long enough to be visible beside the body here, unless it would become much longer than the body
  const across = point.reduce((sum, c, k) => sum + c * joint.axis[k], 0), out = reach(shape, joint.axis) - Math.abs(across);
  const length = 3.6 * s < 2 * out && Math.abs(across) < 0.3 * out && out < 6 * s ? 2 * out + 1.4 * s : 3.6 * s;
  if (joint.glyph === "cross") return [ball([0, 0, 0], 1.1 * s, steel), turned(mesh(new THREE.CylinderGeometry(0.5 * s, 0.5 * s, length, 20).rotateX(Math.PI / 2), steel), turn), turned(mesh(new THREE.CylinderGeometry(0.5 * s, 0.5 * s, length, 20), steel), turn)];
  if (square) return [turned(mesh(new THREE.BoxGeometry(2.4 * s, 2.4 * s, 3 * s), steel, 30), turn)];
  return [turned(mesh(new THREE.CylinderGeometry(1.15 * s, 1.15 * s, length, 32).rotateX(Math.PI / 2), steel, 30), turn), turned(mesh(new THREE.CylinderGeometry(0.5 * s, 0.5 * s, 1.08 * length, 20).rotateX(Math.PI / 2), machine.pin), turn)];
}
function turned(one, turn) { one.quaternion.copy(turn); return one; }

// lines declared by the kind of a joint, in the axes of the first body, in units of the pin size
function strokes(machine, { lines, other }) {
  const { size: s, thick } = machine, holder = machine.holder(other.body, other.point), material = new THREE.LineBasicMaterial({ color: "#343b45" });
  const lift = machine.D.planar ? machine.height(other.body) + 0.6 * thick : 0, [x, y, z] = three(other.point);
  for (const line of lines) {
    const points = line.map(p => new THREE.Vector3(x + s * p[0], y + s * p[1], z + s * p[2] + lift));
    holder.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), material));
  }
}

// planar: the rail of a body that slides on the ground, as long as its travel, with hatched ends
function guide(machine, joint) {
  const { size: s, thick, stage } = machine, from = new THREE.Vector3(...three(joint.other.point)), [low, high] = machine.strokeOf(joint);
  const body = machine.D.bodies[machine.index.get(joint.body)], out = 2.4 * s + reach(body && body.shape, joint.axis), sprung = (machine.D.joint_springs || []).some(one => one.joint === joint.name) ? 9 * s : 0;
  const axis = machine.axisOf(joint), a = from.clone().addScaledVector(axis, low - out - sprung), b = from.clone().addScaledVector(axis, high + out), length = a.distanceTo(b), z = -(machine.top / 2 + 1) * 1.15 * thick;
  const one = mesh(new THREE.CylinderGeometry(0.22 * s, 0.22 * s, length, 14), machine.groundMaterial), square = new THREE.Vector3(-axis.y, axis.x, 0), lines = [];
  one.position.copy(a).add(b).multiplyScalar(0.5).setZ(z);
  one.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), axis);
  for (const [p, out] of [[a, -1], [b, 1]]) {
    const wall = mesh(new THREE.BoxGeometry(0.3 * s, 2.4 * s, thick), machine.groundMaterial, 30);
    wall.position.copy(p).setZ(z);
    wall.rotation.z = Math.atan2(axis.y, axis.x);
    stage.scene.add(wall);
    machine.fixtures.push(wall);
    for (let k = -2; k <= 2; k++) { const q = p.clone().addScaledVector(square, 0.5 * k * s).addScaledVector(axis, 0.15 * out * s), r = q.clone().addScaledVector(axis, 0.5 * out * s).addScaledVector(square, 0.3 * s); lines.push(q.x, q.y, z, r.x, r.y, z); }
  }
  joint.wall = a.clone().setZ(0);
  stage.scene.add(one, new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(lines, 3)), machine.hatchMaterial));
}

// planar: the slot in a body, as long as the travel of its pin
function slot(machine, joint) {
  const { size: s, thick } = machine, [low, high] = machine.strokeOf(joint), { body, point, axis } = joint.other, z = machine.height(body) - thick / 2;
  const end = along => [point[0] + along * axis[0], point[1] + along * axis[1], 0], own = machine.index.has(body), holder = machine.holder(body, point);
  const material = own ? matter(machine.colors[machine.index.get(body)]) : machine.groundMaterial;
  holder.add(plate(end(low - 0.9 * s), end(high + 0.9 * s), 1.15 * s, z + 0.02 * thick, thick, material));
  const hole = stadium(end(low), end(high), 0.62 * s, machine.hole);
  hole.position.z = z + 1.03 * thick;
  holder.add(hole);
}

// a spring on the coordinate of a joint: leaf springs between floors, a coil along a slide, a spiral at a hinge
export function drawJointSpring(machine, { joint: name, turns, foot }) {
  const { size: s, steel, stage, D } = machine, joint = D.joints.find(one => one.name === name);
  if (foot) return leaves(machine, joint, foot);
  if (turns) {
    const one = spiral(3.3 * s, 0.2 * s, steel), holder = new THREE.Group();
    if (joint.axis && !D.planar) one.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...joint.axis).normalize());
    holder.add(one);
    stage.scene.add(holder);
    return () => {
      holder.position.copy(machine.world(joint.body, joint.point));
      holder.quaternion.copy(machine.turnAt(joint.body, joint.point));
      if (D.planar) holder.position.z = (machine.top / 2 + 0.8) * 1.15 * machine.thick;
    };
  }
  if (!joint.other) return null;
  // from the end of the rail, or around bodies that slide inside each other
  const middle = ({ body, point }) => machine.world(body, machine.flexible.has(body) ? point : [0, 0, 0]);
  const ends = joint.wall ? () => [joint.wall, machine.world(joint.body, joint.point)] : () => [middle(joint.other), middle(joint)];
  const [a, b] = ends(), length = a.distanceTo(b);
  if (length < 3 * s) return null;
  const one = coil(length, Math.min(2.0 * s, 0.2 * length), steel);
  stage.scene.add(one);
  return () => stretch(one, ...ends(), length);
}

// floors on upright leaf springs, clamped at both ends: a cubic between them
function leaves(machine, joint, foot) {
  const { size: s, stage, D, thick } = machine, n = 24, wide = 0.42 * s, axis = new THREE.Vector3(...joint.other.axis), up = new THREE.Vector3(...joint.other.point).sub(new THREE.Vector3(...foot));
  const above = machine.boxes[machine.index.get(joint.body)], below = machine.index.has(joint.other.body) ? machine.boxes[machine.index.get(joint.other.body)] : null;
  const half = (box, way) => box ? Math.abs(way.x) * (box.max.x - box.min.x) / 2 + Math.abs(way.y) * (box.max.y - box.min.y) / 2 : 0;
  const out = 0.86 * Math.min(half(above, axis), below ? half(below, axis) : Infinity), high = up.clone().normalize(), sides = [-out, out];
  const material = new THREE.MeshStandardMaterial({ color: "#6f7c8c", roughness: 0.5, metalness: 0.3, side: THREE.DoubleSide });
  const strips = sides.map(side => {
    const geometry = new THREE.BufferGeometry(), index = [];
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6 * (n + 1)), 3).setUsage(THREE.DynamicDrawUsage));
    geometry.setAttribute("normal", new THREE.BufferAttribute(Float32Array.from({ length: 6 * (n + 1) }, (_, k) => k % 3 === 2 ? 1 : 0), 3));
    for (let k = 0; k < n; k++) index.push(2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 1, 2 * k + 3, 2 * k + 2);
    geometry.setIndex(index);
    const one = new THREE.Mesh(geometry, material);
    one.frustumCulled = false;
    stage.scene.add(one);
    if (joint.other.body === null) clamp(machine, new THREE.Vector3(...foot).addScaledVector(axis, side), high);
    return { geometry, side };
  });
  const p = new THREE.Vector3(), turn = new THREE.Quaternion(), z = -(machine.top / 2 + 0.7) * 1.15 * thick;
  const act = () => {
    const base = machine.world(joint.other.body, foot), tip = machine.world(joint.body, joint.point);
    if (machine.index.has(joint.other.body)) turn.copy(machine.bodies[machine.index.get(joint.other.body)].quaternion); else turn.identity();
    const x = axis.clone().applyQuaternion(turn), y = high.clone().applyQuaternion(turn), drift = tip.clone().sub(base).dot(x), height = tip.clone().sub(base).dot(y), from = half(below, high), to = height - half(above, high);
    for (const { geometry, side } of strips) {
      const place = geometry.attributes.position;
      for (let k = 0; k <= n; k++) {
        const c = k / n, at = side + drift * c * c * (3 - 2 * c), h = from + (to - from) * c;
        for (const e of [0, 1]) place.setXYZ(2 * k + e, ...p.copy(base).addScaledVector(x, at + (e ? wide : -wide)).addScaledVector(y, h).setZ(z).toArray());
      }
      place.needsUpdate = true;
    }
  };
  act.strips = strips;
  return act;
}

function clamp(machine, p, up) { // hatched ground under a clamped leaf
  const { size: s, groundMaterial, hatchMaterial, thick, top } = machine, group = new THREE.Group(), lines = [], base = mesh(new THREE.BoxGeometry(6 * s, 0.5 * s, thick), groundMaterial, 30);
  base.position.y = -0.25 * s;
  for (let k = -3; k <= 3; k++) lines.push(0.9 * k * s + 0.3 * s, -0.5 * s, 0, 0.9 * k * s - 0.4 * s, -1.3 * s, 0);
  group.add(base, new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(lines, 3)), hatchMaterial));
  group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  group.position.copy(p).setZ(-(top / 2 + 1) * 1.15 * thick);
  machine.stage.scene.add(group);
  machine.fixtures.push(group);
}

export function drawSpring(machine, spring) {
  const { size: s, steel, stage } = machine, length = Math.max(machine.world(...spring.a).distanceTo(machine.world(...spring.b)), 4 * s), radius = Math.min(2.1 * s, 0.16 * length);
  const one = coil(length, radius, steel);
  stage.scene.add(one);
  const damper = spring.damped ? strut(radius, machine.groundMaterial, steel) : null;
  if (damper) stage.scene.add(damper);
  return { spring, one, damper, length };
}

// place an object that was drawn along z, from 0 to `length`, between two points
export function stretch(one, a, b, length) {
  const way = b.clone().sub(a), now = way.length();
  one.position.copy(a);
  if (now > 0) one.quaternion.setFromUnitVectors(Z, way.divideScalar(now));
  if (one.reach) one.reach(now); else one.scale.z = Math.max(now / length, 1e-6);
}
