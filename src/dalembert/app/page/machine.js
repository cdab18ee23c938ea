// A machine of bodies, joints and springs that follows its recorded poses.
import * as THREE from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { between, distance, three } from "./data.js";
import { Arrow, PALETTE, ball, bar, coil, hullBody, hullPlate, matter, mesh, plate } from "./shapes.js";

const SLIDING = new Set(["prismatic", "cylindrical", "screw", "point on line", "rod"]);
const SQUARE = new Set(["prismatic", "cylindrical", "point on line", "screw"]);
const Z = new THREE.Vector3(0, 0, 1);
const steel = () => new THREE.MeshStandardMaterial({ color: "#7d8896", roughness: 0.45, metalness: 0.35 });

export class Machine {
  constructor(D, stage) {
    Object.assign(this, { D, stage, forceScale: 1, following: false, index: new Map(D.bodies.map((body, i) => [body.name, i])) });
    this.size = this.typical();
    this.thick = 0.5 * this.size;
    this.layers();
    this.steel = steel();
    this.pin = new THREE.MeshStandardMaterial({ color: stage.ink.pin, roughness: 0.6 });
    this.bodies = D.bodies.map((body, i) => this.body(body, i));
    this.bodies.forEach(group => stage.scene.add(group));
    this.ground();
    this.joints = D.joints.map(joint => this.joint(joint));
    this.springs = D.springs.map(spring => this.spring(spring));
    this.traces();
    this.forces();
    this.names();
    stage.listeners.push(() => this.recolor());
    this.recolor();
  }

  // how thick bars are: a share of the lengths in the machine, within bounds of the whole
  typical() {
    const R = this.D.own, lengths = this.D.bodies.flatMap(body => this.form(body).lines.map(([i, j]) => distance(this.form(body).points[i], this.form(body).points[j]))).filter(l => l > 0).sort((a, b) => a - b);
    const middle = lengths.length ? lengths[Math.floor(lengths.length / 2)] : R, least = lengths.length ? lengths[0] : R;
    return Math.min(0.026 * R, Math.max(0.009 * R, 0.05 * middle), Math.max(0.2 * least, 0.009 * R));
  }

