// A structure of beams and solids; its modes or its response displace points at rest.
import * as THREE from "three";
import { between, metres, short } from "./data.js";
import { knob } from "./knobs.js";
import { modeList } from "./modes.js";
import { RAMP, coil, colorAt, matter, mesh } from "./shapes.js";

const byId = id => document.getElementById(id);
const Z = new THREE.Vector3(0, 0, 1);
const MANY = 160000; // vertices of tubes, above which beams are drawn as lines

export class Structure {
  constructor(D, stage) {
    Object.assign(this, { D, stage, mode: 0, scale: D.unit, colored: true, n: D.places.shape[0] });
    this.moved = new Float32Array(3 * this.n);
    this.share = new Float32Array(this.n);
    this.now = Float32Array.from(D.places);
    this.size = 0.0085 * D.radius;
    this.followers = []; // objects to be placed again when points move
    this.rest = new THREE.Group();
    stage.scene.add(this.rest);
    this.beams();
    this.solid();
    this.joining();
    this.marks();
    D.names.forEach(({ name, at }) => stage.label(name, () => this.placeOf(at)));
    stage.listeners.push(() => this.recolor());
    this.choose(0);
    this.recolor();
  }

  placeOf(k) { return new THREE.Vector3(this.now[3 * k], this.now[3 * k + 1], this.now[3 * k + 2]); }

