"""Divergence of a filter: found in what its samples tell, and explained.

A sample is of no use where it is not finite, where S = H P⁻ Hᵀ + R is singular (a reading the filter is sure of cannot
be weighed: ln det S = -∞), where a variance is negative or has grown beyond all measure, and where innovations have
been absurd for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.expressions import Array, Kernel

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter

MX = ca.MX
ABSURD = 1e8  # innovations² in units of their covariance, per output
PATIENCE, LEAST = 100, 10  # samples in a row that are absurd; of a short record all, if they are at least so many
NEGATIVE = 1e-6  # of the largest variance of a channel: more is no rounding
BLOW_UP = 1e20  # times the variance to begin with
SINGULAR = 64 * 2.0**-52  # eigenvalue of S, or of its factor, in units of its variances, per output


class DivergenceMonitor:
    """Looks for divergence in what a filter tells."""

    def __init__(self, filter_: Filter) -> None:
        self.filter, self.columns = filter_, filter_.native.columns
        self.ny = filter_.process.ny
        self.row = 0  # absurd samples in a row so far
        self.first: float | None = None  # largest variance of the first samples

    def find(self, block: Array, data: Array, m: Array, end: bool = False) -> tuple[int, str] | None:
        """Number of the sample from which on the estimate is of no use, and why.

        block : (k, ·) what the samples tell.  data : (k, ·) the samples.  m : memory before the first of them.
        end : no more are to come.
        """
        columns = self.columns
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum()  # quick, and tells nearly always that all is well
        if not np.isfinite(total):
            bad = ~np.isfinite(block).all(axis=1)
            if bad.any():
                k = int(bad.argmax())
                return k, lost(self.filter, block[k - 1, columns.filter_state] if k else m, data[k])
        variance = block[:, columns.variance]
        lowest, highest = variance.min(initial=0.0), variance.max(initial=0.0)
        if self.first is None:
            self.first = max(float(highest), 1e-300)
        found = self._variances(variance) if lowest < 0 or highest > BLOW_UP * self.first else None
        return found or self._absurd(block[:, columns.nis], end)

    def _variances(self, variance: Array) -> tuple[int, str] | None:
        """One that is negative by more than rounding, or beyond all measure."""
        assert self.first is not None
        wrong = (variance < -NEGATIVE * np.abs(variance).max(axis=0, initial=0.0)).any(axis=1)
        if wrong.any():
            k = int(wrong.argmax())
            name = self.filter.native.reported.names[int(variance[k].argmin())]
            return k, (
                f"the variance of {name!r} has become negative ({variance[k].min():.3g}) by rounding; use a "
                "square-root form, or a larger R."
            )
        huge = (variance > BLOW_UP * self.first).any(axis=1)
        if huge.any():
            k = int(huge.argmax())
            name = self.filter.native.reported.names[int(variance[k].argmax())]
            return k, (
                f"the variance of {name!r} has grown to {variance[k].max():.3g}; no output tells of it. Add a sensor, "
                "or leave the unstable part out of the model."
            )
        return None

    def _absurd(self, nis: Array, end: bool) -> tuple[int, str] | None:
        if nis.max() <= ABSURD * self.ny:
            self.row = 0
            return None
        for k in np.flatnonzero(np.diff(np.concatenate([[0], nis > ABSURD * self.ny, [0]]).astype(int))).reshape(-1, 2):
            length = int(k[1] - k[0]) + (self.row if k[0] == 0 else 0)
            if length >= PATIENCE:
                return int(k[0]), self._absurd_words(float(nis[k[0]]), length)
        behind = np.flatnonzero(~(nis > ABSURD * self.ny))
        self.row = len(nis) - 1 - int(behind[-1]) if len(behind) else self.row + len(nis)
        if end and LEAST <= len(nis) == self.row:  # a short record, all of it
            return 0, self._absurd_words(float(nis[0]), self.row)
        return None

    def _absurd_words(self, nis: float, length: int) -> str:
        R = self.filter.noise.R.constant()
        names = [] if R is None else _named(self.filter, R.diagonal() == 0)
        sure = f" R of {' and '.join(names)} is 0: the filter takes it as exact." if names else ""
        return (
            f"the sensors disagree with the model by {np.sqrt(nis / self.ny):.1e} standard deviations, "
            f"and did for {length} samples; the filter has lost the motion.{sure} Check units and signs of the "
            "channels and the start, or enlarge Q and R."
        )


def lost(filter_: Filter, m: Array, row: Array) -> str:
    """Why the sample `row`, taken in with the memory m before it, gave nothing finite."""
    found = cause(filter_, m, row)
    if found:
        return found
    form = "" if getattr(filter_, "factored", False) else ", or a square-root form"
    return (
        "the estimate is no longer finite; the filter has diverged. Check the start and P0, enlarge Q, use a smaller "
        f"dt{form}."
    )


def cause(filter_: Filter, m: Array, row: Array) -> str | None:
    """In words: Q or R that is no covariance there, or S that is singular; None where it is neither."""
    model = filter_.process
    kernel = filter_.cached("cause", lambda: _kernel(filter_))
    sizes = np.cumsum([model.nu, model.nu, model.ny, model.ny, 1])
    u0, u1, y, measured, t, dt = np.split(np.asarray(row, dtype=float), sizes)
    S, R, Q = kernel(m, u0, u1, y, measured, filter_.model.numbers, t, dt)
    there = measured > 0
    S, R = S.reshape(model.ny, model.ny)[np.ix_(there, there)], R.reshape(model.ny, model.ny)
    for symbol, matrix, names in (("R", R, model.outputs.names), ("Q", Q.reshape(model.ne, -1), model.errors.names)):
        wrong = ~np.isfinite(matrix.diagonal())
        if wrong.any() and (symbol == "R" or dt > 0):
            listed = " and ".join(repr(n) for n, w in zip(names, wrong, strict=True) if w)
            return f"the function of {symbol} gives no variance of {listed}: it is below 0 there, or not a number."
    if not np.isfinite(S).all() or not S.size:
        return None
    return _singular(filter_, S, R[np.ix_(there, there)], there)


def _singular(filter_: Filter, S: Array, R: Array, there: Any) -> str | None:
    """S, R : over the rows that were measured; S of a factored filter is its lower factor."""
    factored = getattr(filter_, "factored", False)
    variances = (S**2).sum(axis=1) if factored else S.diagonal()
    certain = variances <= 0
    if not certain.any():
        scale = np.sqrt(variances)
        if factored:
            vectors, values, _ = np.linalg.svd(S / scale[:, None])
            shape, lowest = vectors[:, -1], values[-1]
        else:
            found, vectors = np.linalg.eigh(S / np.outer(scale, scale))
            shape, lowest = vectors[:, 0], found[0]
        if lowest > SINGULAR * len(S):
            return None
        certain = np.abs(shape) > 0.1 * np.abs(shape).max()
    which = np.zeros(len(there), dtype=bool)
    which[np.flatnonzero(there)[certain]] = True
    names = _named(filter_, which)
    own = np.linalg.eigvalsh(R[np.ix_(certain, certain)])
    if not factored and own[0] > SINGULAR * own[-1] * len(own):
        return (
            f"rounding swallows the noise of {' and '.join(names)} (S is singular to working precision): R is too "
            "small beside P. Use a square-root form, or a larger R."
        )
    if len(names) == 1:
        return (
            f"the filter is sure of the reading of {names[0]} before it comes (S is singular): neither P nor R leaves "
            f"it open. Give {names[0]} a variance above 0 in R, or the states it shows one in Q."
        )
    return (
        f"the filter is sure how the readings of {' and '.join(names)} depend on each other (S is singular): R gives "
        "them no noise of their own. Give each a variance above 0 in R, or leave one out."
    )


def _named(filter_: Filter, which: Any) -> list[str]:
    return [repr(name) for name, w in zip(filter_.process.outputs.names, which, strict=True) if w]


def _kernel(filter_: Filter) -> Kernel:
    """(m, u before, u now, y, measured, p, t, Δt) -> S (or its factor), R, Q of that sample."""
    model, m = filter_.model, filter_.process
    sizes = {"m": filter_.state_size, "u0": m.nu, "u1": m.nu, "y": m.ny, "measured": m.ny, "p": len(model.numbers)}
    M, u0, u1, y, measured, p = (MX.sym(name, size) for name, size in sizes.items())
    t, dt = MX.sym("t"), MX.sym("dt")
    before = ca.if_else(dt > 0, filter_.predict(M, u0, p, t - dt, dt), M)
    S = filter_.correct(before, u1, y, measured, p, t)[2]
    R, Q = model.R(before[: m.nx], u1, p, t), model.Q(M[: m.nx], u0, p, t - dt, dt)
    outputs = [ca.densify(v) for v in (S, R, Q)]
    return Kernel(ca.Function("cause", [M, u0, u1, y, measured, p, t, dt], outputs), native=None)
