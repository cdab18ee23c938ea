"""Pairs of measured and computed modes, one to one, where few coordinates are measured.

    minimise  Σ (1 - MAC) + w min(|ln(f / f*)|, 3)

At few places many modes look alike (spatial aliasing), so that shapes alone do not decide: of several modes with a
similar MAC the nearest in frequency is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from dalembert.core.arrays import FloatArray


@dataclass(frozen=True)
class PairWeights:
    """Weight of frequencies beside shapes."""

    # A factor of e in frequency counts as 0.2 in MAC: models before an update are off by 30 % at most (0.05), while a
    # mode that looks alike by aliasing is a factor of 2 or more away (0.14).
    frequency: float = 0.2
    # Logarithm beyond which a frequency is far: rigid-body modes are infinitely far.
    far: float = 3.0
    # MAC of a good pair: an angle of 39° between the shapes; of orthogonal modes at most one is above 0.5.
    good_mac: float = 0.6


WEIGHTS = PairWeights()


def pair_modes(mac: FloatArray, measured: FloatArray, computed: FloatArray) -> np.ndarray[Any, np.dtype[np.intp]]:
    """(k,) place of the computed mode of every measured one, -1 where none remains.

    mac : (k, l);  measured, computed : (k,), (l,) frequencies, in one unit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(computed[None, :] / measured[:, None]))
    cost = (1.0 - mac) + WEIGHTS.frequency * np.minimum(np.nan_to_num(apart, nan=0.0), WEIGHTS.far)
    rows, columns = linear_sum_assignment(cost)
    found = np.full(len(measured), -1, dtype=np.intp)
    found[rows] = columns
    return found
