"""What `help` shows of a filter: every parameter, with its meaning."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import dalembert as da

FILTERS = ["Kalman", "ExtendedKalman", "SigmaPointKalman"]
SHARED = ["model", "outputs", "inputs", "Q", "R", "input_noise", "dt", "start", "P0", "compiled"]


@pytest.mark.parametrize("name", FILTERS)
def test_every_parameter_of_a_filter_is_in_its_signature_and_in_its_description(name: str) -> None:
    kind = getattr(da.estimate, name)
    signature = inspect.signature(kind).parameters
    assert set(SHARED) <= set(signature) and "keywords" not in signature
    told = (kind.__doc__ or "").partition("Parameters")[2].partition("Examples")[0]
    heads = [line.split(" : ")[0] for line in told.splitlines() if " : " in line and not line.startswith(" ")]
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
