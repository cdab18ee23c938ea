"""Guyan reduction, and dynamic condensation, which is Guyan's at a frequency.

Masters 1, slaves 2:

    Guyan     T = [I; -K22⁻¹ K21], every matrix Tᵀ X T; frequencies never below the exact ones (Guyan 1965)
    dynamic   T = [I; -(K22 - ω² M22)⁻¹ (K21 - ω² M21)], exact at ω
"""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.reduction.partition import Names, Partition, make_reduction
from dalembert.structures.reduction.reduction import Reduction


def guyan(system: SecondOrder, masters: Names) -> Reduction:
    """Slaves follow the masters statically (Guyan 1965).

    Parameters
    ----------
    system : SecondOrder, dense or sparse
    masters : coordinates, points or patterns; :func:`choose_masters` proposes some

    Examples
    --------
    >>> chain = SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]], coordinates=["a", "b", "c"])
    >>> guyan(chain, "c").system.K.round(6).tolist()
    [[0.333333]]
    """
    split = Partition(system, masters)
    T = split.basis(split.constraint_modes(split.factor()))
    return make_reduction(split, T, "Guyan reduction")


def condense_dynamic(system: SecondOrder, masters: Names, frequency: float) -> Reduction:
    """Slaves follow as they do in undamped harmonic motion at one frequency: exact there.

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns
    frequency : ω ≥ 0 [rad/s]; 0 is :func:`guyan`
    """
    if not (np.isfinite(frequency) and frequency >= 0.0):
        raise DataError("negative", f"frequency must be a finite number of rad/s, not negative, got {frequency!r}.")
    split = Partition(system, masters, shift=float(frequency) ** 2)
    T = split.basis(split.constraint_modes(split.factor()))
    return make_reduction(split, T, f"dynamic condensation at {frequency:.6g} rad/s")
