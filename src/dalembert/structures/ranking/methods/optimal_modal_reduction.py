"""Optimal modal reduction (after Barbone, Givoli and Patlashenko 2003): interior modes by their force on the masters.

The masters feel the interior through Σ k_σ k_σᵀ / (ω_σ² - ω²) with k_σ = K12 φ_σ. The coefficient is the norm of a
term, divided by a power of the frequency,

    coefficient |k_σ|² / ω_σ^power,   power 0, 2 (at rest) or 4 (what masses add to static shapes)

    Σ_σ |k|² = tr K12 M22⁻¹ K21,   Σ |k|²/ω² = tr K12 K22⁻¹ K21,   Σ |k|²/ω⁴ = tr Bᵀ M22 B

The papers leave the power to the frequency of interest; this definition is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import ArgumentKind, Scope, checked
from dalembert.core.errors import DataError
from dalembert.linear import storage
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights, share_of


def _read_power(name: str, value: Any, scope: Scope) -> int:
    if isinstance(value, bool) or value not in (0, 2, 4):
        raise DataError("unknown-choice", f"{name} must be 0, 2 or 4, got {value!r}.")
    return int(value)


power_of_frequency = ArgumentKind("0, 2 or 4", _read_power)


@checked
@dataclass(frozen=True)
class OptimalModalReduction(RankingMethod):
    """Rank by the force of interior modes on the masters over a power of their frequency."""

    power: Annotated[int, power_of_frequency, "of the frequency under the square of the force"] = 0

    def prepare(self, held: HeldMasters) -> Weigh:
        K21 = storage.dense(held.split.part(held.split.system.K, 2, 1))
        if self.power == 0:
            followed = held.solve_mass(K21)
        else:
            followed = -held.B if self.power == 2 else held.factor.solve(held.M22 @ -held.B)
        some = K21 != 0.0
        total = float(np.sum(K21[some] * followed[some]))

        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            return share_of(np.sum((K21.T @ Phi) ** 2, axis=0) / np.abs(squares) ** (self.power / 2), total)

        return weigh


RANKINGS.register("optimal-modal-reduction", OptimalModalReduction)
