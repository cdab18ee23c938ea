// A machine of bodies, joints and springs that follows its recorded poses, or moves in one of its modes.
import * as THREE from "three";
import { Efforts } from "./arrows.js";
import { drawBody, form } from "./bodies.js";
import { between, distance, three } from "./data.js";
import { drawGround, drawJoint, drawSpring, stretch } from "./joints.js";
import { Traces } from "./traces.js";

const steel = () => new THREE.MeshStandardMaterial({ color: "#7d8896", roughness: 0.45, metalness: 0.35 });

export class Machine {
  constructor(D, stage) {
    Object.assign(this, { D, stage, following: null, mode: 0, scale: 0, index: new Map(D.bodies.map((body, i) => [body.name, i])) });
    this.size = this.typical();
    this.thick = 0.5 * this.size;
    this.layers();
    this.steel = steel();
    this.pin = new THREE.MeshStandardMaterial({ color: stage.ink.pin, roughness: 0.6 });
    this.bodies = D.bodies.map((body, i) => drawBody(this, body, i));
    this.bodies.forEach(group => stage.scene.add(group));
    this.place(D.start);
    this.grounded = drawGround(this);
    this.joints = D.joints.map(joint => drawJoint(this, joint));
    this.springs = D.springs.map(spring => drawSpring(this, spring));
    if (this.modal) this.ghost();
    this.traces = new Traces(this);
    this.efforts = new Efforts(this);
    this.names();
    stage.pad = 2.2 * this.size; // bodies are thicker than their points
    this.room();
    stage.frame(D.low, D.high);
    this.scale = 1; // of a mode; everything above was measured at rest
    stage.listeners.push(() => this.recolor());
    this.recolor();
  }

  get modal() { return Boolean(this.D.modes && this.D.modes.length); }
  get arrows() { return this.efforts.arrows; }

  // planar: what the machine stands on reaches below its points
  room() {
    const { D, size: s } = this;
    if (!D.planar) return;
    for (const { position: { x, y } } of this.grounded.children) {
      D.low = [Math.min(D.low[0], x - 1.2 * s), Math.min(D.low[1], y - 2.5 * s), D.low[2]];
      D.high = [Math.max(D.high[0], x + 1.2 * s), D.high[1], D.high[2]];
    }
  }

  // how thick bars are: a share of the lengths in the machine, within bounds of the whole
  typical() {
    const R = this.D.own, lengths = this.D.bodies.flatMap(body => { const { points, lines } = form(body); return lines.map(([i, j]) => distance(points[i], points[j])); }).filter(l => l > 0).sort((a, b) => a - b);
    const middle = lengths.length ? lengths[Math.floor(lengths.length / 2)] : R, least = lengths.length ? lengths[0] : R;
    const floor = 0.011 * R * Math.min(1, 12 / this.D.bodies.length); // many bodies are small ones
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

  // ---- questions of those who draw

  slides(body) { return this.D.joints.some(joint => joint.type === "prismatic" && (joint.body === body || (joint.other && joint.other.body === body))); }
  // whether what is joined at a place of the ground is below it
  hangs(p) {
    const up = this.stage.upward, joined = this.D.joints.filter(j => j.other && (j.other.body === null || j.body === null) && distance(three(j.other.body === null ? j.other.point : j.point), p) < 1e-9 * this.D.radius);
    const below = joined.map(j => { const name = j.other.body === null ? j.body : j.other.body; return this.index.has(name) ? (p[2] - this.bodies[this.index.get(name)].position.z) * up : 0; });
    return below.length > 0 && Math.min(...below) > 0.15 * this.D.own;
  }
  axisOf(joint) { // in the world, as the machine stands
    const way = new THREE.Vector3(...joint.axis), body = this.bodies[this.index.get(joint.body)];
    return (body ? way.applyQuaternion(body.quaternion) : way).normalize();
  }
  strokeOf(joint) {
    const { D } = this, from = new THREE.Vector3(...three(joint.other.point)), axis = this.axisOf(joint);
    let low = 0, high = 0;
    for (let k = 0; k < D.frames; k += Math.max(1, Math.floor(D.frames / 200))) {
      this.place(D.start + k * D.step);
      const at = this.world(joint.body, joint.point).sub(from).dot(axis);
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
    for (const joint of D.joints) { // joints in one place share a label
      const p = this.world(joint.body, joint.point), near = spots.find(s => s.p.distanceTo(p) < 1e-6 * D.radius);
      if (near) near.names.push(joint.name); else spots.push({ p, joint, names: [joint.name] });
    }
    spots.forEach(({ joint, names }) => stage.label(names.join(", "), () => this.world(joint.body, joint.point)));
    D.bodies.forEach(body => { const { points } = form(body), all = points.length ? points : [[0, 0, 0]], middle = [0, 1, 2].map(k => all.reduce((sum, p) => sum + p[k], 0) / all.length); stage.label(body.name, () => this.world(body.name, middle), "body"); });
  }

  recolor() {
    this.pin.color.set(this.stage.ink.pin);
    this.hatchMaterial.color.set(this.stage.ink.steel);
    if (this.pale) this.pale.color.set(this.stage.ink.rest);
  }

  ghost() {
    this.pale = new THREE.MeshBasicMaterial({ color: this.stage.ink.rest, transparent: true, opacity: 0.4, depthWrite: false });
    this.rest = new THREE.Group();
    for (const body of this.bodies) {
      const one = body.clone(true);
      const lines = [];
      one.traverse(part => { if (part.isMesh) { part.material = this.pale; part.castShadow = part.receiveShadow = false; part.renderOrder = -1; } else if (part.isLineSegments) lines.push(part); });
      lines.forEach(part => part.removeFromParent());
      if (this.D.planar) one.position.z -= 3 * (this.top + 1) * this.thick;
      this.rest.add(one);
    }
    this.stage.scene.add(this.rest);
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
    });
  }

