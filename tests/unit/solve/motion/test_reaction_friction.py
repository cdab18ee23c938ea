"""Iterations between friction and reactions: when they end, and when they are an error."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError
from dalembert.solve.motion import reaction_friction
from dalembert.solve.motion.reaction_friction import ConstrainedSystem, solve_by_graph, solve_with_friction
from tests.helpers.findings import raises

NONE = np.zeros(0)
STATE: Any = SimpleNamespace(q=NONE, v=NONE, z=NONE, t=0.0, lam=np.zeros(1))


def solve_graph(moved: float, change: float) -> int:
    """Passes of a solve whose reactions move by so much in each of them."""
    calls: list[int] = []

    def kernel(*at: Any) -> tuple[Any, ...]:
        calls.append(1)
        return NONE, NONE, NONE, NONE, at[-1] + moved, np.array([change])

    eqs: Any = SimpleNamespace(name="slider", p=NONE, cache=lambda key, make: kernel)
    solve_by_graph(eqs, STATE, NONE, True, None)
    return len(calls)


@pytest.mark.parametrize(("change", "settled"), [(0.9e-9, True), (1.1e-9, False)])
def test_reactions_that_change_by_1e_9_have_not_settled(change: float, settled: bool) -> None:
    with nullcontext() if settled else raises(ConvergenceError, "friction-unsettled"):
        solve_graph(0.0, change)


@pytest.mark.parametrize(("moved", "passes"), [(0.9e-14, 1), (1.1e-14, 12)])
def test_a_solve_stands_where_its_reactions_move_by_1e_14(moved: float, passes: int) -> None:
    assert solve_graph(moved, 0.0) == passes


@pytest.mark.parametrize(("change", "ends"), [(0.9e-12, True), (1.1e-12, False)])
def test_newton_ends_with_a_change_of_1e_12(change: float, ends: bool) -> None:
    """The slopes of the next step are not asked for."""

    def slopes(key: str, make: Any) -> Any:
        raise LookupError(key)

    eqs: Any = SimpleNamespace(p=NONE, kernel=lambda name: lambda *at: (np.zeros(1),), cache=slopes)
    system = ConstrainedSystem(np.eye(1), np.eye(1), np.zeros(1), NONE)
    with nullcontext() if ends else pytest.raises(LookupError):
        solve_with_friction(eqs, STATE, system, lambda f, b: (f, np.array([change])), True, np.zeros(1))


def iterate(found: Any, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Multipliers at which the forces of one row are asked for; `found` gives the multiplier that follows from each."""
    asked: list[float] = []
    monkeypatch.setattr(reaction_friction, "forces_at", lambda eqs, state, u, lam: asked.append(float(lam[0])) or lam)
    monkeypatch.setattr(reaction_friction, "force_slopes", lambda *at: np.zeros((1, 1)))
    eqs: Any = SimpleNamespace(name="slider", nv=1)
    system = ConstrainedSystem(np.eye(1), np.eye(1), np.zeros(1), NONE)
    with raises(ConvergenceError, "friction-unsettled"):
        solve_with_friction(eqs, STATE, system, lambda f, b: (f, found(f)), True, np.zeros(1))
    return asked


def test_a_step_is_halved_ten_times_where_it_makes_things_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0 to 1 at first; every λ but 0 is worse, and a step of 2⁻¹⁰ is taken all the same."""
    asked = iterate(lambda lam: np.where(lam == 0.0, 1.0, lam + 9.0), monkeypatch)
    assert asked[1:12] == pytest.approx([0.5**k for k in range(11)])
    assert asked[12] > 1.0  # the next step, from there
