"""Energy-based ranking (Palomba, Richiedei and Trevisani 2015): interior modes that hold the energy under given forces.

Forces on the masters, F_k at ω_k, move masters by x1_k and interior modes by η_σk (complex amplitudes). The mean of
the kinetic and elastic energy over time is

    E = ¼ Σ_k Re y_kᴴ (K̄ + ω_k² M̄) y_k = E_masters + ½ Σ_σ Γ_σ        y = (x1, η)
    Γ_σ = Σ_k | ½ (ω_σ² + ω_k²) |η_σk|² + ω_k² Re(x̄1_kᵀ p_σ η_σk) |

where the bars are for the second sum in the whole, since (ω_σ² - ω²) η = ω² pᵀ x1 makes each term ½ (3 ω_σ² - ω_k²)
|η|². It is below zero for ω_σ < ω/√3 alone. With z = x2 - B x1 the sum over all modes is
½ (3 zᴴ K22 z - ω² zᴴ M22 z). A constant part moves no interior mode: the static shapes of the masters carry it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, positive
from dalembert.structures.ranking.harmonic_forces import Forces, amplitudes, amplitudes_at, frequencies, respond
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights


@checked
@dataclass(frozen=True)
class EnergyBasedRanking(RankingMethod):
    """Rank by the mean energy of interior modes under harmonic forces on masters, without damping."""

    forces: Annotated[Forces, amplitudes, "on masters"]
    harmonics: Annotated[float | Sequence[float], frequencies, "of the forces"]
    clearance: Annotated[float, positive, "relative distance from a natural frequency; nearer, motion is refused"] = (
        1e-7
    )

    def prepare(self, held: HeldMasters) -> Weigh:
        split = held.split
        F: Any = amplitudes_at(split.names, self.forces, self.harmonics)  # type: ignore[arg-type]
        moving = [k for k, omega in enumerate(self.harmonics) if omega > 0.0]  # type: ignore[arg-type]
        omegas = np.array(self.harmonics, dtype=np.float64)[moving]
        x = np.zeros((split.system.nq, len(moving)), dtype=np.complex128)
        for column, k in enumerate(moving):
            x[:, column] = respond(split.system, split.first, F[:, k], float(omegas[column]), self.clearance)
        z: Any = held.relative(x)
        Mz, drive = held.M22 @ z, held.coupling @ x[split.first] * omegas**2
        totals = 1.5 * np.sum(z.conj() * (held.K22 @ z), axis=0).real
        totals = totals - 0.5 * omegas**2 * np.sum(z.conj() * Mz, axis=0).real

        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            eta = Phi.T @ Mz
            signed = 0.5 * (squares[:, None] + omegas**2) * np.abs(eta) ** 2 + ((Phi.T @ drive).conj() * eta).real
            values = np.abs(signed).sum(axis=1)
            # all modes that were not computed are above ω/√3, where terms are positive
            above = len(squares) > 0 and bool((3.0 * squares[-1] >= omegas**2).all())
            left = float(np.maximum(totals - signed.sum(axis=0), 0.0).sum()) if above else np.inf
            total = float(values.sum()) + (left if above else 0.0)
            return Weights(values, values / total if total > 0.0 else values, left / total if total > 0.0 else left)

        return weigh


RANKINGS.register("energy-based-ranking", EnergyBasedRanking)
