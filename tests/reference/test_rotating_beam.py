"""A beam that turns with its hub: modes in a moving frame, with centrifugal stiffening.

Flapping frequencies (out of the plane of rotation) of a cantilever on a hub of radius zero, over √(EI/ρA L⁴), at
γ = Ω √(ρA L⁴/EI) (Wright and others 1982): 0: 3.5160, 22.0345; 2: 4.1373, 22.6149; 6: 7.3604, 26.8091;
12: 13.1702, 37.6031.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Material, Section, flexible_body

LENGTH, DIAMETER = 2.0, 0.004
FLAP = {0.0: (3.5160, 22.0345), 2.0: (4.1373, 22.6149), 6.0: (7.3604, 26.8091), 12.0: (13.1702, 37.6031)}
ALLOY = Material("alloy", E=70e9, density=2700.0)
UNIT = np.sqrt(ALLOY.E * DIAMETER**2 / (16 * ALLOY.density)) / LENGTH**2  # √(EI/ρA L⁴) of a round section


@pytest.fixture(scope="module")
def blade():
    frame = Frame("blade")
    frame.add_points(["root", "tip"], [[0, 0, 0], [LENGTH, 0, 0]])
    section = Section.circle(DIAMETER).without_shear()
    frame.add_beam("blade", "root", "tip", section=section, material=ALLOY, elements=20)
    return flexible_body(frame, basis="clamped", fixed="root", modes=12, stiffening="centrifugal")


@pytest.mark.parametrize("gamma", FLAP)
@pytest.mark.spec("003-C50")
def test_flapping_frequencies_of_a_turning_beam(blade, gamma):
    """Six bending modes in each plane: 0.1 % of the exact ones up to γ = 12, where the second mode changes most.

    The hub turns freely, which changes modes in the plane of rotation only.
    """
    m = da.Mechanism("rotor", gravity=0)
    body = m.add_flexible_body("blade", blade, position=(0, 0, 0))
    m.add_revolute("hub", m.ground.frame(0, 0, 0, axis=(0, 0, 1)), body.frame("root", axis=(0, 0, 1)))
    speed = gamma * UNIT
    eqs = da.equations(m)
    state = da.assemble(eqs, velocity={"hub.angle": speed})  # steady: the load is along the straight beam
    found = np.abs(np.imag(da.linearize(eqs, at=state).modes().eigenvalues)) / UNIT
    for expected in FLAP[gamma]:
        assert np.min(np.abs(found / expected - 1)) < 1e-3
