"""Kalman gains and output feedback: forms, noise, known inputs, schedules, the loop in ``da.simulate``."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.control import OutputFeedback, kalman_gain, lqr, observer_gain, place
from dalembert.control.state_feedback.place import farthest
from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.riccati import care, dare
from tests.helpers.control_systems import cart, frame, lqg
from tests.helpers.findings import raises

DT = 0.05
NOISE = {"Qn": 1e-2, "Rn": 1e-4}
FILTER = {"Q": NOISE["Qn"], "R": NOISE["Rn"]}
COST = {"Q": 1.0, "R": 0.1}


def call(law, reads, memory, references=(), t=0.0):
    u, after = law.function(ca.DM(reads), ca.DM(memory), ca.DM(references), [], t)
    return u.full().ravel(), after.full().ravel()


# --- gains ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-71")
def test_the_predictor_gain_is_the_model_times_the_filter_gain():
    found = kalman_gain(frame(), dt=DT, **FILTER)
    np.testing.assert_allclose(found.L, found.system.A @ found.M, rtol=1e-10, atol=1e-14)


@pytest.mark.spec("000-71")
def test_the_steady_covariance_is_where_the_recursion_ends():
    """P' = (P⁻¹ + Cᵀ R⁻¹ C)⁻¹, P⁺ = A P' Aᵀ + Q from P = I; K = A P' Cᵀ R⁻¹."""
    found = kalman_gain(frame(), dt=DT, **FILTER)
    A, C = found.system.A, found.system.C
    P, R = np.eye(6), 1e-4 * np.eye(2)
    for _ in range(4000):
        inner = np.linalg.inv(np.linalg.inv(P) + C.T @ np.linalg.solve(R, C))
        P = A @ inner @ A.T + 1e-2 * np.eye(6)
    np.testing.assert_allclose(found.covariance, P, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.L, A @ inner @ C.T @ np.linalg.inv(R), rtol=1e-6, atol=1e-9)


def test_the_continuous_gain_is_the_dual_of_a_regulator():
    found = kalman_gain(frame(), **FILTER)
    system = frame().state_space()
    other = care(system.A.T, system.C.T, 1e-2 * np.eye(6), 1e-4 * np.eye(2))
    np.testing.assert_allclose(found.L, other.K.T, rtol=1e-12)
    np.testing.assert_allclose(found.L, found.covariance @ system.C.T / 1e-4, rtol=1e-10)
    assert found.residual < 1e-13


def test_noise_may_enter_as_inputs_do():
    system = frame().state_space()
    found = kalman_gain(system, Q={"push": 2.0, "pull": 0.5}, R=1e-3)
    other = kalman_gain(system, Q=system.B @ np.diag([2.0, 0.5]) @ system.B.T, R=1e-3)
    np.testing.assert_allclose(found.L, other.L, rtol=1e-10)


def test_correlated_noise_is_taken_into_account():
    N = 1e-3 * np.ones((6, 2))
    found = kalman_gain(frame(), dt=DT, N=N, **FILTER)
    A, C = found.system.A, found.system.C
    other = dare(A.T, C.T, 1e-2 * np.eye(6), 1e-4 * np.eye(2), N)
    np.testing.assert_allclose(found.L, other.K.T, rtol=1e-10)
    P = other.X
    direct = (A @ P @ C.T + N) @ np.linalg.inv(1e-4 * np.eye(2) + C @ P @ C.T)
    np.testing.assert_allclose(found.L, direct, rtol=1e-8, atol=1e-12)


def test_intensities_carried_to_samples_tend_to_the_continuous_filter():
    """L(dt) / dt → L with an error O(dt)."""
    exact = kalman_gain(frame(), Q=1e-2, R=1e-4).L
    apart = [
        np.abs(kalman_gain(frame(), Q=1e-2, R=1e-4, dt=dt, noise="intensity").L / dt - exact).max()
        for dt in (4e-4, 2e-4)
    ]
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.05)


