// Paths of points: pale over the whole time, dark until the current time.
import * as THREE from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { three } from "./data.js";
import { PALETTE } from "./shapes.js";

export class Traces {
  constructor(machine) {
    Object.assign(this, { machine, lines: [], group: new THREE.Group() });
    machine.stage.scene.add(this.group);
    this.given = machine.D.trails.length > 0;
    machine.D.trails.forEach((trail, i) => this.line({ name: trail.name, data: trail.points, at: trail.at, color: PALETTE[(i + 3) % PALETTE.length] }));
  }

  // if none are named: the paths of all joints that move, computed at first use
  show(on) {
    if (on && !this.lines.length) this.compute();
    this.group.visible = on;
  }

  compute() {
    const { machine } = this, { D } = machine, joints = D.joints.filter(j => j.body !== null && !j.radius && j.other && j.other.body !== null).slice(0, 12);
    const wanted = joints.length ? joints.map(j => ({ name: j.name, body: j.body, point: three(j.point) })) : D.bodies.slice(0, 12).map(b => ({ name: b.name, body: b.name, point: null }));
    this.paths(wanted.map(({ body, point }) => [body, point])).forEach((data, i) => this.line({ name: wanted[i].name, data, at: [wanted[i].body, wanted[i].point], color: PALETTE[(i + 3) % PALETTE.length] }));
    machine.at(machine.time);
  }

  // places of bodies at all times, as the deformation is drawn now
  paths(places) {
    const { machine } = this, { D } = machine, found = places.map(() => new Float32Array(3 * D.frames));
    for (let k = 0; k < D.frames; k++) {
      machine.place(D.start + k * D.step);
      places.forEach(([body, point], i) => machine.world(body, point).toArray(found[i], 3 * k));
    }
    machine.place(machine.time ?? D.start);
    return found;
  }

  // the deformation is drawn in another scale: paths of nodes follow
  refresh() {
    const moved = this.lines.filter(({ at }) => at && at[1] && this.machine.flexible.has(at[0]));
    this.paths(moved.map(({ at }) => at)).forEach((data, i) => moved[i].both.forEach(one => one.geometry.setPositions(data)));
  }

  line({ data, color, name, at = null }) {
    if (data.length < 6) return;
    const { machine } = this, make = (opacity, width) => {
      const geometry = new LineGeometry();
      geometry.setPositions(Array.from(data));
      const one = new Line2(geometry, new LineMaterial({ color, linewidth: width, transparent: true, opacity, depthWrite: false }));
      one.frustumCulled = false;
      if (machine.D.planar) one.position.z = -(machine.top / 2 + 2.2) * machine.thick;
      this.group.add(one);
      return one;
    };
    const both = [make(0.28, 1.6), make(1, 2.4)];
    this.lines.push({ line: both[1], both, name, at });
  }

  clear() { this.group.clear(); this.lines = []; }
  at(frame) { for (const { line } of this.lines) line.geometry.instanceCount = Math.max(0, Math.min(this.machine.D.frames - 1, Math.round(frame))); }
}
