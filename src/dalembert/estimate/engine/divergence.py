"""Divergence of a filter: found in the results of its samples, and explained.

A sample is not usable where its results are not finite, where S = H P⁻ Hᵀ + R is singular (a reading that the filter is
certain of cannot be weighted: ln det S = -∞), where a variance is negative or has grown without bound, and where
innovations exceed their standard deviations by far for a long time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.findings import Advice, Finding
from dalembert.estimate.algebra.steady_gain import has_share, is_certain
from dalembert.expressions import Array, Kernel

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter

MX = ca.MX


def has_grown(variance: Any, first: float, growth: float = 1e20) -> Any:
    """Whether a variance has grown without bound: an unobserved unstable mode passes it, an observed one does not."""
    return variance > growth * first


class DivergenceMonitor:
    """Looks for divergence in the results of a filter."""

    def __init__(self, filter_: Filter) -> None:
        self.filter, self.columns = filter_, filter_.native.columns
        self.ny = filter_.process.ny
        self.row = 0  # successive samples above the limit of NIS so far
        self.first: float | None = None  # largest variance of the first samples

    def find(self, block: Array, data: Array, m: Array, end: bool = False) -> tuple[int, Finding] | None:
        """Number of the sample from which on the estimate is not usable, and why.

        block : (k, ·) results of the samples.  data : (k, ·) the samples.  m : filter state before the first of them.
        end : these are the last samples.
        """
        columns = self.columns
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum()  # quick, and finite nearly always
        if not np.isfinite(total):
            bad = ~np.isfinite(block).all(axis=1)
            if bad.any():
                k = int(bad.argmax())
                return k, explain_failure(self.filter, block[k - 1, columns.filter_state] if k else m, data[k])
        variance = block[:, columns.variance]
        lowest, highest = variance.min(initial=0.0), variance.max(initial=0.0)
        if self.first is None:
            self.first = max(float(highest), 1e-300)
        doubtful = lowest < 0 or has_grown(highest, self.first)
        finding = self._check_variances(variance) if doubtful else None
        return finding or self._check_innovations(block[:, columns.nis], end)

    def _check_variances(self, variance: Array, negative: float = 1e-6) -> tuple[int, Finding] | None:
        """One that is negative by more than rounding, or has grown without bound.

        negative : of the largest variance of a channel; rounding in Joseph's form leaves less than 1e-10.
        """
        assert self.first is not None
        names = self.filter.native.reported.names
        wrong = (variance < -negative * np.abs(variance).max(axis=0, initial=0.0)).any(axis=1)
        if wrong.any():
            k = int(wrong.argmax())
            name, lowest = names[int(variance[k].argmin())], float(variance[k].min())
            problem = f"the variance of {name!r} has become negative ({lowest:.3g}) by rounding."
            advice = (Advice("Use a square-root form, or a larger R."),)
            return k, Finding("not-positive-definite", problem, {"state": name}, {"variance": lowest}, advice)
        huge = has_grown(variance, self.first).any(axis=1)
        if huge.any():
            k = int(huge.argmax())
            name, highest = names[int(variance[k].argmax())], float(variance[k].max())
            problem = f"the variance of {name!r} has grown to {highest:.3g}; no output shows it."
            advice = (Advice("Add a sensor, or leave the unstable part out of the model."),)
            return k, Finding("hidden-mode", problem, {"state": name}, {"variance": highest}, advice)
        return None

    def _check_innovations(
        self,
        nis: Array,
        end: bool,
        per_output: float = 1e8,  # 1e4 standard deviations; metres read as millimetres give 1e3 at R of 1 mm
        patience: int = 100,  # successive samples above it: a filter with a wrong initial state needs fewer to recover
        short: int = 10,  # a shorter record must be above it as a whole, with at least this number of samples
    ) -> tuple[int, Finding] | None:
        limit = per_output * self.ny
        if nis.max() <= limit:
            self.row = 0
            return None
        for k in np.flatnonzero(np.diff(np.concatenate([[0], nis > limit, [0]]).astype(int))).reshape(-1, 2):
            length = int(k[1] - k[0]) + (self.row if k[0] == 0 else 0)
            if length >= patience:
                return int(k[0]), self._disagreement(float(nis[k[0]]), length)
        behind = np.flatnonzero(~(nis > limit))
        self.row = len(nis) - 1 - int(behind[-1]) if len(behind) else self.row + len(nis)
        if end and short <= len(nis) == self.row:  # a short record, all of it
            return 0, self._disagreement(float(nis[0]), self.row)
        return None

    def _disagreement(self, nis: float, length: int) -> Finding:
        R = self.filter.noise.R.constant()
        names = [] if R is None else _output_names(self.filter, R.diagonal() == 0)
        exact = f" R of {' and '.join(names)} is 0: the filter takes these readings as exact." if names else ""
        size = float(np.sqrt(nis / self.ny))
        return Finding(
            "diverged",
            f"the sensors differ from the model by {size:.1e} standard deviations, for {length} samples; the filter "
            f"has lost the motion.{exact}",
            evidence={"deviations": size, "samples": length},
            advice=(Advice("Check units and signs of the channels and the initial state, or enlarge Q and R."),),
        )


def explain_failure(filter_: Filter, m: Array, row: Array) -> Finding:
    """Why the sample `row`, taken with the filter state m before it, gave values that are not finite."""
    cause = find_cause(filter_, m, row)
    if cause is not None:
        return cause
    form = "" if getattr(filter_, "factored", False) else ", or a square-root form"
    advice = Advice(f"Check the initial state and P0, enlarge Q, or use a smaller sampling interval{form}.")
    return Finding("diverged", "the estimate is no longer finite; the filter has diverged.", advice=(advice,))


def find_cause(filter_: Filter, m: Array, row: Array) -> Finding | None:
    """Q or R that is no covariance there, or S that is singular; None where it is neither."""
    model = filter_.process
    kernel = filter_.cache("cause", lambda: _kernel(filter_))
    sizes = np.cumsum([model.nu, model.nu, model.ny, model.ny, 1])
    u0, u1, y, measured, t, dt = np.split(np.asarray(row, dtype=float), sizes)
    S, R, Q = kernel(m, u0, u1, y, measured, filter_.model.numbers, t, dt)
    there = measured > 0
    S, R = S.reshape(model.ny, model.ny)[np.ix_(there, there)], R.reshape(model.ny, model.ny)
    for symbol, matrix, names in (("R", R, model.outputs.names), ("Q", Q.reshape(model.ne, -1), model.errors.names)):
        wrong = ~np.isfinite(matrix.diagonal())
        if wrong.any() and (symbol == "R" or dt > 0):
            named = " and ".join(repr(n) for n, w in zip(names, wrong, strict=True) if w)
            problem = f"the function of {symbol} gives no variance of {named}: its value is negative or not a number."
            return Finding("not-positive-definite", problem, {"covariance": symbol})
    if not np.isfinite(S).all() or not S.size:
        return None
    return _explain_singular(filter_, S, R[np.ix_(there, there)], there)


def _explain_singular(filter_: Filter, S: Array, R: Array, there: Any) -> Finding | None:
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
            values, vectors = np.linalg.eigh(S / np.outer(scale, scale))
            shape, lowest = vectors[:, 0], values[0]
        if not is_certain(lowest, len(S)):
            return None
        certain = has_share(shape)
    which = np.zeros(len(there), dtype=bool)
    which[np.flatnonzero(there)[certain]] = True
    names = _output_names(filter_, which)
    named = " and ".join(names)
    noise = np.linalg.eigvalsh(R[np.ix_(certain, certain)])
    if not factored and not is_certain(noise[0], noise[-1] * len(noise)):
        problem = f"R of {named} is too small beside P: S is singular to working precision."
        advice = Advice("Use a square-root form, or a larger R.")
    elif len(names) == 1:
        problem = f"the filter is certain of the reading of {named} before it is taken (S is singular)."
        advice = Advice(f"Give {named} a variance above 0 in R, or the states that it shows one in Q.")
    else:
        problem = f"the filter is certain how the readings of {named} depend on each other (S is singular)."
        advice = Advice("Give each a variance above 0 in R, or leave one out.")
    return Finding("singular-innovation", problem, {"outputs": [name.strip("'") for name in names]}, advice=(advice,))


def _output_names(filter_: Filter, which: Any) -> list[str]:
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
    return Kernel(ca.Function("cause", [M, u0, u1, y, measured, p, t, dt], outputs))
