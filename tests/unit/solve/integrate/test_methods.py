"""Implicit methods: order of convergence, stiffness, joints, redundant joints, agreement with the explicit ones."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.solve.constrained.elimination import Elimination
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.methods import sundials
from dalembert.solve.integrate.methods.generalized_alpha import AlphaStepper, move
from tests.helpers.findings import raises, warns

P1 = np.array([-0.275087462576, -0.961419205099])  # peers.md, P(10)


@pytest.fixture(scope="module")
def pendulum() -> tuple[da.EquationsOfMotion, State]:
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.0)  # massless in rotation: the singular mass matrix goes this way too
    m.add_revolute("A", m.ground.at(0, 0), bob.at(-1, 0))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, {"A": np.pi})


def pendulum_error(pendulum: tuple[da.EquationsOfMotion, State], method: Any) -> float:
    eqs, start = pendulum
    run = da.simulate(eqs, 10.0, start=start, method=method, every=[0.0, 10.0])
    return float(np.abs(run["bob"][-1] - P1).max())


@pytest.mark.parametrize(
    ("make", "order", "coarse"),
    [
        (lambda h: da.RK4(step=h), 4, 0.01),
        (lambda h: da.DormandPrince(order=5, step=h), 5, 0.02),
        (lambda h: da.DormandPrince(order=8, step=h), 8, 0.2),
        (lambda h: da.Rosenbrock(step=h), 5, 0.02),
        (lambda h: da.GeneralizedAlpha(step=h), 2, 0.01),
        (lambda h: da.GeneralizedAlpha(step=h, rho=0.2), 2, 0.005),
        (lambda h: da.GeneralizedAlpha(step=h, index=2), 2, 0.01),
    ],
)
def test_halving_the_step_shows_the_order(pendulum: Any, make: Any, order: int, coarse: float) -> None:
    first, second = (pendulum_error(pendulum, make(h)) for h in (coarse, coarse / 2))
    measured = np.log2(first / second)
    # the next term of the error is of relative size h times a rate of ten: a quarter of an order at these steps
    assert measured > order - 0.45
    if not isinstance(make(coarse), (da.RK4, da.DormandPrince)):
        # the explicit stages are steered onto the joints, which takes away leading terms of the error where, as here,
        # they keep but one degree of freedom: Dormand-Prince 5 shows order 7
        assert measured < order + 0.45


def test_rosenbrock_keeps_its_order_where_inputs_and_drivers_vary_in_time() -> None:
    """On a carriage at s = 0.3 sin 2t, m (ẍ + s̈) + c ẋ + k x = F, with F such that x = sin 3t."""
    m = da.Mechanism("carriage", planar=True, gravity=0)
    carriage, body = (m.add_body(name, mass=1.0, inertia=1.0) for name in ("carriage", "body"))
    m.add_prismatic("rail", m.ground.at(0, 0), carriage.at(0, 0), axis=(1, 0))
    m.add_prismatic("slide", carriage.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_driver("drive", "rail", lambda t: 0.3 * da.sin(2 * t))
    m.add_damper("damper", joint="slide", damping=4.0)
    m.add_spring("spring", joint="slide", stiffness=10.0)
    m.add_actuator("push", joint="slide", input="force")
    eqs = da.equations(m)
    start = da.assemble(eqs, {"slide": 0.0}, velocity={"slide": 3.0})
    force = {"force": lambda t: da.sin(3 * t) + 12 * da.cos(3 * t) - 1.2 * da.sin(2 * t)}
    errors = []
    for step in (0.05, 0.025):
        run = da.simulate(eqs, 2.0, start=start, inputs=force, method=da.Rosenbrock(step=step))
        errors.append(np.abs(run["slide.displacement"] - np.sin(3 * run.time)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5, abs=0.45)  # the next term of the error, as above


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        (da.DormandPrince(rtol=1e-11, atol=1e-11), 1e-9),
        (da.DormandPrince(order=5, rtol=1e-11, atol=1e-11), 1e-9),
        (da.RK4(step=5e-4), 1e-9),
        (da.Rosenbrock(rtol=1e-10, atol=1e-10), 1e-9),
        (da.Rosenbrock(step=2e-3), 1e-9),
        (da.Sundials(rtol=1e-12, atol=1e-12), 1e-7),  # orders 1 to 5: no better at its tightest
        (da.Sundials(rtol=1e-12, atol=1e-12, solver="idas"), 1e-7),
    ],
)
def test_p1_pendulum_by_every_method(pendulum: Any, method: Any, tolerance: float) -> None:
    assert pendulum_error(pendulum, method) < tolerance


@pytest.mark.parametrize("solver", ["cvodes", "idas"])
def test_sundials_is_as_exact_as_its_tolerance_however_often_it_is_sampled(solver: str) -> None:
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("h", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"h": 0.0})
    random = np.sort(np.random.default_rng(0).uniform(0.0, 10.0, 200))
    steps = []
    for every in (1.0, 0.03, 0.001, random):
        exact = da.simulate(eqs, 10.0, start=start, every=every, method=da.DormandPrince(rtol=1e-12, atol=1e-12))
        run = da.simulate(eqs, 10.0, start=start, every=every, method=da.Sundials(solver=solver))
        assert run.time.tolist() == exact.time.tolist()
        # errors of 1e-8 add up over thousands of steps: 1e-7 to 8e-7 measured, at every sampling
        assert np.abs(run["h.angle"] - exact["h.angle"]).max() < 1.5e-6
        assert run["residual.position"].max() < 1e-12
        assert run["residual.velocity"].max() < 1e-12
        steps.append(run.statistics["steps"])
    assert max(steps) < 1.5 * min(steps)


def two_rods(length: float) -> tuple[da.EquationsOfMotion, State]:
    """The second one's middle is driven from one length to beyond the reach of both, at 0.5 s."""
    m = da.Mechanism("reach", planar=True)
    rods = [m.add_body(name, mass=1.0, inertia=da.rod(length)) for name in ("a", "b")]
    m.add_revolute("A", m.ground.at(0, 0), rods[0].at(-0.5 * length, 0))
    m.add_revolute("B", rods[0].at(0.5 * length, 0), rods[1].at(-0.5 * length, 0))
    m.add_driver("x", "b.x", lambda t: length * (1.0 + t))
    m.add_driver("y", "b.y", 0.0)
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, guess={"A.angle": 0.8, "B.angle": -1.6})


