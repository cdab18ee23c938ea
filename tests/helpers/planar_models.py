"""Planar linkages by their nodes: machines of Orsino 2016, ch. 5."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.symbolic import PlanarModel


def ring_and_disc(ratio: float = 8 / 67, slope: float = float(np.arcsin(0.8)), start: float = 0.0) -> PlanarModel:
    """A ring rolls down an incline, a disc rolls inside it; no slip is written by the user, at velocity level.

    x points down the incline; theta is the direction from the ring's centre to the disc, from the vertical.
    """
    r1, r2, m1 = 1.0, 0.3, 0.670
    m = da.symbolic.PlanarModel("ring and disc", gravity=(9.8 * np.sin(slope), -9.8 * np.cos(slope)))
    m.add_body(1, [(0, r1)], mass=m1, inertia=m1 * r1**2, radius=r1)
    way = slope - start  # from the normal of the incline
    place = (-(r1 - r2) * np.sin(way), r1 - (r1 - r2) * np.cos(way))
    m.add_body(2, [place], mass=ratio * m1, inertia=ratio * m1 * r2**2 / 2, radius=r2)
    theta = m.add_coordinate("theta", m.add_speed("theta.rate"), start=start)
    c, s = da.cos(slope - theta), da.sin(slope - theta)
    u1, v1, w1, u2, v2, w2 = (m[x] for x in ("1.1.vx", "1.1.vy", "1.rate", "2.1.vx", "2.1.vy", "2.rate"))
    m.add_constraint(u1 + w1 * r1, name="roll")
    m.add_constraint(v1, name="contact")
    m.add_constraint(u1 - u2 + (w1 * r1 - w2 * r2) * c, name="inside x")
    m.add_constraint(v1 - v2 + (w1 * r1 - w2 * r2) * s, name="inside y")
    m.add_constraint(u2 - u1 + (r1 - r2) * m["theta.rate"] * c, name="angle")
    return m


def pendulum() -> PlanarModel:
    """A mass at the end of a bar; the torque acts on the ground, against the bar."""
    m = da.symbolic.PlanarModel("pendulum", gravity=9.8)
    m.add_ground((0, 0))
    m.add_bar(1, (0, 0), (0.8, 0.6), mass=1.0, inertia=0.0, center=1)
    m.add_revolute("1.1-0.1", input="u")
    return m
