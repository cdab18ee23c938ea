"""Linear models over a forward speed v: eigenvalues, ratios of amplitudes, and the speeds where they change.

M z̈ + v C₁ ż + (K₀ + v² K₂) z = 0        (Orsino 2016, eq. 5.21; Meijaard 2007)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import is_rounding
from dalembert.symbolic.modular.analysis.linear import LinearModel


@dataclass(frozen=True)
class SpeedModel:
    """The four matrices in the coordinates of ``names``."""

    names: tuple[str, ...]
    M: Array
    C1: Array
    K0: Array
    K2: Array

    def state_matrix(self, v: float) -> Array:
        """Of the state (z, ż) at one speed."""
        n = len(self.names)
        inverse = np.linalg.inv(self.M)
        return np.block([
            [np.zeros((n, n)), np.eye(n)], [-inverse @ (self.K0 + v**2 * self.K2), -v * inverse @ self.C1],
        ])  # fmt: skip

    def eigenvalues(self, v: float) -> Any:
        """Eigenvalues at one speed, sorted by real part, then imaginary part."""
        values = np.linalg.eigvals(self.state_matrix(v))
        real = is_rounding(values.imag, np.maximum(1.0, np.abs(values)))
        values[real] = values[real].real
        return values[np.lexsort((values.imag, values.real))]

    def ratio(self, v: float, eigenvalue: complex, above: str, below: str) -> complex:
        """Amplitude of one coordinate over that of another in the mode of an eigenvalue; infinite where it is."""
        dynamic = eigenvalue**2 * self.M + eigenvalue * v * self.C1 + self.K0 + v**2 * self.K2
        shape = np.linalg.svd(dynamic)[2][-1].conj()
        a, b = (shape[self.names.index(name)] for name in (above, below))
        return complex(a / b) if abs(b) > 0 else complex(np.inf)


def speed_model(
    models: Mapping[float, LinearModel], names: Sequence[str] | None = None, misfit: float = 1e-8
) -> SpeedModel:
    """M, C₁, K₀, K₂ from linear models at three or more speeds; checked to fit.

    names : of the coordinates, those of the models when left out
    misfit : largest, of a polynomial of degree two, relative to the largest entry: rounding of assembly
    """
    speeds = np.array(sorted(models))
    if len(speeds) < 3:
        raise DataError("too-few-samples", f"{len(speeds)} speeds; three are needed for a polynomial of degree two.")
    powers = np.vander(speeds, 3, increasing=True)
    fits = {}
    for key in ("M", "D", "K"):
        values = np.array([getattr(models[v], key) for v in speeds])
        flat = values.reshape(len(speeds), -1)
        fit = np.linalg.lstsq(powers, flat, rcond=None)[0]
        off = float(np.abs(powers @ fit - flat).max())
        if off > misfit * max(1.0, float(np.abs(values).max())):
            raise DataError("poor-fit", f"{key} is no polynomial of degree two in the speed (off by {off:.2g}).")
        fits[key] = fit.reshape(3, *values.shape[1:])
    first = models[float(speeds[0])]
    return SpeedModel(tuple(names or first.coordinates), fits["M"][0], fits["D"][1], fits["K"][0], fits["K"][2])


def find_changes(function: Callable[[float], bool], speeds: Iterable[float], digits: float = 1e-10) -> list[float]:
    """Speeds at which a condition changes between true and false, by bisection of the intervals of a grid."""
    grid = list(speeds)
    changes = []
    for low, high in pairwise(grid):
        before = function(low)
        if before == function(high):
            continue
        while high - low > digits * max(1.0, abs(high)):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if function(middle) == before else (low, middle)
        changes.append(0.5 * (low + high))
    return changes