@pytest.mark.parametrize("length", [1.0, 1e-4])
def test_sundials_stops_where_a_joint_cannot_follow(length: float) -> None:
    """A machine of a tenth of a millimetre is open where one of a metre is."""
    eqs, start = two_rods(length)
    with pytest.raises(da.errors.ConvergenceError) as caught:
        da.simulate(eqs, 2.0, start=start, method=da.Sundials(), every=0.01)
    assert 0.45 <= caught.value.record.time[-1] <= 0.5
    assert caught.value.record["residual.position"].max() < 1e-5 * length


def stiff_slider(rate: float) -> da.EquationsOfMotion:
    """A unit mass with a spring and a damper a hundred thousand times faster than its motion."""
    m = da.Mechanism("stiff", planar=True, gravity=0)
    body = m.add_body("body", mass=1.0, inertia=1.0)
    m.add_prismatic("slide", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_actuator("drive", joint="slide", input="force")
    m.add_damper("damper", joint="slide", damping=rate)
    m.add_spring("spring", joint="slide", stiffness=rate)
    return da.equations(m)


@pytest.mark.parametrize("method", [da.Rosenbrock(step=0.02), da.GeneralizedAlpha(step=0.02, rho=0.0)])
def test_a_step_a_thousand_times_the_fast_time_is_stable(method: Any) -> None:
    rate = 1e5
    eqs = stiff_slider(rate)
    start = da.assemble(eqs, {"slide": 0.0}, velocity={"slide": 1.0})
    push = {"force": lambda t: rate * (da.cos(t) + da.sin(t))}
    run = da.simulate(eqs, 2.0, start=start, inputs=push, method=method)
    # ẍ/rate + ẋ + x = cos t + sin t: x = sin t but for 1/rate = 1e-5; second order adds (0.02)²/12 or so
    assert run["slide.displacement"][-1] == pytest.approx(np.sin(2.0), abs=1e-4)


def test_generalized_alpha_damps_what_rho_says() -> None:
    """A spring far stiffer than the step: each step multiplies the fast motion by ρ in the limit."""
    m = da.Mechanism("spring", planar=True, gravity=0)
    body = m.add_body("body", mass=1.0, inertia=1.0)
    m.add_prismatic("slide", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="slide", stiffness=1e10)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"slide.displacement": 1e-3})
    for rho in (0.5, 0.9):
        with warns(da.errors.SimulationWarning, "energy-drift"):
            run = da.simulate(eqs, 1.0, start=start, method=da.GeneralizedAlpha(step=0.01, rho=rho))
        size = np.abs(run["slide.displacement"])
        # a double root of size ρ: (a + b n) ρⁿ
        assert (size[90] / size[60]) ** (1 / 30) == pytest.approx(rho, abs=0.03)