def test_intensities_are_carried_to_samples_as_their_integral():
    """Q_d = ∫₀^dt e^{As} Q e^{Aᵀs} ds by Gauss's rule (8 points, |A| dt ~ 1: to rounding), R_d = R / dt."""
    system, dt = frame().state_space(), 0.2
    Q = np.diag([1.0, 2.0, 0.0, 3.0, 0.5, 1.0])
    x, w = np.polynomial.legendre.leggauss(8)
    flows = [scipy.linalg.expm(system.A * 0.5 * dt * (1 + s)) for s in x]
    Q_d = sum(0.5 * dt * each * F @ Q @ F.T for each, F in zip(w, flows, strict=True))
    found = kalman_gain(system, Q=Q, R=[1e-2, 4e-2], dt=dt, noise="intensity")
    other = kalman_gain(system, Q=Q_d, R=np.array([1e-2, 4e-2]) / dt, dt=dt)
    np.testing.assert_allclose(found.covariance, other.covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.L, other.L, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"R": 0.0}, "not-positive-definite"),
        ({"R": [1.0, 1.0, 1.0]}, "wrong-shape"),
        ({"Q": -1.0}, "not-positive-definite"),
        ({"Q": {"q7": 1.0}}, "unknown-name"),
        ({"outputs": "middle"}, "unknown-name"),
        ({"outputs": []}, "empty"),
        ({"noise": "white"}, "unknown-choice"),
        ({"dt": 0.1, "noise": "intensity", "N": np.ones((6, 2)), "R": 1e6}, "not-supported"),
    ],
)
def test_mistakes_in_noise_are_reported(change, words):
    with raises(DataError, words):
        kalman_gain(frame(), **({"Q": 1.0, "R": 1.0} | change))


def test_a_mode_no_sensor_sees_is_named():
    system = StateSpace([[0, 1], [0, 0]], [0, 1], [[0, 1]], outputs="speed", states=["position", "speed"])
    with raises(DataError, "not-reachable"):
        kalman_gain(system, Q=1.0, R=1.0)


def test_a_mode_no_noise_moves_is_named():
    with raises(DataError, "not-reachable"):
        kalman_gain(cart(), Q=0.0, R=1.0)


# --- the loop ---------------------------------------------------------------------------------------------------------


def felt() -> SecondOrder:
    """The frame with accelerometers that feel both inputs at once: D is full."""
    return frame().replace(Y_acceleration=[[0.2, 0.0, 0.1], [0.3, 0.0, 0.4]])


def designs(system: SecondOrder | None = None) -> list[OutputFeedback]:
    rest = {**COST, **NOISE, "inputs": "pull", "known": "push"}
    system = frame() if system is None else system
    return [
        lqg(system, **rest),
        lqg(system, dt=DT, **rest),
        lqg(system, dt=DT, form="current", **rest),
        lqg(system, dt=DT, integral="base", **rest),
        lqg(system, dt=DT, form="current", integral="base", **rest),
        lqg(system, integral="base", **rest),
    ]


@pytest.mark.spec("000-74")
@pytest.mark.parametrize("k", range(6))
def test_the_poles_of_the_loop_are_those_of_regulator_and_filter(k):
    """Spec 000, 3.2, test 11: to 1e-9. With D ≠ 0 the current form has a pole at 0 more for each input it remembers."""
    design = designs()[k]
    found = np.asarray(design.closed_loop().poles())
    wanted = np.asarray(design.poles)
    extra = len(found) - len(wanted)
    assert extra in (0, 2)
    found = found[np.argsort(-np.abs(found), kind="stable")]
    assert np.abs(found[len(wanted) :]).max(initial=0.0) < 1e-6
    assert farthest(found[: len(wanted)], wanted) < 1e-7


