"""What `help` shows of a filter, and where a filter begins: names of a machine, states, covariances nobody gave."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman
from tests.helpers.filter_machines import four_bar
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import observer, slider_crank
from tests.helpers.loops import cart_pendulum

FILTERS = ["Kalman", "ExtendedKalman", "SigmaPointKalman"]
SHARED = ["model", "outputs", "inputs", "Q", "R", "input_noise", "dt", "start", "P0"]


@pytest.mark.parametrize("name", FILTERS)
def test_every_parameter_of_a_filter_is_in_its_signature_and_in_its_description(name: str) -> None:
    kind = getattr(da.estimate, name)
    signature = inspect.signature(kind).parameters
    assert set(SHARED) <= set(signature) and "keywords" not in signature
    parameters = (kind.__doc__ or "").partition("Parameters")[2].partition("Examples")[0]
    heads = [line.split(" : ")[0] for line in parameters.splitlines() if " : " in line and not line.startswith(" ")]
    assert {p for p in signature if p != "options"} <= {word.strip() for head in heads for word in head.split(",")}
    page = pydoc.plain(pydoc.render_doc(kind))
    assert "variance 0 is" in page and "see `Filter`" not in page


def test_what_all_filters_share_is_public() -> None:
    assert all(issubclass(getattr(da.estimate, name), da.estimate.Filter) for name in FILTERS)
    assert {"Filter", "FilterStepper"} <= set(da.estimate.__all__)
    stepper = da.estimate.Kalman(da.StateSpace([[0.5]], None, [[1.0]], dt=1.0), Q=1.0, R=1.0).stepper()
    assert isinstance(stepper, da.estimate.FilterStepper)


def test_a_filter_of_a_users_own_describes_itself_like_the_others() -> None:
    class Mine(da.estimate.Kalman):
        """Mine.

        Parameters
        ----------
        R, dt : see `Filter`. Both are needed.
        form : as ever.
        """

        def __init__(self, model: object, *, extra: int = 1, **keywords: object) -> None:
            super().__init__(model, **keywords)

    assert "covariance of one sample" in (Mine.__doc__ or "") and "Both are needed." in (Mine.__doc__ or "")
    assert list(inspect.signature(Mine).parameters)[:3] == ["model", "extra", "outputs"]


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
