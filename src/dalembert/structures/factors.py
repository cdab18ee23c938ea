"""Factors of symmetric matrices, dense or sparse, and the lowest pairs of ``K φ = ω² M φ`` built on them.

A matrix is factored once and used for block solves and for shift-invert Lanczos alike:

    (K - σ M)⁻¹ M φ = ν φ,   ω² = σ + 1/ν

A singular matrix is told by its null space, not by a pivot: a small pivot only raises the suspicion, inverse
iteration then finds the motion v, and ``max|K v| ≤ 20 ε max(|K| |v|)`` says that K does not resist it to working
precision. The coordinates that take part in v are what the error names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from dalembert.errors import ConvergenceError, DataError
from dalembert.linear.checks import FloatArray, Matrix, listed

EPS = float(np.finfo(np.float64).eps)
# A pivot below this, relative to its column, asks for a closer look (slender meshes have such pivots and are sound).
SUSPICIOUS_PIVOT = 1e-9
# |K v| of a motion that costs nothing is rounding of the sums in K v: some ε of the sum of their absolute terms.
RESIDUAL_OF_ZERO = 20.0 * EPS
# As above for eigenvectors, which are only as exact as the eigensolver leaves them.
RESIDUAL_OF_RIGID = 1e4 * EPS
# Below this size a dense eigensolver is faster than Lanczos, and finds every mode.
DENSE_EIGEN = 400
# Above this size a sparse problem is never made dense, whatever part of its modes is asked for.
DENSE_ALL = 3000
# Largest block that a sparse solve makes in one go: 64 columns of 100 000 rows are 50 MB.
COLUMNS = 64


class Factor:
    """Factors of a square symmetric matrix, definite or not: ``solve(b)`` for (n,) or (n, k)."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.sparse = bool(scipy.sparse.issparse(matrix))
        self.n = int(matrix.shape[0])
        self._factors: Any = None
        self.pivot = 1.0  # smallest, relative to its column; 0 where the factors do not exist
        if self.n:
            self._make()

    def _make(self) -> None:
        if self.sparse:
            try:
                self._factors = sparse_factor(self.matrix)
            except RuntimeError:  # "Factor is exactly singular"
                self.pivot = 0.0
                return
            diagonal = np.abs(self._factors.U.diagonal())
            columns = np.asarray(abs(self.matrix).max(axis=0).todense()).ravel()[np.argsort(self._factors.perm_c)]
        else:
            with np.errstate(all="ignore"):
                lu, swaps = scipy.linalg.lapack.dgetrf(self.matrix)[:2]
            self._factors = (lu, swaps)
            diagonal, columns = np.abs(np.diag(lu)), np.abs(self.matrix).max(axis=0)
        ratio = np.divide(diagonal, columns, out=np.zeros(self.n), where=columns > 0.0)
        self.pivot = float(ratio.min())

    def solve(self, b: FloatArray) -> FloatArray:
        """x of ``matrix x = b``, b (n,) or (n, k)."""
        if self.n == 0 or b.size == 0:
            return np.zeros_like(b, dtype=np.float64)
        if not self.sparse:
            result: FloatArray = scipy.linalg.lu_solve(self._factors, b, check_finite=False)
            return result
        if b.ndim == 1 or b.shape[1] <= COLUMNS:
            return np.asarray(self._factors.solve(np.ascontiguousarray(b)))
        return np.hstack([self.solve(b[:, start : start + COLUMNS]) for start in range(0, b.shape[1], COLUMNS)])

    def free_motions(self) -> FloatArray:
        """(n, k) motions that the matrix does not resist, k = 0 where it is regular."""
        if self.n == 0 or self.pivot > SUSPICIOUS_PIVOT:
            return np.zeros((self.n, 0))
        return null_space(self.matrix)