@pytest.mark.spec("000-72")
@pytest.mark.spec("000-73")
@pytest.mark.spec("000-74")
@pytest.mark.parametrize("dt", [None, DT])
def test_the_loop_has_the_matrices_of_the_source(dt):
    """[[A, B F], [K C, A - K C + B F]] with F = -K here and K = L; in (x, x - x̂) block triangular."""
    system = frame().replace(Y_acceleration=np.zeros((2, 3)))  # the source's C is free of D here
    design = lqg(system, dt=dt, **COST, **NOISE)
    A, B, C = design.system.A, design.system.B, design.system.C
    F, K = -design.K, design.L
    closed = design.closed_loop().A
    np.testing.assert_allclose(closed, np.block([[A, B @ F], [K @ C, A - K @ C + B @ F]]), rtol=0, atol=1e-12)
    n = len(A)
    T = np.block([[np.eye(n), np.zeros((n, n))], [np.eye(n), -np.eye(n)]])
    turned = T @ closed @ np.linalg.inv(T)
    np.testing.assert_allclose(
        turned, np.block([[A + B @ F, -B @ F], [np.zeros((n, n)), A - K @ C]]), rtol=0, atol=1e-10
    )


@pytest.mark.spec("000-73")
@pytest.mark.parametrize("make", [frame, felt])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_sampled_law_is_the_controller_it_says(k, make):
    """Stepped by hand with sensors read before or after u changes, against the closed loop as one system."""
    design = designs(make())[k]
    system, law = design.system, design.law()
    outputs = [system.outputs.index(name) for name in design.observer.outputs]
    closed = design.closed_loop()
    x, memory = np.arange(1.0, 7.0) / 10.0, np.array(law.start)
    whole = np.concatenate([x, np.zeros(closed.nx - 6)])
    pull = np.zeros(1)
    r = np.zeros(len(law.references))
    for step in range(60):
        push = np.array([math.sin(0.7 * step)])
        if law.direct:
            y = (system.C @ x + system.D @ np.concatenate([push, pull]))[outputs]
            pull, memory = call(law, np.concatenate([y, push, pull]), memory, r)
        else:
            pull, _ = call(law, np.zeros(len(law.reads)), memory, r)
            y = (system.C @ x + system.D @ np.concatenate([push, pull]))[outputs]
            again, memory = call(law, np.concatenate([y, push, pull]), memory, r)
            np.testing.assert_array_equal(pull, again)
        given = np.concatenate([push, np.zeros(1)])
        np.testing.assert_allclose(whole[:6], x, rtol=0, atol=1e-10)
        whole = closed.A @ whole + closed.B @ given
        x = system.A @ x + system.B @ np.concatenate([push, pull])


@pytest.mark.spec("000-73")
def test_a_predictor_does_not_wait_for_its_sensors_and_a_current_law_does():
    _, predictor, current, *_ = designs()
    assert predictor.law().direct is False
    assert current.law().direct is True
    assert predictor.law().reads == ("base", "top", "push", "pull")
    assert predictor.law().drives == ("pull",)
    assert predictor.known == ("push",)
    u = [call(predictor.law(), reads, np.ones(6))[0] for reads in (np.zeros(4), np.ones(4))]
    np.testing.assert_array_equal(u[0], u[1])
    np.testing.assert_allclose(u[0], -predictor.K @ np.ones(6), rtol=1e-13)


def test_an_input_at_its_limit_does_not_mislead_the_filter():
    """The observer receives what acts, not what was asked for: its error is that without any limit."""
    design = lqg(frame(), dt=DT, limits={"pull": 0.01}, inputs="pull", known="push", **COST, **NOISE)
    law, system = design.law(), design.system
    x, memory = np.ones(6), np.array(law.start)
    for _ in range(40):
        e = x - memory
        pull, _ = call(law, np.zeros(4), memory)
        assert abs(pull[0]) <= 0.01
        acting = 0.5 * pull  # an actuator with a fault of its own
        u = np.concatenate([[0.3], acting])
        y = system.C @ x + system.D @ u
        _, memory = call(law, np.concatenate([y, u]), memory)
        x = system.A @ x + system.B @ u
        np.testing.assert_allclose(x - memory, (system.A - design.L @ system.C) @ e, rtol=0, atol=1e-12)


