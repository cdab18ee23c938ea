// A flexible body: tubes along its lines or a surface of its triangles, carried by its modes, and its nodes.
import * as THREE from "three";
import { colorAt, matter } from "./shapes.js";

const SIDES = 12, SHARP = Math.cos(25 * Math.PI / 180);
// scales of the deformation that the slider has: 1 is one of its stops
export const SCALES = [0, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000];

export class Flexible {
  // `wide` [m] is half the width of its lines, `flat` how much thinner they are along z, `lift` the height of its layer
  constructor(data, material, { wide, flat = 1, lift = 0 }) {
    const n = data.points.shape[0], m = data.modes.shape[0];
    Object.assign(this, { data, n, m, material, lift, color: material.color.clone(), tinted: false, eta: new Float64Array(m), moved: new Float32Array(3 * n), now: Float32Array.from(data.points), group: new THREE.Group(), parts: [], found: new Map() });
    const pairs = rows(data.lines, 2), faces = rows(data.triangles, 3);
    if (faces.length) this.surface(faces, pairs);
    else for (const chain of chains(pairs)) this.tube(chain, pairs.length > 200 ? 0.5 * wide : wide, flat);
    if (!faces.length && !pairs.length) this.dot(1.9 * wide);
    this.outline = Array.from({ length: Math.min(n, 25) }, (_, k) => Math.round(k * (n - 1) / Math.max(1, Math.min(n, 25) - 1)));
    this.draw(1);
  }

  get size() { return this.extent ??= new THREE.Box3().setFromArray(this.data.points).getSize(new THREE.Vector3()).length() || 1; }

  add(part) { part.frustumCulled = false; part.position.z = this.lift; this.group.add(part); return part; }

