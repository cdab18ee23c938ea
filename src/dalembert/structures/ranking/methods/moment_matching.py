"""Moment matching (after Liao, Bai and Gao 2007): interior modes by the lowest moment of the motion of the masters.

    coefficient |p_σ|² / ω_σ²,     Σ_σ = tr (M12 + Bᵀ M22) K22⁻¹ (M21 + M22 B)

The terms Σ ω⁴ p pᵀ / (ω_σ² - ω²) that interior modes add to the dynamic stiffness of the masters begin with
ω⁴ Σ p pᵀ / ω_σ². Masters without inertial coupling, p = 0, are legal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights, share_of


@dataclass(frozen=True)
class MomentMatching(RankingMethod):
    """Rank by the first moment of the inertia that interior modes add to the masters."""

    def prepare(self, held: HeldMasters) -> Weigh:
        A = held.coupling
        total = float(np.sum(A * held.factor.solve(A)))

        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            return share_of(np.sum((A.T @ Phi) ** 2, axis=0) / squares, total)

        return weigh


RANKINGS.register("moment-matching", MomentMatching)
