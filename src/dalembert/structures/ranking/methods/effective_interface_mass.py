"""Effective interface mass (Kammer and Triller 1996): the mass by which interior modes pull at the masters.

    coefficient  mean over masters j of p_jσ² / Σ p_j²,      Σ_σ p_j² = [(M12 + Bᵀ M22) M22⁻¹ (M21 + M22 B)]_jj

A master without inertial coupling, Σ p_j² = 0, does not count. Both sums run over all interior modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, positive
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights, share_of


@checked
@dataclass(frozen=True)
class EffectiveInterfaceMass(RankingMethod):
    """Rank by the share of the mass that each interior mode holds at the masters, the mean over these."""

    zero: Annotated[float, positive, "share of the mass a master moves that is rounding: some ε²"] = 1e-24

    def prepare(self, held: HeldMasters) -> Weigh:
        A, split = held.coupling, held.split
        masses = np.einsum("sm,sm->m", A, held.solve_mass(A))
        moved = split.part(split.system.M, 1, 1).diagonal() + np.einsum("sm,sm->m", held.B, held.M22 @ held.B)
        counts = masses > self.zero * moved

        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            p = A[:, counts].T @ Phi
            return share_of(np.mean(p**2 / masses[counts, None], axis=0) if counts.any() else np.zeros(len(squares)),
                            float(counts.any()))  # fmt: skip

        return weigh


RANKINGS.register("effective-interface-mass", EffectiveInterfaceMass)
