"""Idle freedoms at a pose: spins about the line of ball joints that no row prevents (see `mechanics.absolute.idle`)."""

from __future__ import annotations

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array

SEEN = 1e-8  # least effect of a unit speed of the spin on a row of unit length that prevents it


def free_spins(eqs: EquationsOfMotion, J: Array, q: Array, t: float) -> tuple[int, ...]:
    """Numbers of the spins that no row of J (rows, nv) holds at this pose."""
    if not eqs.spins:
        return ()
    Z = np.reshape(eqs.kernel("spins")(q, eqs.p, t)[1], (eqs.nv, len(eqs.spins)))
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    seen = np.abs((J / np.where(lengths > 0, lengths, 1.0)) @ Z).max(axis=0, initial=0.0)
    return tuple(int(k) for k in np.flatnonzero(seen <= SEEN * np.linalg.norm(Z, axis=0)))