def bricard() -> tuple[da.EquationsOfMotion, Any]:
    m = da.Mechanism("Bricard", gravity=(0, -9.81, 0))
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    rods = []
    for k, (a, b) in enumerate(itertools.pairwise(points)):
        along = int(np.argmax(np.abs(np.subtract(b, a))))
        inertia = [1.01 / 12] * 3
        inertia[along] = 0.02 / 12
        rods.append(m.add_body(f"rod{k}", mass=1.0, inertia=inertia, position=tuple(np.add(a, b) / 2)))
    chain = [m.ground, *rods, m.ground]
    for k, (first, second) in enumerate(itertools.pairwise(chain)):
        m.add_revolute(f"J{k}", first, second, at=points[k], axis=axes[k])
    corner = rods[2].at(*np.subtract(points[3], np.add(points[2], points[3]) / 2))
    m.add_sensor("corner", da.position(corner))
    return da.equations(m), m


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        (da.Rosenbrock(rtol=1e-9, atol=1e-9), 2e-8),  # the published value has nine digits; error control of 1e-9
        (da.GeneralizedAlpha(step=2e-3), 1e-3),
        pytest.param(da.GeneralizedAlpha(step=2e-3, index=2), 1e-3, marks=pytest.mark.slow),
        pytest.param(da.Sundials(rtol=1e-9, atol=1e-9), 1e-6, marks=pytest.mark.slow),
        pytest.param(da.Sundials(rtol=1e-8, atol=1e-8, solver="idas"), 1e-6, marks=pytest.mark.slow),
    ],
)
def test_redundant_joints_do_not_stop_an_implicit_method(method: Any, tolerance: float) -> None:
    """peers.md P4: the over-constrained Bricard linkage, one redundant row, at t = 1 s."""
    eqs, _ = bricard()
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs), method=method, every=0.1)
    assert run["corner"][-1] == pytest.approx([0.510501461, -1.649167599, 0.140123115], abs=tolerance)


def top() -> da.EquationsOfMotion:
    m = da.Mechanism("top")
    body = m.add_body("top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), position=(0, 1, 0))
    m.add_spherical("tip", m.ground, body, at=(0, 0, 0))
    return da.equations(m)


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [(da.Rosenbrock(rtol=1e-10, atol=1e-10), 1e-8), (da.GeneralizedAlpha(step=2.5e-4), 2e-2)],
)
def test_p7_heavy_top_turns_on_the_unit_sphere(method: Any, tolerance: float) -> None:
    eqs = top()
    start = da.assemble(eqs, start=eqs.state(None, [4.61538, 0, 0, 0, 150, -4.61538]))
    run = da.simulate(eqs, 1.0, start=start, method=method, every=[0.0, 1.0])
    place = run["top"][-1]
    assert place == pytest.approx([0.173343964098, 0.640088592070, -0.748490791134], abs=tolerance)
    e = [run[f"top.e{k}"][-1] for k in range(4)]
    assert np.dot(e, e) == pytest.approx(1.0, abs=1e-13)


