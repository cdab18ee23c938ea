"""Enhanced frequency domain decomposition: frequency and damping from the bell of a mode, taken back to a correlation.

bell          the singular values on the modal domain of a peak, zero elsewhere: the density of one degree of freedom;
              as many lines on both sides of the mode, since a bell cut on one side shifts the frequency
correlation   its inverse Fourier transform, R(τ) r_w(τ), with r_w the correlation of the window of the blocks with
              itself; division by r_w takes the leakage of the window out, which else looks like damping
frequency     zero crossings lie half a damped period apart
damping       successive extremes fall by δ (logarithmic decrement of half a period): ζ = δ/√(π² + δ²)
correction    both are those whose exact bell, cut to the same lines, gives the measured ones

after Brincker, Ventura and Andersen 2001. Standard deviations leave out tenths of the record in turn (jackknife,
Efron 1979); they hold no bias, such as that of lines too wide for a lightly damped mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.output_only.decomposition import Decomposition, Peak, decompose, split_matrices
from dalembert.identify.output_only.fdd import choose_peaks, make_result, read_outputs
from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes
from dalembert.identify.records.data import Data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.spectra import BlockPlan, average_blocks
from dalembert.record import Record


@dataclass(frozen=True)
class DecayThresholds:
    """Which part of a correlation gives frequency and damping."""

    # Extremes between these shares of R(0): before, the lines cut off beside the bell matter; after, errors of the
    # estimate do, which decay as slowly as the mode.
    largest: float = 0.9
    smallest: float = 0.3
    # Extremes at least; a heavily damped mode has fewer in that range, then the first ones count.
    fewest: int = 4
    # Longest lag, as a share of a block: there r_w of a Hann window is 0.3 and that of the wrapped lags 0.01.
    longest: float = 0.4
    # A mode that has lost less than this share within these lags is narrower than the lines: its damping is a guess.
    coarse: float = 0.5
    # Samples per period after interpolation: the largest of them is within 0.5 % of an extreme.
    samples: int = 32
    # Lines of a bell to each side at least, and how often its middle is moved to the frequency found.
    least_lines: int = 3
    rounds: int = 3
    # Rounds of the correction for the lines cut off: each leaves a tenth of the error.
    corrections: int = 3
    # Parts of the record that are left out in turn, and how many it takes at least for standard deviations.
    parts: int = 10
    fewest_parts: int = 5


THRESHOLDS = DecayThresholds()


@report_findings
def efdd(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *,
    frequencies_hz: ArrayLike | None = None, segment: int | None = None,
) -> FrequencyDomainModes:  # fmt: skip
    """Frequencies, damping ratios and shapes from outputs, by enhanced frequency domain decomposition.

    Parameters
    ----------
    record, outputs, frequencies_hz, segment : see :func:`fdd`

    Returns
    -------
    FrequencyDomainModes
        With damping ratios, and standard deviations where the record has ten blocks at least.
    """
    data = read_outputs(record, outputs)
    found = decompose(data, segment)
    peaks, findings = choose_peaks(data, found, frequencies_hz)
    numbers, shapes = np.zeros((len(peaks), 3)), []
    for k, whole in enumerate(peaks):
        for _ in range(THRESHOLDS.rounds):
            line = round(numbers[k, 0] / found.resolution) or whole.line
            peaks[k] = peak = centre(whole, line)
            own = slice(peak.first, peak.last + 1)
            bell, shape = find_bell(found.values[own], found.vectors[own], found.vectors[whole.line, :, whole.rank])
            numbers[k] = measure_decay(bell, peak, found.plan, data.dt)
        numbers[k, :2] = correct_cut(numbers[k, :2], peak, found.plan, data.dt)
        shapes.append(shape)
    order = np.argsort(numbers[:, 0], kind="stable")
    peaks, shapes, numbers = [peaks[k] for k in order], [shapes[k] for k in order], numbers[order]
    w, zeta = 2.0 * np.pi * numbers[:, 0], numbers[:, 1]
    spreads = jackknife(data, found, peaks, shapes)
    return make_result(
        "efdd", data, found, peaks, w * (-zeta + 1j * np.sqrt(np.maximum(1.0 - zeta**2, 0.0))), shapes, findings,
        _find_doubts(found, numbers), damping_ratios=zeta,
        frequency_deviations=None if spreads is None else spreads[:, 0],
        damping_deviations=None if spreads is None else spreads[:, 1],
    )  # fmt: skip


def centre(peak: Peak, line: int) -> Peak:
    """The modal domain with as many lines on both sides of its mode."""
    middle = min(max(line, peak.first), peak.last)
    reach = max(min(middle - peak.first, peak.last - middle), THRESHOLDS.least_lines)
    return replace(peak, first=max(middle - reach, peak.first), last=min(middle + reach, peak.last))


def find_bell(values: FloatArray, vectors: ComplexArray, shape: ComplexArray) -> tuple[FloatArray, ComplexArray]:
    """(n,) density of the mode on the lines of its domain, and its shape as the mean over them, weighted by density.

    values, vectors : singular values (n, ny) and first two shapes (n, ny, 2) of the lines; shape : at the peak
    """
    alike = np.abs(np.einsum("fak,a->fk", vectors.conj(), shape))
    rank = np.argmax(alike, axis=1)
    lines = np.arange(len(values))
    bell, columns = values[lines, rank], vectors[lines, :, rank]
    mean = np.linalg.eigh(np.einsum("f,fa,fb->ab", bell, columns, columns.conj()))[1][:, -1]
    return bell, np.asarray(mean)


def measure_decay(
    bell: FloatArray, peak: Peak, plan: BlockPlan, dt: float, *, leaked: bool = True
) -> tuple[float, float, float]:
    """Natural frequency [Hz], damping ratio, and the share of R(0) that is left at the last extreme used.

    leaked : whether the bell was seen through the window of the blocks
    """
    limit, length = THRESHOLDS, plan.length
    finer = max(1, int(np.ceil(limit.samples * peak.line / length)))
    density = np.zeros(length * finer // 2 + 1)
    density[peak.first : peak.last + 1] = bell
    count = int(limit.longest * length * finer)
    correlation = scipy.fft.irfft(density, length * finer)[:count]
    correlation = correlation / correlation[0]
    if leaked:
        correlation = correlation / _correlate_window(plan.window, finer)[:count]
    before = np.flatnonzero(correlation[:-1] * correlation[1:] < 0.0)
    crossings = before + correlation[before] / (correlation[before] - correlation[before + 1])
    extremes = np.maximum.reduceat(np.abs(correlation), before + 1)[:-1] if len(before) else np.zeros(0)
    used = _choose_extremes(extremes)
    if used.stop - used.start < 2:
        return peak.line / (length * dt), 1.0, 0.0
    numbers = np.arange(used.stop - used.start)
    fall = -float(np.polyfit(numbers, np.log(extremes[used]), 1)[0])
    half = float(np.polyfit(np.arange(len(numbers) + 1), crossings[used.start : used.stop + 1], 1)[0]) * dt / finer
    zeta = fall / np.hypot(np.pi, fall)
    return 0.5 / half / np.sqrt(1.0 - zeta**2), zeta, float(extremes[used.stop - 1])


def correct_cut(measured: FloatArray, peak: Peak, plan: BlockPlan, dt: float) -> FloatArray:
    """Frequency [Hz] and damping ratio whose exact bell 1/((f - f_d)² + (ζ f_n)²), cut to the domain, gives those
    measured; as measured where that does not converge."""
    hertz = np.arange(peak.first, peak.last + 1) / (plan.length * dt)
    exact = measured.copy()
    for _ in range(THRESHOLDS.corrections):
        f, zeta = exact
        bell = 1.0 / ((hertz - f * np.sqrt(1.0 - zeta**2)) ** 2 + (zeta * f) ** 2)
        exact = exact + measured - np.array(measure_decay(bell, peak, plan, dt, leaked=False)[:2])
        if not 0.5 * measured[1] < exact[1] < min(2.0 * measured[1], 1.0):
            return measured
    return exact


def _choose_extremes(extremes: FloatArray) -> slice:
    """The extremes between the limits, or the first ones where there are few."""
    limit = THRESHOLDS
    start = int(np.argmax(extremes < limit.largest)) if (extremes < limit.largest).any() else 0
    below = np.flatnonzero(extremes[start:] < limit.smallest)
    stop = start + int(below[0]) if len(below) else len(extremes)
    if stop - start >= limit.fewest:
        return slice(start, stop)
    return slice(min(start, max(0, len(extremes) - limit.fewest)), min(start + limit.fewest, len(extremes)))


def _correlate_window(window: FloatArray, finer: int) -> FloatArray:
    """Correlation of a window with itself, 1 at lag 0, at lags of 1/finer samples."""
    size = 2 * len(window)
    power = np.abs(scipy.fft.rfft(window, size)) ** 2
    whole = scipy.fft.irfft(power, size)[: len(window)]
    return np.interp(np.arange(len(window) * finer) / finer, np.arange(len(window)), whole / whole[0])


def jackknife(
    data: Data, found: Decomposition, peaks: Sequence[Peak], shapes: Sequence[ComplexArray]
) -> FloatArray | None:
    """(k, 2) standard deviations of frequencies [Hz] and damping ratios; None where there are too few blocks."""
    count = min(THRESHOLDS.parts, found.blocks // 2)
    if count < THRESHOLDS.fewest_parts or not peaks:
        return None
    lines = np.unique(np.concatenate([np.arange(one.first, one.last + 1) for one in peaks]))
    parts, blocks = _sum_parts(data, found, lines, count)
    values = np.zeros((count, len(peaks), 2))
    for part in range(count):
        rest = found.blocks * found.matrices[lines] - parts[part]
        singular, vectors = split_matrices(rest / (found.blocks - blocks[part]))
        for k, peak in enumerate(peaks):
            own = np.searchsorted(lines, np.arange(peak.first, peak.last + 1))
            bell, _ = find_bell(singular[own], vectors[own], shapes[k])
            values[part, k] = measure_decay(bell, peak, found.plan, data.dt)[:2]
    spread: FloatArray = np.sqrt((count - 1) * values.var(axis=0))
    return spread


def _sum_parts(
    data: Data, found: Decomposition, lines: FloatArray, count: int
) -> tuple[ComplexArray, FloatArray]:  # fmt: skip
    """(count, lines, ny, ny) sums of the matrices over the blocks of every part of the record, and their numbers."""
    plan = found.plan
    total = np.zeros((count, len(lines), data.ny, data.ny), dtype=np.complex128)
    numbers = np.zeros(count)
    before = 0
    for y in data.y:
        blocks = 1 + (len(y) - plan.length) // plan.step
        part = (before + np.arange(blocks)) * count // found.blocks
        for g in np.unique(part):
            own = np.flatnonzero(part == g)
            piece = y[own[0] * plan.step : own[-1] * plan.step + plan.length] / found.scales
            total[g] += len(own) * average_blocks([piece], plan, data.dt)[0][lines]
            numbers[g] += len(own)
        before += blocks
    return total, numbers


def _find_doubts(found: Decomposition, numbers: FloatArray) -> dict[int, Finding]:
    """Findings on modes, by their number from 0: too narrow for the lines, or nearer than their widths."""
    doubts = {}
    for k, (f, zeta, left) in enumerate(numbers):
        if left > THRESHOLDS.coarse:
            problem = (
                f"the lines of the spectrum, {found.resolution:.3g} Hz apart, are too wide for the damping of the mode "
                f"at {f:.5g} Hz: it keeps {100 * left:.0f} % of its correlation within a block."
            )
            advice = Advice("Give a larger {}.", Argument("segment"))
            doubts[k] = Finding("coarse-lines", problem, {}, {"hertz": float(f), "left": float(left)}, (advice,))
        elif k and f - numbers[k - 1, 0] < zeta * f + numbers[k - 1, 1] * numbers[k - 1, 0]:
            problem = (
                f"the modes at {numbers[k - 1, 0]:.5g} and {f:.5g} Hz are nearer than their widths: their bells hold "
                "parts of each other, and the damping of both is doubtful."
            )
            doubts[k] = Finding("close-modes", problem, {}, {"hertz": [float(numbers[k - 1, 0]), float(f)]})
    return doubts
