"""Thresholds of the gain and of noise-free data, each just below and just above."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.identify.subspace import innovation_form
from dalembert.identify.subspace.innovation_form import _noise_free, find_gain, find_inputs_and_noise


@pytest.mark.parametrize(("size", "noise_free"), [(0.99e-5, True), (1.01e-5, False)])
def test_innovations_of_1e_5_of_an_output_are_noise(size: float, noise_free: bool) -> None:
    assert _noise_free(np.diag([1.0, size**2])) is noise_free


@pytest.mark.parametrize(("condition", "noise_free"), [(0.9e12, False), (1.1e12, True)])
def test_innovations_whose_correlations_have_a_condition_of_1e12_are_no_noise(
    condition: float, noise_free: bool
) -> None:
    """Of two channels with correlation c it is (1 + c)/(1 - c); rounding of 1 - c = 2e-12 changes it by 1e-4."""
    c = 1.0 - 2.0 / (condition + 1.0)
    assert _noise_free(np.array([[1.0, 2.0 * c], [2.0 * c, 4.0]])) is noise_free


@pytest.mark.parametrize(("distance", "stable"), [(1.1e-9, True), (0.9e-9, False)])
def test_a_gain_is_stable_from_1e_9_inside_the_unit_circle(
    distance: float, stable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One state, two block rows: the gain is the entry below the diagonal."""
    monkeypatch.setattr(innovation_form, "_stabilise_gain", lambda A, C, K, S: (None, S, ""))
    gain = 0.5
    A = np.array([[gain + 1.0 - distance]])
    gamma = np.array([[[1.0]], A[None, 0]])
    K, _, _ = find_gain(A, gamma, np.array([[1.0, 0.0], [gain, 1.0]]), 1.0)
    assert (K is not None) is stable


@pytest.mark.parametrize(("beyond", "simulated"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_model_is_simulated_without_gain_up_to_1e_9_outside_the_unit_circle(
    beyond: float, simulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gains: list[Any] = []

    def matrices(data: Any, scales: Any, A: Any, C: Any, K: Any, **options: Any) -> tuple[Any, ...]:
        gains.append(K)
        return None, None, None, None, ""

    monkeypatch.setattr(innovation_form, "find_gain", lambda *given: ("gain", np.eye(1), ""))
    monkeypatch.setattr(innovation_form, "find_input_matrices", matrices)
    hankel: Any = SimpleNamespace(columns=100, standard=np.zeros(4), rows=2, ny=1, scales=None, how="orthogonal")
    gamma = np.ones((2, 1, 1))
    data: Any = None
    find_inputs_and_noise(data, hankel, np.array([[1.0 + beyond]]), gamma, np.eye(2), feedthrough=True)
    assert gains == ([None] if simulated else ["gain"])
