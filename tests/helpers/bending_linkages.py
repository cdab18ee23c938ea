"""Linkages of slender aluminium links with slides: on the ground, and on a lever that turns."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from dalembert.linkages import EquivalentRigidLinks
from dalembert.structures import Frame, Section

STRIP: dict[str, Any] = {"section": Section.rectangle(0.004, 0.02), "material": "aluminium"}


def strip(name: str, length: float, elements: int = 3, middle: float | None = None, **beam: Any) -> Frame:
    frame = Frame(name, planar=True)
    places = [0.0, length] if middle is None else [0.0, middle, length]
    frame.add_points([f"{k + 1}" for k in range(len(places))], [[x, 0] for x in places])
    for k in range(len(places) - 1):
        frame.add_beam(f"beam{k + 1}", f"{k + 1}", f"{k + 2}", **STRIP, elements=elements, **beam)
    return frame


def slider_crank(angle: float = 0.7, slope: float = 0.3) -> EquivalentRigidLinks:
    """A slide on an inclined ground guide."""
    m = da.Mechanism("slider-crank", planar=True, gravity=0)
    end = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    guide = np.array([np.cos(slope), np.sin(slope)])
    reach = end @ guide + np.sqrt(0.8**2 - (guide[0] * end[1] - guide[1] * end[0]) ** 2)
    pin = reach * guide
    crank = m.add_body("crank", mass=1, inertia=0.1, center=(0, 0), angle=angle)
    turned = float(np.arctan2(*(pin - end)[::-1]))
    rod = m.add_body("rod", mass=1, inertia=0.1, center=(0, 0), position=tuple(end), angle=turned)
    block = m.add_body("block", mass=0.7, inertia=0.01, position=tuple(pin), angle=slope)
    m.add_revolute("O", m.ground.at(0, 0), crank.at(0, 0))
    m.add_revolute("P", crank.at(0.3, 0), rod.at(0, 0))
    m.add_revolute("Q", rod.at(0.8, 0), block.at(0, 0))
    m.add_prismatic("S", m.ground.frame(0, 0, angle=slope), block.frame(0, 0))
    return EquivalentRigidLinks(
        m, beams={"crank": strip("crank", 0.3), "rod": strip("rod", 0.8)}, coordinates=["O.angle"]
    )


def quick_return(angle: float = 0.5) -> EquivalentRigidLinks:
    """A block on a crank slides along a turning lever."""
    m = da.Mechanism("quick return", planar=True, gravity=0)
    pin = 0.2 * np.array([np.cos(angle), np.sin(angle)])
    base = np.array([0.0, -0.5])
    slope = float(np.arctan2(*(pin - base)[::-1]))
    crank = m.add_body("crank", mass=1, inertia=0.1, center=(0, 0), angle=angle)
    lever = m.add_body("lever", mass=1, inertia=0.1, center=(0, 0), position=tuple(base), angle=slope)
    block = m.add_body("block", mass=0.3, inertia=0.01, position=tuple(pin), angle=slope)
    m.add_revolute("O", m.ground.at(0, 0), crank.at(0, 0))
    m.add_revolute("L", m.ground.at(*base), lever.at(0, 0))
    m.add_revolute("P", crank.at(0.2, 0), block.at(0, 0))
    m.add_prismatic("S", lever.frame(0, 0), block.frame(0, 0))
    frames = {"crank": strip("crank", 0.2), "lever": strip("lever", 0.9)}
    return EquivalentRigidLinks(m, beams=frames, coordinates=["O.angle"])
