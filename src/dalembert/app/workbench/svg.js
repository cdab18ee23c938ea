// Elements, scales and ticks of the figures.

const NS = "http://www.w3.org/2000/svg";

export function draw(parent, tag, attributes = {}, text) {
  const made = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

export function html(parent, tag, attributes = {}, text) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

export const linear = (low, high, first, last) => {
  const scale = value => first + ((value - low) / (high - low)) * (last - first);
  scale.back = place => low + ((place - first) / (last - first)) * (high - low);
  return scale;
};

export function ticks(low, high, most) {
  const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(times => times * power >= raw * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// decades of a log axis given by its powers, at most this number
export function decades(low, high, most) {
  const step = Math.max(1, Math.ceil((high - low) / Math.max(most, 1))), found = [];
  for (let power = Math.ceil(low / step) * step; power <= high + 1e-9; power += step) found.push(power);
  return found;
}

// a path through points, broken where one is not a number; columns with many points keep their extremes
export function path(x, y, from, to, left, right) {
  let text = "", pen = "M", column = null, low = 0, high = 0, last = 0;
  const flush = () => { if (column !== null && high - low > 0.5) text += `L${column} ${low.toFixed(1)}L${column} ${high.toFixed(1)}L${column} ${last.toFixed(1)}`; column = null; };
  for (let k = from; k < to; k++) {
    const px = x(k), py = y(k);
    if (!isFinite(py) || px < left - 4000 || px > right + 4000) { flush(); pen = "M"; continue; }
    const place = Math.round(px * 2) / 2;
    if (place === column) { low = Math.min(low, py); high = Math.max(high, py); last = py; continue; }
    flush();
    text += `${pen}${place} ${py.toFixed(1)}`;
    pen = "L"; column = place; low = high = last = py;
  }
  flush();
  return text;
}
