// Geometric shapes for drawing machines.
import * as THREE from "three";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import { distance } from "./data.js";

export const PALETTE = ["#3f86d6", "#ee8a3a", "#34a67a", "#c968a8", "#d9ab2c", "#8472cf", "#3fabc2", "#8f9a5c"];
const UP = new THREE.Vector3(0, 1, 0);
// from zero to largest displacement: readable on light and dark, without red against green
export const RAMP = ["#3b4cc0", "#3f8fd8", "#35b7a4", "#8bcf5c", "#f2c33c", "#ee7a2b", "#c9252f"].map(c => new THREE.Color(c));

export function colorAt(share, target) {
  const x = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), k = Math.min(Math.floor(x), RAMP.length - 2);
  return target.lerpColors(RAMP[k], RAMP[k + 1], x - k);
}

export const matter = color => new THREE.MeshStandardMaterial({ color, roughness: 0.55, metalness: 0.08 });

export function mesh(geometry, material, edges = 0) {
  const one = new THREE.Mesh(geometry, material);
  one.castShadow = one.receiveShadow = !material.transparent;
  if (edges) one.add(outline(geometry, material.color, edges));
  return one;
}

export function outline(geometry, color, angle) {
  const dark = new THREE.Color(color).multiplyScalar(0.42);
  return new THREE.LineSegments(new THREE.EdgesGeometry(geometry, angle), new THREE.LineBasicMaterial({ color: dark, transparent: true, opacity: 0.75 }));
}

// a cylinder from one point to another
export function bar(a, b, radius, material, segments = 20) {
  const from = new THREE.Vector3(...a), way = new THREE.Vector3(...b).sub(from), length = way.length();
  const one = mesh(new THREE.CylinderGeometry(radius, radius, length || 1e-9, segments), material);
  one.position.copy(from).addScaledVector(way, 0.5);
  if (length > 0) one.quaternion.setFromUnitVectors(UP, way.normalize());
  return one;
}

export function ball(at, radius, material) {
  const one = mesh(new THREE.SphereGeometry(radius, 24, 16), material);
  one.position.set(...at);
  return one;
}

// planar: a flat bar with round ends
export function plate(a, b, radius, z, thick, material) {
  const shape = new THREE.Shape(), length = Math.hypot(b[0] - a[0], b[1] - a[1]), turn = Math.atan2(b[1] - a[1], b[0] - a[0]);
  shape.absarc(0, 0, radius, Math.PI / 2, -Math.PI / 2, false);
  shape.absarc(length, 0, radius, -Math.PI / 2, Math.PI / 2, false);
  shape.closePath();
  const one = mesh(new THREE.ExtrudeGeometry(shape, { depth: thick, bevelEnabled: false, curveSegments: 20 }), material, 40);
  one.position.set(a[0], a[1], z);
  one.rotation.z = turn;
  return one;
}

// planar: the flat shape of a slot
export function stadium(a, b, radius, material) {
  const shape = new THREE.Shape(), length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  shape.absarc(0, 0, radius, Math.PI / 2, -Math.PI / 2, false);
  shape.absarc(length, 0, radius, -Math.PI / 2, Math.PI / 2, false);
  shape.closePath();
  const one = new THREE.Mesh(new THREE.ShapeGeometry(shape, 20), material), edge = new THREE.LineLoop(new THREE.BufferGeometry().setFromPoints(shape.getPoints(20)), new THREE.LineBasicMaterial({ color: "#2b333d" }));
  one.add(edge);
  one.position.set(a[0], a[1], 0);
  one.rotation.z = Math.atan2(b[1] - a[1], b[0] - a[0]);
  return one;
}

// a spiral spring: two and a half turns about z
export function spiral(radius, thick, material) {
  const points = Array.from({ length: 101 }, (_, k) => { const s = k / 100, a = 5 * Math.PI * s, r = radius * (0.35 + 0.65 * s); return new THREE.Vector3(r * Math.cos(a), r * Math.sin(a), 0); });
  return mesh(new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), 160, thick, 8, false), material);
}

export function hullOf(points) {
  const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const half = list => {
    const out = [];
    for (const q of list) { while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], q) <= 0) out.pop(); out.push(q); }
    return out.slice(0, -1);
  };
  return p.length < 3 ? [] : [...half(p), ...half(p.reverse())];
}

// planar: a plate around several points with round corners; null if they lie on a line
export function hullPlate(points, radius, z, thick, material) {
  const hull = hullOf(points), n = hull.length;
  const area = hull.reduce((sum, p, i) => { const q = hull[(i + 1) % n]; return sum + p[0] * q[1] - q[0] * p[1]; }, 0) / 2;
  const size = Math.max(0, ...points.map(p => distance(p, points[0])));
  if (n < 3 || area < 0.01 * size * size) return null;
  const shape = new THREE.Shape();
  hull.forEach((p, i) => { // counter-clockwise: the outer side is on the right
    const before = hull[(i + n - 1) % n], after = hull[(i + 1) % n];
    const a0 = Math.atan2(p[1] - before[1], p[0] - before[0]) - Math.PI / 2, a1 = Math.atan2(after[1] - p[1], after[0] - p[0]) - Math.PI / 2;
    shape.absarc(p[0], p[1], radius, a0, a1 < a0 ? a1 + 2 * Math.PI : a1, false);
  });
  shape.closePath();
  const one = mesh(new THREE.ExtrudeGeometry(shape, { depth: thick, bevelEnabled: false, curveSegments: 10 }), material, 40);
  one.position.z = z;
  return one;
}

