"""Integrals over the mass of a body with modes: rigid ones, and those that couple its modes to the motion of its frame.

With bodies k (mass m_k, place p_k, inertia J_k) that modes displace by U_k (3, m) and turn by W_k (3, m):

    mass = Σ m       first_moment = Σ m p       inertia = Σ m p̃ᵀp̃ + J
    translation = Σ m U      rotation = Σ m p̃ U + J W      modal_mass = Σ m UᵀU + WᵀJW
    moments[a, b] = Σ m p_a U_b       products[a, b] = Σ m U_aᵀ U_b

and with a matrix m between points instead of one mass each (solids), xᵀ m y instead of Σ m x y.

Entries that are zero up to rounding are made exactly zero: code generated from these numbers leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.assembly.structure import rigid_motions
from dalembert.structures.flexible_body.mass_distribution import MassDistribution

# Entries below this part of the largest of their array are rounding: sums of some 1e4 terms of either sign leave 1e-14.
ROUNDING = 1e-12


@dataclass(frozen=True)
class InertiaIntegrals:
    """The integrals of the module, with the names and shapes of `FlexibleBodyData`."""

    mass: float
    first_moment: FloatArray
    inertia: FloatArray
    translation: FloatArray
    rotation: FloatArray
    modal_mass: FloatArray
    moments: FloatArray
    products: FloatArray

    def __add__(self, other: InertiaIntegrals) -> InertiaIntegrals:
        mine, theirs = vars(self), vars(other)
        return InertiaIntegrals(**{name: mine[name] + theirs[name] for name in mine})


def integrate(distribution: MassDistribution, shapes: FloatArray) -> InertiaIntegrals:
    """All integrals of modes (N, m) of a structure."""
    U, W = distribution.motions(shapes)
    total = sum_bodies(distribution.mass, distribution.places, distribution.inertia, U, W)
    if distribution.shared is not None:
        points = distribution.displacements(shapes)
        total = total + _sums(distribution.shared, distribution.positions, points)
    return total if distribution.determined else _from_matrix(total, distribution, shapes)


def sum_bodies(mass: FloatArray, places: FloatArray, inertia: FloatArray, U: FloatArray, W: FloatArray) -> Any:
    """Integrals over small rigid bodies: mass (k,), places (k, 3), inertia (k, 3, 3), motions U, W (k, 3, m)."""
    found = _sums(mass, places, U)
    k, _, m = W.shape
    turning = np.matmul(inertia, W)
    own = W.reshape(3 * k, m).T @ turning.reshape(3 * k, m)
    return InertiaIntegrals(
        found.mass, found.first_moment, found.inertia + inertia.sum(axis=0), found.translation,
        found.rotation + turning.sum(axis=0), found.modal_mass + own, found.moments, found.products,
    )  # fmt: skip


def _sums(weights: Any, places: FloatArray, U: FloatArray) -> InertiaIntegrals:
    """Integrals without rotary inertia; weights (k,) of bodies, or (k, k) between points."""

    def weigh(values: FloatArray) -> FloatArray:
        flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
        moved = weights[:, None] * flat if isinstance(weights, np.ndarray) else weights @ flat
        return np.asarray(moved).reshape(values.shape)

    k, _, m = U.shape
    each = np.ascontiguousarray(U.transpose(1, 0, 2))  # (3, k, m)
    heavy = np.ascontiguousarray(weigh(U).transpose(1, 0, 2))
    ones, heavy_places = np.ones(k), weigh(places)
    second = places.T @ heavy_places  # ∫ u₀ u₀ᵀ dm
    products = np.zeros((3, 3, m, m))
    for a in range(3):
        for b in range(a, 3):
            products[a, b] = each[a].T @ heavy[b]
            products[b, a] = products[a, b].T
    moments = np.stack([[places[:, a] @ heavy[b] for b in range(3)] for a in range(3)])
    return InertiaIntegrals(
        mass=float(weigh(ones).sum()), first_moment=heavy_places.sum(axis=0),
        inertia=np.trace(second) * np.eye(3) - second, translation=heavy.sum(axis=1),
        rotation=_axial(moments), modal_mass=products[0, 0] + products[1, 1] + products[2, 2],
        moments=moments, products=products,
    )  # fmt: skip


def _axial(moments: FloatArray) -> FloatArray:
    """∫ ũ₀ S dm (3, m) from ∫ u₀_a S_b dm."""
    return np.stack([moments[1, 2] - moments[2, 1], moments[2, 0] - moments[0, 2], moments[0, 1] - moments[1, 0]])


def _from_matrix(lumped: InertiaIntegrals, distribution: MassDistribution, shapes: FloatArray) -> InertiaIntegrals:
    """Integrals that the mass matrix determines: RᵀMR, RᵀMΦ and ΦᵀMΦ with the rigid motions R of the structure."""
    six = rigid_motions(distribution.positions, distribution.directions)
    if six.shape[1] < 6:  # a planar structure: the rest from its points
        return lumped
    momenta = distribution.M @ six
    rigid, coupling = six.T @ momenta, momenta.T @ shapes
    mass = float(np.trace(rigid[:3, :3]) / 3)
    static = 0.5 * (rigid[3:, :3] - rigid[3:, :3].T)  # first moment as a cross matrix
    return InertiaIntegrals(
        mass, np.array([static[2, 1], static[0, 2], static[1, 0]]), 0.5 * (rigid[3:, 3:] + rigid[3:, 3:].T),
        coupling[:3], coupling[3:], shapes.T @ (distribution.M @ shapes), lumped.moments, lumped.products,
    )  # fmt: skip


def clean(values: FloatArray, size: Any = None) -> FloatArray:
    """A copy with exact zeros where entries are rounding of ``size``: of the largest entry when left out."""
    result = np.array(values, dtype=np.float64) + 0.0  # no -0.0
    largest = np.abs(result).max(initial=0.0) if size is None else size
    result[np.abs(result) <= ROUNDING * largest] = 0.0
    return result


def clean_pairs(matrix: FloatArray) -> FloatArray:
    """A symmetric matrix (m, m) with exact zeros: entries are rounding of the roots of their two diagonal entries."""
    size = np.sqrt(np.abs(np.diagonal(matrix)))
    return clean(matrix, np.outer(size, size))


def clean_integrals(found: InertiaIntegrals) -> InertiaIntegrals:
    """All integrals with exact zeros.

    An entry is rounding of the largest that the mass and the modes could have there (Cauchy and Schwarz), so that modes
    without momentum are recognised, and a mode of small size keeps its numbers.
    """
    mode = np.sqrt(np.maximum(np.diagonal(found.modal_mass), 0.0))
    mass, turning = np.sqrt(found.mass), np.sqrt(np.trace(found.inertia))
    return InertiaIntegrals(
        mass=found.mass, first_moment=clean(found.first_moment, mass * turning), inertia=clean(found.inertia),
        translation=clean(found.translation, 10 * mass * mode), rotation=clean(found.rotation, 10 * turning * mode),
        modal_mass=clean_pairs(found.modal_mass), moments=clean(found.moments, turning * mode),
        products=clean(found.products, np.outer(mode, mode)),
    )  # fmt: skip