@pytest.mark.spec("000-72")
@pytest.mark.parametrize("make", [frame, felt])
def test_a_continuous_law_gives_rates(make):
    design = designs(make())[0]
    law = design.law()
    controller = design.controller()
    xh, reads = np.arange(6.0), np.array([0.1, -0.2, 0.3])
    u, _ = call(law, np.append(reads, 0.0), xh)
    np.testing.assert_allclose(u, controller.C @ xh, rtol=1e-12)
    _, rate = call(law, np.append(reads, u), xh)  # the input acts as it was asked for
    np.testing.assert_allclose(rate, controller.A @ xh + controller.B @ reads, rtol=1e-11)
    assert law.dt is None
    assert law.reads == ("base", "top", "push", "pull")


@pytest.mark.spec("000-73")
def test_a_finite_horizon_has_gains_of_its_own_for_every_sample():
    """F(k) backwards from Q_T, K(k) forwards from P0 (items 67, 71), by the source's own recursions."""
    P0 = 1e-3 * np.eye(6)
    design = lqg(frame(), dt=DT, horizon=2.0, Q_T=2.0, P0=P0, **COST, **NOISE)
    A, B, C = design.system.A, design.system.B, design.system.C
    S, P = 2.0 * np.eye(6), P0
    F = []
    for _ in range(40):
        F.append(np.linalg.solve(0.1 * np.eye(2) + B.T @ S @ B, B.T @ S @ A))
        S = A.T @ S @ A - (A.T @ S @ B) @ F[-1] + np.eye(6)
    np.testing.assert_allclose(design.feedback.schedule.gains, np.array(F[::-1]), rtol=1e-8, atol=1e-10)
    for k in range(40):
        K = A @ P @ C.T @ np.linalg.inv(1e-4 * np.eye(2) + C @ P @ C.T)
        np.testing.assert_allclose(design.observer.schedule.gains[k], K, rtol=1e-7, atol=1e-9)
        P = A @ P @ A.T - K @ C @ P @ A.T + 1e-2 * np.eye(6)
    law = design.law()
    xh = np.ones(6)
    u, after = call(law, np.array([1.0, 2.0, 0.0, 0.0]), xh, t=7 * DT)
    np.testing.assert_allclose(u, -design.feedback.schedule.gains[7] @ xh, rtol=1e-12)
    np.testing.assert_allclose(after, A @ xh + design.observer.schedule.gains[7] @ ([1.0, 2.0] - C @ xh), rtol=1e-12)


def test_a_schedule_of_the_current_form_is_that_of_the_filter():
    design = lqg(frame(), dt=DT, horizon=1.0, P0=1e-3, form="current", **COST, **NOISE)
    other = lqg(frame(), dt=DT, horizon=1.0, P0=1e-3, **COST, **NOISE)
    A = design.system.A
    np.testing.assert_allclose(A @ design.observer.schedule.gains, other.observer.schedule.gains, rtol=1e-9, atol=1e-12)


def test_a_continuous_filter_over_a_horizon_starts_from_its_covariance():
    design = lqg(frame(), horizon=4.0, P0=1e-3, **COST, **NOISE)
    C = design.system.C
    np.testing.assert_allclose(design.observer.schedule.gains[0], 1e-3 * C.T / 1e-4, rtol=1e-9)
    steady = kalman_gain(frame(), **FILTER).L
    np.testing.assert_allclose(design.observer.schedule.gains[-1], steady, rtol=1e-3, atol=1e-3)


def test_a_continuous_filter_gain_between_its_nodes_is_that_of_the_covariance_there():
    """P(t) from P0 knows nothing of the end: the gain at t is the last one of a horizon of t."""
    design = lqg(frame(), horizon=4.0, P0=1e-1, **COST, **NOISE)
    largest = np.abs(design.observer.schedule.gains).max()
    for t in (0.037, 0.61, 2.9):
        wanted = lqg(frame(), horizon=t, P0=1e-1, **COST, **NOISE).observer.schedule.gains[-1]
        found = ca.DM(design.observer.schedule.at(t)).full()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * largest)


