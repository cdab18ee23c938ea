"""Random systems: every formalism gives the same accelerations and multipliers."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.symbolic import (
    System,
    boltzmann_hamel,
    gauss,
    gibbs_appell,
    hamilton,
    kane,
    lagrange,
    lagrange_multipliers,
    maggi,
    newton_euler,
    udwadia_kalaba,
    virtual_work,
)

# solutions of linear systems with condition numbers to about 1e3, an ulp per operation: some 1e-12 of the largest
AGREE = 1e-12


def random_matrices(seed: int, n: int = 6, m: int = 3) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    return root @ root.T + np.eye(n), random.normal(size=(m, n)), random.normal(size=n), random.normal(size=m)


@pytest.mark.spec("002-T21", "002-C5", "002-D2", "002-D5", "000-11", "000-12")
@given(st.integers(0, 10_000))
def test_a_random_constrained_system_has_one_solution(seed: int) -> None:
    """n = 6, m = 3: multipliers, Maggi, three forms of Udwadia and Kalaba, Boltzmann-Hamel, and Sᵀ M on top of A."""
    M, A, f, b = random_matrices(seed)
    s = System("random")
    x = ca.vertcat(*s.coordinates([f"x{k}" for k in range(6)]))
    v = s.rates
    s.add_kinetic(0.5 * v.T @ ca.DM(M) @ v)
    s.add_potential(-x.T @ ca.DM(f))
    for k in range(3):
        s.constrain(ca.DM(A[k : k + 1]) @ v - float(b[k]) * s.t, f"row {k}")  # A v = b t: A v̇ = b
    K = np.block([[M, -A.T], [A, np.zeros((3, 3))]])
    exact = np.linalg.solve(K, np.concatenate([f, b]))
    size = np.abs(exact).max() * np.linalg.cond(K) * 1e-15 + AGREE * np.abs(exact[:6]).max()
    forms = [lambda s, form=form: udwadia_kalaba(s, form=form) for form in ("regular", "singular", "augmented")]
    for formalism in (lagrange_multipliers, maggi, boltzmann_hamel, *forms):
        found = formalism(s).solve({})
        assert np.abs(found.acceleration - exact[:6]).max() < size
        assert np.abs(A.T @ found.multipliers - A.T @ exact[6:]).max() < size * np.abs(A).max() * np.linalg.norm(M)


def random_chain(seed: int, planar: bool) -> tuple[System, dict[str, float], dict[str, float]]:
    """A chain of two to four bodies on random axes, with random masses, forces and torques."""
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 5))
    s = System("chain", gravity=(0.3, -9.81) if planar else (0.3, -0.7, -9.81))
    base: Any = None
    place: Any = ca.SX.zeros(3)
    angle: Any = 0
    for k in range(count):
        q = s.coordinate(f"q{k}", "rad")
        mass = float(random.uniform(0.5, 2.0))
        if planar:
            angle = angle + q
            along = ca.vertcat(da.cos(angle), da.sin(angle), 0)
            s.add_body(f"b{k}", mass, float(random.uniform(0.01, 0.1)), place + 0.4 * along, angle=angle)
        else:
            base = s.rotation("xyz"[int(random.integers(3))], (q,), base=base)
            along = base.matrix @ ca.DM(random.normal(size=3))
            root = random.normal(size=(3, 3))
            s.add_body(f"b{k}", mass, ca.DM(0.01 * (root @ root.T + np.eye(3))), place + 0.4 * along, rotation=base)
        place = place + 0.9 * along
    s.add_force(
        "tip", random.normal(size=2 if planar else 3).tolist(), place[: 2 if planar else 3], body=f"b{count - 1}"
    )
    s.add_torque("motor", random.normal(size=1 if planar else 3).tolist(), "b1", reaction="b0")
    q = {f"q{k}": float(random.uniform(-1, 1)) for k in range(count)}
    v = {f"q{k}": float(random.normal()) for k in range(count)}
    return s, q, v


@pytest.mark.spec("002-T21", "000-01", "000-02", "000-04", "000-06", "000-07", "000-08", "002-C1")
@given(st.integers(0, 10_000), st.booleans())
def test_a_random_chain_of_bodies_has_one_acceleration(seed: int, planar: bool) -> None:
    s, q, v = random_chain(seed, planar)
    exact = lagrange(s).solve(q, v).acceleration
    f = lagrange(s)
    M = np.array(ca.Function("M", [s.q, s.p], [f.M])(list(q.values()), []))
    size = max(AGREE, 1e-14 * np.linalg.cond(M)) * np.abs(exact).max()
    formalisms = (
        newton_euler,
        virtual_work,
        hamilton,
        gibbs_appell,
        kane,
        maggi,
        boltzmann_hamel,
        gauss,
        udwadia_kalaba,
    )
    for formalism in formalisms:
        assert np.abs(formalism(s).solve(q, v).acceleration - exact).max() < size, formalism.__name__
