// A machine of bodies, joints and springs that follows its recorded poses, or moves in one of its modes.
import * as THREE from "three";
import { Efforts } from "./arrows.js";
import { drawBody, form, flexibleBody } from "./bodies.js";
import { between, distance, three } from "./data.js";
import { drawGround, drawJoint, drawJointSpring, drawSpring, stretch } from "./joints.js";
import { PALETTE, ball } from "./shapes.js";
import { Traces } from "./traces.js";

const steel = () => new THREE.MeshStandardMaterial({ color: "#7d8896", roughness: 0.45, metalness: 0.35 });

export class Machine {
  constructor(D, stage) {
    Object.assign(this, { D, stage, following: null, mode: 0, scale: 0, index: new Map(D.bodies.map((body, i) => [body.name, i])) });
    Object.assign(this, { flexible: new Map(), deformation: 1, colored: false, holders: [] }); // flexible bodies by name
    this.size = this.typical();
    this.thick = 0.5 * this.size;
    this.layers();
    this.roles();
    this.steel = steel();
    this.hole = new THREE.MeshBasicMaterial({ color: stage.ink.paper });
    this.halo = new THREE.MeshBasicMaterial({ color: stage.ink.paper, transparent: true, opacity: 0.85, depthTest: false });
    this.pin = new THREE.MeshStandardMaterial({ color: stage.ink.pin, roughness: 0.6 });
    this.bodies = D.bodies.map((body, i) => drawBody(this, body, i));
    this.boxes = this.bodies.map(group => new THREE.Box3().setFromObject(group)); // in body axes
    this.bodies.forEach(group => stage.scene.add(group));
    this.place(D.start);
    this.fixtures = []; // objects on the ground besides supports: rails, clamps of leaf springs
    this.grounded = drawGround(this);
    this.joints = D.joints.map(joint => drawJoint(this, joint));
    this.springs = D.springs.map(spring => drawSpring(this, spring));
    this.jointSprings = (D.joint_springs || []).map(one => drawJointSpring(this, one)).filter(Boolean);
    this.gaps = this.separations();
    if (this.modal) this.ghost();
    this.traces = new Traces(this);
    this.efforts = new Efforts(this);
    this.names();
    this.nodes();
    stage.pad = 1.2 * this.size; // joints are thicker than bodies
    stage.obstacles = () => this.obstacles();
    stage.frame(D.low, D.high, this.cloud());
    this.scale = 1; // amplitude factor of a mode; all sizes above were measured at rest
    stage.listeners.push(() => this.recolor());
    this.recolor();
  }

  get modal() { return Boolean(this.D.modes && this.D.modes.length); }
  get arrows() { return this.efforts.arrows; }
  get largest() { return Math.max(0, ...[...this.flexible.values()].map(one => one.data.largest)); } // deflection [m]

  // bodies with the same role in several parts (leg1.crank, leg2.crank) share one colour; the rod of a telescope is thin and steel-coloured
  roles() {
    const { D } = this, kinds = [...new Set(D.bodies.map(body => body.name.split(".").pop()))], leaves = new Set((D.joint_springs || []).filter(one => one.foot).map(one => one.joint));
    this.rods = new Set(D.joints.filter(joint => joint.glyph === "slide" && joint.other && this.index.has(joint.other.body) && joint.axis && !leaves.has(joint.name) && this.along(joint)).map(joint => joint.body));
    const colored = kinds.filter(kind => D.bodies.some(body => body.name.split(".").pop() === kind && !this.rods.has(body.name)));
    this.colors = D.bodies.map(body => this.rods.has(body.name) ? "#98a3b1" : PALETTE[colored.indexOf(body.name.split(".").pop()) % PALETTE.length]);
  }
  // whether a body is a bar along the axis of its joint
  along(joint) {
    const { points, lines } = form(this.D.bodies[this.index.get(joint.body)] || {});
    return lines.length > 0 && lines.every(([i, j]) => { const d = [0, 1, 2].map(k => points[j][k] - points[i][k]), size = Math.hypot(...d) * Math.hypot(...joint.axis); return Math.abs(d[0] * joint.axis[0] + d[1] * joint.axis[1] + d[2] * joint.axis[2]) > 0.98 * size; });
  }

  // thickness of bars: a share of the lengths in the machine, limited by the size of the whole machine
  typical() {
    const R = this.D.own, lengths = this.D.bodies.flatMap(body => { const { points, lines } = form(body); return lines.map(([i, j]) => distance(points[i], points[j])); }).filter(l => l > 0).sort((a, b) => a - b);
    const middle = lengths.length ? lengths[Math.floor(lengths.length / 2)] : R, least = lengths.length ? lengths[0] : R;
    const floor = 0.011 * R * Math.min(1, 12 / this.D.bodies.length); // machines with many bodies have small ones
    return Math.min(0.026 * R, Math.max(floor, 0.05 * middle), Math.max(0.2 * least, floor));
  }

