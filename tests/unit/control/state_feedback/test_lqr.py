"""Linear-quadratic regulators: weights by name, sampling, horizons, integral action, references, mistakes."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

from dalembert.control import StateFeedback, lqr
from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.riccati import care, dare
from tests.helpers.checks import matched
from tests.helpers.control_systems import cart, frame
from tests.helpers.findings import raises
from tests.helpers.quadratic_plans import least_squares_plan, with_cross_term


def call(law, reads, memory=(), references=(), t=0.0):
    u, after = law.function(ca.DM(reads), ca.DM(memory), ca.DM(references), [], t)
    return u.full().ravel(), after.full().ravel()


@pytest.mark.spec("000-63")
def test_the_law_is_minus_k_x_and_moves_the_poles_where_it_says():
    design = lqr(frame(), Q=1.0, R=0.1)
    system = frame().state_space()
    closed = system.A - system.B @ design.K
    poles = np.linalg.eigvals(closed)
    np.testing.assert_allclose(matched(design.poles, poles), poles, rtol=1e-10)
    x = np.arange(1.0, 7.0)
    u, _ = call(design.law(), x)
    np.testing.assert_allclose(u, -design.K @ x, rtol=1e-14)


@pytest.mark.spec("000-66")
def test_weights_by_name_number_diagonal_and_matrix_are_one():
    names = {"q1": 2.0, "q2": 2.0, "q3": 2.0, "q1.rate": 2.0, "q2.rate": 2.0, "q3.rate": 2.0}
    first = lqr(frame(), Q=names, R={"push": 3.0, "pull": 3.0})
    for Q, R in ((2.0, 3.0), ([2.0] * 6, [3.0, 3.0]), (2.0 * np.eye(6), 3.0 * np.eye(2))):
        np.testing.assert_array_equal(lqr(frame(), Q=Q, R=R).K, first.K)
    part = lqr(frame(), Q={"q3": 5.0})
    np.testing.assert_array_equal(part.K, lqr(frame(), Q=np.diag([0, 0, 5.0, 0, 0, 0])).K)


def test_weights_of_outputs_are_weights_of_what_they_read():
    """Direct terms of the accelerometer weigh the inputs and give a cross term."""
    system = frame().state_space()
    C, D = system.C, system.D
    Qy, R = np.diag([3.0, 7.0]), np.eye(2)
    design = lqr(system, Qy={"base": 3.0, "top": 7.0}, R=R)
    other = care(system.A, system.B, C.T @ Qy @ C, R + D.T @ Qy @ D, C.T @ Qy @ D)
    np.testing.assert_allclose(design.K, other.K, rtol=1e-11)
    assert design.residual < 1e-13


def test_only_the_chosen_inputs_are_driven():
    design = lqr(frame(), Q=1.0, inputs="pull")
    assert design.drives == ("pull",)
    assert design.law().drives == ("pull",)
    np.testing.assert_array_equal(
        design.K, lqr(frame().replace(B=np.eye(3)[:, [2]], D=None, inputs="pull", units={}), Q=1.0).K
    )


@pytest.mark.spec("000-67")
def test_a_continuous_system_is_sampled_first():
    design = lqr(frame(), Q=1.0, dt=0.05)
    system = frame().state_space().to_discrete(0.05)
    np.testing.assert_allclose(design.K, dare(system.A, system.B, np.eye(6), np.eye(2)).K, rtol=1e-12)
    assert design.dt == 0.05
    assert design.law().dt == 0.05
    np.testing.assert_array_equal(lqr(system, Q=1.0).K, design.K)


def test_the_cost_of_continuous_time_carried_to_samples_tends_to_the_continuous_gain():
    """The gain at dt differs from the continuous one by O(dt); halving dt halves the difference."""
    exact = lqr(cart(), Q=1.0, R=1.0).K
    apart = [np.abs(lqr(cart(), Q=1.0, R=1.0, dt=dt, cost="integral").K - exact).max() for dt in (0.02, 0.01, 0.005)]
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.05)
    assert apart[1] / apart[2] == pytest.approx(2.0, rel=0.05)


def test_the_carried_cost_is_the_cost_of_the_motion():
    """Simulated with inputs held, ∫ xᵀx + u² dt from x₀ is x₀ᵀ X x₀ of the sampled problem."""
    dt = 0.1
    design = lqr(cart(), Q=1.0, R=1.0, dt=dt, cost="integral")
    x, total, fine = np.array([1.0, -0.5]), 0.0, 200
    A, B = (cart().to_discrete(dt / fine).A, cart().to_discrete(dt / fine).B[:, 0])
    weights = np.ones(fine + 1)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0  # Simpson's rule
    for _ in range(250):
        u = float((-design.K @ x)[0])
        path = [x]
        for _ in range(fine):
            path.append(A @ path[-1] + B * u)
        values = np.array([p @ p + u * u for p in path])
        total += dt / fine / 3.0 * float(weights @ values)
        x = path[-1]
    x0 = np.array([1.0, -0.5])
    assert total == pytest.approx(float(x0 @ design.cost @ x0), rel=1e-7)


@pytest.mark.spec("000-65")
def test_a_long_horizon_begins_with_the_steady_gain_and_ends_with_that_of_its_end():
    design = lqr(frame(), Q=1.0, R=0.5, horizon=60.0, Q_T={"q3": 4.0})
    system = frame().state_space()
    np.testing.assert_allclose(design.K, lqr(frame(), Q=1.0, R=0.5).K, rtol=1e-8, atol=1e-10)
    end = np.zeros((6, 6))
    end[2, 2] = 4.0
    law = design.law()
    at_end, _ = call(law, np.eye(6)[2], t=60.0)
    np.testing.assert_allclose(at_end, -np.linalg.solve(0.5 * np.eye(2), system.B.T @ end)[:, 2], rtol=0, atol=1e-12)


@pytest.mark.spec("000-65")
def test_gains_between_the_nodes_of_a_horizon_are_exact():
    """Against the first gain of the rest of the horizon."""
    system = frame().state_space()
    T, Q, R = 6.0, np.eye(6), 0.5 * np.eye(2)
    design = lqr(system, Q=Q, R=R, horizon=T, Q_T=3.0)
    law, largest = design.law(), np.abs(design.schedule.gains).max()
    for t in (0.123, 2.345, 4.9876, 5.987):
        gain = lqr(system, Q=Q, R=R, horizon=T - t, Q_T=3.0).K
        found = np.column_stack([-call(law, e, t=t)[0] for e in np.eye(6)])
        np.testing.assert_allclose(found, gain, rtol=0, atol=1e-6 * largest)


@pytest.mark.spec("000-65")
def test_a_horizon_with_cross_term_solves_its_differential_equation():
    """-X′ = Aᵀ X + X A + Q - (X B + N) R⁻¹ (X B + N)ᵀ from X(T) = Q_T, by SciPy's integrator at 1e-11."""
    system, given = with_cross_term()
    A, B, Q, R, N = system.A, system.B, given["Q"], given["R"], given["N"]

    def rate(t, x):
        X = x.reshape(3, 3)
        K = np.linalg.solve(R, B.T @ X + N.T)
        return (A.T @ X + X @ A + Q - K.T @ R @ K).ravel()

    for T in (0.3, 1.5):
        X = solve_ivp(rate, (0.0, T), given["Q_T"].ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(3, 3)
        design = lqr(system, horizon=T, **given)
        np.testing.assert_allclose(design.cost, X, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(design.K, np.linalg.solve(R, B.T @ X + N.T), rtol=1e-8, atol=1e-8)
    largest = np.abs(design.schedule.gains).max()
    for t in (0.21, 1.23):  # between the nodes, where slopes count
        found = np.column_stack([-call(design.law(), e, t=t)[0] for e in np.eye(3)])
        np.testing.assert_allclose(found, lqr(system, horizon=T - t, **given).K, rtol=0, atol=2e-6 * largest)


@pytest.mark.spec("000-65", "000-67")
def test_a_sampled_horizon_with_cross_term_is_the_minimum_over_all_inputs():
    system, given = with_cross_term()
    sampled = system.to_discrete(0.1)
    x = x0 = np.array([1.0, -2.0, 0.5])
    wanted, cost = least_squares_plan(sampled, given, x0, 8)
    design = lqr(sampled, horizon=0.8, **given)
    assert x0 @ design.cost @ x0 == pytest.approx(cost, rel=1e-10)
    for k in range(8):
        u = -design.schedule.gains[k] @ x
        np.testing.assert_allclose(u, wanted[k], rtol=1e-8, atol=1e-9)
        x = sampled.A @ x + sampled.B @ u


@pytest.mark.spec("000-67")
def test_a_sampled_horizon_takes_singular_ends_and_counts_its_steps():
    """Q_T = 0: the source's inverse of S(N) does not exist (trap T-30); one step of horizon drives nothing."""
    design = lqr(frame(), Q=1.0, dt=0.05, horizon=0.05)
    assert not design.K.any()
    longer = lqr(frame(), Q=1.0, dt=0.05, horizon=60.0)
    assert longer.schedule.gains.shape == (1200, 2, 6)
    np.testing.assert_allclose(longer.K, lqr(frame(), Q=1.0, dt=0.05).K, rtol=1e-8, atol=1e-10)
    law = longer.law(switched_on=2.0)
    for k in (0, 7, 1199, 1300):
        found = np.column_stack([-call(law, e, t=2.0 + 0.05 * k)[0] for e in np.eye(6)])
        np.testing.assert_allclose(found, longer.schedule.gains[min(k, 1199)], rtol=0, atol=1e-13)
    assert not call(law, np.ones(6), t=1.9)[0].any()


@pytest.mark.spec("000-67")
def test_the_two_forms_of_the_difference_equation_agree():
    """S - S B (R + Bᵀ S B)⁻¹ Bᵀ S = (S⁻¹ + B R⁻¹ Bᵀ)⁻¹, and F = -R⁻¹ Bᵀ S' A, where S can be inverted."""
    system = frame().state_space().to_discrete(0.1)
    A, B, R = system.A, system.B, np.eye(2)
    schedule = lqr(system, Q=1.0, R=R, horizon=0.5, Q_T=1.0).schedule
    S = np.eye(6)
    for k in range(4, -1, -1):
        inner = np.linalg.inv(np.linalg.inv(S) + B @ np.linalg.solve(R, B.T))
        np.testing.assert_allclose(schedule.gains[k], np.linalg.solve(R, B.T) @ inner @ A, rtol=1e-9, atol=1e-12)
        S = A.T @ inner @ A + np.eye(6)
    np.testing.assert_allclose(lqr(system, Q=1.0, R=R, horizon=0.5, Q_T=1.0).cost, S, rtol=1e-10)


@pytest.mark.parametrize("dt", [None, 0.05])
def test_a_prescribed_degree_of_stability_is_met(dt):
    poles = lqr(frame(), Q=1.0, dt=dt, degree=0.7).poles
    assert poles.continuous.real.max() < -0.7


def test_a_prescribed_degree_is_that_of_the_cost_weighted_by_its_exponential():
    """∫ e^{2αt} (xᵀ Q x + uᵀ R u) dt: the problem of A + α I; sampled, of e^{α dt} A and e^{α dt} B."""
    system = frame().state_space()
    shifted = care(system.A + 0.7 * np.eye(6), system.B, np.eye(6), np.eye(2))
    np.testing.assert_allclose(lqr(system, Q=1.0, degree=0.7).K, shifted.K, rtol=1e-10)
    sampled, grow = system.to_discrete(0.05), np.exp(0.7 * 0.05)
    other = dare(grow * sampled.A, grow * sampled.B, np.eye(6), np.eye(2))
    np.testing.assert_allclose(lqr(sampled, Q=1.0, degree=0.7).K, other.K, rtol=1e-10)


def test_integral_action_removes_a_constant_disturbance():
    design = lqr(cart(), Q=1.0, R=1.0, integral={"position": 2.0})
    closed = design.closed_loop()
    assert closed.states[-1] == "integral(position)"
    assert closed.is_stable
    assert abs(closed.dc_gain()[0, 0]) < 1e-12  # position by a constant push
    assert abs(lqr(cart(), Q=1.0, R=1.0).closed_loop().dc_gain()[0, 0]) > 0.5


def test_integrals_step_with_the_error_and_wait_at_the_limit():
    design = lqr(cart(), Q=1.0, R=1.0, dt=0.1, integral="position", limits={"push": 2.0})
    law = design.law()
    assert law.references.names == ("position.reference",)
    assert law.reads == ("position", "speed")
    _, after = call(law, [0.3, 0.0], [0.05], [0.1])
    assert after[0] == pytest.approx(0.05 + 0.1 * 0.2)
    u, after = call(law, [30.0, 0.0], [0.05], [0.1])
    assert u[0] == -2.0
    assert after[0] == 0.05
    _, after = call(design.law(switched_on=5.0), [0.3, 0.0], [0.05], [0.1], t=4.0)
    assert after[0] == 0.05


def test_an_integrated_output_that_is_no_state_is_read_too():
    law = lqr(frame(), Q=1.0, integral="base").law()
    assert law.reads == ("q1", "q2", "q3", "q1.rate", "q2.rate", "q3.rate", "base")


@pytest.mark.parametrize("dt", [None, 0.05])
def test_references_are_reached_from_the_static_map(dt):
    design = lqr(frame(), Q=1.0, R=0.1, dt=dt, tracking=["base", "top"])
    system = design.system
    closed = design.closed_loop()
    step = closed.replace(B=system.B @ design.F, D=system.D @ design.F, inputs=["r1", "r2"], units={})
    np.testing.assert_allclose(step.dc_gain(), np.eye(2), rtol=0, atol=1e-10)


def test_an_output_that_cannot_be_held_is_refused():
    speed = StateSpace([[0, 1], [-1, -1]], [0, 1], [[0, 1]], outputs="speed")
    with raises(DataError, "not-reachable"):
        lqr(speed, Q=1.0, tracking="speed")
    with raises(DataError, "not-reachable"):
        lqr(frame(), Q=1.0, inputs="push", tracking=["base", "top"])


def test_the_operating_point_is_taken_off_and_put_on():
    reference = {"position": 2.0, "speed": 0.0, "push": 3.0}
    system = cart().replace(provenance={"reference": reference})
    design = lqr(system, Q=1.0, tracking="position")
    u, _ = call(design.law(), [2.0, 0.0], references=[2.0])
    assert u[0] == 3.0
    u, _ = call(design.law(), [2.5, 0.0], references=[2.0])
    assert u[0] == pytest.approx(3.0 - 0.5 * design.K[0, 0])
    u, _ = call(design.law(at={"position": 1.0, "push": 0.5}), [1.0, 0.0], references=[1.0])
    assert u[0] == 0.5


def test_an_operating_point_of_unknown_names_is_refused():
    design = lqr(cart(), Q=1.0)
    with raises(DataError, "unknown-name", "'position'"):
        design.law(at={"positon": 1.0})
    with raises(DataError, "not-a-number"):
        design.law(at={"position": "up"})
    with raises(DataError, "wrong-type", "at"):
        design.law(at=3.0)


def test_rates_are_read_under_the_names_of_the_machine():
    system = frame().replace(provenance={"rates": {"q1": "A.rate", "q2": "B.vx"}})
    assert lqr(system, Q=1.0).law().reads == ("q1", "q2", "q3", "A.rate", "B.vx", "q3.rate")


def test_the_closed_loop_and_the_loop_are_those_of_the_gain():
    design = lqr(frame(), Q=1.0, R=0.1, integral="base")
    closed, loop = design.closed_loop(), design.loop()
    np.testing.assert_allclose(matched(closed.poles(), design.poles), design.poles, rtol=0, atol=1e-9)
    around = loop.feedback()
    np.testing.assert_allclose(matched(around.poles(), design.poles), design.poles, rtol=0, atol=1e-9)


def test_the_table_names_gains_poles_and_residual():
    design = lqr(frame(), Q=1.0, integral="base")
    text = repr(design)
    for word in ("StateFeedback", "push", "q3.rate", "integral(base)", "relative residual", "damping ratio"):
        assert word in text
    assert "horizon of 2 s" in lqr(frame(), Q=1.0, horizon=2.0).table()
    with pytest.raises(AttributeError):
        design.K = None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "missing-argument"),
        ({"Q": {"q4": 1.0}}, "unknown-name"),
        ({"Q": [1.0, 2.0]}, "wrong-shape"),
        ({"Q": np.eye(5)}, "wrong-shape"),
        ({"Q": [1, 1, 1, 1, 1, -1.0]}, "not-positive-definite"),
        ({"Q": np.eye(6) + np.eye(6, k=1)}, "not-symmetric"),
        ({"Q": "heavy"}, "not-a-number"),
        ({"Q": 1.0, "R": 0.0}, "not-positive-definite"),
        ({"Q": 1.0, "R": {"push": 1.0}}, "not-positive-definite"),
        ({"Q": 1.0, "R": {"push": 1.0, "pull": -1.0}}, "not-positive-definite"),
        ({"Q": 1.0, "N": 2.0 * np.ones((6, 2))}, "not-positive-definite"),
        ({"Q": 1.0, "N": np.ones((2, 6))}, "wrong-shape"),
        ({"Q": 1.0, "inputs": "shove"}, "unknown-name"),
        ({"Q": 1.0, "inputs": ["push", "push"]}, "duplicate"),
        ({"Q": 1.0, "dt": 0.0}, "not-positive"),
        ({"Q": 1.0, "dt": "fast"}, "not-a-number"),
        ({"Q": 1.0, "degree": -1.0}, "negative"),
        ({"Q": 1.0, "degree": 1.0, "horizon": 2.0}, "conflicting-arguments"),
        ({"Q": 1.0, "horizon": -2.0}, "not-positive"),
        ({"Q": 1.0, "dt": 0.1, "horizon": 0.25}, "not-a-count"),
        ({"Q": 1.0, "Q_T": 1.0}, "missing-argument"),
        ({"Q": 1.0, "integral": "top", "horizon": 1.0}, "conflicting-arguments"),
        ({"Q": 1.0, "integral": "middle"}, "unknown-name"),
        ({"Q": 1.0, "integral": {"top": 0.0}}, "not-positive"),
        ({"Q": 1.0, "cost": "mean"}, "unknown-choice"),
        ({"Q": 1.0, "limits": {"shove": 1.0}}, "unknown-name"),
        ({"Q": 1.0, "limits": {"push": (2.0, 1.0)}}, "wrong-type"),
        ({"Q": 1.0, "limits": {"push": "much"}}, "wrong-type"),
        ({"Q": 1.0, "limits": 3.0}, "wrong-type"),
    ],
)
def test_mistakes_are_reported_in_plain_words(given, words):
    with raises(DataError, words):
        lqr(frame(), **given)


