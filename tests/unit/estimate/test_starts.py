"""Where a filter begins: names of a machine, states, and covariances nobody gave."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman
from tests.helpers.filter_machines import four_bar
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import observer, slider_crank
from tests.helpers.loops import cart_pendulum


@pytest.fixture(scope="module")
def bars() -> da.EquationsOfMotion:
    return four_bar()


def test_a_start_by_joint_coordinates_closes_the_machine_around_them(bars: da.EquationsOfMotion) -> None:
    state = da.assemble(bars, {"A.angle": 1.3}, velocity={"A.angle": 2.0})
    named = ExtendedKalman(bars, Q=1e-6, R=1e-4, P0=1.0, dt=0.01, start={"A.angle": 1.3, "A.rate": 2.0})
    assert named.start == pytest.approx(np.concatenate((state.q, state.v, state.z)), abs=1e-12)
    given = SigmaPointKalman(bars, Q=1e-6, R=1e-4, P0=1.0, dt=0.01, start=state)
    assert given.start == pytest.approx(named.start, abs=1e-12)


def test_an_earlier_estimate_by_name_is_a_start(bars: da.EquationsOfMotion) -> None:
    filter_ = ExtendedKalman(bars, Q=1e-6, R=1e-4, P0=1.0, dt=0.01, start={"A.angle": 1.3, "A.rate": 2.0})
    x = filter_.start
    again = filter_.read_start(dict(zip(filter_.process.carried.names, x, strict=True)))
    assert again == pytest.approx(x, abs=1e-10)


def test_a_start_counts_from_the_state_the_filter_was_given(bars: da.EquationsOfMotion) -> None:
    at = da.assemble(bars, {"A.angle": 1.3}, velocity={"A.angle": 2.0})
    filter_ = ExtendedKalman(bars, Q=1e-6, R=1e-4, P0=1.0, dt=0.01, at=at, start={"A.rate": -1.0})
    expected = da.assemble(bars, {"A.angle": 1.3}, velocity={"A.angle": -1.0})
    assert filter_.start == pytest.approx(np.concatenate((expected.q, expected.v)), abs=1e-9)


def test_unknown_inputs_may_start_anywhere() -> None:
    cart = cart_pendulum()
    filter_ = ExtendedKalman(cart, unknown="force", Q=1e-6, R=1e-4, P0=1.0, dt=0.01, start={"force": 3.0})
    assert filter_.start[filter_.process.carried.index["force"]] == 3.0


def test_a_misspelt_start_suggests_the_name_of_the_joint(bars: da.EquationsOfMotion) -> None:
    with raises(da.errors.ModelError, "unknown-name", "'A.angel'", "'A.angle'"):
        ExtendedKalman(bars, Q=1e-6, R=1e-4, P0=1.0, dt=0.01, start={"A.angel": 1.3})


def test_a_kinematic_filter_starts_in_a_closed_pose() -> None:
    model = observer(slider_crank())
    filter_ = ExtendedKalman(model, Q=1e-6, R=1e-4, P0=1.0, start={"A.angle": 1.0})
    assert filter_.start == pytest.approx(model.state({"A.angle": 1.0}))


def test_without_p0_a_mode_that_no_output_shows_is_an_error_that_names_it() -> None:
    cart = cart_pendulum()
    encoder = cart.outputs.names[-1]
    for kind, model in ((ExtendedKalman, cart), (SigmaPointKalman, cart), (Kalman, da.linearize(cart))):
        with pytest.warns(UserWarning) if kind is Kalman else np.errstate():
            filter_ = kind(model, outputs=encoder, Q=1e-6, R=1e-6, dt=0.005)
        with raises(da.errors.DataError, "no-steady-filter", "P0"):
            filter_.stepper()
