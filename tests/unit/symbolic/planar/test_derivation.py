"""Matrices of planar models."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from tests.helpers.findings import raises
from tests.helpers.planar_four_bar import four_bar


def test_the_complement_is_square_to_the_rows_and_gives_the_equations_of_motion() -> None:
    d = da.symbolic.derive_linkage(four_bar(), independent=["A.rate"])
    eqs = da.equations(four_bar())
    for angle, rate in ((1.2, 3.0), (2.0, -4.0)):
        start = da.assemble(eqs, {"A.angle": angle}, velocity={"A.angle": rate})
        sol = da.forward_dynamics(eqs, start, inputs={"torque": 0.7})
        x = d.evaluate(start.q, start.v, accelerations=sol.acceleration, inputs=[0.7])
        assert np.abs(x["A"] @ x["C"]).max() < 1e-12
        assert x["C"][d.speeds.index("A.rate")] == [1.0]
        assert x["A"] @ sol.acceleration == pytest.approx(x["b"].ravel(), abs=1e-9)
        assert np.abs(x["equations"]).max() < 1e-9 * np.abs(x["f"]).max()


def test_independent_speeds_are_chosen_where_none_are_given() -> None:
    d = da.symbolic.derive_linkage(four_bar())
    assert d.degrees_of_freedom == 1 and d.rows.count("body crank") == 2
    x = d.evaluate()
    assert np.abs(x["A"] @ x["C"]).max() < 1e-12 and np.isfinite(x["C"]).all()


@pytest.mark.parametrize(
    ("independent", "code", "shown"),
    [
        (["A.rate", "D.rate"], "unknown-name", "D.rate"),
        (["A.rate", "rocker.rate"], "dependent-coordinates", "are 2"),
        (["crank.2.vy"], "dependent-coordinates", "not independent"),  # the crank stands upright
        (["lever.rate"], "unknown-name", "lever.rate"),
    ],
)
def test_independent_speeds_that_are_not_are_refused(independent: list[str], code: str, shown: str) -> None:
    with raises(ModelError, code, shown):
        da.symbolic.derive_linkage(four_bar(), independent=independent)


def test_rows_that_others_imply_are_refused() -> None:
    m = four_bar()
    m.add_constraint(m["A.angle"] - m["crank.angle"], name="again")
    with raises(ModelError, "rank-deficient", "'four-bar'"):
        da.symbolic.derive_linkage(m)


def test_a_free_body_has_no_rows_to_solve() -> None:
    m = da.symbolic.PlanarModel("ball")
    m.add_body("ball", [(0, 0)], mass=2.0)
    d = da.symbolic.derive_linkage(m)
    assert d.independent == ("ball.1.vx", "ball.1.vy")
    assert d.evaluate(accelerations=[0.0, -9.81])["equations"] == pytest.approx(np.zeros((2, 1)), abs=1e-12)


def test_a_derivation_is_named_in_one_line() -> None:
    m = da.symbolic.PlanarModel("pendulum")
    m.add_ground((0, 0))
    m.add_bar("rod", (0, 0), (0.5, 0), mass=2.0)
    m.add_revolute("0.1-rod.1")
    found = da.symbolic.derive_linkage(m, independent=["rod.rate"])
    assert repr(found) == "PlanarDerivation('pendulum': 3 speeds, 2 constraint rows, independent: rod.rate)"
