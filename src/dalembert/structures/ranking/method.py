"""What every ranking of interior modes works on, and the registry of rankings.

With masters 1 held, slaves 2 vibrate in the interior modes φ_σ of K22 φ = ω_σ² M22 φ, φᵀ M22 φ = 1. The masters move
them by inertia alone (Craig and Bampton 1968),

    B = -K22⁻¹ K21,    p_σ = (M12 + Bᵀ M22) φ_σ,    η_σ'' + ω_σ² η_σ = -p_σᵀ x1''

A method gives each mode a coefficient, and a share of a total. Since the modes are complete, Σ φ φᵀ M22 = 1, totals are
known from the matrices: what the modes that were not computed hold is the total less the sum of the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError
from dalembert.core.registry import Registry
from dalembert.linear import storage
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.reduction.partition import Partition, block


@dataclass(frozen=True)
class HeldMasters:
    """A system whose masters are held: M22 and K22 (s, s) with its factors, B (s, m), and M21 + M22 B (s, m)."""

    split: Partition
    M22: Matrix
    K22: Matrix
    factor: StiffnessFactor
    B: FloatArray
    coupling: FloatArray

    @classmethod
    def of(cls, split: Partition) -> HeldMasters:
        """Parts of a partition; an error names slaves that move freely."""
        factor = split.factor()
        B = split.constraint_modes(factor)
        M22 = split.part(split.system.M, 2, 2)
        coupling = storage.dense(split.part(split.system.M, 2, 1)) + M22 @ B
        return cls(split, M22, split.part(split.system.K, 2, 2), factor, B, np.asarray(coupling))

    def solve_mass(self, right: FloatArray) -> FloatArray:
        """M22⁻¹ of columns (s, m): zero where slaves without mass have no part, else infinite."""
        mass = np.asarray(self.M22.diagonal())
        massive, idle = np.flatnonzero(mass > 0.0), np.flatnonzero(mass <= 0.0)
        solution = np.zeros(right.shape)
        solution[massive] = StiffnessFactor(block(self.M22, massive, massive)).solve(right[massive])
        solution[idle] = np.where(right[idle] != 0.0, np.inf, 0.0)
        return solution

    def relative(self, x: Any) -> Any:
        """x2 - B x1 of motions (n, k): what the static shapes of the masters leave to interior modes."""
        return x[self.split.second] - self.B @ x[self.split.first]


class Weights(NamedTuple):
    """Of the k modes computed: coefficients that order them (k,) and shares of a total of 1 (k,), none negative.

    rest : largest sum of the shares of all other modes; NaN where a method has no total.
    """

    coefficients: FloatArray
    shares: FloatArray
    rest: float


Weigh = Callable[[FloatArray, FloatArray], Weights]  # of ω² (k,) and Φ (s, k), the lowest interior modes


class RankingMethod(ABC):
    """A ranking of interior modes: a frozen dataclass."""

    @abstractmethod
    def prepare(self, held: HeldMasters) -> Weigh:
        """What does not depend on the interior modes is computed once; the result weighs modes."""


RANKINGS: Registry[type[RankingMethod]] = Registry(
    "ranking of interior modes",
    package="dalembert.structures.ranking.methods",
    group="dalembert.rankings",
    error=DataError,
)


def share_of(values: FloatArray, total: float) -> Weights:
    """Coefficients whose sum over all modes is known."""
    total = max(total, float(values.sum()))  # the same but for rounding where all modes are computed
    if not total > 0.0:
        return Weights(values, np.zeros(len(values)), 0.0)
    return Weights(values, values / total, max(0.0, 1.0 - float(values.sum()) / total))