  // planar: bodies that share a joint lie in different layers
  layers() {
    const { D } = this, near = D.bodies.map(() => new Set());
    for (const joint of D.joints) {
      const a = this.index.get(joint.body), b = joint.other ? this.index.get(joint.other.body) : undefined;
      if (a !== undefined && b !== undefined) { near[a].add(b); near[b].add(a); }
    }
    this.layer = D.bodies.map(() => null);
    D.bodies.forEach((_, i) => {
      const taken = new Set([...near[i]].map(k => this.layer[k]));
      let own = 0;
      while (taken.has(own)) own++;
      this.layer[i] = own;
    });
    this.top = Math.max(0, ...this.layer);
  }
  height(body) { return this.D.planar && body != null && this.index.has(body) ? (this.layer[this.index.get(body)] - this.top / 2) * 1.15 * this.thick : 0; }

  // ---- geometry used by the drawing modules

  slides(body) { return this.D.joints.some(joint => joint.glyph === "slide" && (joint.body === body || (joint.other && joint.other.body === body))); }
  // whether the body joined at a ground point is below it
  hangs(p) {
    const up = this.stage.upward, joined = this.D.joints.filter(j => j.other && (j.other.body === null || j.body === null) && distance(three(j.other.body === null ? j.other.point : j.point), p) < 1e-9 * this.D.radius);
    const below = joined.map(j => { const name = j.other.body === null ? j.body : j.other.body; return this.index.has(name) ? (p[2] - this.bodies[this.index.get(name)].position.z) * up : 0; });
    return below.length > 0 && Math.min(...below) > 0.15 * this.D.own;
  }
  axisOf(joint) { // in world axes, at the current pose
    const way = new THREE.Vector3(...joint.axis), body = this.bodies[this.index.get(joint.body)];
    return (body ? way.applyQuaternion(this.turnAt(joint.body, joint.point)) : way).normalize();
  }
  // travel of a body along an axis of the other one
  strokeOf(joint) {
    const { D } = this, from = joint.other.point, way = joint.other.axis, axis = way ? new THREE.Vector3(...way) : this.axisOf(joint);
    let low = Infinity, high = -Infinity;
    for (let k = 0; k < D.frames; k += Math.max(1, Math.floor(D.frames / 200))) {
      this.place(D.start + k * D.step);
      const start = this.world(joint.other.body, from), turned = axis.clone();
      if (this.index.has(joint.other.body)) turned.applyQuaternion(this.turnAt(joint.other.body, from));
      const at = this.world(joint.body, joint.point).sub(start).dot(turned);
      if (at < low) low = at;
      if (at > high) high = at;
    }
    this.place(D.start);
    if (this.modal || D.live) { low -= 0.2 * D.own; high += 0.2 * D.own; }
    return [low, high];
  }

  // ---- names, colours, the pose at rest

  names() {
    const { D, stage } = this, spots = [];
    for (const joint of D.joints) { // joints at the same point share a label
      const p = this.spotOf(joint), near = spots.find(s => s.p.distanceTo(p) < 1e-6 * D.radius);
      if (near) near.names.push(joint.name); else spots.push({ p, joint, names: [joint.name] });
    }
    spots.forEach(({ joint, names }) => stage.label(names.join(", "), () => this.spotOf(joint)));
    D.bodies.filter(body => !body.pale).forEach(body => { const { points } = form(body), all = points.length ? points : [[0, 0, 0]], middle = [0, 1, 2].map(k => all.reduce((sum, p) => sum + p[k], 0) / all.length); const flexible = this.flexible.get(body.name), label = stage.label(body.name, () => flexible ? this.carry(body.name, flexible.middle(this.deformation)) : this.world(body.name, middle), "body"); if (D.planar && body.shape && body.shape.kind !== "rod") label.half = () => this.halfOf(body.name, middle); });
  }

