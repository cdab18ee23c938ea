"""What is said about a fitted machine, at the edges of the thresholds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.machine.fitted import _notes, find_lost_outputs


@pytest.mark.parametrize(
    ("percent", "correlation", "lost"), [(49.9, 0.9, True), (50.1, 0.9, False), (40.0, 0.51, True), (40.0, 0.49, False)]
)
def test_an_output_is_lost_below_half_of_it_where_neighbouring_errors_are_half_alike(
    percent: float, correlation: float, lost: bool
) -> None:
    fit: Any = SimpleNamespace(outputs=("y",), percent=np.array([percent]))
    found = find_lost_outputs(fit, (np.array([[correlation], [1.0]]),))
    assert [one.code for one in found] == ["poor-fit"] * lost


def count_notes(value: float = 5.0, step_error: float = 0.0, error: float = 0.0) -> int:
    """Notes beside the one about the segments: of a parameter with the bound 10, and segments with the misfit 100."""
    search: Any = SimpleNamespace(
        names=["k"], low=[-np.inf], high=[10.0], unit=[1.0], step_error=step_error, sigma=np.ones(1), iterations=1,
        shooter=SimpleNamespace(segments=SimpleNamespace(h=np.ones((1, 1))), steps=SimpleNamespace(substeps=1)),
        last=SimpleNamespace(gap_sum=0.0, squares=100.0**2), fixed=False,
    )  # fmt: skip
    return len(_notes(search, np.array([value]), (np.array([[error]]),))) - 1


@pytest.mark.parametrize(("off", "notes"), [(0.9e-9, 1), (1.1e-9, 0)])
def test_a_value_within_a_billionth_of_its_bound_is_at_it(off: float, notes: int) -> None:
    assert count_notes(value=10.0 * (1.0 - off)) == notes


@pytest.mark.parametrize(("error", "notes"), [(0.49, 0), (0.51, 1)])
def test_steps_that_move_the_estimate_by_half_its_deviation_get_a_note(error: float, notes: int) -> None:
    assert count_notes(step_error=error) == notes


@pytest.mark.parametrize(("error", "notes"), [(110.9, 0), (111.1, 1)])
def test_a_long_simulation_departs_beyond_a_tenth_and_one_deviation_more(error: float, notes: int) -> None:
    assert count_notes(error=error) == notes
