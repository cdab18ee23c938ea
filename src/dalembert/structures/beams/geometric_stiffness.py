"""Geometric stiffness of a beam element: the effect of its internal forces on further bending and twisting.

The work of the internal forces N, V_y, V_z, T, M_y, M_z (on the face that looks along +x) on the strains
of second order, with φ the twist, v′ and w′ the slopes of the axis, θ the rotations of the section:

    U = ½ ∫ N [v′² + w′² + (I_p/A) φ′²] dx - ∫ [M_y φ′ v′ + V_z φ v′ + M_z φ′ w′ - V_y φ w′] dx
        + ½ [φ (M_y θ_z - M_z θ_y)]₀ˡ + ½ ∫ φ (m_y θ_z - m_z θ_y) dx
        - ∫ u′ (V_y v′ + V_z w′) dx - ½ ∫ T (θ_y θ_z′ - θ_z θ_y′) dx .

N on slopes that include shear: a column buckles at Engesser's load, P = P_E/(1 + P_E χ/GA). I_p/A is
Wagner's term: fibres away from the axis become helices. The terms in M are those of lateral buckling; the
bracket, and the couples m per length beside it, turn slopes into rotation vectors, so that moments at a corner
between elements are the same in both of them (semitangential; Argyris 1979). Proof of the whole: a rigid
rotation θ of an element turns its end forces F into F + θ × F and its end moments M into M + ½ θ × M (work with
rotation vectors), and a frame that spins freely, stiffened by its own tension, turns as one rigid body.

v, w, θ are the static shape functions of the Timoshenko element, so that Φ = 0 gives the
classical matrix N/(30 l) [[36, 3l, -36, 3l], ...]; ξ = x/l and

    Φ_xy = 12 E I_z χ_y/(G A l²) (bending in the x-y plane),  Φ_xz = 12 E I_y χ_z/(G A l²).

Coordinates of an element, in its own axes: (x, y, z, rx, ry, rz) of its start, then of its end.
Four Gauss points integrate every polynomial here exactly (degree 6 at most, N of degree 2 included).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.beams import elements
from dalembert.structures.beams.elements import AXIAL, PLANE_XY, PLANE_XZ, SIGNS, TORSION, BeamNumbers
from dalembert.structures.beams.taper import TaperedElements

STATIONS, WEIGHTS = elements.gauss(4)


def geometric_stiffness(
    b: BeamNumbers,
    start: FloatArray,
    end: FloatArray,
    bulge: FloatArray | None = None,
    couple: FloatArray | None = None,
) -> FloatArray:
    """Geometric stiffness of beam elements, in their own axes.

    start, end : (ne, 6), N, V_y, V_z, T, M_y, M_z inside the beam at its ends [N, N m], linear between them;
        shear forces follow from the moments, V_y = -M_z′ - m_z, V_z = M_y′ + m_y.
    couple : (ne, 3), m: moment per length on the element, its mean [N m/m].
    bulge : (ne,) tension at the middle beyond the mean of the ends [N]: a parabola, as of centrifugal loads.

    Returns (ne, 12, 12), symmetric.
    """
    places = Places(
        b.length, STATIONS, WEIGHTS, elements.shapes(b, STATIONS), rates(b),
        ((b.EI_y + b.EI_z) / b.EA)[:, None],  # I_p/A, whatever the density
    )  # fmt: skip
    return _with_ends(second_order_work(places, start, end, bulge, couple), start, end)


def tapered_geometric_stiffness(
    t: TaperedElements, start: FloatArray, end: FloatArray, bulge: FloatArray | None, couple: FloatArray | None
) -> FloatArray:
    """As :func:`geometric_stiffness` for elements of varying section, with their own shape functions."""
    at = t.at_gauss
    places = Places(t.length, t.xi, t.weights, t.shapes(t.xi), t.rates(), (at["EI_y"] + at["EI_z"]) / at["EA"])
    return _with_ends(second_order_work(places, start, end, bulge, couple), start, end)


class Places(NamedTuple):
    """Where the work is summed: ξ and weights (g,), shapes (ne, g, 6, n), their rates, I_p/A (ne, g) or (ne, 1)."""

    length: FloatArray
    xi: FloatArray
    weights: FloatArray
    shapes: FloatArray
    rates: tuple[FloatArray, ...]
    polar: FloatArray


def second_order_work(
    at: Places, start: FloatArray, end: FloatArray, bulge: FloatArray | None, couple: FloatArray | None
) -> FloatArray:
    """(ne, n, n) of U between n motions, the module's formula without the terms at the ends."""
    xi, length = at.xi, at.length[:, None]
    N, _, _, T, M_y, M_z = np.moveaxis(start[:, None, :] + xi[:, None] * (end - start)[:, None, :], 2, 0)
    if bulge is not None:
        N = N + bulge[:, None] * 4 * xi * (1 - xi)
    m = np.zeros((len(length), 3)) if couple is None else couple
    V_z, V_y = (sign * (end - start)[:, place, None] / length for place, sign in ((4, 1.0), (5, -1.0)))
    V_y, V_z = V_y - m[:, 2:], V_z + m[:, 1:2]
    polar = at.polar
    phi, theta_y, theta_z = at.shapes[..., 3, :], at.shapes[..., 4, :], at.shapes[..., 5, :]
    stretch, twist, slope_v, slope_w, bend_y, bend_z = at.rates
    terms = (  # (weight, left, right): ∫ weight · left · right dx is a part of U
        (0.5 * N, slope_v, slope_v),
        (0.5 * N, slope_w, slope_w),
        (0.5 * N * polar, twist, twist),
        (-M_y, twist, slope_v), (-V_z, phi, slope_v),
        (-M_z, twist, slope_w), (V_y, phi, slope_w),
        (-V_y, stretch, slope_v), (-V_z, stretch, slope_w),
        (-0.5 * T, theta_y, bend_z), (0.5 * T, theta_z, bend_y),
        (0.5 * m[:, 1:2], phi, theta_z), (-0.5 * m[:, 2:], phi, theta_y),
    )  # fmt: skip
    U = np.zeros((len(length), phi.shape[-1], phi.shape[-1]))
    for weight, left, right in terms:
        U += np.matmul(((weight * at.weights * length)[..., None] * left).transpose(0, 2, 1), right)
    return U + U.transpose(0, 2, 1)


