"""Doubling: where it starts and where it ends, just inside and just outside."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.numerics import doubling
from tests.helpers.findings import raises

ONE, NONE = np.ones((1, 1)), np.zeros((1, 1))


def end(monkeypatch: pytest.MonkeyPatch, factors: Any, first: float = 1.0) -> int:
    """Doublings to the limit of an interval whose H is multiplied by these factors."""
    made: list[int] = []
    left = iter(factors)

    def double(A: Any, G: Any, H: Any) -> Any:
        made.append(1)
        return A, G, H * next(left, 1.0)

    monkeypatch.setattr(doubling, "double", double)
    doubling.limit((NONE, NONE, first * ONE))
    return len(made)


def test_sixty_doublings_are_enough_or_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert end(monkeypatch, [1.1] * 59) == 60
    with raises(ConvergenceError, "no-convergence"):
        end(monkeypatch, [1.1] * 60)


@pytest.mark.parametrize(("size", "diverges"), [(0.9e100, False), (1.1e100, True)])
def test_entries_above_1e100_diverge(size: float, diverges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises(ConvergenceError, "no-convergence") if diverges else nullcontext():
        end(monkeypatch, [], first=size)


def test_a_motion_that_decays_by_a_few_roundings_has_a_limit() -> None:
    """x⁺ = (1 - 2⁻⁴⁸) x with a unit weight: X = 1 / (1 - a²) = 2⁴⁷, known to the rounding of a² over 1 - a², 2⁻⁵."""
    a = (1.0 - 2.0**-48) * ONE
    assert float(doubling.limit((a, NONE, ONE))[0, 0]) == pytest.approx(2.0**47, rel=0.05)
