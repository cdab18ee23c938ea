"""Optimal motions open loop, by states and adjoints: against feedback, minimisation, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import dalembert as da
from dalembert.control import lqr, plan_motion
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from tests.helpers.control_systems import cart, frame
from tests.helpers.findings import raises
from tests.helpers.quadratic_plans import least_squares_plan, with_cross_term


def test_a_plan_holds_the_outputs_of_its_inputs_too():
    """An accelerometer on a cart of unit mass reads the push less the drag."""
    A, C = [[0, 1], [0, -0.5]], [[0, -0.5]]
    moved = StateSpace(A, [0, 1], C, [[1.0]], states=["x", "v"], inputs="push", outputs="acceleration")
    plan = plan_motion(moved, {"x": 0.0}, horizon=1.0, end={"x": 1.0, "v": 0.0}, steps=5)
    assert plan["acceleration"] == pytest.approx(plan["push"] - 0.5 * plan["v"], abs=1e-12)


@pytest.mark.spec("000-65")
def test_a_plan_solves_the_two_point_boundary_value_problem():
    """Against SciPy's collocation of states and adjoints, with a cross term; λ(T) = Q_T x(T)."""
    system, given = with_cross_term()
    A, B, Q, R, N = system.A, system.B, given["Q"], given["R"], given["N"]
    x0 = np.array([1.0, -2.0, 0.5])

    def rate(t, z):
        x, adjoint = z[:3], z[3:]
        u = -np.linalg.solve(R, B.T @ adjoint + N.T @ x)
        return np.vstack([A @ x + B @ u, -Q @ x - N @ u - A.T @ adjoint])

    def ends(first, last):
        return np.concatenate([first[:3] - x0, last[3:] - given["Q_T"] @ last[:3]])

    plan = plan_motion(system, x0, horizon=1.2, steps=12, **given)
    other = solve_bvp(rate, ends, plan.time, np.zeros((6, 13)), tol=1e-9, max_nodes=20000).sol(plan.time)
    size = np.abs(other).max()
    np.testing.assert_allclose(plan[["a", "b", "c"]], other[:3].T, rtol=0, atol=1e-7 * size)
    np.testing.assert_allclose(plan[["adjoint.a", "adjoint.b", "adjoint.c"]], other[3:].T, rtol=0, atol=1e-7 * size)
    u = -np.linalg.solve(R, B.T @ other[3:] + N.T @ other[:3]).T
    np.testing.assert_allclose(plan[["u", "w"]], u, rtol=0, atol=1e-7 * np.abs(u).max())


@pytest.mark.spec("000-65")
def test_open_loop_and_feedback_are_one_motion():
    """λ = X(t) x with X of the sweep: the plan's inputs are those of lqr at every node; costs agree."""
    x0 = np.array([0.1, -0.2, 0.3, 0.0, 1.0, -1.0])
    given = {"Q": {"q1": 3.0, "q3": 1.0, "q2.rate": 0.5}, "R": [0.2, 0.5], "Q_T": 2.0}
    design = lqr(frame(), horizon=3.0, **given)
    plan = plan_motion(frame(), x0, horizon=3.0, steps=300, **given)
    assert plan.statistics["cost"] == pytest.approx(float(x0 @ design.cost @ x0), rel=1e-10)
    names = ["q1", "q2", "q3", "q1.rate", "q2.rate", "q3.rate"]
    largest = np.abs(plan[["push", "pull"]]).max()
    for k in (0, 150, 270, 300):
        gain = lqr(frame(), horizon=3.0 - plan.time[k], **given).K if k < 300 else design.schedule.gains[-1]
        np.testing.assert_allclose(plan[["push", "pull"]][k], -gain @ plan[names][k], rtol=0, atol=1e-9 * largest)
    # lines between the inputs: h² ω² / 8 = 1e-3 of them at 9 rad/s
    played = da.linear.response(frame(), plan.select("push", "pull"), start=dict(zip(names, x0, strict=True)),
                                hold="first")  # fmt: skip
    np.testing.assert_allclose(played["base"], plan["base"], rtol=0, atol=1e-3 * np.abs(plan["base"]).max())


