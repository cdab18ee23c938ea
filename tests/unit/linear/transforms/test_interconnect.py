"""State-space systems joined: series, parallel, feedback, connection by names."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.linear.transforms.interconnect import append, connect
from tests.helpers.findings import raises

LAG = StateSpace([[-2.0]], 2.0, 1.0, states="lag", inputs="u", outputs="y", units={"y": "N", "lag": "N"})
MASS = StateSpace([[0, 1], [0, -0.5]], [0, 1], [[1, 0]], states=["x", "v"], inputs="force", outputs="position",
                  units={"force": "N", "position": "m"}, provenance={"from": "cart"})  # fmt: skip


def at(space: StateSpace, s: complex) -> np.ndarray:
    return space.C @ np.linalg.solve(s * np.eye(space.nx) - space.A, space.B) + space.D


def random(seed: int, nx: int, nu: int, ny: int, dt: float | None = None) -> StateSpace:
    rng = np.random.default_rng(seed)
    return StateSpace(*(rng.normal(size=size) for size in ((nx, nx), (nx, nu), (ny, nx), (ny, nu))), dt)


S = 0.3 + 1.7j


def test_series_multiplies_transfer_matrices_first_system_on_the_right():
    first, second = random(1, 3, 2, 4), random(2, 2, 4, 3)
    expected = at(second, S) @ at(first, S)
    np.testing.assert_allclose(at(first.series(second), S), expected, rtol=1e-12)
    np.testing.assert_allclose(at(second * first, S), expected, rtol=1e-12)


def test_parallel_adds_and_subtracts():
    first, second = random(3, 3, 2, 4), random(4, 2, 2, 4)
    np.testing.assert_allclose(at(first + second, S), at(first, S) + at(second, S), rtol=1e-12)
    np.testing.assert_allclose(at(first.parallel(second), S), at(first, S) + at(second, S), rtol=1e-12)
    np.testing.assert_allclose(at(first - second, S), at(first, S) - at(second, S), rtol=1e-12)
    np.testing.assert_allclose(at(-first, S), -at(first, S))


@pytest.mark.parametrize("sign", [-1, 1])
def test_feedback_closes_the_loop(sign):
    first, second = random(5, 3, 2, 4), random(6, 2, 4, 2)
    G, H = at(first, S), at(second, S)
    expected = np.linalg.solve(np.eye(4) - sign * G @ H, G)
    np.testing.assert_allclose(at(first.feedback(second, sign=sign), S), expected, rtol=1e-11)


def test_unity_feedback_needs_no_second_system():
    closed = MASS.feedback()
    np.testing.assert_allclose(closed.dc_gain(), 1.0)
    assert closed.is_stable
    assert (closed.inputs, closed.outputs, closed.units) == (MASS.inputs, MASS.outputs, MASS.units)


def test_names_units_and_provenance_travel_through_a_series():
    whole = LAG.series(MASS)
    assert whole.states == ("lag", "x", "v")
    assert (whole.inputs, whole.outputs) == (("u",), ("position",))
    assert whole.units == {"lag": "N", "position": "m"}
    assert whole.provenance["made by"] == "series"
    assert whole.provenance["parts"][1] == {"from": "cart"}


def test_equal_state_names_are_distinguished():
    assert (LAG + LAG).states == ("lag", "lag#2")
    odd = LAG.replace(states="lag#2")
    assert append([LAG, odd, LAG]).states == ("lag", "lag#2", "lag#3")


def test_an_algebraic_loop_is_found():
    unit = StateSpace([[-1.0]], 1.0, 1.0, 1.0, inputs="a", outputs="b")
    with raises(DataError, "algebraic-loop"):
        unit.feedback(sign=1)
    assert unit.feedback(sign=-1).nx == 1
    other = StateSpace.gain(1.0, inputs="b", outputs="a")
    with raises(DataError, "algebraic-loop"):
        connect([unit, other])


def test_sample_times_must_agree_but_gains_join_anything():
    with raises(DataError, "sample-time-mismatch"):
        LAG.to_discrete(0.1).series(MASS)
    with raises(DataError, "sample-time-mismatch", "0.1", "0.2"):
        LAG.to_discrete(0.1) + LAG.to_discrete(0.2)
    double = LAG.to_discrete(0.1).series(StateSpace.gain(2.0))
    assert double.dt == 0.1
    np.testing.assert_allclose(double.dc_gain(), 2.0)


def test_connection_by_names_is_the_loop_drawn_by_hand():
    law = StateSpace([[-20.0]], -80.0, 8.0, 36.0, states="filter", inputs="error", outputs="command")
    motor = LAG.replace(inputs="command", outputs="force", units={"force": "N"})
    error = StateSpace.gain([[1, -1]], inputs=["wanted", "position"], outputs="error")
    loop = connect([error, law, motor, MASS], outputs=["position", "force"])
    by_hand = (MASS * (motor * law)).feedback()
    np.testing.assert_allclose(at(loop, S)[0], at(by_hand, S)[0], rtol=1e-12)
    assert loop.inputs == ("wanted",)
    assert loop.states == ("filter", "lag", "x", "v")
    assert loop.units == {"position": "m", "force": "N"}


def test_a_fed_input_named_as_external_is_a_disturbance_added_to_it():
    loop = connect([MASS, StateSpace.gain([[-4.0]], inputs="position", outputs="force")], inputs="force")
    np.testing.assert_allclose(loop.select(outputs="position").dc_gain(), 0.25)


def test_one_input_name_in_two_systems_is_one_signal():
    both = connect({"left": LAG, "right": LAG.replace(outputs="z")})
    assert both.inputs == ("u",)
    assert both.outputs == ("y", "z")
    assert both.states == ("left.lag", "right.lag")
    np.testing.assert_allclose(both.dc_gain(), [[1.0], [1.0]])


def test_connection_reports_all_that_is_wrong():
    with raises(DataError, "unknown-name", "'y'"):
        connect([LAG, LAG])
    with raises(DataError, "unknown-name", "'force'"):
        connect([MASS, LAG.replace(outputs="force", units={"force": "kN"})])
    with raises(DataError, "unknown-name", "'position'"):
        connect([MASS], outputs="positon")
    with raises(DataError, "empty"):
        connect([])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: random(1, 2, 2, 3).series(random(2, 2, 2, 2)), "wrong-shape"),
        (lambda: random(1, 2, 2, 3) + random(2, 2, 2, 2), "wrong-shape"),
        (lambda: random(1, 2, 2, 3).feedback(), "wrong-shape"),
        (lambda: random(1, 2, 2, 3).feedback(random(2, 2, 2, 2)), "wrong-shape"),
        (lambda: LAG.feedback(sign=2), "unknown-choice"),
    ],
)
def test_sizes_that_do_not_fit_are_reported(act, message):
    with raises(DataError, message):
        act()


# ---- edges of thresholds
