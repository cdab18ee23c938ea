"""Reactions that redundant joints leave open.

The multipliers λ and λ + Z c push alike for every c where Zᵀ A = 0: the reaction of a joint is unique where Z has no
share in its rows.
"""

from __future__ import annotations

import numpy as np

from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.constrained import matrices

UNIQUE = 1e-6  # share of a left null vector (of length 1) that a joint may have and still be called unique


def free_multipliers(A: Array, tolerance: float = matrices.RANK_TOLERANCE) -> Array:
    """Orthonormal basis (rows, k) of the multipliers that push nothing."""
    lengths = np.linalg.norm(A, axis=1)
    lengths = np.maximum(lengths, tolerance * lengths.max(initial=0.0))  # a row of rounding is none
    weights = 1.0 / np.where(lengths > 0, lengths, 1.0)
    Z = weights[:, None] * matrices.left_null_space(A * weights[:, None], tolerance)
    return np.asarray(np.linalg.qr(Z)[0]) if Z.size else Z


def unique_reactions(eqs: EquationsOfMotion, state: State, Z: Array) -> dict[str, bool]:
    """Whether the reaction is unique, by owner of rows (joints, gears, drivers, constraints)."""
    owners: dict[str, list[int]] = {}
    for k, row in enumerate(eqs.rows):
        owners.setdefault(row.owner, []).append(k)
    for joint in eqs.joints:
        owners.setdefault(joint.name, list(joint.rows))
    unique = {name: not Z.size or float(np.abs(Z[rows]).max(initial=0.0)) < UNIQUE for name, rows in owners.items()}
    return unique | _without_rows(eqs, state, Z)


def _without_rows(eqs: EquationsOfMotion, state: State, Z: Array) -> dict[str, bool]:
    """Of joints without rows, whose reactions follow from multipliers of others: those that push nothing."""
    joints = [joint for joint in eqs.joints if not joint.rows and joint.reaction >= 0]
    if not Z.size or not joints:
        return {}
    at_rest = (np.zeros(eqs.nv), np.zeros(eqs.nv))
    rest = (state.z, np.zeros(eqs.nu), eqs.p, state.t)
    none, *pushed = (
        eqs.kernel("reactions")(state.q, *at_rest, lam, *rest)[0] for lam in (np.zeros(len(eqs.rows)), *Z.T)
    )
    change = np.abs(np.array(pushed) - none).max(axis=0)
    size = sum(reaction_sizes(eqs))
    return {j.name: float(change[j.reaction : j.reaction + size].max()) < UNIQUE for j in joints}


def reaction_sizes(eqs: EquationsOfMotion) -> tuple[int, int]:
    """Components of the force and of the torque of a joint."""
    first = next(joint.reaction for joint in eqs.joints if joint.reaction >= 0)
    dim = eqs.reaction_channels.units[first : first + 3].count("N")
    return dim, 1 if dim == 2 else 3


def find_open_reactions(*states: State) -> list[str]:
    """Owners of rows whose reactions are not unique at any of the states: at a singular pose more are open."""
    left: dict[str, None] | None = None
    for state in states:
        eqs = state.eqs
        if left == {} or not eqs.rows:
            return []
        A = eqs.kernel("rows")(state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, state.t)[0]
        A = np.reshape(A, (len(eqs.rows), eqs.nv))
        Z = free_multipliers(A)
        Z[~A.any(axis=1)] = 0.0  # the row of a coordinate that slides: its multiplier is zero
        names = [name for name, unique in unique_reactions(eqs, state, Z).items() if not unique]
        left = dict.fromkeys(name for name in names if left is None or name in left)
    return list(left or ())