def test_internal_states_and_inputs_are_second_order_in_generalized_alpha() -> None:
    m = da.Mechanism("motor", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    motor = da.DCMotor(resistance=1.0, inductance=0.05, torque_constant=0.5)
    m.add_actuator("motor", "A", input="voltage", model=motor)
    eqs = da.equations(m)
    drive = {"voltage": lambda t: 10 * da.sin(3 * t)}
    exact = da.simulate(eqs, 2.0, inputs=drive, every=[0.0, 2.0], method=da.DormandPrince(rtol=1e-12, atol=1e-12))
    stiff = da.simulate(eqs, 2.0, inputs=drive, every=[0.0, 2.0], method=da.Rosenbrock(rtol=1e-10, atol=1e-10))
    assert stiff["motor.current"][-1] == pytest.approx(exact["motor.current"][-1], abs=1e-8)
    assert stiff["energy.balance"][-1] == pytest.approx(0.0, abs=1e-7)
    errors = []
    for h in (0.01, 0.005):
        run = da.simulate(eqs, 2.0, inputs=drive, every=[0.0, 2.0], method=da.GeneralizedAlpha(step=h))
        errors.append(abs(run["motor.current"][-1] - exact["motor.current"][-1]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)


def test_friction_is_solved_with_the_step() -> None:
    m = da.Mechanism("friction", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("rub", "A", coulomb=0.2, radius=0.05, speed=0.05)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"A": 0.0})
    exact = da.simulate(eqs, 1.0, start=start, every=[0.0, 1.0], method=da.DormandPrince(rtol=1e-11, atol=1e-11))
    for method, tolerance in ((da.Rosenbrock(rtol=1e-9, atol=1e-9), 1e-7), (da.GeneralizedAlpha(step=1e-3), 1e-4)):
        run = da.simulate(eqs, 1.0, start=start, every=[0.0, 1.0], method=method)  # type: ignore[arg-type]
        assert run["A.angle"][-1] == pytest.approx(exact["A.angle"][-1], abs=tolerance)


def test_a_rolling_wheel_keeps_its_velocity_rows() -> None:
    m = da.Mechanism("wheel", gravity=(0, 0, -9.81))
    disc = m.add_body("disc", mass=1.0, inertia=(0.25, 0.25, 0.5), position=(0, 0, 0.9))
    m.add_rolling_wheel("contact", m.ground, disc, radius=1.0, axis=(0, 0, 1))
    eqs = da.equations(m)
    tilted = eqs.state([0, 0, 0.9, 0.8, 0.6, 0, 0], [0, 0, 0, 0.2, 0, 3.0])
    start = da.assemble(eqs, start=tilted)
    exact = da.simulate(eqs, 0.5, start=start, every=[0.0, 0.5])
    for index in (2, 3):
        method = da.GeneralizedAlpha(step=5e-4, index=index)
        run = da.simulate(eqs, 0.5, start=start, every=[0.0, 0.5], method=method)
        assert run["disc"][-1] == pytest.approx(exact["disc"][-1], abs=1e-4)


def test_a_step_that_does_not_converge_names_time_and_joint() -> None:
    m = da.Mechanism("tight", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"hinge": 0.0}, velocity={"hinge": 40.0})
    with raises(da.errors.ConvergenceError, "no-convergence", "'hinge'", "0.2 s") as caught:
        da.simulate(eqs, 5.0, start=start, method=da.GeneralizedAlpha(step=0.2))
    assert caught.value.record is not None


def test_a_step_whose_iteration_fails_is_made_in_halves() -> None:
    """A rod turns by half a radian per step: too much for the iteration of some steps, not for that of their halves.

    A step of half the length has no need of it and turns to 39.80 rad, one of 1e-4 s to 39.982 rad; a quarter of the
    error with half of the step makes 4 % of this one.
    """
    m = da.Mechanism("fast", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"hinge": 0.0}, velocity={"hinge": 40.0})
    with warns(da.errors.SimulationWarning, "energy-drift"):
        coarse, fine = (da.simulate(eqs, 1.0, start=start, method=da.GeneralizedAlpha(h)) for h in (0.0125, 0.00625))
    assert coarse.statistics["steps"] > 80
    assert fine.statistics["steps"] == 160
    assert coarse.time[-1] == pytest.approx(1.0, abs=1e-12)
    assert coarse["hinge.angle"][-1] == pytest.approx(39.982, rel=0.04)
    assert coarse["residual.position"].max() < 1e-9