def test_a_filter_over_a_horizon_takes_correlated_noise_into_account():
    """L = (A P Cᵀ + N) S⁻¹, S = R + C P Cᵀ, P⁺ = A P Aᵀ + Q - L S Lᵀ from P0, by hand."""
    N = 2e-4 * np.arange(12.0).reshape(6, 2) / 11.0
    design = lqg(frame(), dt=DT, horizon=4 * DT, P0=1e-3, Nn=N, form="predictor", **COST, **NOISE)
    A, C, P = design.system.A, design.system.C, 1e-3 * np.eye(6)
    for k in range(4):
        S = 1e-4 * np.eye(2) + C @ P @ C.T
        L = np.linalg.solve(S, (A @ P @ C.T + N).T).T
        np.testing.assert_allclose(design.observer.schedule.gains[k], L, rtol=1e-9, atol=1e-12)
        P = A @ P @ A.T + 1e-2 * np.eye(6) - L @ S @ L.T


@pytest.mark.parametrize("form", ["predictor", "current"])
def test_at_the_operating_point_and_its_own_reference_a_law_rests(form):
    """u = u₀ - K (x̂ - x₀) + F (r - r₀): with all of them at the point u₀ is left; a step of r adds F."""
    design = lqg(frame(), dt=DT, form=form, inputs="pull", known="push", tracking="base", **COST, **NOISE)
    law = design.law(at={"base": 0.3, "top": 0.2, "q1": 0.3, "q3": 0.2, "pull": 2.0, "push": -1.0})
    reads = np.array([0.3, 0.2, -1.0, 2.0])
    rest, _ = call(law, reads, law.start, [0.3])
    moved, _ = call(law, reads, law.start, [0.8])
    np.testing.assert_allclose(rest, [2.0], rtol=1e-12)
    np.testing.assert_allclose(moved, 2.0 + 0.5 * design.feedback.F[:, 0], rtol=1e-12)


@pytest.mark.parametrize("dt", [None, DT])
@pytest.mark.parametrize("form", ["predictor", "current"])
def test_an_observer_behind_sensors_that_feel_the_inputs_keeps_its_estimate(dt, form):
    """Started at the true state, without noise, nothing is left to correct, whatever the inputs do to the sensors."""
    observer = kalman_gain(felt(), dt=dt, form=form, **FILTER)
    names = observer.system.states
    start = dict(zip(names, np.arange(1.0, 7.0) / 10.0, strict=True))
    run = da.simulate(
        observer.system, 1.0, start=np.array(list(start.values())), observer=observer.observer_step(start=start),
        inputs={"push": lambda t: da.sin(3 * t), "pull": lambda t: 1.0 + t},
    )  # fmt: skip
    for name in names:
        np.testing.assert_allclose(run[f"estimate.{name}"], run[name], rtol=0, atol=1e-7)


def test_any_feedback_and_observer_of_one_model_make_a_loop():
    poles = [-1, -2, -3, -4, -1 + 2j, -1 - 2j]
    design = OutputFeedback(place(frame(), poles), observer_gain(frame(), 5 * np.array(poles)))
    assert farthest(np.asarray(design.closed_loop().poles()), np.asarray(design.poles)) < 1e-6
    with raises(DataError, "wrong-owner"):
        OutputFeedback(place(frame(), poles), observer_gain(frame(), poles, dt=0.1))
    with raises(DataError, "missing-input", "'push'"):
        OutputFeedback(place(frame(), poles), observer_gain(frame(), poles, inputs="pull"))
    with raises(DataError, "missing-output"):
        OutputFeedback(lqr(frame(), Q=1.0, integral="base"), kalman_gain(frame(), outputs="top", **FILTER))


