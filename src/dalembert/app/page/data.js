// The data of the page: JSON with arrays in it, as src/dalembert/view/animation/payload.py packs them.

// decodes rows stored as second differences in byte planes, with the smallest value and the step of every row
function summed(buffer, at, { shape: [rows, count], low, rise }) {
  const n = rows * count, bytes = new Uint8Array(buffer, at, 4 * n), out = new Float64Array(n);
  for (let r = 0, i = 0; r < rows; r++) for (let k = 0, q = 0, d = 0; k < count; k++, i++) {
    d = d + (bytes[i] | bytes[n + i] << 8 | bytes[2 * n + i] << 16 | bytes[3 * n + i] << 24) | 0;
    q = q + d | 0;
    out[i] = low[r] + rise[r] * q;
  }
  return out;
}

const TYPES = { f4: Float32Array, f8: Float64Array, i4: Int32Array };

export function unpack(buffer) {
  const view = new DataView(buffer), length = view.getUint32(0, true);
  const words = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const read = value => {
    if (Array.isArray(value)) return value.map(read);
    if (value === null || typeof value !== "object") return value;
    if ("array" in value && "shape" in value) {
      if (value.type === "d2") return Object.assign(summed(buffer, 4 + length + value.array, value), { shape: value.shape });
      const count = value.shape.reduce((a, b) => a * b, 1);
      return Object.assign(new TYPES[value.type](buffer, 4 + length + value.array, count), { shape: value.shape });
    }
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, read(one)]));
  };
  return read(words);
}

export async function decode(text, packing) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  if (packing !== "gzip") return unpack(bytes.buffer);
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old for this page: it has no DecompressionStream (Chrome 80, Firefox 113, Safari 16.4 have).");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unpack(await new Response(stream).arrayBuffer());
}

// pictures before and after a time, and the weight of the second: [first, second, weight]
export function between(time, D) {
  const last = D.frames - 1, at = D.step > 0 ? Math.min(Math.max((time - D.start) / D.step, 0), last) : 0;
  const i = Math.min(Math.floor(at), Math.max(last - 1, 0));
  return [i, Math.min(i + 1, last), at - i];
}

export const three = p => [p[0], p[1], p[2] || 0];
export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], (a[2] || 0) - (b[2] || 0));

export function nice(x) {
  const e = 10 ** Math.floor(Math.log10(x)), m = x / e;
  return (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * e;
}

export function metres(x) {
  for (const [k, name] of [[1e3, "km"], [1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "µm"]])
    if (x >= 0.999 * k) return `${+(x / k).toPrecision(3)} ${name}`;
  return `${x.toExponential(0)} m`;
}

// labels of an axis: enough digits that neighbouring labels differ
export function tick(x, rise, largest) {
  const exponent = v => Math.floor(Math.log10(Math.abs(v)) + 1e-9), places = Math.max(0, -exponent(rise));
  if (Math.abs(x) < 1e-9 * rise) return "0";
  const plain = largest < 1e5 && (places <= 6 || (largest >= 0.01 && places <= 9));
  return signed(plain ? x.toFixed(places) : x.toExponential(Math.max(0, exponent(x) - exponent(rise))));
}
const signed = text => text.replace("e+", "e").replaceAll("-", "−");

export const unitText = unit => unit.replace(/\^(-?\d+)/g, (_, power) => [...power].map(c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[+c]).join(""));

export function short(x, digits = 4) {
  if (!isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size < 1e-12) return "0";
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(digits - 2) : String(+x.toPrecision(digits));
  return signed(text);
}
