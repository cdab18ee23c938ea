"""The spatial four-bar with two spheres."""

from __future__ import annotations

import numpy as np

import dalembert as da

A_ARM, B_ARM, FOOT = 0.3, 0.9, np.array([0.6, 0.4, 0.1])


FIRST, LAST = np.array([A_ARM, 0, 0]), FOOT + np.array([0, 0, B_ARM])


LENGTH = float(np.linalg.norm(LAST - FIRST))


def rssr(inertia=(0.02, 0.05, 0.05), side: float = 0.0) -> da.Mechanism:
    """`side`: distance of the coupler's centre of mass from the line of its balls."""
    m = da.Mechanism("rssr")
    crank = m.add_body("crank", mass=1.0, inertia=0.01, position=FIRST / 2)
    rocker = m.add_body("rocker", mass=1.5, inertia=0.03, position=(FOOT + LAST) / 2)
    x = (LAST - FIRST) / LENGTH
    y = np.cross([0, 0, 1], x) / np.linalg.norm(np.cross([0, 0, 1], x))
    turned = np.column_stack((x, y, np.cross(x, y)))
    center = (FIRST + LAST) / 2 + side * y
    coupler = m.add_body("coupler", mass=2.0, inertia=inertia, position=center, rotation=turned)
    m.add_revolute("R1", m.ground, crank, at=(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("R2", m.ground, rocker, at=FOOT, axis=(1, 0, 0))
    m.add_spherical("S1", crank, coupler, at=FIRST)
    m.add_spherical("S2", coupler, rocker, at=LAST)
    m.add_sensor("A", da.position(coupler.at(-LENGTH / 2, -side, 0)))
    m.add_sensor("B", da.position(coupler.at(LENGTH / 2, -side, 0)))
    m.add_actuator("motor", "R1", input="torque")
    return m
