"""Beams of point masses, clamped at the root of their frame: the same numbers for everybody.

A section of the beam is four points at (x, ±a, 0) and (x, 0, ±a), which move with it: an engine whose bodies have
nodes without rotation finds the rotation of a section from its points. With a² = 2 I/A they have the rotary inertia of
the section. Modes are those of these masses with the stiffness of Euler-Bernoulli beams, rods and shafts, so that
ΦᵀMΦ = 1 and ΦᵀKΦ = diag(ω²) hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

POINTS = 4  # of a section

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Beam:
    """Along x, clamped at x = 0, with a round section.

    length [m]; area [m²]; density [kg/m³]; modulus [Pa]; modes : numbers of modes in bending along y and z, of
    stretching and of twisting; elements : of equal length; end_mass : on the points of the last section [kg].
    """

    length: float
    area: float
    density: float
    modulus: float
    modes: tuple[int, int, int, int]
    elements: int = 20
    end_mass: float = 0.0

    @property
    def second_moment(self) -> float:
        return self.area**2 / (4 * np.pi)

    @property
    def offset(self) -> float:
        """Distance a of the points from the axis."""
        return float(np.sqrt(2 * self.second_moment / self.area))

    @property
    def sections(self) -> Array:
        """Their places on the axis."""
        return np.linspace(0.0, self.length, self.elements + 1)

    @property
    def masses(self) -> Array:
        """Of the points, section after section."""
        weights = np.ones(self.elements + 1)
        weights[[0, -1]] = 0.5
        weights *= self.density * self.area * self.length / self.elements
        weights[-1] += self.end_mass
        return np.repeat(weights / POINTS, POINTS)

    @property
    def offsets(self) -> Array:
        """Of the points from the axis of their section (4, 3)."""
        a = self.offset
        return np.array([[0, a, 0], [0, -a, 0], [0, 0, a], [0, 0, -a]])

    @property
    def places(self) -> Array:
        """Of the points (n, 3)."""
        axis = np.column_stack([self.sections, np.zeros((len(self.sections), 2))])
        return (axis[:, None, :] + self.offsets).reshape(-1, 3)

    @cached_property
    def motion(self) -> tuple[Array, Array, Array]:
        """ω² (m,), displacements and rotations of the sections (sections, 3, m)."""
        section = POINTS * self.masses[::POINTS]
        EI, EA = self.modulus * self.second_moment, self.modulus * self.area
        parts = []
        for axis, count in enumerate(self.modes[:2], start=1):
            values, shift, slope = self._bending(EI, section, count)
            move, turn = np.zeros((len(section), 3, count)), np.zeros((len(section), 3, count))
            move[:, axis], turn[:, 3 - axis] = shift, slope if axis == 1 else -slope
            parts.append((values, move, turn))
        along, twist = self.modes[2:]
        values, shift = self._along(EA, section, along)
        move = np.zeros((len(section), 3, along))
        move[:, 0] = shift
        parts.append((values, move, np.zeros_like(move)))
        values, shift = self._along(EA / 2.6 * self.offset**2, section * self.offset**2, twist)  # G = E / 2 (1 + 0.3)
        turn = np.zeros((len(section), 3, twist))
        turn[:, 0] = shift
        parts.append((values, np.zeros_like(turn), turn))
        values, move, turn = (np.concatenate([part[k] for part in parts], axis=-1) for k in range(3))
        return values, move, turn

    def _bending(self, EI: float, section: Array, count: int) -> tuple[Array, Array, Array]:
        size = 2 * len(section)
        K, h = np.zeros((size, size)), self.length / self.elements
        rows = [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2]]
        rows += [[-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
        for k in range(self.elements):
            K[2 * k : 2 * k + 4, 2 * k : 2 * k + 4] += EI / h**3 * np.array(rows)
        M = np.column_stack([section, section * self.offset**2 / 2]).ravel()
        values, shapes = _modes(K[2:, 2:], M[2:], count)
        shapes = np.vstack([np.zeros((2, count)), shapes])
        return values, shapes[::2], shapes[1::2]

    def _along(self, stiffness: float, inertia: Array, count: int) -> tuple[Array, Array]:
        size = len(inertia)
        K = stiffness * self.elements / self.length * (2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1))
        K[-1, -1] /= 2
        values, shapes = _modes(K[1:, 1:], inertia[1:], count)
        return values, np.vstack([np.zeros((1, count)), shapes])

    @cached_property
    def shapes(self) -> Array:
        """Modes at the points (n, 3, m)."""
        _, move, turn = self.motion
        at = move[:, None] + np.cross(turn[:, None], self.offsets[None, :, :, None], axis=2)
        return np.asarray(at.reshape(-1, 3, at.shape[-1]))

    @property
    def middle(self) -> Array:
        """Rows (2, m): displacement of the axis in the middle from its chord, along y and z."""
        move = self.motion[1][:, 1:]
        return np.asarray(move[self.elements // 2] - move[-1] / 2)

    def data(self, name: str) -> Any:
        """Body data of `dalembert`, from the point masses."""
        values, move, turn = self.motion
        places = (("root", 0), ("middle", self.elements // 2), ("tip", self.elements))
        nodes = {one: (np.array([self.sections[k], 0, 0]), move[k], turn[k]) for one, k in places}
        return body_data(name, self.masses, self.places, self.shapes, values, nodes, "attached")


def body_data(
    name: str,
    w: Array,
    X: Array,
    S: Array,
    squares: Array,
    nodes: dict[str, tuple[Array, Array, Array]],
    reference: str,
) -> Any:
    """Body data of `dalembert` from masses w (n,), their places X (n, 3) and orthonormal modes S (n, 3, m).

    squares : ω² of the modes.  nodes : place, translation and rotation by the modes.  reference : of the frame.
    """
    from dalembert.model.flexible import FlexibleBodyData, FlexibleNode

    moments = _clean(np.einsum("n,na,nbm->abm", w, X, S))
    second = _clean(np.einsum("n,na,nb->ab", w, X, X))
    return FlexibleBodyData(
        name=name,
        mass=float(w.sum()),
        first_moment=_clean(w @ X),
        inertia=np.trace(second) * np.eye(3) - second,
        translation=_clean(np.einsum("n,nam->am", w, S)),
        rotation=moments[[1, 2, 0], [2, 0, 1]] - moments[[2, 0, 1], [1, 2, 0]],
        modal_mass=np.eye(len(squares)),
        moments=moments,
        products=_clean(np.einsum("n,nam,nbk->abmk", w, S, S)),
        stiffness=np.diag(squares),
        damping=np.zeros((len(squares), len(squares))),
        nodes=tuple(FlexibleNode(name=k, place=u, translation=t, rotation=r) for k, (u, t, r) in nodes.items()),
        reference=reference,
    )


def _modes(K: Array, M: Array, count: int) -> tuple[Array, Array]:
    if not count:
        return np.zeros(0), np.zeros((len(K), 0))
    values, shapes = eigh(K, np.diag(M), subset_by_index=[0, count - 1])
    return values, shapes * np.sign(shapes[-1])


def _clean(values: Array) -> Array:
    """Without what is rounding only."""
    return np.where(np.abs(values) > 1e-13 * np.abs(values).max(initial=0.0), values, 0.0)
