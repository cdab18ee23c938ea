"""A four-bar linkage of the planar package."""

from __future__ import annotations

import dalembert as da
from dalembert.symbolic import PlanarModel


def four_bar() -> PlanarModel:
    m = da.symbolic.PlanarModel("four-bar")
    m.add_ground((0, 0), (0.7, 0))
    m.add_bar("crank", "0.1", (0, 0.2), mass=0.2)
    m.add_bar("coupler", "crank.2", (0.55, 0.45), mass=0.6)
    m.add_bar("rocker", "0.2", "coupler.2", mass=0.5)
    m.add_revolute("0.1-crank.1", name="A", input="torque")
    m.add_revolute("crank.2-coupler.1", name="B")
    m.add_revolute("coupler.2-rocker.2", name="C")
    m.add_revolute("0.2-rocker.1", name="D")
    return m
