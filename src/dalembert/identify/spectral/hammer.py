"""Windows for hammer tests, and the damping they add.

Force window: 1 around the impact, 0 where there is only noise, with cosine flanks.
Exponential window: every channel times e^{-σ(t - t₀)}, so that the response has died out at the end of the record.
Since y = G u implies e^{-σt} y = G_σ (e^{-σt} u) with every pole of G_σ moved by -σ, exactly, also for sampled systems,
the damping added is known and is subtracted again: s = s_measured + σ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.declare import between, positive
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.identify.records.checks import list_records, read_channels
from dalembert.identify.records.preparation_step import add_note, find_columns, refuse_gaps
from dalembert.record import Record

__all__ = ["HammerWindows", "hammer_windows"]


@frozen
class HammerWindows:
    """Windowed hammer tests and the damping to subtract from models identified from them; frozen.

    ``records`` : tuple of Records; ``decay_rate`` : σ added to the decay of every mode [1/s];
    ``impacts`` : (k, nu, 2), start and stop of the force window in every record [s].
    """

    records: tuple[Record, ...]
    decay_rate: float
    impacts: FloatArray

    @property
    def record(self) -> Record:
        """The record, where there is one."""
        if len(self.records) > 1:
            raise DataError("not-unique", f"there are {len(self.records)} records; use the attribute records.")
        return self.records[0]

    def true_poles(self, eigenvalues: ArrayLike) -> ComplexArray:
        """Continuous-time eigenvalues [rad/s] without the damping of the window."""
        return np.asarray(eigenvalues, dtype=np.complex128) + self.decay_rate

    def true_damping(self, damping_ratios: ArrayLike, frequencies: ArrayLike) -> FloatArray:
        """Damping ratios without that of the window, from measured ones and frequencies |s| [rad/s].

        Examples
        --------
        >>> test = Record.from_channels(0.01 * np.arange(1000), {"f": np.eye(1000)[3], "a": np.sin(np.arange(1000.0))})
        >>> added = hammer_windows(test, "f", remaining=0.01)
        >>> added.true_damping([0.03], [50.0]).round(5)             # about 0.03 - σ/50
        array([0.02079])
        """
        w = np.asarray(frequencies, dtype=np.float64)
        z = np.asarray(damping_ratios, dtype=np.float64)
        s = w * (-z + 1j * np.sqrt(np.maximum(0.0, 1.0 - z**2))) + self.decay_rate
        result: FloatArray = -s.real / np.abs(s)
        return result

    def __repr__(self) -> str:
        return f"HammerWindows: {len(self.records)} records, decay rate {self.decay_rate:.6g} 1/s added"


def hammer_windows(
    record: Record | Sequence[Record], inputs: str | Iterable[str], outputs: str | Iterable[str] | None = None, *,
    width: float | None = None, remaining: float = 0.01,
) -> HammerWindows:  # fmt: skip
    """Force and exponential windows on hammer tests.

    Parameters
    ----------
    record : Record or sequence of them, each with one impact
    inputs, outputs : channel names; outputs are all others when left out
    width : length of the force window [s], centred on the peak; found from the force when left out
    remaining : value of the exponential window at the end of the longest record; 1 for none

    Returns
    -------
    HammerWindows
        ``.records`` for :func:`frf` or any method; ``.true_poles`` and ``.true_damping`` subtract the damping of the
        window.
    """
    runs = list_records(record)
    names_in, names_out = read_channels(runs, inputs, outputs)
    if not names_in:
        raise DataError(
            "missing-argument", "hammer windows need the channel of the hammer.",
            Advice("Name it with {}.", Argument("inputs")),
        )  # fmt: skip
    share = between(1e-12, 1.0)("remaining", remaining)
    if width is not None:
        positive("width", width)
    for run in runs:
        run.sample_time  # noqa: B018 - refuses uneven time
        refuse_gaps(run, find_columns(run, (*names_in, *names_out)), "a window")
    sigma = -np.log(share) / max(float(run.time[-1] - run.time[0]) for run in runs)
    windowed, impacts = [], np.empty((len(runs), len(names_in), 2))
    for k, run in enumerate(runs):
        t = run.time - run.time[0]
        data = run.data.copy()
        for c, i in enumerate(find_columns(run, names_in)):
            gate, impacts[k, c] = _force_window(data[:, i], t, width)
            data[:, i] *= gate
            impacts[k, c] += run.time[0]
        both = find_columns(run, (*names_in, *names_out))
        data[:, both] *= np.exp(-sigma * t)[:, None]
        windowed.append(add_note(run, data, f"force window; exponential window, decay rate {sigma:.9g} 1/s added"))
    return HammerWindows(records=tuple(windowed), decay_rate=float(sigma), impacts=impacts)


def _force_window(
    force: FloatArray, t: FloatArray, width: float | None, impact: float = 0.05
) -> tuple[FloatArray, tuple[float, float]]:
    """Window of one impact, and its flat part [s].

    impact : an impact lasts while the force exceeds this share of its peak: a half sine does so for 97 % of its length.
    """
    size = np.abs(force)
    peak = int(size.argmax())
    if width is not None:
        start, stop = t[peak] - 0.5 * width, t[peak] + 0.5 * width
    else:
        quiet = size <= impact * size[peak]
        before, after = np.flatnonzero(quiet[:peak]), np.flatnonzero(quiet[peak:])
        first = int(before[-1]) if len(before) else 0
        last = peak + int(after[0]) if len(after) else len(t) - 1
        spare = max(last - first, 4)  # as long again on either side: the ends of the pulse are below the limit
        start, stop = t[max(0, first - spare)], t[min(len(t) - 1, last + spare)]
    flank = 0.25 * (stop - start)
    outside = np.maximum(np.maximum(start - t, t - stop), 0.0)
    gate: FloatArray = np.where(outside < flank, 0.5 + 0.5 * np.cos(np.pi * np.minimum(outside / flank, 1.0)), 0.0)
    return gate, (float(start), float(stop))
