"""Singular values of the spectral matrix of outputs, their peaks and the lines around a peak that belong to its mode.

S(ω) = Σ_k s_k u_k u_kᴴ, s₁ ≥ s₂ ≥ ...: where one mode dominates, u₁ is its shape and s₁ its auto spectral density; of
two close modes the second has u₂ (Brincker, Zhang and Andersen 2001). The modal domain of a peak with shape φ are the
lines around it on which one of u₁, u₂ has MAC ≥ 0.8 with φ; it ends in the valley before the next peak.

Channels in different units are divided by the root mean square of the channels of their unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.signal

from dalembert.core.arrays import ComplexArray, FloatArray, IntArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.spectra import BlockPlan, average_blocks, plan_blocks


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Singular values and vectors of the spectral matrix.

    ``matrices`` : (nf, ny, ny) of the scaled outputs; ``values`` : (nf, ny), descending; ``vectors`` : (nf, ny, 2), the
    first two, conjugated: shapes, zero where there is no second motion; ``scales`` : (ny,); ``hertz`` : (nf,);
    ``averages`` : independent ones.
    """

    plan: BlockPlan
    matrices: ComplexArray
    values: FloatArray
    vectors: ComplexArray
    scales: FloatArray
    hertz: FloatArray
    blocks: int
    averages: float

    @property
    def resolution(self) -> float:
        """Distance of two lines [Hz]."""
        return float(self.hertz[1])

    def decibels(self, rank: int, least_power: float = 1e-12) -> FloatArray:
        """A singular value in dB.

        least_power : smallest power that counts, relative to the strongest line, and of a second motion relative to the
        first of its line: samples with six digits determine no smaller one. Below are rounding and channels that depend
        on each other.
        """
        least = least_power * max(float(self.values.max()), 1e-300)
        return np.asarray(10.0 * np.log10(np.maximum(self.values[:, rank], least)))

    def mac(self, lines: slice, shape: ComplexArray) -> FloatArray:
        """(n, 2) MAC of the first two singular vectors of some lines with a shape."""
        inner = np.abs(np.einsum("fak,a->fk", self.vectors[lines].conj(), shape)) ** 2
        return np.asarray(inner / float(np.vdot(shape, shape).real))


@dataclass(frozen=True)
class SpectralPeak:
    """A mode in a decomposition: its line, singular value (0 or 1), and first and last line of its modal domain."""

    line: int
    rank: int
    first: int
    last: int


