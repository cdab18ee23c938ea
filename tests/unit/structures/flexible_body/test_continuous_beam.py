"""Gauss points of continuous beams: enough, with a margin, for products of the highest modes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.structures.flexible_body.continuous_beam import _gauss_places


@pytest.mark.parametrize("modes", [1, 10])
def test_products_of_two_modes_of_the_highest_number_are_integrated_to_rounding(modes):
    z, w = _gauss_places(SimpleNamespace(length=2.0), modes)
    k = (modes + 0.5) * np.pi / 2.0
    # half a wave per panel and factor: eight points leave 1e-15, four would leave 1e-7
    np.testing.assert_allclose(w @ np.sin(k * z) ** 2, 1.0 - np.sin(4.0 * k) / (4.0 * k), rtol=2e-14)
    assert len(z) == 16 * (modes + 1)
