"""Definiteness of sparse matrices at the edge of rounding."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dalembert.linear.eigen.classify import definiteness


@pytest.mark.parametrize(("least", "word"), [(2e-14, "positive semidefinite"), (5e-13, "positive definite")])
def test_an_eigenvalue_below_1e_13_of_a_sparse_matrix_is_zero(least, word):
    # eigenvalues 2 - least and least; pivots are good to 2e-16
    matrix = np.array([[1.0, 1.0 - least], [1.0 - least, 1.0]])
    assert definiteness(scipy.sparse.csc_array(matrix)) == word
