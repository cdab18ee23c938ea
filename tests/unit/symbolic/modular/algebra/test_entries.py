"""Equal entries share a symbol, and short rows of a system hold exactly."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da

modular = da.symbolic.modular


@pytest.mark.spec("002-I1")
def test_entries_equal_up_to_sign_share_a_symbol_on_both_sides_of_a_mirror() -> None:
    right, left, c = ca.SX.sym("l_R"), ca.SX.sym("l_L"), ca.SX.sym("c")
    S = ca.vertcat(
        ca.horzcat(1, 0, right * c),
        ca.horzcat(ca.sin(c) ** 2 + ca.cos(c) ** 2, -c * right, c),
        ca.horzcat(0, left * c, -c),
    )
    A = modular.LabelledMatrix(S, ["hub", "wheel R", "wheel L"], ["x", "y", "turn"])
    apart, together = modular.name_entries(A, "D"), modular.name_entries(A, "D", mirror=("R", "L"))
    assert {one.name() for one in ca.symvar(apart.entries)} == {"D[hub, turn]", "D[wheel R, turn]", "D[wheel L, y]"}
    assert {one.name() for one in ca.symvar(together.entries)} == {"D[hub, turn]", "D[wheel R, turn]"}
    assert float(together["hub", "x"]) == 1.0 and float(together["wheel R", "x"]) == pytest.approx(1.0, abs=1e-15)
    # the named matrix with the values of its symbols is the matrix
    expected = modular.evaluate(A, ca.vertcat(right, left, c), np.array([0.7, 0.7, 0.4])).entries
    symbols = ca.symvar(together.entries)
    numbers = {"D[hub, turn]": 0.28, "D[wheel R, turn]": 0.4}
    found = modular.evaluate(together, ca.vertcat(*symbols), np.array([numbers[one.name()] for one in symbols]))
    np.testing.assert_allclose(found.entries, expected, atol=1e-15)


@pytest.mark.spec("002-I1")
def test_short_rows_hold_exactly_and_the_others_in_least_squares() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(6, 4))
    values[0], values[3] = (1.0, -1.0, 0.0, 0.0), (0.0, 0.0, 2.0, 0.0)
    A = modular.LabelledMatrix(values, list("pqrstu"), list("wxyz"))
    b = modular.LabelledMatrix(rng.normal(size=(6, 1)), list("utsrqp"))  # matched by name
    right = b.entries[::-1]
    x = modular.solve_short_rows(A, b).entries
    left = values @ x - right
    assert np.abs(left[[0, 3]]).max() < 1e-14 < 0.1 < np.abs(left).max()
    # the least of the others among all motions of the short rows: their gradient is a combination of short rows
    long = [1, 2, 4, 5]
    gradient = values[long].T @ left[long]
    multipliers = np.linalg.lstsq(values[[0, 3]].T, gradient, rcond=None)[0]
    assert np.abs(values[[0, 3]].T @ multipliers - gradient).max() < 1e-13
    plain = modular.solve_short_rows(A, b, terms=0).entries
    np.testing.assert_allclose(plain, np.linalg.lstsq(values, right, rcond=None)[0], atol=1e-13)
    exact = modular.LabelledMatrix(values @ np.arange(4.0), list("pqrstu"))
    np.testing.assert_allclose(modular.solve_short_rows(A, exact).entries.ravel(), np.arange(4.0), atol=1e-13)