@pytest.mark.spec("000-65", "000-67")
@pytest.mark.parametrize("count", [1, 8])
def test_a_sampled_plan_is_the_minimum_over_all_inputs(count):
    system, given = with_cross_term()
    sampled = system.to_discrete(0.1)
    x0 = np.array([1.0, -2.0, 0.5])
    wanted, cost = least_squares_plan(sampled, given, x0, count)
    plan = plan_motion(sampled, x0, horizon=0.1 * count, **given)
    np.testing.assert_allclose(plan[["u", "w"]][:-1], wanted, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(plan[["u", "w"]][-1], plan[["u", "w"]][-2])
    assert plan.statistics["cost"] == pytest.approx(cost, rel=1e-11)
    x = plan[["a", "b", "c"]]
    np.testing.assert_allclose(x[1:], x[:-1] @ sampled.A.T + wanted @ sampled.B.T, rtol=0, atol=1e-10)


@pytest.mark.spec("000-65")
def test_a_plan_brings_some_states_to_given_values_and_leaves_the_others_free():
    """A cart pushed to 1 m, speed free: u = 3 (T - t)/T³, cost 3/T³; speed zero too: u = 6 (T - 2t)/T³, 12/T³."""
    T = 2.0
    free = plan_motion(cart(), {}, horizon=T, end={"position": 1.0}, steps=10)
    np.testing.assert_allclose(free["push"], 3.0 * (T - free.time) / T**3, rtol=0, atol=1e-13)
    assert free.statistics["cost"] == pytest.approx(3.0 / T**3, rel=1e-12)
    assert free["adjoint.speed"][-1] == pytest.approx(0.0, abs=1e-13)
    rest = plan_motion(cart(), {}, horizon=T, end={"position": 1.0, "speed": 0.0}, R=5.0, steps=10)
    np.testing.assert_allclose(rest["push"], 6.0 * (T - 2.0 * rest.time) / T**3, rtol=0, atol=1e-12)
    assert rest.statistics["cost"] == pytest.approx(5.0 * 12.0 / T**3, rel=1e-12)


def test_the_cost_of_a_plan_is_that_of_its_motion():
    """Sum over the samples, with prescribed and weighted ends and a cost of continuous time."""
    given = {"Q": 2.0, "R": 0.5, "Q_T": {"speed": 3.0}}
    plan = plan_motion(cart(), {"position": 0.4}, horizon=2.0, dt=0.25, end={"position": -1.0}, **given)
    x, u = plan[["position", "speed"]], plan["push"][:-1]
    total = 2.0 * (x[:-1] ** 2).sum() + 0.5 * (u**2).sum() + 3.0 * x[-1, 1] ** 2
    assert plan.statistics["cost"] == pytest.approx(total, rel=1e-11)
    assert x[-1, 0] == pytest.approx(-1.0, abs=1e-12)
    held = plan_motion(cart(), {"position": 0.4}, horizon=2.0, dt=0.25, cost="integral", **given)
    x0 = np.array([0.4, 0.0])
    wanted = lqr(cart(), horizon=2.0, dt=0.25, cost="integral", **given).cost
    assert held.statistics["cost"] == pytest.approx(float(x0 @ wanted @ x0), rel=1e-11)


def test_a_plan_about_an_operating_point_speaks_of_the_machine():
    """A pendulum lifted by 0.1 rad about its lowest point: names, units and values are those of the machine."""
    m = da.Mechanism("pendulum", planar=True)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(1.0), position=(0, -0.5), angle=-np.pi / 2)
    m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.5, 0))
    m.add_actuator("motor", joint="A", input="torque")
    eqs = da.equations(m)
    rest = da.equilibrium(eqs, start=da.assemble(eqs, {"A.angle": -np.pi / 2}))
    plan = plan_motion(da.linearize(eqs, at=rest), {}, horizon=1.0, end={"A.angle": -np.pi / 2 + 0.1, "A.rate": 0.0})
    assert plan["A.angle"][0] == pytest.approx(-np.pi / 2, abs=1e-9)
    assert plan.units["A.angle"] == "rad"
    run = da.simulate(eqs, 1.0, start=rest, inputs={"torque": plan.select("torque")})
    assert run["A.angle"][-1] == pytest.approx(-np.pi / 2 + 0.1, abs=1e-3)  # sin is not its argument: 0.1³/6
    assert run["A.rate"][-1] == pytest.approx(0.0, abs=5e-3)


def test_a_stiff_plan_over_a_long_time_is_finite():
    """Rates of 1e4 over 100 s: the exponential of the Hamiltonian would overflow."""
    system = StateSpace(np.diag([-1e4, 1e4]), [1.0, 1.0], states=["fast", "runaway"], inputs="u")
    plan = plan_motion(system, [1.0, 1.0], Q=1.0, horizon=100.0, steps=5)
    assert np.isfinite(plan.data).all() and abs(plan["runaway"][-1]) < 1e-6
    assert plan["u"][0] == pytest.approx(float((-lqr(system, Q=1.0).K @ [1.0, 1.0])[0]), rel=1e-8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"end": {"positon": 1.0}}, "unknown-name"),
        ({"end": [1.0, 0.0]}, "wrong-type"),
        ({"start": {"sped": 1.0}}, "unknown-name"),
        ({"horizon": 0.0}, "not-positive"),
        ({"steps": 0}, "not-a-count"),
    ],
)
def test_wrong_plans_are_refused(change, words):
    given = {"start": {}, "horizon": 1.0} | change
    with raises(DataError, words):
        plan_motion(cart(), given.pop("start"), **given)


def test_an_end_out_of_reach_is_refused_by_name():
    apart = StateSpace(np.diag([-1.0, -2.0]), [1.0, 0.0], states=["driven", "alone"], inputs="u")
    with raises(DataError, "not-reachable"):
        plan_motion(apart, {}, horizon=1.0, end={"alone": 1.0})
    with raises(DataError, "not-reachable"):
        plan_motion(cart(), {}, horizon=0.1, dt=0.1, end={"position": 1.0, "speed": 0.0})
