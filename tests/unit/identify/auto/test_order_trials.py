"""Which of the tried orders holds up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.auto.order_trials import THRESHOLDS, _choose, _Trials
from dalembert.identify.auto.result import OrderTrial


def tried(**percents: float) -> Any:
    """Trials named n4=90.0, or u4=90.0 where the model is unstable."""
    made = [OrderTrial(int(name[1:]), p, name[0] == "n", left=100.0 - p) for name, p in percents.items()]
    return SimpleNamespace(found={trial.order: trial for trial in made})


def test_a_lower_order_that_fits_better_is_taken() -> None:
    assert _choose(tried(n4=80.1, n6=80.0), 6) == 4
    assert _choose(tried(n4=79.9, n6=80.0), 6) == 6


def test_an_unstable_order_is_not_taken() -> None:
    assert _choose(tried(n4=60.0, u6=90.0), 6) == 4
    assert _choose(tried(u4=60.0, u6=90.0), 6) == 6  # nothing else is there


@pytest.mark.parametrize(("factor", "order"), [(0.99, 8), (1.01, 6)])
def test_a_larger_order_is_taken_where_it_leaves_clearly_less(factor: float, order: int) -> None:
    left = factor * THRESHOLDS.clearly_better * 20.0
    assert _choose(tried(n6=80.0, n8=100.0 - left), 6) == order
    four = factor * 0.95**4 * 20.0  # five percent less for each of four modes more
    assert _choose(tried(n6=80.0, n14=100.0 - four), 6) == (14 if order == 8 else 6)


@pytest.mark.parametrize(("factor", "order"), [(0.999, 8), (1.001, 10)])
def test_of_larger_orders_the_smallest_that_fits_as_well(factor: float, order: int) -> None:
    left = factor * THRESHOLDS.as_good * 5.0
    assert _choose(tried(n6=80.0, n8=100.0 - left, n10=95.0), 6) == order


@pytest.mark.parametrize(("percent", "left"), [(100.0 - 2e-6, 2e-6), (100.0 - 0.5e-6, 1e-6), (100.0, 1e-6)])
def test_a_residual_below_a_millionth_of_a_per_cent_counts_as_one(percent: float, left: float) -> None:
    fit = SimpleNamespace(percent=np.array([percent]), mean=percent)
    model = SimpleNamespace(system=SimpleNamespace(is_stable=True))
    setting = SimpleNamespace(identify=lambda *parts: model, fit=lambda *parts: fit)
    one: Any = SimpleNamespace(found={}, room=4, projection=0, setting=setting, data=None, last=())
    assert _Trials.run(one, 2).left == pytest.approx(left, rel=1e-6)
