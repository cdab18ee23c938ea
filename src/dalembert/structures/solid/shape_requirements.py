"""Do shape functions of solid elements meet the requirements of finite elements? (Bathe 1996)

    continuous     functions of points off a face vanish on that face, so neighbours that share it move alike
    rigid          every rigid motion of the points strains nothing:      ε(u_rigid) = 0
    constant       every linear field of the points is met exactly:       ε(A x) = sym A, for distorted cells too
    isotropic      the functions do not depend on which corner is counted first

Not all elements meet all of them: incompatible modes give up the first for better bending, and pass the patch test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.structures.solid import element_matrices as solid_elements
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.element import SOLID_ELEMENTS

ROUNDING = 1e-12


@dataclass(frozen=True)
class ShapeReport:
    """Largest defect of every requirement, relative to the size of the measured quantity; see :func:`shape_report`."""

    kind: str
    partition: float
    continuity: float
    rigid: float
    constant: float
    isotropy: float

    @property
    def complete(self) -> bool:
        """Rigid motions and constant strains are met: the element converges."""
        return max(self.partition, self.rigid, self.constant) < ROUNDING

    @property
    def compatible(self) -> bool:
        """Neighbours that share a face stay together."""
        return self.continuity < ROUNDING

    @property
    def isotropic(self) -> bool:
        """No corner is special."""
        return self.isotropy < ROUNDING

    def table(self) -> str:
        """One line per requirement."""
        rows = [
            ("sum of functions is 1", self.partition),
            ("continuous across faces", self.continuity),
            ("rigid motion without strain", self.rigid),
            ("constant strain exact", self.constant),
            ("isotropic", self.isotropy),
        ]
        lines = [f"  {what:<30} {'yes' if value < ROUNDING else 'NO ':<4} {value:.1e}" for what, value in rows]
        return "\n".join([self.kind, *lines])

    def __repr__(self) -> str:
        return self.table()


def shape_report(kind: str, *, incompatible: bool = False) -> ShapeReport:
    """Check the shape functions of a kind of solid element on a distorted cell.

    ``incompatible``: with the incompatible modes of ``hex8`` or ``quad4``; they count against continuity.

    Examples
    --------
    >>> report = shape_report("tet10")
    >>> report.complete, report.compatible, report.isotropic
    (True, True, True)
    """
    cell = SOLID_ELEMENTS[kind]
    places, _ = solid_shapes.quadrature(kind, 4)
    values, slopes = solid_shapes.shapes(kind, places)
    corners = _distort(kind)
    gradient, size = solid_elements.gradients(corners[None], slopes)
    B = solid_elements.strain_matrix(gradient)[0]
    rng = np.random.default_rng(3)
    d = cell.dimension
    linear = np.zeros((3, 3))
    linear[:d, :d] = rng.standard_normal((d, d))
    turning = linear - linear.T
    exact = np.array([linear[0, 0], linear[1, 1], linear[2, 2], linear[0, 1] + linear[1, 0],
                      linear[1, 2] + linear[2, 1], linear[2, 0] + linear[0, 2]])  # fmt: skip
    rigid = B @ (corners @ turning[:d, :d].T + rng.standard_normal(d)).ravel()
    strain = B @ (corners @ linear[:d, :d].T).ravel()
    jump = _jump(kind)
    if incompatible:
        bubbles = solid_elements.bubble_matrix(kind, corners[None], places, size)[0]
        weights = solid_shapes.quadrature(kind, 4)[1] * size[0]
        # the modes stay at rest under constant strain if their own strains have no mean
        mean = np.abs(np.einsum("q,qij->ij", weights, bubbles)).max() / np.abs(bubbles).max()
        strain = strain + mean
        middles = np.array([cell.reference[list(face)].mean(axis=0) for face in cell.faces])
        jump = float(np.abs(1.0 - (2.0 * middles - 1.0) ** 2).max())
    return ShapeReport(
        kind=cell.name + (" with incompatible modes" if incompatible else ""),
        partition=float(np.abs(values.sum(axis=1) - 1.0).max()),
        continuity=jump,
        rigid=float(np.abs(rigid).max()),
        constant=float(np.abs(strain - exact).max()),
        isotropy=_isotropy(kind, places, values),
    )


def _distort(kind: str) -> FloatArray:
    """Points of the reference cell moved by a smooth map that the element can follow: straight edges stay straight."""
    reference = SOLID_ELEMENTS[kind].reference
    shear = np.array([[1.2, 0.3, -0.1], [0.1, 0.9, 0.2], [-0.2, 0.1, 1.1]])
    d = reference.shape[1]
    moved = reference @ shear[:d, :d].T
    if SOLID_ELEMENTS[kind].is_box:
        moved = moved + 0.1 * reference * np.roll(reference, -1, axis=1)
    return np.asarray(moved)


def _jump(kind: str) -> float:
    """Largest value on a face of a function that belongs to a point off it."""
    _, values, _, _ = solid_shapes.on_faces(kind, 4)
    worst = 0.0
    for face, points in enumerate(solid_shapes.face_points(kind)):
        off = np.setdiff1d(np.arange(SOLID_ELEMENTS[kind].size), points)
        if len(off):
            worst = max(worst, float(np.abs(values[face][:, off]).max()))
    return worst


def _isotropy(kind: str, places: FloatArray, values: FloatArray) -> float:
    """Change of the functions when the axes of the reference cell are exchanged in turn."""
    turn = np.roll(np.arange(places.shape[1]), -1)
    same = solid_shapes._same_places(SOLID_ELEMENTS[kind].reference[:, turn], SOLID_ELEMENTS[kind].reference)
    turned, _ = solid_shapes.shapes(kind, np.ascontiguousarray(places[:, turn]))
    return float(np.abs(turned[:, same] - values).max())