  restLines(pairs) {
    const places = new Float32Array(3 * pairs.length);
    pairs.forEach((k, i) => { for (let c = 0; c < 3; c++) places[3 * i + c] = this.D.places[3 * k + c]; });
    const lines = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(places, 3)), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.9 }));
    this.rest.add(lines);
    return lines;
  }

  // ---- beams: tubes whose rings follow the sample points along them

  beams() {
    const { D } = this, total = D.beams.reduce((sum, g) => sum + g.count * g.samples, 0), pairs = [];
    if (!total) return;
    for (const g of D.beams) for (let e = 0; e < g.count; e++) pairs.push(g.first + e * g.samples, g.first + (e + 1) * g.samples - 1);
    this.restLines(pairs);
    const sides = total * 10 < MANY ? 10 : total * 5 < MANY ? 5 : 2;
    const position = [], normal = [], owner = [], index = [];
    const a = new THREE.Vector3(), b = new THREE.Vector3(), u = new THREE.Vector3(), v = new THREE.Vector3(), q = new THREE.Vector3();
    const many = D.beams.reduce((sum, g) => sum + g.count, 0), thin = Math.min(1, Math.max(0.35, Math.sqrt(220 / many)));
    for (const g of D.beams) for (let e = 0; e < g.count; e++) {
      const first = g.first + e * g.samples, r = this.size * thin * (g.is_bar[e] ? 0.55 : 1);
      a.fromArray(D.places, 3 * first); b.fromArray(D.places, 3 * (first + g.samples - 1));
      const way = b.sub(a).normalize().clone();
      u.crossVectors(way, Math.abs(way.z) < 0.9 ? Z : v.set(1, 0, 0)).normalize();
      v.crossVectors(way, u);
      const base = owner.length, last = g.samples - 1;
      // rings: [sample, radius, along the beam]; the ends are round
      const rings = [[0, 0, -1], [0, 0.71, -0.71], ...Array.from({ length: g.samples }, (_, k) => [k, 1, 0]), [last, 0.71, 0.71], [last, 0, 1]];
      rings.forEach(([k, wide, along], ring) => {
        for (let s = 0; s < sides; s++) {
          const angle = 2 * Math.PI * s / sides;
          q.copy(u).multiplyScalar(wide * Math.cos(angle)).addScaledVector(v, wide * Math.sin(angle)).addScaledVector(way, along);
          normal.push(q.x, q.y, q.z);
          position.push(r * q.x, r * q.y, r * q.z);
          owner.push(first + k);
          if (ring + 1 < rings.length) { const c = base + ring * sides + s, d = base + ring * sides + (s + 1) % sides; index.push(c, d, c + sides, d, d + sides, c + sides); }
        }
      });
    }
    this.tubes = this.moving(Float32Array.from(position), Float32Array.from(normal), owner, index);
  }

  // a mesh whose vertices have constant offsets from points
  moving(offset, normal, owner, index) {
    const geometry = new THREE.BufferGeometry(), n = owner.length;
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * n), 3).setUsage(THREE.DynamicDrawUsage));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * n), 3).setUsage(THREE.DynamicDrawUsage));
    if (normal) geometry.setAttribute("normal", new THREE.BufferAttribute(normal, 3));
    geometry.setIndex(index);
    const material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.55, metalness: 0.05, side: THREE.DoubleSide });
    const one = new THREE.Mesh(geometry, material);
    one.frustumCulled = false;
    this.stage.scene.add(one);
    const entry = { geometry, offset, owner: Int32Array.from(owner), shaded: !normal };
    this.followers.push(() => this.follow(entry));
    return entry;
  }

  follow({ geometry, offset, owner, shaded }) {
    const place = geometry.attributes.position, color = geometry.attributes.color, p = place.array, c = color.array, now = this.now, tint = new THREE.Color();
    for (let i = 0; i < owner.length; i++) {
      const k = 3 * owner[i];
      for (let j = 0; j < 3; j++) p[3 * i + j] = now[k + j] + (offset ? offset[3 * i + j] : 0);
    }
    place.needsUpdate = true;
    if (this.repaint) { // colours change with the mode, or with time in a response
      let last = -1;
      for (let i = 0; i < owner.length; i++) {
        if (owner[i] !== last) { last = owner[i]; if (this.colored) colorAt(this.share[last], tint); else tint.set("#5b8fc7"); }
        tint.toArray(c, 3 * i);
      }
      color.needsUpdate = true;
    }
    if (shaded) geometry.computeVertexNormals();
  }

  // ---- solids

  solid() {
    const { D } = this, count = D.triangles.shape[0];
    if (!count) return;
    this.restLines(Array.from(D.edges.length / 2 > 30000 ? [] : D.edges));
    let owner = Array.from(D.triangles), index = owner.map((_, i) => i);
    if (count > 40000) { owner = Array.from({ length: this.n }, (_, i) => i); index = Array.from(D.triangles); } // shared vertices, smooth shading
    this.moving(null, null, owner, index);
    if (D.edges.length / 2 > 12000) return;
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(this.now, 3).setUsage(THREE.DynamicDrawUsage));
    geometry.setIndex(Array.from(D.edges));
    const lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: "#10151c", transparent: true, opacity: 0.35 }));
    lines.frustumCulled = false;
    this.stage.scene.add(lines);
    this.followers.push(() => { geometry.attributes.position.needsUpdate = true; });
  }

  // ---- springs, rigid links, supports, masses

  joining() {
    const { D } = this, steel = new THREE.MeshStandardMaterial({ color: "#3aa57a", roughness: 0.5, metalness: 0.2 }), grey = matter("#8a95a3");
    const stretch = (one, a, b, length) => {
      const from = this.placeOf(a), way = this.placeOf(b).sub(from), now = way.length();
      one.position.copy(from);
      if (now > 0) one.quaternion.setFromUnitVectors(Z, way.divideScalar(now));
      one.scale.z = Math.max(now / length, 1e-6);
    };
    const pairs = list => Array.from({ length: list.shape[0] }, (_, i) => [list[2 * i], list[2 * i + 1]]);
    for (const [a, b] of pairs(D.springs).slice(0, 400)) {
      const length = Math.max(this.placeOf(a).distanceTo(this.placeOf(b)), 3 * this.size), one = coil(length, Math.min(2.4 * this.size, 0.16 * length), steel);
      this.stage.scene.add(one);
      this.followers.push(() => stretch(one, a, b, length));
    }
    for (const [a, b] of pairs(D.links).slice(0, 2000)) {
      const one = mesh(new THREE.CylinderGeometry(0.4 * this.size, 0.4 * this.size, 1, 8).rotateX(Math.PI / 2).translate(0, 0, 0.5), grey);
      this.stage.scene.add(one);
      this.followers.push(() => stretch(one, a, b, 1));
    }
  }

  marks() {
    const { D } = this, s = 3.0 * this.size, up = D.planar ? [0, 1, 0] : [0, 0, 1], turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(...up));
    this.dark = matter("#5a6573");
    const kinds = {
      fixed: [new THREE.BoxGeometry(1.9 * s, 0.75 * s, 1.9 * s).translate(0, -0.375 * s, 0), this.dark],
      pinned: [new THREE.ConeGeometry(0.9 * s, 1.5 * s, 4).rotateY(Math.PI / 4).translate(0, -0.75 * s, 0), this.dark],
      guided: [new THREE.TorusGeometry(0.62 * s, 0.13 * s, 10, 32), this.dark], // a ring: the beams that meet there stay visible
      "spring to ground": [new THREE.ConeGeometry(0.9 * s, 1.5 * s, 24).translate(0, -0.75 * s, 0), matter("#3aa57a")],
      mass: [new THREE.SphereGeometry(0.95 * s, 28, 18), matter("#e2a11f")],
      held: [new THREE.SphereGeometry(0.3 * s, 10, 8), this.dark],
    };
    for (const [kind, at] of Object.entries(D.marks)) {
      if (!kinds[kind] || !at.length) continue;
      const [geometry, material] = kinds[kind], many = new THREE.InstancedMesh(geometry, material, at.length), one = new THREE.Vector3(1, 1, 1), matrix = new THREE.Matrix4();
      many.frustumCulled = false;
      this.stage.scene.add(many);
      this.followers.push(() => { at.forEach((k, i) => many.setMatrixAt(i, matrix.compose(this.placeOf(k), turn, one))); many.instanceMatrix.needsUpdate = true; });
    }
  }

  recolor() { this.rest.children.forEach(lines => lines.material.color.set(this.stage.ink.rest)); }

  // ---- motion

  choose(mode) {
    const { D, n } = this;
    this.mode = mode;
    this.repaint = true;
    if (D.weights) return;
    const at = 3 * n * mode;
    for (let k = 0; k < n; k++) {
      let sum = 0;
      for (let c = 0; c < 3; c++) sum += D.shapes[at + 3 * k + c] ** 2 + (D.turned ? D.turned[at + 3 * k + c] ** 2 : 0);
      this.share[k] = Math.sqrt(sum);
    }
  }

  at(t) {
    const { D, n, moved } = this;
    this.time = t;
    if (D.weights) {
      const [i, j, w] = between(t, D), F = D.frames;
      moved.fill(0);
      for (let m = 0; m < D.shapes.shape[0]; m++) {
        const weight = (1 - w) * D.weights[m * F + i] + w * D.weights[m * F + j], from = 3 * n * m;
        for (let k = 0; k < 3 * n; k++) moved[k] += weight * D.shapes[from + k];
      }
      for (let k = 0; k < n; k++) this.share[k] = Math.hypot(moved[3 * k], moved[3 * k + 1], moved[3 * k + 2]) / (D.largest || 1);
      this.repaint = true;
    } else {
      const c = Math.cos(2 * Math.PI * t), s = Math.sin(2 * Math.PI * t), from = 3 * n * this.mode;
      for (let k = 0; k < 3 * n; k++) moved[k] = c * D.shapes[from + k] - (D.turned ? s * D.turned[from + k] : 0);
    }
    for (let k = 0; k < 3 * n; k++) this.now[k] = D.places[k] + this.scale * moved[k];
    this.followers.forEach(act => act());
    this.repaint = false;
  }

  positions() { return Object.fromEntries(this.D.names.map(({ name, at }) => [name, this.placeOf(at).toArray()])); }
}

