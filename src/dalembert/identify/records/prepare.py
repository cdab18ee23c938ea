"""Signal conditioning of records before identification.

Every function takes a Record or a sequence of them, keeps names and units, and appends what it did to
``provenance["preparation"]``. Outputs and inputs must pass the same linear filter, else the filter becomes part of the
model: leave ``channels`` alone unless there is a reason.

Zero-phase filters (Butterworth forwards and backwards) shift nothing in time but are not causal: a sharp pulse gets
ripples before it, so identify from filtered hammer tests with care. ``zero_phase=False`` is causal and delays.
Their cut-off is where the gain is 1/√2, in both cases: forwards and backwards the analogue edges are moved by
c = (√2 - 1)^(-1/2n), since (1 + c^-2n)⁻¹ = 2^-1/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from dalembert.core.arguments import real_number, whole_number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.identify.records.channel_values import find_runs
from dalembert.identify.records.checks import common_sample_time, list_records, require_samples
from dalembert.identify.records.preparation_step import (
    accept_several,
    add_note,
    describe_channels,
    find_columns,
    refuse_gaps,
)
from dalembert.record import Record

__all__ = ["average", "bandpass", "cut", "decimate", "detrend", "highpass", "lowpass", "trim"]

Channels = str | Iterable[str] | None
DEGREES = range(21)  # of polynomials in time: powers of higher ones are alike in double precision


@accept_several
def detrend(
    record: Record, kind: Literal["mean", "linear"] | int = "mean", *, channels: Channels = None,
    over: tuple[float, float] | None = None,
) -> Record:  # fmt: skip
    """Take a mean, a straight line or a polynomial in time off channels.

    Parameters
    ----------
    record : Record or sequence of them; gaps and uneven time are allowed
    kind : "mean", "linear", or the degree of a polynomial
    channels : names; all when left out
    over : (start, stop) [s]
        Take the trend from this part only, such as the rest before a hammer impact: the mean of a decaying signal is
        no offset.

    Examples
    --------
    >>> test = Record([0.0, 1.0, 2.0, 3.0], [[5.0], [5.0], [6.0], [4.0]], ["a"])
    >>> detrend(test, over=(0.0, 1.0))["a"]
    array([ 0.,  0.,  1., -1.])
    """
    degree = {"mean": 0, "linear": 1}.get(kind) if isinstance(kind, str) else kind
    if isinstance(degree, bool) or not isinstance(degree, int) or degree not in DEGREES:
        raise DataError(
            "unknown-choice", f"kind must be 'mean', 'linear' or the degree of a polynomial up to 20, not {kind!r}."
        )
    places = find_columns(record, channels)
    t = record.time
    x = (t - t[0]) * (2.0 / max(t[-1] - t[0], np.finfo(np.float64).tiny)) - 1.0
    used = np.ones(len(t), dtype=bool) if over is None else (t >= over[0]) & (t <= over[1])
    basis = np.polynomial.chebyshev.chebvander(x, int(degree))
    data = record.data.copy()
    for i in places:
        good = used & np.isfinite(data[:, i])
        require_samples(
            int(np.count_nonzero(good)), degree + 1,
            f"channel {record.names[i]!r} has {np.count_nonzero(good)} samples to take a trend of degree {degree} "
            f"from{'' if over is None else f' between {over[0]:g} and {over[1]:g} s'}; more are needed.",
            where={"channel": record.names[i]},
        )  # fmt: skip
        if degree == 0:
            data[:, i] -= data[good, i].mean()
        else:
            data[:, i] -= basis @ np.linalg.lstsq(basis[good], data[good, i], rcond=None)[0]
    name = kind if isinstance(kind, str) else f"polynomial of degree {kind}"
    span = "" if over is None else f" of {over[0]:g} to {over[1]:g} s"
    return add_note(record, data, f"{name}{span} taken off{describe_channels(record, places)}")


@accept_several
def lowpass(
    record: Record, cutoff_hz: float, *, order: int = 4, zero_phase: bool = True, channels: Channels = None
) -> Record:
    """Butterworth low-pass filter.

    Parameters
    ----------
    record : Record or sequence of them, uniformly sampled, without gaps
    cutoff_hz : where the gain is 1/√2 [Hz], below half the sample rate
    order : of the filter; zero-phase filtering falls off twice as steeply
    zero_phase : forwards and backwards (no delay, not causal), or forwards only (causal, delays)
    channels : names; all when left out

    Examples
    --------
    >>> t = 0.01 * np.arange(1000)
    >>> test = Record(t, np.sin(2 * np.pi * t)[:, None], ["a"], ["m/s^2"])
    >>> float(abs(lowpass(test, 12.5)["a"] - test["a"])[100:-100].max()) < 1e-6
    True
    """
    return _filter(record, "lowpass", (cutoff_hz,), order, zero_phase, channels)


@accept_several
def highpass(record: Record, cutoff_hz: float) -> Record:
    """Butterworth high-pass filter of order 4, forwards and backwards; see :func:`lowpass`."""
    return _filter(record, "highpass", (cutoff_hz,))


@accept_several
def bandpass(record: Record, low_hz: float, high_hz: float) -> Record:
    """Butterworth band-pass filter of order 4 between two frequencies, forwards and backwards; see :func:`lowpass`."""
    return _filter(record, "bandpass", (low_hz, high_hz))


def _filter(
    record: Record,
    kind: str,
    edges_hz: tuple[float, ...],
    order: int = 4,
    zero_phase: bool = True,
    channels: Channels = None,
) -> Record:
    import scipy.signal

    n = whole_number("order", order, 1)
    rate = 1.0 / record.sample_time
    edges = [real_number("a cut-off frequency", edge) for edge in edges_hz]
    for edge in edges:
        if not 0.0 < edge < 0.5 * rate:
            raise DataError(
                "out-of-range",
                f"the cut-off {edge:g} Hz must lie between 0 and half the sample rate, {0.5 * rate:.6g} Hz.",
            )
    if len(edges) == 2 and edges[0] >= edges[1]:
        raise DataError("out-of-range", f"the band must run from low to high, got {edges[0]:g} to {edges[1]:g} Hz.")
    places = find_columns(record, channels)
    refuse_gaps(record, places, "a filter")
    sections = scipy.signal.butter(n, _design_edges(kind, edges, rate, n, zero_phase), kind, fs=rate, output="sos")
    pad = 3 * (2 * len(sections) + 1)
    if zero_phase and len(record) <= pad:
        raise DataError(
            "too-few-samples",
            f"the record has {len(record)} samples; filtering forwards and backwards needs over {pad}.",
        )
    data = record.data.copy()
    for i in places:
        x = data[:, i].copy()
        if zero_phase:
            data[:, i] = scipy.signal.sosfiltfilt(sections, x, padlen=pad)
        else:  # as if the first value had been there for ever
            data[:, i] = scipy.signal.sosfilt(sections, x, zi=scipy.signal.sosfilt_zi(sections) * x[0])[0]
    how = "zero phase" if zero_phase else "causal"
    band = " to ".join(f"{edge:g}" for edge in edges)
    return add_note(record, data, f"{kind} {band} Hz, order {n}, {how}{describe_channels(record, places)}")


def _design_edges(kind: str, edges: Sequence[float], rate: float, n: int, twice: bool) -> Any:
    """Edges [Hz] to design with, so that the gain at the wanted edges is 1/√2 after one pass or after two."""
    if not twice:
        return list(edges) if len(edges) == 2 else edges[0]
    c = (np.sqrt(2.0) - 1.0) ** (-0.5 / n)
    W = np.tan(np.pi * np.asarray(edges) / rate)  # analogue frequencies of the bilinear transform
    if kind == "bandpass":
        half = 0.5 * c * (W[1] - W[0])
        middle = np.sqrt(half**2 + W[0] * W[1])
        W = np.array([middle - half, middle + half])
    else:
        W = W * c if kind == "lowpass" else W / c
    moved = np.arctan(W) * rate / np.pi
    return moved if len(edges) == 2 else float(moved[0])


@accept_several
def decimate(record: Record, factor: int) -> Record:
    """Every ``factor``-th sample after an anti-alias filter without phase distortion.

    A symmetric FIR filter (linear phase, its delay removed) keeps up to 0.8 of the new Nyquist frequency within 1e-4
    and lets through less than 1e-4 of anything above that frequency; modes that lie above are gone, modes between 0.8
    and 1 of it are weakened, so choose the factor by the highest mode wanted. The first and last 25 samples or so of
    the result feel the ends of the record.

    Parameters
    ----------
    record : Record or sequence of them, uniformly sampled, without gaps
    factor : whole number from 2 on

    Examples
    --------
    >>> t = 0.01 * np.arange(4000)
    >>> slow = decimate(Record(t, np.sin(2 * np.pi * t)[:, None], ["a"]), 10)
    >>> len(slow), round(slow.sample_time, 6)
    (400, 0.1)
    >>> float(abs(slow["a"] - np.sin(2 * np.pi * slow.time))[40:-40].max()) < 2e-4
    True
    """
    attenuation = 80.0  # and lets through less than this of anything above it [dB].
    kept_band = 0.8  # The anti-alias filter of decimate keeps up to this share of the new Nyquist frequency ...
    import scipy.signal

    q = whole_number("factor", factor, 2)
    step = record.sample_time
    refuse_gaps(record, range(record.data.shape[1]), "the anti-alias filter")
    require_samples(
        len(record), 8 * q, f"the record has {len(record)} samples; decimation by {q} would leave fewer than 8."
    )
    count, beta = scipy.signal.kaiserord(attenuation, (1.0 - kept_band) / q)
    taps = scipy.signal.firwin(count | 1, 0.5 * (1.0 + kept_band) / q, window=("kaiser", beta))
    data = np.empty((-(-len(record) // q), record.data.shape[1]))
    for i, x in enumerate(np.ascontiguousarray(record.data.T)):
        data[:, i] = scipy.signal.resample_poly(x, 1, q, window=taps, padtype="line")
    text = f"decimated by {q} (from {1.0 / step:.6g} to {1.0 / step / q:.6g} Hz)"
    return add_note(record, data, text, time=record.time[::q])


@accept_several
def trim(record: Record, start: float | None = None, stop: float | None = None, *, restart: bool = False) -> Record:
    """The part between two times [s]; with ``restart`` its time begins at 0.

    Examples
    --------
    >>> test = Record([0.0, 1.0, 2.0, 3.0], [[5.0], [5.0], [6.0], [4.0]], ["a"])
    >>> trim(test, 1.0, 2.0, restart=True).time
    array([0., 1.])
    """
    piece = record.between(start, stop)
    time = piece.time - piece.time[0] if restart else piece.time
    return add_note(piece, piece.data, f"trimmed to {piece.time[0]:.6g} to {piece.time[-1]:.6g} s", time=time)


def cut(record: Record, *bad: tuple[float, float], shortest: int = 2) -> tuple[Record, ...]:
    """The parts of a record around its bad parts, as separate records that identification joins again.

    Parameters
    ----------
    record : Record
    bad : (start, stop) of every part to leave out [s], both ends included
    shortest : drop pieces of fewer samples

    Examples
    --------
    >>> test = Record(np.arange(10.0), np.arange(10.0)[:, None], ["a"])
    >>> [piece["a"].tolist() for piece in cut(test, (3.0, 5.0))]
    [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0, 9.0]]
    """
    good = np.ones(len(record), dtype=bool)
    for start, stop in bad:
        if not start <= stop:
            raise DataError("out-of-range", f"a bad part must run from its start to its stop, got {start} to {stop} s.")
        good &= (record.time < start) | (record.time > stop)
    pieces = []
    for first, last in zip(*find_runs(good)):
        if last - first >= shortest:
            t = record.time[first:last]
            text = f"cut to {t[0]:.6g} to {t[-1]:.6g} s"
            piece = record.between(float(t[0]), float(t[-1]))
            pieces.append(add_note(piece, piece.data, text))
    if not pieces:
        raise DataError("empty", f"no part of {shortest} samples or more remains outside the bad parts.")
    return tuple(pieces)


def average(record: Sequence[Record]) -> Record:
    """Mean of repeated tests, sample by sample: noise falls with the root of their number.

    The tests must be repetitions: the same input at the same instants of each record (:func:`synchronise` aligns them).
    Times are those of the first.

    Examples
    --------
    >>> a, b = (Record([0.0, 1.0], [[x], [2.0]], ["a"]) for x in (1.0, 3.0))
    >>> average([a, b])["a"]
    array([2., 2.])
    """
    runs = list_records(record)
    common_sample_time(runs)
    for k, run in enumerate(runs):
        if run.names != runs[0].names or len(run) != len(runs[0]) or run.units != runs[0].units:
            raise DataError(
                "conflicting-arguments",
                f"record {k + 1} differs from record 1 in channels, units or length ({len(run)} and {len(runs[0])} "
                "samples); an average needs repetitions.",
                Advice("Use {} first.", Call("Record.select"), Call("da.identify.trim")),
                where={"record": k + 1},
            )
    return add_note(runs[0], np.mean([run.data for run in runs], axis=0), f"mean of {len(runs)} records")
