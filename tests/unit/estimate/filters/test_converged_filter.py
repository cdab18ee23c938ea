"""Edge of the threshold for a covariance that has converged."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.estimate.filters.converged_filter import ConvergedFilter


@pytest.mark.parametrize(("change", "constant"), [(3e-15, True), (3e-14, False)])
def test_a_covariance_that_changes_by_rounding_over_a_block_is_constant(change, constant, monkeypatch):
    one = object.__new__(ConvergedFilter)
    one.process, one.measured = SimpleNamespace(nx=1), slice(0, 1)
    one.filter = SimpleNamespace(native=SimpleNamespace(columns=SimpleNamespace(filter_state=slice(0, 2))))
    read = []
    monkeypatch.setattr(ConvergedFilter, "_read", lambda self, row: read.append(row))
    block = np.ones((256, 2))
    block[-1, 1] += change  # columns: the state, its variance
    one.look_at(block, np.ones((256, 1), dtype=bool))
    assert bool(read) == constant
