// Responses of a set of poles: residues by least squares of the measured response, poles fixed.
//
// frequency response   H(ω) = Σ R/(z - λ) + R*/(z - λ*) + D         z = exp(iω dt), λ = exp(s dt); R complex, D real
// spectral density     S(ω) = Σ Re(c (1 + 2λ/(z - λ)) + c* (1 + 2λ*/(z - λ*))) + floor
//                      (of the covariances Σ c λ^τ + c* λ*^τ of a motion of these poles)
// Both are linear in their unknowns. Lines are weighed by their deviations, densities by their own size.

export function discrete(hz, damping, dt) {
  const w = 2 * Math.PI * hz, size = Math.exp(-damping * w * dt), angle = w * Math.sqrt(Math.max(0, 1 - damping * damping)) * dt;
  return [size * Math.cos(angle), size * Math.sin(angle)];
}

// 1/(z - λ) for a conjugate pair: [re, im, re*, im*]
function inverse(c, s, [a, b]) {
  const x = c - a, y = s - b, v = s + b, p = x * x + y * y, q = x * x + v * v;
  return [x / p, -y / p, x / q, -v / q];
}

function frfRow(angle, poles, re, im) {
  const c = Math.cos(angle), s = Math.sin(angle);
  poles.forEach((pole, k) => {
    const [a, b, p, q] = inverse(c, s, pole);
    re[2 * k] = a + p; im[2 * k] = b + q; // times Re R
    re[2 * k + 1] = -b + q; im[2 * k + 1] = a - p; // times Im R
  });
  re[2 * poles.length] = 1; im[2 * poles.length] = 0;
}

function densityRow(angle, poles, re) {
  const c = Math.cos(angle), s = Math.sin(angle);
  poles.forEach((pole, k) => {
    const [a, b, p, q] = inverse(c, s, pole), [l, m] = pole;
    const first = [1 + 2 * (l * a - m * b), 2 * (l * b + m * a)], second = [1 + 2 * (l * p + m * q), 2 * (l * q - m * p)];
    re[2 * k] = first[0] + second[0];
    re[2 * k + 1] = -first[1] + second[1];
  });
  re[2 * poles.length] = 1;
}

// unknowns of the normal equations, columns scaled, with a small ridge for poles that nearly coincide
function solve(gram, right) {
  const n = right.length, scale = right.map((_, k) => Math.sqrt(gram[k][k]) || 1);
  const a = gram.map((row, i) => row.map((value, j) => value / (scale[i] * scale[j]) + (i === j ? 1e-10 : 0)));
  const b = right.map((value, k) => value / scale[k]);
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[best][k])) best = i;
    [a[k], a[best]] = [a[best], a[k]]; [b[k], b[best]] = [b[best], b[k]];
    if (a[k][k] === 0) continue;
    for (let i = k + 1; i < n; i++) {
      const times = a[i][k] / a[k][k];
      if (times === 0) continue;
      for (let j = k; j < n; j++) a[i][j] -= times * a[k][j];
      b[i] -= times * b[k];
    }
  }
  const x = new Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) {
    let left = b[k];
    for (let j = k + 1; j < n; j++) left -= a[k][j] * x[j];
    x[k] = a[k][k] ? left / a[k][k] : 0;
  }
  return x.map((value, k) => value / scale[k]);
}

// The response of poles [{hz, damping}] nearest to a measured pair over a band: a function hz -> [re, im].
export function fit(poles, response, pair, dt, band) {
  const density = response.kind === "spectrum", listed = poles.map(one => discrete(one.hz, one.damping, dt)), n = 2 * listed.length + 1;
  const gram = Array.from({ length: n }, () => new Array(n).fill(0)), right = new Array(n).fill(0);
  const re = new Array(n).fill(0), im = new Array(n).fill(0);
  const { hz } = response;
  for (let i = 0; i < hz.length; i++) {
    if (hz[i] < band[0] || hz[i] > band[1]) continue;
    const size = density ? pair.re[i] : Math.hypot(pair.re[i], pair.im[i]);
    const weight = 1 / Math.max((pair.deviation ? pair.deviation[i] : 0) + (density ? 1 : 0.02) * size, 1e-300), w2 = weight * weight;
    if (!isFinite(w2) || size === 0) continue;
    if (density) densityRow(2 * Math.PI * hz[i] * dt, listed, re); else frfRow(2 * Math.PI * hz[i] * dt, listed, re, im);
    for (let a = 0; a < n; a++) {
      right[a] += w2 * (re[a] * pair.re[i] + (density ? 0 : im[a] * pair.im[i]));
      for (let b = 0; b <= a; b++) gram[a][b] += w2 * (re[a] * re[b] + (density ? 0 : im[a] * im[b]));
    }
  }
  for (let a = 0; a < n; a++) for (let b = 0; b < a; b++) gram[b][a] = gram[a][b];
  const unknowns = solve(gram, right);
  return at => {
    const angle = 2 * Math.PI * at * dt;
    let x = 0, y = 0;
    if (density) densityRow(angle, listed, re); else frfRow(angle, listed, re, im);
    for (let k = 0; k < n; k++) { x += unknowns[k] * re[k]; if (!density) y += unknowns[k] * im[k]; }
    return [x, y];
  };
}

// Frequencies at which a narrow peak is drawn: an even grid, and more lines within its half-power width.
export function grid(from, to, poles, count = 900) {
  const found = [];
  for (let k = 0; k <= count; k++) found.push(from + ((to - from) * k) / count);
  for (const { hz, damping } of poles) {
    const width = Math.max(Math.abs(damping), 1e-5) * hz;
    for (let k = -24; k <= 24; k++) {
      const at = hz + 0.25 * k * width;
      if (at > from && at < to) found.push(at);
    }
  }
  return Float64Array.from(found).sort();
}
