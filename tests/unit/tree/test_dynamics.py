"""Dynamics of trees: relations between its functions, and what belongs to them and what does not.

Functions take a few hundred operations on numbers of order one to ten: 1e-12 is their rounding.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree.algorithms.mass_matrix import build_mass_matrix
from dalembert.mechanics.tree.link_tree import LinkTree
from tests.helpers.arms import arm, arm_states, make_arm
from tests.helpers.findings import raises
from tests.helpers.joint_coordinates import random_state, random_tree

KINDS = ["revolute", "spherical", "universal", "free", "planar", "screw", "cylindrical", "fixed"]
EXACT = {"rtol": 0, "atol": 1e-12}


def mass_rate(eqs: da.EquationsOfMotion, state: object) -> np.ndarray:
    """Ṁ by differentiation of M."""
    tree = eqs.tree
    assert isinstance(tree, LinkTree)
    rate = ca.Function("rate", [tree.q, tree.v, tree.p, tree.t], [tree.rate(build_mass_matrix(tree)[0])])
    return np.array(ca.DM(rate(state.q, state.v, eqs.p, 0.0)))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_coriolis_matrix_makes_the_rate_of_the_mass_matrix_minus_twice_it_skew(seed: int, reverse: bool) -> None:
    eqs = da.equations(random_tree(KINDS, [reverse] * len(KINDS), seed), coordinates="joint")
    state = random_state(eqs, seed)
    C, M_rate = da.tree.coriolis_matrix(eqs, state), mass_rate(eqs, state)
    np.testing.assert_allclose(M_rate, C + C.T, rtol=0, atol=1e-12 * max(1.0, np.abs(C).max()))
    np.testing.assert_allclose(
        C @ state.v + da.tree.gravity(eqs, state), da.tree.inverse_dynamics(eqs, state), rtol=0, atol=1e-11
    )


def test_planar_trees_have_the_same_relations() -> None:
    m = da.Mechanism("planar arm", planar=True)
    a, b = m.add_body("a", mass=1.0, inertia=0.1), m.add_body("b", mass=0.6, inertia=0.05)
    b.points["tip"] = (0.3, 0.1)
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.4, 0.1))
    m.add_prismatic("B", a.at(0.4, 0), b.at(-0.2, 0), axis=(0.6, 0.8))
    free, other = m.add_body("free", mass=2.0, inertia=0.3), m.add_body("other", mass=1.0, inertia=0.1)
    m.add_revolute("C", free.at(0.2, 0), other.at(0.1, 0.2))
    eqs = da.equations(m, coordinates="joint")
    state = random_state(eqs, 3)
    C, g, v = da.tree.coriolis_matrix(eqs, state), da.tree.gravity(eqs, state), state.v
    np.testing.assert_allclose(mass_rate(eqs, state), C + C.T, **EXACT)
    np.testing.assert_allclose(C @ v + g, da.tree.inverse_dynamics(eqs, state), **EXACT)
    (M,) = eqs.kernel("inertia")(state.q, eqs.p, 0.0)
    np.testing.assert_allclose(da.tree.mass_matrix(eqs, state), M, **EXACT)
    a_found = da.tree.forward_dynamics(eqs, state, np.arange(eqs.nv))
    np.testing.assert_allclose(da.tree.inverse_dynamics(eqs, state, a_found), np.arange(eqs.nv), rtol=0, atol=1e-11)
    assert da.tree.energies(eqs, state)[0] == pytest.approx(0.5 * v @ M @ v, rel=1e-13)
    J = da.tree.jacobian(eqs, state, "b.tip")
    assert J.shape == (3, eqs.nv)
    wrench = np.array([0.3, -0.4, 0.7])
    np.testing.assert_allclose(da.tree.wrench_efforts(eqs, state, {"b.tip": wrench}), J.T @ wrench, **EXACT)
    np.testing.assert_allclose(da.tree.twist(eqs, state, "b.tip"), J @ v, **EXACT)
    A = da.tree.centroidal_momentum_matrix(eqs, state)
    np.testing.assert_allclose(A @ v, da.tree.centroidal_momentum(eqs, state), **EXACT)
    np.testing.assert_allclose(A[:2] @ v, 4.6 * da.tree.center_of_mass_jacobian(eqs, state) @ v, **EXACT)


def test_forward_dynamics_are_those_of_the_machine_without_other_forces() -> None:
    eqs, (state,) = arm(), arm_states(1)
    np.testing.assert_allclose(
        da.tree.forward_dynamics(eqs, state), da.forward_dynamics(eqs, state).acceleration, rtol=1e-11
    )


def test_springs_and_motors_do_not_act_in_functions_of_the_tree() -> None:
    m = make_arm()
    m.add_spring("spring", joint="elbow", stiffness=50.0)
    eqs = da.equations(m, coordinates="joint")
    (state,) = arm_states(1)
    np.testing.assert_array_equal(da.tree.inverse_dynamics(eqs, state), da.tree.inverse_dynamics(arm(), state))


def test_energies_are_those_of_the_equations() -> None:
    eqs, (state,) = arm(), arm_states(1)
    found = eqs.kernel("energy")(state.q, state.v, state.z, eqs.p, 0.0)
    assert da.tree.energies(eqs, state) == pytest.approx([float(x[0]) for x in found], rel=1e-13)


@pytest.mark.parametrize("function", [da.tree.inverse_dynamics, da.tree.forward_dynamics])
def test_wrenches_at_places_act_by_their_jacobians(function: object) -> None:
    eqs, (state,) = arm(), arm_states(1)
    wrenches = {"hand.tip": np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.3]), "upper": np.array([0, 0, 5.0, 0, 0, 0])}
    efforts = sum(da.tree.jacobian(eqs, state, place).T @ wrench for place, wrench in wrenches.items())
    np.testing.assert_allclose(da.tree.wrench_efforts(eqs, state, wrenches), efforts, **EXACT)
    loaded = function(eqs, state, [0.3, 0.2, 0.1], wrenches=wrenches)
    if function is da.tree.inverse_dynamics:
        np.testing.assert_allclose(loaded, function(eqs, state, [0.3, 0.2, 0.1]) - efforts, **EXACT)
    else:
        np.testing.assert_allclose(loaded, function(eqs, state, np.add(efforts, [0.3, 0.2, 0.1])), rtol=1e-10)
    with raises(da.errors.DataError, "wrong-shape", "6 numbers"):
        da.tree.wrench_efforts(eqs, state, {"hand": (1, 2)})
    with raises(da.errors.DataError, "wrong-shape", "6 numbers"):
        da.tree.wrench_efforts(eqs, state, {"hand": (1, 2, 3)})  # as in the plane
    with raises(da.errors.DataError, "not-a-number", "'hand'"):
        da.tree.wrench_efforts(eqs, state, {"hand": "down"})
    with raises(da.errors.DataError, "wrong-type", "wrenches"):
        function(eqs, state, wrenches=(0, 0, -10, 0, 0, 0))


def test_a_tree_with_loops_has_the_functions_of_its_open_tree_and_no_forward_dynamics() -> None:
    m = da.read_model(Path(da.__file__).parent / "library" / "four-bar.toml")
    eqs = da.equations(m, coordinates="joint")
    state = eqs.state()
    assert da.tree.mass_matrix(eqs, state).shape == (3, 3)
    with raises(da.errors.ModelError, "not-supported", "rows", "da.forward_dynamics"):
        da.tree.forward_dynamics(eqs, state)


def test_rotors_of_motors_have_their_inertia() -> None:
    m = make_arm()
    motor = da.DCMotor(torque_constant=0.1, resistance=1.0, gear_ratio=10.0, rotor_inertia=0.002)
    m.add_actuator("motor", joint="elbow", input="voltage", model=motor)
    eqs = da.equations(m, coordinates="joint")
    (M,) = eqs.kernel("inertia")(eqs.placement.q, eqs.p, 0.0)
    np.testing.assert_allclose(da.tree.mass_matrix(eqs, eqs.state()), M, **EXACT)
    tau = da.tree.inverse_dynamics(eqs, eqs.state(), np.ones(eqs.nv))
    np.testing.assert_allclose(tau - da.tree.inverse_dynamics(eqs, eqs.state()), M @ np.ones(eqs.nv), **EXACT)


@pytest.mark.parametrize("joints", [3, 12])  # straight code, and vectors
@pytest.mark.slow
def test_rotors_on_joints_are_inertia_in_the_derivatives_too(joints: int) -> None:
    rng = np.random.default_rng(1)
    m = da.Mechanism("arm")
    parent, place = m.ground, (0.0, 0.0, 0.0)
    for k in range(joints):
        body = m.add_body(f"b{k}", mass=1.0, inertia=(0.01, 0.02, 0.03))
        axis = rng.normal(size=3)
        m.add_revolute(f"j{k}", parent.frame(*place, axis=axis), body.frame(0, 0, -0.1, axis=axis))
        if k % 2:
            m.add_rotor(f"r{k}", f"j{k}", inertia=0.002 * (k + 1), ratio=5.0)
        parent, place = body, (0.0, 0.1, 0.2)
    eqs = da.equations(m, coordinates="joint")
    state = eqs.state(q=0.5 * rng.normal(size=joints), v=rng.normal(size=joints))
    M, a = da.tree.mass_matrix(eqs, state), rng.normal(size=joints)
    inverse = list(da.tree.inverse_dynamics_derivatives(eqs, state, a))
    forward = list(da.tree.forward_dynamics_derivatives(eqs, state, da.tree.inverse_dynamics(eqs, state, a)))
    scale = abs(M).max()
    np.testing.assert_allclose(inverse[2], M, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(M @ forward[2], np.eye(joints), rtol=0, atol=1e-10)  # condition of M below 1e4
    np.testing.assert_allclose(M @ forward[0], -inverse[0], rtol=0, atol=1e-9 * abs(inverse[0]).max())
