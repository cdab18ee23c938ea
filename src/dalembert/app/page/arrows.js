// Arrows of forces, and curved arrows of torques.
import * as THREE from "three";
import { between, short } from "./data.js";
import { Arrow, Bend } from "./shapes.js";

export const COLORS = { reaction: "#c21f3a", applied: "#0b7a5c" };

export class Efforts {
  constructor(machine) {
    const { D, stage, size } = machine;
    Object.assign(this, { machine, scale: 1, group: new THREE.Group() });
    this.group.visible = false;
    stage.scene.add(this.group);
    this.largest = [0, 0]; this.per = [0, 0];
    for (const kind of [0, 1]) { // forces, torques
      let sizes = [];
      for (const { values, turns } of D.forces) if (Boolean(turns) === Boolean(kind)) for (let k = 0; k < values.length; k += 3) sizes.push(Math.hypot(values[k], values[k + 1], values[k + 2]));
      sizes = Float64Array.from(sizes).sort();
      if (!sizes.length) continue;
      this.largest[kind] = sizes[sizes.length - 1];
      const usual = sizes[Math.floor(0.97 * (sizes.length - 1))] || this.largest[kind]; // the 97 % quantile: a short peak must not make all other arrows small
      this.per[kind] = usual > 0 ? (kind ? 1.7 * Math.PI : 0.3 * D.own) / usual : 0;
    }
    this.arrows = D.forces.map(force => {
      const color = COLORS[force.kind] || COLORS.applied, arrow = force.turns ? new Bend(color, Math.max(3.4 * size, 0.05 * D.own), 0.26 * size) : new Arrow(color, 0.28 * size, machine.halo);
      this.group.add(arrow);
      const label = stage.label("", () => arrow.end || arrow.position, "effort");
      label.element.style.color = color;
      return { force, arrow, label };
    });
  }

  at(t) {
    if (!this.group.visible) { this.arrows.forEach(({ label }) => { label.element.textContent = ""; }); return; }
    const { D, top, thick } = this.machine, [i, j, w] = between(t, D);
    for (const { force, arrow, label } of this.arrows) {
      const v = k => (1 - w) * force.values[3 * i + k] + w * force.values[3 * j + k], vector = new THREE.Vector3(v(0), v(1), v(2));
      const from = this.machine.world(force.body, force.point);
      if (D.planar) from.z = (top / 2 + 1) * 1.15 * thick;
      vector.multiplyScalar(this.per[force.turns ? 1 : 0] * this.scale);
      const size = vector.length() / (this.per[force.turns ? 1 : 0] * this.scale);
      if (!force.turns) vector.clampLength(0, 1.2 * D.own * this.scale);
      arrow.set(from, vector);
      arrow.end = force.turns ? from : from.clone().add(vector);
      label.element.textContent = arrow.visible ? `${short(size, 3)} ${force.turns ? "N m" : "N"}` : "";
    }
  }
}
