"""Derivatives of simple modes of M x″ + K x = 0 (Fox and Kapoor 1968, Nelson 1976).

λ′ = φᵀ (K′ - λ M′) φ          φᵀ M φ = 1
[K - λM   Mφ] [φ′]   [-(K′ - λ M′) φ + λ′ M φ]
[φᵀM       0] [μ ] = [      -½ φᵀ M′ φ       ]        (regular where λ is simple; μ = 0)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from dalembert.expressions import Array


def eigenvalue_slope(phi: Array, value: float, dM: Any, dK: Any) -> float:
    """λ′ of a mass-normalised mode."""
    return float(phi @ (dK @ phi) - value * (phi @ (dM @ phi)))


class ShapeSlopes:
    """φ′ of one mode for any number of parameters: one factorization."""

    def __init__(self, M: Any, K: Any, phi: Array, value: float) -> None:
        self.phi, self.value = phi, value
        self.Mphi = np.asarray(M @ phi).reshape(-1)
        # rows of one size: the border in the units of K
        self.border = float(abs(K).max()) / max(float(np.abs(self.Mphi).max()), 1e-300)
        column = (self.border * self.Mphi).reshape(-1, 1)
        self._solve: Any
        if scipy.sparse.issparse(K):
            edge = scipy.sparse.csc_array(column)
            matrix = scipy.sparse.block_array([[K - value * M, edge], [edge.T, None]], format="csc")
            self._solve = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(matrix)).solve
        else:
            matrix = np.block([[K - value * M, column], [column.T, np.zeros((1, 1))]])
            factor = scipy.linalg.lu_factor(matrix)
            self._solve = lambda right: scipy.linalg.lu_solve(factor, right)

    def __call__(self, dM: Any, dK: Any) -> tuple[float, Array]:
        """(λ′, φ′)."""
        slope = eigenvalue_slope(self.phi, self.value, dM, dK)
        dMphi = np.asarray(dM @ self.phi).reshape(-1)
        right = -np.asarray(dK @ self.phi).reshape(-1) + self.value * dMphi + slope * self.Mphi
        last = -0.5 * self.border * float(self.phi @ dMphi)
        return slope, np.asarray(self._solve(np.append(right, last))[:-1])