// in space: the convex body of several points, flat or not; null if they lie on a line
export function hullBody(points, material) {
  const p = points.map(q => new THREE.Vector3(...q)), size = Math.max(...p.map(q => q.distanceTo(p[0])));
  let normal = null;
  for (let i = 1; i < p.length && !normal; i++) for (let j = i + 1; j < p.length; j++) {
    const n = new THREE.Vector3().crossVectors(p[i].clone().sub(p[0]), p[j].clone().sub(p[0]));
    if (n.length() > 1e-3 * size * size) { normal = n.normalize(); break; }
  }
  if (!normal) return null;
  const high = p.map(q => q.clone().sub(p[0]).dot(normal)), thick = Math.max(...high) - Math.min(...high);
  const corners = thick > 0.03 * size ? p : p.flatMap(q => [q.clone().addScaledVector(normal, 0.015 * size), q.clone().addScaledVector(normal, -0.015 * size)]);
  return mesh(new ConvexGeometry(corners), material, 8);
}

export function coil(length, radius, material) {
  const turns = 9, lead = 0.14, n = 24 * turns, points = [];
  points.push(new THREE.Vector3(0, 0, 0), new THREE.Vector3(0, 0, 0.9 * lead));
  for (let i = 0; i <= n; i++) {
    const s = i / n, a = 2 * Math.PI * turns * s, r = radius * Math.min(1, 12 * s, 12 * (1 - s));
    points.push(new THREE.Vector3(r * Math.cos(a), r * Math.sin(a), lead + (1 - 2 * lead) * s));
  }
  points.push(new THREE.Vector3(0, 0, 1 - 0.9 * lead), new THREE.Vector3(0, 0, 1));
  points.forEach(p => { p.z *= length; });
  return mesh(new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), 12 * n / 8, 0.15 * radius, 8, false), material);
}

export class Arrow extends THREE.Group {
  constructor(color, radius, halo) {
    super();
    const material = new THREE.MeshStandardMaterial({ color, roughness: 0.5, emissive: color, emissiveIntensity: 0.3, transparent: true, depthTest: false });
    this.radius = radius;
    this.rod = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, 1, 14).translate(0, 0.5, 0), material);
    this.tip = new THREE.Mesh(new THREE.ConeGeometry(3 * radius, 8 * radius, 20).translate(0, -4 * radius, 0), material);
    this.rod.renderOrder = this.tip.renderOrder = 5; // drawn in front of bodies
    const edge = [new THREE.CylinderGeometry(1.8 * radius, 1.8 * radius, 1, 14).translate(0, 0.5, 0), new THREE.ConeGeometry(4.2 * radius, 10.4 * radius, 20).translate(0, -4 * radius, 0)].map(one => new THREE.Mesh(one, halo));
    edge.forEach((one, k) => { one.renderOrder = 4; [this.rod, this.tip][k].add(one); }); // distinguishes it from a body of the same colour
    this.add(this.rod, this.tip);
  }
  set(from, vector) {
    const length = vector.length();
    this.visible = length > 3 * this.radius;
    if (!this.visible) return;
    const head = Math.min(1, length / (12 * this.radius));
    this.position.copy(from);
    this.quaternion.setFromUnitVectors(UP, vector.clone().divideScalar(length));
    this.rod.scale.set(1, Math.max(length - 7 * head * this.radius, 1e-9), 1);
    this.tip.scale.setScalar(head);
    this.tip.position.y = length;
  }
}

// a torque: a curved arrow about its direction; its length grows with the torque
export class Bend extends THREE.Group {
  constructor(color, radius, thick) {
    super();
    Object.assign(this, { radius, thick, angle: 0 });
    this.material = new THREE.MeshStandardMaterial({ color, roughness: 0.5, emissive: color, emissiveIntensity: 0.3, transparent: true, depthTest: false });
    this.arc = new THREE.Mesh(new THREE.BufferGeometry(), this.material);
    this.tip = new THREE.Mesh(new THREE.ConeGeometry(3 * thick, 7 * thick, 20), this.material);
    this.arc.renderOrder = this.tip.renderOrder = 5;
    this.add(this.arc, this.tip);
  }
  set(from, vector) { // |vector| is the angle of the arc [rad]
    const size = vector.length(), angle = Math.min(size, 1.75 * Math.PI);
    this.visible = angle > 0.12;
    if (!this.visible) return;
    this.position.copy(from);
    this.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vector.clone().divideScalar(size));
    if (Math.abs(angle - this.angle) > 0.01) {
      this.angle = angle;
      this.arc.geometry.dispose();
      this.arc.geometry = new THREE.TorusGeometry(this.radius, this.thick, 8, Math.max(6, Math.ceil(angle * 12)), angle);
    }
    this.tip.position.set(this.radius * Math.cos(angle), this.radius * Math.sin(angle), 0);
    this.tip.rotation.z = angle + 0.06;
  }
}

// a damper: a rod in a cylinder; both keep their lengths when the ends move
export function strut(radius, body, steel) {
  const group = new THREE.Group(), half = new THREE.CylinderGeometry(0.5 * radius, 0.5 * radius, 1, 24).rotateX(Math.PI / 2).translate(0, 0, 0.5), thin = new THREE.CylinderGeometry(0.17 * radius, 0.17 * radius, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5);
  const cylinder = mesh(half, body, 30), rod = mesh(thin, steel);
  group.add(cylinder, rod);
  let own = null;
  group.reach = length => {
    if (own === null) own = 0.52 * length; // the first length is that at rest
    cylinder.scale.z = Math.max(Math.min(own, 0.95 * length), 1e-6);
    rod.scale.z = Math.max(length, 1e-6);
  };
  return group;
}
