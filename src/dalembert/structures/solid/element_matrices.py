"""Matrices of solid elements, many at a time (Bathe 1996).

    K = ∫ Bᵀ D B dV,   M = ∫ ρ Nᵀ N dV,   f = ∫ Nᵀ b dV + ∫ Nᵀ t dA,   K_g = ∫ ∇Nᵀ σ ∇N dV ⊗ 1

B holds ∂N/∂x = (∂x/∂ξ)⁻ᵀ ∂N/∂ξ in the order of strains xx, yy, zz, xy, yz, zx. Plane cells have d = 2 displacements,
solid cells d = 3; the same law in six strains serves both (`elastic_laws.plane_stress`), and matrices of plane cells
are those of the unit thickness.

Linear hexahedra and quadrilaterals are far too stiff in bending. Nine (four) incompatible modes a_k (1 − s_k²),
s = 2 ξ − 1, cure that (Wilson 1973); their derivatives are taken with the Jacobian of the centre and scaled by its
determinant,

    ∂x φ_k = (j₀/j) J₀⁻ᵀ ∂ξ φ_k        so that ∫ ∂x φ_k dV = 0

which passes the patch test on any mesh (Taylor, Beresford and Wilson 1976); trapezoids stay too stiff in bending, see
`distortion`. The modes belong to the cell and are
eliminated: K = K_uu − K_ua K_aa⁻¹ K_au.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.elastic_laws import VOIGT
from dalembert.structures.solid.element import SOLID_ELEMENTS

# Numbers in the strain matrices of one batch: 32 MB.
BATCH = 4_000_000


def batches(cells: int, kind: str, points: int) -> Iterator[slice]:
    """Slices of cells whose strain matrices fit the cache of a batch."""
    step = max(1, BATCH // (18 * SOLID_ELEMENTS[kind].size * points))
    for start in range(0, cells, step):
        yield slice(start, min(start + step, cells))


def gradients(corners: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """∂N/∂x (e, q, nv, d) and det ∂x/∂ξ (e, q) of cells at (e, nv, 3) from ∂N/∂ξ (q, nv, d)."""
    # One product for all cells and points: x_ia ∂N_i/∂ξ_b.
    J = np.matmul(corners[..., : slopes.shape[2]].transpose(0, 2, 1)[:, None], slopes[None])
    return np.matmul(slopes[None], np.linalg.inv(J)), np.linalg.det(J)


def strain_matrix(gradient: FloatArray) -> FloatArray:
    """B (e, q, 6, d nv) of gradients (e, q, nv, d)."""
    e, q, nv, d = gradient.shape
    B = np.zeros((e, q, 6, nv, d))
    for k, (i, j) in enumerate(VOIGT):
        if max(i, j) < d:
            B[..., k, :, i], B[..., k, :, j] = gradient[..., j], gradient[..., i]
    return B.reshape(e, q, 6, d * nv)


def bubble_matrix(kind: str, corners: FloatArray, places: FloatArray, determinants: FloatArray) -> FloatArray:
    """B (e, q, 6, d²) of the incompatible modes of linear hexahedra or quadrilaterals at ``places`` (q, d)."""
    d = places.shape[1]
    _, slopes = solid_shapes.shapes(kind, np.full((1, d), 0.5))
    J = np.matmul(corners[..., :d].transpose(0, 2, 1)[:, None], slopes[None])[:, 0]
    inverse, size = np.linalg.inv(J), np.linalg.det(J)
    slope = -4.0 * (2.0 * places - 1.0)  # ∂/∂ξ of 1 − (2 ξ − 1)²
    gradient = slope[None, :, :, None] * inverse[:, None]
    return strain_matrix(gradient * (size[:, None] / determinants)[..., None, None])


def stiffness(
    corners: FloatArray, laws: FloatArray, kind: str, degree: int, incompatible: bool
) -> tuple[FloatArray, FloatArray | None]:
    """Stiffness (e, d nv, d nv), and amplitudes of incompatible modes, (e, d², d nv), for cells with laws (e, 6, 6)."""
    weights, _, slopes = solid_shapes.at_quadrature(kind, degree)
    gradient, size = gradients(corners, slopes)
    volume = (size * weights)[..., None, None]
    B = strain_matrix(gradient)
    K = _sum(B, np.matmul(laws[:, None], B) * volume)
    if not incompatible:
        return 0.5 * (K + K.transpose(0, 2, 1)), None
    places, _ = solid_shapes.quadrature(kind, degree)
    extra = bubble_matrix(kind, corners, places, size)
    stressed = np.matmul(laws[:, None], extra) * volume
    K_ua, K_aa = _sum(B, stressed), _sum(extra, stressed)
    modes = np.asarray(-np.linalg.solve(K_aa, K_ua.transpose(0, 2, 1)), dtype=np.float64)
    K = K + np.matmul(K_ua, modes)
    return 0.5 * (K + K.transpose(0, 2, 1)), modes


def mass(corners: FloatArray, densities: FloatArray, kind: str, degree: int) -> FloatArray:
    """Scalar mass (e, nv, nv) [kg] of cells with densities (e,); each direction has the same."""
    weights, values, slopes = solid_shapes.at_quadrature(kind, degree)
    _, size = gradients(corners, slopes)
    product = (values[:, :, None] * values[:, None, :]).reshape(len(weights), -1)
    nv = values.shape[1]
    return np.asarray((size * weights * densities[:, None]) @ product).reshape(-1, nv, nv)


def geometric(corners: FloatArray, stresses: FloatArray, kind: str, degree: int) -> FloatArray:
    """Scalar geometric stiffness (e, nv, nv) [N/m] of stresses (e, q, 3, 3) at the integration points."""
    weights, _, slopes = solid_shapes.at_quadrature(kind, degree)
    gradient, size = gradients(corners, slopes)
    across = gradient.transpose(0, 1, 3, 2)
    d = gradient.shape[3]
    K = _sum(across, np.matmul(stresses[..., :d, :d], across) * (size * weights)[..., None, None])
    return np.asarray(0.5 * (K + K.transpose(0, 2, 1)))


def in_all_directions(scalar: FloatArray, d: int) -> FloatArray:
    """(e, d nv, d nv) of scalar matrices (e, nv, nv): ⊗ 1."""
    e, nv, _ = scalar.shape
    full = np.zeros((e, nv, d, nv, d))
    for k in range(d):
        full[:, :, k, :, k] = scalar
    return full.reshape(e, d * nv, d * nv)


def on_surface(
    points: FloatArray, cells: IntArray, faces: IntArray, kind: str, degree: int
) -> tuple[FloatArray, FloatArray]:
    """Shape functions (f, q, nv) and outward area vectors times weights (f, q, 3) [m²] on faces of cells (f, nv).

    Edges of plane cells have the area of the unit thickness.
    """
    weights, values, slopes, ways = solid_shapes.on_faces(kind, degree)
    J = np.matmul(points[cells].transpose(0, 2, 1)[:, None], slopes[faces])
    tangents = np.matmul(J, ways[faces][:, None])
    if tangents.shape[3] == 1:
        return values[faces], np.cross(tangents[..., 0], [0.0, 0.0, 1.0]) * weights[:, None]
    return values[faces], np.cross(tangents[..., 0], tangents[..., 1]) * weights[:, None]


def _sum(left: FloatArray, right: FloatArray) -> FloatArray:
    """Σ_q leftᵀ right for (e, q, s, m) and (e, q, s, k): (e, m, k)."""
    e, q, s, m = left.shape
    right = right.reshape(e, q * s, right.shape[-1])
    return np.asarray(np.matmul(left.reshape(e, q * s, m).transpose(0, 2, 1), right))