def sparse_factor(matrix: Matrix) -> Any:
    """SuperLU factors of a symmetric matrix, ordered for its own pattern and pivoting on the diagonal if it can."""
    return scipy.sparse.linalg.splu(scipy.sparse.csc_array(matrix), permc_spec="MMD_AT_PLUS_A",
                                    diag_pivot_thresh=0.001, options={"SymmetricMode": True})  # fmt: skip


def null_space(matrix: Matrix, *, start: int = 8) -> FloatArray:
    """Motions v with ``matrix v = 0`` to working precision, by block inverse iteration."""
    n = int(matrix.shape[0])
    size = np.sqrt(np.maximum(np.abs(matrix.diagonal()), EPS * max(abs(matrix).max(), 1e-300)))
    scaling = scipy.sparse.diags_array(1.0 / size)
    scaled = scaling @ matrix @ scaling
    shift = 1e-10  # far above rounding, so that the factors exist; far below what is searched for is magnified
    identity = scipy.sparse.eye_array(n) if scipy.sparse.issparse(matrix) else np.eye(n)
    factor = Factor(scaled + shift * identity)
    width = min(n, start)
    block: FloatArray = np.random.default_rng(0).standard_normal((n, width))
    for _ in range(4):
        block = np.linalg.qr(factor.solve(block))[0]
    _, turn = np.linalg.eigh(block.T @ (scaled @ block))
    motions = (block @ turn) / size[:, None]
    zero = _costs_nothing(matrix, motions, RESIDUAL_OF_ZERO)
    if zero.all() and width < n:
        return null_space(matrix, start=4 * start)
    return np.asarray(motions[:, zero])


