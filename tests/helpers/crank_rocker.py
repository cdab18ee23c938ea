"""A crank-rocker whose crank is driven."""

from __future__ import annotations

import numpy as np

import dalembert as da


def four_bar(driver=None) -> da.Mechanism:
    m = da.Mechanism("four-bar", planar=True)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(1.0), position=(0.5, 0))
    coupler = m.add_body("coupler", mass=2.0, inertia=da.rod(2.0), position=(1, 1), angle=np.pi / 2)
    length = np.hypot(3, 2)
    rocker = m.add_body("rocker", mass=4.0, inertia=da.rod(length), position=(2.5, 1), angle=np.arctan2(-2, 3))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.5, 0))
    m.add_revolute("B", crank.at(0.5, 0), coupler.at(-1, 0))
    m.add_revolute("C", coupler.at(1, 0), rocker.at(-length / 2, 0))
    m.add_revolute("D", rocker.at(length / 2, 0), m.ground.at(4, 0))
    if driver is not None:
        m.add_driver("drive", "A", driver)
    return m
