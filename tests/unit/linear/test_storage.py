"""Sparse second-order systems: how they are kept, and that they say the same as dense ones."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.linear.second_order import MATRICES
from tests.helpers.findings import raises


def chain(n: int, k: float = 1.0) -> scipy.sparse.csc_array:
    """Stiffness of n masses in a row, both ends held."""
    return k * scipy.sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsc()


def small() -> SecondOrder:
    return SecondOrder(scipy.sparse.eye_array(4), chain(4).toarray(), C=0.1 * np.eye(4), B=[1, 0, 0, 0],
                       Y_acceleration=[[0, 0, 0, 1.0]], K_loss=0.01 * chain(4))  # fmt: skip


def test_one_sparse_matrix_makes_all_of_them_sparse_canonical_and_read_only():
    system = small()
    assert system.is_sparse
    for symbol in MATRICES:
        matrix = getattr(system, symbol)
        assert isinstance(matrix, scipy.sparse.csc_array), symbol
        assert matrix.dtype == np.float64
        assert matrix.has_canonical_format
        assert not matrix.data.flags.writeable
    again = pickle.loads(pickle.dumps(system))  # noqa: S301  (our own bytes)
    assert not again.K.data.flags.writeable


def test_the_callers_sparse_matrix_stays_theirs():
    K = chain(3)
    system = SecondOrder(scipy.sparse.eye_array(3), K)
    K.data[0] = 7.0
    assert system.K[0, 0] == 2.0


def test_dense_and_sparse_are_copies_of_each_other():
    system = small()
    dense = system.dense()
    assert not dense.is_sparse
    assert dense.dense() is dense
    assert system.sparse() is system
    for symbol in MATRICES:
        np.testing.assert_array_equal(getattr(dense, symbol), getattr(system, symbol).toarray())
        np.testing.assert_array_equal(getattr(dense.sparse(), symbol).toarray(), getattr(dense, symbol))
    assert dense.sparse().is_sparse
    assert dense.outputs == system.outputs == ("y1",)


def test_a_large_system_is_not_made_dense_unless_forced():
    n = 5001
    system = SecondOrder(scipy.sparse.eye_array(n), chain(n))
    with raises(DataError, "too-large", "5001"):
        system.dense()


def test_outputs_of_a_sparse_system_are_its_coordinates_as_a_sparse_identity():
    system = SecondOrder(scipy.sparse.eye_array(3), chain(3), coordinates=["a", "b", "c"])
    assert system.outputs == ("a", "b", "c")
    assert system.Y_position.nnz == 3
    assert system.B.shape == (3, 0)
    assert system.D.shape == (3, 0)


def test_two_hundred_thousand_named_coordinates_are_taken_in_linear_time():
    n = 200_000
    names = [f"p{i}.x" for i in range(n)]
    K = chain(n)
    begin = time.perf_counter()
    system = SecondOrder(scipy.sparse.eye_array(n), K, coordinates=names)
    # 0.1 s on a slow machine; a quadratic look for repeated names would take minutes.
    assert time.perf_counter() - begin < 5.0
    assert len(repr(system).splitlines()) < 10
    assert len(repr(system)) < 1500
    names[-1] = names[0]
    with raises(DataError, "taken-name"):
        SecondOrder(scipy.sparse.eye_array(n), K, coordinates=names)


def test_rounding_asymmetry_of_a_sparse_matrix_is_made_exactly_symmetric():
    K = chain(3).tolil()
    K[0, 1] += 1e-13
    system = SecondOrder(scipy.sparse.eye_array(3), K)
    assert (system.K != system.K.T).nnz == 0


def test_from_full_splits_sparse_matrices_too():
    full = scipy.sparse.csc_array(np.array([[2.0, 0.5, 0], [-0.5, 3, 0], [0, 0, 1]]))
    system = SecondOrder.from_full(scipy.sparse.eye_array(3), full, chain(3))
    assert system.is_sparse
    np.testing.assert_array_equal(system.G.toarray(), [[0, 0.5, 0], [-0.5, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal((system.C_full - full).toarray(), 0.0)
    with raises(DataError, "not-symmetric", "M"):
        SecondOrder.from_full(full, None, chain(3))


def unsymmetric() -> scipy.sparse.csc_array:
    K = chain(3).tolil()
    K[0, 2] = 1.0
    return K.tocsc()


def infinite() -> scipy.sparse.csc_array:
    K = chain(3)
    K.sort_indices()
    K.data[2] = np.inf
    return K


EYE = scipy.sparse.eye_array(3)
BAD = [
    (lambda: SecondOrder(EYE, unsymmetric()), "not-symmetric", "K[x1, x3] = 1", "K[x3, x1] = 0"),
    (lambda: SecondOrder(unsymmetric(), chain(3)), "not-symmetric", "M["),
    (lambda: SecondOrder(EYE, chain(4)), "wrong-shape", "K", "(4, 4)", "(3, 3)"),
    (lambda: SecondOrder(scipy.sparse.csc_array((2, 3)), chain(3)), "wrong-shape", "M", "(2, 3)"),
    (lambda: SecondOrder(EYE, infinite()), "not-finite", "K[0, 1] is inf"),
    (lambda: SecondOrder(EYE, 1j * chain(3)), "wrong-type", "K", "complex"),
    (lambda: SecondOrder(EYE, chain(3), G=chain(3)), "not-symmetric", "G is not skew"),
    (lambda: SecondOrder(EYE, chain(3), K_loss=unsymmetric()), "not-symmetric", "K_loss"),
    (lambda: SecondOrder(EYE, chain(3), B=scipy.sparse.csc_array((2, 1))), "wrong-shape", "B", "(2, 1)"),
    (lambda: SecondOrder(EYE, chain(3), Y_acceleration=np.ones((1, 2))), "wrong-shape", "Y_acceleration", "(1, 2)"),
]


@pytest.mark.parametrize("case", BAD, ids=[" ".join(case[1:]) for case in BAD])
def test_bad_sparse_input_is_refused_with_its_culprit(case):
    make, code, *shown = case
    with raises(DataError, code, *shown):
        make()
