"""Sigma points: a few states that represent a mean and a covariance in a nonlinear function.

    X_i = x + L χ_i ,   L Lᵀ = P ;     mean = Σ w_i Y_i ;     covariance = Σ v_k V_k V_kᵀ

V are the deviations Y_i - mean with weights v_i, except for central differences, where they are the sums and
differences of opposite points. Every set has Σ w_i χ_i = 0 and reproduces I as covariance of χ.
Spherical simplex: Julier 2003; the formula is often printed with numerator 1 where j is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import casadi as ca
import numpy as np

from dalembert.core.declare import at_least, checked, count, number, positive
from dalembert.core.errors import DataError
from dalembert.expressions import Array, Expr


@dataclass(frozen=True, eq=False)
class PointSet:
    """The points of one rule for n states.

    positions : (n, N), χ.  mean_weights : (N,).  weights : (K,), v.
    opposite : 0, or n where V are differences and sums of the points i and i + n after a central one.
    """

    positions: Array
    mean_weights: Array
    weights: Array
    opposite: int = 0

    @property
    def count(self) -> int:
        return int(self.positions.shape[1])

    def __repr__(self) -> str:
        return f"PointSet({self.count} points for {len(self.positions)} states)"

    def mean(self, D: Expr) -> Expr:
        """Σ w_i D_i of deviations D (rows, N) from the first point; equal weights are added first."""
        total: Any = 0
        for weight in dict.fromkeys(self.mean_weights[1:]):
            if weight:
                same = [int(i) for i in np.flatnonzero(self.mean_weights == weight) if i]
                total = total + float(weight) * ca.sum2(D[:, same])
        return total

    def spread(self, E: Expr) -> Expr:
        """V (rows, K) of deviations E (rows, N) from the mean."""
        if not self.opposite:
            return E
        plus, minus = E[:, 1 : self.opposite + 1], E[:, self.opposite + 1 :]
        return ca.horzcat(plus - minus, plus + minus - 2 * ca.repmat(E[:, 0], 1, self.opposite))

    @property
    def own_spread(self) -> Array:
        """(n, K): V of the points χ themselves."""
        return np.asarray(ca.DM(self.spread(ca.DM(self.positions))), dtype=float)


class PointRule(Protocol):
    """A rule that makes sigma points for n states: any frozen dataclass with this method."""

    def points(self, n: States) -> PointSet: ...


_TOO_LOW = "kappa = {:g} is too low: n + kappa must be positive for the {} states."


def _star(n: int, reach: float) -> Array:
    """The centre, then n points on the positive and n on the negative axes."""
    return reach * np.hstack([np.zeros((n, 1)), np.eye(n), -np.eye(n)])


Kappa = Annotated[float, number, "κ, sets the weight of the mean"]
Alpha = Annotated[float, positive, "α, scales the distances"]
Beta = Annotated[float, number, "β, 2 for Gaussian errors"]
CentralWeight = Annotated[float, at_least(0.0, below=1.0), "weight of the mean"]
States = Annotated[int, count(1, 10_000), "number of states: the points of 10 000 take 1.6 GB"]
Distance = Annotated[float, at_least(1.0), "of the points; below 1 a covariance could become indefinite"]


@checked
@dataclass(frozen=True)
class Symmetric:
    """2n + 1 points: the mean, and two per column of L at the distance √(n + κ).

    kappa : weight κ/(n + κ) of the mean; None takes 3 - n (fourth moments of a Gaussian), or 0 from n = 3 on. A
        negative one may make covariances indefinite.

    Examples
    --------
    >>> Symmetric(kappa=1.0).points(2).mean_weights.round(4).tolist()
    [0.3333, 0.1667, 0.1667, 0.1667, 0.1667]
    """

    kappa: Kappa | None = None

    @checked
    def points(self, n: States) -> PointSet:
        kappa = max(3.0 - n, 0.0) if self.kappa is None else float(self.kappa)
        if n + kappa <= 0:
            raise DataError("out-of-range", _TOO_LOW.format(kappa, n))
        weights = np.r_[kappa, np.full(2 * n, 0.5)] / (n + kappa)
        return PointSet(_star(n, np.sqrt(n + kappa)), weights, weights)


@checked
@dataclass(frozen=True)
class Scaled:
    """2n + 1 points at the distance α √(n + κ); β = 2 adds the fourth moments of a Gaussian distribution.

    With a small α (1e-3 is often quoted) the weights are about ±1/α² and rounding grows as much; 1 needs no care.
    """

    alpha: Alpha = 1.0
    beta: Beta = 2.0
    kappa: Kappa = 0.0

    @checked
    def points(self, n: States) -> PointSet:
        if n + self.kappa <= 0:
            raise DataError("out-of-range", _TOO_LOW.format(self.kappa, n))
        reach = self.alpha**2 * (n + self.kappa)
        mean = np.r_[1.0 - n / reach, np.full(2 * n, 0.5 / reach)]
        weights = mean.copy()
        weights[0] += 1.0 - self.alpha**2 + self.beta
        return PointSet(_star(n, np.sqrt(reach)), mean, weights)


@checked
@dataclass(frozen=True)
class SphericalSimplex:
    """n + 2 points: the mean with weight w0 and a simplex around it (Julier 2003). The fewest evaluations.

    Examples
    --------
    >>> SphericalSimplex(0.25).points(2).positions.round(5).tolist()
    [[0.0, -1.41421, 1.41421, 0.0], [0.0, -0.8165, -0.8165, 1.63299]]
    """

    w0: CentralWeight = 0.25

    @checked
    def points(self, n: States) -> PointSet:
        w1 = (1.0 - self.w0) / (n + 1)
        positions = np.zeros((n, n + 2))
        for j in range(1, n + 1):
            size = np.sqrt(j * (j + 1) * w1)
            positions[j - 1, 1 : j + 1] = -1.0 / size
            positions[j - 1, j + 1] = j / size
        weights = np.r_[self.w0, np.full(n + 1, w1)]
        return PointSet(positions, weights, weights)


@checked
@dataclass(frozen=True)
class CentralDifference:
    """2n + 1 points at the distance h: Stirling's interpolation of second order (the divided-difference filter).

    h : √3 for Gaussian errors; at least 1.
    """

    h: Distance = 3.0**0.5

    @checked
    def points(self, n: States) -> PointSet:
        square = self.h**2
        mean = np.r_[1.0 - n / square, np.full(2 * n, 0.5 / square)]
        weights = np.r_[np.full(n, 0.25 / square), np.full(n, (square - 1) / (4 * square**2))]
        return PointSet(_star(n, self.h), mean, weights, opposite=n)


@dataclass(frozen=True)
class Cubature:
    """2n points of equal weight at the distance √n: the spherical-radial rule of degree three, no centre."""

    @checked
    def points(self, n: States) -> PointSet:
        weights = np.full(2 * n, 0.5 / max(n, 1))
        return PointSet(_star(n, np.sqrt(n))[:, 1:], weights, weights)
