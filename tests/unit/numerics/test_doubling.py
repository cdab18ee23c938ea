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


@pytest.mark.parametrize(("size", "diverges"), [(0.9e100, False), (1.1e100, True)])
def test_entries_above_1e100_diverge(size: float, diverges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises(ConvergenceError, "no-convergence") if diverges else nullcontext():
        end(monkeypatch, [], first=size)
