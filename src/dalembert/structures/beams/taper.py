"""Elements whose section varies: exact static stiffness by integrating the flexibility.

Forces at the end (V, M) give moment M + V (l − s) and shear V at s, hence curvature and shear strain

    κ = (M + V (l − s)) / EI(s),      γ = V χ / GA(s)

    F = ∫ [(l−s)²/EI + χ/GA, (l−s)/EI; (l−s)/EI, 1/EI] ds,   K = Bᵀ F⁻¹ B,   B = [−1 −l 1 0; 0 −1 0 1]

and the shape functions by integrating κ and γ from the start. All integrals go over the same Gauss points, so that
the functions meet the ends exactly; with a constant section they are those of `elements` to rounding.

The section along a taper is ``Section.between`` of its two ends.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.beams.elements import AXIAL, PLANE_XY, PLANE_XZ, SIGNS, TORSION, gauss

# Error of ∫ ds/h⁴ along an element whose height h doubles: rounding; triples: 6e-11; grows five times: 2e-7.
GAUSS_POINTS = 12


class TaperedElements:
    """Stiffness, mass and shape functions of elements with varying section, in their own axes.

    Parameters
    ----------
    length : (ne,).  The rest (ne, g) at the Gauss points of [0, 1]: EA, GJ, EI_y, EI_z, flexibility in shear
    ``shear_y``, ``shear_z`` = χ/GA (0 for Euler-Bernoulli), rhoA, rhoI_y, rhoI_z, rhoI_p.
    """

    def __init__(self, length: FloatArray, at_gauss: Mapping[str, FloatArray]) -> None:
        self.length = length
        self.at_gauss = dict(at_gauss)
        self.xi, self.weights = gauss(GAUSS_POINTS)
        self._bending = {
            "y": self._flexibility(self.at_gauss["EI_z"], self.at_gauss["shear_y"]),
            "z": self._flexibility(self.at_gauss["EI_y"], self.at_gauss["shear_z"]),
        }

    def _flexibility(self, EI: FloatArray, shear: FloatArray) -> FloatArray:
        """(ne, 2, 4): end forces (V, M) from (v₁, θ₁, v₂, θ₂), F⁻¹ B."""
        L = self.length[:, None]
        arm = L * (1 - self.xi)
        F = np.empty((len(self.length), 2, 2))
        F[:, 0, 0] = ((arm**2 / EI + shear) * self.weights).sum(1) * self.length
        F[:, 0, 1] = F[:, 1, 0] = (arm / EI * self.weights).sum(1) * self.length
        F[:, 1, 1] = (self.weights / EI).sum(1) * self.length
        forces: FloatArray = np.asarray(np.linalg.solve(F, self._compatibility()), dtype=np.float64)
        return forces

    def _compatibility(self) -> FloatArray:
        B = np.zeros((len(self.length), 2, 4))
        B[:, 0, 0], B[:, 0, 1], B[:, 0, 2] = -1.0, -self.length, 1.0
        B[:, 1, 1], B[:, 1, 3] = -1.0, 1.0
        return B

    def stiffness(self) -> FloatArray:
        """(ne, 12, 12)."""
        K = np.zeros((len(self.length), 12, 12))
        B = self._compatibility()
        for index, key, signs in ((PLANE_XY, "y", np.ones(4)), (PLANE_XZ, "z", SIGNS)):
            block = np.matmul(B.transpose(0, 2, 1), self._bending[key]) * np.outer(signs, signs)
            K[:, index[:, None], index] = 0.5 * (block + block.transpose(0, 2, 1))
        for index, name in ((AXIAL, "EA"), (TORSION, "GJ")):
            k = 1 / ((self.weights / self.at_gauss[name]).sum(1) * self.length)
            K[:, index[:, None], index] = k[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return K

    def mass(self) -> FloatArray:
        """(ne, 12, 12) consistent, by quadrature of the exact static shape functions."""
        N = self.shapes(self.xi)
        names = ("rhoA", "rhoA", "rhoA", "rhoI_p", "rhoI_y", "rhoI_z")
        density = np.stack([self.at_gauss[name] for name in names], axis=-1)  # (ne, g, 6)
        weight = density * (self.weights[None, :, None] * self.length[:, None, None])
        M: FloatArray = np.einsum("egri,egr,egrj->eij", N, weight, N)
        return 0.5 * (M + M.transpose(0, 2, 1))

    def shapes(self, xi: FloatArray) -> FloatArray:
        """(ne, g, 6, 12) at ξ (g,), the same for every element."""
        ne, L = len(self.length), self.length[:, None]
        once, moment = _partial_integrals(self.xi, np.asarray(xi, dtype=np.float64))
        N = np.zeros((ne, len(once), 6, 12))
        for row, index, name in ((0, AXIAL, "EA"), (3, TORSION, "GJ")):
            share = (1 / self.at_gauss[name]) @ once.T / (1 / self.at_gauss[name] @ self.weights)[:, None]
            N[:, :, row, index[0]], N[:, :, row, index[1]] = 1 - share, share
        for rows, index, key, names, signs, turn in (
            ((1, 5), PLANE_XY, "y", ("EI_z", "shear_y"), np.ones(4), 1.0),
            ((2, 4), PLANE_XZ, "z", ("EI_y", "shear_z"), SIGNS, -1.0),
        ):
            kappa, gamma = self._bending_strains(key, names)
            theta = np.einsum("ag,egk->eak", once, kappa) * self.length[:, None, None]
            v = np.einsum("ag,egk->eak", moment, kappa) * (self.length**2)[:, None, None]
            v += np.einsum("ag,egk->eak", once, gamma) * self.length[:, None, None]
            v[:, :, 0] += 1.0
            v[:, :, 1] += L * xi
            theta[:, :, 1] += 1.0
            N[:, :, rows[0], index] = v * signs
            N[:, :, rows[1], index] = turn * theta * signs
        return N

    def rates(self) -> tuple[FloatArray, ...]:
        """u′, φ′, v′, w′, θ_y′, θ_z′ at the Gauss points from the twelve coordinates: (ne, g, 12) each."""
        motion = self.shapes(self.xi)
        stretch, twist, slope_v, slope_w, bend_y, bend_z = (np.zeros((*motion.shape[:2], 12)) for _ in range(6))
        for rate, index, name in ((stretch, AXIAL, "EA"), (twist, TORSION, "GJ")):
            give = 1 / self.at_gauss[name]
            each = give / (give @ self.weights * self.length)[:, None]
            rate[..., index[0]], rate[..., index[1]] = -each, each
        bend_z[..., PLANE_XY], shear_y = self._bending_strains("y", ("EI_z", "shear_y"))
        slope_v[..., PLANE_XY] = motion[:, :, 5, PLANE_XY] + shear_y
        curved, shear_z = self._bending_strains("z", ("EI_y", "shear_z"))
        bend_y[..., PLANE_XZ] = -curved * SIGNS
        slope_w[..., PLANE_XZ] = -motion[:, :, 4, PLANE_XZ] + shear_z * SIGNS
        return stretch, twist, slope_v, slope_w, bend_y, bend_z

    def _bending_strains(self, key: str, names: tuple[str, str]) -> tuple[FloatArray, FloatArray]:
        """(ne, g, 4) curvature and shear strain at the Gauss points from (v₁, θ₁, v₂, θ₂)."""
        forces = self._bending[key]
        arm = self.length[:, None] * (1 - self.xi)
        moment = forces[:, None, 1] + arm[:, :, None] * forces[:, None, 0]
        EI, shear = self.at_gauss[names[0]], self.at_gauss[names[1]]
        return moment / EI[:, :, None], shear[:, :, None] * forces[:, None, 0]


def _partial_integrals(nodes: FloatArray, xi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(a, g) weights of ∫₀^ξ f ds and of ∫₀^ξ (ξ − s) f ds for the polynomial through the Gauss points."""
    legendre = np.polynomial.legendre
    degree = len(nodes) - 1
    to_series = np.linalg.inv(legendre.legvander(2 * nodes - 1, degree))
    once = np.empty((len(xi), len(nodes)))
    moment = np.empty_like(once)
    for j in range(len(nodes)):
        first = legendre.legint(to_series[:, j], lbnd=-1, scl=0.5)
        second = legendre.legint(first, lbnd=-1, scl=0.5)
        once[:, j] = legendre.legval(2 * xi - 1, first)
        moment[:, j] = legendre.legval(2 * xi - 1, second)
    return once, moment
