"""Sigma-point Kalman filters: unscented (symmetric, scaled, spherical simplex), central-difference, cubature.

    X_i = x ⊞ L χ_i ,  X⁻_i = f(X_i, u) ,  x⁻ = mean of X⁻_i ,  P⁻ = Σ v_k V_k V_kᵀ + Q                  (spec 004, C7)
    Y_i = g(X_i) ,  S = Σ v_k W_k W_kᵀ + R ,  K = (Σ v_k V_k W_kᵀ) S⁻¹ ,  x = x⁻ ⊞ K (y - ŷ) ,  P = P⁻ - K S Kᵀ

The X_i of the second line are drawn anew from x⁻ and P⁻, so that S sees Q (redraw=True), or are the X⁻_i themselves as
in the source (redraw=False; S and K then know nothing of Q). Everything is written with deviations from the first
point, so that angles of outputs and manifolds need no care and huge weights lose no digits.

Square-root form: L is carried, never P. Reflections of [√v V, √Q] give L⁻; those of the joint array

    [ √v W   √R ]        [ √S    0 ]
    [ √v V   0  ]   →    [ K √S  L ]

give the gain and the corrected L at once, without a difference of covariances. Negative weights are taken off by
rank-one changes at the end.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DataError
from dalembert.estimate.engine import only_fresh
from dalembert.estimate.filtering import Filter
from dalembert.estimate.kernels import (
    factor,
    half_product,
    lower,
    rank_one,
    solve_left,
    solve_positive,
    solve_right,
    triangular,
)
from dalembert.estimate.matrices import pack, packed, triangle, unpack
from dalembert.estimate.noise import root
from dalembert.estimate.sigma_points import PointRule, Symmetric
from dalembert.estimate.tangent import carried, slope_of_shift
from dalembert.expressions import Array

SX, MX = ca.SX, ca.MX
MEAN_PASSES = 3  # towards the mean on a manifold; each leaves about the cube of what was left


class SigmaPointKalman(Filter):
    """Sigma-point filter of any model; on a linear one it is the Kalman filter.

    Parameters
    ----------
    model, outputs, inputs, Q, R, input_noise, dt, start, P0, compiled : see `Filter`.
    points : `Symmetric(kappa)`, `Scaled(alpha, beta, kappa)`, `SphericalSimplex(w0)`, `CentralDifference(h)` or
        `Cubature()`, or anything with their method.
    square_root : carry the factor of P: for covariances of very different size.
    redraw : draw new points after Q was added; False uses the propagated ones again, as spec 004 (C7) has it.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.estimate.Model(lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]],
    ...                           states=["angle", "speed"], outputs=["encoder"])
    >>> ukf = SigmaPointKalman(model, Q=1e-6, R=1e-4, P0=0.1, dt=0.01)
    >>> round(ukf.stepper().step([0.5])["angle"], 3)
    0.5
    """

    def __init__(
        self, model: Any, *, points: PointRule | None = None, square_root: bool = False, redraw: bool = True,
        **keywords: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, **keywords)
        self.points: PointRule = Symmetric() if points is None else points
        if not hasattr(self.points, "points"):
            raise DataError(f"points must be Symmetric(), Scaled(), SphericalSimplex(), ...; got {points!r}.")
        if square_root and not redraw:
            raise DataError("square_root=True draws new points after Q was added; redraw=False is for the plain form.")
        self.square_root, self.redraw = bool(square_root), bool(redraw)
        n = self.process.ne
        self.set = self.points.points(n)
        self.memory = self.process.nx + triangle(n) + (0 if redraw else n * self.set.count)

    # -- the column ------------------------------------------------------------------------------------------------
    def begin(self, x0: Array, P0: Array) -> Array:
        L = root(P0)
        parts = [x0, packed(L if self.square_root else P0)]
        if not self.redraw:
            parts.append((L @ self.set.positions).ravel(order="F"))
        return np.concatenate(parts)

    def _entries(self, m: Any) -> Any:
        first = self.process.nx
        return m[first : first + triangle(self.process.ne)]

    def _factor(self, m: Any) -> Any:
        n = self.process.ne
        if self.square_root:
            kind = MX if isinstance(m, MX) else SX if isinstance(m, SX) else ca.DM
            return kind(lower(n), self._entries(m))
        return factor(unpack(self._entries(m), n))

    def covariance(self, m: Any) -> Any:
        n = self.process.ne
        if self.square_root:
            L = self._factor(m)
            return ca.mtimes(L, L.T)
        return unpack(self._entries(m), n)

    # -- the recursion -----------------------------------------------------------------------------------------------
    def predict(self, m: Any, u: Any, p: Any, t: Any, dt: Any) -> Any:
        x = m[: self.process.nx]
        mean, E = self._propagated(x, self._factor(m), u, p, t, dt)
        V = self.set.spread(E)
        if self.square_root:
            kept = self._root(V, self.model.Q_factor(x, u, p, t, dt))
        else:
            kept = half_product(self._weighted(V), V, unrolled=self.compiled) + ca.tril(self.model.Q(x, u, p, t, dt))
        return ca.vertcat(mean, pack(kept), *([] if self.redraw else [ca.vec(ca.densify(E))]))

    def correct(self, m: Any, u: Any, y: Any, fresh: Any, p: Any, t: Any) -> tuple[Any, Any, Any]:
        x = m[: self.process.nx]
        if self.redraw:
            L = self._factor(m)
            E = ca.mtimes(L, ca.sparsify(self.set.positions))
        else:
            L = None
            E = ca.reshape(m[-self.process.ne * self.set.count :], self.process.ne, self.set.count)
        states = self._around(x, E, p, t)
        expected, W = self._seen(states, u, p, t)
        e = self.model.innovation(y, expected, fresh)
        R = self.model.R(x, u, p, t)
        S = half_product(self._weighted(W), W)
        S = ca.tril2symm(S) + R
        if self.square_root:
            shift, kept = self._square_root_gain(L, W, R, e, fresh)
        else:
            own = ca.sparsify(self.set.own_spread * self.set.weights)
            # V = L Ξ for points just drawn: the sums over the points come first, and are few
            C = ca.mtimes(L, own @ W.T) if self.redraw else ca.mtimes(self._weighted(self.set.spread(E)), W.T)
            C = ca.mtimes(C, ca.diag(fresh))
            Ls = factor(only_fresh(S, fresh))
            U = solve_right(Ls, C)
            shift = C @ solve_positive(Ls, e)
            kept = ca.tril(unpack(self._entries(m), self.process.ne)) - half_product(U)
        x1 = self.model.retract(x, shift, p, t)
        kept = self._moved(kept, x, shift, x1, p, t)
        rest = [] if self.redraw else [m[-self.process.ne * self.set.count :]]
        return ca.vertcat(x1, pack(kept), *rest), e, S

    def _moved(self, kept: Any, x: Any, shift: Any, x1: Any, p: Any, t: Any) -> Any:
        """P (or L) of errors about the corrected state."""
        if self.process.flat:
            return kept
        if not self.square_root:
            return carried(self.model, ca.tril2symm(kept), x, shift, x1, p, t)
        J = slope_of_shift(self.model, x, shift, x1, p, t)
        return kept if J is None else triangular(ca.mtimes(J, kept))

    def _square_root_gain(self, L: Any, W: Any, R: Any, e: Any, fresh: Any) -> tuple[Any, Any]:
        """K e and the corrected factor, from the joint array."""
        ny = self.process.ny
        V = ca.mtimes(L, ca.sparsify(self.set.own_spread))
        both = ca.vertcat(ca.mtimes(ca.diag(fresh), W), V)
        noise = ca.vertcat(factor(only_fresh(R, fresh)), type(L)(self.process.ne, ny))
        joint = self._root(both, noise)
        gain = joint[ny:, :ny]
        return gain @ solve_left(joint[:ny, :ny], e), ca.tril(joint[ny:, ny:])

    def cross(self, m: Any, u: Any, p: Any, t: Any, dt: Any) -> Any:
        L = self._factor(m)
        _, E = self._propagated(m[: self.process.nx], L, u, p, t, dt)
        own = ca.sparsify(self.set.own_spread * self.set.weights)
        return ca.mtimes(L, ca.mtimes(own, self.set.spread(E).T))

    # -- points ------------------------------------------------------------------------------------------------------
    def _around(self, x: Any, E: Any, p: Any, t: Any) -> list[Any]:
        """x ⊞ E_i for every point."""
        return [self.model.retract(x, e, p, t) if e.nnz() else x for e in ca.horzsplit(E)]

    def _propagated(self, x: Any, L: Any, u: Any, p: Any, t: Any, dt: Any) -> tuple[Any, Any]:
        """Mean of the states after the step, and the deviation of each from it (ne, N)."""
        E = ca.mtimes(L, ca.sparsify(self.set.positions))
        after = [self.model.step(point, u, p, t, dt) for point in self._around(x, E, p, t)]
        if self.process.flat:
            D = ca.horzcat(*[point - after[0] for point in after])
            shift = self.set.mean(D)
            return after[0] + shift, ca.horzcat(*[d - shift for d in ca.horzsplit(D)])
        centre = after[0]
        for _ in range(MEAN_PASSES):
            D = [self.model.difference(point, centre, p, t + dt) for point in after]
            shift = D[0] + self.set.mean(ca.horzcat(*[d - D[0] for d in D]))
            centre = self.model.retract(centre, shift, p, t + dt)
        return centre, ca.horzcat(*[self.model.difference(point, centre, p, t + dt) for point in after])

    def _weighted(self, V: Any) -> Any:
        return ca.mtimes(V, ca.diag(ca.DM(self.set.weights)))

    def _seen(self, states: list[Any], u: Any, p: Any, t: Any) -> tuple[Any, Any]:
        """Mean of the outputs and W (ny, K)."""
        seen = [self.model.outputs(state, u, p, t) for state in states]
        D = ca.horzcat(*[self.model.innovation(y, seen[0], 1) for y in seen])
        shift = self.set.mean(D)
        return seen[0] + shift, self.set.spread(ca.horzcat(*[d - shift for d in ca.horzsplit(D)]))

    def _root(self, V: Any, noise: Any) -> Any:
        """Factor of Σ v_k V_k V_kᵀ + noise noiseᵀ."""
        weights = self.set.weights
        more, less = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
        scaled = ca.mtimes(V[:, more.tolist()], ca.diag(ca.DM(np.sqrt(weights[more]))))
        L = triangular(ca.horzcat(scaled, noise))
        for k in less:
            L = rank_one(L, float(np.sqrt(-weights[k])) * V[:, int(k)], remove=True)
        return L
