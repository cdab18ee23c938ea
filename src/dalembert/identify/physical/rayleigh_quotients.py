"""Parameters from measured modes by their Rayleigh quotients: a convex problem (Palomba 2016, ch. 4).

With relative changes χ of the parameters, p = p₀ + s χ, A_j = s_j ∂M/∂p_j, B_j = s_j ∂K/∂p_j and φᵀ M φ = 1/ω²:

    φᵀ (ω² A_j - B_j) φ χ_j = -φᵀ (ω² M₀ - K₀) φ          one row per mode, relative errors of ω²
    minimise  ‖W (A χ - b)‖² + Σ_j λ_j χ_j²               within bounds

The source prints b with the other sign, which gives -χ. Where the first value of a parameter is zero s is 1 in its
unit. Only the row of a mode enters, so that an error of φ counts to second order. Shapes that were measured at all
coordinates are used as they are; else those of the model that resemble the measured ones, computed anew in each pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.declare import checked, count, mapping, not_negative
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress
from dalembert.expressions import Array
from dalembert.identify.records.checks import find_name
from dalembert.identify.structured.parametric_system import Affine
from dalembert.numerics.chain_least_squares import solve_bounded, triangularise

if TYPE_CHECKING:
    from dalembert.identify.physical.update import MatchedModes, ModeSearch

__all__ = ["RayleighQuotients"]


@checked
@dataclass(frozen=True)
class RayleighQuotients:
    """Method of :func:`update`: linear least squares on the Rayleigh quotients of the measured modes.

    Parameters
    ----------
    weights : of the modes, one number each, optional
        Equal where left out.
    regularisation : λ, of all parameters or by name
        Keeps parameters near their first values: the cost of a relative change of 1, in squared relative errors of ω².
    preconditioned : compare χ with A⁺b instead of A χ with b
        Not the same problem where bounds are active or the modes do not determine χ.
    measured_shapes : use shapes that were measured at all coordinates
        Their errors count to second order, but times the stiffness: noise in a stiff direction (along a beam) biases
        the result. Without them the shapes serve to pair modes.
    vector : use all rows of (ω² M - K) φ = 0 instead of its product with φ
        Needs shapes at all coordinates; an error of the shapes then counts to first order.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> def chain(k1, k2):
    ...     return SecondOrder(np.eye(2), [[k1 + k2, -k2], [-k2, k2]], coordinates=["a", "b"])
    >>> from dalembert.identify import update
    >>> measured = chain(k1=120.0, k2=80.0).modes()
    >>> update(chain, measured, {"k1": 100.0, "k2": 100.0}, method=RayleighQuotients()).values.round(6).tolist()
    [120.0, 80.0]
    """

    weights: ArrayLike | None = None
    regularisation: float | Mapping[str, float] = 0.0
    preconditioned: bool = False
    passes: Annotated[int, count(1), "linearizations with the shapes and matrices of the last values"] = 6
    vector: bool = False
    measured_shapes: bool = True

    def run(self, search: ModeSearch, bar: Progress, settled: float = 1e-9, slow: float = 1e-3) -> tuple[str, Array]:
        """Set the values of a search; status, and covariance of relative changes from deviations of frequencies.

        settled, slow : largest relative change in a pass that ends the passes, and in the last that is convergence
        """
        names = search.family.names
        shapes = self._measured_shapes(search)
        weights, cost = self._weights(len(search.target.frequencies)), self._regularisation(names)
        # the same information as a prior: rows of ln ω over its deviation are rows of ω² over twice that
        wide = 2.0 * float(search.target.frequency_deviations.mean())
        search.prior = np.where(cost > 0.0, wide / np.sqrt(np.where(cost > 0.0, cost, 1.0)), np.inf)
        search.before = search.at = search.point(search.values)
        low, high = ((bound - search.first) / search.scale for bound in (search.low, search.high))
        change = np.zeros(len(names))
        for k in range(self.passes):
            A, b, errors = self._rows(search, search.at, search.at.phi if shapes is None else shapes)
            W = np.repeat(weights, len(b) // len(weights))
            A, b, errors = W[:, None] * A, W * b, W[:, None] * errors
            b = b + A @ change  # of the whole change from the first values
            if self.preconditioned:
                inverse = np.linalg.pinv(A, rcond=1e-12)
                A, b, errors = np.eye(len(names)), inverse @ b, inverse @ errors
            m = len(names)
            rows = np.vstack([np.column_stack([A, -b]), np.column_stack([np.diag(np.sqrt(cost)), np.zeros(m)])])
            R = triangularise(rows)
            after = solve_bounded(R[:m, :m], R[:m, m], low, high)
            step, change = float(np.abs(after - change).max()), after
            search.iterations += 1
            search.keep(search.point(np.clip(search.first + search.scale * change, search.low, search.high)))
            bar.update((k + 1) / self.passes)
            if step <= settled or (shapes is not None and isinstance(search.family.model, Affine)):
                step = 0.0  # the rows are linear: another pass has the same
                break
        free = (change > low) & (change < high)
        inverse = np.linalg.pinv(R[:m, :m][:, free], rcond=1e-12)
        response = inverse @ inverse.T @ A[:, free].T @ errors
        covariance = np.zeros((m, m))
        covariance[np.ix_(free, free)] = response @ response.T
        status = "converged" if step <= slow else f"changed by {100 * step:.2g} % in the last of {self.passes} passes"
        return status, covariance

    def _measured_shapes(self, search: ModeSearch, blind: float = 1e-8) -> Array | None:
        """(n, k) at all coordinates of the model, where these were measured; None where they were not."""
        P = search.family.matrices(search.family.system(search.values)).P
        if not (self.measured_shapes or self.vector):
            return None
        if P.shape[0] >= P.shape[1] and np.linalg.svd(P, compute_uv=False)[-1] > blind:
            return np.asarray(np.linalg.lstsq(P, search.target.shapes, rcond=None)[0])
        if self.vector:
            raise DataError(
                "too-few-samples",
                f"the rows of a mode need its shape at all {P.shape[1]} coordinates; {P.shape[0]} were measured.",
                Advice("Leave out {}, or expand the shapes first.", Argument("vector")),
                evidence={"measured": P.shape[0], "coordinates": P.shape[1]},
            )  # fmt: skip
        return None

    def _weights(self, k: int) -> Array:
        weights = np.ones(k) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        fits = weights.shape == (k,) and bool(np.isfinite(weights).all()) and bool((weights >= 0.0).all())
        DataError.when(not fits, "wrong-shape", f"weights must be {k} numbers from zero on, one per measured mode.")
        return weights

    def _regularisation(self, names: list[str]) -> Array:
        given = self.regularisation
        if not isinstance(given, Mapping):
            return np.full(len(names), not_negative("regularisation", given))
        read: dict[str, Any] = mapping("parameter", not_negative)("regularisation", given)
        for name in read:
            find_name("parameter", name, names, "regularisation")
        return np.array([read.get(name, 0.0) for name in names])

    def _rows(self, search: ModeSearch, at: MatchedModes, shapes: Array) -> tuple[Array, Array, Array]:
        """A, b for the change from the values of ``at``, and the errors of b by columns of unit deviation."""
        M, K, target = at.matrices.M, at.matrices.K, search.target
        slopes = search.family.derivatives(at.values)
        rows, right, errors = [], [], []
        n, k = shapes.shape
        for i in range(k):
            square = target.frequencies[i] ** 2
            phi = shapes[:, i] / np.sqrt(square * float(shapes[:, i] @ (M @ shapes[:, i])))
            columns = np.array([s * (square * (d.M @ phi) - d.K @ phi) for s, d in zip(search.scale, slopes)]).T
            rest = square * np.asarray(M @ phi) - np.asarray(K @ phi)
            deviation = np.zeros((n, k))
            deviation[:, i] = 2.0 * square * target.frequency_deviations[i] * np.asarray(M @ phi)
            projection = 1.0 / np.sqrt(square * M.diagonal() + K.diagonal())[:, None] if self.vector else phi[:, None]
            if self.vector:
                rows.append(projection * columns)
                right.append(-projection[:, 0] * rest)
                errors.append(projection * deviation)
            else:
                rows.append(projection.T @ columns)
                right.append(-projection.T @ rest)
                errors.append(projection.T @ deviation)
        return np.vstack(rows), np.concatenate(right), np.vstack(errors)