  // nodes where no joint is, with their names; of machines with few
  nodes() {
    const { D, stage, flexible } = this, taken = D.joints.flatMap(joint => [joint, joint.other || {}]).filter(side => flexible.has(side.body)).map(side => flexible.get(side.body).node(three(side.point)));
    const nodes = [...flexible].filter(([body]) => !D.bodies[this.index.get(body)].pale).flatMap(([body, one]) => one.data.nodes.filter(node => !taken.includes(node)).map(node => ({ body, node })));
    if (nodes.length > 12) return;
    for (const { body, node } of nodes) {
      const at = three(node.point), planar = D.planar;
      this.holder(body, at).add(ball(planar ? [at[0], at[1], this.height(body) + 0.5 * this.thick] : at, (planar ? 0.5 : 1.25) * this.size, this.steel));
      stage.label(node.name, () => this.world(body, at));
    }
  }

  // extent of the box of a body from one of its points [pixels]
  halfOf(name, point) {
    const { min, max } = this.boxes[this.index.get(name)], [x, y] = this.stage.pixels(this.world(name, point));
    const at = [0, 1, 2, 3].map(c => this.stage.pixels(this.world(name, [c & 1 ? max.x : min.x, c & 2 ? max.y : min.y, 0])));
    return [Math.max(...at.map(p => Math.abs(p[0] - x))), Math.max(...at.map(p => Math.abs(p[1] - y)))];
  }

  // position of a joint; of a rolling body its contact point
  spotOf(joint) {
    const p = this.world(joint.body, joint.point);
    if (!joint.radius) return p;
    const down = new THREE.Vector3(0, this.D.planar ? -1 : 0, this.D.planar ? 0 : -this.stage.upward), axis = joint.axis && !this.D.planar ? this.axisOf(joint) : null;
    if (axis) down.addScaledVector(axis, -down.dot(axis)).normalize();
    return p.addScaledVector(down, joint.radius);
  }

  // screen areas that labels should avoid: bars and joints
  obstacles() {
    const { stage, D } = this, wide = this.size / stage.pixel(), found = [];
    for (const body of D.bodies) {
      const { points, lines } = form(body), at = points.map(p => stage.pixels(this.world(body.name, p)));
      for (const [i, j] of lines) found.push({ ends: [at[i], at[j]], wide: 1.1 * wide, cost: 2 });
      const box = this.boxes[this.index.get(body.name)], side = box.getSize(new THREE.Vector3());
      if (body.shape && body.shape.kind !== "rod") { const middle = box.getCenter(new THREE.Vector3()).toArray(); found.push({ ends: [stage.pixels(this.world(body.name, middle)), stage.pixels(this.world(body.name, middle))], wide: 0.5 * Math.min(side.x, side.y) / stage.pixel(), cost: 0.5 }); }
    }
    for (const joint of D.joints) { const at = stage.pixels(this.spotOf(joint)); found.push({ ends: [at, at], wide: 1.3 * wide, cost: 3 }); }
    for (const { position } of this.grounded.children) { const at = stage.pixels(position), foot = [at[0], at[1] + 3.5 * wide]; found.push({ ends: [at, foot], wide: 2.2 * wide, cost: 1.5 }); }
    return found;
  }

  // points that bound the machine at all times, in the world or relative to the moving machine
  cloud(carried = false) {
    const { D, modal } = this, found = [], p = new THREE.Vector3(), shift = new THREE.Vector3(), now = this.time;
    if (modal) return null;
    const put = q => found.push(q.x, q.y, q.z);
    for (let k = 0; k < D.frames; k += Math.max(1, Math.floor(D.frames / 60))) {
      this.place(D.start + k * D.step);
      if (carried) shift.copy(this.followed).sub(this.target());
      for (const [name, one] of this.flexible) for (const k of one.outline) put(this.carry(name, one.pointAt(k, this.deformation)).add(shift));
      this.bodies.forEach((body, b) => { if (this.flexible.has(body.name)) return; const { min, max } = this.boxes[b]; for (let c = 0; c < 8; c++) put(p.set(c & 1 ? max.x : min.x, c & 2 ? max.y : min.y, c & 4 ? max.z : min.z).applyMatrix4(body.matrix).add(shift)); });
    }
    this.place(now === undefined ? D.start : now);
    if (!carried) {
      const ground = new THREE.Box3();
      for (const one of [...this.grounded.children, ...this.fixtures]) { ground.setFromObject(one); put(ground.min); put(ground.max); }
      for (const { points } of D.trails) for (let k = 0; k < points.length; k += 3 * Math.max(1, Math.floor(points.length / 600))) put(p.fromArray(points, k));
    }
    if (D.live) { // room for the motion by the sliders
      const n = found.length / 3, middle = [0, 1, 2].map(c => { let sum = 0; for (let k = c; k < found.length; k += 3) sum += found[k]; return sum / n; });
      return found.map((v, k) => middle[k % 3] + 1.3 * (v - middle[k % 3]));
    }
    return found;
  }