def _costs_nothing(matrix: Matrix, motions: FloatArray, tolerance: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    force = np.abs(matrix @ motions).max(axis=0)
    return np.asarray(force <= tolerance * (abs(matrix) @ np.abs(motions)).max(axis=0))


def regular(matrix: Matrix, names: Sequence[str], what: str, advice: str) -> Factor:
    """Factors of a matrix, or an error that names the coordinates it leaves free."""
    factor = Factor(matrix)
    motions = factor.free_motions()
    if motions.shape[1]:
        free = moving(motions, names)
        count = motions.shape[1]
        raise DataError(
            f"{what} is singular: {count} motion{'s' if count > 1 else ''} of the coordinates "
            f"{listed(free, {}, most=8)} cost{'' if count > 1 else 's'} no force. {advice}"
        )
    if factor.pivot == 0.0:
        raise DataError(f"{what} is singular to working precision. {advice}")
    return factor


def moving(motions: FloatArray, names: Sequence[str]) -> list[str]:
    """Names of the coordinates that take part in any of the motions (n, k)."""
    size = np.linalg.norm(motions / np.abs(motions).max(axis=0), axis=1)
    return [names[int(i)] for i in np.flatnonzero(size > 1e-6)]


def lowest(M: Matrix, K: Matrix, count: int, factor: Factor | None = None) -> tuple[FloatArray, FloatArray]:
    """ω² ascending (k,) and mass-normalised shapes (n, k), k ≤ ``count``, of ``K φ = ω² M φ``.

    ``factor`` of K, where it exists already, saves factoring again (K regular). Modes without mass do not exist:
    fewer than ``count`` come back where M has a smaller rank. Rigid-body motions have ω² exactly 0.
    """
    n = int(M.shape[0])
    count = min(count, n)
    if count == 0:
        return np.zeros(0), np.zeros((n, 0))
    if not scipy.sparse.issparse(K) or n <= DENSE_EIGEN or (2 * count > n and n <= DENSE_ALL):
        squares, shapes = dense_pairs(_full(M), _full(K))
    else:
        squares, shapes = _lanczos(M, K, count, factor)
    squares, shapes = squares[:count], shapes[:, :count]
    shapes = shapes * np.where(shapes[np.abs(shapes).argmax(axis=0), range(shapes.shape[1])] < 0.0, -1.0, 1.0)
    squares[_costs_nothing(K, shapes, RESIDUAL_OF_RIGID)] = 0.0
    return squares, shapes


def lowest_below(M: Matrix, K: Matrix, limit: float, factor: Factor | None = None) -> tuple[FloatArray, FloatArray]:
    """As :func:`lowest`, all modes with ω ≤ ``limit`` [rad/s]."""
    n, count = int(M.shape[0]), 16
    while True:
        squares, shapes = lowest(M, K, count, factor)
        if len(squares) < count or count >= n or squares[-1] > limit**2:
            keep = squares <= limit**2
            return squares[keep], shapes[:, keep]
        count *= 2


def dense_pairs(M: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All pairs of a dense problem; M may be singular where K is definite."""
    if _definite(M):
        squares, shapes = scipy.linalg.eigh(K, M)
        return squares, shapes
    # M only semidefinite: turned round, μ = 1/(ω² - σ); μ = 0 are motions without mass.
    shift = 0.0 if _definite(K) else _shift(M, K)
    try:
        mu, shapes = scipy.linalg.eigh(M, K - shift * M)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "the mass matrix is singular and K - σ M is not positive definite: a motion without mass meets "
            "no stiffness, or a negative one."
        ) from error
    mu, shapes = mu[::-1], shapes[:, ::-1]
    massive = mu > 10.0 * len(M) * EPS * mu[0]
    mu, shapes = mu[massive], shapes[:, massive]
    return shift + 1.0 / mu, shapes / np.sqrt(mu)


def _lanczos(M: Matrix, K: Matrix, count: int, factor: Factor | None) -> tuple[FloatArray, FloatArray]:
    n, shift = int(M.shape[0]), 0.0
    if count >= n:
        raise DataError(
            f"all {n} modes of a sparse system of {n} coordinates are more than Lanczos gives; ask for fewer."
        )
    factor = factor or Factor(K)
    if factor.pivot < SUSPICIOUS_PIVOT:  # rigid-body motions, perhaps: a shifted matrix has none
        shift = _shift(M, K)
        factor = Factor(K - shift * M)
    if factor.pivot == 0.0:
        raise DataError("K - σ M is singular: a motion without mass meets no stiffness.")
    inverse = scipy.sparse.linalg.LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    start = M @ np.random.default_rng(0).standard_normal(n)  # fixed: the same modes, with the same signs, every time
    try:
        squares, shapes = scipy.sparse.linalg.eigsh(
            K, k=count, M=M, sigma=shift, OPinv=inverse, v0=start, ncv=min(n, max(2 * count + 1, count + 20))
        )
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise ConvergenceError(
            f"Lanczos found {len(error.eigenvalues)} of the {count} lowest modes of {n} coordinates. Ask for fewer."
        ) from error
    order = np.argsort(squares)
    squares, shapes = squares[order], shapes[:, order]
    masses = np.einsum("ij,ij->j", shapes, M @ shapes)
    return squares, shapes / np.sqrt(masses)


def _shift(M: Matrix, K: Matrix) -> float:
    """σ < 0, small in the spectrum of a mesh (1e-8 of its middle): K - σ M is definite where K is semidefinite."""
    mass, stiffness = M.diagonal(), K.diagonal()
    massive = mass > 0.0
    if not massive.any():
        raise DataError("the mass matrix is zero: there are no modes.")
    middle = float(np.median(np.abs(stiffness[massive]) / mass[massive]))
    return -1e-8 * middle if middle > 0.0 else -1.0


def _definite(matrix: FloatArray) -> bool:
    size = np.diag(matrix)
    if (size <= 0.0).any():
        return False
    scaled = matrix / np.sqrt(np.outer(size, size))
    try:
        return float(np.diag(np.linalg.cholesky(scaled)).min()) > 1e-7  # its square is the smallest pivot, 1e-14
    except np.linalg.LinAlgError:
        return False


def _full(matrix: Matrix) -> FloatArray:
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)
