"""Lines at whole multiples of the speed of a rotor that is not constant, and the angle of that rotor.

    x(t) = Re Σ_k a_k e^{ikθ(t)},  θ̇ = 2π f(t)

Lines j and k of one rotor have the phases φ_j = jθ + const and φ_k = kθ + const, so that j φ_k - k φ_j is constant
however the speed varies. Phases of two modes under random forces are independent. With the complex envelopes z in bands
around the lines,

    g(s) = |Σ_t |z_j| e^{-ikφ_j}(t) · |z_k| e^{ijφ_k}(t + s)|²       for all circular shifts s

has an exponential distribution where phases are independent: g(0) ln 2 / median g exceeds L by chance in e^{-L} of the
pairs. For a constant speed g(s) = g(0), and the lines are steady sines (``machine_harmonics.py``).

Where wind or a gear changes the phases of the lines against each other, their speeds stay those of one rotor. The sums
g(s) over windows of a few turns, with amplitudes of 1, then have nearly a gamma distribution where speeds are
independent; e^{-L} is its tail beyond g(0). L of neighbours in a family of evenly spaced lines are independent, so that
ΣL of m pairs has the distribution gamma(m). L = 0 where constant phases explain more: it may be distortion of a mode.

The angle is that of the steadiest line, improved by all lines, δθ = Σ w_k Im(z_k e^{-ikθ} / a_k) / k / Σ w_k with the
weights w_k = k² |a_k|² / σ_k² of least squares; without constant phases, θ̇ = Σ k Im(z_k* ż_k) / Σ k² |z_k|². A line is
taken out as y - 2 Re(L[y e^{-ikθ}] e^{ikθ}), with a narrow low-pass filter L: by the angle it is a line again, whatever
its width in frequency (Vold and Leuridan 1993).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import gcd, lcm

import numpy as np
import scipy.fft
import scipy.special

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.findings import Finding
from dalembert.identify.records.data import Data


@dataclass(frozen=True, eq=False)
class RotorLines:
    """Mean speed [Hz], its standard deviation over the mean, the multiples at which there are lines, those of the given
    lines by number, the angle of the rotor [rad] at the samples of every record, and changes of the amplitudes in
    periods per record."""

    base_hz: float
    variation: float
    multiples: tuple[int, ...]
    given: Mapping[int, int]
    angles: tuple[FloatArray, ...]
    width: int = 12

    def covers(self, hertz: FloatArray, deviations: float = 2.0) -> np.ndarray:
        """Which frequencies (n,) [Hz] are multiples of the speed up to the largest one, within so many of its standard
        deviations; (n,) bools."""
        times = np.clip(np.round(hertz / self.base_hz), 1, max(self.multiples))
        return np.asarray(np.abs(hertz / self.base_hz - times) <= deviations * self.variation * times)

    def describe(self) -> Finding:
        """A finding that names the family."""
        lines = ", ".join(f"{k * self.base_hz:.4g}" for k in self.multiples)
        problem = (
            f"the lines at {lines} Hz are {', '.join(map(str, self.multiples))} times {self.base_hz:.4g} Hz, with the "
            f"angle of one rotor whose speed varies by {100.0 * self.variation:.2g} %, and no modes."
        )
        evidence = {"base_hz": self.base_hz, "multiples": list(self.multiples), "variation": self.variation}
        return Finding("rotor-harmonics", problem, {}, evidence)


def find_rotor_lines(
    data: Data, hertz: FloatArray, weights: ComplexArray, level: float = 9.2, fewest: int = 3,
    largest_kurtosis: float = 2.5, member: float = 4.6, highest: float = 0.45, turns: int = 20,
) -> RotorLines | None:  # fmt: skip
    """The largest family of lines with the phases of one rotor; None where there is none, or no time to measure its
    speed.

    hertz : (n,) of peaks or modes;  weights : (ny, n) by which the outputs are summed for each
    level : L of a pair: 1 in 10 000 by chance, since a record has some tens of pairs
    fewest : lines of a family: two may be a mode and its distortion
    largest_kurtosis : of the steadiest line. A mode with its distortion has 3, a sine 1.5, and 2.3 where its amplitude
        has a standard deviation of 40 %.
    member : L of one more multiple of a family that is found: 1 in 100 by chance
    highest : frequency of a line over the rate of samples, so that its band ends below half of it
    turns : in which amplitudes change, of lines without constant phases
    """
    spectra = [scipy.fft.fft(y @ weights, axis=0) for y in data.y]
    pairs = []
    for a, b in combinations(np.argsort(hertz), 2):
        for j, k in _list_ratios(float(hertz[b] / hertz[a])):
            base = 0.5 * float(hertz[a] / j + hertz[b] / k)
            if base * data.duration > level and k * base < highest / data.dt:
                pairs.append((_measure_coupling(data, spectra, (a, b), (j, k), base), a, b, Fraction(k, j)))
    family = _join([pair[1:] for pair in sorted(pairs, reverse=True) if pair[0] > level])
    base = float(np.median([hertz[a] / k for a, k in family.items()])) if len(family) >= fewest else 0.0
    by_record = [_find_angle(spectrum, family, base, data.dt, largest_kurtosis) for spectrum in spectra if base]
    coherent = bool(base) and all(angle is not None for angle in by_record)
    if not coherent:
        family = _find_even_spacing(data, spectra, hertz, pairs, fewest, level)
        base = float(np.median([hertz[a] / k for a, k in family.items()])) if family else 0.0
        by_record = [_integrate_speed(spectrum, family, base, data.dt) for spectrum in spectra if base]
    angles = tuple(angle for angle in by_record if angle is not None)
    if not angles:
        return None
    # samples that the filter joins with the other end of the record; one independent value of the speed in as many
    ends = int(1.0 / (_measure_half_width(1, base) * data.dt))
    speeds = np.concatenate([np.gradient(angle, data.dt)[ends:-ends] / (2.0 * np.pi) for angle in angles])
    if len(speeds) < ends:
        return None
    mean, variation = float(np.mean(speeds)), float(np.std(speeds) / np.mean(speeds))
    if not coherent:  # a mode may be near a multiple
        family = {a: k for a, k in family.items() if abs(hertz[a] / (k * mean) - 1.0) <= 2.0 * variation}
        if len(family) < fewest:
            return None
    largest = int(highest / (data.dt * mean))
    present = [k for k in range(1, largest + 1) if _measure_line(data, angles, k, mean) > member]
    multiples = tuple(sorted({*family.values(), *present}))
    width = 12 if coherent else max(12, int(mean * min(data.lengths) * data.dt / turns))
    return RotorLines(mean, variation, multiples, family, angles, width)


def _list_ratios(ratio: float, apart: float = 0.03, largest: int = 8) -> list[tuple[int, int]]:
    """Whole numbers (j, k) without a common divisor whose quotient k/j is near a ratio of two frequencies.

    apart : relative distance, of a speed that varies by 2 % and lines of a spectrum
    """
    return [
        (j, k) for j in range(1, largest) for k in (round(ratio * j),)
        if j < k <= largest and gcd(j, k) == 1 and abs(ratio * j / k - 1.0) < apart
    ]  # fmt: skip


def _measure_coupling(
    data: Data, spectra: Sequence[ComplexArray], numbers: tuple[int, int], multiples: tuple[int, int], base: float,
    *, windows: bool = False,
) -> float:  # fmt: skip
    """L of two lines, by their phases or their speeds in windows; the mean over the records."""
    ratios = []
    for spectrum in spectra:
        count = int(0.8 * base * len(spectrum) * data.dt) + 8  # samples of the widest band
        first, second = (
            _filter_band(spectrum[:, number], k, base, data.dt, count)
            for number, k in zip(numbers, multiples, strict=True)
        )
        turned = [np.exp(1j * k * np.angle(z)) for z, k in zip((first, second), multiples[::-1], strict=True)]
        if windows:
            ratios.append(_compare_windows(*turned))
        else:
            ratios.append(_compare_shifts((np.abs(first) * turned[0])[:, None], np.abs(second) * turned[1]))
    return float(np.mean(ratios))


def _measure_line(data: Data, angles: Sequence[FloatArray], multiple: int, base: float) -> float:
    """The same of the outputs around a multiple and the angle itself."""
    ratios = []
    for y, angle in zip(data.y, angles, strict=True):
        spectrum = scipy.fft.fft(y / np.maximum(y.std(axis=0), 1e-300), axis=0)
        bands = np.column_stack([_filter_band(channel, multiple, base, data.dt) for channel in spectrum.T])
        center = 2.0 * np.pi * multiple * round(base * len(y) * data.dt) / len(y) * np.arange(len(y))
        ratios.append(_compare_shifts(bands, np.exp(1j * (multiple * angle - center))))
    return float(np.mean(ratios))


def _compare_shifts(first: ComplexArray, second: ComplexArray) -> float:
    """g(0) ln 2 / median g of columns (n, m), summed, and one signal (n,)."""
    products = scipy.fft.fft(second)[:, None] * scipy.fft.fft(first, axis=0).conj()
    g = (np.abs(scipy.fft.ifft(products, axis=0)) ** 2).sum(axis=1)
    return float(g[0] * np.log(2.0) / max(float(np.median(g)), 1e-300))


def _compare_windows(
    first: ComplexArray, second: ComplexArray, width: int = 8, shifts: int = 120, longest: int = 20_000
) -> float:
    """L of two signals (n,) of size 1 in windows.

    width : samples, 10 turns: a speed that varies by 1.5 % turns lines 1 and 2 of two rotors by a radian in it
    shifts : of which the distribution is made.  longest : samples, which bounds the time that this takes
    """
    n = min(len(first), len(second), longest)
    count = n // width
    if count < 3:
        return 0.0
    first, second = first[:n], second[:n].conj()
    steps = np.unique(np.linspace(0, n, shifts, endpoint=False).astype(int))
    products = (first * np.roll(second, step) for step in steps)
    g = np.array([np.sum(np.abs(x[: count * width].reshape(count, width).sum(axis=1)) ** 2) for x in products])
    mean, variance = float(g[1:].mean()), float(g[1:].var())
    scale = variance / mean if variance > 0.0 else mean
    return float(-np.log(max(scipy.special.gammaincc(mean / scale, g[0] / scale), 1e-300)))


def _measure_half_width(multiple: int, base: float, reach: float = 0.06, widest: float = 0.4) -> float:
    """Half width [Hz] of the band around a multiple of a base [Hz].

    reach : relative to the line: three standard deviations of a speed that varies by 2 %
    widest : as a share of the base, so that no band reaches the next line
    """
    return min(reach * multiple, widest) * base


def _filter_band(
    spectrum: ComplexArray, multiple: int, base: float, dt: float, count: int | None = None
) -> ComplexArray:
    """Complex envelope around a multiple of a base [Hz], at so many samples (those of the record when left out)."""
    n = len(spectrum)
    center = multiple * round(base * n * dt)  # lines of two multiples keep their whole ratio
    half = _measure_half_width(multiple, base) * n * dt
    lines = np.arange(int(np.ceil(center - half)), int(np.floor(center + half)) + 1)
    count = count or n
    placed = np.zeros(count, dtype=np.complex128)
    placed[(lines - center) % count] = spectrum[lines % n] * np.cos(0.5 * np.pi * (lines - center) / half) ** 2
    return np.asarray(scipy.fft.ifft(placed))


def _join(pairs: Sequence[tuple[int, int, Fraction]]) -> dict[int, int]:
    """Multiples of the largest set of lines that pairs connect, by number; the strongest pairs come first."""
    largest: dict[int, Fraction] = {}
    for seed, *_ in pairs:
        orders, count = {seed: Fraction(1)}, 0
        while seed not in largest and count < len(orders):
            count = len(orders)
            for a, b, ratio in pairs:
                if a in orders:
                    orders.setdefault(b, orders[a] * ratio)
                elif b in orders:
                    orders[a] = orders[b] / ratio
        largest = orders if len(orders) > len(largest) else largest
    whole = lcm(*(order.denominator for order in largest.values()))
    common = gcd(*(int(order * whole) for order in largest.values()))
    return {int(a): int(order * whole) // common for a, order in sorted(largest.items())}


def _find_even_spacing(
    data: Data, spectra: Sequence[ComplexArray], hertz: FloatArray, pairs: Sequence[tuple[float, int, int, Fraction]],
    fewest: int, level: float, apart: float = 0.03, largest: int = 8,
) -> dict[int, int]:  # fmt: skip
    """Multiples of evenly spaced lines with the speeds of one rotor, by number; empty where there are none.

    pairs : L of constant phases, numbers, ratio of the frequencies.  level : L of the whole family.
    apart, largest : as in ``_list_ratios``
    """
    phases = {(a, b, ratio): L for L, a, b, ratio in pairs}
    speeds: dict[tuple[int, int, Fraction], float] = {}
    best: tuple[int, float, dict[int, int]] = (0, level, {})
    tried = set()
    for _, a, _, ratio in pairs:
        base = float(hertz[a]) / ratio.denominator
        near = [(int(np.argmin(np.abs(hertz - k * base))), k) for k in range(1, largest + 1)]
        family = tuple((i, k) for i, k in near if abs(hertz[i] / (k * base) - 1.0) < apart)
        if len(family) < fewest or family in tried:
            continue
        tried.add(family)
        chain = [(i, m, Fraction(k, j)) for (i, j), (m, k) in pairwise(family)]
        for i, m, q in chain:
            if (i, m, q) in phases and (i, m, q) not in speeds:
                unit = 0.5 * float(hertz[i] / q.denominator + hertz[m] / q.numerator)
                L = _measure_coupling(data, spectra, (i, m), (q.denominator, q.numerator), unit, windows=True)
                speeds[i, m, q] = L if phases[i, m, q] < min(L, level) else 0.0
        values = [speeds.get(pair, 0.0) for pair in chain]
        strength = float(-np.log(max(scipy.special.gammaincc(len(chain), sum(values)), 1e-300)))
        coupled = int(np.count_nonzero(values))
        if strength > level and coupled >= fewest - 1 and (coupled, strength) > best[:2]:
            common = gcd(*(k for _, k in family))
            best = (coupled, strength, {i: k // common for i, k in family})
    return best[2]


def _integrate_speed(spectrum: ComplexArray, family: Mapping[int, int], base: float, dt: float) -> FloatArray:
    """Angle of the rotor [rad] at the samples of a record, by the speeds of its lines without their phases."""
    n = len(spectrum)
    above, below = np.zeros(n), np.zeros(n)
    for a, k in family.items():
        z = _filter_band(spectrum[:, a], k, base, dt)
        z /= np.sqrt(np.mean(np.abs(z) ** 2))
        above += k * (z.conj() * np.gradient(z)).imag
        below += k**2 * np.abs(z) ** 2
    smooth = np.exp(-0.5 * (scipy.fft.fftfreq(n) * 10.0 / (base * dt)) ** 2)  # over some 10 turns / 2π
    above, below = (scipy.fft.ifft(scipy.fft.fft(x) * smooth).real for x in (above, below))
    return np.asarray(np.cumsum(above / below) + 2.0 * np.pi * round(base * n * dt) / n * np.arange(n))


def _find_angle(
    spectrum: ComplexArray, family: Mapping[int, int], base: float, dt: float, largest_kurtosis: float, rounds: int = 4
) -> FloatArray | None:
    """Angle of the rotor at the samples of a record [rad]; None where no line is steady enough for it.

    rounds : of the improvement, each of which leaves errors of the second order
    """
    envelopes = {a: _filter_band(spectrum[:, a], k, base, dt) for a, k in family.items()}
    power = {a: np.abs(z) ** 2 for a, z in envelopes.items()}
    kurtosis = {a: 1.5 * float(np.mean(p**2)) / float(np.mean(p)) ** 2 for a, p in power.items()}
    steadiest = min(family, key=lambda a: kurtosis[a])
    if kurtosis[steadiest] > largest_kurtosis:
        return None
    angle = np.unwrap(np.angle(envelopes[steadiest])) / family[steadiest]
    for _ in range(rounds):
        step, total = np.zeros(len(angle)), 0.0
        for a, k in family.items():
            turned = envelopes[a] * np.exp(-1j * k * angle)
            amplitude = turned.mean()
            weight = k**2 * abs(amplitude) ** 2 / max(float(np.mean(np.abs(turned - amplitude) ** 2)), 1e-300)
            step, total = step + weight * (turned / amplitude).imag / k, total + weight
        angle = angle + step / total
    n = len(angle)
    return np.asarray(angle + 2.0 * np.pi * round(base * n * dt) / n * np.arange(n))


def remove_lines(y: FloatArray, angle: FloatArray, multiples: Sequence[int], width: int = 12) -> FloatArray:
    """Channels (n, ny) without the lines at these multiples of the angle (n,) [rad].

    width : changes of the amplitude that are taken out too, in periods per record
    """
    n = len(y)
    lines = np.abs(scipy.fft.fftfreq(n, 1.0 / n))
    gain = np.where(lines <= width, np.cos(0.5 * np.pi * lines / (width + 1.0)) ** 2, 0.0)[:, None]
    left = np.array(y)
    for k in multiples:
        turn = np.exp(1j * k * angle)[:, None]
        left -= 2.0 * (scipy.fft.ifft(scipy.fft.fft(left * turn.conj(), axis=0) * gain, axis=0) * turn).real
    return left
