"""Realizations with names: ERA, ERA/DC, and OKID followed by either.

From Y_k alone the model of noise-free data is exact for every observer order p. The combined form, which realizes
Γ_k = [Y_k, Yᵒ_k] at once, is biased for p > n/ny: the gain sequence of minimum norm is not that of an order-n system
(29 % error in the damping matrix of a three-storey frame). So Y_k is realized by default, and the gain found after it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.model import playback
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.hankel_windows import lags_of, whole, window
from dalembert.identify.realization.markov_sources import Pulse, levelled, of_observer, pulse_of
from dalembert.identify.realization.observer_gain import fitted_gain
from dalembert.identify.realization.okid import EXACT, ObserverMarkov, Start, okid
from dalembert.identify.realization.realization import (
    CLEAR_GAP,
    SVD,
    Realization,
    decompose,
    era_dc_matrices,
    era_matrices,
    hankel,
    order_from_gaps,
)
from dalembert.identify.records.data import Data, IdentificationWarning, read_data
from dalembert.identify.subspace.misfit import warn_if_doubtful
from dalembert.identify.subspace.subspace import model_of
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

# A model leaves this many times more of the outputs than its observer where the observer was too long; another must
# leave less than this share of that; samples of a record that are played; growth per sample that is no rounding.
UNPLAYED, BETTER = 4.0, 0.7
PLAYED, UNSTABLE = 20_000, 1e-6


def era(
    markov: ObserverMarkov | ArrayLike | Any,
    order: int | None = None,
    *,
    rows: int | None = None,
    columns: int | None = None,
    dt: float | None = None,
    inputs: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
    combined: bool = False,
) -> Identified:
    """Model from Markov parameters by the eigensystem realization algorithm.

    Parameters
    ----------
    markov : ObserverMarkov, or (count, ny, nu) array Y_0, Y_1, ..., or a result that holds ``values`` of that shape
    order : int, optional
        Number of states; at the last clear gap of the singular values of the Hankel matrix when left out.
    rows, columns : int, optional
        Block rows and columns of the Hankel matrix, ``rows + columns`` Markov parameters besides Y_0.
    dt, inputs, outputs : for an array, which does not know them
    combined : bool
        Realize the machine and the gain of an :class:`ObserverMarkov` at once; see :func:`okid_era`.

    Returns
    -------
    Identified
        Balanced: both gramians over the window are the singular values. With gain and innovation where ``markov``
        comes from :func:`okid`.

    Examples
    --------
    >>> decay = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1, 0], [1, 0], dt=0.1)
    >>> era(decay.markov(20), order=2, dt=0.1).system.poles().values.round(10).tolist()
    [(0.9-0.3j), (0.9+0.3j)]
    """
    return _realized(markov, order, rows, columns, None, (dt, inputs, outputs), combined=combined)


def era_dc(
    markov: ObserverMarkov | ArrayLike | Any,
    order: int | None = None,
    *,
    rows: int | None = None,
    columns: int | None = None,
    tau: int | None = None,
    gamma: int = 2,
    delta: int = 2,
    dt: float | None = None,
    inputs: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
    combined: bool = False,
) -> Identified:
    """Model from data correlations of Markov parameters (ERA/DC); arguments as for :func:`era`, and

    Parameters
    ----------
    tau : int, optional
        Samples between the correlation blocks; ``rows`` when left out, so that blocks share no noise.
    gamma, delta : int
        Number of further block rows and columns of correlations.
    """
    lags = lags_of(gamma, delta, tau)
    return _realized(markov, order, rows, columns, lags, (dt, inputs, outputs), combined=combined)


def hankel_matrix(markov: ObserverMarkov | ArrayLike | Any, rows: int, columns: int, shift: int = 0) -> FloatArray:
    """Block Hankel matrix H(shift) of Markov parameters: block (i, j) is Y_{shift+1+i+j}.

    Of a system it is the product of its observability matrix, A^shift and its controllability matrix
    (:func:`dalembert.linear.observability_matrix`, :func:`dalembert.linear.controllability_matrix`).

    Parameters
    ----------
    markov : as of :func:`era`, Y_0 first
    rows, columns : number of block rows and block columns
    shift : samples by which the first block is later than Y_1

    Returns
    -------
    (rows ny, columns nu)

    Examples
    --------
    >>> hankel_matrix([9.0, 1.0, 2.0, 3.0, 4.0], 2, 3).tolist()
    [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    a, b, k = whole("rows", rows, 1), whole("columns", columns, 1), whole("shift", shift, 0)
    need = a + b + k
    observer = markov if isinstance(markov, ObserverMarkov) else None
    pulse = of_observer(observer, need, False) if observer else pulse_of(markov, getattr(markov, "dt", 1.0), None, None)
    if len(pulse.values) < need:
        raise DataError(
            f"{a} block rows and {b} block columns from Y_{k + 1} on need {need - 1} Markov parameters besides Y_0; "
            f"there are {len(pulse.values) - 1}. Use smaller rows, columns or shift."
        )
    return hankel(pulse.values[1:], a, b, k)


def okid_era(
    records: Record | Sequence[Record] | Data,
    inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None,
    order: int | None = None,
    *,
    observer_order: int | None = None,
    correlations: bool = False,
    combined: bool = False,
    rows: int | None = None,
    columns: int | None = None,
    tau: int | None = None,
    gamma: int = 2,
    delta: int = 2,
    start: Start = "unknown",
    feedthrough: bool = True,
    detrend: Literal["none", "mean", "linear"] = "none",
) -> Identified:
    """Model, noise included, from records of inputs and outputs: OKID, then ERA or ERA/DC.

    Parameters
    ----------
    records, inputs, outputs, observer_order, start, feedthrough, detrend
        See :func:`okid`.
    order, rows, columns
        See :func:`era`.
    correlations : bool
        ERA/DC instead of ERA, with ``tau``, ``gamma``, ``delta`` as for :func:`era_dc`. Weakly excited modes come out
        worse by it, because correlations square the ratio of strong to weak.
    combined : bool
        Realize the machine and the observer gain at once. Biased where the observer is longer than it need be, so a
        warning is given for ``observer_order * outputs > order``.

    Returns
    -------
    Identified
        With the gain and the covariance of the innovation of the observer.

    Examples
    --------
    >>> swing = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1, 0], [1, 0], dt=0.1, inputs="push", outputs="angle")
    >>> push = np.random.default_rng(0).standard_normal(200)
    >>> t = 0.1 * np.arange(200)
    >>> angle = swing.response(Record(t, push[:, None], ["push"]))["angle"]
    >>> found = okid_era(Record(t, np.column_stack([push, angle]), ["push", "angle"]), "push", order=2)
    >>> bool(abs(found.frequencies_hz[0] - swing.modes().frequencies_hz[0]) < 1e-9)
    True
    """
    data = read_data(records, inputs, outputs, detrend=detrend, drift_matters=True)
    if order is not None:
        data.check_order(order)
    dc = lags_of(gamma, delta, tau) if correlations else None

    def realized(p: int | None) -> tuple[Identified, ObserverMarkov]:
        markov = okid(data, observer_order=p, order=order, start=start, feedthrough=feedthrough)
        return _realized(markov, order, rows, columns, dc, (None, None, None), combined=combined), markov

    found = realized(observer_order)[0] if observer_order is not None else _played_back(data, order, realized)
    warn_if_doubtful(data, found.system, model_of(feedthrough=feedthrough), rough=True)
    if data.means is not None:
        levels = np.average(np.array(data.means), axis=0, weights=data.lengths)
        found = found.replace(offsets=dict(zip((*data.inputs, *data.outputs), map(float, levels), strict=True)))
    return found


# ---- inside


def _played_back(
    data: Data, order: int | None, realized: Callable[[int | None], tuple[Identified, ObserverMarkov]]
) -> Identified:
    """The model with the automatic observer order, or a shorter one where its playback shows that it is too long.

    After a single blow the response to it is fitted sample by sample as far as the observer reaches, noise included;
    and with an unknown start the first samples are past only: a long observer may lose the blow altogether.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", IdentificationWarning)
        found, markov = realized(None)
    first, best, best_said = markov.order, _unexplained(found, data), said
    if best > UNPLAYED * float(np.mean(markov.relative_residual**2)) + EXACT:
        p = markov.order // 2
        while p >= max(1, -(-(order or found.order) // data.ny)):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", IdentificationWarning)
                try:
                    other, markov = realized(p)
                except (DataError, np.linalg.LinAlgError):  # its Markov parameters grow beyond all numbers
                    p //= 2
                    continue
            left = _unexplained(other, data)
            if left < BETTER * best:
                note = f"the observer of order {first} that noise asks for plays back worse than this one of {p}"
                found, best, best_said = other.replace(notes=[*other.notes, note]), left, said
            p //= 2
    for one in best_said:
        warnings.warn(one.message, one.category, stacklevel=3)
    return found


def _unexplained(model: Identified, data: Data) -> float:
    """Mean over the outputs of the share of their energy that the model, played back, leaves; over some samples."""
    s = model.system
    if float(np.abs(np.linalg.eigvals(s.A)).max(initial=0.0)) > 1.0 + UNSTABLE:
        return np.inf
    left = power = np.zeros(data.ny)
    for u, y in zip(data.u, data.y, strict=True):
        u, y = u[:PLAYED], y[:PLAYED]
        made = playback.outputs(s.A, s.B, s.C, s.D, u, y)
        left = left + np.einsum("ij,ij->j", y - made, y - made)
        power = power + np.einsum("ij,ij->j", y, y)
    return float(np.mean(left / np.maximum(power, np.finfo(float).tiny)))


def _realized(
    markov: Any, order: int | None, rows: int | None, columns: int | None,
    dc: tuple[int, int, int | None] | None, names: tuple[Any, Any, Any], *, combined: bool = False,
) -> Identified:  # fmt: skip
    if order is not None:
        whole("order", order, 1)
    observer = markov if isinstance(markov, ObserverMarkov) else None
    if combined and observer is None:
        raise DataError("combined=True needs the observer's Markov parameters: an ObserverMarkov from okid.")
    pulse = None if observer is not None else pulse_of(markov, *names)
    ny, nw = _sizes(observer, pulse, combined)
    count = None if pulse is None else len(pulse.values) - 1
    a, b, lags = window(count, ny, nw, order, rows, columns, dc, observer)
    if pulse is None:
        assert observer is not None
        pulse = of_observer(observer, a + b + (lags[0] + lags[1]) * lags[2] + 2 if lags else a + b + 1, combined)
    values, left, right = levelled(pulse.values[1:])
    n, why, svd = _order(values, a, b, order, observer)
    made = era_matrices(values, a, b, n, svd) if lags is None else era_dc_matrices(values, a, b, n, *lags)
    made = replace(made, B=made.B * right, C=made.C * left[:, None])
    told = f"Hankel matrix of {a} x {b} blocks" + (
        f", correlations with gamma = {lags[0]}, delta = {lags[1]}, tau = {lags[2]}" if lags else ""
    )
    notes = [*pulse.notes, why, f"singular values of the {told}"]
    method = ("ERA/DC" if lags else "ERA") if observer is None else ("OKID and ERA/DC" if lags else "OKID and ERA")
    return _named(made, pulse, observer, method + (", combined" if combined else ""), notes, combined)


def _sizes(observer: ObserverMarkov | None, pulse: Pulse | None, combined: bool) -> tuple[int, int]:
    if observer is not None:
        ny, nu = observer.D.shape
        return ny, nu + ny if combined else nu
    assert pulse is not None
    return pulse.values.shape[1], pulse.values.shape[2]


def _order(
    values: FloatArray, a: int, b: int, order: int | None, observer: ObserverMarkov | None
) -> tuple[int, str, SVD | None]:
    if order is not None:
        return order, f"order {order} as asked", None
    svd = decompose(hankel(values, a, b))  # correlations square them, which widens gaps between modes too
    most = len(svd[1]) // 2 or 1
    if observer is not None and observer.relative_residual.max() > EXACT:
        # the observer itself is a system of order p ny: with noise that gap says nothing of the machine
        most = min(most, max(observer.order * len(observer.outputs) // 2, 1))
    n, ratio = order_from_gaps(svd[1], most)
    if ratio < CLEAR_GAP:
        warnings.warn(
            f"the singular values show no clear gap (largest {ratio:.2g}, after {n}): order {n} is a guess. "
            "Give order=..., or look at a stabilization diagram.",
            IdentificationWarning,
            stacklevel=4,
        )
        return n, f"order {n} is a guess: no clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})", svd
    return n, f"order {n} at the last clear gap of the singular values (σ{n}/σ{n + 1} = {ratio:.3g})", svd


def _named(
    made: Realization, pulse: Pulse, observer: ObserverMarkov | None, method: str, notes: list[str], combined: bool
) -> Identified:
    nu = len(pulse.inputs)
    n = len(made.A)
    units = {name: unit for name, unit in pulse.units.items() if name in pulse.inputs + pulse.outputs}
    system = StateSpace(
        made.A, made.B[:, :nu], made.C, pulse.values[0][:, :nu], dt=pulse.dt, inputs=pulse.inputs,
        outputs=pulse.outputs, units=units,
    )  # fmt: skip
    radius = float(np.abs(np.linalg.eigvals(made.A)).max())
    if radius > 1.0 + 1e-9:
        _warn(f"the model of order {n} is unstable (largest |z| = {radius:.6g}); try another order or more data.")
    gain = innovation = None
    if observer is not None:
        if combined and observer.order * len(pulse.outputs) > n:
            text = (
                f"combined realization with an observer longer than it need be (p = {observer.order}, order {n}, "
                f"{len(pulse.outputs)} outputs): damping may be biased. Use combined=False"
            )
            _warn(text + ".")
            notes.append(text)
        gain, innovation, told = fitted_gain(system, observer, -made.B[:, nu:] if combined else None)
        notes.append(told)
    return Identified(
        system, method=method, gain=gain, innovation=innovation,
        singular_values=made.singular_values, notes=notes, provenance=pulse.provenance,
    )  # fmt: skip


def _warn(message: str) -> None:
    warnings.warn(message, IdentificationWarning, stacklevel=5)
