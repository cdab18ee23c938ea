"""Which of the tried orders holds up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify import auto
from dalembert.identify.auto.order_trials import _choose, describe_equal_orders, find_equal_orders
from dalembert.identify.auto.result import OrderTrial
from tests.helpers.decision_records import find_record, simulated
from tests.helpers.decisions import QUICK_DRAWS


def tried(**percents: float) -> Any:
    """Trials named n4=90.0, or u4=90.0 where the model is unstable."""
    made = [OrderTrial(int(name[1:]), p, name[0] == "n", left=100.0 - p) for name, p in percents.items()]
    return SimpleNamespace(found={trial.order: trial for trial in made})


def test_a_lower_order_that_fits_better_is_taken() -> None:
    assert _choose(tried(n4=80.1, n6=80.0), 6) == 4
    assert _choose(tried(n4=79.9, n6=80.0), 6) == 6


@pytest.mark.parametrize(("percent", "order"), [(80.0 + 1e-5, 4), (80.0 - 1e-5, 4), (80.0 - 3e-5, 6)])
def test_of_orders_whose_residuals_differ_by_a_millionth_the_smaller_is_taken(percent: float, order: int) -> None:
    assert _choose(tried(n4=percent, n6=80.0), 6) == order


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dalembert.identify.IdentificationWarning")
def test_a_sound_mode_far_below_the_noise_leaves_two_orders_as_good_and_both_are_named() -> None:
    test = simulated(4, (4.0, 9.0, 14.0), 0.005, noise=3.0, ny=1, samples=4000)
    for draw in QUICK_DRAWS:
        moved = test.moved(draw)
        found = auto(moved.record, moved.inputs, moved.outputs)
        (equal,) = (one for one in found.findings if one.code == "equal-orders")
        assert found.order == 4 and equal.evidence["orders"] == [4, 2]
        (weak,), (none) = equal.evidence["hertz"]
        assert weak == pytest.approx(4.0, rel=0.01) and none == []
        assert "4 was taken" in equal.problem and "4.01 Hz" in equal.problem


@pytest.mark.parametrize(
    ("left", "taken", "orders"),
    [(20.38, 4, [6]), (20.42, 4, []), (19.62, 4, [6]), (19.58, 4, []), (20.38, 6, [4]), (20.38, 8, [])],
)
def test_orders_whose_residuals_differ_by_two_percent_are_as_good(left: float, taken: int, orders: list[int]) -> None:
    """Up to the order of the criteria: a larger one that fits as well is no better answer."""
    trials = list(tried(n4=80.0, n6=100.0 - left, n8=80.0).found.values())
    assert find_equal_orders(taken, 6, trials) == orders


def test_the_finding_on_two_orders_names_the_modes_that_only_one_has() -> None:
    taken: Any = SimpleNamespace(order=4, frequencies_hz=np.array([3.0, 8.0]))
    other: Any = SimpleNamespace(order=6, frequencies_hz=np.array([3.05, 5.0]))
    finding = describe_equal_orders(taken, other, list(tried(n4=80.0, n6=79.9).found.values()))
    assert finding.evidence == {"orders": [4, 6], "hertz": [[8.0], [5.0]]}
    assert "4 was taken" in finding.problem and "Only order 6 has modes at 5 Hz." in finding.problem


@pytest.mark.filterwarnings("ignore::dalembert.identify.IdentificationWarning")
def test_of_two_orders_that_fit_as_well_with_the_same_sound_modes_the_smaller_is_taken() -> None:
    """A building of three floors on a shake table: order 12 leaves 0.3 % less of the training data than order 6, and
    none of its further modes is sound; the fit of the data held out is the same to 0.02 %."""
    table = find_record("shake table")
    found = auto(table.record, table.inputs, table.outputs)
    (equal,) = (one for one in found.findings if one.code == "equal-orders")
    assert found.order == 6 and equal.evidence["orders"][0] == 6 < equal.evidence["orders"][1]
    assert [judged.grade for judged in found.judgements] == ["sound"] * 3
    # peaks of the measured frequency response; half a line of the spectrum is 0.06 Hz
    assert found.frequencies_hz == pytest.approx([3.69, 11.13, 16.6], abs=0.06)


def test_an_unstable_order_is_not_taken() -> None:
    assert _choose(tried(n4=60.0, u6=90.0), 6) == 4
    assert _choose(tried(u4=60.0, u6=90.0), 6) == 6  # nothing else is there


@pytest.mark.parametrize(("factor", "order"), [(0.99, 8), (1.01, 6)])
def test_a_larger_order_is_taken_where_it_leaves_clearly_less(factor: float, order: int) -> None:
    left = factor * 0.95 * 20.0
    assert _choose(tried(n6=80.0, n8=100.0 - left), 6) == order
    four = factor * 0.95**4 * 20.0  # five percent less for each of four modes more
    assert _choose(tried(n6=80.0, n14=100.0 - four), 6) == (14 if order == 8 else 6)


@pytest.mark.parametrize(("factor", "order"), [(0.999, 8), (1.001, 10)])
def test_of_larger_orders_the_smallest_that_fits_as_well(factor: float, order: int) -> None:
    left = factor * 1.02 * 5.0
    assert _choose(tried(n6=80.0, n8=100.0 - left, n10=95.0), 6) == order
