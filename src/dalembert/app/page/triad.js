// The coordinate axes in the corner of the view.
import * as THREE from "three";

const AXES = [["x", [1, 0, 0], "#e5534b"], ["y", [0, 1, 0], "#2fa86b"], ["z", [0, 0, 1], "#3b82f6"]];

function letter(text, color) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const ctx = canvas.getContext("2d");
  ctx.font = "600 46px system-ui, 'DejaVu Sans', sans-serif";
  ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.fillStyle = color;
  ctx.fillText(text, 32, 32);
  const map = new THREE.CanvasTexture(canvas);
  map.colorSpace = THREE.SRGBColorSpace;
  return new THREE.Sprite(new THREE.SpriteMaterial({ map, depthTest: false }));
}

export function triad(gravity) {
  const scene = new THREE.Scene(), camera = new THREE.OrthographicCamera(-1.6, 1.6, 1.6, -1.6, 0.1, 20), size = 84;
  for (const [name, axis, color] of AXES) {
    const material = new THREE.MeshBasicMaterial({ color }), way = new THREE.Vector3(...axis);
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), way);
    const rod = new THREE.Mesh(new THREE.CylinderGeometry(0.045, 0.045, 0.8, 12), material);
    const tip = new THREE.Mesh(new THREE.ConeGeometry(0.13, 0.28, 16), material);
    rod.position.copy(way).multiplyScalar(0.4); tip.position.copy(way).multiplyScalar(0.9);
    rod.quaternion.copy(turn); tip.quaternion.copy(turn);
    const words = letter(name, color);
    words.position.copy(way).multiplyScalar(1.3); words.scale.setScalar(0.6);
    scene.add(rod, tip, words);
  }
  const fall = new THREE.Vector3(...(gravity || [0, 0, 0]));
  if (fall.length() > 0) {
    const material = new THREE.MeshBasicMaterial({ color: "#95a0ae" }), way = fall.normalize(), turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), way);
    const rod = new THREE.Mesh(new THREE.CylinderGeometry(0.045, 0.045, 0.6, 12), material), tip = new THREE.Mesh(new THREE.ConeGeometry(0.13, 0.28, 16), material), words = letter("g", "#95a0ae");
    rod.position.copy(way).multiplyScalar(0.3); tip.position.copy(way).multiplyScalar(0.7);
    rod.quaternion.copy(turn); tip.quaternion.copy(turn);
    words.position.copy(way).multiplyScalar(1.15); words.scale.setScalar(0.6);
    scene.add(rod, tip, words);
  }
  return {
    draw(renderer, main, target) {
      camera.position.copy(main.position).sub(target).normalize().multiplyScalar(8);
      camera.up.copy(main.up);
      camera.lookAt(0, 0, 0);
      renderer.setViewport(10, 10, size, size);
      renderer.clearDepth();
      renderer.render(scene, camera);
    },
  };
}
