// Data of the page: arrays come as base64 of little-endian single precision, everything else as plain JSON.

export function read(section) {
  const data = JSON.parse(section.querySelector("script[type='application/json']").textContent);
  return revive(data);
}

function revive(value) {
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.f4 === "string") return floats(value.f4);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, revive(one)]));
}

function floats(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  const view = new DataView(bytes.buffer), found = new Float64Array(raw.length / 4);
  for (let k = 0; k < found.length; k++) found[k] = view.getFloat32(4 * k, true);
  return found;
}

// ---- numbers as text

export function digits(value, count = 4) {
  if (!isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return trim(value.toPrecision(count));
  const [mantissa, power] = value.toExponential(count - 1).split("e");
  return `${mantissa}·10${raise(Number(power))}`;
}
const trim = text => (text.includes("e") ? String(Number(text)) : text);
export const raise = power => String(power).replace(/[-0-9]/g, sign => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
export const percent = value => `${digits(100 * value, 3)} %`;

// a number with its standard deviation, no more digits than that allows
export function spread(value, deviation, count = 4) {
  if (!(deviation > 0) || !isFinite(deviation)) return digits(value, count);
  const places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(deviation))));
  return `${value.toFixed(places)} ± ${deviation.toFixed(places)}`;
}

// ---- shapes

export const shapeOf = (poles, k, count) => ({ re: poles.re.subarray(k * count, (k + 1) * count), im: poles.im.subarray(k * count, (k + 1) * count) });

// |φᴴψ|² / (φᴴφ ψᴴψ)
export function mac(a, b) {
  let re = 0, im = 0, aa = 0, bb = 0;
  for (let k = 0; k < a.re.length; k++) {
    re += a.re[k] * b.re[k] + a.im[k] * b.im[k];
    im += a.re[k] * b.im[k] - a.im[k] * b.re[k];
    aa += a.re[k] ** 2 + a.im[k] ** 2;
    bb += b.re[k] ** 2 + b.im[k] ** 2;
  }
  return aa * bb > 0 ? (re * re + im * im) / (aa * bb) : 0;
}