  recolor() {
    this.pin.color.set(this.stage.ink.pin);
    this.hole.color.set(this.stage.ink.paper);
    this.halo.color.set(this.stage.ink.paper);
    this.hatchMaterial.color.set(this.stage.ink.steel);
    if (this.pale) this.pale.color.set(this.stage.ink.rest);
  }

  ghost() {
    this.pale = new THREE.MeshBasicMaterial({ color: this.stage.ink.rest, transparent: true, opacity: 0.4, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }); // behind what has not moved
    this.rest = new THREE.Group();
    this.resting = []; // copies of flexible bodies, which deform with the scale
    for (const body of this.bodies) {
      const flexible = this.flexible.get(body.name), one = body.clone(!flexible);
      if (flexible) { const copy = flexibleBody(this, this.D.bodies[this.index.get(body.name)], this.pale); copy.set(0, 0, 0); copy.draw(1); this.resting.push(copy); one.add(copy.group); }
      const lines = [];
      one.traverse(part => { if (part.isMesh) { part.material = this.pale; part.castShadow = part.receiveShadow = false; part.renderOrder = -1; } else if (part.isLineSegments) lines.push(part); });
      lines.forEach(part => part.removeFromParent());
      if (this.D.planar) one.position.z -= 3 * (this.top + 1) * this.thick;
      this.rest.add(one);
    }
    this.stage.scene.add(this.rest);
  }

  // ---- flexible bodies

