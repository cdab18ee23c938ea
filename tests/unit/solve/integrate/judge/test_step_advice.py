"""Advice to runs of very many steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.solve.integrate.judge.step_advice import StepAdvice


@pytest.mark.parametrize(("made", "advised"), [(9_000, 0), (9_999, 0), (10_000, 1)])
def test_advice_comes_after_ten_thousand_steps(made: int, advised: int, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []
    monkeypatch.setattr(StepAdvice, "_advise", lambda self, eqs, part, x, steps: said.append(steps))
    method: Any = SimpleNamespace(step=None, explicit=True)
    eqs: Any = None
    before, after = np.array([0.0, 1.0, made - 1.0, 0.0]), np.array([[1.0, 1.0, float(made), 0.0]])
    StepAdvice(method, 1.0).look(eqs, {"accepted": (2, 3), "rejected": (3, 4)}, before, after)
    assert len(said) == advised
