"""What is in a record, before anything is identified: rate, gaps, spans, dead and clipped channels, bands, drivers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.tables import align_columns
from dalembert.identify.records.channel_values import find_runs
from dalembert.identify.records.drivers import Drivers, find_drivers
from dalembert.record import Record


@dataclass(frozen=True)
class ChannelSurvey:
    """One channel: numbers, faults and its band.

    missing : samples that are not there.  clipped : samples at a limit, in runs.  band, peaks : [Hz].
    """

    name: str
    unit: str
    low: float
    high: float
    mean: float
    rms: float
    missing: int
    clipped: int
    dead: bool
    band: tuple[float, float] | None
    peaks: tuple[float, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        faults = [("dead", self.dead), (f"{self.clipped} samples clipped", self.clipped > 0),
                 (f"{self.missing} samples missing", self.missing > 0)]  # fmt: skip
        return tuple(text for text, holds in faults if holds)


@dataclass(frozen=True)
class Survey:
    """A record and its channels at a glance."""

    samples: int
    start: float
    stop: float
    rate: float
    even: bool
    gaps: int
    channels: tuple[ChannelSurvey, ...]
    drivers: Drivers

    def table(self) -> str:
        rows = [
            (channel.name, channel.unit, f"{channel.low:.4g}", f"{channel.high:.4g}", f"{channel.rms:.4g}",
             "" if channel.band is None else f"{channel.band[0]:.3g} to {channel.band[1]:.3g}",
             ", ".join(f"{f:.4g}" for f in channel.peaks), ", ".join(channel.faults))
            for channel in self.channels
        ]  # fmt: skip
        return align_columns(("channel", "unit", "min", "max", "rms", "band [Hz]", "peaks [Hz]", "faults"), rows)

    def to_plain(self) -> dict[str, Any]:
        """Plain values with fixed keys."""
        return {
            "samples": self.samples, "start": self.start, "stop": self.stop, "rate": self.rate, "even": self.even,
            "gaps": self.gaps, "inputs": self.drivers.inputs, "outputs": self.drivers.outputs,
            "reason": self.drivers.reason,
            "channels": [
                {"name": channel.name, "unit": channel.unit, "min": channel.low, "max": channel.high,
                 "mean": channel.mean,
                 "rms": channel.rms, "missing": channel.missing, "clipped": channel.clipped, "dead": channel.dead,
                 "band_hz": channel.band,
                 "peaks_hz": channel.peaks}
                for channel in self.channels
            ],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.samples} samples, {self.start:.6g} to {self.stop:.6g} s, {self.rate:.6g} Hz\n{self.table()}"


def survey(record: Record) -> Survey:
    """Examine a record: its contents, its faults, and its likely inputs.

    Examples
    --------
    >>> t = np.arange(4000) / 200.0
    >>> found = survey(Record(t, np.column_stack([np.sin(20 * np.pi * t), 0 * t]), ["a1", "a2"]))
    >>> [np.round(one.peaks, 2).tolist() for one in found.channels], found.channels[1].dead
    ([[10.0], []], True)
    """
    step = float(np.median(np.diff(record.time))) if len(record) > 1 else float("nan")
    even = bool(record.is_even) and len(record) > 1
    channels = tuple(_survey_channel(record, name, step if even else None) for name in record.names)
    return Survey(
        len(record), float(record.time[0]), float(record.time[-1]), 1.0 / step, even, len(record.gaps()), channels,
        find_drivers(record),
    )  # fmt: skip


def _survey_channel(record: Record, name: str, step: float | None) -> ChannelSurvey:
    x = record[name]
    good = x[np.isfinite(x)]
    if not len(good):
        none = float("nan")
        return ChannelSurvey(name, record.units[name], none, none, none, none, len(x), 0, True, None, ())
    low, high, mean = float(good.min()), float(good.max()), float(good.mean())
    dead = low == high
    clipped = 0 if dead else sum(_count_clipped(x == limit) for limit in (low, high))
    band: tuple[float, float] | None = None
    peaks: tuple[float, ...] = ()
    if step is not None and not dead and len(good) == len(x):
        f, power = spectrum(x, step)
        band, peaks = _band(f, power), _peaks(f, power)
    rms = float(np.sqrt(np.mean((good - mean) ** 2)))
    return ChannelSurvey(name, record.units[name], low, high, mean, rms, len(x) - len(good), clipped, dead, band, peaks)


def _count_clipped(at_limit: Any, clipped_run: int = 4) -> int:
    # clipped_run: samples in a row at the largest or smallest value of a channel: noise of one digit repeats it twice
    # at most in 100 000 samples of 12 bits.
    starts, stops = find_runs(at_limit)
    lengths = stops - starts
    return int(lengths[lengths >= clipped_run].sum())


def spectrum(x: FloatArray, step: float, segment: int = 4096) -> tuple[FloatArray, FloatArray]:
    """Frequencies [Hz] and power of a channel, averaged over blocks.

    segment : samples of a block of a spectrum.
    """
    from scipy.signal import welch

    size = min(len(x), segment, max(16, 1 << (len(x) // 4).bit_length()))
    f, power = welch(x, fs=1.0 / step, nperseg=size, detrend="linear")
    return f[1:], power[1:]


def _band(f: FloatArray, power: FloatArray, band: float = 0.99) -> tuple[float, float] | None:
    # band: share of the power between the two frequencies of a band, the rest half below and half above.
    total = np.cumsum(power)
    if not total[-1] > 0:
        return None
    edge = 0.5 * (1.0 - band)
    places = np.searchsorted(total / total[-1], (edge, 1.0 - edge))
    first, last = (float(f[min(int(k), len(f) - 1)]) for k in places)
    return first, last


def _peaks(f: FloatArray, power: FloatArray, most: int = 5, peak: float = 10.0, apart: int = 8) -> tuple[float, ...]:
    """Frequencies of the highest narrow peaks, in rising order.

    peak : least height of a peak over the median of the spectrum around it; white noise in 16 blocks stays below 6.
    apart : least distance of two peaks in lines of the spectrum: the window smears one over four.
    """
    from scipy.ndimage import median_filter
    from scipy.signal import find_peaks

    if not power.max() > 0:
        return ()
    around = median_filter(power, size=min(len(power), 101), mode="nearest") + 1e-12 * power.max()
    places, _ = find_peaks(np.concatenate([[0.0], power / around, [0.0]]), height=peak, distance=apart)
    places = places - 1
    strongest = places[np.argsort(power[places])[::-1][:most]]
    return tuple(_top(f, power, int(k)) for k in np.sort(strongest))


def _top(f: FloatArray, power: FloatArray, k: int) -> float:
    """Frequency of a peak between lines: of the parabola through the logarithms of three powers."""
    if not 0 < k < len(f) - 1 or not (power[k - 1 : k + 2] > 0).all():
        return float(f[k])
    below, peak, above = np.log(power[k - 1 : k + 2])
    return float(f[k] + 0.5 * (f[1] - f[0]) * (below - above) / (below - 2 * peak + above))
