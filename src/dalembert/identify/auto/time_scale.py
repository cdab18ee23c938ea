"""Time scale of a test: the band that the inputs move, the rate that suits it, and block rows that span its periods.

A discrete model of an oversampled record has all its poles near z = 1, and most of the band it is fitted to has only
noise. So the excited band is found first:

with inputs      lines where an input is strong, up to where the multiple coherence of some output exceeds chance
without inputs   lines where the power of some output exceeds its floor, the median over the upper half of the lines

The rate is then reduced by a whole factor: the top of the band is then at ``top`` of half the new rate. The filter
is symmetric (no phase), the same for all channels, and its transition is centred at half the new rate. So white noise
stays white nearly up to there, and the likelihood of the slower record is that of the lines of the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.identify.records.data import Data
from dalembert.identify.records.preparation_step import add_note
from dalembert.identify.spectral.frf import divide_explained
from dalembert.identify.spectral.spectra import average_blocks, plan_blocks
from dalembert.record import Record


@dataclass(frozen=True)
class TimeScale:
    """The band that is excited [Hz], the factor by which the rate is reduced, and block rows for the slower record.

    ``low``, ``high`` : the band; ``nyquist`` : half the rate as measured; ``factor`` : 1 where the rate is kept;
    ``rows`` : None where the usual number suffices; ``driven`` : whether inputs were measured.
    """

    low: float
    high: float
    nyquist: float
    factor: int
    rows: int | None
    driven: bool

    def excites(self, hertz: FloatArray, outside: float = 0.1) -> np.ndarray:
        """Whether frequencies lie in the band, with its margin.

        outside : share of a frequency by which a mode may lie outside the band: the half-power width of 5 % damping.
        """
        margin = outside
        return (hertz > (1.0 - margin) * self.low) & (hertz < (1.0 + margin) * self.high)

    def findings(self) -> list[Finding]:
        """The finding on a reduced rate."""
        if self.factor == 1:
            return []
        what = "the inputs move the outputs" if self.driven else "the outputs move"
        problem = (
            f"{what} from {self.low:.3g} to {self.high:.3g} Hz only, of {self.nyquist:.4g} Hz that the rate covers: "
            f"the rate was reduced {self.factor} times for the model, to {2 * self.nyquist / self.factor:.5g} Hz, and "
            "the model was not fitted to the rest."
        )
        evidence = {"low": self.low, "high": self.high, "factor": self.factor, "rate": 2 * self.nyquist / self.factor}
        return [Finding("reduced-rate", problem, evidence=evidence)]

    def describe(self) -> str:
        """The decision in words."""
        text = f"kept the rate: the band that is excited, {self.low:.3g} to {self.high:.3g} Hz, fills it"
        rows = "" if self.rows is None else f"; {self.rows} block rows, which span its slowest period"
        if self.factor == 1:
            return text + rows
        return (
            f"reduced the rate {self.factor} times, to {2 * self.nyquist / self.factor:.5g} Hz: the excited band is "
            f"between {self.low:.3g} and {self.high:.3g} Hz" + rows
        )


def find_time_scale(
    data: Data, *, impacts: bool = False, least_factor: int = 2, largest_factor: int = 1200, fewest: int = 1000,
    periods: float = 1.0, few_rows: int = 30, top: float = 0.64,
) -> TimeScale:  # fmt: skip
    """Band, factor and rows from spectra; the rate of impacts is kept, since filtered responses would begin early.

    least_factor : smallest factor for which the rate is reduced: with 2 the band is below a third of half the rate.
    largest_factor, periods : periods at the bottom of the band that past and future span each, and largest size of the
    factor of the data: 1200 rows take 0.2 s.
    fewest : fewest samples of the slower record.
    few_rows : rows that are no more than subspace methods take by themselves.
    top : top of the band over half the new rate: beyond 0.8 the transition of the filter begins, and samples between
    holds (no zero-order hold) bend the response; below 0.4 half of the record is noise.
    """
    nyquist = 0.5 / data.dt
    if impacts:
        return TimeScale(0.0, nyquist, nyquist, 1, None, True)
    low, high, slowest = _find_band(data)
    factor = max(1, int(top * nyquist / high))
    factor = min(factor, max(1, data.samples // fewest), max(1, min(data.lengths) // 100))
    if factor < least_factor:
        factor = 1
    q = data.nu + data.ny
    wanted = int(np.ceil(periods / (slowest * data.dt * factor)))
    rows = min(wanted, largest_factor // (2 * q), data.samples // (factor * 6 * q))
    return TimeScale(low, high, nyquist, factor, rows if rows > few_rows else None, bool(data.nu))


def _find_band(
    data: Data, lines: int = 5, driving_power: float = 1e-3, coherent: float = 0.25, weak: float = 1e-4,
    above_floor: float = 10.0, slow_share: float = 0.01, blocks: int = 32,
) -> tuple[float, float, float]:  # fmt: skip
    """Lowest and highest frequency [Hz] that is excited, and the slowest motion; the whole range where none is.

    lines : fewest consecutive lines of a band: a tone (mains hum) takes three lines of a Hann window.
    driving_power, weak : power of an input relative to its largest line. Above the first, inputs drive the structure:
    white noise of 10 % on a force of a tenth of the range lies at 1e-3. Below the second, coherence is that of leakage
    and rounding.
    coherent : multiple coherence of a line that is excited, beyond that by chance (inputs over averages): a peak with
    as much noise as motion has 0.5; lines without motion exceed 0.25 in 32 averages in 1 of 10^4 cases.
    above_floor : power of an output over its floor, without inputs.
    slow_share : share of the power of the outputs below the frequency of the slowest motion.
    blocks : blocks that are averaged.
    """
    slowest, nyquist = 1.0 / max(data.duration, 2.0 * data.dt), 0.5 / data.dt
    length = min(min(data.lengths), 2 ** int(np.log2(max(2 * data.samples // blocks, 8))))
    try:
        plan = plan_blocks(data, "hann", max(length, 8), 0.5, "mean")
    except DataError:
        return slowest, nyquist, slowest
    G, _, averages = average_blocks([np.hstack(pair) for pair in zip(data.u, data.y, strict=True)], plan, data.dt)
    hertz, G = plan.frequencies(data.dt)[1:] / (2.0 * np.pi), G[1:]
    power = np.einsum("faa->fa", G).real
    share = power / np.maximum(power.max(axis=0), np.finfo(np.float64).tiny)
    if data.nu:
        chance = data.nu / max(averages, data.nu + 1.0)
        explained = divide_explained(G, data.nu).max(axis=1) > chance + coherent * (1.0 - chance)
        strength = share[:, : data.nu].max(axis=1)
        driven, top = strength > driving_power, explained & (strength > weak)
    else:
        floor = np.median(power[len(power) // 2 :], axis=0)
        driven = top = (power > above_floor * floor).any(axis=1)
    driven, top = _keep_wide(driven | top, lines), _keep_wide(top, lines)
    if not top.any():
        return slowest, nyquist, slowest
    low, high = (float(hertz[np.flatnonzero(mask)[end]]) for mask, end in ((driven, 0), (top, -1)))
    motion = np.cumsum((power[:, data.nu :] / power[:, data.nu :].sum(axis=0)).mean(axis=1))
    begin = float(hertz[int(np.argmax(motion > slow_share))])
    step = float(hertz[0])
    return max(low - step, 0.5 * step), min(high + step, nyquist), max(begin, low)


def _keep_wide(above: np.ndarray, lines: int) -> np.ndarray:
    """Lines most of whose neighbours are above the limit too: a running median."""
    half = lines // 2
    padded = np.pad(above, half)
    count = np.convolve(padded.astype(np.float64), np.ones(lines), mode="valid")
    return above & (count > half)


def reduce_rate(records: Sequence[Record], factor: int) -> tuple[Record, ...]:
    """Every ``factor``-th sample after a filter whose transition is centred at half the new rate."""
    if factor == 1:
        return tuple(records)
    return tuple(_reduce(record, factor) for record in records)


def _reduce(record: Record, factor: int, attenuation: float = 80.0, transition: float = 0.1) -> Record:
    # attenuation, transition: Half width of the transition of the filter, relative to half the new rate, and its
    # attenuation [dB].
    import scipy.signal

    count, beta = scipy.signal.kaiserord(attenuation, 2.0 * transition / factor)
    taps = scipy.signal.firwin(count | 1, 1.0 / factor, window=("kaiser", beta))
    data = scipy.signal.resample_poly(record.data, 1, factor, axis=0, window=taps, padtype="line")
    # the ends of the record affect the first and last samples
    lost = min((count // 2) // factor + 1, len(data) // 20)
    time = record.time[::factor]
    text = f"rate reduced {factor} times (to {1.0 / record.sample_time / factor:.6g} Hz)"
    inside = slice(lost, len(data) - lost)
    return add_note(record, data[inside], text, time=time[inside])
