"""Edge of the threshold for projectors that are the identity."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.estimate.engine.tangent import shares_of_errors


@pytest.mark.parametrize(("change", "all_pass"), [(3e-7, True), (3e-6, False)])
def test_a_projector_within_a_millionth_of_the_identity_lets_all_errors_pass(change, all_pass):
    def kernel(x, p, t):
        return [np.diag([1.0, 1.0 - change]).ravel()]

    process = SimpleNamespace(flat=False, ne=2, p=np.zeros(0))
    filter_ = SimpleNamespace(process=process, cache=lambda name, make: kernel)
    assert (shares_of_errors(filter_, np.zeros((1, 2)), np.zeros(1)) is None) == all_pass


@pytest.mark.parametrize(("value", "rank"), [(3e-7, 1), (3e-6, 2)])
def test_a_singular_value_below_a_millionth_is_that_of_an_error_that_does_not_pass(value, rank):
    def kernel(x, p, t):
        return [np.diag([1.0, value]).ravel()]

    process = SimpleNamespace(flat=False, ne=2, p=np.zeros(0))
    filter_ = SimpleNamespace(process=process, cache=lambda name, make: kernel)
    assert shares_of_errors(filter_, np.zeros((1, 2)), np.zeros(1)).shape[1] == rank