def test_the_table_reports_both_gains():
    text = repr(designs()[1])
    for word in ("OutputFeedback", "predictor form", " and push", "K", "L", "q3.rate", "base", "closed loop"):
        assert word in text


# --- in da.simulate ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pendulum():
    m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1.0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_sensor("encoder", da.angle("hinge"))
    eqs = da.equations(m)
    top = da.assemble(eqs, {"hinge.angle": math.pi})
    return eqs, da.linearize(eqs, top), da.assemble(eqs, {"hinge.angle": math.pi - 0.3})


NOISY = {"Qn": {"torque": 1.0}, "Rn": 1e-4}
NOISY_FILTER = {"Q": NOISY["Qn"], "R": NOISY["Rn"]}
CASES = {
    "lqr": lambda model: lqr(model, Q=1.0, R=1.0),
    "sampled lqr": lambda model: lqr(model, Q=1.0, R=1.0, dt=0.05),
    "finite horizon": lambda model: lqr(model, Q=1.0, R=1.0, horizon=6.0, Q_T=10.0),
    "sampled finite horizon": lambda model: lqr(model, Q=1.0, R=1.0, dt=0.05, horizon=6.0, Q_T=10.0),
    "lqg": lambda model: lqg(model, Q=1.0, R=1.0, **NOISY),
    "sampled lqg": lambda model: lqg(model, Q=1.0, R=1.0, dt=0.05, **NOISY),
    "current lqg": lambda model: lqg(model, Q=1.0, R=1.0, dt=0.05, form="current", **NOISY),
    "lqg over a horizon": lambda model: lqg(model, Q=1.0, R=1.0, dt=0.05, horizon=6.0, Q_T=10.0, P0=0.1, **NOISY),
}


@pytest.mark.spec("000-63", "000-72", "000-73")
@pytest.mark.parametrize("name", CASES)
def test_a_pendulum_is_held_upright_by_a_law_of_its_linear_model(pendulum, name):
    """The law knows by itself where upright is and what the machine calls its rate."""
    eqs, linear, start = pendulum
    run = da.simulate(eqs, 5.0, start=start, controller=CASES[name](linear))
    assert abs(run["hinge.angle"][-1] - math.pi) < 1e-3
    assert np.abs(run["torque"]).max() > 1.0


@pytest.mark.parametrize("form", ["current", "predictor"])
def test_a_law_behind_an_observer_is_the_output_feedback_of_both(pendulum, form):
    eqs, linear, start = pendulum
    one = lqg(linear, Q=1.0, R=1.0, dt=0.05, form=form, **NOISY)
    two = da.simulate(
        eqs, 2.0, start=start, controller=lqr(linear, Q=1.0, R=1.0, dt=0.05),
        observer=kalman_gain(linear, dt=0.05, form=form, **NOISY_FILTER),
    )  # fmt: skip
    run = da.simulate(eqs, 2.0, start=start, controller=one)
    np.testing.assert_allclose(run["hinge.angle"][-1], two["hinge.angle"][-1], rtol=0, atol=1e-9)


def test_integral_action_holds_a_pendulum_that_is_pushed():
    """A torque the model does not know: without integral action the pendulum rests beside its place."""
    m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1.0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_actuator("wind", joint="hinge", input="wind")
    m.add_sensor("encoder", da.angle("hinge"))
    eqs = da.equations(m)
    linear = da.linearize(eqs, da.assemble(eqs, {"hinge.angle": math.pi}))
    rest = {"until": 12.0, "start": da.assemble(eqs, {"hinge.angle": math.pi - 0.1}), "inputs": {"wind": 0.5}}
    plain = lqr(linear, Q=1.0, R=1.0, dt=0.05, inputs="torque")
    whole = lqr(linear, Q=1.0, R=1.0, dt=0.05, inputs="torque", integral={"encoder": 200.0})
    off = da.simulate(eqs, controller=plain, **rest)["hinge.angle"][-1] - math.pi
    held = da.simulate(eqs, controller=whole, references={"encoder": math.pi}, **rest)["hinge.angle"][-1] - math.pi
    assert abs(off) > 0.02
    assert abs(held) < 1e-4


