"""The planar robot of three legs."""

from __future__ import annotations

import numpy as np

import dalembert as da


def robot() -> da.Mechanism:
    m = da.Mechanism("3-RRR", planar=True, gravity=0)
    r = np.sqrt(3)
    base = np.array([(3, 0), (-1.5, 1.5 * r), (-1.5, -1.5 * r)])
    node = np.array([(1, 0), (-0.5, r / 2), (-0.5, -r / 2)])
    elbow = np.array([(2, r), (-2.5, r / 2), (0.5, -1.5 * r)])
    platform = m.add_body("platform", mass=1.0, inertia=0.25, position=(0, 0))
    for k in range(3):
        d, e = elbow[k] - node[k], elbow[k] - base[k]
        middle = (elbow[k] + node[k]) / 2
        coupler = m.add_body(f"coupler{k + 1}", mass=0.5, inertia=1 / 6, position=middle, angle=np.arctan2(d[1], d[0]))
        crank = m.add_body(f"crank{k + 1}", mass=0.5, inertia=2 / 3, position=base[k], angle=np.arctan2(e[1], e[0]))
        m.add_revolute(f"A{k + 1}", m.ground.at(*base[k]), crank.at(0, 0))
        m.add_revolute(f"E{k + 1}", crank.at(2, 0), coupler.at(1, 0))
        m.add_revolute(f"P{k + 1}", platform.at(*node[k]), coupler.at(-1, 0))
        m.add_actuator(f"motor{k + 1}", f"A{k + 1}", input=f"u{k + 1}")
    m.add_sensor("node2", da.position(platform.at(1, 0)))
    return m
