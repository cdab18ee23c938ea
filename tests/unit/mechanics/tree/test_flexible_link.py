"""Functions of trees with flexible bodies: modes beside joints, against the equations and against differences."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from tests.helpers.joint_coordinates import close_loop, random_state, random_tree

FUNCTIONS = ("mass_matrix", "inverse_dynamics", "forward_dynamics", "gravity", "center_of_mass", "centroidal_momentum")


def make_tree(stiffening: bool = True) -> da.Mechanism:
    """A floating flexible body with a flexible and a rigid branch on its nodes, all reversed as the seed has it."""
    kinds, flips = ["free", "revolute", "universal", "prismatic"], [False, True, False, True]
    m = random_tree(kinds, flips, 11, modes=[2, 3, 0, 1], stiffening=stiffening)
    m.name = "stiffened" if stiffening else "plain"
    return m


@pytest.fixture(scope="module", params=(False, True), ids=("plain", "stiffened"))
def tree(request: pytest.FixtureRequest) -> da.EquationsOfMotion:
    return da.equations(make_tree(request.param), coordinates="joint")


def evaluate(eqs: da.EquationsOfMotion, state: Any, a: Any) -> dict[str, Any]:
    arguments = {"inverse_dynamics": (a,), "forward_dynamics": (a,)}
    return {name: getattr(da.tree, name)(eqs, state, *arguments.get(name, ())) for name in FUNCTIONS}


@pytest.mark.parametrize("seed", range(3))
def test_dynamics_are_those_of_the_equations(tree: da.EquationsOfMotion, seed: int) -> None:
    state, a = random_state(tree, seed), np.random.default_rng(seed).normal(size=tree.nv)
    (M,) = tree.kernel("inertia")(state.q, tree.p, 0.0)
    (f,) = tree.kernel("forces")(state.q, state.v, [], [], tree.p, 0.0, [])
    exact = {"rtol": 0, "atol": 1e-11 * np.abs(M).max() * tree.nv}  # sums of products of this size
    np.testing.assert_allclose(da.tree.mass_matrix(tree, state), M, **exact)
    tau = da.tree.inverse_dynamics(tree, state, a)
    np.testing.assert_allclose(tau, M @ a - f, **exact)
    # a factor of M loses as many digits as its condition has
    np.testing.assert_allclose(da.tree.forward_dynamics(tree, state, tau), a, rtol=0, atol=1e-15 * np.linalg.cond(M))
    T, V = (x[0] for x in tree.kernel("energy")(state.q, state.v, [], tree.p, 0.0))
    assert da.tree.energies(tree, state) == pytest.approx((T, V), rel=1e-12)


def test_the_balance_of_implicit_steps_is_that_of_mass_matrix_forces_and_rows() -> None:
    """By the recursion at the accelerations: with a rotor, a spring, an input, a loop and an unknown of a joint."""
    m = random_tree(["revolute", "spherical", "universal"], [False, True, False], 1, modes=[2, 1, 0], stiffening=True)
    close_loop(m, "spherical", 1)
    m.add_rotor("motor", "j0", inertia=0.01, ratio=20.0)
    m.add_actuator("drive", joint="j0", input="torque")
    m.add_spring("spring", a=m.ground.at(0, 0, 1), b=m.bodies[1].at("n2"), stiffness=30.0, damping=2.0)
    rider = m.add_body("rider", mass=0.3, inertia=0.1)
    m.add_point_on_curve("rail", m.ground, rider.at(0, 0, 0), curve=lambda s: (s, s * s, 0.1 * s))
    eqs = da.equations(m, coordinates="joint", cut=["loop"])
    assert eqs.rows
    state, rng = random_state(eqs, 2), np.random.default_rng(2)
    a, lam, u = rng.normal(size=eqs.nv), rng.normal(size=len(eqs.rows)), [0.7]
    z = state.z
    balance, phi, rates, plain = eqs.kernel("balance")(state.q, state.v, a, lam, z, u, eqs.p, 0.0)
    (M,) = eqs.kernel("inertia")(state.q, eqs.p, 0.0)
    (f,) = eqs.kernel("forces")(state.q, state.v, z, u, eqs.p, 0.0, lam)
    A, b = eqs.kernel("rows")(state.q, state.v, z, u, eqs.p, 0.0)
    exact = {"rtol": 0, "atol": 1e-12 * np.abs(M).max() * eqs.nv}  # sums of products of this size
    np.testing.assert_allclose(balance, M @ a - f - A.T @ lam, **exact)
    np.testing.assert_allclose(plain, A @ a - b, **exact)
    np.testing.assert_allclose(phi, eqs.kernel("position")(state.q, eqs.p, 0.0)[0], **exact)
    np.testing.assert_allclose(rates, eqs.kernel("rates")(state.q, state.v, eqs.p, 0.0)[0], **exact)


@pytest.mark.parametrize("place", ["b0", "b0.n1", "b1.n0", "b1.n3", "j1", "j2", "b2", "b3.n2"])
def test_jacobians_are_derivatives_of_poses(tree: da.EquationsOfMotion, place: str) -> None:
    state, h = random_state(tree, 5), 1e-6
    J = da.tree.jacobian(tree, state, place)
    N, _ = tree.kernel("kinematics")(state.q, tree.p, 0.0)
    step = h * (N @ state.v)
    before, after = (da.tree.forward_kinematics(tree, (state.q + s * step, state.v), place) for s in (-1, 1))
    rate = (after - before) / (2 * h)
    R = da.tree.forward_kinematics(tree, state, place)[:3, :3]
    spin = rate[:3, :3] @ R.T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    # central differences of a step of 1e-6: third derivatives of order ten
    np.testing.assert_allclose(J @ state.v, np.concatenate((rate[:3, 3], w)), rtol=0, atol=1e-8)
    moved = [da.tree.jacobian(tree, (state.q + s * step, state.v), place) for s in (-1, 1)]
    np.testing.assert_allclose(da.tree.jacobian_rate(tree, state, place), (moved[1] - moved[0]) / (2 * h), atol=1e-8)


def test_gravity_is_the_slope_of_the_potential_without_deformation(tree: da.EquationsOfMotion) -> None:
    state, h = random_state(tree, 2), 1e-6
    N, _ = tree.kernel("kinematics")(state.q, tree.p, 0.0)
    rest = np.zeros(tree.nv)
    g = da.tree.gravity(tree, state)
    elastic = da.tree.inverse_dynamics(tree, (state.q, rest)) - g
    columns = list(tree.elastic_speeds.values())
    assert np.abs(np.delete(elastic, columns)).max() < 1e-11
    direction = np.random.default_rng(0).normal(size=tree.nv)
    V = [da.tree.energies(tree, (state.q + s * h * (N @ direction), rest))[1] for s in (-1, 1)]
    assert (g + elastic) @ direction == pytest.approx((V[1] - V[0]) / (2 * h), rel=1e-7)


def test_momentum_is_the_matrix_times_the_speeds(tree: da.EquationsOfMotion) -> None:
    state = random_state(tree, 4)
    momentum = da.tree.centroidal_momentum(tree, state)
    np.testing.assert_allclose(da.tree.centroidal_momentum_matrix(tree, state) @ state.v, momentum, atol=1e-12)
    if tree.name == "stiffened":
        return  # its inertia has terms linear in the modes only, its centre of mass moves in second order
    J, h = da.tree.center_of_mass_jacobian(tree, state), 1e-6
    N, _ = tree.kernel("kinematics")(state.q, tree.p, 0.0)
    places = [da.tree.center_of_mass(tree, (state.q + s * h * (N @ state.v), state.v)) for s in (-1, 1)]
    np.testing.assert_allclose(J @ state.v, (places[1] - places[0]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(momentum[:3], da.tree.total_mass(tree) * (J @ state.v), atol=1e-12)


@pytest.mark.spec("001-C27")
def test_a_wrench_at_a_node_does_the_work_of_its_jacobian(tree: da.EquationsOfMotion) -> None:
    state, wrench = random_state(tree, 6), np.random.default_rng(1).normal(size=6)
    efforts = da.tree.wrench_efforts(tree, state, {"b1.n3": wrench})
    np.testing.assert_allclose(efforts, da.tree.jacobian(tree, state, "b1.n3").T @ wrench, atol=1e-12)


def test_a_payload_is_a_welded_body() -> None:
    m = make_tree()
    bare = da.equations(m, coordinates="joint")
    payload = da.tree.Payload("b1.n3", 0.4, center=(0.1, 0.2, -0.05), inertia=(0.02, 0.03, 0.04))
    load = m.add_body("load", mass=0.4, inertia=(0.02, 0.03, 0.04))
    m.add_fixed("grip", m.bodies[1].frame("n3"), load.frame(-0.1, -0.2, 0.05))
    loaded = da.equations(m, coordinates="joint")
    state, a = random_state(bare, 8), np.random.default_rng(0).normal(size=bare.nv)
    same = loaded.state(state.q, state.v)
    for name in ("mass_matrix", "gravity"):
        ours, theirs = getattr(da.tree, name)(bare, state, payload=payload), getattr(da.tree, name)(loaded, same)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    ours = da.tree.inverse_dynamics(bare, state, a, payload=payload)
    np.testing.assert_allclose(ours, da.tree.inverse_dynamics(loaded, same, a), rtol=1e-11, atol=1e-11)


def test_equations_with_flexible_links_survive_storage(tree: da.EquationsOfMotion) -> None:
    copy = pickle.loads(pickle.dumps(tree))  # noqa: S301 (made here)
    state, a = random_state(tree, 3), np.ones(tree.nv)
    first, second = evaluate(tree, state, a), evaluate(copy, state, a)
    for name in FUNCTIONS:
        np.testing.assert_allclose(second[name], first[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("call", "way"),
    [
        (lambda eqs, s: da.tree.regressor(eqs, s), "da.identify.fit"),
        (lambda eqs, s: da.tree.dynamic_parameters(eqs), "da.identify.fit"),
        (lambda eqs, s: da.tree.coriolis_matrix(eqs, s), "da.tree.inverse_dynamics"),
        (lambda eqs, s: da.tree.inverse_dynamics_derivatives(eqs, s), "da.linearize"),
        (lambda eqs, s: da.tree.forward_dynamics_derivatives(eqs, s), "da.linearize"),
    ],
)
def test_functions_of_rigid_trees_name_the_flexible_body_and_another_way(tree: Any, call: Any, way: str) -> None:
    with pytest.raises(ModelError, match="b0") as caught:
        call(tree, random_state(tree, 0))
    assert caught.value.code == "not-supported" and way in str(caught.value)
