"""The three-storey rig: three rigid floors on six upright leaf springs, a pendulum with a motor on the top floor.

Data of Pappalardo 2011 (ch. 5), as a lumped machine and as a finite-element frame. Floors move along x only; the
pendulum hangs from the top floor.

    k_i = 24 E J / L_i³ (two clamped-clamped leaves per storey),   J = b h³ / 12
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.structures import Structure, assemble_structure

FLOORS = ("floor1", "floor2", "floor3")
ACCELERATIONS = ("a1", "a2", "a3")
MASSES = (1.281, 0.814, 1.380)
"""Of the floors [kg]."""
STATED, FITTED = (0.23, 0.28, 0.23), (0.225, 0.28, 0.225)
"""Storey heights [m]: as stated, and as the published finite-element figures want them."""
WIDTH, THICKNESS, STEEL_E, STEEL_DENSITY = 0.035, 1e-3, 207e9, 7860.0
"""Of the leaves [m], their modulus [N/m²] and density [kg/m³]."""
ALPHA, BETA = 0.9751, -2.8815e-4
"""Proportional damping of the structure, C = α M + β K [1/s, s]; β < 0 is right for the first three modes only."""
SAMPLING = 1.0 / 32.0
"""Of the tests and of the linear controller [s]."""


@dataclass(frozen=True)
class Pendulum:
    """Mass [kg], distance of its centre from the hinge [m], inertia about its centre [kg m²], hinge damping [N m s]."""

    mass: float = 0.083
    arm: float = 0.0825
    inertia: float = 8.32e-4
    damping: float = 2.432e-3

    @property
    def about_hinge(self) -> float:
        return self.mass * self.arm**2 + self.inertia


def stiffnesses() -> FloatArray:
    """Of the storeys [N/m]."""
    J = WIDTH * THICKNESS**3 / 12.0
    return 24.0 * STEEL_E * J / np.array(STATED) ** 3


def mechanism(
    *, pendulum: Pendulum | None = None, dampers: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> da.Mechanism:
    """The lumped machine.

    Inputs: ``force`` on floor 1, ``push`` on floor 3, ``torque`` on the pendulum. Sensors: ``a1.x`` .. ``a3.x``,
    accelerations of the floors, and ``phi``, the angle of the pendulum from hanging. ``dampers`` of the storeys in
    N s/m.
    """
    m = da.Mechanism("three storeys", planar=True)
    below = m.ground
    for name, mass, length, k, c in zip(FLOORS, MASSES, STATED, stiffnesses(), dampers, strict=True):
        storey = name.replace("floor", "storey")
        floor = m.add_body(name, mass=mass, inertia=da.rod(0.3))  # drawn as a plate; floors do not turn
        m.add_prismatic(storey, below.at(0, length), floor.at(0, 0), axis=(1, 0))
        m.add_spring(f"leaves of {storey}", joint=storey, stiffness=float(k), damping=c)
        m.add_sensor(name.replace("floor", "a"), da.acceleration(floor.at(0, 0)))
        if name == FLOORS[0]:
            m.add_force("shaker", floor.at(0, 0), (1, 0), input="force")
        below = floor
    m.add_force("pusher", below.at(0, 0), (1, 0), input="push")
    if pendulum is not None:
        rod = m.add_body("pendulum", mass=pendulum.mass, inertia=pendulum.inertia)
        m.add_revolute("hinge", below.at(0, 0), rod.at(0, pendulum.arm))
        m.add_damper("hinge damper", joint="hinge", damping=pendulum.damping)
        m.add_actuator("motor", joint="hinge", input="torque")
        m.add_sensor("phi", da.angle("hinge"))
    return m


def linearize_rig(*, pendulum: Pendulum | None = None, damped: bool = False) -> da.SecondOrder:
    """Small motions of the machine, by linearization; ``damped``: α M + β K of the structure alone."""
    names = [f"{name}.x" for name in FLOORS]
    if pendulum is not None:
        names.append("hinge.angle")
    found = da.linearize(da.equations(mechanism(pendulum=pendulum)), coordinates=names)
    assert isinstance(found, da.SecondOrder)
    C = np.array(found.C)
    if damped:
        C[:3, :3] += ALPHA * np.diag(MASSES) + BETA * found.K[:3, :3]
    drive = found.B[:, [found.inputs.index("force")]]
    return da.SecondOrder(
        found.M, found.K, C=C, B=drive, Y_acceleration=np.eye(len(names))[:3], coordinates=names, inputs="force",
        outputs=ACCELERATIONS, units={"force": "N"} | dict.fromkeys(ACCELERATIONS, "m/s²"),
        provenance={"made by": "linearization of the lumped machine"},
    )  # fmt: skip


def frame(lengths: tuple[float, ...] = STATED, elements: int = 1) -> Structure:
    """The finite-element model without pendulum: thin leaves, floors that only translate along x.

    Floors are named as those of the machine; names in brackets, of the right side, are not shown on a page.
    """
    section = da.structures.Section.rectangle(height=THICKNESS, width=WIDTH).without_shear()
    steel = da.structures.Material("spring steel", E=STEEL_E, density=STEEL_DENSITY)
    model = da.structures.Frame("three storeys", planar=True)
    heights = np.concatenate([[0.0], np.cumsum(lengths)])
    for side, x in (("", 0.0), ("[right]", 0.3)):
        levels = [f"{name}{side}" for name in ("ground", *FLOORS)]
        for name, y in zip(levels, heights, strict=True):
            model.add_point(name, x, y)
        for k, length in enumerate(lengths, start=1):
            inside = [f"leaf{k}.{i}{side}" for i in range(1, elements)]
            for i, point in enumerate(inside, start=1):
                model.add_point(point, x, heights[k - 1] + length * i / elements)
            chain = [levels[k - 1], *inside, levels[k]]
            model.add_beams(
                f"leaf{k}{side}.", chain[:-1], chain[1:], section=section, material=steel, theory="euler-bernoulli",
                rotary=False,
            )  # fmt: skip
            if inside:
                model.add_support(inside, "y")
        model.add_support(levels[0], "fixed")
        model.add_support(levels[1:], "y rz")
    for name, mass in zip(FLOORS, MASSES, strict=True):
        model.add_mass(f"mass of {name}", name, mass)
        model.add_rigid(f"plate of {name}", name, f"{name}[right]", "x")
    return assemble_structure(model)


def with_pendulum(system: da.SecondOrder, pendulum: Pendulum, floor: str) -> da.SecondOrder:
    """A linear structure with one more coordinate, ``phi``: the angle of a pendulum that hangs from a floor."""
    system = system.dense()
    n, at = system.nq, system.coordinates.index(floor)
    own = pendulum.mass * pendulum.arm
    M, C, K = (np.zeros((n + 1, n + 1)) for _ in range(3))
    M[:n, :n], C[:n, :n], K[:n, :n] = system.M, system.C, system.K
    M[np.ix_([at, n], [at, n])] += [[pendulum.mass, own], [own, pendulum.about_hinge]]
    C[n, n] += pendulum.damping
    K[n, n] += own * 9.81
    return da.SecondOrder(M, K, C=C, coordinates=[*system.coordinates, "phi"])
