"""Series and waves against the matrix exponential, on both sides of the wave number that divides them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dalembert.structures.continuous.harmonic_fields import fields, system_matrix


@pytest.mark.parametrize(("wave", "digits"), [(0.3, 3e-16), (2.4, 1e-13), (2.6, 1e-13), (9.0, 1e-12)])
def test_fields_carry_the_state_along_the_beam(wave, digits):
    # λ = wave⁴ of a slender beam. Terms of the series stay below e^2.5; waves of length 1/0.3 are alike to a hundredth
    # and lose two digits, forty terms at 9 leave 1e-10.
    lam = np.array([wave**4])
    found = fields(lam, 0.0, 0.0, np.array([0.0, 1.0]))[0]
    carried = found[:, :, 1] @ np.linalg.inv(found[:, :, 0])
    exact = scipy.linalg.expm(system_matrix(lam, 0.0, 0.0)[0])
    np.testing.assert_allclose(carried / np.abs(exact).max(), exact / np.abs(exact).max(), rtol=0, atol=digits)
