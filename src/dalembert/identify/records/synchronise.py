"""Delays between channels or loggers, to a fraction of a sample, and their removal.

The delay τ of b(t) = a(t - τ) is where the cross-correlation is largest:

R(τ) = Re Σ_k conj(A_k) B_k e^{iω_kτ}   (zero-padded transforms, so nothing wraps round)

Its largest sample starts a least-squares match of the overlapping parts, a ≈ g b(t + τ) + c, by Gauss and Newton: the
correlation alone is biased towards zero delay, since a finite record has fewer samples at larger ones.
Shifting by a fraction of a sample is a convolution with a windowed sinc, flat to 1e-4 up to 0.9 of the Nyquist
frequency; at the ends the record is continued by reflection in its end points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.declare import instance
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.identify.records.checks import common_sample_time, list_records, name_record, require_samples
from dalembert.identify.records.preparation_step import accept_several, add_note, refuse_gaps
from dalembert.record import Record

__all__ = ["Synchronised", "delay", "shift", "synchronise"]

# Smallest correlation of two signals of the same quantity: noise as large as the signal in both of them gives 0.5.
WEAK = 0.5


def delay(reference: ArrayLike, signal: ArrayLike, dt: float = 1.0, *, longest: float | None = None) -> float:
    """Delay of one signal behind another [s], to a fraction of a sample.

    Parameters
    ----------
    reference, signal : (N,), (M,), no gaps; their means do not matter
    dt : sample time [s]
    longest : look only at delays up to this, either way [s]

    Examples
    --------
    >>> t = np.arange(400.0)
    >>> round(delay(np.exp(-((t - 150) / 9) ** 2), np.exp(-((t - 162.3) / 9) ** 2)), 6)
    12.3
    """
    if isinstance(reference, Record) or isinstance(signal, (Record, str)):
        raise DataError(
            "wrong-type",
            "a delay is that of two signals (arrays of one channel each), with their sample time.",
            Advice("For whole records use {}.", Call("da.identify.synchronise")),
        )
    dt = positive_number("dt", dt)
    return _find_delay(np.asarray(reference, dtype=np.float64), np.asarray(signal, dtype=np.float64), dt, longest)[0]


def _find_delay(a: FloatArray, b: FloatArray, dt: float, longest: float | None = None) -> tuple[float, float]:
    """Delay [s] and correlation there."""
    import scipy.fft

    if a.ndim != 1 or b.ndim != 1 or min(a.size, b.size) < 4 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise DataError(
            "wrong-shape", "a delay needs two signals of one dimension, of four samples or more, without gaps."
        )
    a, b = a - a.mean(), b - b.mean()
    power = np.sqrt((a @ a) * (b @ b))
    if power == 0.0:
        raise DataError("constant-channel", "a delay needs signals that change; one of them is constant.")
    n = scipy.fft.next_fast_len(a.size + b.size, real=True)
    S = np.conj(scipy.fft.rfft(a, n)) * scipy.fft.rfft(b, n)
    R = scipy.fft.irfft(S, n)
    lags = np.arange(n)
    lags[lags > n // 2] -= n
    limit = max(a.size, b.size) if longest is None else real_number("longest", longest) / dt
    R[np.abs(lags) > limit] = -np.inf
    best = int(R.argmax())
    lag, match = _match(a, b, int(lags[best]))
    return lag * dt, match if np.isfinite(match) else float(R[best] / power)


def _match(
    a: FloatArray, b: FloatArray, start: int, rounds: int = 30, half_length: int = 48, settled: float = 1e-10,
    lost: float = 1.5,
) -> tuple[float, float]:  # fmt: skip
    """Lag [samples] near ``start`` at which a ≈ g b(k + lag) + c fits best, and the correlation there.

    rounds : more rounds change the lag by less than 1e-3 samples for signals up to half the Nyquist frequency with
    noise up to 0.3 of their size, and by 0.01 for those up to 0.9 of it without noise.
    half_length : half the length of the interpolating filter, and its Kaiser window: exact to 1e-4 up to 0.9 of the
    Nyquist frequency (measured at a shift of half a sample; 0.95 of it: 1e-3).
    settled : samples: change that ends the search, far below the 1e-3 that noise of 1 % leaves
    lost : samples from the whole number it began at: another peak of the correlation
    """
    low, high = max(0, -start), min(len(a), len(b) - start)
    edge = 2 + min(half_length, (high - low) // 8)  # ends are interpolated less well
    if high - low - 2 * edge < 8:
        return float(start), float("nan")
    a, b = a[low:high], b[low + start : high + start]
    inner = slice(edge, len(a) - edge)
    fraction, match = 0.0, float("nan")
    for _ in range(rounds):
        moved = advance(b, fraction)
        terms = np.column_stack([moved, np.gradient(moved), np.ones(len(a))])[inner]
        gain, change, _ = np.linalg.lstsq(terms, a[inner], rcond=None)[0]
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN for a part that does not change
            match = float(np.corrcoef(moved[inner], a[inner])[0, 1])
        if gain <= 0.0 or not np.isfinite(match) or abs(fraction + change / gain) > lost:
            return float(start), match
        fraction += float(change / gain)
        if abs(change / gain) < settled:
            break
    return start + fraction, match


@accept_several
def shift(record: Record, delays: Mapping[str, float]) -> Record:
    """Move channels back by their known delays [s], so that all show the same instant; other channels stay.

    Samples at the ends for which a moved channel has no value are cut off.

    Examples
    --------
    >>> t = 0.1 * np.arange(300)
    >>> late = Record.from_channels(t, {"a": np.sin(t), "b": np.sin(t - 0.25)})
    >>> moved = shift(late, {"b": 0.25})
    >>> float(abs(moved["a"] - moved["b"])[50:-50].max()) < 1e-3
    True
    """
    instance(Mapping)("delays", delays)
    dt = record.sample_time
    by_column: dict[int, float] = {}
    for name, value in delays.items():
        for channel in record.expand(name):
            by_column[record.names.index(channel)] = real_number(f"the delay of {name!r}", value) / dt
    if not by_column:
        raise DataError("empty", "shift needs the delay of at least one channel, {name: seconds}.")
    refuse_gaps(record, list(by_column), "interpolation")
    data = record.data.copy()
    for i, lag in by_column.items():
        data[:, i] = advance(data[:, i].copy(), lag)
    lags = list(by_column.values())
    first = int(np.ceil(max(0.0, -min(lags)) - 1e-9))
    last = len(record) - int(np.ceil(max(0.0, *lags, 0.0) - 1e-9))
    require_samples(
        last - first, 2,
        f"no sample remains after shifting by {max(map(abs, lags)) * dt:.6g} s: the record is too short.",
    )  # fmt: skip
    text = ", ".join(f"{name} by {value:.6g} s" for name, value in delays.items())
    return add_note(record.between(float(record.time[first]), float(record.time[last - 1])), data[first:last],
                 f"shifted {text}")  # fmt: skip


def advance(
    x: FloatArray, lag: float, whole_shift: float = 1e-12, half_length: int = 48, kaiser: float = 8.0
) -> FloatArray:
    """x(k + lag), the fraction by a windowed sinc, ends reflected in their end points.

    whole_shift : samples: fraction of a lag that is rounding
    half_length, kaiser : of the interpolating filter and its window, as in `_match`.
    """
    import scipy.signal

    samples = round(lag)
    fraction = lag - samples
    if abs(fraction) > whole_shift:
        half = min(half_length, len(x) - 1)
        k = np.arange(-half, half + 1)
        taps = np.sinc(k + fraction) * np.i0(kaiser * np.sqrt(np.maximum(0.0, 1 - (k / (half + 1)) ** 2)))
        taps /= taps.sum()
        ends = 2 * x[0] - x[half:0:-1], 2 * x[-1] - x[-2 : -half - 2 : -1]
        x = scipy.signal.oaconvolve(np.concatenate([ends[0], x, ends[1]]), taps, mode="valid")
    result = np.empty_like(x)
    if samples >= 0:
        result[: len(x) - samples], result[len(x) - samples :] = x[samples:], x[-1]
    else:
        result[-samples:], result[:-samples] = x[:samples], x[0]
    return result


@frozen
class Synchronised:
    """Records brought to one clock; frozen.

    ``records`` : tuple of Records with the same times, those of the first; ``delays`` : (k,) [s], how far the clock of
    each was behind that of the first; ``correlations`` : (k,), 1 where the shared signals are the same.
    """

    records: tuple[Record, ...]
    delays: FloatArray
    correlations: FloatArray

    def join(self) -> Record:
        """One record of all channels; of a channel that several have, the first record's stays."""
        first = self.records[0]
        names, units, blocks = list(first.names), dict(first.units), [first.data]
        for run in self.records[1:]:
            new = [name for name in run.names if name not in names]
            if new:
                blocks.append(run[new])
                names += new
                units.update({name: run.units[name] for name in new})
        provenance = first.provenance
        return Record(first.time, np.column_stack(blocks), names, units, name=first.name, provenance=provenance)

    def table(self) -> str:
        """Delay and correlation of every record."""
        rows = [
            (f"{late:.6g}", f"{match:.4f}", run.name or f"record {k + 1}")
            for k, (run, late, match) in enumerate(zip(self.records, self.delays, self.correlations))
        ]
        return align_columns(("delay [s]", "correlation", "record"), rows, left=(-1,))

    def __repr__(self) -> str:
        return f"Synchronised: {len(self.records)} records of {len(self.records[0])} samples\n{self.table()}"