  // points and lines of a body: those of its joints, or of its rod, or from the origin to its only point
  form(body) {
    const points = (body.points || []).map(three), shape = body.shape || {};
    if (shape.kind === "rod" && points.filter(p => Math.hypot(...p) > 0).length < 2) return { points: shape.ends, lines: [[0, 1]] };
    let lines = (body.lines || []).filter(([i, j]) => points[i] && points[j]);
    if (!lines.length && points.length === 1 && Math.hypot(...points[0]) > 0) { points.push([0, 0, 0]); lines = [[0, 1]]; }
    else if (!lines.length) lines = points.slice(1).map((_, i) => [i, i + 1]);
    return { points, lines };
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

  // ---- bodies

  body(body, i) {
    const group = new THREE.Group(), material = matter(PALETTE[i % PALETTE.length]), shape = body.shape || {}, s = this.size;
    const { points, lines } = this.form(body), planar = this.D.planar, z = this.height(body.name) - this.thick / 2;
    group.name = body.name;
    const solid = this.solid(shape, material, z);
    if (solid) {
      group.add(solid);
      for (const p of points) if (this.outside(shape, p)) group.add(planar ? plate([0, 0, 0], p, 0.6 * s, z + 0.1 * this.thick, 0.8 * this.thick, material) : bar([0, 0, 0], p, 0.6 * s, material));
    } else if (!lines.length) {
      group.add(ball([0, 0, planar ? z + this.thick / 2 : 0], 1.7 * s, material));
    } else if (planar) {
      const whole = points.length > 2 ? hullPlate(points, 1.05 * s, z, this.thick, material) : null;
      if (whole) group.add(whole);
      else for (const [a, b] of lines.slice(0, points.length - 1)) group.add(plate(points[a], points[b], 1.05 * s, z, this.thick, material));
    } else {
      for (const [a, b] of lines) group.add(bar(points[a], points[b], s, material));
      points.forEach(p => group.add(ball(p, 1.0 * s, material)));
      if (points.length > 2) {
        const pale = matter(PALETTE[i % PALETTE.length]);
        Object.assign(pale, { transparent: true, opacity: 0.35, side: THREE.DoubleSide, depthWrite: false });
        const whole = hullBody(points, pale);
        if (whole) group.add(whole);
      }
    }
    if (planar || !solid) group.add(this.centre(planar ? z + this.thick : 0));
    return group;
  }

  // the sign for a centre of mass; planar only, where it does not hide in the body
  centre(z) {
    const group = new THREE.Group();
    if (!this.D.planar) return group;
    const r = 0.62 * this.size, dark = new THREE.MeshBasicMaterial({ color: "#222a34" }), light = new THREE.MeshBasicMaterial({ color: "#ffffff" });
    for (let k = 0; k < 4; k++) group.add(new THREE.Mesh(new THREE.CircleGeometry(r, 12, k * Math.PI / 2, Math.PI / 2), k % 2 ? light : dark));
    const rim = new THREE.Mesh(new THREE.RingGeometry(0.94 * r, 1.12 * r, 40), dark);
    group.add(rim);
    group.position.z = z + 0.02 * this.size;
    return group;
  }

  solid(shape, material, z) {
    const planar = this.D.planar, up = planar ? this.thick : 0;
    if (shape.kind === "box" && shape.size && Math.max(...shape.size) > 0) {
      const least = 0.35 * this.size, size = shape.size.map(v => Math.max(v, least));
      if (planar) size[2] = up;
      const one = mesh(new THREE.BoxGeometry(...size), material, 30);
      if (planar) one.position.z = z + up / 2;
      return one;
    }
    if (shape.kind === "sphere" && shape.radius > 0) {
      const one = mesh(new THREE.SphereGeometry(shape.radius, 40, 28), material);
      if (planar) { one.scale.z = Math.min(1, up / (2 * shape.radius)); one.position.z = z + up / 2; }
      else one.add(this.circles(shape.radius));
      return one;
    }
    if (shape.kind === "cylinder" && shape.radius > 0) {
      const length = planar ? up : Math.max(shape.length, 0.2 * this.size), axis = new THREE.Vector3(...(shape.axis || [0, 0, 1]));
      const one = mesh(new THREE.CylinderGeometry(shape.radius, shape.radius, length, 56).rotateX(Math.PI / 2), material, 30);
      one.add(this.spokes(shape.radius, length));
      const holder = new THREE.Group();
      one.quaternion.setFromUnitVectors(Z, axis.normalize());
      if (planar) one.position.z = z + up / 2;
      holder.add(one);
      return holder;
    }
    return null;
  }

  // marks on round bodies, so that one sees them turn
  spokes(radius, length) {
    const places = [];
    for (const h of [length / 2, -length / 2]) for (let k = 0; k < 3; k++) { const a = 2 * Math.PI * k / 3; places.push(0, 0, 1.01 * h, radius * Math.cos(a), radius * Math.sin(a), 1.01 * h); }
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
    return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: "#1c2430", transparent: true, opacity: 0.65 }));
  }
  circles(radius) {
    const group = new THREE.Group();
    for (const turn of [[0, 0, 0], [Math.PI / 2, 0, 0], [0, Math.PI / 2, 0]]) {
      const one = new THREE.Mesh(new THREE.TorusGeometry(1.002 * radius, 0.012 * radius, 6, 72), new THREE.MeshBasicMaterial({ color: "#1c2430", transparent: true, opacity: 0.6 }));
      one.rotation.set(...turn);
      group.add(one);
    }
    return group;
  }

  outside(shape, p) {
    if (shape.kind === "sphere") return Math.hypot(...p) > 1.02 * shape.radius;
    if (shape.kind === "box") return p.some((c, k) => Math.abs(c) > 0.51 * shape.size[k] + 0.5 * this.size);
    const axis = shape.axis || [0, 0, 1], along = p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2];
    const across = Math.sqrt(Math.max(0, p[0] ** 2 + p[1] ** 2 + p[2] ** 2 - along ** 2));
    return across > 1.02 * shape.radius || (!this.D.planar && Math.abs(along) > 0.51 * shape.length + 0.5 * this.size);
  }

  // ---- ground, joints, springs

  ground() {
    const { D } = this, places = D.ground.map(three), s = this.size;
    for (const spring of D.springs) for (const [body, point] of [spring.a, spring.b])
      if (body === null && !places.some(p => distance(p, three(point)) < 1e-9 * D.radius)) places.push(three(point));
    this.grounded = new THREE.Group();
    const material = this.groundMaterial = new THREE.MeshStandardMaterial({ color: "#8a95a3", roughness: 0.8 });
    const hatch = this.hatchMaterial = new THREE.LineBasicMaterial({ color: "#5a6573" });
    for (const p of places) this.grounded.add(D.planar ? this.stand(p, material, hatch, 2.1 * s) : this.foot(p, material, 1.9 * s));
    this.stage.scene.add(this.grounded);
  }
  stand(p, material, hatch, s) { // a triangle on hatched ground
    const group = new THREE.Group(), deep = Math.min(this.thick, s), shape = new THREE.Shape().moveTo(0, 0.25 * s).lineTo(-0.85 * s, -1.45 * s).lineTo(0.85 * s, -1.45 * s).closePath();
    const wedge = mesh(new THREE.ExtrudeGeometry(shape, { depth: deep, bevelEnabled: false }), material, 30);
    const base = mesh(new THREE.BoxGeometry(3.1 * s, 0.22 * s, 1.6 * deep), material, 30);
    base.position.set(0, -1.56 * s, deep / 2);
    const lines = [];
    for (let k = -3; k <= 3; k++) lines.push(0.45 * k * s + 0.2 * s, -1.7 * s, deep, 0.45 * k * s - 0.22 * s, -2.15 * s, deep);
    group.add(wedge, base, new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(lines, 3)), hatch));
    group.position.set(p[0], p[1], -(this.top / 2 + 1) * 1.15 * this.thick - 0.5 * deep);
    return group;
  }
  foot(p, material, s) {
    const group = new THREE.Group(), cone = mesh(new THREE.CylinderGeometry(0.55 * s, 1.1 * s, 1.3 * s, 28).rotateX(Math.PI / 2), material);
    const base = mesh(new THREE.CylinderGeometry(1.5 * s, 1.5 * s, 0.22 * s, 36).rotateX(Math.PI / 2), material, 30);
    cone.position.z = -0.65 * s; base.position.z = -1.4 * s;
    group.add(cone, base);
    group.position.set(...p);
    return group;
  }

  joint(joint) {
    const group = new THREE.Group(), s = this.size, planar = this.D.planar, square = SQUARE.has(joint.type);
    const low = Math.min(this.height(joint.body), joint.other ? this.height(joint.other.body) : 0), high = Math.max(this.height(joint.body), joint.other ? this.height(joint.other.body) : 0);
    const deep = high - low + 1.5 * this.thick, middle = (low + high) / 2 + 0.2 * this.thick;
    if (joint.type !== "fixed" && planar && !square) {
      const pin = mesh(new THREE.CylinderGeometry(0.52 * s, 0.52 * s, deep, 28).rotateX(Math.PI / 2), this.steel);
      const cap = mesh(new THREE.CylinderGeometry(0.34 * s, 0.34 * s, deep * 1.02, 28).rotateX(Math.PI / 2), this.pin);
      group.add(pin, cap);
      pin.position.z = cap.position.z = middle;
    } else if (planar && square) {
      const block = mesh(new THREE.BoxGeometry(1.9 * s, 1.9 * s, deep), this.steel, 30);
      block.position.z = middle;
      group.add(block);
    } else if (joint.type === "spherical" || joint.type === "universal") group.add(ball([0, 0, 0], 1.35 * s, this.steel));
    else if (square) group.add(mesh(new THREE.BoxGeometry(2.7 * s, 2.7 * s, 2.7 * s), this.steel, 30));
    else if (joint.type !== "fixed") {
      const pin = mesh(new THREE.CylinderGeometry(1.25 * s, 1.25 * s, 3.6 * s, 32).rotateX(Math.PI / 2), this.steel, 30);
      if (joint.axis) pin.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...joint.axis).normalize());
      group.add(joint.axis ? pin : ball([0, 0, 0], 1.35 * s, this.steel));
    }
    if (joint.radius) group.clear(); // what rolls touches the ground elsewhere
    const rail = joint.other && SLIDING.has(joint.type) ? mesh(new THREE.CylinderGeometry(0.32 * s, 0.32 * s, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5), this.steel) : null;
    this.stage.scene.add(group);
    if (rail) this.stage.scene.add(rail);
    return { joint, group, rail };
  }

  spring(spring) {
    const s = this.size;
    this.place(this.D.start);
    const length = Math.max(this.world(...spring.a).distanceTo(this.world(...spring.b)), 4 * s);
    const one = coil(length, Math.min(1.25 * s, 0.16 * length), this.steel);
    this.stage.scene.add(one);
    return { spring, one, length };
  }

  stretch(one, a, b, length) {
    const way = b.clone().sub(a), now = way.length();
    one.position.copy(a);
    if (now > 0) one.quaternion.setFromUnitVectors(Z, way.divideScalar(now));
    one.scale.z = Math.max(now / length, 1e-6);
  }

  // ---- traces and forces

  traces() {
    const { D } = this, given = D.trails.map((trail, i) => ({ name: trail.name, data: trail.points, color: PALETTE[(i + 3) % PALETTE.length] }));
    this.given = given.length > 0;
    this.lines = [];
    this.traceGroup = new THREE.Group();
    this.stage.scene.add(this.traceGroup);
    given.forEach(trail => this.trace(trail));
  }
  // without named ones: of every joint that moves, computed when they are first asked for
  showTraces(on) {
    if (on && !this.lines.length) {
      const { D } = this, n = D.frames, joints = D.joints.filter(j => j.body !== null && j.other && j.other.body !== null).slice(0, 12);
      const wanted = joints.length ? joints.map(j => ({ name: j.name, body: j.body, point: three(j.point) })) : D.bodies.slice(0, 12).map(b => ({ name: b.name, body: b.name, point: [0, 0, 0] }));
      const data = wanted.map(() => new Float32Array(3 * n)), now = this.time;
      for (let k = 0; k < n; k++) {
        this.place(D.start + k * D.step);
        wanted.forEach(({ body, point }, i) => this.world(body, point).toArray(data[i], 3 * k));
      }
      wanted.forEach(({ name }, i) => this.trace({ name, data: data[i], color: PALETTE[(i + 3) % PALETTE.length] }));
      this.at(now);
    }
    this.traceGroup.visible = on;
  }
  trace({ data, color, name }) {
    if (data.length < 6) return;
    const make = (opacity, width) => {
      const geometry = new LineGeometry();
      geometry.setPositions(Array.from(data));
      const line = new Line2(geometry, new LineMaterial({ color, linewidth: width, transparent: true, opacity, depthWrite: false }));
      line.frustumCulled = false;
      if (this.D.planar) line.position.z = -(this.top / 2 + 2.2) * this.thick;
      this.traceGroup.add(line);
      return line;
    };
    make(0.28, 1.6);
    this.lines.push({ line: make(1, 2.4), name });
  }

  forces() {
    const { D } = this, kinds = { reaction: "#e0483e", applied: "#16a085" };
    let sizes = [];
    for (const force of D.forces) for (let k = 0; k < force.values.length; k += 3) sizes.push(Math.hypot(force.values[k], force.values[k + 1], force.values[k + 2]));
    sizes = Float64Array.from(sizes).sort();
    this.largest = sizes.length ? sizes[sizes.length - 1] : 0;
    const usual = sizes.length ? sizes[Math.floor(0.97 * (sizes.length - 1))] || this.largest : 0; // a peak does not shrink the rest
    this.perForce = usual > 0 ? 0.3 * D.own / usual : 0;
    this.forceGroup = new THREE.Group();
    this.forceGroup.visible = false;
    this.stage.scene.add(this.forceGroup);
    this.arrows = D.forces.map(force => { const arrow = new Arrow(kinds[force.kind] || kinds.applied, 0.28 * this.size); this.forceGroup.add(arrow); return { force, arrow }; });
  }

  names() {
    const { D, stage } = this, spots = [];
    this.place(D.start);
    for (const joint of D.joints) { // joints in one place share a label
      const p = this.world(joint.body, joint.point), near = spots.find(s => s.p.distanceTo(p) < 1e-6 * D.radius);
      if (near) near.names.push(joint.name); else spots.push({ p, joint, names: [joint.name] });
    }
    spots.forEach(({ joint, names }) => stage.label(names.join(", "), () => this.world(joint.body, joint.point)));
    D.bodies.forEach(body => { const { points } = this.form(body), all = points.length ? points : [[0, 0, 0]], middle = [0, 1, 2].map(k => all.reduce((sum, p) => sum + p[k], 0) / all.length); stage.label(body.name, () => this.world(body.name, middle), "body"); });
  }

  recolor() {
    this.pin.color.set(this.stage.ink.pin);
    this.hatchMaterial.color.set(this.stage.ink.steel);
  }

  // ---- motion

  place(t) {
    const { D } = this, [i, j, w] = between(t, D);
    this.D.bodies.forEach((body, b) => {
      const n = body.pose.shape[1], v = c => (1 - w) * body.pose[c * n + i] + w * body.pose[c * n + j], group = this.bodies[b];
      if (D.planar) { group.position.set(v(0), v(1), 0); group.rotation.z = v(2); }
      else { group.position.set(v(0), v(1), v(2)); group.quaternion.set(v(4), v(5), v(6), v(3)).normalize(); }
      group.updateMatrix();
    });
  }

  world(body, point) {
    const p = new THREE.Vector3(...three(point));
    return body === null || body === undefined || !this.index.has(body) ? p : p.applyMatrix4(this.bodies[this.index.get(body)].matrix);
  }

  // middle of the bodies, for a camera that goes with them
  middle() {
    const sum = new THREE.Vector3();
    this.bodies.forEach(body => sum.add(body.position));
    return sum.divideScalar(this.bodies.length || 1);
  }
  follow(on) {
    this.following = on;
    this.followed = this.middle();
    if (!on) { this.stage.frame(this.D.low, this.D.high); return; }
    const half = new THREE.Vector3(1, 1, 1).multiplyScalar(0.8 * this.D.own), low = this.followed.clone().sub(half), high = this.followed.clone().add(half);
    this.stage.frame(low.toArray(), high.toArray());
  }

  at(t) {
    this.time = t;
    this.place(t);
    if (this.following) { const now = this.middle(); this.stage.carry(now.clone().sub(this.followed)); this.followed = now; }
    const [i, j, w] = between(t, this.D);
    for (const { joint, group, rail } of this.joints) {
      const a = this.world(joint.body, joint.point);
      group.position.copy(a);
      if (this.index.has(joint.body)) group.quaternion.copy(this.bodies[this.index.get(joint.body)].quaternion);
      if (rail) this.stretch(rail, a, this.world(joint.other.body, joint.other.point), 1);
    }
    for (const { spring, one, length } of this.springs) this.stretch(one, this.world(...spring.a), this.world(...spring.b), length);
    for (const { line } of this.lines) line.geometry.instanceCount = Math.max(0, Math.min(this.D.frames - 1, Math.round(i + w)));
    if (this.forceGroup.visible) for (const { force, arrow } of this.arrows) {
      const v = k => (1 - w) * force.values[3 * i + k] + w * force.values[3 * j + k];
      const vector = new THREE.Vector3(v(0), v(1), v(2)).multiplyScalar(this.perForce * this.forceScale);
      vector.clampLength(0, 1.2 * this.D.own * this.forceScale);
      const from = this.world(force.body, force.point);
      if (this.D.planar) from.z = (this.top / 2 + 1) * 1.15 * this.thick;
      arrow.set(from, vector);
    }
  }
  // another motion of the same machine
  take(fresh) {
    const { D } = this;
    D.bodies.forEach((body, b) => { body.pose = fresh.bodies[b].pose; });
    for (const key of ["start", "step", "end", "frames", "picture"]) D[key] = fresh[key];
    if (fresh.forces) {
      const shown = this.forceGroup.visible;
      this.stage.scene.remove(this.forceGroup);
      D.forces = fresh.forces;
      this.forces();
      this.forceGroup.visible = shown;
    }
    const shown = this.traceGroup.visible;
    this.traceGroup.clear();
    this.lines = [];
    if (shown && D.frames > 1) this.showTraces(true);
  }

  positions() { return Object.fromEntries(this.D.bodies.map((body, b) => [body.name, this.bodies[b].position.toArray()])); }
}
