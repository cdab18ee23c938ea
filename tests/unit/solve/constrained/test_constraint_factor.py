"""The factor of constraint rows: exact for independent rows, directions without mass, order of elimination."""

import itertools

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.solve.constrained.constraint_factor import ConstraintFactor, Massless, elimination_order
from dalembert.solve.constrained.structure import independent_rows, massless_directions

RNG = np.random.default_rng(3)


def solved(M, A, f, b, refinements=3, **options):
    """v̇ and λ by the factor, evaluated on numbers."""
    names = ca.SX.sym("M", ca.DM(M).sparsity()), ca.SX.sym("A", ca.DM(A).sparsity())
    factor = ConstraintFactor(*names, **options)
    sides = ca.SX.sym("f", len(f)), ca.SX.sym("b", len(b))
    function = ca.Function("solve", [*names, *sides], list(factor.accelerations(*sides, refinements)))
    return [np.array(x).ravel() for x in function(ca.DM(M), ca.DM(A), f, b)]


def kkt(M, A, f, b):
    n, m = len(f), len(b)
    x = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((m, m))]]), np.concatenate((f, b)))
    return x[:n], x[n:]


def test_rows_that_are_partly_sure_give_the_solution_of_the_kkt_system():
    A, M = RNG.normal(size=(4, 7)), np.diag(RNG.uniform(1, 2, 7))
    f, b = RNG.normal(size=7), RNG.normal(size=4)
    for sure in ((), (0, 2), (0, 1, 2, 3)):
        for found, exact in zip(solved(M, A, f, b, sure=sure), kkt(M, A, f, b), strict=True):
            assert np.abs(found - exact).max() < 1e-12 * np.linalg.cond(A) ** 2


def test_a_direction_without_mass_gives_the_solution_of_the_kkt_system_whatever_inertia_is_lent():
    A, M = RNG.normal(size=(3, 5)), np.diag([1.0, 2.0, 0.0, 1.5, 0.0])
    f, b = RNG.normal(size=5), RNG.normal(size=3)
    exact = kkt(M, A, f, b)
    for inertia in (0.1, 1.0, 10.0):
        for fixed in (True, False):
            lent = Massless((((2, 1.0),), ((4, 1.0),)), (inertia,) * 2, (fixed,) * 2)
            for found, wanted in zip(solved(M, A, f, b, massless=lent), exact, strict=True):
                assert np.abs(found - wanted).max() < 1e-11 * np.linalg.cond(A) ** 2


def test_a_row_said_twice_shares_its_multiplier():
    A, M = RNG.normal(size=(2, 4)), np.eye(4)
    f, b = RNG.normal(size=4), RNG.normal(size=2)
    v, lam = solved(M, np.vstack((A, A[0])), f, np.append(b, b[0]))
    exact_v, exact_lam = kkt(M, A, f, b)
    assert np.abs(v - exact_v).max() < 1e-7  # a pivot of size ε = 1e-8 has 8 digits
    assert lam[0] == pytest.approx(lam[2], rel=1e-6)
    assert lam[0] + lam[2] == pytest.approx(exact_lam[0], rel=1e-6)


def test_a_direction_without_mass_is_eliminated_after_the_rows_that_hold_it():
    pattern = ca.DM(np.ones((4, 4))).sparsity()
    order, leading = elimination_order(pattern, 3, [1])
    assert order[0] == 1
    assert leading == 1
    assert order[-1] == 3


def chain(links, *, closed=False):
    m = da.Mechanism("chain", planar=True)
    last = m.ground.at(0, 0)
    for k in range(links):
        rod = m.add_body(f"rod{k}", mass=1.0, inertia=da.rod(1.0), position=(k + 0.5, 0))
        m.add_revolute(f"hinge{k}", last, rod.at(-0.5, 0))
        last = rod.at(0.5, 0)
    if closed:
        m.add_revolute("end", m.ground.at(links, 0), last)
    return m


def test_all_rows_of_a_chain_are_independent_at_every_pose_and_none_of_a_loop():
    assert independent_rows(da.equations(chain(3))) == list(range(6))
    assert independent_rows(da.equations(chain(3, closed=True))) == []


def test_a_branch_that_hangs_on_a_loop_is_found():
    m = chain(3, closed=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.1, position=(1.5, -1))
    rod = next(b for b in m.bodies if b.name == "rod1")
    m.add_revolute("hanger", rod.at(0, 0), bob.at(0, 1))
    eqs = da.equations(m)
    assert {eqs.rows[k].owner for k in independent_rows(eqs)} == {"hanger"}


def test_a_thin_rod_has_no_inertia_about_its_axis():
    m = da.Mechanism("rod")
    rod = m.add_body("rod", mass=1.0, inertia=(0.1, 0.1, 0.0))
    m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(0, 0, 1), axis=(0, 1, 0))
    eqs = da.equations(m)
    lacking = massless_directions(eqs)
    assert lacking is not None
    assert [eqs.speeds.names[k] for one in lacking.directions for k, _ in one] == ["rod.wz"]
    assert lacking.exact == (True,)


def test_a_factor_made_of_its_numbers_gives_the_same_corrections() -> None:
    random = np.random.default_rng(5)
    full = random.normal(size=(4, 4))  # a block that is factored, not inverted
    for rows, M in itertools.product((1, 3), (np.diag([1.0, 2.0, 3.0, 4.0]), full @ full.T + np.eye(4))):
        A = ca.SX(ca.DM(random.normal(size=(rows, 4))))  # one row is a row vector of numbers
        factor = ConstraintFactor(ca.SX(ca.DM(M)), A)
        copy = factor.with_numbers(factor.numbers())
        right = ca.SX(ca.DM(random.normal(size=rows)))
        for kind in (factor, copy):
            change = np.array(ca.DM(kind.correction(right, 2)))
            assert np.array(ca.DM(A)) @ change == pytest.approx(-np.array(ca.DM(right)), abs=1e-12)
        assert np.array_equal(np.array(ca.DM(copy.correction(right))), np.array(ca.DM(factor.correction(right))))
