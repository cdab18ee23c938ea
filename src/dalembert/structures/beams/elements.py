"""Beam and bar elements of constant section in their own axes, vectorised over elements (Przemieniecki 1968).

Axis x from start to end, y the height and z the width of the section. Twelve coordinates:

    u x, y, z and rotation x, y, z at the start, then the same at the end

    axial    u  [0, 6]           N = [1 − ξ, ξ]
    torsion  θx [3, 9]           the same
    plane xy v, θz [1, 5, 7, 11]   v′ = θz − γ,   Φ = 12 E I_z χ_y / (G A l²)
    plane xz w, θy [2, 4, 8, 10]   w′ = −θy + γ,  signs S = diag(1, −1, 1, −1)

The shape functions solve the homogeneous static Timoshenko equations, so the values at the ends are exact for loads
at the ends, for any slenderness; Φ = 0 is Euler-Bernoulli. Genta 2012 (app. B) has the axis along z and the
section in x and y: z, x, y there are x, y, z here (a cyclic change, no sign changes).

All lengths in m; arrays carry one entry per element, (ne,) unless stated otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dalembert.core.arrays import BoolArray, FloatArray, IntArray

AXIAL = np.array([0, 6])
TORSION = np.array([3, 9])
PLANE_XY = np.array([1, 5, 7, 11])
PLANE_XZ = np.array([2, 4, 8, 10])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])


@dataclass(frozen=True)
class BeamNumbers:
    """What the kernels need of each element, all (ne,).

    length [m]; EA [N]; EI_y, EI_z, GJ [N m²]; phi_y, phi_z: shear parameter Φ for shear forces along y (bending in
    xy, with EI_z) and along z; rhoA [kg/m]; rhoI_y, rhoI_z (rotary inertia), rhoI_p (about the axis) [kg m].
    """

    length: FloatArray
    EA: FloatArray
    EI_y: FloatArray
    EI_z: FloatArray
    GJ: FloatArray
    phi_y: FloatArray
    phi_z: FloatArray
    rhoA: FloatArray
    rhoI_y: FloatArray
    rhoI_z: FloatArray
    rhoI_p: FloatArray

    def take(self, which: IntArray | BoolArray) -> BeamNumbers:
        """The numbers of some elements."""
        return BeamNumbers(**{field.name: getattr(self, field.name)[which] for field in fields(self)})


def stiffness(b: BeamNumbers) -> FloatArray:
    """(ne, 12, 12) stiffness."""
    K = np.zeros((len(b.length), 12, 12))
    _put(K, AXIAL, two_point(b.EA / b.length))
    _put(K, TORSION, two_point(b.GJ / b.length))
    _put(K, PLANE_XY, bending_stiffness(b.EI_z, b.length, b.phi_y))
    _put(K, PLANE_XZ, flip(bending_stiffness(b.EI_y, b.length, b.phi_z)))
    return K


def mass(b: BeamNumbers) -> FloatArray:
    """(ne, 12, 12) consistent mass with rotary inertia."""
    M = np.zeros((len(b.length), 12, 12))
    _put(M, AXIAL, linear_mass(b.rhoA * b.length))
    _put(M, TORSION, linear_mass(b.rhoI_p * b.length))
    _put(M, PLANE_XY, bending_mass(b.rhoA, b.rhoI_z, b.length, b.phi_y))
    _put(M, PLANE_XZ, flip(bending_mass(b.rhoA, b.rhoI_y, b.length, b.phi_z)))
    return M


def lumped_mass(b: BeamNumbers) -> FloatArray:
    """(ne, 12, 12) diagonal: half the mass, and half the inertia about the axis, at each end."""
    M = np.zeros((len(b.length), 12, 12))
    for start in (0, 6):
        for way in range(3):
            M[:, start + way, start + way] = 0.5 * b.rhoA * b.length
        M[:, start + 3, start + 3] = 0.5 * b.rhoI_p * b.length
    return M


def bar_stiffness(b: BeamNumbers) -> FloatArray:
    """(ne, 12, 12) stiffness along the axis only."""
    K = np.zeros((len(b.length), 12, 12))
    _put(K, AXIAL, two_point(b.EA / b.length))
    return K


def bar_mass(b: BeamNumbers, lumped: BoolArray) -> FloatArray:
    """(ne, 12, 12) mass of a straight bar whose points all move linearly; or half at each end."""
    M = np.zeros((len(b.length), 12, 12))
    total = b.rhoA * b.length
    for way in range(3):
        _put(M, AXIAL + way, linear_mass(total))
    for i in (0, 1, 2, 6, 7, 8):
        M[lumped, i, :] = 0.0
        M[lumped, i, i] = 0.5 * total[lumped]
    return M


def shapes(b: BeamNumbers, xi: FloatArray) -> FloatArray:
    """(ne, g, 6, 12): displacement and rotation at ξ = x/l, (g,) or (ne, g), from the twelve coordinates."""
    N = _linear_shapes(len(b.length), xi)
    for plane, row, phi, sign in ((PLANE_XY, (1, 5), b.phi_y, 1.0), (PLANE_XZ, (2, 4), b.phi_z, -1.0)):
        v, turn = bending_shapes(b.length, phi, xi)
        # displacements of the xz-plane take the coordinates with signs S, rotations are −θy
        N[:, :, row[0], plane] = v if sign > 0 else v * SIGNS
        N[:, :, row[1], plane] = turn if sign > 0 else -turn * SIGNS
    return N


def bar_shapes(b: BeamNumbers, xi: FloatArray) -> FloatArray:
    """As :func:`shapes` for bars: all three displacements linear, no rotations."""
    N = _linear_shapes(len(b.length), xi)
    N[:, :, 3, :] = 0.0
    for way in (1, 2):
        N[:, :, way, AXIAL + way] = N[:, :, 0, AXIAL]
    return N


def bending_stiffness(EI: FloatArray, length: FloatArray, phi: FloatArray) -> FloatArray:
    """(ne, 4, 4) on (v₁, θ₁, v₂, θ₂)."""
    one = np.ones_like(length)
    k = np.stack(
        [
            12 * one, 6 * length, -12 * one, 6 * length,
            6 * length, (4 + phi) * length**2, -6 * length, (2 - phi) * length**2,
            -12 * one, -6 * length, 12 * one, -6 * length,
            6 * length, (2 - phi) * length**2, -6 * length, (4 + phi) * length**2,
        ],
        axis=1,
    ).reshape(-1, 4, 4)  # fmt: skip
    scaled: FloatArray = (EI / (length**3 * (1 + phi)))[:, None, None] * k
    return scaled


def bending_mass(rhoA: FloatArray, rhoI: FloatArray, length: FloatArray, phi: FloatArray) -> FloatArray:
    """(ne, 4, 4) translation and rotary inertia on (v₁, θ₁, v₂, θ₂)."""
    L, f, one = length, phi, np.ones_like(length)
    m1, m2 = 156 + 294 * f + 140 * f**2, (22 + 38.5 * f + 17.5 * f**2) * L
    m3, m4 = 54 + 126 * f + 70 * f**2, (13 + 31.5 * f + 17.5 * f**2) * L
    m5, m6 = (4 + 7 * f + 3.5 * f**2) * L**2, (3 + 7 * f + 3.5 * f**2) * L**2
    m7, m8 = 36 * one, (3 - 15 * f) * L
    m9, m10 = (4 + 5 * f + 10 * f**2) * L**2, (1 + 5 * f - 5 * f**2) * L**2
    translation = np.stack(
        [m1, m2, m3, -m4, m2, m5, m4, -m6, m3, m4, m1, -m2, -m4, -m6, -m2, m5], axis=1
    ).reshape(-1, 4, 4)  # fmt: skip
    rotation = np.stack(
        [m7, m8, -m7, m8, m8, m9, -m8, -m10, -m7, -m8, m7, -m8, m8, -m10, -m8, m9], axis=1
    ).reshape(-1, 4, 4)  # fmt: skip
    D2 = (1 + phi) ** 2
    total: FloatArray = (rhoA * L / (420 * D2))[:, None, None] * translation
    total += (rhoI / (30 * L * D2))[:, None, None] * rotation
    return total


def bending_shapes(length: FloatArray, phi: FloatArray, xi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(ne, g, 4) rows of v and θ from (v₁, θ₁, v₂, θ₂)."""
    z = np.broadcast_to(np.asarray(xi, dtype=np.float64), (len(length), np.shape(xi)[-1]))
    L, f = length[:, None], phi[:, None]
    v = np.stack(
        [
            1 + f * (1 - z) - 3 * z**2 + 2 * z**3,
            L * z * (1 + f * (1 - z) / 2 - 2 * z + z**2),
            z * (f + 3 * z - 2 * z**2),
            L * z * (-f * (1 - z) / 2 - z + z**2),
        ],
        axis=-1,
    )
    turn = np.stack(
        [
            6 * z * (z - 1) / L,
            1 + f * (1 - z) - 4 * z + 3 * z**2,
            -6 * z * (z - 1) / L,
            f * z - 2 * z + 3 * z**2,
        ],
        axis=-1,
    )
    D = (1 + f)[:, :, None]
    return v / D, turn / D


