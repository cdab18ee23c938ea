"""Edge of the threshold for entries that are rounding of a sum."""

from __future__ import annotations

import numpy as np

from dalembert.structures.flexible_body.inertia_integrals import clean


def test_entries_below_1e_12_of_the_largest_are_zero():
    assert clean(np.array([1.0, 3e-13, 3e-12])).tolist() == [1.0, 0.0, 3e-12]
