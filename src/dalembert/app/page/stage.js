// The three-dimensional view: renderer, light, camera and its controls, grid, axes, labels.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { metres, nice } from "./data.js";
import { triad } from "./triad.js";

const corners = (low, high) => [0, 1, 2, 3, 4, 5, 6, 7].flatMap(k => [k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]]);

// whether a bar on the screen (ends, half width) touches a rectangle
function meets({ ends: [[x0, y0], [x1, y1]], wide }, a, b, w, h) {
  const left = a - wide, right = a + w + wide, top = b - wide, bottom = b + h + wide, dx = x1 - x0, dy = y1 - y0;
  let from = 0, to = 1;
  for (const [p, q] of [[-dx, x0 - left], [dx, right - x0], [-dy, y0 - top], [dy, bottom - y0]]) {
    if (p === 0) { if (q < 0) return false; continue; }
    const t = q / p;
    if (p < 0) from = Math.max(from, t); else to = Math.min(to, t);
  }
  return from <= to;
}

export class Stage {
  constructor(holder, { planar, low, high, radius, own = radius, up = 1, floor = null, gravity = null, shadows = false }) {
    Object.assign(this, { holder, planar, low, high, radius, own, upward: planar ? 1 : up, ground: floor, obstacles: () => [] });
    this.room = { low, high };
    this.centre = new THREE.Vector3(...[0, 1, 2].map(k => (low[k] + high[k]) / 2));
    this.scene = new THREE.Scene();
    this.renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: false });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.autoClear = false;
    this.renderer.domElement.id = "canvas";
    this.renderer.domElement.tabIndex = 0;
    this.renderer.domElement.setAttribute("role", "img");
    holder.prepend(this.renderer.domElement);
    this.labels = [];
    document.body.classList.toggle("spatial", !planar); // bodies hide objects behind them: labels need an outline
    this.listeners = [];
    this.touched = false; // true when the user has moved the camera: a new window size then keeps it
    this.light(shadows && !planar);
    this.camera = planar ? new THREE.OrthographicCamera(-1, 1, 1, -1, 0.1, 10) : new THREE.PerspectiveCamera(30, 1, 0.1, 10);
    const lamp = new THREE.DirectionalLight(0xffffff, 1.2); // at the camera: no visible side is black
    this.camera.add(lamp, lamp.target);
    lamp.target.position.set(0, 0, -1);
    this.scene.add(this.camera);
    this.camera.up.set(...(planar ? [0, 1, 0] : [0, 0, this.upward]));
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.screenSpacePanning = true;
    this.controls.keys = {};
    if (planar) this.controls.mouseButtons = { LEFT: THREE.MOUSE.PAN, MIDDLE: THREE.MOUSE.DOLLY, RIGHT: THREE.MOUSE.ROTATE };
    if (planar) this.controls.touches = { ONE: THREE.TOUCH.PAN, TWO: THREE.TOUCH.DOLLY_ROTATE };
    this.controls.addEventListener("start", () => { this.touched = true; });
    this.controls.addEventListener("change", () => { this.clip(); this.ask(); });
    this.grid = new THREE.Group();
    this.scene.add(this.grid);
    this.triad = triad(gravity);
    this.theme();
    this.look(planar ? "front" : "iso");
    new ResizeObserver(() => this.resize()).observe(holder);
    this.resize();
  }

  light(shadows) {
    const R = this.radius;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0xa9b4c4, 1.7));
    const sun = new THREE.DirectionalLight(0xffffff, 1.9), fill = new THREE.DirectionalLight(0xe8f0ff, 0.5);
    const way = this.planar ? [-0.5, 0.9, 1.6] : [0.9, -1.2, 2.0 * this.upward];
    sun.position.copy(this.centre).add(new THREE.Vector3(...way).normalize().multiplyScalar(6 * R));
    sun.target.position.copy(this.centre);
    fill.position.copy(this.centre).add(new THREE.Vector3(-way[0], -way[1], 0.4 * way[2]).multiplyScalar(4 * R));
    fill.target.position.copy(this.centre);
    this.scene.add(sun, sun.target, fill, fill.target);
    this.sun = sun;
    if (!shadows) return;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    sun.shadow.radius = 4;
    const wide = 1.6 * Math.min(R, 2.5 * this.own);
    Object.assign(sun.shadow.camera, { left: -wide, right: wide, top: wide, bottom: -wide, near: 2 * R, far: 12 * R });
    sun.shadow.normalBias = 0.006 * wide;
    this.shade = new THREE.ShadowMaterial({ opacity: 0.16 });
    const floor = new THREE.Mesh(new THREE.CircleGeometry(4 * R, 64), this.shade);
    floor.position.set(this.centre.x, this.centre.y, this.floor() - 2e-3 * R * this.upward);
    if (this.upward < 0) floor.rotation.x = Math.PI;
    floor.receiveShadow = true;
    this.scene.add(floor);
  }

  floor() { const z = this.ground !== null ? this.ground : this.upward > 0 ? this.low[2] : this.high[2], above = z * this.upward; return above > 0 && above < 0.5 * this.radius ? 0 : z; }

  // ---- camera

  look(name) {
    const ways = { iso: this.planar ? [0.55, 0.5, 1.0] : [1.0, -1.5 * this.upward, 0.85 * this.upward], front: [0, 0, 1], side: [1, 0, 0], top: [0, -1e-4, this.upward] };
    if (!this.planar) ways.front = [0, -1, 0];
    this.way = new THREE.Vector3(...ways[name]).normalize();
    this.fit();
  }

  // parallel (a distant camera with a lens of two degrees) or in perspective
  lens(parallel) {
    const before = Math.tan(this.camera.fov * Math.PI / 360);
    this.camera.fov = parallel ? 2 : 30;
    const { target } = this.controls;
    this.camera.position.sub(target).multiplyScalar(before / Math.tan(this.camera.fov * Math.PI / 360)).add(target);
    this.clip();
    this.ask();
  }

  // set the visible region: a box, or the points in it [x, y, z, ...]
  frame(low, high, cloud = null) {
    this.room = { low, high, cloud };
    this.centre.set(...[0, 1, 2].map(k => (low[k] + high[k]) / 2));
    this.fit();
  }

  // move the view with the machine
  carry(step) {
    for (const one of [this.camera.position, this.controls.target, this.centre, this.sun.position, this.sun.target.position]) one.add(step);
    this.camera.updateMatrixWorld();
  }

  fit() {
    const R = this.radius, way = this.way, { low, high } = this.room, width = this.width || 1280, height = this.height || 800;
    this.touched = false;
    this.controls.target.copy(this.centre);
    const right = new THREE.Vector3().crossVectors(this.camera.up, way).normalize(), up = new THREE.Vector3().crossVectors(way, right);
    // room for the bars above, names below, and the panel
    const panel = document.getElementById("panel"), small = width <= 640, tools = document.getElementById("tools"), edge = { top: Math.max(58, tools.offsetTop + tools.offsetHeight + 14), bottom: this.planar ? 34 : 20, left: small ? 16 : 34, right: small ? 16 : 34 };
    if (!panel.hidden && small) edge.bottom += panel.offsetHeight; else if (!panel.hidden) edge.right = 280;
    const free = [Math.max(width - edge.left - edge.right, 0.3 * width), Math.max(height - edge.top - edge.bottom, 0.3 * height)];
    const lens = this.planar ? 0 : Math.tan(this.camera.fov * Math.PI / 360), slope = free.map(part => lens * part / height), aspect = width / height;
    // a point at x across and z towards the camera is visible if |x - c| <= (far - z) slope: the largest ±x + z slope give centre and distance
    const most = [-Infinity, -Infinity, -Infinity, -Infinity, -Infinity], pad = this.pad || 0, p = new THREE.Vector3(), cloud = this.room.cloud || corners(low, high);
    for (let k = 0; k < cloud.length; k += 3) {
      p.fromArray(cloud, k).sub(this.centre);
      const x = p.dot(right), y = p.dot(up), z = p.dot(way);
      [x + z * slope[0], -x + z * slope[0], y + z * slope[1], -y + z * slope[1], z].forEach((v, i) => { if (v > most[i]) most[i] = v; });
    }
    const wide = (most[0] + most[1]) / 2 + pad, tall = (most[2] + most[3]) / 2 + pad, half = Math.max(tall * height / free[1], wide * height / free[0], 1e-3 * R);
    const far = this.planar ? 4 * R : Math.max(wide / slope[0], tall / slope[1], most[4] + 0.25 * R);
    this.controls.target.addScaledVector(right, (most[0] - most[1]) / 2).addScaledVector(up, (most[2] - most[3]) / 2);
    this.camera.position.copy(this.controls.target).addScaledVector(way, far);
    if (this.planar) Object.assign(this.camera, { left: -half * aspect, right: half * aspect, top: half, bottom: -half, zoom: 1 });
    this.camera.setViewOffset(width, height, (edge.right - edge.left) / 2, (edge.bottom - edge.top) / 2, width, height);
    this.half = half;
    this.controls.update();
    this.clip();
    this.ask();
  }

  clip() {
    const far = this.camera.position.distanceTo(this.controls.target), R = this.radius;
    const reach = this.planar ? 40 * R : Math.max(10 * R, 2 * far);
    this.camera.near = this.planar ? -reach : Math.max(1e-3 * R, far - 6 * R, 0.01 * far);
    this.camera.far = far + reach;
    this.camera.updateProjectionMatrix();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height) return;
    this.width = width; this.height = height; this.aspect = width / height;
    this.renderer.setSize(width, height);
    if (this.planar) Object.assign(this.camera, { left: -this.half * this.aspect, right: this.half * this.aspect });
    else this.camera.aspect = this.aspect;
    if (!this.touched) this.fit(); else { this.camera.clearViewOffset(); this.clip(); }
    this.listeners.forEach(act => act());
    this.draw();
  }

  pixel() { // size of a pixel in the middle of the picture [m]
    if (this.planar) return 2 * this.half / this.camera.zoom / this.height;
    return 2 * Math.tan(this.camera.fov * Math.PI / 360) * this.camera.position.distanceTo(this.controls.target) / this.height;
  }

  // ---- colours and grid

  theme() {
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(["paper", "bar", "line", "grid", "grid2", "ink", "soft", "steel", "pin", "accent", "rest"].map(key => [key, style.getPropertyValue("--" + key).trim()]));
    this.dark = style.colorScheme.includes("dark");
    this.scene.background = new THREE.Color(this.ink.paper);
    if (this.shade) this.shade.opacity = this.dark ? 0.4 : 0.16;
    this.step = null;
    this.listeners.forEach(act => act());
  }

  drawGrid() {
    const R = this.radius, step = this.planar ? nice(90 * this.pixel()) : nice(Math.max(this.own / 4, R / 14));
    const t = this.controls.target, room = this.planar ? Math.max(this.width, this.height) * this.pixel() : 2.2 * R;
    const where = this.planar ? [Math.round(t.x / step), Math.round(t.y / step)] : [Math.round(this.centre.x / step), Math.round(this.centre.y / step)];
    const n = Math.ceil(room / step / (this.planar ? 1.5 : 1)) + 2, key = [step, where, n].join();
    if (this.step === key) return;
    this.step = key;
    this.gridStep = step;
    this.grid.children.slice().forEach(child => { child.geometry.dispose(); child.material.dispose(); this.grid.remove(child); });
    const places = [], colors = [], paper = new THREE.Color(this.ink.paper), color = new THREE.Color();
    const z = this.planar ? this.low[2] - 0.06 * R : this.floor() - 1e-3 * R * this.upward, parts = this.planar ? 1 : 2 * n;
    const put = (x, y, main) => {
      places.push(x, y, z);
      const fade = this.planar ? 0 : Math.min(1, (Math.hypot(x - where[0] * step, y - where[1] * step) / (n * step)) ** 2);
      color.set(main ? this.ink.grid2 : this.ink.grid).lerp(paper, fade);
      colors.push(color.r, color.g, color.b);
    };
    for (let i = -n; i <= n; i++) for (let k = 0; k < parts; k++) {
      const a = -n + 2 * n * k / parts, b = -n + 2 * n * (k + 1) / parts;
      for (const [u, v] of [[a, b]]) {
        put((where[0] + i) * step, (where[1] + u) * step, where[0] + i === 0); put((where[0] + i) * step, (where[1] + v) * step, where[0] + i === 0);
        put((where[0] + u) * step, (where[1] + i) * step, where[1] + i === 0); put((where[0] + v) * step, (where[1] + i) * step, where[1] + i === 0);
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
    geometry.setAttribute("color", new THREE.Float32BufferAttribute(colors, 3));
    const lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, depthWrite: false }));
    lines.renderOrder = -10;
    this.grid.add(lines);
    this.scaleBar(step);
  }

  // planar: a scale bar as long as one square of the grid
  scaleBar(step) {
    const holder = document.getElementById("scale"), bar = document.createElement("i");
    bar.style.width = `${(step / this.pixel()).toFixed(1)}px`;
    holder.replaceChildren(...(this.planar ? [bar] : []), this.planar ? metres(step) : `grid ${metres(step)}`);
  }

  // ---- labels beside points

  label(text, place, kind = "") {
    const element = document.createElement("span");
    element.textContent = text;
    element.className = `label ${kind}`;
    document.getElementById("labels").append(element);
    const one = { element, place };
    this.labels.push(one);
    return one;
  }

  drawLabels() {
    const shown = !document.body.classList.contains("nameless"), p = new THREE.Vector3(), taken = [], around = shown ? this.obstacles() : [];
    for (const one of shown ? this.labels : []) {
      const { element, place } = one;
      p.copy(place()).project(this.camera);
      const inside = Math.abs(p.x) < 1.02 && Math.abs(p.y) < 1.02 && Math.abs(p.z) <= 1;
      if (inside && (!one.wide || one.text !== element.textContent)) { one.wide = element.offsetWidth || 40; one.text = element.textContent; }
      const spot = inside && element.textContent ? this.spot(one, (p.x + 1) / 2 * this.width, (1 - p.y) / 2 * this.height, taken, around) : null;
      one.hidden = !spot;
      element.style.visibility = spot ? "visible" : "hidden";
      if (!spot) continue;
      one.shownAt = spot;
      taken.push([...spot, one.wide]);
      element.style.transform = `translate(${spot[0].toFixed(1)}px,${spot[1].toFixed(1)}px)`;
    }
  }

  // place of a label: beside its point, inside the screen, free of other labels and if possible of bars; the previous place if equally good
  spot(one, x, y, taken, around) {
    const w = one.wide, h = 16, [hx, hy] = one.half ? one.half() : [0, 0], g = 9, gx = g + hx, gy = g + hy;
    const beside = [[gx, -8], [gx, -g - 10], [gx, g - 6], [-w - gx, -8], [-w - gx, -g - 10], [-w - gx, g - 6]], above = [[-w / 2, -gy - 13], [-w / 2, gy - 3]];
    const places = [...(hx ? [...above, ...beside] : [...beside, ...above]), [gx + 10, -gy - 24], [gx + 10, gy + 10], [-w - gx - 10, -gy - 24], [-w - gx - 10, gy + 10]];
    let best = null, least = Infinity;
    places.forEach(([dx, dy], k) => {
      const a = x + dx, b = y + dy;
      if (a + w + 4 > this.width || a < 2 || b < 0 || b + h > this.height) return;
      if (taken.some(([c, d, wide]) => Math.abs(d - b) < h - 1 && a < c + wide + 4 && c < a + w + 4)) return;
      const cost = 0.15 * k - (one.last === k ? 0.9 : 0) + around.reduce((sum, bar) => sum + (meets(bar, a, b, w, h) ? bar.cost : 0), 0);
      if (cost < least) { least = cost; best = { k, at: [a, b] }; }
    });
    if (!best) return null;
    one.last = best.k;
    return best.at;
  }

  // position on the screen [pixels]
  pixels(p) { const q = p.clone().project(this.camera); return [(q.x + 1) / 2 * this.width, (1 - q.y) / 2 * this.height]; }

  // ---- drawing

  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    if (!this.width) return;
    this.drawGrid();
    this.renderer.setViewport(0, 0, this.width, this.height);
    this.renderer.clear();
    this.renderer.render(this.scene, this.camera);
    this.triad.draw(this.renderer, this.camera, this.controls.target);
    this.drawLabels();
  }
}
