"""Enhanced frequency domain decomposition: frequency and damping from the bell of a mode by its correlation function.

bell          the singular values on the modal domain of a peak, zero elsewhere: the density of one degree of freedom;
              as many lines on both sides of the mode, since a bell cut on one side shifts the frequency
correlation   its inverse Fourier transform, R(τ) r_w(τ), with r_w the correlation of the window of the blocks with
              itself; division by r_w removes the leakage of the window, which would look like damping
frequency     zero crossings lie half a damped period apart
damping       successive extremes fall by δ (logarithmic decrement of half a period): ζ = δ/√(π² + δ²)
correction    both are those whose exact bell, cut to the same lines, gives the measured ones

after Brincker, Ventura and Andersen 2001. Standard deviations leave out tenths of the record in turn (jackknife,
Efron 1979); they do not include bias, such as that of lines too wide for a lightly damped mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.output_only.decomposition import Decomposition, SpectralPeak, decompose, split_matrices
from dalembert.identify.output_only.fdd import choose_peaks, make_result, read_outputs
from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes
from dalembert.identify.records.data import Data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.spectra import BlockPlan, average_blocks
from dalembert.record import Record


@dataclass(frozen=True)
class Decay:
    """Natural frequency [Hz] and damping ratio of a bell, the extremes of its correlation that gave them, and the share
    of R(0) at the last of these."""

    hertz: float
    damping: float
    used: slice
    left: float


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
        With damping ratios, and standard deviations where the record has ten blocks at least. These do not
        include bias and the choice of the domains: for neighbouring modes they are up to two times too small.
    """
    # Fewest lines of a bell to each side, and number of times that its middle is moved to the frequency found.
    rounds = 3
    data = read_outputs(record, outputs)
    spectra = decompose(data, segment)
    peaks, findings = choose_peaks(data, spectra, frequencies_hz)
    numbers, growth, shapes = np.zeros((len(peaks), 3)), np.ones(len(peaks)), []
    for k, peak_region in enumerate(peaks):
        for _ in range(rounds):
            line = round(numbers[k, 0] / spectra.resolution) or peak_region.line
            peaks[k] = peak = centre(peak_region, line)
            lines_of_peak = slice(peak.first, peak.last + 1)
            bell, shape = find_bell(
                spectra.values[lines_of_peak],
                spectra.vectors[lines_of_peak],
                spectra.vectors[peak_region.line, :, peak_region.rank],
            )
            decay = measure_decay(bell, peak, spectra.plan, data.dt)
            numbers[k] = decay.hertz, decay.damping, decay.left
        numbers[k, :2], growth[k] = correct_cut(decay, peak, spectra.plan, data.dt)
        shapes.append(shape)
    order = np.argsort(numbers[:, 0], kind="stable")
    peaks, shapes, numbers = [peaks[k] for k in order], [shapes[k] for k in order], numbers[order]
    w, zeta = 2.0 * np.pi * numbers[:, 0], numbers[:, 1]
    spreads = jackknife(data, spectra, peaks, shapes)
    return make_result(
        "efdd", data, spectra, peaks, w * (-zeta + 1j * np.sqrt(np.maximum(1.0 - zeta**2, 0.0))), shapes, findings,
        _find_doubts(spectra, numbers), damping_ratios=zeta,
        frequency_deviations_hz=None if spreads is None else spreads[:, 0],
        damping_deviations=None if spreads is None else spreads[:, 1] * growth[order],
    )  # fmt: skip


