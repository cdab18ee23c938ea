"""The end of a search for the likelihood, at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.identify.likelihood import likelihood_search
from dalembert.identify.likelihood.likelihood_search import _flat, _LikelihoodProblem, _move
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.numerics.least_squares import DampedStep


@pytest.mark.parametrize(("difference", "flat"), [(0.9e-10, True), (1.1e-10, False)])
def test_a_stage_that_changes_the_likelihood_by_1e_10_is_the_last(difference: float, flat: bool) -> None:
    assert _flat([0.0, difference]) == flat
    assert _flat([1e6, 1e6 * (1.0 + difference)]) == flat


@pytest.mark.parametrize(("length", "rounding"), [(1.9e-8, True), (2.1e-8, False)])
def test_a_rejected_step_of_1e_11_per_sample_is_rounding(length: float, rounding: bool) -> None:
    one = SimpleNamespace(search=SimpleNamespace(samples=1000))
    step = DampedStep(np.zeros(1), 0.0, length)
    assert _LikelihoodProblem.is_rounding(one, None, SimpleNamespace(value=1.0), step) == rounding


@pytest.mark.parametrize(
    ("length", "ratio", "last"), [(0.9e-2, 1.0, True), (1.1e-2, 1.0, False), (1e-3, 1.09, True), (1e-3, 1.11, False)]
)
def test_a_step_of_a_tenth_of_a_deviation_is_the_last_where_steps_are_as_predicted(
    length: float, ratio: float, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likelihood_search, "_is_near", lambda old, new: True)
    monkeypatch.setattr(likelihood_search, "replace", lambda point, model: point)
    one = SimpleNamespace(search=SimpleNamespace(full=False, take_step=lambda *parts: None), free=None)
    found = _LikelihoodProblem.finish(one, SimpleNamespace(model=None), DampedStep(np.zeros(1), 0.0, length), ratio)
    assert (found is not None) == last


def test_a_pole_keeps_a_tenth_of_its_decay_and_of_its_distances_in_frequency() -> None:
    poles = np.array([-0.5 + 1.0j, -0.5 + 1.0j])
    model = ModalModel(
        poles=poles, real=np.zeros(2, bool), weights=np.ones((2, 1), complex), C=np.ones((1, 2), complex),
        D=np.zeros((1, 1)), direct=np.zeros(1, bool),
    )  # fmt: skip
    step = np.zeros((2, 2, 2))
    step[:, -1] = [[10.0, -10.0], [10.0, 10.0]]
    applied = _move(model, step)[1][:, -1]
    after = np.column_stack([poles.real, poles.imag]) + applied
    assert after == pytest.approx(np.array([[-0.05, 0.1], [-0.05, np.pi - 0.1 * (np.pi - 1.0)]]))
