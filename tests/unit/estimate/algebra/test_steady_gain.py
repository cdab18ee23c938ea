"""Hidden modes and singular innovations, at the edges of their thresholds."""

from __future__ import annotations

import pytest

from dalembert.estimate.algebra.steady_gain import _clusters


@pytest.mark.parametrize(("distance", "count"), [(6e-6, 1), (6e-5, 2)])
def test_eigenvalues_that_rounding_may_have_split_are_one(distance, count):
    assert len(_clusters([1.0, 1.0 + distance])) == count  # 1e-5 (1 + |λ|)
