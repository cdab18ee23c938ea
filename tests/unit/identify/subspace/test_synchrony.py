"""Thresholds of outputs that are late or early, each just below and just above."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.data import Data
from dalembert.identify.subspace import synchrony
from dalembert.identify.subspace.synchrony import (
    FARTHEST,
    AsynchronousOutput,
    ShiftedOutputs,
    _modal_power,
    _still_early,
    find_asynchronous,
    shift_outputs,
)
from dalembert.linear import StateSpace

RNG = np.random.default_rng(0)
U = RNG.standard_normal((1000, 1))
NOISE = RNG.standard_normal(1000)


def shifted(ratio: float, share: float = 0.01, late: int = 2, rest: np.ndarray | None = None) -> ShiftedOutputs:
    """One output whose residual power falls to ``ratio`` at one shift; by default its residuals are noise."""
    ratios, shares = np.ones((2 * FARTHEST + 1, 1)), np.ones((2 * FARTHEST + 1, 1))
    ratios[FARTHEST + late], shares[FARTHEST + late] = ratio, share
    if rest is None:
        rest = np.broadcast_to(NOISE[:, None, None], (1000, 2 * FARTHEST + 1, 1))
    none = np.zeros((0, 1))
    return ShiftedOutputs(("y",), ratios, shares, rest, U, U, np.zeros(0, dtype=complex), none, none)


def found(outputs: ShiftedOutputs) -> list[int]:
    return [one.samples for one in outputs.find_asynchronous()]


def weak(ratio: float, effect: float) -> ShiftedOutputs:
    """A ratio at one sample late, the least at three; without shift the residual has an effect of the input."""
    rest = np.repeat(NOISE[:, None], 2 * FARTHEST + 1, axis=1)[:, :, None]
    rest[:, FARTHEST, 0] += effect * U[:, 0]
    outputs = shifted(0.82, late=3, rest=rest)
    outputs.ratios[FARTHEST + 1], outputs.shares[FARTHEST + 1] = ratio, 0.01
    return outputs


def test_a_weaker_shift_is_accepted_where_it_removes_the_effect_of_the_inputs() -> None:
    assert found(weak(0.94, effect=1.0)) == [1]
    assert found(weak(0.94, effect=0.0)) == []


@pytest.mark.parametrize(
    ("ratio", "share", "accepted"),
    [(0.745, 0.01, True), (0.755, 0.01, False), (0.1, 0.297, True), (0.1, 0.303, False)],
)
def test_a_shift_leaves_three_quarters_of_the_residual_and_three_tenths_of_the_output(
    ratio: float, share: float, accepted: bool
) -> None:
    assert found(shifted(ratio, share)) == ([2] if accepted else [])


@pytest.mark.parametrize(
    ("ratio", "after", "before", "accepted"),
    [
        (0.949, 0.0, 100.0, True),
        (0.951, 0.0, 100.0, False),  # 95 % of the residual
        (0.9, 3.9, 100.0, True),
        (0.9, 4.1, 100.0, False),  # an effect of the inputs is left
        (0.9, 0.0, 4.1, True),
        (0.9, 0.0, 3.9, False),  # there was none
    ],
)
def test_a_weaker_shift_removes_an_effect_of_the_inputs_of_four_deviations(
    ratio: float, after: float, before: float, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter((after, before))
    monkeypatch.setattr(synchrony, "_input_significance", lambda rest, u: next(answers))
    assert found(weak(ratio, effect=0.0)) == ([1] if accepted else [])


@pytest.mark.parametrize(("ratio", "samples"), [(0.119, 1), (0.121, 3)])
def test_shifts_count_as_equal_up_to_a_fifth_more_than_the_least(ratio: float, samples: int) -> None:
    outputs = shifted(0.1, late=3)
    outputs.ratios[FARTHEST + 1], outputs.shares[FARTHEST + 1] = ratio, 0.01
    assert found(outputs) == [samples]


@pytest.mark.parametrize(("left", "early"), [(0.0257, False), (0.0263, True)])
def test_an_output_is_early_where_four_more_states_leave_1_3_times_as_much(
    left: float, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    larger = shifted(1.0)
    larger.shares[FARTHEST, 0] = left

    def other(data: Data, find_model: object, order: int) -> ShiftedOutputs:
        asked.append(order)
        return larger

    monkeypatch.setattr(synchrony, "shift_with_other_model", other)
    data = Data((U,), (U,), 1.0, ("u",), ("y",))
    late = find_asynchronous(shifted(0.1, share=0.02, late=-2), data, 6, lambda *given: None, rough=False)
    assert [one.samples for one in late] == ([-2] if early else [])
    assert asked == [10]


@pytest.mark.parametrize(("ratio", "early"), [(0.745, True), (0.755, False)])
def test_without_a_larger_model_an_early_output_leaves_three_quarters(ratio: float, early: bool) -> None:
    assert _still_early(AsynchronousOutput("y", 0, -2, ratio, 0.02), None) is early


@pytest.mark.parametrize(("ratio", "again"), [(0.949, True), (0.951, False)])
def test_a_rough_model_is_replaced_where_a_shift_leaves_95_per_cent(
    ratio: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(synchrony, "shift_with_other_model", lambda data, find, order: asked.append(order))
    data = Data((U,), (U,), 1.0, ("u",), ("y",))
    find_asynchronous(shifted(ratio), data, 6, lambda *given: None, rough=True)
    assert asked == ([6] if again else [])


@pytest.mark.parametrize(
    ("exponent", "simulated", "lasting"),
    [(2.02, False, False), (1.98, True, True), (-0.198, True, True), (-0.202, True, False)],
)
def test_a_model_is_simulated_up_to_a_growth_of_two_and_a_mode_lasts_up_to_a_decay_of_a_fifth(
    exponent: float, simulated: bool, lasting: bool
) -> None:
    """ln of the growth over 1000 samples."""
    system = StateSpace([[float(np.exp(exponent / 1000))]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    outputs = shift_outputs(Data((U,), (np.cumsum(U, axis=0),), 1.0, ("u",), ("y",)), system)
    assert (outputs is not None) is simulated
    if outputs is not None:
        assert (outputs.driven.max() > 0.0) == lasting


def test_residuals_end_at_a_hundred_thousandth_of_the_power() -> None:
    """Data of the model itself: residuals are rounding, and the floor is all of the share."""
    system = StateSpace([[0.0]], [1.0], [1.0], dt=1.0, inputs="u", outputs="y")
    y = np.vstack([np.zeros((1, 1)), U[:199]])
    outputs = shift_outputs(Data((U[:200],), (y,), 1.0, ("u",), ("y",)), system)
    assert outputs is not None
    assert outputs.shares[FARTHEST, 0] == pytest.approx(1e-5, rel=1e-3)


@pytest.mark.parametrize(("condition", "known"), [(0.9e8, True), (1.1e8, False)])
def test_modes_of_eigenvectors_of_condition_1e8_have_no_power(condition: float, known: bool) -> None:
    """Columns of condition κ: equal ones turned by the angle 2/κ; the poles last."""
    vectors = np.array([[1.0, 1.0], [0.0, 2.0 / condition]], dtype=complex)
    poles = np.array([1.0, 0.9999], dtype=complex)
    x, free = np.ones((100, 2)), np.ones((100, 2), dtype=complex)
    _, loose = _modal_power(x, free, poles, vectors, poles, np.ones((5, 1)), np.ones(1))
    assert (loose.max() > 0.0) == known
