"""Modes from outputs alone: free decays, correlations that decay like them (NExT), ERA and Ibrahim's method.

free decay      y(k) = C Aᵏ x₀, one column of initial states per test
NExT            white excitation makes R(τ) = E[y(t + τ) y_ref(t)ᵀ] = C A^{τ-1} G for τ ≥ 1: a free decay as well, one
                column per reference. R(0) is left out: it holds the white sensor noise (James, Carne & Lauffer 1995).
ERA             as with Markov parameters (Juang and Pappa 1985), decays in their place
Ibrahim (ITD)   Φ₁, Φ₂ the decays and the decays one sample later, stacked with delays; A Φ₁ = Φ₂ solved by the mean of
                two least squares, ½ [Φ₂ Φ₁ᵀ (Φ₁ Φ₁ᵀ)⁻¹ + Φ₂ Φ₂ᵀ (Φ₁ Φ₂ᵀ)⁻¹], whose damping biases cancel to first order

Without a measured force nothing is told of masses: shapes, frequencies and damping only.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.fft

from dalembert.core.arguments import numbered, real_number
from dalembert.core.arrays import FloatArray, Frozen
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.text import counted
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.realization import CLEAR_GAP, decompose, era_matrices, hankel, order_from_gaps
from dalembert.identify.records.data import Data, IdentificationWarning, read_data
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

Detrend = Literal["none", "mean", "linear"]
# Lags of a correlation, and the largest side of a matrix to decompose, when not told.
DEFAULT_LAGS = 512
FEWEST_LAGS = 64
LARGEST_SIDE = 900
# Energy of the second half of a decay over that of the first, beyond which it is none.
STAYS = 0.9
# |z| - 1 beyond rounding.
UNSTABLE = 1e-9
# Samples whose correlations are summed at a time.
BLOCK = 16384


class Decays(Frozen):
    """Free decays or correlations that are like them; frozen.

    values : (count, ny, nw), one column per test or reference; dt [s]; outputs, columns : names; kind : text.
    """

    values: FloatArray
    dt: float
    outputs: tuple[str, ...]
    columns: tuple[str, ...]
    kind: str
    units: Mapping[str, str]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def __init__(self, **fields: Any) -> None:
        self._freeze(**fields)

    @property
    def times(self) -> FloatArray:
        """(count,) [s] from the first value."""
        return self.dt * np.arange(len(self.values), dtype=np.float64)

    def record(self) -> Record:
        """The decays as a Record with channels ``"output, column"``."""
        names = [f"{output}, {column}" for output in self.outputs for column in self.columns]
        return Record(self.times, self.values.reshape(len(self.values), -1), names, name=self.kind)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.outputs), 'output')}, {counted(len(self.columns), 'column')}"
        return f"Decays ({self.kind}): {len(self.values)} samples, {sizes}, dt = {self.dt:g} s"


def free_decays(
    records: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *, start: float = 0.0
) -> Decays:
    """Free decays from records that hold nothing else, one column per record.

    Parameters
    ----------
    records, outputs : see :func:`read_data`
    start : float
        Time [s] after the beginning of every record from which the motion is free.
    """
    data = read_data(records, (), outputs)
    skip = round(real_number("start", start) / data.dt)
    count = min(data.lengths) - skip
    if start < 0.0 or count < 8:
        raise DataError(
            f"start = {start!r} s leaves {max(count, 0)} samples of the shortest record; at least 8 needed."
        )
    values = np.stack([y[skip : skip + count] for y in data.y], axis=2)
    _warn_of_forcing(values)
    return Decays(
        values=values, dt=data.dt, outputs=data.outputs, columns=numbered("test", data.segments),
        kind="free decays", units=dict(data.units), notes=(), provenance=dict(data.provenance),
    )  # fmt: skip


def correlation_decays(
    records: Record | Sequence[Record] | Data,
    outputs: str | Iterable[str] | None = None,
    *,
    references: str | Iterable[str] | None = None,
    lags: int | None = None,
    detrend: Detrend = "mean",
) -> Decays:
    """Correlation functions of outputs under ambient excitation (NExT), which decay as free motion does.

    Parameters
    ----------
    records, outputs, detrend : see :func:`read_data`
    references : names, optional
        Outputs with which all are correlated; all of them when left out.
    lags : int, optional
        How many, from one sample on. When left out, as many as stand out of the scatter of their estimates, at most
        512 or a tenth of the samples: later ones hide weak modes.

    Returns
    -------
    Decays
        Unbiased estimates, summed block by block.
    """
    data = read_data(records, (), outputs, detrend=detrend)
    wanted = data.outputs if references is None else (references,) if isinstance(references, str) else tuple(references)
    for name in wanted:
        if name not in data.outputs:
            raise DataError(unknown_name("output", name, data.outputs, "references"))
    count = min(DEFAULT_LAGS, max(data.samples // 10, 8)) if lags is None else lags
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 8:
        raise DataError(f"lags must be a whole number from 8 on, got {lags!r}.")
    data.require(2 * count, f"correlations over {count} lags", each=True)
    places = [data.outputs.index(name) for name in wanted]
    found = correlate(data.y, places, int(count))
    if lags is None:
        count = _reliable(found, places, data.samples)
    values = found[1 : count + 1]
    return Decays(
        values=values, dt=data.dt, outputs=data.outputs, columns=wanted, kind="correlations", units=dict(data.units),
        notes=(f"correlations with {', '.join(wanted)} from lag 1 to {count}; excitation taken for white noise",),
        provenance=dict(data.provenance),
    )  # fmt: skip


def correlate(parts: Sequence[FloatArray], references: Sequence[int], lags: int) -> FloatArray:
    """R(0) ... R(lags), (lags + 1, ny, references): mean of y(k + τ) y_ref(k) over all segments."""
    ny = parts[0].shape[1]
    total = np.zeros((lags + 1, ny, len(references)))
    number = np.zeros(lags + 1)
    step = max(BLOCK, 4 * lags)
    for y in parts:
        size = scipy.fft.next_fast_len(min(step, len(y)) + lags, real=True)
        for start in range(0, len(y), step):
            ahead = scipy.fft.rfft(y[start : start + step + lags], size, axis=0)
            here = scipy.fft.rfft(y[start : start + step, references], size, axis=0)
            product = ahead[:, :, None] * here.conj()[:, None, :]
            total += scipy.fft.irfft(product, size, axis=0)[: lags + 1]
        number += np.maximum(len(y) - np.arange(lags + 1), 0)
    return np.asarray(total / number[:, None, None])


def decay_era(
    decays: Decays | Record | Sequence[Record],
    order: int | None = None,
    *,
    outputs: str | Iterable[str] | None = None,
    rows: int | None = None,
    columns: int | None = None,
) -> Identified:
    """Modes from free decays or correlations by ERA.

    Parameters
    ----------
    decays : Decays, or records of free decays
    order, rows, columns : see :func:`era`
    outputs : names, for records

    Returns
    -------
    Identified
        Without inputs.

    Examples
    --------
    >>> t = 0.05 * np.arange(200)
    >>> bell = Record(t, (np.exp(-0.2 * t) * np.cos(6.0 * t))[:, None], ["strain"])
    >>> decay_era(bell, order=2).modes().damped_frequencies.round(6).tolist()
    [6.0]
    """
    source = decays if isinstance(decays, Decays) else free_decays(decays, outputs)
    a, b = _window(source, rows, columns)
    svd = decompose(hankel(source.values, a, b))
    n, why = _order(svd[1], order)
    made = era_matrices(source.values, a, b, n, svd)
    window = f"singular values of the Hankel matrix of {a} x {b} blocks"
    return _named(source, made.A, made.C, made.singular_values, "ERA", [why, window])


def next_era(
    records: Record | Sequence[Record] | Data,
    outputs: str | Iterable[str] | None = None,
    order: int | None = None,
    *,
    references: str | Iterable[str] | None = None,
    lags: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
    detrend: Detrend = "mean",
) -> Identified:
    """Modes from ambient records: :func:`correlation_decays`, then :func:`decay_era`."""
    found = correlation_decays(records, outputs, references=references, lags=lags, detrend=detrend)
    return decay_era(found, order, rows=rows, columns=columns)


def ibrahim(
    decays: Decays | Record | Sequence[Record],
    order: int | None = None,
    *,
    outputs: str | Iterable[str] | None = None,
    rows: int | None = None,
) -> Identified:
    """Modes from free decays or correlations by Ibrahim's time-domain method with double least squares.

    Parameters
    ----------
    decays : Decays, or records of free decays
    order : int, optional
        Number of states; at the last clear gap of the singular values when left out.
    outputs : names, for records
    rows : int, optional
        Delayed copies of the outputs that are stacked.
    """
    source = decays if isinstance(decays, Decays) else free_decays(decays, outputs)
    a, b = _window(source, rows, None)
    U, s, _ = decompose(hankel(source.values, a, b))
    n, why = _order(s, order)
    basis = U[:, :n]
    now, later = basis.T @ hankel(source.values, a, b), basis.T @ hankel(source.values, a, b, 1)
    A = double_least_squares(now, later)
    notes = [why, f"singular values of {a} delayed copies; two least squares averaged"]
    return _named(source, A, basis[: len(source.outputs)], s, "Ibrahim's method", notes)


def double_least_squares(now: FloatArray, later: FloatArray) -> FloatArray:
    """A of A now = later, the mean of two estimates whose noise biases are opposite; now, later : (n, columns)."""
    cross = later @ now.T
    first = np.linalg.solve(now @ now.T, cross.T).T
    second = np.linalg.solve(cross, later @ later.T).T  # Φ₂Φ₂ᵀ (Φ₁Φ₂ᵀ)⁻¹, transposed
    return np.asarray(0.5 * (first + second))


# ---- inside


def _warn_of_forcing(values: FloatArray) -> None:
    """Motion that is as large in the second half as in the first is not left to itself."""
    half = len(values) // 2
    whole = np.einsum("kij,kij->i", values, values)
    late = np.einsum("kij,kij->i", values[-half:], values[-half:])
    early = np.einsum("kij,kij->i", values[:half], values[:half])
    alive = whole > 0.0
    if (late[alive] / whole[alive]).sum() > STAYS * (early[alive] / whole[alive]).sum():
        warnings.warn(
            "the record does not decay: its second half is as large as its first, so this is hardly a free decay. Use "
            "ssi_data, ssi_cov or next_era for ambient records, a method with inputs for forced ones.",
            IdentificationWarning,
            stacklevel=4,
        )


def _reliable(found: FloatArray, references: Sequence[int], samples: int) -> int:
    """Last lag at which the correlations exceed four times the deviation of their estimates.

    var ρ̂ ≈ Σ ρ²(τ) / N over all τ at lags where ρ has died out (Bartlett).
    """
    count = len(found) - 1
    size = np.sqrt(found[0, references, range(len(references))])
    own = found[:, references, range(len(references))] / size**2
    deviation = float(np.sqrt((2.0 * (own**2).sum(axis=0) - 1.0).mean() / samples))
    above = np.flatnonzero(np.sqrt((own**2).mean(axis=1)) > 4.0 * deviation)
    last = int(above[-1]) if len(above) else 0
    return min(count, max(last, FEWEST_LAGS))


def _window(source: Decays, rows: int | None, columns: int | None) -> tuple[int, int]:
    count, ny, nw = source.values.shape
    for name, value in (("rows", rows), ("columns", columns)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if value is not None and (not whole or value < 1):
            raise DataError(f"{name} must be a whole number from 1 on, got {value!r}.")
    a = max(1, min(count // 2, LARGEST_SIDE // ny)) if rows is None else rows
    b = max(1, min(count - a, max(2 * LARGEST_SIDE // nw, 1))) if columns is None else columns
    if a + b > count:
        raise DataError(f"{a} rows and {b} columns need {a + b} samples of the decays; there are {count}.")
    return int(a), int(b)


def _order(values: FloatArray, order: int | None) -> tuple[int, str]:
    most = len(values)
    if order is not None:
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or not 1 <= order <= most:
            raise DataError(f"order must be a whole number from 1 to {most} (rows and columns given), got {order!r}.")
        return int(order), f"order {order} as asked"
    n, ratio = order_from_gaps(values)
    if ratio < CLEAR_GAP:
        warnings.warn(
            f"the singular values show no clear gap (largest {ratio:.2g}, after {n}): order {n} is a guess. "
            "Give order=..., or look at a stabilization diagram.",
            IdentificationWarning,
            stacklevel=3,
        )
        return n, f"order {n} is a guess: no clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})"
    return n, f"order {n} at the last clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})"


def _named(source: Decays, A: FloatArray, C: FloatArray, values: FloatArray, how: str, notes: list[str]) -> Identified:
    units = {name: unit for name, unit in source.units.items() if name in source.outputs}
    system = StateSpace(A, C=C, dt=source.dt, outputs=source.outputs, units=units)
    radius = float(np.abs(np.linalg.eigvals(A)).max())
    if radius > 1.0 + UNSTABLE:
        text = f"the model of order {len(A)} is unstable (largest |z| = {radius:.6g}): try another order or more data"
        warnings.warn(text + ".", IdentificationWarning, stacklevel=3)
        notes = [*notes, text]
    method = f"NExT and {how}" if source.kind == "correlations" else f"{how} of free decays"
    return Identified(
        system, method=method, singular_values=values, notes=[*source.notes, *notes], provenance=source.provenance
    )
