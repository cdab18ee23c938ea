"""Initial states of one machine with many sets of parameters."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.position.assemble_together import assemble_together, determines_pose


def four_bar(*, redundant: bool = False) -> da.EquationsOfMotion:
    m = da.Mechanism("four-bar", planar=True)
    a, b, c = (m.parameter(name, value) for name, value in (("a", 0.2), ("b", 0.6), ("c", 0.5)))
    crank = m.add_body("crank", mass=0.2, inertia=1e-3, position=(0, 0.1), angle=1.5)
    coupler = m.add_body("coupler", mass=0.6, inertia=2e-2, position=(0.3, 0.3))
    rocker = m.add_body("rocker", mass=0.5, inertia=1e-2, position=(0.65, 0.25), angle=1.7)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-a / 2, 0))
    m.add_revolute("B", crank.at(a / 2, 0), coupler.at(-b / 2, 0))
    m.add_revolute("C", coupler.at(b / 2, 0), rocker.at(c / 2, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-c / 2, 0))
    if redundant:
        m.add_revolute("D again", m.ground.at(0.7, 0), rocker.at(-c / 2, 0))
    return da.equations(m)


def parameters(eqs: da.EquationsOfMotion, count: int, share: float = 0.05) -> np.ndarray:
    return eqs.p * np.random.default_rng(0).uniform(1 - share, 1 + share, (count, 3))


@pytest.mark.parametrize("redundant", [False, True])
def test_every_set_is_where_it_would_be_assembled_alone(redundant: bool) -> None:
    eqs = four_bar(redundant=redundant)
    nominal, p = da.assemble(eqs, {"A.angle": 1.2}), parameters(eqs, 7)
    rate = np.linspace(-3, 3, 7)
    q, v, closed = assemble_together(eqs, nominal, {"A.angle": np.full(7, 1.2)}, {"A.angle": rate}, p)
    assert closed.all()
    for k in range(7):
        own = eqs.replace(a=p[k, 0], b=p[k, 1], c=p[k, 2])
        state = da.assemble(own, {"A.angle": 1.2}, velocity={"A.angle": rate[k]})
        np.testing.assert_allclose(q[k], state.q, rtol=0, atol=1e-11)  # both are closed to 1e-12
        np.testing.assert_allclose(v[k], state.v, rtol=0, atol=1e-9)


def test_a_set_has_the_same_bits_alone_and_among_others() -> None:
    eqs = four_bar()
    nominal, p = da.assemble(eqs, {"A.angle": 1.2}), parameters(eqs, 9)
    together = assemble_together(eqs, nominal, {"A.angle": np.full(9, 1.2)}, {"A.angle": np.full(9, 2.0)}, p)
    for k in range(9):
        one = assemble_together(eqs, nominal, {"A.angle": np.array([1.2])}, {"A.angle": np.array([2.0])}, p[k : k + 1])
        np.testing.assert_array_equal(one[0][0], together[0][k])
        np.testing.assert_array_equal(one[1][0], together[1][k])


def test_a_set_that_cannot_close_is_reported_and_disturbs_no_other() -> None:
    eqs = four_bar()
    nominal, p = da.assemble(eqs, {"A.angle": 1.2}), parameters(eqs, 4)
    sound = assemble_together(eqs, nominal, {"A.angle": np.full(4, 1.2)}, {}, p)
    p[1] = [0.2, 0.1, 0.1]  # too short to reach the other pivot
    p[2, 0] = np.nan
    q, _, closed = assemble_together(eqs, nominal, {"A.angle": np.full(4, 1.2)}, {}, p)
    assert closed.tolist() == [True, False, False, True]
    np.testing.assert_array_equal(q[[0, 3]], sound[0][[0, 3]])


def test_a_pose_that_is_not_determined_is_left_to_the_search() -> None:
    eqs = four_bar()
    nominal = da.assemble(eqs, {"A.angle": 1.2})
    assert determines_pose(eqs, nominal, ("A.angle",))
    assert not determines_pose(eqs, nominal, ())
    assert not determines_pose(eqs, nominal, ("crank.vx",))
