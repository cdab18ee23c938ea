"""Machines as filters take them: moves on the joints, and exact slopes against finite differences.

Domain: states drawn within 0.2 (m, rad, or Euler parameters) of the drawing with speeds of order 1, errors of order
0.02. A central difference of step h has an error of h² |f‴|/6 + 2⁻⁵³ |f|/h: with h = 1e-5 and third derivatives below
1e3 some 2e-8 + 1e-10 of the size of the state, times 10 for what the tables do not say.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.estimate import process
from tests.helpers.filter_machines import MACHINES, state_of

STEP = 1e-5
INTERVAL = 0.01
DIFFERENCES = 2e-7
seeds = st.integers(0, 200)


@lru_cache(maxsize=32)
def made(name: str, closing: str) -> tuple[Any, Any, dict[str, Any]]:
    eqs = MACHINES[name]()
    model = process(eqs, closing=closing, at=state_of(eqs, 0, 0.1))
    F = model.functions
    x, e, u = ca.MX.sym("x", model.nx), ca.MX.sym("e", model.ne), ca.MX.sym("u", model.nu)
    p, t, dt = ca.MX(model.p), ca.MX(0.2), ca.MX(INTERVAL)
    after = F["step"](x, u, p, t, dt)
    moved = F["retract"](x, e, p, t)
    forward = F["difference"](F["step"](moved, u, p, t, dt), after, p, t + dt)
    seen = F["outputs"](moved, u, p, t)
    slopes = [ca.Function("slope", [x, e, u], [ca.jacobian(part, e)]) for part in (moved, forward, seen)]
    values = [ca.Function("value", [x, e, u], [part]) for part in (moved, forward, seen)]
    return eqs, model, {"slopes": slopes, "values": values}


def column(model: Any, eqs: Any, seed: int) -> np.ndarray:
    state = state_of(eqs, seed, 0.05, t=0.2)
    x = np.zeros(model.nx)
    x[: eqs.nq + eqs.nv + eqs.nz] = np.concatenate((state.q, state.v, state.z))
    if model.nx > eqs.nq + eqs.nv + eqs.nz:  # settle the multipliers friction starts from
        for _ in range(3):
            x[eqs.nq + eqs.nv + eqs.nz :] = np.array(
                model.functions["step"](x, np.zeros(model.nu), model.p, 0.2, 0.0)
            ).ravel()[eqs.nq + eqs.nv + eqs.nz :]
    return x


def central(value: Any, x: np.ndarray, u: np.ndarray, ne: int) -> np.ndarray:
    columns = []
    for k in range(ne):
        e = np.zeros(ne)
        e[k] = STEP
        columns.append((np.array(value(x, e, u)) - np.array(value(x, -e, u))).ravel() / (2 * STEP))
    return np.array(columns).T


ALL = [(name, closing) for name in MACHINES for closing in ("independent", "projection")]
FAST = {  # of every kind one; the others take longer to build than to judge
    ("four-bar", "independent"), ("motor arm", "projection"), ("ball pendulum", "independent"),
    ("loop in space", "independent"), ("rolling disc", "independent"), ("rolling disc", "projection"),
    ("sliding block", "independent"), ("driven pendulum", "independent"), ("free body", "projection"),
    ("massless coupler", "independent"),
}  # fmt: skip
PAIRS = [pytest.param(*pair, marks=[] if pair in FAST else [pytest.mark.slow]) for pair in ALL]


@pytest.mark.parametrize(("name", "closing"), PAIRS)
@given(seed=seeds)
@settings(max_examples=2, deadline=None)
def test_slopes_are_those_of_finite_differences(name: str, closing: str, seed: int) -> None:
    eqs, model, made_ = made(name, closing)
    x = column(model, eqs, seed)
    u = np.random.default_rng(seed).normal(size=model.nu)
    zero = np.zeros(model.ne)
    for slope, value in zip(made_["slopes"], made_["values"], strict=True):
        exact = np.array(slope(x, zero, u))
        assert np.abs(exact - central(value, x, u, model.ne)).max() < DIFFERENCES * (1 + np.abs(exact).max())


@pytest.mark.parametrize(("name", "closing"), PAIRS)
@given(seed=seeds)
@settings(max_examples=4, deadline=None)
def test_an_error_put_on_a_state_stays_on_the_joints_and_is_read_back(name: str, closing: str, seed: int) -> None:
    eqs, model, _ = made(name, closing)
    x = column(model, eqs, seed)
    e = 0.02 * np.random.default_rng(seed).normal(size=model.ne)
    F, p = model.functions, model.p
    moved = np.array(F["retract"](x, e, p, 0.2)).ravel()
    q, v = moved[: eqs.nq], moved[eqs.nq : eqs.nq + eqs.nv]
    gap = eqs.kernel("position")(q, p, 0.2)[0]
    slip = eqs.kernel("rates")(q, v, p, 0.2)[0]
    # an error of 0.02, or 0.1 of the smallest arms: 0.1² after the move along the tangent, 0.1⁸ after two Newton steps
    tolerance = 1e-7
    assert np.abs(gap).max(initial=0) < tolerance
    assert np.abs(slip).max(initial=0) < 1e-10 * (1 + np.abs(v).max())
    for start in (block.coordinate for block in eqs.quaternions):
        assert abs(np.linalg.norm(q[start : start + 4]) - 1) < 1e-12
    read = np.array(F["difference"](moved, x, p, 0.2)).ravel()
    if closing == "independent" or not eqs.rows:
        assert np.abs(read - e).max() < 1e-7
    else:  # what is read of a small error on the joints gives the same state again, to second order
        near = np.array(F["retract"](x, 1e-2 * e, p, 0.2)).ravel()
        again = np.array(F["retract"](x, np.array(F["difference"](near, x, p, 0.2)).ravel(), p, 0.2)).ravel()
        assert np.abs(again - near).max() < 1e-5 * (1 + np.abs(v).max())


@pytest.mark.parametrize(("name", "closing"), PAIRS)
def test_small_errors_are_read_back_as_they_were_put_on_or_projected(name: str, closing: str) -> None:
    eqs, model, made_ = made(name, closing)
    x1, x0 = ca.SX.sym("x1", model.nx), ca.SX.sym("x0", model.nx)
    read = ca.Function("read", [x1, x0], [ca.jacobian(model.difference(x1, x0, model.p, 0.2), x1)])
    for seed in range(3):
        x = column(model, eqs, seed)
        put = np.array(made_["slopes"][0](x, np.zeros(model.ne), np.zeros(model.nu)))
        square = np.array(read(x, x)) @ put  # the identity, or the projector
        expected = square @ square if closing == "projection" else np.eye(model.ne)
        assert np.abs(square - expected).max() < 1e-9 * (1 + np.abs(put).max())
