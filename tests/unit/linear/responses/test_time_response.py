"""Time responses against closed forms, against plain recursions and against an ODE solver.

Tolerances: the exponential of a well-scaled matrix is good to some 10 ε, a recursion of a stable system keeps that,
so 1e-12 of the largest value is asked; the ODE solver is asked for 1e-11 and trusted to 1e-9.
"""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace
from dalembert.linear.recursions import march
from dalembert.linear.responses.time_response import (
    _plan,
    free_response,
    impulse_response,
    response,
    step_response,
)
from dalembert.record import Record
from tests.helpers.findings import raises


def pair(c: float = 0.1, **more) -> SecondOrder:
    names = {"coordinates": ["left", "right"], "inputs": ["push", "pull"]}
    return SecondOrder(
        np.diag([1.0, 2.0]), [[3.0, -1.0], [-1.0, 2.0]], C=c * np.eye(2), B=[[1.0, 0.0], [0.5, -1.0]], **names, **more
    )


def stepwise(A, B, C, D, u, x):
    """The recursion, one sample after the other."""
    y = []
    for now in u:
        y.append(C @ x + D @ now)
        x = A @ x + B @ now
    return np.array(y)


# --- forced -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("000-47", "003-C22")
def test_held_inputs_give_the_recursion_of_the_zoh_system():
    system = pair().state_space()
    rng = np.random.default_rng(0)
    t = 0.05 * np.arange(301)
    u = rng.normal(size=(301, 2))
    run = response(system, Record(t, u, ["push", "pull"]), start={"left": 1.0, "right.rate": -2.0})
    held = system.to_discrete(0.05)
    expected = stepwise(held.A, held.B, held.C, held.D, u, np.array([1.0, 0, 0, -2.0]))
    np.testing.assert_allclose(run[["left", "right"]], expected[:, :2], rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.spec("003-C22")
@pytest.mark.parametrize("hold", ["zero", "first"])
def test_held_and_linear_inputs_are_followed_as_an_ode_solver_follows_them(hold):
    system = pair()
    first = system.state_space()
    t = np.sort(np.append(np.linspace(0.0, 4.0, 9), [0.3, 3.123]))  # unequal steps
    u = np.column_stack([np.cos(t), t**2])
    x = np.array([0.5, 0.0, 0.0, 1.0])
    run = response(system, {"push": u[:, 0], "pull": u[:, 1]}, times=t, start=x, hold=hold, states=True)
    for k in range(len(t) - 1):
        slope = (u[k + 1] - u[k]) / (t[k + 1] - t[k]) if hold == "first" else 0.0

        def rate(now, z, k=k, slope=slope):
            return first.A @ z + first.B @ (u[k] + slope * (now - t[k]))

        ode = scipy.integrate.solve_ivp(rate, t[k : k + 2], x, rtol=1e-11, atol=1e-13, method="DOP853")
        x = ode.y[:, -1]
        np.testing.assert_allclose(run[list(first.states)][k + 1], x, rtol=1e-9, atol=1e-9)


def test_unequal_steps_that_happen_to_be_equal_change_nothing():
    system = pair()
    t = 0.1 * np.arange(200)
    u = np.sin(t)
    even = response(system, {"push": u}, times=t, hold="first")
    odd_times = np.insert(t, 100, t[99] + 0.037)
    odd = response(system, {"push": np.insert(u, 100, u[99] + 0.37 * (u[100] - u[99]))}, times=odd_times, hold="first")
    np.testing.assert_allclose(np.delete(odd["left"], 100), even["left"], rtol=0, atol=1e-13)


def test_a_ramp_is_exact_with_first_order_hold_and_not_with_zero_order_hold():
    lag = StateSpace(-2.0, 1.0)
    t = np.linspace(0.0, 3.0, 7)
    exact = t / 2 - (1 - np.exp(-2 * t)) / 4
    np.testing.assert_allclose(response(lag, {"u1": t}, times=t, hold="first")["x1"], exact, rtol=0, atol=1e-15)
    assert np.abs(response(lag, {"u1": t}, times=t)["x1"] - exact).max() > 0.01


@pytest.mark.spec("003-C07")
def test_responses_superpose_free_and_forced_parts_and_inputs():
    system = pair(Y_position=np.eye(2), Y_acceleration=np.eye(2), D=np.eye(2), outputs=["a", "b"])
    rng = np.random.default_rng(1)
    t = 0.1 * np.arange(80)
    u, v = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    start = np.array([1.0, -1.0, 0.5, 2.0])

    def run(inputs, x):
        return response(system, {"push": inputs[:, 0], "pull": inputs[:, 1]}, times=t, start=x).data

    both = run(2.0 * u - 3.0 * v, start)
    parts = 2.0 * run(u, None) - 3.0 * run(v, None) + free_response(system, start, t).data
    np.testing.assert_allclose(both, parts, rtol=0, atol=1e-12 * np.abs(both).max())


def test_a_free_mass_and_an_unstable_system_need_no_inverse():
    cart = StateSpace([[0, 1], [0, 0]], [0, 1])
    t = np.linspace(0.0, 3.0, 31)
    np.testing.assert_allclose(response(cart, {"u1": 2.0}, times=t)["x1"], t**2, rtol=0, atol=1e-14)
    grow = StateSpace(1.0, 1.0)
    np.testing.assert_allclose(response(grow, {"u1": 1.0}, times=t)["x1"], np.expm1(t), rtol=1e-13)


def test_growth_beyond_the_number_range_is_reported_with_its_time():
    with raises(DataError, "diverged"):
        response(StateSpace(1.0, 1.0), {"u1": 1.0}, times=np.arange(1000.0))


def test_a_discrete_system_runs_its_own_recursion_and_refuses_another_sampling():
    system = StateSpace([[0.5, 0.2], [0.0, -0.9]], [1.0, 1.0], [1.0, 1.0], 0.5, dt=0.1)
    u = np.random.default_rng(2).normal(size=50)
    t = 0.1 * np.arange(50)
    y = response(system, {"u1": u}, times=t, start=[1.0, 2.0])["y1"]
    expected = stepwise(system.A, system.B, system.C, system.D, u[:, None], np.array([1.0, 2.0]))[:, 0]
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(response(system, {"u1": u}, start=[1.0, 2.0])["y1"], y)
    with raises(DataError, "sample-time-mismatch", "0.1", "0.2"):
        response(system, {"u1": u}, times=2 * t)
    with raises(DataError, "not-supported"):
        response(system, {"u1": u}, times=t, hold="first")


def test_scipy_simulates_the_same():
    system = pair().state_space()
    t = np.linspace(0.0, 20.0, 400)
    u = np.column_stack([np.sin(t), np.sign(np.cos(t))])
    run = response(system, {"push": u[:, 0], "pull": u[:, 1]}, times=t, hold="first")
    _, y, _ = scipy.signal.lsim((system.A, system.B, system.C, system.D), u, t, interp=True)
    np.testing.assert_allclose(run.data, y, rtol=0, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("count", [1, 2, 3, 99, 100, 101])
def test_blocks_of_any_number_of_samples_join(count):
    rng = np.random.default_rng(count)
    A, w, x = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=(count, 3)), rng.normal(size=3)
    path = march(A, w, x)
    assert path.shape == (count + 1, 3)
    for k in range(count):
        x = A @ x + w[k]
        np.testing.assert_allclose(path[k + 1], x, rtol=0, atol=1e-12 * max(1.0, np.abs(x).max()))


def test_a_defective_recursion_is_as_exact_as_any():
    A = np.array([[0.999, 1.0, 0.0], [0.0, 0.999, 1.0], [0.0, 0.0, 0.999]])
    w = np.zeros((4000, 3))
    path = march(A, w, np.array([0.0, 0.0, 1.0]))
    k = np.arange(4001)
    np.testing.assert_allclose(path[:, 0], k * (k - 1) / 2 * 0.999 ** (k - 2.0), rtol=1e-11)


# --- inputs and start -------------------------------------------------------------------------------------------------


def test_inputs_may_be_constants_arrays_functions_and_records_and_zero_when_left_out():
    t = np.linspace(0.0, 2.0, 21)
    by_array = response(pair(), {"push": np.sin(t), "pull": np.full(21, 3.0)}, times=t)
    by_function = response(pair(), {"push": np.sin, "pull": 3.0}, times=t)
    by_plain_function = response(pair(), {"push": lambda s: math.sin(s) if s else 0.0, "pull": lambda s: 3.0}, times=t)
    by_record = response(pair(), {"push": Record(t, np.sin(t)[:, None], ["push"]), "pull": 3.0})
    for run in (by_function, by_plain_function, by_record):
        np.testing.assert_allclose(run.data, by_array.data, rtol=0, atol=1e-15)
    only = response(pair(), Record(t, np.sin(t)[:, None], ["push"]))
    np.testing.assert_array_equal(only.data, response(pair(), {"push": np.sin}, times=t).data)


def test_other_channels_of_a_measurement_do_no_harm():
    t = np.linspace(0.0, 1.0, 11)
    record = Record(t, np.column_stack([t, t, np.full(11, np.nan)]), ["push", "pull", "broken sensor"])
    assert len(response(pair(), record)) == 11


@pytest.mark.parametrize(
    ("inputs", "times", "code", "shown"),
    [
        ({"pusch": 1.0}, [0.0, 1.0], "unknown-name", "'push'"),
        ({"push": [1.0, 2.0]}, [0.0, 1.0, 2.0], "wrong-shape", "3"),
        ({"push": [1.0, np.nan]}, [0.0, 1.0], "not-finite", "t = 1 s"),
        ({"push": 1.0}, None, "missing-argument", "times="),
        ({"push": 1.0}, [1.0, 0.0], "not-increasing", "sample 1"),
        (3.0, [0.0, 1.0], "wrong-type", "3.0"),
        (Record([0.0, 1.0], [[1.0], [2.0]], ["other"]), None, "unknown-name", "other"),
        (Record([0.0, 1.0], [[1.0], [2.0]], ["push"]), [0.0], "conflicting-arguments", "times"),
        ({"push": lambda t: np.zeros(7)}, [0.0, 1.0], "wrong-shape", "(7,)"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, times, code, shown):
    with raises(DataError, code, shown):
        response(pair(), inputs, times=times)


@pytest.mark.parametrize(
    ("start", "words"),
    [({"lefd": 1.0}, "unknown-name"), ([1.0], "wrong-shape"), ({"left": np.inf}, "not-finite")],
)
def test_a_start_that_does_not_fit_is_refused(start, words):
    with raises(DataError, words):
        free_response(pair(), start, [1.0])


def test_hysteretic_damping_has_no_time_response():
    system = SecondOrder(1.0, 1.0, K_loss=0.1, B=[1.0])
    with raises(DataError, "not-supported"):
        step_response(system, [0.0, 1.0])


def test_the_record_carries_names_units_states_inputs_and_how_it_was_made():
    system = pair(units={"left": "m", "right": "m", "push": "N"}, provenance={"source": "bench"})
    run = response(system, {"push": 1.0}, times=[0.0, 0.1], states=True, with_inputs=True)
    assert run.names == ("left", "right", "left.rate", "right.rate", "push", "pull")
    assert run.units["left.rate"] == "m/s" and run.units["push"] == "N"
    assert run.provenance == {"source": "bench", "method": "zero-order hold"}


def test_one_sample_is_a_record_of_the_start():
    assert response(pair(), {"push": 1.0}, times=[0.0], start={"left": 2.0})["left"].tolist() == [2.0]


# --- free -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C16")
def test_free_motion_is_the_sum_of_its_modes():
    system = pair()
    first = system.state_space()
    t = np.array([0.0, 0.7, 31.0, 32.5])
    start = {"left": 1.0, "right.rate": 0.3}
    run = free_response(system, start, t, states=True)
    assert run.provenance["method"] == "sum of modes"
    z = np.array([1.0, 0.0, 0.0, 0.3])
    expected = np.array([scipy.linalg.expm(first.A * at) @ z for at in t])
    np.testing.assert_allclose(run[list(first.states)], expected, rtol=0, atol=1e-13)


@pytest.mark.spec("003-C16", "000-18")
@pytest.mark.parametrize("times", [np.linspace(0.5, 9.0, 35), np.array([0.1, 0.2, 2.0, 7.0])])
def test_critical_damping_and_rigid_body_motion_go_by_the_matrix_exponential(times):
    critical = SecondOrder(1.0, 1.0, C=2.0, coordinates="x")
    run = free_response(critical, {"x": 1.0, "x.rate": 2.0}, times)
    assert run.provenance["method"] == "matrix exponential"
    np.testing.assert_allclose(run["x"], (1 + 3 * times) * np.exp(-times), rtol=0, atol=1e-13)
    free = SecondOrder(np.eye(2), [[1.0, -1.0], [-1.0, 1.0]])
    run = free_response(free, {"x1": 1.0, "x2.rate": 1.0}, times)
    swing = 0.5 * np.cos(np.sqrt(2) * times) - 0.5 * np.sin(np.sqrt(2) * times) / np.sqrt(2)
    np.testing.assert_allclose(run["x1"], 0.5 + times / 2 + swing, rtol=0, atol=1e-12)


@pytest.mark.spec("000-18", "003-C16")
def test_a_mode_started_alone_stays_alone():
    system = pair(c=0.0)
    modes = system.modes()
    t = np.linspace(0.0, 50.0, 200)
    for k, w in enumerate(modes.frequencies):
        run = free_response(system, dict(zip(system.coordinates, modes.shapes[:, k], strict=True)), t)
        np.testing.assert_allclose(run.data, np.outer(np.cos(w * t), modes.shapes[:, k]), rtol=0, atol=1e-12)


def test_the_initial_state_may_hold_at_another_time():
    lag = StateSpace(-1.0)
    assert free_response(lag, [1.0], [5.0], at=3.0)["x1"][0] == pytest.approx(np.exp(-2.0), rel=1e-14)
    with raises(DataError, "out-of-range"):
        free_response(lag, [1.0], [-1.0])


def test_a_discrete_system_falls_by_powers_and_refuses_times_between_samples():
    system = StateSpace(0.5, dt=0.25)
    np.testing.assert_allclose(free_response(system, [1.0], [0.5, 1.5])["x1"], [0.25, 0.5**6], rtol=1e-15)
    with raises(DataError, "sample-time-mismatch"):
        free_response(system, [1.0], [0.6])


# --- step and impulse -------------------------------------------------------------------------------------------------


def test_step_ends_at_the_static_displacement_and_impulse_is_its_derivative():
    system = pair(c=0.5)  # decays as e^{-t/8} or faster: nothing is left after 400 s
    t = np.linspace(0.0, 400.0, 40001)
    step = step_response(system, t, input="push")
    np.testing.assert_allclose(step.data[-1], np.linalg.solve(system.K, system.B[:, 0]), rtol=1e-12)
    blow = impulse_response(system, t, input="push")
    slope = np.gradient(step["left"], t, edge_order=2)
    np.testing.assert_allclose(
        slope[1:-1], blow["left"][1:-1], rtol=0, atol=2e-4
    )  # step² times the third derivative over 6


def test_the_impulse_of_a_discrete_system_gives_its_markov_parameters():
    system = StateSpace([[0.5, 0.2], [0.0, -0.9]], [1.0, 1.0], [1.0, 1.0], 0.5, dt=0.1)
    y = impulse_response(system, 0.1 * np.arange(5))["y1"]
    expected = [0.5] + [(system.C @ np.linalg.matrix_power(system.A, k) @ system.B).item() for k in range(4)]
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    pulse = impulse_response(StateSpace(0.5, 2.0, 1.0, 7.0, dt=0.1), 0.1 * np.arange(4))["y1"]
    np.testing.assert_allclose(3.0 * pulse, [21.0, 6.0, 3.0, 1.5], rtol=1e-14)


def test_inputs_must_be_named():
    with raises(DataError, "missing-argument"):
        step_response(pair(), [0.0, 1.0])
    with raises(DataError, "unknown-name", "'pull'"):
        step_response(pair(), [0.0, 1.0], input="pul")


# --- superposition of modes -------------------------------------------------------------------------------------------


def test_all_modes_give_the_full_response_and_few_modes_with_static_correction_come_near():
    n = 30
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    system = SecondOrder(np.eye(n), K, C=0.02 * K, B=np.eye(n)[:, [10]], inputs="f")
    t = np.linspace(0.0, 40.0, 400)
    u = 1.0 - np.cos(0.1 * t)
    start = {"x3": 0.2, "x20.rate": 0.1}
    full = response(system, {"f": u}, times=t, start=start, hold="first")
    every = response(system, {"f": u}, times=t, start=start, hold="first", modes=system.modes())
    np.testing.assert_allclose(every.data, full.data, rtol=0, atol=1e-11)
    few = slice(0, 6)
    low = Modes(system.modes().eigenvalues[few], system.modes().shapes[:, few])
    full = response(system, {"f": u}, times=t, hold="first")
    error = {
        correction: np.abs(
            response(system.sparse(), {"f": u}, times=t, hold="first", modes=low, static_correction=correction).data
            - full.data
        ).max()
        for correction in (True, False)
    }
    assert error[True] < 0.1 * error[False]


def test_a_large_sparse_system_asks_for_modes():
    n = 600
    K = scipy.sparse.diags_array([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], offsets=[0, 1, -1])
    system = SecondOrder(scipy.sparse.eye_array(n), K, B=np.eye(n)[:, :1])
    with raises(DataError, "too-large", "40"):
        step_response(system, [0.0, 1.0])


def test_a_number_of_modes_is_found_by_the_system_itself():
    n = 60
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    system = SecondOrder(np.eye(n), K, C=0.02 * K, B=np.eye(n)[:, [10]], Y_position=np.eye(n)[[40]], inputs="f")
    t = np.linspace(0.0, 100.0, 200)
    load = {"f": 1.0 - np.cos(0.06 * t)}
    full = system.response(load, times=t, hold="first")["y1"]
    low = system.sparse().response(load, times=t, hold="first", modes=12)["y1"]
    # mode 13 is at 0.65 rad/s: the load at 0.06 leaves (0.06/0.65)² of the residual, which is 1 % of the response
    assert np.abs(low - full).max() < 0.01**2 * np.abs(full).max() * 2


def test_a_gain_without_states_passes_its_input_on():
    gain = StateSpace.gain([[2.0, 1.0]])
    np.testing.assert_array_equal(gain.response({"u1": 1.0, "u2": [0.0, 3.0]}, times=[0.0, 1.0])["y1"], [2.0, 5.0])
    np.testing.assert_array_equal(gain.frequency_response([0.0, 7.0]).values, [[[2.0, 1.0]]] * 2)
    assert gain.free_response([], [0.0, 1.0])["y1"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("factor", "how"), [(0.9, "sum of modes"), (1.1, "matrix exponential")])
def test_a_sum_of_modes_is_used_while_it_loses_no_more_than_four_digits(factor: float, how: str) -> None:
    # shapes (1, 0) and (c, s) in coordinates turned by 45 degrees, which balancing leaves alone: condition cot(angle/2)
    half = np.arctan(1.0 / (factor * 1e4))
    V = np.array([[1.0, np.cos(2 * half)], [0.0, np.sin(2 * half)]])
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    A = turn @ V @ np.diag([-1.0, -2.0]) @ np.linalg.inv(V) @ turn.T
    found = free_response(StateSpace(A), [1.0, 0.0], [0.0, 1.0])
    assert found.provenance["method"] == how
    # eigenvalues are known to ε κ ‖A‖, and ‖A‖ is κ here: 2e-8, whichever way is taken
    assert found.data[1] == pytest.approx(scipy.linalg.expm(A)[:, 0], rel=1e-7)


@pytest.mark.parametrize(("jitter", "refused"), [(0.9e-3, False), (1.1e-3, True)])
def test_inputs_of_a_sampled_system_come_at_its_sample_times(jitter: float, refused: bool) -> None:
    system, times = StateSpace(0.5, 1.0, 1.0, dt=0.1), np.array([0.0, 0.1, 0.2 + 0.1 * jitter])
    if refused:
        with raises(DataError, "sample-time-mismatch"):
            system.response(Record.from_channels(times, {"u1": np.ones(3)}))
    else:
        system.response(Record.from_channels(times, {"u1": np.ones(3)}))


# ---- edges of thresholds


@pytest.mark.parametrize(("size", "refused"), [(400, False), (600, True)])
def test_a_sparse_system_beyond_500_coordinates_needs_modes(size, refused):
    one = scipy.sparse.eye_array(size, format="csc")
    with raises(DataError, "too-large") if refused else nullcontext():
        _plan(SecondOrder(one, 4.0 * one), None, False)


def test_motions_marched_together_are_those_marched_alone():
    rng = np.random.default_rng(3)
    A, w, start = 0.4 * rng.normal(size=(3, 3)), rng.normal(size=(50, 4, 3)), rng.normal(size=(4, 3))
    together = march(A, w, start)
    for k in range(4):
        assert np.allclose(together[:, k], march(A, w[:, k], start[k]), rtol=1e-13, atol=1e-13)
