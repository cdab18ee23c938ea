"""One linear-Gaussian problem, every filter and form there is: all are one filter and one smoother, to 1e-10.

The reference is the textbook filter and smoother (Rauch, Tung, Striebel) in NumPy, checked against least squares over
the whole trajectory. The form that uses its points again (spec 004, C7) is another filter and stands apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from dalembert.estimate import (
    CentralDifference,
    Cubature,
    ExtendedKalman,
    Kalman,
    Scaled,
    SigmaPointKalman,
    SphericalSimplex,
    Symmetric,
    UserModel,
    smooth,
)
from dalembert.record import Record
from tests.helpers.linear_gaussian import DT, Problem, random_problem

RULES = [
    Symmetric(), Symmetric(1.0), Scaled(), Scaled(0.5), SphericalSimplex(), SphericalSimplex(0.3), CentralDifference(),
    Cubature(),
]  # fmt: skip
FILTERS: dict[str, Any] = {
    "covariance": Kalman,
    "square-root": lambda *a, **k: Kalman(*a, form="square-root", **k),
    "information": lambda *a, **k: Kalman(*a, form="information", **k),
    "extended": ExtendedKalman,
    "iterated": lambda *a, **k: ExtendedKalman(*a, iterations=3, **k),
    **{str(r): lambda *a, r=r, **k: SigmaPointKalman(*a, points=r, **k) for r in RULES},
    **{f"√ {r}": lambda *a, r=r, **k: SigmaPointKalman(*a, points=r, square_root=True, **k) for r in RULES},
}
COMMON = ("covariance", "square-root", "information", "extended")
NONLINEAR = [name for name in FILTERS if name not in ("covariance", "square-root", "information")]


@lru_cache(maxsize=1)
def task() -> tuple[Problem, Record, Any, Any, float, Any, Any]:
    problem = random_problem(17, 4, 2)
    record = problem.simulate(np.random.default_rng(17), 100, gaps=0.15)
    means, covariances, likelihood = problem.filtered(record)
    return problem, record, means, covariances, likelihood, *rauch_tung_striebel(problem, record, means, covariances)


def rauch_tung_striebel(problem: Problem, record: Record, means: Any, covariances: Any) -> tuple[Any, Any]:
    s = problem.system
    u = record[list(s.inputs)]
    x, P = [means[-1]], [covariances[-1]]
    for k in range(len(record) - 2, -1, -1):
        before = s.A @ covariances[k] @ s.A.T + problem.Q
        G = covariances[k] @ s.A.T @ np.linalg.inv(before)
        x.append(means[k] + G @ (x[-1] - s.A @ means[k] - s.B @ u[k]))
        P.append(covariances[k] + G @ (P[-1] - before) @ G.T)
    return np.array(x[::-1]), np.array(P[::-1])


def close(found: Any, wanted: Any) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-10 * max(1.0, np.abs(wanted).max()))


def test_the_reference_is_least_squares_over_the_whole_trajectory() -> None:
    problem, record, *_ = task()
    short = Record(record.time[:30], record.data[:30], record.names)
    means, covariances, _ = problem.filtered(short)
    x, P = rauch_tung_striebel(problem, short, means, covariances)
    batch_x, batch_P = problem.batch(short)
    assert np.abs(x - batch_x).max() <= 1e-9 * np.abs(x).max() and np.abs(P - batch_P).max() <= 1e-9 * np.abs(P).max()


@pytest.mark.spec("004-C4", "004-C5", "004-C7", "004-C8")
@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_and_every_smoother_is_the_one_of_the_books(name: str) -> None:
    problem, record, means, covariances, likelihood, x, P = task()
    found = FILTERS[name](problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(record)
    assert close(found.states, means) and close(found.covariances(), covariances)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-10)
    smoothed = smooth(found)
    assert close(smoothed.states, x) and close(smoothed.covariances(), P)


@pytest.mark.slow
@pytest.mark.parametrize("name", NONLINEAR)
def test_the_same_equations_as_functions_of_a_user_are_the_same_filter(name: str) -> None:
    problem, record, means, covariances, likelihood, *_ = task()
    s = problem.system

    def combined(M: Any, N: Any, x: Any, u: Any) -> list[Any]:
        return [sum(M[i, j] * x[j] for j in range(4)) + N[i, 0] * u[0] for i in range(len(M))]

    model = UserModel(
        lambda x, u: combined(s.A, s.B, x, u), lambda x, u: combined(s.C, s.D, x, u), states=list(s.states),
        inputs=list(s.inputs), outputs=list(s.outputs), continuous=False, dt=DT,
    )  # fmt: skip
    found = FILTERS[name](model, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(record)
    assert close(found.states, means) and close(found.covariances(), covariances)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.spec("000-71", "004-C4")
@pytest.mark.parametrize("name", [n if n in COMMON else pytest.param(n, marks=pytest.mark.slow) for n in FILTERS])
def test_the_settled_filter_and_its_smoother_are_the_limit_of_every_other(name: str) -> None:
    problem = task()[0]
    record = problem.simulate(np.random.default_rng(18), 400)
    settled = Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, form="steady").run(record)
    other = FILTERS[name](problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(record)
    late = slice(200, None)
    assert close(other.states[late], settled.states[late])
    assert close(other.covariances()[late], settled.covariances()[late])
    late = slice(200, 300)
    back, ours = smooth(other), smooth(settled)
    assert close(back.states[late], ours.states[late]) and close(back.covariances()[late], ours.covariances()[late])
