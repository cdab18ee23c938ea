"""Linear models and records for filters: a cart, a block on a spring, a pushed mass."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.linear import StateSpace
from dalembert.record import Record


def cart(dt: float | None = None) -> StateSpace:
    model = StateSpace(
        [[0, 1], [0, 0]], [0, 1], [1, 0], states=["position", "speed"], inputs="push", outputs="seen",
        units={"position": "m", "speed": "m/s", "push": "m/s²", "seen": "m"},
    )  # fmt: skip
    return model if dt is None else model.to_discrete(dt)


def pushed(count: int = 200, dt: float = 0.1, noise: float = 0.01, seed: int = 0) -> Record:
    """Position under a push of 1 m/s², exact, plus noise on what is seen."""
    t = dt * np.arange(count)
    seen = t**2 / 2 + noise * np.random.default_rng(seed).standard_normal(count)
    return Record.from_channels(
        t, {"push": 1.0, "seen": seen, "position": t**2 / 2, "speed": t}, {"position": "m", "speed": "m/s"}
    )


def kalman(**more: object) -> da.estimate.Kalman:
    given: dict[str, object] = {"Q": {"speed": 1e-6}, "R": 1e-4, "P0": 1.0, "dt": 0.1, **more}
    return da.estimate.Kalman(cart(), **given)


def block_on_a_spring() -> tuple[da.EquationsOfMotion, StateSpace]:
    m = da.Mechanism("mass", planar=True)
    body = m.add_body("block", mass=2.0, inertia=1.0)
    m.add_prismatic("rail", m.ground, body, at=(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="rail", stiffness=8.0, damping=0.4)
    m.add_force("push", body.at(0, 0), (1, 0), input="push")
    m.add_sensor("place", da.displacement("rail"))
    names = ["rail.displacement", "rail.speed"]
    model = StateSpace([[0, 1], [-4, -0.2]], [0, 0.5], [1, 0], states=names, inputs="push", outputs="place")
    return da.equations(m), model
