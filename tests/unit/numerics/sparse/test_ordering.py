"""Order of elimination and factors of large sparse symmetric matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from dalembert.core.errors import DataError
from dalembert.numerics.sparse import ordering
from dalembert.numerics.sparse.multifrontal import Cholesky, NotPositive
from dalembert.numerics.sparse.nested_dissection import dissect
from tests.helpers.findings import raises


def lattice(a: int, b: int, c: int, per_point: int) -> sp.csc_array:
    """Stiffness-like matrix of a box of points, each joined to its neighbours, several unknowns per point."""

    def path(n: int) -> sp.dia_array:
        return sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])

    ia, ib, ic = sp.eye_array(a), sp.eye_array(b), sp.eye_array(c)
    points = sp.kron(sp.kron(path(a), ib), ic) + sp.kron(sp.kron(ia, path(b)), ic) + sp.kron(sp.kron(ia, ib), path(c))
    block = np.ones((per_point, per_point)) + np.eye(per_point)
    return sp.csc_array(sp.kron(points, block))


CASES = {
    "box": lattice(7, 8, 9, 3),
    "rod": lattice(2, 2, 150, 6),
    "plate": lattice(1, 20, 22, 6),
    "chain": lattice(1, 1, 500, 2),
    "diagonal": sp.csc_array(sp.diags_array(np.arange(1.0, 900.0))),
    "two bodies": sp.csc_array(sp.block_diag([lattice(6, 6, 6, 3), lattice(1, 1, 40, 3)])),
    "many small bodies": sp.csc_array(sp.block_diag([lattice(1, 1, 16, 6)] * 12)),
    "one unknown": sp.csc_array([[4.0]]),
    "full": sp.csc_array(np.ones((150, 150)) + 150.0 * np.eye(150)),
}


@pytest.mark.parametrize("name", CASES)
def test_dissection_orders_every_unknown_once(name):
    order = dissect(CASES[name]).order
    assert np.array_equal(np.sort(order), np.arange(CASES[name].shape[0]))


def test_pivots_multiply_to_the_determinant():
    matrix = CASES["box"]
    pivots = Cholesky(matrix, dissect(matrix)).pivots
    assert np.log(pivots).sum() == pytest.approx(np.linalg.slogdet(matrix.toarray())[1], rel=1e-12)


def test_fill_of_a_box_grows_as_nested_dissection_promises_and_not_as_a_band():
    # entries per unknown: side^1 by dissection, side^2 in a band, so twice the side costs 2 or 4 times as many;
    # the bound is the geometric mean of the two (small boxes are above their limit of 2)
    small, large = (dissect(lattice(side, side, side, 1), leaf=8).entries / side**3 for side in (10, 20))
    assert large / small < np.sqrt(2.0 * 4.0)


def test_a_matrix_that_is_not_positive_definite_names_its_row():
    matrix = sp.csc_array(sp.diags_array([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(NotPositive) as error:
        Cholesky(matrix, dissect(matrix))
    assert error.value.unknown == 2


def test_wide_matrices_go_to_dense_fronts_and_narrow_ones_to_superlu():
    wide, narrow = (ordering.factor_symmetric(CASES[name], wide=100, large=500) for name in ("box", "rod"))
    assert (wide.kind, narrow.kind) == ("cholesky", "lu")
    assert (wide.negative, narrow.negative) == (0, 0)


def test_an_indefinite_wide_matrix_is_factored_and_its_negative_eigenvalues_counted():
    matrix = sp.csc_array(lattice(5, 5, 6, 2) - 1.57 * sp.eye_array(300))
    factor = ordering.factor_symmetric(matrix, wide=10, large=100)
    assert factor.kind == "lu"
    assert factor.negative == np.count_nonzero(np.linalg.eigvalsh(matrix.toarray()) < 0)
    x = factor.solve(np.ones(300))
    assert np.abs(matrix @ x - 1.0).max() < 1e-10


def test_a_dense_matrix_is_refused():
    with raises(DataError, "wrong-type"):
        ordering.factor_symmetric(np.eye(3))


def test_separate_parts_are_as_wide_as_the_largest_of_them():
    chain = sp.diags_array([-np.ones(5999), 2.1 * np.ones(6000), -np.ones(5999)], offsets=[-1, 0, 1])
    pair = sp.csc_array(sp.block_diag([chain, chain]))
    assert ordering.width(pair) == 1
    assert ordering.factor_symmetric(pair).kind == "lu"
