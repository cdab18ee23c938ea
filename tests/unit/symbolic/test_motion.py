"""The motion of a system in rates, in declared speeds, and in independent ones."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.symbolic import System
from dalembert.symbolic.block_solve import solve_mass, solve_square
from dalembert.symbolic.motion import eliminate, in_rates, in_speeds, with_rows

SX = ca.SX


def plate(row: bool = True) -> System:
    """A plate with a blade, its speeds along and across, and one coordinate that keeps its rate."""
    s = System("plate")
    x, y, angle, other = s.coordinates("x y angle other")
    c, n = da.cos(angle), da.sin(angle)
    s.add_body("plate", 2.0, 0.5, (x, y), angle=angle)
    s.add_particle("bead", 1.0, (other, 0))
    s.speed("along", s.rate(x) * c + s.rate(y) * n + s.t)
    s.speed("across", s.rate(y) * c - s.rate(x) * n)
    s.speed("turn", s.rate(angle))
    if row:
        s.constrain(s.rate(y) * c - s.rate(x) * n - 0.3, "blade")
    return s


def numbers(motion: Any, expressions: list[Any], q: Any, v: Any, t: float = 0.4) -> list[Any]:
    s = motion.system
    f = ca.Function("f", [s.q, motion.v, s.t], [SX(one) for one in expressions])
    return [np.array(one) for one in f.call([q, v, t])]


def test_speeds_and_rates_are_inverse_to_each_other() -> None:
    motion = in_speeds(plate())
    assert motion.names == ("along", "across", "turn", "other.rate")
    q, v = [0.1, 0.2, 0.7, 0.3], [1.1, 0.3, -0.4, 0.9]
    (qdot,) = numbers(motion, [motion.qdot], q, v)
    s = motion.system
    back = ca.Function("g", [s.q, s.rates, s.t], [motion.of_rates])(q, qdot, 0.4)
    assert np.array(back)[:, 0] == pytest.approx(v, rel=1e-14)


@pytest.mark.spec("002-A11")
def test_independent_speeds_fulfil_the_rows_at_every_pose() -> None:
    motion = eliminate(in_speeds(plate()), ["along", "turn", "other.rate"])
    assert motion.constraints == () and [one.name for one in motion.eliminated] == ["blade"]
    rates = in_rates(plate())
    for angle in (0.2, 1.4, -2.0):
        q, v = [0.1, 0.2, angle, 0.3], [1.1, -0.4, 0.9]
        N, qdot = numbers(motion, [motion.N, motion.qdot], q, v)
        A, residual = numbers(rates, [rates.A, rates.rates_of_rows], q, qdot)
        assert np.abs(A @ N).max() < 1e-15 and np.abs(residual).max() < 1e-15  # A S = 0, A q̇ = 0.3


def test_a_motion_with_rows_takes_the_speeds_only_where_they_leave_the_rows() -> None:
    assert with_rows(plate()).names == ("along", "across", "turn", "other.rate")
    s = System("sleigh")
    x, y, angle = s.coordinates("x y angle")
    s.constrain(s.rate(y) * da.cos(angle) - s.rate(x) * da.sin(angle), "blade")
    s.speed("along", s.rate(x) * da.cos(angle) + s.rate(y) * da.sin(angle))
    s.speed("turn", s.rate(angle))
    assert with_rows(s).names == ("x.rate", "y.rate", "angle.rate")


@pytest.mark.spec("002-A11")
@pytest.mark.parametrize(
    ("independent", "code"),
    [(["along", "turn"], "wrong-shape"), (["along", "across", "turn", "other.rate"], "wrong-shape"),
     (["along", "spin", "turn"], "unknown-name"), (["along", "across", "turn"], "rank-deficient")],
)  # fmt: skip
def test_independent_speeds_that_do_not_fit_are_named(independent: list[str], code: str) -> None:
    with pytest.raises(ModelError) as caught:
        eliminate(in_speeds(plate()), independent)
    assert caught.value.code == code


def test_rows_that_depend_on_each_other_cannot_be_eliminated() -> None:
    s = plate()
    s.constrain(2 * (s.rates[1] * da.cos(s.q[2]) - s.rates[0] * da.sin(s.q[2])) - 0.6, "again")
    with pytest.raises(ModelError) as caught:
        eliminate(in_speeds(s))
    assert caught.value.code == "rank-deficient" and caught.value.where["rows"] == ["blade", "again"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_linear_systems_are_solved_block_by_block(size: int) -> None:
    random = np.random.default_rng(size)
    root = random.normal(size=(size, size))
    right = random.normal(size=(2 * size, 2))
    for B, solve in ((root + 3 * np.eye(size), solve_square), (root @ root.T + np.eye(size), solve_mass)):
        blocks = ca.sparsify(ca.diagcat(ca.DM(B), ca.DM(2 * B)))
        found = np.array(ca.DM(solve(SX(blocks), SX(ca.DM(right)))))
        assert np.allclose(found, np.linalg.solve(np.array(ca.densify(blocks)), right), rtol=1e-11, atol=1e-12)