def _with_ends(inside: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """(ne, 12, 12) of the whole U: with the work of the moments at both ends."""
    U = np.zeros_like(inside)
    U[:, 3, 5] -= 0.5 * start[:, 4]
    U[:, 3, 4] += 0.5 * start[:, 5]
    U[:, 9, 11] += 0.5 * end[:, 4]
    U[:, 9, 10] -= 0.5 * end[:, 5]
    return inside + (U + U.transpose(0, 2, 1))


def bar_geometric_stiffness(length: FloatArray, tension: FloatArray) -> FloatArray:
    """Geometric stiffness of bars, N/l across the axis (a string): (ne, 12, 12)."""
    K = np.zeros((len(length), 12, 12))
    for way in (1, 2):
        K[:, (AXIAL + way)[:, None], AXIAL + way] = elements.two_point(tension / length)
    return K


def rates(b: BeamNumbers) -> tuple[FloatArray, ...]:
    """u′, φ′, v′, w′, θ_y′, θ_z′ at the stations from the element coordinates: (ne, g, 12) each."""
    shape = (len(b.length), len(STATIONS), 12)
    stretch, twist, slope_v, slope_w, bend_y, bend_z = (np.zeros(shape) for _ in range(6))
    stretch[..., AXIAL] = twist[..., TORSION] = np.array([-1.0, 1.0]) / b.length[:, None, None]
    slope_v[..., PLANE_XY] = slopes(b.length, b.phi_y)
    slope_w[..., PLANE_XZ] = slopes(b.length, b.phi_z) * SIGNS
    bend_z[..., PLANE_XY] = curvatures(b.length, b.phi_y)
    bend_y[..., PLANE_XZ] = -curvatures(b.length, b.phi_z) * SIGNS
    return stretch, twist, slope_v, slope_w, bend_y, bend_z


def slopes(length: FloatArray, phi: FloatArray) -> FloatArray:
    """dv/dx at the stations from (v₁, θ₁, v₂, θ₂): (ne, g, 4)."""
    L, p, z = length[:, None], phi[:, None], STATIONS
    first = (-p - 6 * z + 6 * z**2) / L
    parts = (first, 1 + p * (0.5 - z) - 4 * z + 3 * z**2, -first, -p * (0.5 - z) - 2 * z + 3 * z**2)
    found: FloatArray = np.stack(parts, axis=-1) / (1 + p)[..., None]
    return found


def curvatures(length: FloatArray, phi: FloatArray) -> FloatArray:
    """dθ/dx at the stations from (v₁, θ₁, v₂, θ₂): (ne, g, 4)."""
    L, p, z = length[:, None], phi[:, None], STATIONS
    first = 6 * (2 * z - 1) / L**2
    parts = (first, (-p - 4 + 6 * z) / L, -first, (p - 2 + 6 * z) / L)
    found: FloatArray = np.stack(parts, axis=-1) / (1 + p)[..., None]
    return found
