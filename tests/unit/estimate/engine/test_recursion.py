"""The engine of filters: which form a step runs in, and what it leaves out."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import ExtendedKalman, Kalman
from dalembert.estimate.engine import recursion as engine
from dalembert.linear import StateSpace
from dalembert.record import Record


def swing(**options: object) -> ExtendedKalman:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_sensor("encoder", da.angle("hinge"))
    return ExtendedKalman(da.equations(m), R=1e-4, Q=1e-6, P0=1e-2, dt=0.01, **options)


def line(n: int) -> Kalman:
    A = 0.9 * np.roll(np.eye(n), 1, axis=0) + 0.01
    return Kalman(da.StateSpace(A, np.eye(n)[:, :1], np.eye(n)[:2], dt=0.1), Q=1e-3, R=1e-2, P0=1.0)


def test_small_steps_run_flat_and_products_of_large_matrices_do_not() -> None:
    for made, flat in ((swing(), True), (line(10), True), (line(40), False)):
        step = engine.tick_function(made)
        assert engine.flatten(step).is_a("SXFunction") is flat


def test_both_forms_of_a_step_give_the_same_numbers() -> None:
    made = swing()
    step = engine.tick_function(made)
    flat = engine.flatten(step)
    m = made.initial_filter_state(None, None, 0.01, np.zeros(1), 0.0)
    arguments = (m, [0.3], [0.2], [0.01], [1.0], made.model.numbers, 0.1, 0.01)
    for one, other in zip(step(*arguments), flat(*arguments), strict=True):
        assert np.allclose(one.full(), other.full(), rtol=1e-12, atol=1e-15)


def test_the_slope_along_inputs_is_made_only_where_inputs_are_noisy() -> None:
    m = swing().process
    x, u, p = ca.MX.sym("x", m.nx), ca.MX.sym("u", m.nu), ca.MX.sym("p", 20)
    assert swing().model.transition(x, u, p, 0.0, 0.01)[2] is None
    G = swing(input_noise={"torque": 0.1}).model.transition(x, u, p, 0.0, 0.01)[2]
    assert G.shape == (m.ne, 1)


def test_input_noise_still_widens_the_estimate() -> None:
    run = da.Record(0.01 * np.arange(50), np.zeros((50, 2)), ["torque", "encoder"], ["N m", "rad"])
    plain, noisy = (made.run(run).deviation("hinge.rate")[-1] for made in (swing(), swing(input_noise={"torque": 1.0})))
    assert noisy > 1.2 * plain


def test_an_angle_that_jumps_by_a_turn_is_no_innovation():
    from dataclasses import replace

    turning = da.estimate.process(StateSpace([[1.0, 0.1], [0.0, 1.0]], None, [[1.0, 0.0]], dt=0.1))
    t = 0.1 * np.arange(300)
    angle = (2.0 * t + np.pi) % (2 * np.pi) - np.pi
    record = Record(t, angle[:, None], ["y1"])
    filter_ = da.estimate.Kalman(replace(turning, wrapped=(True,)), Q=[0.0, 1e-8], R=1e-6, P0=[1.0, 10.0])
    estimate = filter_.run(record)
    assert np.abs(estimate.innovations[10:]).max() < 1e-3
    assert estimate["x1"][-1] == pytest.approx(2.0 * t[-1], abs=1e-3)
