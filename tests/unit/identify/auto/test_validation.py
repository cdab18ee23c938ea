"""Doubts about an identified model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify import Fit, Identified
from dalembert.identify.auto.result import CLASSES, ModeJudgement
from dalembert.identify.auto.validation import (
    find_doubts,
    find_no_sound_mode,
    find_poor_fit,
)
from tests.helpers.identified_model import DT, model

BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "found"), [(0.99, False), (1.01, True)])


def fit(percent: float) -> Fit:
    return Fit(percent=np.array([percent]), rms=np.ones(1), outputs=("y1",), kind="simulation", units={})


def codes(given: Identified, fit_in: float = 90.0, fit_out: float = 90.0, duration: float = 1000.0) -> list[str]:
    drawn: Any = SimpleNamespace(modes=(), frequency_means=np.zeros(0))
    white: Any = SimpleNamespace(inputs=(), is_white=lambda: True)
    return [
        one.code
        for one in find_doubts(
            given, range(len(given.frequencies_hz)), drawn, fit(fit_in), fit(fit_out), white, duration
        )
    ]


def test_doubts_about_sampling_length_and_fit_stand_alone() -> None:
    assert codes(model(5.0)) == []
    assert codes(model(0.81 * 0.5 / DT)) == ["near-nyquist"]
    assert codes(model(1.0 / (101.0 * DT))) == ["oversampled"]
    assert codes(model(5.0), duration=19.9 / 5.0) == ["few-periods"]
    assert codes(model(5.0), fit_out=74.9) == ["overfit"]
    assert [bool(find_poor_fit(fit(percent))) for percent in (20.1, 19.9, np.nan)] == [False, True, True]


@BELOW_AND_ABOVE
def test_the_deviation_of_a_damping_ratio(factor: float, found: bool) -> None:
    loose = model(5.0, frequency_deviations_hz=[0.1], damping_deviations=[factor * 0.3 * 0.01])
    assert codes(loose) == (["uncertain-damping"] if found else [])


def test_a_growing_mode_has_negative_damping_and_an_unstable_model() -> None:
    assert codes(model(5.0, ratio=-0.01)) == ["unstable-model", "negative-damping"]


@pytest.mark.parametrize("uncertain", [0, 1, 2])
def test_uncertain_modes_are_mentioned_where_there_are_some(uncertain: int) -> None:
    judged = [ModeJudgement(CLASSES[1], (), {})] * uncertain + [ModeJudgement(CLASSES[2], (), {})]
    (found,) = find_no_sound_mode(judged)
    assert found.code == "no-sound-mode" and found.evidence["uncertain"] == uncertain
    assert ("uncertain mode" in found.text()) == (uncertain > 0)
