"""Which way to factor a large sparse symmetric matrix: an order of little fill, and a factor that suits its shape.

Two ways, each the better one on its ground (measured on one core: seconds for order and factor, seconds per solution):

    matrix                                   unknowns   width   SuperLU, minimum degree   dissection, dense fronts
    cube of linear hexahedra                   50 700    5403       37    0.11  (1.2 GB)       5.4   0.07  (0.7 GB)
    lattice of 12 x 12 x 115 points            99 360     864       15    0.09                 6.4   0.14
    lattice of 6 x 6 x 460 points              99 360     216        1.5  0.04                 3.7   0.08
    plane grid of 130 x 130 points            101 400     780        2.1  0.05                 4.0   0.09
    chain of 16 000 points                     96 000      11        0.2  0.01                 3.9   0.10

So solids and thick lattices go to `multifrontal`, slender and flat structures to SuperLU.
The width of the matrix decides: the largest number of unknowns equally far from an end of its graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.numerics.sparse.multifrontal import Cholesky, NotPositive
from dalembert.numerics.sparse.nested_dissection import dissect, distances
from dalembert.numerics.sparse.sparse_factor import Factor as PlainFactor


class SymmetricFactor:
    """Solves ``A x = b`` for a sparse symmetric A, definite or not, many times.

    Attributes
    ----------
    kind : ``"cholesky"`` (dense fronts, A is positive definite) or ``"lu"`` (SuperLU).
    pivots : (n,) pivots in the order of A, or None; tiny against the diagonal of A where A is nearly singular.
    """

    def __init__(self, kind: str, factor: Any, pivots: FloatArray | None) -> None:
        self.kind = kind
        self.pivots = pivots
        self._factor = factor

    @property
    def negative(self) -> int | None:
        """How many eigenvalues of A are negative; None where the pivots do not show it."""
        if self.kind == "cholesky":
            return 0
        count: int | None = self._factor.negative  # counted on request: SuperLU copies its factor for it
        return count

    def solve(self, right: FloatArray) -> FloatArray:
        """x of ``A x = right`` for (n,) or (n, k)."""
        return np.asarray(self._factor.solve(np.ascontiguousarray(right, dtype=np.float64)))


def factor_symmetric(matrix: Any, wide: int = 1000, large: int = 5000) -> SymmetricFactor:
    """Factor a sparse symmetric matrix in the way that suits its shape.

    Parameters
    ----------
    matrix
        (n, n) sparse, symmetric, real.

    Raises
    ------
    ArithmeticError
        Where the matrix is exactly singular. A matrix that is singular to rounding only has tiny pivots.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> factor = factor_symmetric(sp.csc_array([[4.0, 1.0], [1.0, 3.0]]))
    >>> factor.solve(np.array([1.0, 2.0])).round(6).tolist(), factor.negative
    ([0.090909, 0.636364], 0)

    wide : unknowns in the widest level from which dense fronts pay (see the table above), and from which size.
    """
    matrix = _square(matrix)
    if matrix.shape[0] >= large and np.all(matrix.diagonal() > 0.0) and width(matrix) >= wide:
        try:
            fronts = Cholesky(matrix, dissect(matrix))
        except NotPositive:
            pass  # indefinite: SuperLU pivots
        else:
            return SymmetricFactor("cholesky", fronts, fronts.pivots)
    return SymmetricFactor("lu", PlainFactor(matrix), None)


def width(matrix: Any) -> int:
    """Most unknowns at the same number of steps from an end of the graph of a sparse symmetric matrix.

    Of a matrix that falls into separate parts, the largest part counts.
    """
    graph = _square(matrix).tocsr()
    count, label = connected_components(graph, directed=False)
    if count > 1:  # in a straight beam stretching and bending are not coupled
        largest = np.flatnonzero(label == np.argmax(np.bincount(label)))
        graph = graph[largest][:, largest].tocsr()
    far = distances(graph, int(np.argmax(distances(graph, 0))))
    return int(np.bincount(far).max())


def _square(matrix: Any) -> Any:
    if not sp.issparse(matrix) or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        shape = getattr(matrix, "shape", ())
        raise DataError(
            "wrong-type", f"the matrix must be sparse, square and not empty, got {type(matrix).__name__} {shape}."
        )
    return sp.csc_array(matrix)
