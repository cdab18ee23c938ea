"""The eleven inertia invariants of a flexible body, as the literature numbers them (MSC Adams; Shabana 2005, ch. 5).

With u₀ the place of a point, S its modes, s_j the mode j (column) and ŝ_a the row along axis a:

    I1 = ∫dm      I2 = ∫u₀ dm      I3 = ∫S dm      I4 = ∫ũ₀S dm      I5_j = ∫s̃_j S dm      I6 = ∫SᵀS dm
    I7 = ∫ũ₀ᵀũ₀ dm      I8_j = ∫ũ₀ s̃_j dm      I9_jk = ∫s̃_j s̃_k dm      I10_ab = ∫u₀_a ŝ_b dm      I11_ab = ∫ŝ_aᵀŝ_b dm

I8 and I9 have the same numbers as I10 and I11, since (ũ s̃)_ab = s_a u_b − δ_ab u·s:

    (I10_ab)_j = (I8_j)_ba,     (I10_aa)_j = ½ [(I8_j)_aa − (I8_j)_bb − (I8_j)_cc]       a, b, c different
    (I11_ab)_jk = (I9_jk)_ba,   (I11_aa)_jk = ½ [(I9_jk)_aa − (I9_jk)_bb − (I9_jk)_cc]

The order ũ₀ s̃_j matters: of s̃_j ũ₀, its transpose, the first line gives I10 with its axes exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray

if TYPE_CHECKING:
    from dalembert.model.flexible import FlexibleBodyData


def make_invariants(data: FlexibleBodyData) -> Mapping[str, Any]:
    """I1 to I11: I3, I4 (3, m); I5 (m, 3, m); I8 (m, 3, 3); I9 (m, m, 3, 3); I10 (3, 3, m); I11 (3, 3, m, m)."""
    P, Q = data.moments, data.products
    axial = np.stack([Q[1, 2] - Q[2, 1], Q[2, 0] - Q[0, 2], Q[0, 1] - Q[1, 0]])  # ∫ s_j × s_k dm
    identity = np.eye(3)
    along = np.einsum("aaj->j", P)
    between = np.einsum("aajk->jk", Q)
    return {
        "I1": data.mass,
        "I2": data.first_moment,
        "I3": data.translation,
        "I4": data.rotation,
        "I5": axial.transpose(1, 0, 2),
        "I6": data.modal_mass,
        "I7": data.inertia,
        "I8": np.einsum("baj->jab", P) - along[:, None, None] * identity,
        "I9": np.einsum("abkj->jkab", Q) - between[:, :, None, None] * identity,
        "I10": P,
        "I11": Q,
    }


def moments_from_eighth(I8: FloatArray) -> FloatArray:
    """I10 (3, 3, m), `moments`, from I8 (m, 3, 3)."""
    return _extract(I8)


def products_from_ninth(I9: FloatArray) -> FloatArray:
    """I11 (3, 3, m, m), `products`, from I9 (m, m, 3, 3)."""
    return _extract(I9)


def _extract(values: FloatArray) -> FloatArray:
    """Axes first: entry (a, b) from entry (b, a), and the trace taken off the diagonal."""
    entries = np.array(np.moveaxis(np.swapaxes(values, -1, -2), (-2, -1), (0, 1)))
    diagonal = np.array([entries[a, a] for a in range(3)])
    for a in range(3):
        entries[a, a] = diagonal[a] - 0.5 * diagonal.sum(axis=0)
    return entries
