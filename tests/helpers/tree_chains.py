"""A chain of links for recursive algorithms."""

from __future__ import annotations

import dalembert as da


def chain(count: int) -> da.Mechanism:
    m = da.Mechanism("chain")
    before = m.ground.at(0, 0, 0)
    for k in range(count):
        link = m.add_body(f"link{k}", mass=1.0, inertia=[[0.001, 0, 0], [0, 0.0075, 0], [0, 0, 0.0075]])
        axis = [(0, 0, 1), (0, 1, 0), (1, 0, 0)][k % 3]
        m.add_revolute(f"hinge{k}", before, link.at(-0.15, 0, 0), axis=axis)
        before = link.at(0.15, 0, 0)
    return m
