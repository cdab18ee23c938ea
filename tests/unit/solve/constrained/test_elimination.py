"""Elimination of the systems of implicit steps: order of the pivots, work, massless coordinates."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.solve.constrained.elimination import Elimination, elimination_order, joint_row_weight

BODY, JOINT = 6, 5  # speeds of a body, rows of a joint


def chain(count: int) -> np.ndarray:
    """A system with the pattern of a chain: bodies coupled to their neighbours by forces and by joints."""
    random = np.random.default_rng(0)
    speeds, rows = BODY * count, JOINT * count
    E, A = np.zeros((speeds, speeds)), np.zeros((rows, speeds))
    for k in range(count):
        own = slice(BODY * k, BODY * (k + 1))
        joint = slice(JOINT * k, JOINT * (k + 1))
        E[own, own] = 5 * np.eye(BODY) + 0.1 * random.normal(size=(BODY, BODY))
        A[joint, own] = random.normal(size=(JOINT, BODY))
        if k:
            before = slice(BODY * (k - 1), BODY * k)
            E[own, before], E[before, own] = 0.01 * random.normal(size=(2, BODY, BODY))
            A[joint, before] = random.normal(size=(JOINT, BODY))
    return np.block([[E, -A.T], [A, np.zeros((rows, rows))]])


def eliminate(K: np.ndarray, leading: int, refinements: int = 0) -> tuple[Elimination, ca.SX]:
    symbol = ca.SX.sym("K", ca.sparsify(ca.DM(K)).sparsity())
    return Elimination(symbol, leading, refinements), symbol


def test_a_chain_is_solved_to_rounding() -> None:
    K = chain(5)
    elimination, symbol = eliminate(K, BODY * 5, refinements=2)
    values = ca.Function("values", [symbol], [elimination.values()])(ca.sparsify(ca.DM(K)))
    x = np.random.default_rng(1).normal(size=len(K))
    found = np.asarray(elimination.solver()(values, K @ x)).reshape(-1)
    assert found == pytest.approx(x, abs=1e-10)  # ε³ = 1e-24 is gone; 1e-16 times the condition of K, 1e4, stays


def test_the_work_grows_with_the_length_of_a_chain() -> None:
    sizes = [eliminate(chain(n), BODY * n)[0].values().shape[0] for n in (2, 3, 4)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


def test_a_multiplier_follows_the_unknowns_of_its_row_and_column() -> None:
    K, leading = chain(4), BODY * 4
    rows = [dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for row in K]
    order = elimination_order(rows, leading)
    place = {k: i for i, k in enumerate(order)}
    assert sorted(order) == list(range(len(K)))
    for k in range(leading, len(K)):
        others = [i for i in range(leading) if K[k, i] or K[i, k]]
        assert place[k] > max(place[i] for i in others)


def test_only_joints_of_massless_bodies_make_the_first_block_regular() -> None:
    m = da.Mechanism("two", planar=True)
    light = m.add_body("light", mass=1.0, inertia=0.0)
    heavy = m.add_body("heavy", mass=1.0, inertia=1.0)
    m.add_revolute("A", m.ground.at(0, 0), light.at(-1, 0))
    m.add_revolute("B", m.ground.at(5, 0), heavy.at(-1, 0))
    eqs = da.equations(m)
    s = eqs.symbols()
    A, _ = eqs.functions["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
    M = eqs.functions["inertia"](s.q, s.p, s.t)
    weight = joint_row_weight(eqs, M, A)
    columns = set(weight.sparsity().get_col())
    assert columns and columns <= {k for k, row in enumerate(eqs.rows) if row.owner == "A"}
    block = np.asarray(ca.Function("M", [s.q, s.p, s.t], [M + weight @ A])(eqs.placement.q, eqs.p, 0.0))
    assert np.linalg.cond(block) < 1e3