def centre(peak: SpectralPeak, line: int, least_lines: int = 3) -> SpectralPeak:
    """The modal domain with as many lines on both sides of its mode.

    least_lines : fewest lines of a bell to each side, and number of times that its middle is moved to the frequency
    found.
    """
    middle = min(max(line, peak.first), peak.last)
    reach = max(min(middle - peak.first, peak.last - middle), least_lines)
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
    bell: FloatArray, peak: SpectralPeak, plan: BlockPlan, dt: float, *, leaked: bool = True, used: slice | None = None,
    longest: float = 0.4, samples: int = 32,
) -> Decay:  # fmt: skip
    """Frequency and damping of a bell on the domain of a peak.

    leaked : whether the bell was seen through the window of the blocks; used : extremes to take, chosen when left out
    longest : longest lag, as a share of a block: there r_w of a Hann window is 0.3 and that of the wrapped lags 0.01.
    samples : samples per period after interpolation: the largest of them is within 0.5 % of an extreme.
    """
    length = plan.length
    finer = max(1, int(np.ceil(samples * peak.line / length)))
    density = np.zeros(length * finer // 2 + 1)
    density[peak.first : peak.last + 1] = bell
    count = int(longest * length * finer)
    correlation = scipy.fft.irfft(density, length * finer)[:count]
    correlation = correlation / correlation[0]
    if leaked:
        correlation = correlation / _correlate_window(plan.window, finer)[:count]
    before = np.flatnonzero(correlation[:-1] * correlation[1:] < 0.0)
    crossings = before + correlation[before] / (correlation[before] - correlation[before + 1])
    extremes = np.maximum.reduceat(np.abs(correlation), before + 1)[:-1] if len(before) else np.zeros(0)
    chosen = _choose_extremes(extremes) if used is None else used
    used_extremes = extremes[chosen]
    if len(used_extremes) < 2:
        return Decay(peak.line / (length * dt), 1.0, chosen, 0.0)
    fall = -float(np.polyfit(np.arange(len(used_extremes)), np.log(used_extremes), 1)[0])
    times = crossings[chosen.start : chosen.start + len(used_extremes) + 1] * dt / finer
    half = float(np.polyfit(np.arange(len(times)), times, 1)[0])
    zeta = float(fall / np.hypot(np.pi, fall))
    return Decay(0.5 / half / float(np.sqrt(1.0 - zeta**2)), zeta, chosen, float(used_extremes[-1]))


def correct_cut(
    measured: Decay, peak: SpectralPeak, plan: BlockPlan, dt: float, corrections: int = 5, least_slope: float = 0.2,
    largest: float = 0.9,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Frequency [Hz] and damping ratio whose exact bell 1/((f - f_d)² + (ζ f_n)²), cut to the domain, gives those
    measured, and the factor by which an error of the measured damping ratio grows; as measured, and 1, where that does
    not converge.

    corrections : rounds of the correction for the lines cut off: each reduces the error, 20 % at first, to a third or
    less.
    largest : damping ratio above which there is no oscillation left.
    least_slope : least change of a measured damping ratio with the true one: below this, the cut determines it and not
    the mode.
    """
    hertz = np.arange(peak.first, peak.last + 1) / (plan.length * dt)

    def cut(f: float, zeta: float) -> FloatArray:
        bell = 1.0 / ((hertz - f * np.sqrt(1.0 - zeta**2)) ** 2 + (zeta * f) ** 2)
        corrected = measure_decay(bell, peak, plan, dt, leaked=False, used=measured.used)
        return np.array([corrected.hertz, corrected.damping])

    wanted = np.array([measured.hertz, measured.damping])
    exact = wanted
    for _ in range(corrections):
        exact = exact + wanted - cut(*exact)
        if not 0.5 * measured.damping < exact[1] < min(2.0 * measured.damping, largest):
            return wanted, 1.0
    f, zeta = exact
    slope = float((cut(f, 1.05 * zeta) - cut(f, 0.95 * zeta))[1] / (0.1 * zeta))
    return exact, 1.0 / slope if slope > least_slope else 1.0 / least_slope


def _choose_extremes(extremes: FloatArray, fewest: int = 4, smallest: float = 0.3, largest: float = 0.9) -> slice:
    """The extremes between the limits, or the first ones where there are few.

    fewest : fewest extremes; a heavily damped mode has fewer in that range, then the first ones are used.
    smallest, largest : extremes between these shares of R(0) are used: above, the lines cut off beside the bell have an
    effect; below, errors of the estimate, which decay as slowly as the mode.
    """
    start = int(np.argmax(extremes < largest)) if (extremes < largest).any() else 0
    below = np.flatnonzero(extremes[start:] < smallest)
    stop = start + int(below[0]) if len(below) else len(extremes)
    if stop - start >= fewest:
        return slice(start, stop)
    return slice(min(start, max(0, len(extremes) - fewest)), min(start + fewest, len(extremes)))


def _correlate_window(window: FloatArray, finer: int) -> FloatArray:
    """Correlation of a window with itself, 1 at lag 0, at lags of 1/finer samples."""
    size = 2 * len(window)
    power = np.abs(scipy.fft.rfft(window, size)) ** 2
    correlation = scipy.fft.irfft(power, size)[: len(window)]
    return np.asarray(
        np.interp(np.arange(len(window) * finer) / finer, np.arange(len(window)), correlation / correlation[0])
    )


def jackknife(
    data: Data, found: Decomposition, peaks: Sequence[SpectralPeak], shapes: Sequence[ComplexArray],
    part_count: int = 10, fewest_parts: int = 5,
) -> FloatArray | None:  # fmt: skip
    """(k, 2) standard deviations of frequencies [Hz] and damping ratios; None where there are too few blocks.

    part_count, fewest_parts : number of parts of the record that are left out in turn, and fewest parts for standard
    deviations.
    """
    count = min(part_count, found.blocks // 2)
    if count < fewest_parts or not peaks:
        return None
    lines = np.unique(np.concatenate([np.arange(each.first, each.last + 1) for each in peaks]))
    parts, blocks = _sum_parts(data, found, lines, count)
    values = np.zeros((count, len(peaks), 2))
    for piece in range(count):
        remaining = found.blocks * found.matrices[lines] - parts[piece]
        singular, vectors = split_matrices(remaining / (found.blocks - blocks[piece]))
        for k, peak in enumerate(peaks):
            columns = np.searchsorted(lines, np.arange(peak.first, peak.last + 1))
            bell, _ = find_bell(singular[columns], vectors[columns], shapes[k])
            decay = measure_decay(bell, peak, found.plan, data.dt)
            values[piece, k] = decay.hertz, decay.damping
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
        piece_of = (before + np.arange(blocks)) * count // found.blocks
        for g in np.unique(piece_of):
            members = np.flatnonzero(piece_of == g)
            piece = y[members[0] * plan.step : members[-1] * plan.step + plan.length] / found.scales
            total[g] += len(members) * average_blocks([piece], plan, data.dt)[0][lines]
            numbers[g] += len(members)
        before += blocks
    return total, numbers


def _find_doubts(found: Decomposition, numbers: FloatArray, coarse: float = 0.5) -> dict[int, Finding]:
    """Findings on modes, by their number from 0: too narrow for the lines, or nearer than their widths.

    coarse : a mode that has lost less than this share within these lags is narrower than the lines: its damping is
    uncertain.
    """
    doubts = {}
    for k, (f, zeta, remaining) in enumerate(numbers):
        if remaining > coarse:
            problem = (
                f"the lines of the spectrum, {found.resolution:.3g} Hz apart, are too wide for the damping of the mode "
                f"at {f:.5g} Hz: it keeps {100 * remaining:.0f} % of its correlation within a block."
            )
            advice = Advice("Give a larger {}.", Argument("segment"))
            doubts[k] = Finding("coarse-lines", problem, {}, {"hertz": float(f), "left": float(remaining)}, (advice,))
        elif k and f - numbers[k - 1, 0] < zeta * f + numbers[k - 1, 1] * numbers[k - 1, 0]:
            problem = (
                f"the modes at {numbers[k - 1, 0]:.5g} and {f:.5g} Hz are nearer than their widths: their bells "
                "overlap, and the damping of both is doubtful."
            )
            doubts[k] = Finding("close-modes", problem, {}, {"hertz": [float(numbers[k - 1, 0]), float(f)]})
    return doubts
