"""A small arm in space for functions of trees: hinges, a screw, a named tip, a parameter."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import dalembert as da
from dalembert.equations import EquationsOfMotion, State


def make_arm() -> da.Mechanism:
    m = da.Mechanism("arm")
    mass = m.parameter("hand.mass", 0.7)
    upper = m.add_body("upper", mass=2.0, inertia=[0.02, 0.2, 0.21])
    lower = m.add_body("lower", mass=1.2, inertia=[[0.01, 0.002, 0.0], [0.002, 0.1, 0.003], [0.0, 0.003, 0.1]])
    hand = m.add_body("hand", mass=mass, inertia=da.box(0.2, 0.1, 0.05))
    hand.points["tip"] = (0.1, 0.02, 0.03)
    m.add_revolute("shoulder", m.ground.at(0.1, 0.2, 0.3), upper.at(-0.5, 0, 0), axis=(0, 0, 1))
    m.add_revolute("elbow", upper.at(0.5, 0, 0), lower.at(-0.3, 0, 0.1), axis=(0, 1, 0))
    m.add_screw("drill", lower.at(0.3, 0, 0), hand.at(-0.1, 0, 0), axis=(1, 0, 0), lead=0.05)
    return m


@lru_cache(maxsize=1)
def arm() -> EquationsOfMotion:
    return da.equations(make_arm(), coordinates="joint")


def arm_states(count: int, seed: int = 0) -> list[State]:
    rng = np.random.default_rng(seed)
    return [arm().state(q=rng.normal(size=3), v=rng.normal(size=3)) for _ in range(count)]
