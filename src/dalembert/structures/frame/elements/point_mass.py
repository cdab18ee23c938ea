"""Point masses of a frame: rigid bodies at a point, also off it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.element_assembly import Blocks
from dalembert.structures.assembly.rotating_bodies import cross_matrix
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import ROUNDING, Vector
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement, FrameModel


@dataclass(frozen=True)
class PointMass(FrameElement):
    """Mass per direction [kg] and inertia about its own centre (3 x 3) [kg m²], ``offset`` from the point [m]."""

    kind: ClassVar[str] = "mass"
    rotates: ClassVar[bool] = False
    name: str
    point: str
    mass: Vector
    inertia: tuple[Vector, Vector, Vector]
    offset: Vector

    @property
    def attached(self) -> Sequence[str]:
        return (self.point,)

    @classmethod
    def assemble(cls, elements: Sequence[PointMass], model: FrameModel) -> None:
        """Blocks ``Aᵀ diag(m, J) A`` with ``A = [1, −[c]×; 0, 1]``."""
        count = len(elements)
        inner = np.zeros((count, 6, 6))
        inner[:, [0, 1, 2], [0, 1, 2]] = [element.mass for element in elements]
        inner[:, 3:, 3:] = [element.inertia for element in elements]
        A = np.broadcast_to(np.eye(6), (count, 6, 6)).copy()
        A[:, :3, 3:] = -cross_matrix(np.array([element.offset for element in elements]))
        blocks = assembly.congruent(A, inner)
        points = np.array([model.numbering.index[element.point] for element in elements])
        kept = model.keep_directions(0.5 * (blocks + blocks.transpose(0, 2, 1)))
        model.blocks["M"].append(Blocks(points, points, np.arange(count), kept))
        extended = [any(map(any, element.inertia)) or any(element.offset) for element in elements]
        model.touched[points[np.array(extended)]] = True


class MassMethods:
    """The part of a `Frame` that takes point masses."""

    planar: bool
    elements: list[FrameElement]

    def add_mass(
        self, name: str, point: str, mass: Any = 0.0, *, inertia: Any = None, offset: Sequence[float] | None = None
    ) -> None:
        """A rigid body at a point.

        Parameters
        ----------
        mass : [kg]; three numbers for a different mass in each global direction.
        inertia : about its own centre [kg m²], in global axes: a number (planar), three numbers or a 3 x 3 matrix.
        offset : of its centre from the point, in global axes [m].
        """
        what = f"mass {name!r}"
        arguments.text(point, what)
        three = np.broadcast_to(np.asarray(mass, dtype=object), (3,)) if np.ndim(mass) == 0 else list(mass)
        if len(three) != 3:
            raise ModelError("wrong-shape", f"{what} must be one number or three, got {mass!r}.")
        masses = tuple(arguments.number(m, what, not_negative=True) for m in three)
        expected = f"inertia of {what} must be a number, three numbers or a symmetric 3 x 3 matrix."
        J = np.zeros((3, 3)) if inertia is None else arguments.numbers(inertia, expected)
        if J.ndim == 0:
            J = np.diag([0.0, 0.0, float(J)]) if self.planar else float(J) * np.eye(3)
        elif J.shape == (3,):
            J = np.diag(J)
        if J.shape != (3, 3) or not np.all(np.isfinite(J)) or np.abs(J - J.T).max() > ROUNDING * np.abs(J).max():
            raise ModelError("not-symmetric" if J.shape == (3, 3) else "wrong-shape", expected)
        if np.linalg.eigvalsh(J)[0] < -ROUNDING * np.abs(J).max():
            raise ModelError("not-positive-definite", f"inertia of {what} must not have negative eigenvalues.")
        rows = tuple((row[0], row[1], row[2]) for row in J.tolist())
        place = (0.0, 0.0, 0.0) if offset is None else arguments.vector(offset, f"offset of {what}", self.planar)
        self.elements.append(
            PointMass(name, point, (masses[0], masses[1], masses[2]), (rows[0], rows[1], rows[2]), place)
        )


FRAME_ELEMENTS.register("mass", PointMass)