def test_a_reference_is_followed(pendulum):
    eqs, linear, start = pendulum
    design = lqr(linear, Q=1.0, R=1.0, dt=0.02, tracking="encoder")
    run = da.simulate(eqs, 6.0, start=start, controller=design, references={"encoder": math.pi + 0.05})
    assert abs(run["hinge.angle"][-1] - math.pi - 0.05) < 1e-4  # sin 0.05 for 0.05


@pytest.mark.parametrize("name", ["lqr", "sampled lqr", "lqg", "sampled lqg"])
def test_the_linear_model_is_held_by_the_same_design(pendulum, name):
    """Its states are deviations: the operating point is not taken off once more."""
    _, linear, _ = pendulum
    design = CASES[name](linear)
    run = da.simulate(linear.state_space() if design.dt is None else design.system, 5.0, start=[0.3, 0.0],
                      controller=design)  # fmt: skip
    assert abs(run["hinge.angle"][0] - 0.3) < 1e-12
    assert abs(run["hinge.angle"][-1]) < 1e-3
    observer = kalman_gain(linear, dt=0.05, **NOISY_FILTER)
    behind = da.simulate(observer.system, 5.0, start=[0.3, 0.0], controller=[lqr(linear, Q=1.0, dt=0.05)],
                         observer=observer)  # fmt: skip
    assert abs(behind["hinge.angle"][-1]) < 1e-3


def test_a_linearized_model_says_what_its_deviations_count_from(pendulum):
    _, linear, _ = pendulum
    reference = linear.provenance["reference"]
    assert reference["hinge.angle"] == pytest.approx(math.pi)
    assert reference["encoder"] == pytest.approx(math.pi)
    assert reference["torque"] == 0.0
    assert linear.provenance["rates"] == {"hinge.angle": "hinge.rate"}


def test_the_linear_loop_in_simulate_is_the_closed_loop():
    design = lqg(frame(), dt=DT, inputs="pull", known="push", **COST, **NOISE)
    start = np.arange(1.0, 7.0) / 10.0
    run = da.simulate(
        design.system, 3.0, start=start, inputs={"push": lambda t: da.sin(3 * t)}, controller=design.law()
    )
    closed = design.closed_loop()
    x = np.concatenate([start, np.zeros(6)])
    for k in range(60):
        x = closed.A @ x + closed.B @ [math.sin(3 * k * DT), 0.0]
    np.testing.assert_allclose([run[name][-1] for name in design.system.states], x[:6], rtol=1e-9)


def test_white_innovations_on_simulated_data():
    """Spec 000, 3.2, test 12: lags 1 to 10 of the normalised innovations within 4/√N of zero."""
    found = kalman_gain(frame(), dt=DT, **FILTER)
    A, C = found.system.A, found.system.C
    rng = np.random.default_rng(1)
    N = 4000
    x, xh, e = np.zeros(6), np.zeros(6), np.zeros((N, 2))
    for k in range(N):
        y = C @ x + 1e-2 * rng.normal(size=2)
        e[k] = y - C @ xh
        xh = A @ xh + found.L @ e[k]
        x = A @ x + 1e-1 * rng.normal(size=6)
    S = C @ found.covariance @ C.T + 1e-4 * np.eye(2)
    e = scipy.linalg.solve_triangular(np.linalg.cholesky(S), e.T, lower=True).T[200:]
    for lag in range(1, 11):
        assert np.abs(e[lag:].T @ e[:-lag] / len(e)).max() < 4.0 / math.sqrt(len(e))
    np.testing.assert_allclose(e.T @ e / len(e), np.eye(2), rtol=0, atol=4.0 * math.sqrt(2.0 / len(e)))
