"""Errors of an estimate against the truth.

RMS of the error of every channel after a settling time, its largest value and mean, the error over time, spectra of
estimate and truth side by side and their amplitudes at given frequencies, processor time per simulated second, NEES
where the true states are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError, require_name, unknown_name
from dalembert.core.tables import align_columns
from dalembert.estimate.engine.consistency import chi_square_band, freedoms, nees, same_times
from dalembert.expressions import Array
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.estimate.engine.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Comparison:
    """Estimate against truth; frozen.

    rms, largest, mean : of the error by channel, after `settle` seconds.  signal_rms : of the truth less its mean.
    deviation_rms : standard deviation that the filter reports; near rms where it is consistent.
    errors : Record of estimate - truth, whole.
    nees : (N,) where all states are known, else None; nees_mean per state, after settling; nees_band where the mean of
    independent samples would lie.
    cpu_per_second : processor time per second of the record.
    """

    channels: tuple[str, ...]
    rms: dict[str, float]
    largest: dict[str, float]
    mean: dict[str, float]
    signal_rms: dict[str, float]
    deviation_rms: dict[str, float]
    errors: Record
    estimate: Record
    truth: Record
    settle: float
    cpu_per_second: float
    nees: Array | None = None
    states: int = 0

    def __getitem__(self, name: str) -> float:
        """RMS error of a channel."""
        if name not in self.rms:
            raise DataError("unknown-name", unknown_name("channel", name, self.channels, "the comparison"))
        return self.rms[name]

    @property
    def nees_mean(self) -> float:
        """Per state, after settling; 1 where the covariance is right."""
        if self.nees is None:
            raise DataError("missing-channel", "NEES needs all states of the filter in the record of the truth.")
        late = self.errors.time >= self.errors.time[0] + self.settle
        return float(self.nees[late].mean() / self.states)

    @property
    def nees_band(self) -> tuple[float, float]:
        """95 % band of one sample's NEES per state."""
        low, high = chi_square_band(self.states or 1)
        return low / (self.states or 1), high / (self.states or 1)

    def spectra(self, name: str) -> tuple[Array, Array, Array, Array]:
        """Frequencies [Hz] and amplitude spectra of truth, estimate and error, after settling.

        One-sided, with a Hann window, scaled so that a sine of amplitude a shows a.
        """
        if name not in self.rms:
            raise DataError("unknown-name", unknown_name("channel", name, self.channels, "the comparison"))
        late = self.errors.between(self.errors.time[0] + self.settle)
        N, dt = len(late), late.sample_time
        window = np.hanning(N + 1)[:N]
        first = len(self.errors) - N

        def amplitude(values: Array) -> Array:
            return np.asarray(2 * np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum())

        both = [np.asarray(r[name])[first:] for r in (self.truth, self.estimate)]
        return (
            np.asarray(np.fft.rfftfreq(N, dt), dtype=float),
            amplitude(both[0]),
            amplitude(both[1]),
            amplitude(both[1] - both[0]),
        )

    def amplitudes(self, name: str, hertz: Iterable[float], lines: int = 2) -> Array:
        """(k, 2) amplitudes of truth and estimate at frequencies: of excitation, of modes.

        lines : of the spectrum to each side, among which the largest counts; a sine between two lines is in four of a
            Hann window.
        """
        f, *both, _ = self.spectra(name)
        middles = [round(frequency / f[1]) for frequency in hertz]
        beyond = any(not 0 <= middle < len(f) for middle in middles)
        DataError.when(beyond, "out-of-range", f"the spectrum ends at {f[-1]:g} Hz.")
        return np.array([[v[max(0, k - lines) : k + lines + 1].max() for v in both] for k in middles])

    def table(self) -> str:
        rows = []
        for name in self.channels:
            share = _share(self.rms[name], self.signal_rms[name])
            rows.append(
                [name, f"{self.rms[name]:.4g}", share, f"{self.largest[name]:.4g}", f"{self.mean[name]:+.3g}",
                 f"{self.deviation_rms[name]:.4g}", self.errors.units[name]]
            )  # fmt: skip
        return align_columns(["channel", "RMS error", "of signal", "largest", "mean", "deviation", "unit"], rows)

    def __repr__(self) -> str:
        more = "" if self.nees is None else f", NEES {self.nees_mean:.3g} per state"
        return (
            f"Comparison after {self.settle:g} s: {len(self.channels)} channels, processor "
            f"{self.cpu_per_second:.3g} s per second{more}\n{self.table()}"
        )


def compare(
    estimate: Estimate, truth: Record, *, settle: float = 0.0, channels: Sequence[str] | str | None = None
) -> Comparison:
    """Errors of an estimate against a record of the truth.

    settle : seconds at the start left out of the figures.  channels : None: all that both have.
    """
    names = _channels(estimate, truth, channels)
    times = estimate.time
    true = same_times(truth.select(*names), times)
    own = estimate.record.select(*names)
    errors = Record(times, own[names] - true[names], names, [own.units[n] for n in names], name="error of the estimate")
    late = times >= times[0] + settle
    if late.sum() < 2:
        problem = f"settle = {settle:g} s leaves fewer than 2 samples of {times[-1] - times[0]:.6g} s."
        raise DataError("too-few-samples", problem)
    figures: dict[str, dict[str, float]] = {key: {} for key in ("rms", "largest", "mean", "signal", "deviation")}
    for name in names:
        e = errors[name][late]
        e = e[np.isfinite(e)]
        if not len(e):
            problem = f"the truth of {name!r} has no samples after settle = {settle:g} s."
            raise DataError("too-few-samples", problem, where={"channel": name})
        figures["rms"][name] = float(np.sqrt(np.mean(e**2)))
        figures["largest"][name] = float(np.abs(e).max())
        figures["mean"][name] = float(e.mean())
        figures["signal"][name] = float(np.nanstd(true[name][late]))
        figures["deviation"][name] = float(np.sqrt(np.mean(estimate.deviations[name][late] ** 2)))
    model = estimate.filter.process
    complete = all(name in truth.names for name in model.carried.names)
    values: Any = nees(estimate, truth) if complete else None
    span = float(times[-1] - times[0])
    return Comparison(
        tuple(names), figures["rms"], figures["largest"], figures["mean"], figures["signal"], figures["deviation"],
        errors, own, true, float(settle), estimate.seconds / span, values, freedoms(estimate),
    )  # fmt: skip


def _channels(estimate: Estimate, truth: Record, wanted: Sequence[str] | str | None) -> list[str]:
    if wanted is None:
        names = [name for name in estimate.record.names if name in truth.names]
        if not names:
            raise DataError(
                "missing-channel",
                f"the truth has none of the estimated channels ({', '.join(estimate.record.names[:12])}); it has "
                f"{', '.join(truth.names[:12])}.",
            )
        return names
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        for record, where in ((estimate.record, "the estimate"), (truth, "the truth")):
            require_name("channel", name, record.names, where)
    return names


def _share(error: float, signal: float, still: float = 1e-15) -> str:
    """Error of the signal in per cent; ``still``: root mean square [SI] of a channel that does not move, rounding."""
    return f"{100 * error / signal:.3g} %" if signal > still else "-"
