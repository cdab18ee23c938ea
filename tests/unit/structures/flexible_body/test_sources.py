"""Edge of the threshold for matrices of files, which have some seven digits."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp

from dalembert.core.errors import ModelError
from dalembert.structures.flexible_body.sources import check_matrices
from tests.helpers.findings import raises


@pytest.mark.parametrize(("off", "refused"), [(3e-7, False), (3e-6, True)])
def test_a_matrix_that_differs_from_its_transpose_by_more_than_a_millionth_is_refused(off, refused):
    M = sp.csc_array(np.array([[4.0, 2.0 * off], [0.0, 1.0]]))  # relative to the roots of its diagonal
    with raises(ModelError, "not-symmetric") if refused else nullcontext():
        check_matrices("it", M, sp.eye_array(2, format="csc"))
