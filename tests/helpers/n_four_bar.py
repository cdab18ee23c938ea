"""A chain of four-bar linkages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import dalembert as da


@lru_cache(maxsize=4)
def machine(count: int) -> tuple[Any, Any]:
    m = da.Mechanism(f"{count} four-bars", planar=True)
    cranks = []
    for k in range(count + 1):
        crank = m.add_body(f"crank{k}", mass=1.0, inertia=da.rod(1.0), position=(k, 0.5), angle=np.pi / 2)
        m.add_revolute(f"A{k}", m.ground.at(k, 0), crank.at(-0.5, 0))
        cranks.append(crank)
    for k in range(count):
        bar = m.add_body(f"bar{k}", mass=1.0, inertia=da.rod(1.0), position=(k + 0.5, 1.0))
        m.add_revolute(f"B{k}", cranks[k].at(0.5, 0), bar.at(-0.5, 0))
        m.add_revolute(f"C{k}", cranks[k + 1].at(0.5, 0), bar.at(0.5, 0))
    m.add_sensor("tip", da.position(cranks[0].at(0.5, 0)))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, velocity={"A0": -1.0})
