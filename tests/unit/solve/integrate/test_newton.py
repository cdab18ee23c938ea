"""Newton's iteration in a step: it ends with the estimated error below the tolerance, or after eight corrections."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.solve.integrate.newton import CORRECTIONS, JACOBIANS, newton_iteration, newton_limits
from tests.helpers.native_code import assert_native_equals_interpreter

RATE = 0.1  # of convergence: each correction takes nine tenths of the error away


def iteration(multipliers: int = 0) -> ca.Function:
    """x - target = 0 with a Jacobian that is too large, so that the error shows the number of corrections."""
    n = 1 + multipliers
    x, target, right, factors = (ca.SX.sym(name, n) for name in ("x", "target", "right", "factors"))
    residual = ca.Function("residual", [x, target], [x - target])
    factor = ca.Function("factor", [x, target], [ca.SX.ones(n) / (1 - RATE)])
    solve = ca.Function("solve", [factors, right], [right / factors])
    return newton_iteration(residual, factor, solve, 1)


def corrections(tolerance: float, *, rounding: float = 0.0, error: float = 1.0) -> tuple[int, float]:
    """Number of corrections, and the last change."""
    x, change = iteration()(error, 0.0, [rounding, tolerance, 0.0])
    return round(float(np.log10(error / abs(float(x))))), float(change)


@pytest.mark.parametrize(("tolerance", "count"), [(0.5, 2), (5e-3, 3), (5e-4, 4), (5e-6, 6), (5e-7, 7)])
def test_corrections_end_when_the_error_left_is_below_the_tolerance(tolerance: float, count: int) -> None:
    found, change = corrections(tolerance)
    assert found == count
    assert change == pytest.approx(0.9 * RATE ** (count - 1))


def test_an_iteration_that_does_not_converge_leaves_its_last_change() -> None:
    found, change = corrections(1e-15)
    assert found == JACOBIANS * CORRECTIONS
    assert change == pytest.approx(0.9 * RATE ** (found - 1), rel=1e-6)


def test_a_change_of_the_size_of_rounding_ends_the_iteration() -> None:
    assert corrections(1e-15, rounding=1.0)[0] == 1


def test_the_estimate_of_the_rate_needs_two_changes() -> None:
    assert corrections(0.89)[0] == 2
    assert corrections(0.91)[0] == 1


def test_multipliers_have_to_converge_too() -> None:
    x, _ = iteration(1)([0.0, 1e-2], [0.0, 0.0], [0.0, 1.0, 0.0])  # the first unknown has converged at the start
    assert abs(float(x[1])) <= 1e-8
    assert abs(float(x[1])) > 1e-10  # six or seven corrections, not all


def test_machines_in_lanes_end_their_iterations_apart() -> None:
    errors = 10.0 ** np.arange(-5, 3)
    rows = [errors[:, None], np.zeros((8, 1)), np.tile([0.0, 5e-4, 0.0], (8, 1))]
    assert_native_equals_interpreter(iteration(), rows, lanes=(1, 4, 8))


def test_the_tolerance_of_a_step_is_that_of_speeds_and_the_rounding_that_of_positions() -> None:
    m = da.Mechanism("ball", planar=True)
    ball = m.add_body("ball", mass=3.0, inertia=1.0)
    for mass in (0.0, 3.0):  # without joints there are no multipliers, and nothing is a force
        limits = newton_limits(da.equations(m), positions=True)([1.0, 0.0, 0.0], [4.0, 0.0, 0.0], [], 0.0, 0.1)
        expected = [16 * 2.0**-52 * 2 / 0.01, 1e-12 * 5 / 0.1, mass]
        assert limits.full().ravel() == pytest.approx(expected, rel=1e-9, abs=0.0)
        m.add_revolute("A", m.ground.at(0, 0), ball.at(0, 0))
