"""How the page plays mode shapes: a mode repeats one cycle of its phase at a rate that the eye can follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError

MOST_MODES = 12  # by default
REACH = 0.13  # largest displacement as part of the size: visible, and still a small motion to the eye


def read_count(modes: object) -> int | None:
    """Number of modes that the user wants, None where it is left out."""
    if modes is not None and (isinstance(modes, bool) or not isinstance(modes, int) or modes < 1):
        raise DataError("wrong-type", f"modes must be Modes or a number from 1, not {modes!r}.")
    return modes


def mode_clock(speed: float = 1.0) -> dict[str, Any]:
    """Entries of the page for one cycle of phase instead of time, half a cycle per second for any frequency."""
    clock: dict[str, Any] = {"clock": "phase", "start": 0.0, "end": 1.0, "step": 0.0, "frames": 1, "picture": 1 / 60}
    return {**clock, "speed": 0.5 * float(speed)}


def scene_box(places: FloatArray, reach: float, planar: bool) -> dict[str, Any]:
    """Corners and radius of a box around places (n, 3) [m] that move by up to ``reach`` [m]."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = np.array([reach, reach, 0.0 if planar else reach])
    radius = float(np.linalg.norm(high - low) / 2 + reach) or 0.5
    return {"planar": planar, "low": (low - side).tolist(), "high": (high + side).tolist(), "radius": radius}
