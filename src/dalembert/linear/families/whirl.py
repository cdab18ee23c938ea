"""Whirl of a mode of a rotor: forward, backward, planar, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.linear.second_order import SecondOrder

TURNS = {"x": "rx", "y": "ry", "z": "rz"}


@dataclass(frozen=True)
class WhirlLimits:
    """How the mode that meets an order is found, and when it whirls."""

    # Relative distance of the eigenvalue of the mode from the one that meets the order: far above its rounding,
    # far below the distance of two modes.
    met: float = 1e-9
    # Share of the kinetic energy across the axis below which a mode does not whirl: rounding leaves 1e-12.
    across: float = 1e-6
    # Difference of forward and backward whirl, relative to their sum, below which a motion is planar: likewise.
    planar: float = 1e-6


WHIRL = WhirlLimits()


def find_whirl(system: SecondOrder, shape: ComplexArray, axis: FloatArray, direction: float) -> str:
    """``"forward"``, ``"backward"``, ``"planar"``, or ``""`` for a mode (n,) without motion across the axis (3,).

    ``direction`` : sign of the speed about the axis. An unbalance is a force across the axis that turns with the rotor;
    motions along or about the axis do no work on it. With a = e₁ × e₂ the axis and u the complex displacement of a
    point, e₁ − i e₂ turns forward in time, e₁ + i e₂ backward.
    """
    across = _across(system, shape, axis)
    total = np.vdot(shape, system.M @ shape).real
    if np.vdot(across, system.M @ across).real <= WHIRL.across * total:
        return ""
    points = _vectors(system, shape)
    e1 = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    e1 = e1 / np.linalg.norm(e1)
    one, two = points @ e1, points @ np.cross(axis, e1)
    forward, backward = (float((np.abs(one + sign * 1j * two) ** 2).sum()) for sign in (1, -1))
    if direction < 0:
        forward, backward = backward, forward
    if abs(forward - backward) <= WHIRL.planar * (forward + backward):
        return "planar"
    return "forward" if forward > backward else "backward"


def _places(system: SecondOrder) -> dict[str, dict[str, int]]:
    """Coordinates ``"p.y"`` by point and direction."""
    found: dict[str, dict[str, int]] = {}
    for i, name in enumerate(system.coordinates):
        point, _, way = name.rpartition(".")
        found.setdefault(point, {})[way] = i
    return found


def _vectors(system: SecondOrder, shape: ComplexArray) -> ComplexArray:
    """(np, 3) displacements of the points."""
    points = _places(system).values()
    return np.array([[shape[ways[way]] if way in ways else 0.0 for way in TURNS] for ways in points])


def _across(system: SecondOrder, shape: ComplexArray, axis: FloatArray) -> ComplexArray:
    """(n,) the shape without its motion along and about the axis."""
    across = shape.astype(np.complex128)
    for ways in _places(system).values():
        for names in (TURNS.keys(), TURNS.values()):
            have = [(ways[name], part) for name, part in zip(names, axis) if name in ways]
            along = sum(part * shape[i] for i, part in have)
            for i, part in have:
                across[i] -= part * along
    return across