def test_elimination_solves_with_redundant_rows() -> None:
    random = np.random.default_rng(0)
    S = random.normal(size=(6, 6)) + 6 * np.eye(6)
    A = random.normal(size=(3, 6))
    A[2] = A[0] + A[1]
    K = np.block([[S, -A.T], [A, np.zeros((3, 3))]])
    symbol = ca.SX.sym("K", ca.DM(K).sparsity())
    elimination = Elimination(symbol, 6, refinements=2)
    values = ca.Function("f", [symbol], [elimination.values()])(K)
    x0 = random.normal(size=9)
    right = K @ x0
    x = np.asarray(elimination.solver()(values, right)).reshape(-1)
    # ε = 1e-8 cubed by two refinements: rounding times the condition 1e8 of the regularised block is what stays
    assert np.abs(K @ x - right).max() < 1e-7
    assert x[:6] == pytest.approx(x0[:6], abs=1e-7)


def test_the_factors_of_an_implicit_step_are_those_of_its_exact_jacobian() -> None:
    m = da.Mechanism("spinning arm")
    hub = m.add_body("hub", mass=2.0, inertia=(0.3, 0.2, 0.1))
    arm = m.add_body("arm", mass=1.0, inertia=(0.2, 0.1, 0.15), position=(1.0, 0, 0))
    m.add_spherical("A", m.ground, hub, at=(0, 0, 0.3))
    m.add_revolute("B", hub, arm, at=(0.5, 0, 0), axis=(0, 1, 0))
    m.add_spring("spring", m.ground.at(0, 0, 2), arm.at(0.2, 0, 0), stiffness=500.0, damping=3.0, free_length=1.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"hub.wx": 4.0, "hub.wy": -3.0, "hub.wz": 9.0})
    stepper = AlphaStepper(eqs, 3, read_inputs(eqs, None), None)
    random = np.random.default_rng(0)
    a, h = random.normal(size=eqs.nv), 0.01
    known = stepper.known(start.v, [], a, [], a, h, 0.8)
    base = (start.q, *known, [], eqs.p, 0.0, h, 0.0)
    x = random.normal(size=eqs.nv + len(eqs.rows))
    residual = stepper.residual
    symbols = [ca.MX.sym(residual.name_in(i), residual.size1_in(i)) for i in range(residual.n_in())]
    exact = ca.Function("J", symbols, [ca.jacobian(residual(*symbols), symbols[0])])(x, *base)
    factors = stepper.factor(x, *base)
    found = np.hstack([np.asarray(stepper.solve(factors, exact[:, k])) for k in range(len(x))])
    # ξ = 0.1: the series of the inverse of dexp ends at ξ⁴/720 = 1e-7; ε = 1e-8 times the condition of the joint block
    assert np.abs(found - np.eye(len(x))).max() < 1e-5


