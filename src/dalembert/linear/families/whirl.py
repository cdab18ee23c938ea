"""Whirl of a mode of a rotor: forward, backward, planar, or none."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.linear.second_order import SecondOrder

TURNS = {"x": "rx", "y": "ry", "z": "rz"}


def find_whirl(
    system: SecondOrder,
    shape: ComplexArray,
    axis: FloatArray,
    direction: float,
    energy: float = 1e-6,  # share of the kinetic energy across the axis of a mode that does not whirl: rounding, 1e-12
    planar: float = 1e-6,  # difference of forward and backward whirl, relative to their sum, of a planar motion
) -> str:
    """``"forward"``, ``"backward"``, ``"planar"``, or ``""`` for a mode (n,) without motion across the axis (3,).

    ``direction`` : sign of the speed about the axis. An unbalance is a force across the axis that turns with the rotor;
    motions along or about the axis do no work on it. With a = e₁ × e₂ the axis and u the complex displacement of a
    point, e₁ − i e₂ turns forward in time, e₁ + i e₂ backward.
    """
    across = _across(system, shape, axis)
    total = np.vdot(shape, system.M @ shape).real
    if np.vdot(across, system.M @ across).real <= energy * total:
        return ""
    points = _vectors(system, shape)
    e1 = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    e1 = e1 / np.linalg.norm(e1)
    u1, u2 = points @ e1, points @ np.cross(axis, e1)
    forward, backward = (float((np.abs(u1 + sign * 1j * u2) ** 2).sum()) for sign in (1, -1))
    if direction < 0:
        forward, backward = backward, forward
    if abs(forward - backward) <= planar * (forward + backward):
        return "planar"
    return "forward" if forward > backward else "backward"


def _places(system: SecondOrder) -> dict[str, dict[str, int]]:
    """Coordinates ``"p.y"`` by point and direction."""
    numbers: dict[str, dict[str, int]] = {}
    for i, name in enumerate(system.coordinates):
        point, _, way = name.rpartition(".")
        numbers.setdefault(point, {})[way] = i
    return numbers


def _vectors(system: SecondOrder, shape: ComplexArray) -> ComplexArray:
    """(np, 3) displacements of the points."""
    points = _places(system).values()
    return np.array([[shape[ways[way]] if way in ways else 0.0 for way in TURNS] for ways in points])


def _across(system: SecondOrder, shape: ComplexArray, axis: FloatArray) -> ComplexArray:
    """(n,) the shape without its motion along and about the axis."""
    across = shape.astype(np.complex128)
    for ways in _places(system).values():
        for names in (TURNS.keys(), TURNS.values()):
            cosines = [(ways[name], a) for name, a in zip(names, axis) if name in ways]
            along = sum(a * shape[i] for i, a in cosines)
            for i, a in cosines:
                across[i] -= a * along
    return across
