"""The quick-return mechanism of Whitworth."""

from __future__ import annotations

import numpy as np

import dalembert as da

SPEED = np.pi / 2


def whitworth(*, driven: bool = False) -> da.Mechanism:
    m = da.Mechanism("Whitworth", planar=True, gravity=0)
    rocker_length, coupler_length = np.hypot(0.15, 0.6), np.hypot(0.65, 0.2)
    slider = m.add_body("slider", mass=1.0, inertia=0.0, position=(0.8, 0.8))
    coupler = m.add_body(
        "coupler", mass=0.2, inertia=0.2 * 0.1**2 / 12, position=(0.475, 0.7), angle=np.arctan2(0.2, 0.65)
    )
    rocker = m.add_body(
        "rocker", mass=0.4, inertia=0.2 * 0.5**2 / 12, position=(0.075, 0.3), angle=np.arctan2(0.6, 0.15)
    )  # 0.2 although the mass is 0.4: that is the data (trap 23)
    crank = m.add_body("crank", mass=0.2, inertia=0.2 * 0.1**2 / 3, position=(0, 0.3), angle=np.pi / 4)
    m.add_prismatic("guide", m.ground.at(0, 0.8), slider.at(0, 0))
    m.add_revolute("P", coupler.at(coupler_length / 2, 0), slider.at(0, 0))
    m.add_revolute("Q", coupler.at(-coupler_length / 2, 0), rocker.at(rocker_length / 2, 0))
    m.add_revolute("O", m.ground.at(0, 0), rocker.at(-rocker_length / 2, 0))
    m.add_revolute("K", m.ground.at(0, 0.3), crank.at(0, 0))
    m.add_pin_in_slot("slot", rocker.at(-rocker_length / 2, 0), crank.at(np.hypot(0.1, 0.1), 0))
    if driven:
        m.add_driver("turn", "K", lambda t: np.pi / 4 + SPEED * t)
    else:
        m.add_actuator("motor", "K", input="u1")
    return m
