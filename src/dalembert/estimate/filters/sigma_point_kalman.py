"""Sigma-point Kalman filters: unscented (symmetric, scaled, spherical simplex), central-difference, cubature.

    X_i = x ⊞ L χ_i ,  X⁻_i = f(X_i, u) ,  x⁻ = mean of X⁻_i ,  P⁻ = Σ v_k V_k V_kᵀ + Q
    Y_i = g(X_i) ,  S = Σ v_k W_k W_kᵀ + R ,  K = (Σ v_k V_k W_kᵀ) S⁻¹ ,  x = x⁻ ⊞ K (y - ŷ) ,  P = P⁻ - K S Kᵀ

The X_i of the second line are drawn anew from x⁻ and P⁻, so that S contains Q (redraw=True), or are the X⁻_i themselves
as in Palomba 2016 (redraw=False; S and K are then independent of Q). Everything is written with deviations from the
first point, so that angles of outputs and manifolds need no care and huge weights lose no digits.

Square-root form: the filter state holds L, never P. Reflections of [√v V, √Q] give L⁻; those of the joint array

    [ √v W   √R ]        [ √S    0 ]
    [ √v V   0  ]   →    [ K √S  L ]

give the gain and the corrected L at once, without a difference of covariances. Negative weights are subtracted by
rank-one changes at the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.estimate.algebra.covariance_factors import (
    EPSILON,
    factor,
    half_product,
    lower,
    rank_one,
    solve_left,
    solve_right,
    triangular,
    unroll,
)
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack
from dalembert.estimate.algebra.noise import root
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.engine.recursion import keep_measured
from dalembert.estimate.engine.tangent import slope_of_shift, transform_covariance
from dalembert.estimate.filters.sigma_points import Cubature, PointRule, Symmetric
from dalembert.expressions import Array, Expr

SX, MX = ca.SX, ca.MX
# Iterations of the mean on a manifold: each multiplies its error by about half the variance of the points, so that
# three leave 1e-5 of an error at points 0.2 rad apart.
MEAN_PASSES = 3


class SigmaPointKalman(Filter):
    """Sigma-point filter of any model; on a linear one it is the Kalman filter.

    Parameters
    ----------
    model, outputs, inputs, Q, R, input_noise, dt, start, P0, options : see `Filter`.
    points : `Symmetric(kappa)`, `Scaled(alpha, beta, kappa)`, `SphericalSimplex(w0)`, `CentralDifference(h)` or
        `Cubature()`, or anything with their method.
    square_root : the filter state contains the factor of P: for covariances of very different size.
    redraw : draw new points after Q was added; False uses the propagated ones again, as Palomba 2016 has it.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.estimate.UserModel(lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]],
    ...                           states=["angle", "speed"], outputs=["encoder"])
    >>> ukf = SigmaPointKalman(model, Q=1e-6, R=1e-4, P0=0.1, dt=0.01)
    >>> round(ukf.stepper().step([0.5])["angle"], 3)
    0.5
    """

    def __init__(
        self, model: object, *, points: PointRule | None = None, square_root: bool = False, redraw: bool = True,
        **keywords: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, **keywords)
        self.points: PointRule = Symmetric() if points is None else points
        if not hasattr(self.points, "points"):
            rules = [Call(f"da.estimate.{name}") for name in ("Symmetric", "Scaled", "SphericalSimplex", "Cubature")]
            raise DataError(
                "wrong-type", f"points must be a rule of sigma points, got {points!r}.", Advice("Use {}.", *rules)
            )
        if square_root and not redraw:
            problem = "the square-root form draws new points after Q was added."
            raise DataError("conflicting-arguments", problem, Advice("Leave {} out.", Argument("redraw", False)))
        self.square_root, self.redraw = bool(square_root), bool(redraw)
        self.factored = self.square_root  # correct() then returns the factor of S
        n = self.process.ne
        self.set = self.points.points(n)
        self.state_size = self.process.nx + triangle(n) + (0 if redraw else n * self.set.count)

    def __repr__(self) -> str:
        how = (", square root" if self.square_root else "") + ("" if self.redraw else ", points used again")
        return f"SigmaPointKalman({self.points}{how}; {self.process!r})"

    # -- the column ------------------------------------------------------------------------------------------------
    def begin(self, x0: Array, P0: Array) -> Array:
        L = root(P0)
        parts = [x0, pack_numbers(L if self.square_root else P0)]
        if not self.redraw:
            parts.append((L @ self.set.positions).ravel(order="F"))
        return np.concatenate(parts)

    def _entries(self, m: Expr) -> Expr:
        first = self.process.nx
        return m[first : first + triangle(self.process.ne)]

    def _factor(self, m: Expr) -> Expr:
        n = self.process.ne
        if self.square_root:
            kind = MX if isinstance(m, MX) else SX if isinstance(m, SX) else ca.DM
            return kind(lower(n), self._entries(m))
        return factor(unpack(self._entries(m), n))

    def covariance(self, m: Expr) -> Expr:
        n = self.process.ne
        if self.square_root:
            L = self._factor(m)
            return ca.mtimes(L, L.T)
        return unpack(self._entries(m), n)

    # -- the recursion -----------------------------------------------------------------------------------------------
    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x = m[: self.process.nx]
        mean, E = self._propagate(x, self._factor(m), u, p, t, dt)
        V = self.set.spread(E)
        if self.square_root:
            spread = self._root(V, self.model.Q_factor(x, u, p, t, dt))
        else:
            spread = half_product(self._weigh(V), V) + ca.tril(self.model.Q(x, u, p, t, dt))
        return ca.vertcat(mean, pack(spread), *([] if self.redraw else [ca.vec(ca.densify(E))]))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, count = m[: self.process.nx], self.process.ne * self.set.count
        if self.redraw:
            L = self._factor(m)
            expected, W = self._outputs_of_points(self._around(x, L, p, t), u, p, t)
        else:
            L = ca.reshape(m[-count:], self.process.ne, self.set.count)  # the propagated points replace it
            expected, W = self._outputs_of_points(self._at(x, L, p, t), u, p, t)
        e = self.model.innovation(y, expected, measured)
        R = self.model.R(x, u, p, t)
        if self.square_root:
            shift, spread, S = self._square_root_gain(L, W, R, e, measured)
        else:
            P = ca.tril(unpack(self._entries(m), self.process.ne))
            n, ny, many = self.process.ne, self.process.ny, self.set.count
            cost = (n + ny) * many * ny + n * n * (many if not self.redraw else 3 * ny)
            shift, spread, S = unroll("correction", self._plain_gain, cost, P, L, W, R, e, measured)
        x1 = self.model.retract(x, shift, p, t)
        spread = self._transform(spread, x, shift, x1, p, t)
        return ca.vertcat(x1, pack(spread), *([] if self.redraw else [m[-count:]])), e, S

    def _plain_gain(self, P: Expr, L: Expr, W: Expr, R: Expr, e: Expr, measured: Expr) -> tuple[Expr, Expr, Expr]:
        """K e, the corrected P (lower triangle), S."""
        S = ca.tril2symm(half_product(self._weigh(W), W)) + R
        # V = L Ξ for points just drawn: the sums over the points come first, and are few
        centre = ca.sparsify(self.set.own_spread * self.set.weights)
        C = ca.mtimes(L, centre @ W.T) if self.redraw else ca.mtimes(self._weigh(self.set.spread(L)), W.T)
        Ls = factor(keep_measured(S, measured))
        U = solve_right(Ls, ca.mtimes(C, ca.diag(measured)))
        spread, before = P - half_product(U), ca.diag(P)
        # what rounding leaves of a variance that a noise-free sensor takes away counts as zero
        variances = ca.diag(spread)
        spread = spread - ca.diag(variances * (ca.fabs(variances) <= 4 * self.process.ne * EPSILON * before))
        return U @ solve_left(Ls, e), spread, ca.densify(S)

    def _square_root_gain(self, L: Expr, W: Expr, R: Expr, e: Expr, measured: Expr) -> tuple[Expr, Expr, Expr]:
        """K e, the corrected L and the factor of S over the rows that were measured, from the joint array."""
        ny = self.process.ny
        both = ca.vertcat(ca.mtimes(ca.diag(measured), W), ca.mtimes(L, ca.sparsify(self.set.own_spread)))
        joint = self._root(both, ca.vertcat(factor(keep_measured(R, measured)), type(L)(self.process.ne, ny)))
        S, gain = joint[:ny, :ny], joint[ny:, :ny]
        return gain @ solve_left(S, e), ca.tril(joint[ny:, ny:]), ca.densify(S)

    def _transform(self, kept: Expr, x: Expr, shift: Expr, x1: Expr, p: Expr, t: Expr) -> Expr:
        """P (or L) of errors about the corrected state."""
        if self.process.flat:
            return kept
        if not self.square_root:
            return transform_covariance(self.model, ca.tril2symm(kept), x, shift, x1, p, t)
        J = slope_of_shift(self.model, x, shift, x1, p, t)
        return kept if J is None else triangular(ca.mtimes(J, kept))

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        L = self._factor(m)
        _, E = self._propagate(m[: self.process.nx], L, u, p, t, dt)
        centre = ca.sparsify(self.set.own_spread * self.set.weights)
        return ca.mtimes(L, ca.mtimes(centre, self.set.spread(E).T))

    # -- points ------------------------------------------------------------------------------------------------------
    def _around(self, x: Expr, L: Expr, p: Expr, t: Expr) -> Expr:
        """(nx, N): x ⊞ L χ_i for every point."""
        chi = ca.sparsify(self.set.positions)
        n, many = chi.shape
        if not self.process.flat:
            return self._at(x, ca.mtimes(L, chi), p, t)
        cost = n * many + 2 * sum(n - row for row in chi.sparsity().row())
        return unroll("draw", lambda x, L: (ca.densify(ca.repmat(x, 1, many) + ca.mtimes(L, chi)),), cost, x, L)[0]

    def _at(self, x: Expr, E: Expr, p: Expr, t: Expr) -> Expr:
        """(nx, N): x ⊞ E_i for every point."""
        if self.process.flat:
            return ca.repmat(x, 1, E.shape[1]) + E
        return ca.horzcat(*[self.model.retract(x, e, p, t) if e.nnz() else x for e in ca.horzsplit(E)])

    def _propagate(self, x: Expr, L: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> tuple[Expr, Expr]:
        """Mean of the states after the step, and the deviation of each from it (ne, N)."""
        after = self._each("step", self._around(x, L, p, t), u, self.model.select_own(p), t, dt)
        if self.process.flat:
            return self._centre(after)
        points = ca.horzsplit(after)
        centre, late = points[0], t + dt
        for _ in range(MEAN_PASSES):
            D = [self.model.difference(point, centre, p, late) for point in points]
            shift = D[0] + self.set.mean(ca.horzcat(*[d - D[0] for d in D]))
            centre = self.model.retract(centre, shift, p, late)
        return centre, ca.horzcat(*[self.model.difference(point, centre, p, late) for point in points])

    def _centre(self, values: Expr) -> tuple[Any, Any]:
        """Mean of columns and their deviations from it, both by way of the first column."""

        def code(values: Expr) -> tuple[Any, Any]:
            first = values[:, 0]
            D = values - ca.repmat(first, 1, values.shape[1])
            shift = self.set.mean(D)
            return first + shift, ca.densify(D - ca.repmat(shift, 1, values.shape[1]))

        mean, E = unroll("centre", code, 4 * values.numel(), values)
        return mean, E

    def _each(self, name: str, points: Expr, *arguments: Any) -> Expr:
        """A function of the process for every column of points."""
        function = self.process.functions[name]
        if not isinstance(points, MX):
            return ca.horzcat(*[function(point, *arguments) for point in ca.horzsplit(points)])
        constants = ca.vertcat(*arguments)  # one column, never empty: the C of a map cannot repeat an empty one
        count = points.shape[1]
        mapped = _of_point_and_rest(function).map(f"{name}{count}", "serial", count, [1], [])
        return mapped(points, constants)

    def _weigh(self, V: Expr) -> Expr:
        return V * ca.repmat(ca.DM(self.set.weights).T, V.shape[0], 1)

    def _outputs_of_points(self, states: Expr, u: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr]:
        """Mean of the outputs and W (ny, K); angles as the nearest to those of the first point."""
        readings = self._each("outputs", states, u, self.model.select_own(p), t)
        if any(self.process.wrapped):
            first = readings[:, 0]
            turned = [first + self.model.innovation(y, first, 1) for y in ca.horzsplit(readings)]
            readings = ca.horzcat(*turned)
        mean, E = self._centre(readings)
        return mean, self.set.spread(E)

    def _root(self, V: Expr, noise: Expr) -> Expr:
        """Factor of Σ v_k V_k V_kᵀ + noise noiseᵀ."""
        weights = self.set.weights
        more, less = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
        scaled = ca.mtimes(V[:, more.tolist()], ca.diag(ca.DM(np.sqrt(weights[more]))))
        L = triangular(ca.horzcat(scaled, noise))
        for k in less:
            L = rank_one(L, float(np.sqrt(-weights[k])) * V[:, int(k)], remove=True)
        return L


def _of_point_and_rest(function: ca.Function) -> ca.Function:
    """The same function, all arguments but the first in one column."""
    kind = SX if function.is_a("SXFunction") else MX
    sizes = [function.size1_in(k) for k in range(function.n_in())]
    point, constants = kind.sym("point", sizes[0]), kind.sym("rest", sum(sizes[1:]))
    parts = ca.vertsplit(constants, np.cumsum([0, *sizes[1:]]).tolist())
    return ca.Function(f"{function.name()}_of", [point, constants], [ca.densify(function(point, *parts))])


FILTERS.register("ukf", FilterKind(SigmaPointKalman, "unscented Kalman filter", machines=True))
FILTERS.register(
    "ckf", FilterKind(partial(SigmaPointKalman, points=Cubature()), "cubature Kalman filter", machines=True)
)
