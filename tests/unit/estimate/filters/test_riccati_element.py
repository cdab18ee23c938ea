"""The filter over an interval as an expression: limits of its approximant, of doublings and of balancing."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.estimate.filters import riccati_element
from dalembert.estimate.filters.riccati_element import balance_function, element_function


@pytest.mark.parametrize(("time", "error"), [(0.8, 1e-14), (1.0, 1e-14), (8.0, 1e-14), (3.8e9, 1e-5)])
def test_an_oscillator_turns_by_its_angle_after_any_time(time: float, error: float) -> None:
    """Doubled 0, 1, 4 and 32 times from an angle below 0.9; each doubles rounding, at last to 2**32 of 1e-16.

    From an angle of 8 the approximant would leave 1e-3, and from 1.8, with 31 doublings, 2**31 of 1e-12.
    """
    zero, none = np.zeros((2, 2)), np.zeros(2)
    found = element_function(2)(np.array([[0.0, 1.0], [-1.0, 0.0]]), zero, zero, none, none, none, time)[0]
    turned = [[np.cos(time), np.sin(time)], [-np.sin(time), np.cos(time)]]
    np.testing.assert_allclose(np.array(found), turned, rtol=0, atol=error)


@pytest.mark.parametrize(("sweeps", "balanced"), [(3, True), (2, False)])
def test_three_sweeps_balance_units_a_million_apart(sweeps: int, balanced: bool, monkeypatch) -> None:
    """An oscillator with its speed in millionths: without balancing a norm of 1e12, balanced completely 1.6."""
    if not balanced:
        monkeypatch.setattr(riccati_element, "SWEEPS", sweeps)
    T, back = np.diag([1.0, 1e6]), np.diag([1.0, 1e-6])
    A = T @ np.array([[0.0, 1.0], [-1.0, -0.2]]) @ back
    hamiltonian = np.block([[A, T @ np.diag([0.0, 1.0]) @ T], [back @ np.diag([1.0, 0.0]) @ back, -A.T]])
    norm = float(balance_function.__wrapped__(4)(hamiltonian)[1])
    assert (norm < 2 * 1.6) == balanced