  geometry(count, index) {
    const one = new THREE.BufferGeometry();
    for (const name of ["position", "normal", "color"]) one.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * count), 3).setUsage(THREE.DynamicDrawUsage));
    one.attributes.color.array.fill(1);
    if (index) one.setIndex(index);
    const body = this.add(new THREE.Mesh(one, this.material));
    body.castShadow = body.receiveShadow = !this.material.transparent;
    return one;
  }

  // a tube through points: its rings stay square to the deformed line, its ends are round
  tube(chain, wide, flat) {
    const last = chain.length - 1, rings = [[0, 0, -1], [0, 0.71, -0.71], ...chain.map((_, k) => [k, 1, 0]), [last, 0.71, 0.71], [last, 0, 1]];
    const index = [], offsets = [], rest = this.tangents(chain, this.data.points);
    rings.forEach(([k, across, along], ring) => {
      const way = rest[k], u = new THREE.Vector3().crossVectors(way, Math.abs(way.z) < 0.9 ? new THREE.Vector3(0, 0, 1) : new THREE.Vector3(1, 0, 0)).normalize(), v = new THREE.Vector3().crossVectors(way, u);
      for (let s = 0; s < SIDES; s++) {
        const angle = 2 * Math.PI * s / SIDES, q = new THREE.Vector3().addScaledVector(u, across * Math.cos(angle)).addScaledVector(v, across * Math.sin(angle)).addScaledVector(way, along);
        offsets.push([k, q]);
        if (ring + 1 < rings.length) { const a = ring * SIDES + s, b = ring * SIDES + (s + 1) % SIDES; index.push(a, b, a + SIDES, b, b + SIDES, a + SIDES); }
      }
    });
    const geometry = this.geometry(offsets.length, index), q = new THREE.Vector3(), turn = chain.map(() => new THREE.Quaternion());
    const owner = offsets.map(([k]) => chain[k]);
    this.parts.push({ geometry, owner, act: () => {
      const place = geometry.attributes.position.array, normal = geometry.attributes.normal.array;
      this.tangents(chain, this.now).forEach((way, k) => turn[k].setFromUnitVectors(rest[k], way));
      offsets.forEach(([k, own], i) => {
        q.copy(own).applyQuaternion(turn[k]).toArray(normal, 3 * i);
        q.z *= flat;
        for (let c = 0; c < 3; c++) place[3 * i + c] = this.now[3 * chain[k] + c] + wide * q.getComponent(c);
      });
      geometry.attributes.normal.needsUpdate = true;
    } });
  }

  tangents(chain, places) {
    const at = k => new THREE.Vector3().fromArray(places, 3 * chain[k]), last = chain.length - 1, ring = chain[0] === chain[last] && last > 2;
    return chain.map((_, k) => {
      const before = k > 0 ? k - 1 : ring ? last - 1 : 0, after = k < last ? k + 1 : ring ? 1 : last, way = at(after).sub(at(before));
      return way.lengthSq() > 0 ? way.normalize() : new THREE.Vector3(1, 0, 0);
    });
  }

  // triangles with the edges where they meet at an angle, and the lines of the picture
  surface(faces, pairs) {
    const owner = faces.flat(), geometry = this.geometry(owner.length, null);
    this.parts.push({ geometry, owner, act: () => {
      const place = geometry.attributes.position.array;
      owner.forEach((k, i) => { for (let c = 0; c < 3; c++) place[3 * i + c] = this.now[3 * k + c]; });
      geometry.computeVertexNormals();
    } });
    const edges = [...this.edges(faces), ...pairs.flat()], lines = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(this.now, 3).setUsage(THREE.DynamicDrawUsage));
    lines.setIndex(edges);
    this.add(new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: "#10151c", transparent: true, opacity: 0.5 })));
    this.parts.push({ geometry: lines, owner: [], act: () => {} });
  }

  edges(faces) {
    const found = new Map(), at = k => new THREE.Vector3().fromArray(this.data.points, 3 * k);
    for (const [a, b, c] of faces) {
      const normal = at(b).sub(at(a)).cross(at(c).sub(at(a))).normalize();
      for (const [i, j] of [[a, b], [b, c], [c, a]]) { const key = `${Math.min(i, j)},${Math.max(i, j)}`; found.set(key, [...(found.get(key) || []), normal]); }
    }
    return [...found].filter(([, [one, two]]) => !two || one.dot(two) < SHARP).flatMap(([key]) => key.split(",").map(Number));
  }

  dot(radius) {
    const ball = new THREE.SphereGeometry(radius, 24, 16), rest = Float32Array.from(ball.attributes.position.array), count = rest.length / 3, geometry = this.geometry(count, Array.from(ball.index.array));
    geometry.attributes.normal.array.set(ball.attributes.normal.array);
    this.parts.push({ geometry, owner: Array(count).fill(0), act: () => { for (let i = 0; i < rest.length; i++) geometry.attributes.position.array[i] = (this.now[i % 3] || 0) + rest[i]; } });
  }

  // elastic coordinates between two pictures
  set(i, j, w) {
    const { values } = this.data, frames = values.shape[1];
    for (let k = 0; k < this.m; k++) this.eta[k] = (1 - w) * values[k * frames + i] + w * values[k * frames + j];
  }
  // elastic coordinates of a mode of the machine, added to those at rest
  swing(mode, c, s) {
    const { shapes, turned } = this.data;
    for (let k = 0; k < this.m; k++) this.eta[k] += c * shapes[mode * this.m + k] - (turned ? s * turned[mode * this.m + k] : 0);
  }

  // the motion of its joints [translation, rotation], which is never enlarged: joints stay closed in any scale
  held() {
    const { held } = this.data, v = [0, 0, 0, 0, 0, 0];
    for (let k = 0; k < this.m; k++) for (let c = 0; c < 6; c++) v[c] += this.eta[k] * held[6 * k + c];
    return [new THREE.Vector3(...v.slice(0, 3)), new THREE.Vector3(...v.slice(3))];
  }
  // what is drawn beside the true displacement, of a place at rest with this true displacement
  extra(rest, moved, scale) {
    const [t, turn] = this.held();
    return moved.clone().sub(t).sub(turn.cross(rest)).multiplyScalar(scale - 1);
  }

  // displacement of second order of a node, never enlarged: joints stay closed in any scale
  second(node) {
    const { m, eta } = this, v = new THREE.Vector3();
    node.second.forEach((C, c) => { let sum = 0; for (let i = 0; i < m; i++) if (eta[i] !== 0) for (let j = 0; j < m; j++) sum += eta[i] * C[m * i + j] * eta[j]; v.setComponent(c, sum); });
    return v;
  }

  // a point of the picture, in axes of the body
  pointAt(k, scale) {
    const rest = new THREE.Vector3().fromArray(this.data.points, 3 * k), moved = new THREE.Vector3();
    for (let mode = 0; mode < this.m; mode++) moved.addScaledVector(new THREE.Vector3().fromArray(this.data.modes, 3 * (mode * this.n + k)), this.eta[mode]);
    const { bent, weights, nodes } = this.data, at = rest.clone().add(moved).add(this.extra(rest, moved, scale));
    bent.forEach((node, j) => at.addScaledVector(this.second(nodes[node]), weights[k * bent.length + j]));
    return at;
  }
  // the point nearest to the middle of the body
  middle(scale) {
    if (this.central === undefined) {
      const at = k => new THREE.Vector3().fromArray(this.data.points, 3 * k), centre = new THREE.Box3().setFromArray(this.data.points).getCenter(new THREE.Vector3());
      this.central = 0;
      for (let k = 1; k < this.n; k++) if (at(k).distanceToSquared(centre) < at(this.central).distanceToSquared(centre)) this.central = k;
    }
    return this.pointAt(this.central, scale);
  }

  // the node at a place; none elsewhere
  node(point) {
    const key = point.join();
    if (!this.found.has(key)) this.found.set(key, this.data.nodes.find(node => Math.hypot(...[0, 1, 2].map(c => node.point[c] - (point[c] || 0))) <= 1e-6 * this.size) || null);
    return this.found.get(key);
  }
  sum(vectors) { const v = new THREE.Vector3(); vectors.forEach(([x, y, z], k) => { v.x += x * this.eta[k]; v.y += y * this.eta[k]; v.z += z * this.eta[k]; }); return v; }
  // displacement of a node as it is drawn
  shift(point, scale) { const node = this.node(point), moved = node && this.sum(node.translation); return node ? moved.clone().add(this.extra(new THREE.Vector3(...point), moved, scale)).add(this.second(node)) : new THREE.Vector3(); }
  // turn of a node as it is drawn: the slope of a line is enlarged, not its angle
  turn(point, scale) {
    const node = this.node(point);
    if (!node) return new THREE.Quaternion();
    const v = this.sum(node.rotation), way = v.clone().sub(this.held()[1]).multiplyScalar(scale - 1).add(v), size = way.length();
    return size > 0 ? new THREE.Quaternion().setFromAxisAngle(way.divideScalar(size), Math.atan(size)) : new THREE.Quaternion();
  }

  // put all corners where the elastic coordinates have them; colours by displacement where `largest` [m] is given
  draw(scale, largest = 0) {
    const { data: { points, modes, bent, weights, nodes }, n, m, moved, now, eta } = this, seconds = bent.map(node => this.second(nodes[node])), tint = new THREE.Color(), [t, r] = this.held();
    moved.fill(0);
    for (let mode = 0; mode < m; mode++) { const from = 3 * n * mode, factor = eta[mode]; if (factor !== 0) for (let k = 0; k < 3 * n; k++) moved[k] += factor * modes[from + k]; }
    for (let k = 0; k < n; k++) {
      const i = 3 * k, x = points[i], y = points[i + 1], z = points[i + 2], held = [t.x + r.y * z - r.z * y, t.y + r.z * x - r.x * z, t.z + r.x * y - r.y * x];
      for (let c = 0; c < 3; c++) { moved[i + c] -= held[c]; now[i + c] = points[i + c] + held[c] + scale * moved[i + c]; }
      seconds.forEach((v, j) => { const w = weights[k * bent.length + j]; now[i] += w * v.x; now[i + 1] += w * v.y; now[i + 2] += w * v.z; });
    }
    const share = k => Math.hypot(moved[3 * k], moved[3 * k + 1], moved[3 * k + 2]) / largest;
    for (const { geometry, owner, act } of this.parts) {
      act();
      geometry.attributes.position.needsUpdate = true;
      const { color } = geometry.attributes;
      if (!color || !(largest || this.tinted)) continue;
      owner.forEach((k, i) => (largest ? colorAt(share(k), tint) : tint.set(1, 1, 1)).toArray(color.array, 3 * i));
      color.needsUpdate = true;
    }
    if (Boolean(largest) === this.tinted) return;
    this.tinted = Boolean(largest);
    if (this.tinted) this.material.color.set(1, 1, 1); else this.material.color.copy(this.color); // it is multiplied by those of the corners
  }
}

// a material whose colours are those of the corners, times its own
export function flexibleMatter(color) { return Object.assign(matter(color), { vertexColors: true, side: THREE.DoubleSide }); }

const rows = (list, count) => Array.from({ length: list.shape[0] }, (_, i) => Array.from(list.subarray(count * i, count * (i + 1))));

// lines that follow each other, as rows of points
function chains(lines) {
  const at = new Map(), used = new Set(), found = [];
  lines.forEach((line, k) => { for (const p of line) at.set(p, [...(at.get(p) || []), k]); });
  const walk = (p, k) => {
    const chain = [p];
    while (k !== undefined) {
      used.add(k);
      p = lines[k][0] === p ? lines[k][1] : lines[k][0];
      chain.push(p);
      k = at.get(p).length === 2 ? at.get(p).find(one => !used.has(one)) : undefined;
    }
    return chain;
  };
  for (const [p, own] of at) if (own.length !== 2) for (const k of own) if (!used.has(k)) found.push(walk(p, k));
  lines.forEach(([p], k) => { if (!used.has(k)) found.push(walk(p, k)); }); // rings
  return found;
}