def decompose(data: Data, segment: int | None, shortest_block: int = 64, block_count: int = 24) -> Decomposition:
    """Singular values of averaged spectral matrices.

    shortest_block : fewest samples of a block: 16 lines between the first one that counts and the Nyquist frequency.
    block_count : half-overlapping blocks by default: a density then has a standard deviation of some 25 %; twice as
    many blocks as outputs, so that the matrix has full rank.
    """
    if segment is None:
        import scipy.fft

        blocks = max(block_count, 2 * data.ny)
        length = scipy.fft.next_fast_len(2 * data.samples // (blocks + data.segments), real=True)
        segment = min(length, min(data.lengths))
    if segment < shortest_block:
        needed = shortest_block * (max(block_count, 2 * data.ny) + 1) // 2
        raise DataError(
            "too-few-samples",
            f"blocks of {segment} samples are too short for a spectrum: at least {shortest_block} are "
            f"needed, {needed} samples in all; there are {data.samples}.",
            Advice("Measure longer, give a larger {}, or take a subspace method.", Argument("segment")),
            evidence={"samples": data.samples, "needed": needed},
        )
    plan = plan_blocks(data, "hann", segment, 0.5, "mean")
    scales = scale_units(data)
    matrices, count, averages = average_blocks([y / scales for y in data.y], plan, data.dt)
    values, vectors = split_matrices(matrices)
    hertz = plan.frequencies(data.dt) / (2.0 * np.pi)
    return Decomposition(plan, matrices, values, vectors, scales, hertz, count, averages)


def scale_units(data: Data) -> FloatArray:
    """(ny,) 1 where all outputs have one unit, else the root mean square of the outputs of each unit."""
    units = [data.units.get(name, "") for name in data.outputs]
    if len(set(units)) == 1:
        return np.ones(data.ny)
    power = np.asarray(sum(np.var(y, axis=0) * len(y) for y in data.y)) / data.samples
    return np.array(
        [np.sqrt(np.mean([p for p, unit in zip(power, units) if unit == unit_here])) for unit_here in units]
    )


def split_matrices(matrices: ComplexArray, least_power: float = 1e-12) -> tuple[FloatArray, ComplexArray]:
    """Singular values (n, ny), descending, and the first two shapes (n, ny, 2) of Hermitian matrices (n, ny, ny).

    A second shape is zero where its motion has no power that counts.
    """
    ascending, vectors = np.linalg.eigh(matrices)
    values = np.ascontiguousarray(np.maximum(ascending[:, ::-1], 0.0))
    shapes = np.zeros((*values.shape, 2), dtype=np.complex128)
    for rank in range(min(2, values.shape[1])):
        counts = values[:, rank] >= least_power * values[:, 0]
        shapes[counts, :, rank] = vectors[counts, :, -1 - rank].conj()  # S_ab = conj(φ_a) φ_b |q|²
    return values, shapes


def find_peaks(
    found: Decomposition, least_prominence: float = 3.0, prominence: float = 6.0, distinct: float = 0.5
) -> list[SpectralPeak]:
    """Modes of a decomposition, by the prominence of their peaks and the width of their modal domains.

    least_prominence : least height [dB] with any number of averages: half of the power.
    prominence : height of a peak above the valleys beside it, in standard deviations of the density in dB,
    4.34/√averages: the extremes of some hundred independent lines of noise lie 5 apart.
    distinct : largest share of a shape of the second singular value in the span of the modes on both sides: above this
    share it is one of them again, or a mixture where they cross.
    """
    height = max(prominence * 4.34 / np.sqrt(found.averages), least_prominence)
    lines = [_prominent(found.decibels(rank), height) for rank in range(min(2, found.values.shape[1]))]
    peaks = [peak for peak in mark_domains(found, [(line, 0) for line in lines[0]]) if _wide(peak)]
    if len(lines) > 1:
        first = sorted(peaks, key=lambda near_peak: near_peak.line)
        for line in (k for k in lines[1] if found.vectors[k, :, 1].any()):
            beside = [near_peak for near_peak in first if near_peak.line <= line][-1:] + [
                near_peak for near_peak in first if near_peak.line > line
            ][:1]
            if not beside:
                continue
            # where two modes cross, the second singular vector is a mixture of both: it must lie outside of their span
            span = np.linalg.qr(
                np.column_stack([found.vectors[near_peak.line, :, near_peak.rank] for near_peak in beside])
            )[0]
            if np.linalg.norm(span.conj().T @ found.vectors[line, :, 1]) ** 2 < distinct:
                peaks += [peak for peak in mark_domains(found, [(line, 1)]) if _wide(peak)]
    return sorted(peaks, key=lambda near_peak: near_peak.line)


def find_given_peaks(
    found: Decomposition, hertz: FloatArray, least_prominence: float = 3.0, first_line: int = 5,
    prominence: float = 6.0, given: int = 3,
) -> tuple[list[SpectralPeak], list[Finding]]:  # fmt: skip
    """The highest line near each of some frequencies; findings on those where the spectrum has no peak.

    first_line : first line that counts: the Hann window spreads a mean over two, and a mode needs some periods in a
    block.
    given : lines to each side in which the peak of a given frequency is sought.
    """
    last = len(found.hertz) - 1
    wrong = [f for f in hertz if not first_line * found.resolution <= f <= found.hertz[last]]
    if wrong:
        low = first_line * found.resolution
        raise DataError(
            "out-of-range",
            f"{wrong[0]:.6g} Hz is outside of the spectrum, {low:.5g} to {found.hertz[last]:.5g} Hz.",
            where={"argument": "frequencies_hz"},
        )
    level = found.decibels(0)
    height = max(prominence * 4.34 / np.sqrt(found.averages), least_prominence)
    clear = set(_prominent(level, height).tolist())
    places, findings = [], []
    for f in hertz:
        middle = round(float(f) / found.resolution)
        around = np.arange(max(1, middle - given), min(last, middle + given) + 1)
        line = int(around[np.argmax(level[around])])
        places.append((line, 0))
        if line not in clear:
            problem = (
                f"the spectrum has no clear peak near {f:.5g} Hz: nothing excites a mode there, noise hides it, or "
                "it does not move the sensors. Its shape is that of the strongest motion."
            )
            findings.append(Finding("no-peak", problem, {}, {"hertz": float(f)}))
    return mark_domains(found, places), findings


def mark_domains(found: Decomposition, places: list[tuple[int, int]], mac: float = 0.8) -> list[SpectralPeak]:
    """The modal domain of each (line, rank): around it, up to the valley before the next of the same rank.

    mac : least MAC of the lines of one mode (Brincker et al. 2001 take 0.8 to 0.9).
    """
    peaks = []
    for line, rank in places:
        level = found.values[:, rank]
        others = sorted(neighbour for neighbour, same in places if same == rank and neighbour != line)
        below = max((neighbour for neighbour in others if neighbour < line), default=0)
        right = min((neighbour for neighbour in others if neighbour > line), default=len(level) - 1)
        low = below + int(np.argmin(level[below : line + 1])) if below else 1
        high = line + int(np.argmin(level[line : right + 1])) if right < len(level) - 1 else right
        alike = found.mac(slice(0, None), found.vectors[line, :, rank]).max(axis=1) >= mac
        first, last = line, line
        while first > low and alike[first - 1]:
            first -= 1
        while last < high and alike[last + 1]:
            last += 1
        peaks.append(SpectralPeak(line, rank, first, last))
    return peaks


def _prominent(level: FloatArray, height: float, smoothed: int = 5, first_line: int = 5) -> IntArray:
    """Lines of the peaks of a smoothed level in dB that are by this prominence above the valleys beside them.

    smoothed : lines over which a level is averaged before peaks are sought: the Hann window makes two of five
    dependent, so that its scatter falls to two thirds.
    """
    reach = smoothed // 2
    smooth = np.convolve(np.pad(level, reach, mode="edge"), np.full(2 * reach + 1, 1.0 / (2 * reach + 1)), "valid")
    lines, _ = scipy.signal.find_peaks(smooth, prominence=height)
    lines = lines[lines >= first_line]
    return np.array([k - reach + int(np.argmax(level[k - reach : k + reach + 1])) for k in lines], dtype=np.intp)


def _wide(peak: SpectralPeak, lines: int = 4) -> bool:
    # lines: Fewest lines of a mode: noise repeats its shape over three, the width of the Hann window.
    return peak.last - peak.first + 1 >= lines