  // a line from every joint to its place on the first body, where the scale of the deformation draws them apart
  separations() {
    const { D, flexible } = this, material = new THREE.LineBasicMaterial({ color: "#7d8896" });
    return D.joints.filter(joint => joint.other && (flexible.has(joint.body) || flexible.has(joint.other.body))).map(joint => {
      const line = new THREE.Line(new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3)), material);
      line.frustumCulled = false;
      this.stage.scene.add(line);
      return { joint, line };
    });
  }
  separate({ joint, line }) {
    const drawn = (one, point) => one.shift(three(point), this.deformation).sub(one.shift(three(point), 1));
    const extra = (body, point) => this.flexible.has(body) ? drawn(this.flexible.get(body), point).applyQuaternion(this.bodies[this.index.get(body)].quaternion) : new THREE.Vector3();
    const way = extra(joint.other.body, joint.other.point).sub(extra(joint.body, joint.point)), from = this.world(joint.body, joint.point), place = line.geometry.attributes.position;
    line.visible = way.length() > 0.3 * this.size;
    from.toArray(place.array, 0);
    from.add(way).toArray(place.array, 3);
    place.needsUpdate = true;
  }

  // the deformation in another scale: 1 is true
  rescale(scale) {
    this.deformation = scale;
    (this.resting || []).forEach(one => one.draw(scale));
    this.traces.refresh();
    this.stage.room.cloud = this.cloud(this.following !== null);
  }

  // what is drawn in axes of a body about a place of it
  holder(body, point) {
    if (!this.index.has(body)) return this.stage.scene;
    if (!this.flexible.has(body)) return this.bodies[this.index.get(body)];
    const one = new THREE.Group();
    this.stage.scene.add(one);
    this.holders.push({ one, body, point: three(point) });
    return one;
  }

  // ---- motion

  place(t) {
    const { D } = this, [i, j, w] = between(t, D);
    D.bodies.forEach((body, b) => {
      const n = body.pose.shape[1], v = c => (1 - w) * body.pose[c * n + i] + w * body.pose[c * n + j], group = this.bodies[b];
      if (D.planar) { group.position.set(v(0), v(1), 0); group.rotation.z = v(2); }
      else { group.position.set(v(0), v(1), v(2)); group.quaternion.set(v(4), v(5), v(6), v(3)).normalize(); }
      if (this.modal) this.swing(group, b, t);
      group.updateMatrix();
      const flexible = this.flexible.get(body.name);
      if (flexible) flexible.set(i, j, w);
      if (flexible && this.modal) flexible.swing(this.mode, ...this.weights(t).map(v => this.scale * v));
    });
  }

  // displace a body from rest according to the mode at this phase of the cycle
  swing(group, b, t) {
    const { D } = this, [c, s] = this.weights(t), n = D.shapes.shape[2], from = (this.mode * D.shapes.shape[1] + b) * n;
    const u = k => this.scale * (c * D.shapes[from + k] - (D.turned ? s * D.turned[from + k] : 0));
    if (D.planar) { group.position.x += u(0); group.position.y += u(1); group.rotation.z += u(2); return; }
    group.position.add(new THREE.Vector3(u(0), u(1), u(2)));
    const turn = new THREE.Vector3(u(3), u(4), u(5)), angle = turn.length();
    if (angle > 0) group.quaternion.premultiply(new THREE.Quaternion().setFromAxisAngle(turn.divideScalar(angle), angle));
  }
  weights(t) {
    const { kind } = this.D.modes[this.mode];
    if (kind === "decays") return [Math.exp(-4 * t), 0];
    if (kind === "grows") return [Math.exp(4 * (t - 1)), 0];
    return [Math.cos(2 * Math.PI * t), Math.sin(2 * Math.PI * t)];
  }
  choose(mode) { this.mode = mode; }

  // a place of a body (null: its origin) in the world; nodes of a flexible one as its deformation is drawn
  world(body, point) {
    const p = new THREE.Vector3(...three(point || [0, 0, 0])), flexible = this.flexible.get(body);
    if (flexible && point) p.add(flexible.shift(three(point), this.deformation));
    return this.carry(body, p);
  }
  carry(body, p) { return this.index.has(body) ? p.applyMatrix4(this.bodies[this.index.get(body)].matrix) : p; }
  turnAt(body, point) {
    const own = this.index.has(body) ? this.bodies[this.index.get(body)].quaternion.clone() : new THREE.Quaternion(), flexible = this.flexible.get(body);
    return flexible && point ? own.multiply(flexible.turn(three(point), this.deformation)) : own;
  }

  // ---- camera that follows the machine, or one body

  target() {
    if (this.index.has(this.following)) return this.bodies[this.index.get(this.following)].position.clone();
    const sum = new THREE.Vector3();
    this.bodies.forEach(body => sum.add(body.position));
    return sum.divideScalar(this.bodies.length || 1);
  }
  follow(what) { // null: nothing; "": the machine; else a body
    this.following = what;
    if (what === null) { this.stage.frame(this.D.low, this.D.high, this.cloud()); return; }
    this.followed = this.target();
    const { half } = this.D, around = new THREE.Vector3(...(half || [this.D.own, this.D.own, this.D.own])), low = this.followed.clone().sub(around), high = this.followed.clone().add(around);
    this.stage.frame(low.toArray(), high.toArray(), this.cloud(true));
  }

  at(t) {
    this.time = t;
    this.place(t);
    if (this.following !== null) { const now = this.target(); this.stage.carry(now.clone().sub(this.followed)); this.followed = now; }
    const [i, , w] = between(t, this.D);
    for (const { joint, group, rail } of this.joints) {
      const a = this.world(joint.body, joint.point);
      group.position.copy(a);
      group.quaternion.copy(this.turnAt(joint.body, joint.point));
      if (rail) stretch(rail, a, this.world(joint.other.body, joint.other.point), 1);
    }
    for (const { spring, one, damper, length } of this.springs) {
      const a = this.world(...spring.a), b = this.world(...spring.b);
      stretch(one, a, b, length);
      if (damper) stretch(damper, a, b, length);
    }
    for (const { one, body, point } of this.holders) {
      one.quaternion.copy(this.turnAt(body, point));
      one.position.copy(this.world(body, point)).sub(new THREE.Vector3(...point).applyQuaternion(one.quaternion));
    }
    for (const one of this.flexible.values()) one.draw(this.deformation, this.colored ? this.largest : 0);
    this.gaps.forEach(gap => this.separate(gap));
    this.jointSprings.forEach(act => act());
    this.traces.at(i + w);
    this.efforts.at(t);
  }

  // load another motion of the same machine
  take(motion) {
    const { D } = this, shown = this.traces.group.visible, pushed = this.efforts.group.visible;
    D.bodies.forEach((body, b) => { body.pose = motion.bodies[b].pose; if (body.flexible) { const { values, largest } = motion.bodies[b].flexible; Object.assign(body.flexible, { values, largest }); } });
    for (const key of ["start", "step", "end", "frames", "picture", "low", "high", "radius", "own", "half"]) D[key] = motion[key];
    if (motion.forces) {
      this.stage.scene.remove(this.efforts.group);
      this.efforts.arrows.forEach(({ label }) => { label.element.remove(); this.stage.labels.splice(this.stage.labels.indexOf(label), 1); });
      D.forces = motion.forces;
      const { scale } = this.efforts;
      this.efforts = new Efforts(this);
      this.efforts.scale = scale;
      this.efforts.group.visible = pushed;
    }
    this.traces.clear();
    if (shown && D.frames > 1) this.traces.show(true);
  }

  positions() { return Object.fromEntries(this.D.bodies.map((body, b) => [body.name, this.bodies[b].position.toArray()])); }
}