def two_point(k: FloatArray) -> FloatArray:
    """(ne, 2, 2) ``k [[1, −1], [−1, 1]]``."""
    matrix: FloatArray = k[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return matrix


def linear_mass(total: FloatArray) -> FloatArray:
    """(ne, 2, 2) ``m/6 [[2, 1], [1, 2]]``."""
    matrix: FloatArray = (total / 6)[:, None, None] * np.array([[2.0, 1.0], [1.0, 2.0]])
    return matrix


def flip(matrix: FloatArray) -> FloatArray:
    """``S A S``: from the xy-plane to the xz-plane."""
    turned: FloatArray = matrix * np.outer(SIGNS, SIGNS)
    return turned


def gauss(points: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre points and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(points)
    return 0.5 * (x + 1), 0.5 * w


def _linear_shapes(ne: int, xi: FloatArray) -> FloatArray:
    """(ne, g, 6, 12) with the linear rows of u and θx only."""
    z = np.broadcast_to(np.asarray(xi, dtype=np.float64), (ne, np.shape(xi)[-1]))
    N = np.zeros((*z.shape, 6, 12))
    for row, (i, j) in ((0, AXIAL), (3, TORSION)):
        N[:, :, row, i] = 1 - z
        N[:, :, row, j] = z
    return N


def _put(matrices: FloatArray, index: IntArray, block: FloatArray) -> None:
    for i, row in enumerate(index):  # sixteen strided copies beat one fancy index
        for j, column in enumerate(index):
            matrices[:, row, column] = block[:, i, j]
