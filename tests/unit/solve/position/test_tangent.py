"""Accelerations at one instant: limits of friction and mass, just inside and just outside."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.solve.position import tangent
from dalembert.solve.position.tangent import Instant, Saddle, accelerations
from tests.helpers.findings import raises


def settle(change: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Newton steps of one reaction of about 1 that changes by so much in each."""
    made: list[int] = []
    terms = SimpleNamespace(M=np.eye(1), A=np.eye(1), f_lam=np.eye(1), f=np.zeros(1), R2=np.zeros(1))
    monkeypatch.setattr(tangent, "terms", lambda eqs, x: made.append(1) or terms)
    monkeypatch.setattr(tangent, "Saddle", lambda *at: SimpleNamespace(solve=lambda r1, r2: (r1, -r1 + change)))
    eqs: Any = SimpleNamespace(nv=1, name="slider")
    one = np.ones(1)
    accelerations(eqs, Instant(one, one, one, one, 0.0, one, one))
    return len(made)


def test_reactions_with_friction_settle_to_1e_12_in_50_steps_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """r₁ = f - f_λ λ is -λ here: the new reaction is λ plus the change."""
    assert settle(0.9e-12, monkeypatch) == 1
    with raises(ConvergenceError, "friction-unsettled"):
        settle(1.1e-12, monkeypatch)


def test_reactions_that_do_not_settle_are_given_up_after_50_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    terms = SimpleNamespace(M=np.eye(1), A=np.eye(1), f_lam=np.eye(1), f=np.zeros(1), R2=np.zeros(1))
    monkeypatch.setattr(tangent, "terms", lambda eqs, x: made.append(1) or terms)
    monkeypatch.setattr(tangent, "Saddle", lambda *at: SimpleNamespace(solve=lambda r1, r2: (r1, r1)))
    one = np.ones(1)
    eqs: Any = SimpleNamespace(nv=1, name="slider")
    with raises(ConvergenceError, "friction-unsettled"):
        accelerations(eqs, Instant(one, one, one, one, 0.0, one, one))
    assert len(made) == 50


@pytest.mark.parametrize(("mass", "held"), [(2e-14, True), (0.5e-14, False)])
def test_a_direction_below_1e_14_of_the_mass_has_none(mass: float, held: bool) -> None:
    """A direction across two speeds; along a speed of its own, light as it is, in its unit of 1e-12 of the largest."""
    for M in (np.array([[1.0, 1.0 - mass], [1.0 - mass, 1.0]]), np.diag([1.0, 1e-12 * mass])):
        with nullcontext() if held else raises(ModelError, "massless-body"):
            Saddle(M, np.zeros((0, 2)))


@pytest.mark.parametrize(("root", "unit"), [(0.9e-6, 1e6), (1.1e-6, 1 / 1.1e-6)])
def test_a_speed_below_a_millionth_of_the_largest_root_of_inertia_counts_as_that(root: float, unit: float) -> None:
    assert Saddle(np.diag([1.0, root**2]), np.array([[0.0, 1.0]])).unit == pytest.approx([1.0, unit])