def test_the_exponential_map_turns_by_the_given_vector() -> None:
    m = da.Mechanism("body")
    m.add_body("b", mass=1.0, inertia=1.0)
    eqs = da.equations(m)
    q, xi = ca.SX.sym("q", 7), ca.SX.sym("xi", 6)
    turn = ca.Function("turn", [q, xi], [move(eqs, q, xi, ca.SX(0, 1), ca.SX(0), ca.SX(1))])
    after = np.asarray(turn([0, 0, 0, 1, 0, 0, 0], [1, 2, 3, 0, 0, 0.8])).reshape(-1)
    assert after == pytest.approx([1, 2, 3, np.cos(0.4), 0, 0, np.sin(0.4)], abs=1e-15)
    still = np.asarray(turn([0, 0, 0, 1, 0, 0, 0], np.zeros(6))).reshape(-1)
    assert still == pytest.approx([0, 0, 0, 1, 0, 0, 0], abs=1e-15)


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (lambda: da.GeneralizedAlpha(step=-1), ("not-positive",)),
        (lambda: da.GeneralizedAlpha(step=0.1, rho=2), ("out-of-range",)),
        (lambda: da.GeneralizedAlpha(step=0.1, index=1), ("unknown-choice",)),
        (lambda: da.Rosenbrock(step=0.0), ("not-positive",)),
        (lambda: da.Rosenbrock(rtol=-1), ("not-positive",)),
        (lambda: da.Rosenbrock(max_step=0), ("not-positive",)),
        (lambda: da.Sundials(rtol=0), ("not-positive",)),
        (lambda: da.Sundials(solver="ode45"), ("unknown-choice",)),
    ],
)
def test_wrong_options_are_reported(make: Any, finding: tuple[str, ...]) -> None:
    with raises(da.errors.DataError, *finding):
        make()


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
def test_an_internal_state_far_faster_than_the_step_is_damped_by_rho(rho):
    """First-order scheme at h/τ → ∞: both roots of a step are -ρ, so z₂ + 2ρ z₁ + ρ² z₀ = 0, up to τ/h = 1e-7."""
    m = da.Mechanism("lag", planar=True, gravity=0)
    cart = m.add_body("cart", mass=1e6, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_actuator("servo", "rail", input="u", model=da.FirstOrderLag(time_constant=1e-9))
    eqs = da.equations(m)
    (state,) = eqs.internal.names
    start = da.assemble(eqs, internal={state: 1.0})
    run = da.simulate(eqs, 0.08, start=start, method=da.GeneralizedAlpha(step=1e-2, rho=rho), every=1e-2)
    z = run[state]
    np.testing.assert_allclose(z[2:] + 2 * rho * z[1:-1] + rho**2 * z[:-2], 0.0, rtol=0, atol=1e-5 * np.abs(z).max())
    assert np.abs(z[1]) > 0.01 * (1 - rho)  # the start is felt


def test_the_work_of_a_damper_is_booked_to_second_order_as_the_motion_is():
    """Generalized-α is of order two: halving the step divides what is missing in the balance of energy by four."""
    m = da.Mechanism("oscillator", planar=True, gravity=0)
    cart = m.add_body("cart", mass=1.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_spring("spring", joint="rail", stiffness=25.0, damping=2.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"rail": 1.0})
    missing = []
    for step in (4e-3, 2e-3):
        run = da.simulate(eqs, 0.4, start=start, method=da.GeneralizedAlpha(step=step, rho=0.8), every=0.4)
        missing.append(abs(run["energy.balance"][-1]))
    assert missing[0] / missing[1] == pytest.approx(4.0, rel=0.1)
    assert missing[1] < 1e-4 * 0.5  # of the kinetic energy at the start


@pytest.mark.parametrize(("samples", "count"), [(16, 1), (17, 2), (65_536, 4096), (65_600, 4096)])
def test_a_run_has_sixteen_pieces_of_4096_samples_at_most_and_512_looks_for_events(samples: int, count: int) -> None:
    steps = sundials.SundialsSteps.__new__(sundials.SundialsSteps)
    steps.layout = SimpleNamespace(ne=1)  # type: ignore[assignment]
    steps.plan(np.arange(samples, dtype=float), 1024.0)
    assert steps.count == count
    assert steps.longest == 2.0


@pytest.mark.parametrize(("gap", "sound"), [(0.9e-5, 2), (1.1e-5, 1)])
@pytest.mark.parametrize(("length", "unit"), [(1.0, 1.0), (1e-4, 1e-3), (1e4, 1e3)])
def test_a_state_of_sundials_is_sound_with_joints_closed_to_1e_5(
    length: float, unit: float, gap: float, sound: int
) -> None:
    """Of a metre where places are 0.1 to 10 m away, else of a length as many times smaller or larger."""
    eqs, start = two_rods(length)
    steps = sundials.SundialsSteps(eqs, da.Sundials(), read_inputs(eqs, None), None, None)
    states = start.q + np.outer([0.0, gap * unit], np.eye(eqs.nq)[eqs.coordinates.names.index("b.y")])
    assert steps._count_sound(start.q, states, np.zeros(2), 0.0) == sound
