"""Judgement of directions of the state, at the edges of its thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.estimate.judge.observed_directions import (
    View,
    _simple,
    describe_decay,
    format_share,
    rank_sensors,
    typical_noise,
)


def view(*values: float) -> View:
    """Two or three states of unit uncertainty, each seen by a reading of this strength; nothing decays."""
    n = len(values)
    return View.of(tuple("abc"[:n]), np.diag(values), np.eye(n), np.repeat(np.eye(n)[None], 2, axis=0))


@pytest.mark.parametrize(("side", "well"), [(1.001, 2), (0.999, 1)])
def test_a_direction_is_seen_well_where_half_of_its_deviation_is_left(side: float, well: int) -> None:
    found = view(10.0, np.sqrt(3.0) * side)
    assert found.well == well and found.left[-1] == pytest.approx(0.5, rel=2e-3)


@pytest.mark.parametrize(("side", "rank"), [(1.01, 2), (0.99, 1)])
def test_a_gap_to_a_small_singular_value_hides_its_direction(side: float, rank: int) -> None:
    assert view(1.0, 1e-4 * side).rank == rank  # the gap is 1e4, more than it takes


@pytest.mark.parametrize(("side", "names"), [(1.01, {"a", "b"}), (0.99, {"a"})])
def test_a_state_is_named_from_its_share_of_a_direction_on(side: float, names: set[str]) -> None:
    direction = np.array([1.0, 0.05 * side])
    assert set(view(1.0, 1.0).direction(direction)) == names


@pytest.mark.parametrize(("side", "named"), [(1.01, 1), (0.99, 0)])
def test_a_direction_that_fades_by_itself_needs_no_sensor(side: float, named: int) -> None:
    flow = np.stack([np.eye(2), np.diag([1.0, 0.1 * side])])
    found = View.of(("a", "b"), np.diag([10.0, 0.0]), np.eye(2), flow)
    assert found.poor.shape[1] == named
    assert bool(describe_decay(0.1 * side)) is not bool(named)


def test_sensors_of_like_gain_keep_the_order_of_the_list() -> None:
    """The gain of a reading of strength s on a hidden direction is ln √(1 + s²), ln s for large s."""
    for side, first in ((0.98, "weaker"), (1.02, "stronger")):
        rows = {"weaker": np.array([[0.0, 1e4]]), "stronger": np.array([[0.0, 1e4 * 3.0 * side]])}
        assert rank_sensors(view(10.0, 0.0), rows, ())[0][0] == (first,)


def test_only_the_best_alternatives_are_named() -> None:
    rows = {f"s{k}": np.array([[0.0, 100.0]]) for k in range(7)}
    assert len(rank_sensors(view(10.0, 0.0), rows, ())) == 5


@pytest.mark.parametrize(("share", "noise"), [(0.5, 1.0), (2.0, 2.0)])
def test_a_reading_that_hardly_moves_has_the_noise_of_others_of_its_unit(share: float, noise: float) -> None:
    """Readings of 1 m and of less; one window of one sample, a state of unit uncertainty."""
    stacked = np.array([1.0, share * 0.01]).reshape(1, 1, 2, 1)
    found = typical_noise(["m", "m"], stacked, np.ones((1, 1, 1)))
    assert found == pytest.approx([0.01, noise * 0.01 * 0.01])


@pytest.mark.parametrize(("size", "sign"), [(5e-4, 1.0), (2e-3, -1.0)])
def test_it_does_so_where_others_move_up_to_a_thousand_times_as_much(size: float, sign: float) -> None:
    found = _simple(np.array([[1.0], [-size]]), np.array([False, True]))
    assert np.sign(found[0, 0]) == sign


def test_shares_are_written_with_the_digits_that_they_need() -> None:
    assert [format_share(x) for x in (0.5, 0.985, 0.9951, 0.99997, 1.0)] == [
        "0.50", "0.98", "0.995", "0.99997", "1.000000000",
    ]  # fmt: skip
