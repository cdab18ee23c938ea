"""Free-interface component modes with residual flexibility and its inertia (Rubin 1975).

g the forces at the masters, Φ free modes with every rigid-body mode, F₁ unit forces at the masters:

    x = Φ η + Ψ g,   Ψ = (G - Φₑ Ωₑ⁻¹ Φₑᵀ) F₁
    x1 = Φ₁ η + Ψ₁ g   →   T = [Ψ Ψ₁⁻¹, Φ - Ψ Ψ₁⁻¹ Φ₁]   on (x1, η)

The masters keep their own names and meaning, so that parts assemble at equal names (`couple`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.kept_modes import KeptModes, ModesKept, choose_modes, residual_flexibility
from dalembert.structures.reduction.partition import Names, Partition
from dalembert.structures.reduction.reduction import Interior, Reduction

# Residual flexibility of the masters below this part of their flexibility is rounding of the difference.
RESIDUAL_TOLERANCE = 1e-10


def rubin(system: SecondOrder, masters: Names, modes: ModesKept = 20) -> Reduction:
    """Free-interface component modes with residual flexibility and its inertia (Rubin 1975).

    Free modes, rigid-body ones included, and residual attachment modes at the masters: exact in statics for any
    forces at the masters. Parameters and coordinates as for :func:`craig_bampton`; ``modes`` counts the modes of
    the whole unheld system and must include its rigid-body modes.
    """
    split, found, T, _ = free_interface(system, masters, modes)
    return free_reduction(split, found, T, "Rubin", {})


def free_interface(
    system: SecondOrder, masters: Names, modes: ModesKept
) -> tuple[Partition, KeptModes, FloatArray, FloatArray]:
    split = Partition(system, masters)
    found = choose_modes(system.M, system.K, modes)
    m = len(split.first)
    F = np.zeros((system.nq, m))
    F[split.first, np.arange(m)] = 1.0
    total, Psi = residual_flexibility(system, found, F)
    size = np.sqrt(np.diag(total[split.first]))
    at_masters = 0.5 * (Psi[split.first] + Psi[split.first].T)
    scaled = at_masters / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] <= RESIDUAL_TOLERANCE:
        raise DataError(
            "rank-deficient",
            f"the {len(found.numbers)} kept modes leave no residual flexibility at some of the {m} masters, so masters "
            "and modes are not independent.",
            Advice("Keep fewer modes, or use {}.", Call("da.structures.craig_bampton")),
        )
    attachment = np.linalg.solve(at_masters, Psi.T).T
    Phi = found.shapes[:, found.at]
    T = np.hstack([attachment, Phi - attachment @ Phi[split.first]])
    T[split.first] = np.eye(m, T.shape[1])  # as it is but for rounding
    return split, found, T, Phi


def free_reduction(
    split: Partition, found: KeptModes, T: FloatArray, method: str, changes: dict[str, Any]
) -> Reduction:
    system, m = split.system, len(split.first)
    names = (*split.names, *reduction.modal_names(split.names, found.numbers))
    reduced = reduction.project(system, T, names, method=method, **changes)
    shapes = found.shapes[split.second]
    interior = Interior(slaves=split.slaves, B=T[split.second, :m], Phi=shapes, omega=found.omega, kept=found.kept)
    return Reduction(reduced, T, method=method, masters=split.names, full=system, interior=interior)
