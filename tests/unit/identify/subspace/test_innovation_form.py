"""Thresholds of the gain and of noise-free data, each just below and just above."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.subspace.innovation_form import _noise_free


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
