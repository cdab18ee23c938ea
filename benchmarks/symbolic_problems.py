"""The machines of group ``symbolic``: their numbers, and the state at which everybody is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

AXES = {"spatial": "zyx", "planar": "z"}
"""Axes of the hinges, cycling. A coordinate of the spatial chain turns a link from the one before, a coordinate of the
planar pendulum turns it from the world's axes. Gravity acts along -y."""
LINK = {"m": 1.0, "l": 0.3, "c": 0.15, "Ix": 0.001, "Iy": 0.0075, "Iz": 0.0075, "g": 9.81}
"""Every link of a chain: mass, distance of its hinges, of its centre from the first, inertia about the centre."""
BICYCLE = {
    "w": 1.02, "tr": 0.08, "tilt": np.pi / 10, "rr": 0.3, "rf": 0.35, "g": 9.81, "v": 5.0,
    "mr": 2.0, "mb": 85.0, "mh": 4.0, "mf": 3.0, "xb": 0.3, "zb": 0.9, "xh": 0.9, "zh": 0.7,
    "Irx": 0.0603, "Iry": 0.12, "Ifx": 0.1405, "Ify": 0.28,
    "Ibx": 9.2, "Iby": 11.0, "Ibz": 2.8, "Ibxz": -2.4, "Ihx": 0.05892, "Ihy": 0.06, "Ihz": 0.00708, "Ihxz": 0.00756,
}  # fmt: skip
"""Benchmark bicycle (Meijaard 2007), with z upwards."""


def hinges(kind: str, count: int) -> list[int]:
    """Axis (0, 1, 2) of every hinge."""
    return ["xyz".index(AXES[kind][k % len(AXES[kind])]) for k in range(count)]


def state(count: int) -> tuple[Any, Any]:
    """Angles and rates at which numbers are compared."""
    random = np.random.default_rng(7)
    return random.uniform(-1.0, 1.0, count), random.uniform(-2.0, 2.0, count)
