"""The linkage of Bricard: six hinges in a loop."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import dalembert as da

POINTS = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]


AXES = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]


@lru_cache(maxsize=2)
def machine(coordinates: str = "absolute") -> Any:
    m = da.Mechanism("Bricard", gravity=(0, -9.81, 0))
    sides: list[Any] = [m.ground]
    for k in range(5):
        a, b = np.array(POINTS[k], dtype=float), np.array(POINTS[k + 1], dtype=float)
        size = [1.0 if d else 0.1 for d in b - a]
        sides.append(m.add_body(f"rod{k}", mass=1.0, inertia=da.box(*size), position=tuple((a + b) / 2)))
    sides.append(m.ground)
    for k in range(6):
        m.add_revolute(f"J{k}", sides[k], sides[k + 1], at=POINTS[k], axis=AXES[k])
    m.add_sensor("P", da.position(sides[3].at(0, 0, 0.5)))
    return da.equations(m, coordinates=coordinates)
