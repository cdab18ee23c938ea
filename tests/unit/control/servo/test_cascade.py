"""Cascaded joint loops."""

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError


@pytest.fixture(scope="module")
def eqs():
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=3.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    return da.equations(m, coordinates="joint")


def loops(eqs, motion, **changes):
    gains = {"drives": {"hinge.angle": "torque"}, "position": 4.0, "velocity": 12.0, "integral": 30.0}
    return da.control.cascade(eqs, {"hinge": motion}, **(gains | changes))


@pytest.mark.spec("001-C61")
def test_poles_are_those_of_the_two_loops(eqs):
    """J s³ + k_v s² + (k_v k_p + k_i) s + k_i k_p with gravity held by the feed-forward: J = 1 kg m²."""
    down = -np.pi / 2
    plant = da.linearize(eqs, at=da.assemble(eqs, {"hinge.angle": down}))
    poles = np.linalg.eigvals(da.control.open_loop(loops(eqs, down), plant).feedback().A)
    stiffness = 3.0 * 9.81 * 0.5
    expected = np.roots([1.0, 12.0, 12.0 * 4.0 + 30.0 + stiffness, 30.0 * 4.0])
    assert np.sort_complex(poles) == pytest.approx(np.sort_complex(expected), rel=1e-9)


def test_a_motion_is_followed_and_held_against_gravity(eqs):
    path = da.tree.polynomial(eqs, {"hinge": [0.0, 1.0]}, 2.0, degree=7, every=0.02)
    start = da.assemble(eqs, {"hinge.angle": 0.0})
    for law in (loops(eqs, path), da.control.cascade(eqs, path, drives={"hinge.angle": "torque"}, position=4.0,
                                                     velocity=12.0)):  # fmt: skip
        run = da.simulate(eqs, 3.0, start=start, controller=law, progress=False)
        assert run["hinge.angle"][-1] == pytest.approx(1.0, abs=2e-3)


def test_mistakes_are_named(eqs):
    with pytest.raises(ModelError, match="toque"):
        loops(eqs, 0.0, drives={"hinge.angle": "toque"})
    with pytest.raises(ModelError, match="elbow"):
        loops(eqs, 0.0, drives={"elbow.angle": "torque"})
    with pytest.raises(ModelError, match="velocity"):
        loops(eqs, 0.0, velocity=0.0)
