"""Derivatives of inverse dynamics in closed form are those of the recursion, for joints of every kind.

Both take a few thousand operations on numbers of order one to a hundred: 1e-12 of the largest entry is their rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion, State
from dalembert.mechanics.tree.algorithms import inverse_dynamics_derivatives
from dalembert.mechanics.tree.derivatives.moving_links import gather_moving_links
from dalembert.mechanics.tree.link_tree import LinkTree
from tests.helpers.findings import raises
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.native_code import assert_native_equals_interpreter, random_rows
from tests.helpers.tree_derivatives import differences, differentiate_expressions, step_along

KINDS = ["revolute", "spherical", "universal", "free", "planar", "screw", "cylindrical", "fixed", "prismatic"]
ROUNDING = 1e-12


def accelerations(eqs: EquationsOfMotion, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=eqs.nv)


def assert_derivatives(eqs: EquationsOfMotion, state: State) -> None:
    a = accelerations(eqs)
    found = da.tree.inverse_dynamics_derivatives(eqs, state, a)
    for name, ours, theirs in zip(
        found._fields, found, differentiate_expressions(eqs, "inverse_dynamics", state, a), strict=True
    ):
        size = np.abs(theirs).max(initial=1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * size, err_msg=name)
    np.testing.assert_allclose(found.dtau_da, da.tree.mass_matrix(eqs, state), rtol=0, atol=ROUNDING)


FORMS = {"scalars": 1000, "vectors": 1}  # the same formulas as straight code and on vectors


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(inverse_dynamics_derivatives, "SHORTEST_VECTOR", FORMS[request.param])
    return str(request.param)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("reverse", "form"), [(False, "scalars"), (True, "vectors")], indirect=["form"])
def test_a_joint_of_every_kind_between_hinges_has_the_derivatives_of_the_recursion(
    kind: str, reverse: bool, form: str
) -> None:
    m = random_tree(["revolute", kind, "revolute"], [False, reverse, False], seed=3)
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 1))


def test_trees_with_branches_and_free_bodies_have_the_derivatives_of_the_recursion(form: str) -> None:
    eqs = da.equations(random_tree(KINDS, [bool(k % 2) for k in range(len(KINDS))], 1), coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 1))


def test_planar_trees_have_the_derivatives_of_the_recursion(form: str) -> None:
    m = da.Mechanism("planar", planar=True)
    a, b = m.add_body("a", mass=1.0, inertia=0.1), m.add_body("b", mass=0.6, inertia=0.05)
    m.add_revolute("A", m.ground.at(0.1, 0), a.at(-0.4, 0.1))
    m.add_prismatic("B", b.at(-0.2, 0), a.at(0.4, 0), axis=(0.6, 0.8))
    free, other = m.add_body("free", mass=2.0, inertia=0.3), m.add_body("other", mass=1.0, inertia=0.1)
    m.add_revolute("C", free.at(0.2, 0), other.at(0.1, 0.2))
    m.add_fixed("D", other.at(0.1, 0), m.add_body("tool", mass=0.3, inertia=0.02).at(0, 0.2))
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 2))


def test_parameters_of_masses_places_inertia_and_gravity_enter(form: str) -> None:
    m = da.Mechanism("arm")
    mass, length, inertia, g = (m.parameter(*x) for x in (("m", 1.3), ("l", 0.4), ("I", 0.02), ("g", 9.7)))
    m.gravity = (0.0, 1.0, -g)
    upper = m.add_body("upper", mass=mass, inertia=(inertia, 2 * inertia, 0.03))
    fore = m.add_body("fore", mass=0.5, inertia=(0.01, 0.02, 0.02))
    tool = m.add_body("tool", mass=mass / 3, inertia=(0.01, 0.01, inertia))
    m.add_spherical("shoulder", m.ground.at(0, 0, 0), upper.at(-length, 0, 0.1))
    m.add_revolute("elbow", upper.at(length, 0, 0), fore.at(-0.2, 0, 0), axis=(0.2, 1, 0))
    m.add_fixed("hand", fore.at(0.2, 0, 0), tool.at(0, length, 0))
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 2))
    assert_derivatives(eqs.replace(m=2.0, l=0.7, I=0.05, g=3.0), random_state(eqs, 3))


def test_an_idle_spin_and_the_rotor_of_a_motor_have_the_derivatives_of_the_recursion(form: str) -> None:
    m = da.Mechanism("rod")
    arm = m.add_body("arm", mass=1.0, inertia=(0.02, 0.03, 0.04))
    rod = m.add_body("rod", mass=0.4, inertia=(0.0, 0.01, 0.01))  # thin: it spins about itself without inertia
    m.add_revolute("hinge", m.ground.at(0, 0, 0), arm.at(-0.3, 0, 0), axis=(0, 1, 0))
    m.add_spherical("ball", arm.at(0.3, 0, 0), rod.at(-0.2, 0, 0))
    m.add_actuator("motor", joint="hinge", input="U", model=da.DCMotor(0.1, 1.0, gear_ratio=5, rotor_inertia=1e-4))
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 4))


def test_a_body_on_the_ground_and_massless_frames_change_nothing(form: str) -> None:
    m = da.Mechanism("arm")
    base = m.add_body("base", mass=3.0, inertia=(0.1, 0.1, 0.1))
    arm = m.add_body("arm", mass=1.0, inertia=(0.02, 0.03, 0.04))
    frame = m.add_body("frame", mass=0.0, inertia=0.0)
    m.add_fixed("bolts", m.ground.at(0, 0, 0.2), base.at(0, 0, 0))
    m.add_revolute("hinge", base.at(0.1, 0, 0), arm.at(-0.3, 0, 0), axis=(0, 1, 0))
    m.add_fixed("sensor", arm.at(0.3, 0, 0), frame.at(0, 0, 0))
    eqs = da.equations(m, coordinates="joint")
    assert_derivatives(eqs, random_state(eqs, 4))


def test_the_derivatives_are_those_of_steps_along_the_speeds() -> None:
    """Differences over steps of 0.02: the rest is 0.02⁶/140 = 5e-13 of seventh derivatives, which reach 1e3."""
    eqs = da.equations(random_tree(["free", "spherical", "universal"], [False, True, False], 5), coordinates="joint")
    state, a = random_state(eqs, 5), accelerations(eqs)
    found = da.tree.inverse_dynamics_derivatives(eqs, state, a)
    for k in range(eqs.nv):
        by_position = differences(
            lambda h, k=k: da.tree.inverse_dynamics(eqs, (step_along(eqs, state.q, k, h), state.v), a), 0.02
        )
        by_speed = differences(
            lambda h, k=k: da.tree.inverse_dynamics(eqs, (state.q, state.v + h * np.eye(eqs.nv)[k]), a), 0.02
        )
        np.testing.assert_allclose(found.dtau_dq[:, k], by_position, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.dtau_dv[:, k], by_speed, rtol=0, atol=1e-8)


def test_native_code_of_vectors_has_the_bits_of_the_interpreter() -> None:
    tree = da.equations(random_tree(KINDS[:5], [False] * 5, 0), coordinates="joint").tree
    assert isinstance(tree, LinkTree)
    function = tree.function("inverse_dynamics_derivatives")
    assert function.class_name() == "MXFunction"
    assert_native_equals_interpreter(function, random_rows(function, 3))


def test_bodies_with_speeds_of_their_own_are_refused() -> None:
    tree = da.equations(random_tree(["revolute"], [False], 0), coordinates="joint").tree
    assert isinstance(tree, LinkTree)
    with raises(ModelError, "not-supported", "b0"):
        gather_moving_links(tree.links, [object()])  # type: ignore[list-item]
