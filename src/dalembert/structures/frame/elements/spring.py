"""Springs and dampers of a frame, between two points or a point and the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import Matrix6
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement, FrameModel
from dalembert.structures.frame.elements.beam import shortest_length

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame


@dataclass(frozen=True)
class SpringElement(FrameElement):
    """Stiffness and damping between two points, or a point and the ground.

    Along the line of its ends (numbers in ``line``) or on the six relative displacements (6 x 6 matrices).
    """

    kind: ClassVar[str] = "spring"
    name: str
    a: str
    b: str | None
    stiffness: Matrix6 | None
    damping: Matrix6 | None
    line: tuple[float, float] | None
    loss_factor: float = 0.0

    @property
    def attached(self) -> Sequence[str]:
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def rotated(self) -> Sequence[str]:
        return self.attached if self.line is None else ()

    def find_geometry_problems(
        self, frame: Frame, positions: FloatArray, index: Mapping[str, int], size: float
    ) -> list[Finding]:
        if self.line is None or self.b is None:
            return []
        gap = positions[index[self.b]] - positions[index[self.a]]
        if float(np.linalg.norm(gap)) > shortest_length(size):
            return []
        problem = f"spring {self.name!r} joins points at one place and has no line to act along."
        return [
            Finding("zero-length", problem, {"spring": self.name}, {}, (Advice("Give {}.", Argument("direction")),))
        ]

    @classmethod
    def assemble(cls, elements: Sequence[SpringElement], model: FrameModel) -> None:
        """Blocks k to the ground, [[k, −k], [−k, k]] between points."""
        index, positions = model.numbering.index, model.numbering.positions
        for grounded in (True, False):
            springs = [spring for spring in elements if (spring.b is None) == grounded]
            if not springs:
                continue
            ends = np.array([[index[point] for point in spring.attached] for spring in springs])
            K, C = np.zeros((len(springs), 6, 6)), np.zeros((len(springs), 6, 6))
            for matrices, name in ((K, "stiffness"), (C, "damping")):
                given = [k for k, spring in enumerate(springs) if getattr(spring, name) is not None]
                matrices[given] = np.array([getattr(springs[k], name) for k in given]).reshape(-1, 6, 6)
                for k in given:
                    model.touched[ends[k]] |= np.diag(matrices[k]) != 0
            lines = [k for k, spring in enumerate(springs) if spring.line is not None]
            if lines:
                along = positions[ends[lines, 1]] - positions[ends[lines, 0]]
                along /= np.linalg.norm(along, axis=1)[:, None]
                pattern = along[:, :, None] * along[:, None, :]
                K[lines, :3, :3], C[lines, :3, :3] = (
                    np.array([springs[k].line[i] for k in lines])[:, None, None] * pattern  # type: ignore[index]
                    for i in (0, 1)
                )
            loss = np.array([spring.loss_factor for spring in springs])[:, None, None]
            signs = np.ones((1, 1)) if grounded else np.array([[1.0, -1.0], [-1.0, 1.0]])
            for key, matrices in (("K", K), ("C", C), ("K_loss", loss * K)):
                if matrices.any():
                    model.blocks[key].append(assembly.blocks(ends, np.kron(signs, model.keep_directions(matrices))))


class SpringMethods:
    """The part of a `Frame` that takes springs and dampers."""

    planar: bool
    elements: list[FrameElement]

    def add_spring(
        self,
        name: str,
        a: str,
        b: str | None = None,
        stiffness: Any = None,
        *,
        direction: Any = None,
        damping: Any = None,
        loss_factor: float = 0.0,
    ) -> None:
        """A spring, with a damper in parallel if ``damping`` is given, between two points or a point and the ground.

        Parameters
        ----------
        a, b : points; ``b=None`` is the ground.
        stiffness : [N/m, N m/rad]. A number acts in ``direction`` (``"y"``, ``"rz"`` or a vector), or along the line
            from a to b when no direction is given; a mapping ``{"x": 1e5, "rz": 1e3}``, six numbers (x y z rx ry rz;
            three for a planar frame) or a full symmetric matrix act on the relative displacements.
        damping : the same for the rates [N s/m, N m s/rad].

        A spring in a direction across the line between two points that are not at one place feels a rigid turn of
        both as stretch: model such a link by a beam, or by a rigid link to a point at the same place.
        """
        what = f"spring {name!r}"
        for point in (a,) if b is None else (a, b):
            arguments.text(point, what)
        loss = arguments.number(loss_factor, f"loss factor of {what}", not_negative=True)
        scalars = all(
            value is None or (np.ndim(value) == 0 and not isinstance(value, dict)) for value in (stiffness, damping)
        )
        if b is not None and direction is None and scalars:
            k, c = (
                0.0 if value is None else arguments.number(value, f"{word} of {what}", not_negative=True)
                for word, value in (("stiffness", stiffness), ("damping", damping))
            )
            if not k and not c:
                raise ModelError("empty", f"{what} has neither stiffness nor damping.")
            self.elements.append(SpringElement(name, a, b, None, None, (k, c), loss))
            return
        for word, value in (("stiffness", stiffness), ("damping", damping)):
            if value is not None and direction is None and np.ndim(value) == 0 and not isinstance(value, dict):
                raise ModelError(
                    "missing-argument",
                    f"{word} of {what} has no direction.",
                    Advice("Give {} (y, z, rx, ry, rz or a vector), or a mapping.", Argument("direction", "x")),
                    where={"spring": name},
                )
        K, C = (
            arguments.matrix_of(value, direction, f"{word} of {what}", self.planar)
            for word, value in (("stiffness", stiffness), ("damping", damping))
        )
        if K is None and C is None:
            raise ModelError("empty", f"{what} has neither stiffness nor damping.")
        self.elements.append(SpringElement(name, a, b, K, C, None, loss))

    def add_damper(
        self, name: str, a: str, b: str | None = None, damping: Any = None, *, direction: Any = None
    ) -> None:
        """A viscous damper; as :meth:`add_spring` without stiffness."""
        self.add_spring(name, a, b, None, direction=direction, damping=damping)


FRAME_ELEMENTS.register("spring", SpringElement)
