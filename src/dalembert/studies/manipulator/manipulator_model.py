"""A planar manipulator of five slender links and three motors: a parallelogram that carries a forearm.

Data of Palomba 2016 (tables 4.1 and 4.5): diameters, lengths and masses of the links, masses and inertias at fourteen
nodes. The thesis prints no drawing; joints are placed so that its counts of nodes and coordinates come out. Link
masses are those of its table, spread evenly, which differ from ρ A l by up to 21 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.linkages import EquivalentRigidLinks
from dalembert.mechanics import equations as equations
from dalembert.model import Mechanism
from dalembert.model.sensors.coordinate import angle
from dalembert.structures import Frame, Material, Section

YOUNG = 69e9
# length [m], diameter [m], mass [kg], places of nodes along the link [m]
LINKS = {
    "AB": (0.5, 0.030, 1.052, (0.0, 0.5)),
    "AD": (0.85, 0.030, 1.596, (0.0, 0.425, 0.85)),
    "BC": (0.85, 0.016, 0.444, (0.0, 0.425, 0.85)),
    "CE": (1.2, 0.024, 1.343, (0.0, 0.5, 0.85, 1.2)),
    "EF": (0.282, 0.020, 0.190, (0.0, 0.282)),
}
NODE_MASSES = (7.644, 0.392, 9.517, 0.4, 0.648, 0.671, 0.0, 0.383, 0.658, 0.308, 0.0, 1.537, 0.095, 0.046)  # [kg]
NODE_INERTIAS = {1: 0.013, 3: 0.0229, 13: 0.0015}  # [kg m²]
POSE = {"A1.angle": 1.0821, "A2.angle": 2.6354, "EF.angle": 4.7123}  # q*
RIGID = tuple(POSE)
MASTERS = tuple(f"{node}.{way}" for node in ("AD.4", "BC.8", "EF.14") for way in "xy")
GAUGES = {"gauge1": ("AB", 0.25), "gauge2": ("AD", 0.425), "gauge4": ("CE", 0.6)}  # in the middle of links 1, 2, 4


@dataclass(frozen=True)
class ManipulatorFactors:
    """Factors of nominal values: density of all links, stiffness by link, mass and inertia by node."""

    density: float = 1.0
    stiffness: Mapping[str, float] | None = None
    masses: Mapping[int, float] | None = None
    inertias: Mapping[int, float] | None = None


def manipulator(
    pose: Mapping[str, float] | None = None,
    *,
    factors: ManipulatorFactors | None = None,
    beta: float = 0.0,
    refine: int = 1,
    gyroscopic: bool = True,
    gauges: Mapping[str, tuple[str, float] | tuple[str, float, float]] | None = None,
    gravity: float | tuple[float, float] = 0.0,
    carrier: bool = True,
) -> EquivalentRigidLinks:
    """The manipulator in a horizontal plane.

    Parameters
    ----------
    pose : that decides how the loop is closed; q* when left out.
    beta : of damping β K.  refine : elements for each of the nine.  carrier : whether the third motor is on link CE.
    """
    change = factors or ManipulatorFactors()
    m = mechanism({**POSE, **(pose or {})}, gravity, carrier=carrier)
    frames = {name: link_frame(name, change, beta, refine) for name in LINKS}
    return EquivalentRigidLinks(
        m, beams=frames, coordinates=RIGID, gauges=GAUGES if gauges is None else gauges, gyroscopic=gyroscopic
    )


def mechanism(q: Mapping[str, float], gravity: float | tuple[float, float] = 0.0, *, carrier: bool = True) -> Mechanism:
    """Rigid links, hinges and motors; q : angles of links AB, AD and EF."""
    first, second, third = (q[name] for name in RIGID)
    place = {"A": np.zeros(2), "B": 0.5 * _along(first), "D": 0.85 * _along(second)}
    place["C"] = place["B"] + place["D"]
    place["E"] = place["D"] - 0.7 * _along(first)
    drawn = {"AB": ("A", first), "AD": ("A", second), "BC": ("B", second), "CE": ("C", first + math.pi),
             "EF": ("E", third)}  # fmt: skip
    m = Mechanism("manipulator", planar=True, gravity=gravity)
    links = {
        name: m.add_body(name, mass=mass, inertia=mass * length**2 / 3, center=(0.0, 0.0),
                         position=tuple(place[drawn[name][0]].tolist()), angle=drawn[name][1])
        for name, (length, _, mass, _) in LINKS.items()
    }  # fmt: skip
    m.add_revolute("A1", m.ground.at(0, 0), links["AB"].at(0, 0))
    m.add_revolute("A2", m.ground.at(0, 0), links["AD"].at(0, 0))
    m.add_revolute("B", links["AB"].at(0.5, 0), links["BC"].at(0, 0))
    m.add_revolute("C", links["BC"].at(0.85, 0), links["CE"].at(0, 0))
    m.add_revolute("D", links["AD"].at(0.85, 0), links["CE"].at(0.5, 0))
    m.add_revolute("E", links["CE"].at(1.2, 0), links["EF"].at(0, 0))
    m.add_actuator("motor1", joint="A1", input="T1")
    m.add_actuator("motor2", joint="A2", input="T2")
    if carrier:
        m.add_actuator("motor3", joint="E", input="T3")
    else:
        m.add_torque("motor3", links["EF"], input="T3")
    for k, coordinate in enumerate(("A1", "A2", "EF.angle")):
        m.add_sensor(f"encoder{k + 1}", angle(coordinate))
    return m


def link_frame(name: str, factors: ManipulatorFactors | None = None, beta: float = 0.0, refine: int = 1) -> Frame:
    """Euler-Bernoulli beams of one link and the masses at its nodes."""
    change = factors or ManipulatorFactors()
    length, diameter, mass, places = LINKS[name]
    before = sum(len(LINKS[other][3]) for other in list(LINKS)[: list(LINKS).index(name)])
    frame = Frame(name, planar=True, gravity=0)
    points = [str(before + k + 1) for k in range(len(places))]
    frame.add_points(points, [[x, 0.0] for x in places])
    section = Section.circle(diameter)
    stiffness = (change.stiffness or {}).get(name, 1.0)
    metal = Material(name, E=YOUNG * stiffness, density=change.density * mass / (length * section.area))
    for k in range(len(points) - 1):
        frame.add_beam(f"{name}{k + 1}", points[k], points[k + 1], section=section, material=metal, elements=refine,
                       theory="euler-bernoulli", rotary=False)  # fmt: skip
    for point in points:
        node = int(point)
        lumped = NODE_MASSES[node - 1] * (change.masses or {}).get(node, 1.0)
        turning = NODE_INERTIAS.get(node, 0.0) * (change.inertias or {}).get(node, 1.0)
        if lumped or turning:
            frame.add_mass(f"mass{point}", point, lumped, inertia=turning)
    frame.set_damping(beta=beta)
    return frame


def damping_for(ratio: float, frequency_hz: float) -> float:
    """β of a damping ratio at one frequency."""
    return ratio / (math.pi * frequency_hz)


def _along(angle_of_link: float) -> np.ndarray:
    return np.array([math.cos(angle_of_link), math.sin(angle_of_link)])