  // displace a body from its rest as the mode has it at this part of the cycle
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

  world(body, point) {
    const p = new THREE.Vector3(...three(point));
    return body === null || body === undefined || !this.index.has(body) ? p : p.applyMatrix4(this.bodies[this.index.get(body)].matrix);
  }

  // ---- a camera that goes with the machine, or with one body

  target() {
    if (this.index.has(this.following)) return this.bodies[this.index.get(this.following)].position.clone();
    const sum = new THREE.Vector3();
    this.bodies.forEach(body => sum.add(body.position));
    return sum.divideScalar(this.bodies.length || 1);
  }
  follow(what) { // null: nothing; "": the machine; else a body
    this.following = what;
    if (what === null) { this.stage.frame(this.D.low, this.D.high); return; }
    this.followed = this.target();
    const { half } = this.D, around = new THREE.Vector3(...(half || [this.D.own, this.D.own, this.D.own])), low = this.followed.clone().sub(around), high = this.followed.clone().add(around);
    this.stage.frame(low.toArray(), high.toArray());
  }

  at(t) {
    this.time = t;
    this.place(t);
    if (this.following !== null) { const now = this.target(); this.stage.carry(now.clone().sub(this.followed)); this.followed = now; }
    const [i, , w] = between(t, this.D);
    for (const { joint, group, rail } of this.joints) {
      const a = this.world(joint.body, joint.point);
      group.position.copy(a);
      if (this.index.has(joint.body)) group.quaternion.copy(this.bodies[this.index.get(joint.body)].quaternion);
      if (rail) stretch(rail, a, this.world(joint.other.body, joint.other.point), 1);
    }
    for (const { spring, one, damper, length } of this.springs) {
      const a = this.world(...spring.a), b = this.world(...spring.b);
      stretch(one, a, b, length);
      if (damper) stretch(damper, a, b, length);
    }
    this.traces.at(i + w);
    this.efforts.at(t);
  }

  // another motion of the same machine
  take(fresh) {
    const { D } = this, shown = this.traces.group.visible, pushed = this.efforts.group.visible;
    D.bodies.forEach((body, b) => { body.pose = fresh.bodies[b].pose; });
    for (const key of ["start", "step", "end", "frames", "picture"]) D[key] = fresh[key];
    if (fresh.forces) {
      this.stage.scene.remove(this.efforts.group);
      D.forces = fresh.forces;
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