def synchronise(record: Sequence[Record], on: str | Sequence[str]) -> Synchronised:
    """Bring records of several loggers, or repeated tests, to the clock of the first by a signal that all hold.

    Parameters
    ----------
    record : two or more, of one sample rate, without gaps
    on : name of the shared channel, or its name in every record
        It must measure the same quantity in all: two sensors on different storeys respond with their own phase, which
        is motion and no delay.

    Returns
    -------
    Synchronised
        ``.records`` on common times (cut to what all cover), ``.delays``, ``.join()``.

    Examples
    --------
    >>> t = 0.01 * np.arange(2000)
    >>> impact = lambda t: np.exp(-((t - 4.0) / 0.2) ** 2)
    >>> a = Record.from_channels(t, {"hammer": impact(t)}, name="a")
    >>> b = Record.from_channels(t, {"hammer": impact(t - 0.123), "x": 2.0 * impact(t - 0.123)}, name="b")
    >>> both = synchronise([a, b], on="hammer")
    >>> both.delays.round(6)
    array([0.   , 0.123])
    >>> both.join().names
    ('hammer', 'x')
    """
    runs = list_records(record)
    if len(runs) < 2:
        raise DataError(
            "empty", "synchronise needs at least two records.",
            Advice("For channels of one record use {}.", Call("da.identify.delay"), Call("da.identify.shift")),
        )  # fmt: skip
    dt = common_sample_time(runs)
    names = [on] * len(runs) if isinstance(on, str) else list(on)
    if len(names) != len(runs):
        raise DataError(
            "wrong-shape", f"on must be one channel name, or {len(runs)}, one per record; got {list_names(names, {})}."
        )
    shared = []
    for k, (run, name) in enumerate(zip(runs, names)):
        require_name("channel", name, run.names, name_record(runs, k), where={"record": k + 1, "channel": name})
        refuse_gaps(run, range(len(run.names)), "interpolation")
        shared.append(run[name])
    delays_found = [(0.0, 1.0), *(_find_delay(shared[0], signal, dt) for signal in shared[1:])]
    for k, (late, match) in enumerate(delays_found):
        if match < WEAK:
            raise DataError(
                "weak-correlation",
                f"{names[k]!r} of {name_record(runs, k)} and {names[0]!r} of record 1 do not measure the same "
                f"quantity: their correlation is {match:.2f} at best (at {late:.6g} s). Name another channel.",
                where={"record": k + 1, "channel": names[k]},
            )
    first = max(int(np.ceil(-late / dt - 1e-9)) for late, _ in delays_found)
    last = min(int(np.floor(len(run) - 1 - late / dt + 1e-9)) for run, (late, _) in zip(runs, delays_found))
    first, last = max(first, 0), min(last, len(runs[0]) - 1)
    require_samples(last - first, 2, "the records do not overlap once their clocks agree.")
    time = runs[0].time[first : last + 1]
    moved = []
    for run, (late, _) in zip(runs, delays_found):
        samples = round(late / dt)
        rows = slice(first + samples, last + 1 + samples)  # by the record's own count: it may be longer than the first
        fraction = late / dt - samples
        data = np.column_stack([advance(column.copy(), fraction)[rows] for column in run.data.T])
        moved.append(add_note(run, data, f"synchronised on {names[0]}: clock moved by {late:.6g} s", time=time))
    delays, matches = np.array(delays_found).T
    return Synchronised(records=tuple(moved), delays=delays.copy(), correlations=matches.copy())
