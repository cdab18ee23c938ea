"""Free-interface component modes with residual flexibility (MacNeal 1971): `rubin` without the inertia of the residual.

M = diag(0, I) on (x1, η): all the mass is in the modes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.linear.second_order import SecondOrder
from dalembert.structures.reduction.kept_modes import ModesKept
from dalembert.structures.reduction.methods.rubin import free_interface, free_reduction
from dalembert.structures.reduction.partition import Names
from dalembert.structures.reduction.reduction import Reduction


def macneal(system: SecondOrder, masters: Names, modes: ModesKept = 20) -> Reduction:
    """Free-interface component modes with residual flexibility, its inertia and damping left out (MacNeal 1971).

    As :func:`rubin`, but the masters have no mass of their own: all of it is in the modes.
    """
    split, found, T, Phi = free_interface(system, masters, modes)
    m, k = len(split.first), Phi.shape[1]
    changes = {"M": scipy.linalg.block_diag(np.zeros((m, m)), np.eye(k))}
    for symbol in ("C", "G"):
        inner = Phi.T @ np.asarray(getattr(system, symbol) @ Phi)
        inner = 0.5 * (inner + inner.T) if symbol == "C" else 0.5 * (inner - inner.T)
        changes[symbol] = scipy.linalg.block_diag(np.zeros((m, m)), inner)
    return free_reduction(split, found, T, "MacNeal", changes)
