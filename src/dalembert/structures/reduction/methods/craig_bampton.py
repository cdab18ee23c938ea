"""Fixed-interface component modes (Hurty 1965, Craig and Bampton 1968), masters 1, slaves 2:

    B = -K22⁻¹ K21,   K22 Φ = M22 Φ Ω,   Φᵀ M22 Φ = I,   T = [[I, 0], [B, Φ]]
    M_red = [[M11 + Bᵀ M21 + M12 B + Bᵀ M22 B, (M12 + Bᵀ M22) Φ], [., I]],   K_red = diag(K11 + K12 B, Ω)

The masters keep their own names and meaning, so that parts assemble at equal names (`couple`).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.kept_modes import ModesKept, choose_modes
from dalembert.structures.reduction.partition import Names, Partition
from dalembert.structures.reduction.reduction import Interior, Reduction


def craig_bampton(
    system: SecondOrder,
    masters: Names,
    modes: ModesKept = 20,
    *,
    up_to: float | None = None,
    margin: float = 2.0,
) -> Reduction:
    """Fixed-interface component modes: static shapes of the masters and the lowest modes with the masters held.

    Parameters
    ----------
    system : SecondOrder, dense or sparse
    masters : coordinates, points or patterns: interfaces, loads, sensors
    modes : how many interior modes to keep (all there are, where there are fewer), or their numbers from 1, or
        ``None`` for all
    up_to : highest frequency of interest [rad/s], optional
        Instead of ``modes``: keeps interior modes up to ``margin`` times this frequency.
    margin : factor on ``up_to``, 2 as usual

    Returns
    -------
    Reduction
        Coordinates are the masters, then ``mode1``, ... with unit modal mass. ``interior`` has the constraint modes
        and all interior modes found.

    Examples
    --------
    >>> chain = SecondOrder(np.diag([1, 1, 1, 1, 0.5]), np.diag([2, 2, 2, 2, 1]) - np.eye(5, k=1) - np.eye(5, k=-1))
    >>> craig_bampton(chain, "x3", modes=1).system.coordinates
    ('x3', 'mode1')
    """
    split = Partition(system, masters)
    factor = split.factor()
    B = split.constraint_modes(factor)
    M22, K22 = split.part(system.M, 2, 2), split.part(system.K, 2, 2)
    found = choose_modes(M22, K22, modes, up_to, margin, factor)
    T = split.basis(B, found.shapes[:, found.at])
    # Held exactly: the block structure of K_red would otherwise have rounding between its blocks.
    K = _block_diagonal(split, system.K, T, found.squares[found.at])
    names = (*split.names, *reduction.modal_names(split.names, found.numbers))
    method = "Craig-Bampton"
    reduced = reduction.project(system, T, names, method=method, K=K)
    interior = Interior(slaves=split.slaves, B=B, Phi=found.shapes, omega=found.omega, kept=found.kept)
    return Reduction(reduced, T, method=method, masters=split.names, full=system, interior=interior)


def _block_diagonal(split: Partition, K: Matrix, T: FloatArray, squares: FloatArray) -> FloatArray:
    m = len(split.first)
    static = T[:, :m]
    return np.asarray(scipy.linalg.block_diag(reduction.congruent(static, K, static, 1), np.diag(squares)))