export function structureControls(actor, D, stage, player, toggle) {
  const panel = byId("panel"), redraw = () => { actor.at(player.time); stage.ask(); };
  panel.hidden = false;
  const modes = D.modes.length ? modeList(actor, D, player, redraw) : null;
  const real = Boolean(D.weights), format = v => real ? `× ${short(D.unit * v, 3)}` : `× ${v.toFixed(2)}`;
  const scale = knob(real ? "deformation" : "amplitude", { min: 0, max: 3, value: 1, step: 0.01, format }, v => { actor.scale = D.unit * v; redraw(); });
  scale.id = "deformation";
  const bar = document.createElement("div"), words = document.createElement("p");
  bar.style.cssText = `height:8px;border-radius:4px;margin-top:11px;background:linear-gradient(90deg,${RAMP.map(c => `#${c.getHexString()}`).join()})`;
  words.textContent = real ? `displacement, 0 to ${metres(D.largest)}` : "displacement, from zero to largest";
  words.style.marginTop = "3px";
  panel.append(scale, bar, words);
  toggle("names", "Names of points", "n", D.names.length > 0 && D.names.length <= 16, on => { document.body.classList.toggle("nameless", !on); stage.ask(); }, player);
  toggle("rest", "The structure at rest", "t", true, on => { actor.rest.visible = on; stage.ask(); }, player);
  toggle("colours", "Colours by displacement", "c", true, on => { actor.colored = on; actor.repaint = true; bar.hidden = words.hidden = !on; redraw(); }, player);
  if (modes) modes.choose(0);
}
