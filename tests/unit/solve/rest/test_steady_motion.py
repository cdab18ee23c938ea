"""Limits of the search for a steady motion: the numbers just inside and just outside."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.rest import steady_motion as module


def arms(count: int) -> da.EquationsOfMotion:
    """A shaft that carries balls on arms, one after the other."""
    m = da.Mechanism("governor")
    shaft = m.add_body("shaft", mass=1.0, inertia=0.1)
    m.add_revolute("spin", m.ground.at(0, 0, 0), shaft.at(0, 0, 0))
    end = shaft.at(0, 0, 0)
    for k in range(count):
        ball = m.add_body(f"ball{k}", mass=2.0 - 0.5 * k, inertia=0.01)
        m.add_revolute(f"arm{k}", end, ball.at(0, 0, 0.5), axis=(0, 1, 0))
        end = ball.at(0, 0, -0.2)
    return da.equations(m)


def wheels(count: int) -> da.EquationsOfMotion:
    m = da.Mechanism("wheels", planar=True, gravity=0)
    for k in range(count):
        m.add_body(f"wheel{k}", mass=1.0, inertia=1.0)
    return da.equations(m)


def search(monkeypatch: pytest.MonkeyPatch, sizes: Any, step: float = 0.0) -> tuple[list[float], list[float]]:
    """Dampings and changes of a turning wheel in steps of which each leaves the next of `sizes` as residual."""
    dampings: list[float] = []
    moves: list[float] = []
    problem = module._Steady(
        wheels(1), np.zeros(0), {}, [module._rate(wheels(1), "wheel0.angle")], [False], np.zeros(1), 0.0
    )
    rows, left = problem.rows, iter(sizes)

    def scaled(*given: Any) -> Any:
        residual, J, names = rows(*given)
        return np.full_like(residual, next(left)), J, names

    def shortest(J: Any, residual: Any, damping: float) -> Any:
        dampings.append(damping)
        return np.full(J.shape[1], step)

    move = problem.move
    monkeypatch.setattr(problem, "rows", scaled)
    monkeypatch.setattr(problem, "move", lambda q, dx: moves.append(float(np.abs(dx).max())) or move(q, dx))
    monkeypatch.setattr(module, "_shortest", shortest)
    problem.solve(np.zeros(3), np.zeros(0))
    return dampings, moves


def test_damping_falls_by_ten_to_none_below_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    dampings = search(monkeypatch, [1.0, 1.0, 1.0, 0.9, 0.8, 0.7, *itertools.repeat(0.0, 3)])[0]
    assert dampings[:6] == pytest.approx([0.0, 1e-8, 1e-7, 1e-8, 0.0, 0.0], rel=1e-9)


def test_a_governor_is_found_from_a_further_initial_pose_where_the_first_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []
    solve = module._Steady.solve
    monkeypatch.setattr(module._Steady, "solve", lambda *at: tried.append(1) or solve(*at))
    steady = da.equilibrium(arms(2), rates={"spin": 11.8}, guess={"arm0": 1.0, "arm1": -2.2})
    assert len(tried) > 1
    assert steady["spin.rate"] == pytest.approx(11.8, abs=1e-8)
