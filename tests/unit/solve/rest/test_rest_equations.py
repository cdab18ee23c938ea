"""Limits of the search for rest: the numbers just inside and just outside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import dalembert as da
from dalembert.solve.position.balance import Scales
from dalembert.solve.rest import equilibrium
from dalembert.solve.rest.rest_equations import Place, Rest


def body(**constraints: float) -> Rest:
    """A body at (2, 0); every constraint gives x a value."""
    m = da.Mechanism("body", planar=True, gravity=0)
    m.add_body("body", mass=1.0, inertia=1.0, position=(2.0, 0.0))
    for name, value in constraints.items():
        m.add_constraint(name, lambda s, at=value: s["body.x"] - at)
    return Rest(da.equations(m), np.zeros(0), {}, 0.0)


def place(**given: Any) -> Place:
    """A pose with forces of 1 N at play along every coordinate, and coordinates that take 1 J along 1 m."""
    zero, one = np.zeros(3), np.ones(1)
    numbers = {"q": zero, "z": np.zeros(0), "lam": zero, "left": zero, "g": np.zeros(0)}
    massless = SimpleNamespace(M=csc_matrix((3, 3)), A=csc_matrix((0, 3)))
    return Place(
        **{**numbers, "acceleration": zero, "forces": massless, "scales": Scales(one, 0 * one), "unit": one, **given}
    )


@pytest.mark.parametrize(("gap", "closes"), [(0.9e3, True), (1.1e3, False)])
def test_joints_a_kilometre_open_have_come_apart(gap: float, closes: bool) -> None:
    assert (body(one=gap).settle(np.zeros(3), np.zeros(0)) is not None) is closes


# --- the descent and Newton's method, along one coordinate: q is the last move, `left` the force ----------------------


class Descent:
    """A problem whose force after each attempt is a factor of the one before; None where joints stay open."""

    def __init__(self, factors: Any, error: float = 1.0) -> None:
        self.factors, self.relative, self.now = iter(factors), error, 1.0
        self.dampings: list[float] = []
        self.moves: list[float] = []
        self.eqs = SimpleNamespace(nv=1, nz=0)

    def accelerations(self, at: Place) -> float:
        return 1.0

    def error(self, at: Place) -> float:
        return self.relative

    def is_lost(self, began: Any, q: Any) -> bool:
        return False

    def step(self, at: Place, mu: float) -> Any:
        self.dampings.append(mu)
        self.now = float(at.left[0])
        return np.array([np.sign(self.now)])

    def share(self, change: Any) -> float:
        return 1.0

    def move(self, q: Any, change: Any) -> Any:
        self.moves.append(float(np.abs(change).max()))
        return change

    def settle(self, q: Any, z: Any) -> Place | None:
        factor = next(self.factors, None)
        return None if factor is None else place(left=np.array([factor * self.now]))

    def is_same_branch(self, before: Place, after: Place) -> bool:
        return True

    def unstable_direction(self, at: Place) -> Any:
        return np.ones(1)


START = place(left=np.ones(1))


def sink(*factors: float | None, error: float = 1.0) -> list[float]:
    """Dampings of the steps of a descent."""
    problem: Any = Descent(factors, error)
    equilibrium._sink(problem, START)
    return problem.dampings


def newton(factors: Any, error: float = 1.0) -> list[float]:
    """Lengths of the steps of Newton's method."""
    problem: Any = Descent(factors, error)
    equilibrium._newton(problem, START)
    return problem.moves


@pytest.mark.parametrize(("error", "goes_on"), [(0.9e-12, False), (1.1e-12, True)])
def test_a_search_for_rest_ends_at_1e_12_of_the_force(error: float, goes_on: bool) -> None:
    assert bool(sink(error=error)) is goes_on
    assert bool(newton([], error)) is goes_on