def test_what_is_no_linear_model_is_refused_with_the_way_to_one():
    import dalembert as da

    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1.0))
    with raises(DataError, "wrong-type"):
        lqr(m, Q=1.0)
    with raises(DataError, "wrong-type"):
        lqr(da.equations(m), Q=1.0)
    with raises(DataError, "no-states"):
        lqr(StateSpace.gain(1.0), Q=1.0)
    with raises(DataError, "sample-time-mismatch"):
        lqr(cart().to_discrete(0.1), Q=1.0, dt=0.2)
    with raises(DataError, "empty"):
        lqr(StateSpace([[0, 1], [0, 0]]), Q=1.0)


def test_a_mode_out_of_reach_is_named():
    pair = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], B=[1, 1], inputs="push")
    with raises(DataError, "not-reachable", "0.2757"):
        lqr(pair, Q=1.0)
    with raises(DataError, "not-reachable"):
        lqr(StateSpace(np.diag([-1.0, -2.0]), [1.0, 0.0], inputs="push"), Q=1.0, degree=3.0)
    with raises(DataError, "not-reachable"):
        lqr(StateSpace(np.diag([0.5, 0.95]), [1.0, 0.0], inputs="push", dt=0.1), Q=1.0, degree=2.0)  # e^-0.2 = 0.82


def test_a_mode_that_costs_nothing_is_named():
    with raises(DataError, "not-reachable"):
        lqr(cart(), Q={"speed": 1.0})
    # an unstable one without weight is mirrored, at least cost
    assert lqr(StateSpace(2.0, 1.0), Q=0.0, R=1.0).poles.values.real == pytest.approx([-2.0])


def test_a_damped_mode_out_of_reach_is_left_alone():
    A = scipy.linalg.block_diag([[0.0, 1.0], [0.0, 0.0]], [[-1.0]])
    design = lqr(StateSpace(A, [0, 1, 0]), Q=1.0)
    assert isinstance(design, StateFeedback)
    assert np.isclose(np.asarray(design.poles), -1.0).any()
