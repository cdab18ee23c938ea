"""Factors of symmetric matrices, dense or sparse, and the lowest pairs of ``K φ = ω² M φ`` built on them.

A matrix is factored once and used for block solves and for shift-invert Lanczos alike:

    (K - σ M)⁻¹ M φ = ν φ,   ω² = σ + 1/ν

A singular matrix is found by its null space, not by a pivot: inverse iteration finds the softest motions v, and with
coordinates scaled to unit diagonal, ``max|K v| ≤ 50 ε max|v|`` means that K does not resist one to working precision.
The error names the coordinates that take part in v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice
from dalembert.core.text import list_names
from dalembert.linear import storage
from dalembert.linear.eigen import undamped_modes as lanczos
from dalembert.numerics import ties
from dalembert.numerics.sparse.ordering import factor_symmetric
from dalembert.numerics.sparse.sparse_factor import Factor as PlainFactor

EPS = float(np.finfo(np.float64).eps)
# Below this size a dense eigensolver is faster than Lanczos, and finds every mode.
DENSE_EIGEN = 400
# Above this size a sparse problem is never made dense, for any number of modes.
DENSE_ALL = 3000
# Largest block that a sparse solve makes in one go: 64 columns of 100 000 rows are 50 MB.
COLUMNS = 64


class StiffnessFactor:
    """Factors of a square matrix, made once: ``solve(b)`` for (n,) or (n, k).

    A sparse symmetric matrix goes to `factor_symmetric` (`numerics.sparse.ordering`); ``exists`` is False where a
    pivot is exactly zero.
    """

    def __init__(self, matrix: Matrix, *, symmetric: bool = True) -> None:
        self.matrix = matrix
        self.n = int(matrix.shape[0])
        self._solve: Callable[[FloatArray], Any] | None = None
        if scipy.sparse.issparse(matrix) and self.n:
            try:
                factor: Any = factor_symmetric(matrix) if symmetric else PlainFactor(matrix, symmetric=False)
                self._solve = factor.solve
            except ArithmeticError:  # exactly singular
                pass
        elif self.n:
            lu, swaps, info = scipy.linalg.lapack.dgetrf(matrix)
            if info == 0:
                self._solve = lambda b: scipy.linalg.lu_solve((lu, swaps), b, check_finite=False)

    @property
    def exists(self) -> bool:
        return self.n == 0 or self._solve is not None

    def solve(self, b: FloatArray) -> FloatArray:
        """x of ``matrix x = b``, b (n,) or (n, k)."""
        if self._solve is None or b.size == 0:
            return np.zeros(b.shape)
        if b.ndim == 1 or b.shape[1] <= COLUMNS:
            return np.asarray(self._solve(np.asfortranarray(b)))
        return np.hstack([self.solve(b[:, start : start + COLUMNS]) for start in range(0, b.shape[1], COLUMNS)])

    def softest(self) -> float:
        """Resistance to the softest motion; 0 where the factors do not exist.

        Two inverse iterations from one random vector: enough to find a free motion, only an estimate otherwise.
        """
        if self.n == 0:
            return 1.0
        if not self.exists:
            return 0.0
        x: FloatArray = np.random.default_rng(0).standard_normal(self.n)
        for _ in range(2):
            x = self.solve(x / np.abs(x).max())
            if not np.isfinite(x).all() or not x.any():
                return 0.0
        return float(resistance(self.matrix, x[:, None])[0])

    def free_motions(self, suspicious: float = 1e-9) -> FloatArray:
        """(n, k) motions that the matrix does not resist, k = 0 where it is regular.

        suspicious : resistance below which the null space is searched (correct slender meshes are that soft).
        """
        return null_space(self.matrix) if self.softest() < suspicious else np.zeros((self.n, 0))


def null_space(matrix: Matrix, *, start: int = 8, shift: float = 1e-10, zero: float = 50.0 * EPS) -> FloatArray:
    """Motions v with ``matrix v = 0`` to working precision, by block inverse iteration.

    shift : far above rounding, so that the factors exist; far below the stiffness that holds a coordinate.
    zero : resistance; rounding of K v is some ε of its absolute terms, and those add up to a few times |v|.
    """
    n = int(matrix.shape[0])
    size = sizes(matrix)
    scaling = scipy.sparse.diags_array(1.0 / size)
    scaled = scaling @ matrix @ scaling
    identity = scipy.sparse.eye_array(n) if scipy.sparse.issparse(matrix) else np.eye(n)
    factor = StiffnessFactor(scaled + shift * identity, symmetric=abs(scaled - scaled.T).max() == 0.0)
    width = min(n, start)
    block: FloatArray = np.random.default_rng(0).standard_normal((n, width))
    for _ in range(4):
        block = np.linalg.qr(factor.solve(block))[0]
    turn = np.linalg.svd(scaled @ block, full_matrices=False)[2]
    # the sums in block @ turn.T leave some n ε of stiff motions; one more iteration removes them
    motions = shift * factor.solve(block @ turn.T) / size[:, None]
    free = resistance(matrix, motions) <= zero
    if free.all() and width < n:
        return null_space(matrix, start=4 * start, shift=shift, zero=zero)
    return np.asarray(motions[:, free])


def sizes(matrix: Matrix) -> FloatArray:
    """√|K_ii|, which scales the diagonal to one; the smallest that counts where there is nothing."""
    return np.asarray(np.sqrt(np.maximum(np.abs(matrix.diagonal()), EPS * max(abs(matrix).max(), 1e-300))))


def resistance(matrix: Matrix, motions: FloatArray) -> FloatArray:
    """max|K v| / max|v| per column of ``motions`` (n, k), in coordinates of unit diagonal; rounding is some ε."""
    size = sizes(matrix)[:, None]
    return np.asarray(np.abs((matrix @ motions) / size).max(axis=0) / np.abs(motions * size).max(axis=0))


def is_rigid(matrix: Matrix, shapes: FloatArray, rigid: float = 1e4 * EPS) -> Any:
    """Whether eigenvectors (n, k) are motions that cost nothing, as exact as an eigensolver leaves them."""
    return resistance(matrix, shapes) <= rigid


def factor_regular(
    matrix: Matrix, names: Sequence[str], what: str, advice: Advice, *, symmetric: bool = True
) -> StiffnessFactor:
    """Factors of a matrix, or an error that names the coordinates it leaves free."""
    factor = StiffnessFactor(matrix, symmetric=symmetric)
    motions = factor.free_motions()
    if motions.shape[1]:
        free = name_moving(motions, names)
        count = motions.shape[1]
        raise DataError(
            "singular-matrix",
            f"{what} is singular: {count} motion{'s' if count > 1 else ''} of the coordinates "
            f"{list_names(free, {}, most=8)} cost{'' if count > 1 else 's'} no force.",
            advice,
        )
    if not factor.exists:
        raise DataError("singular-matrix", f"{what} is singular to working precision.", advice)
    return factor


def name_moving(motions: FloatArray, names: Sequence[str], least: float = 1e-6) -> list[str]:
    """Names of the coordinates that take part in any of the motions (n, k).

    least : of the largest part of a motion; eigensolvers leave 1e-8 of others.
    """
    size = np.linalg.norm(motions / np.abs(motions).max(axis=0), axis=1)
    return [names[int(i)] for i in np.flatnonzero(size > least)]


def lowest(M: Matrix, K: Matrix, count: int, factor: StiffnessFactor | None = None) -> tuple[FloatArray, FloatArray]:
    """ω² ascending (k,) and mass-normalised shapes (n, k), k ≤ ``count``, of ``K φ = ω² M φ``.

    ``factor`` of K, where it exists already, saves factoring again (K regular). Modes without mass do not exist:
    fewer than ``count`` come back where M has a smaller rank. Rigid-body motions have ω² exactly 0.
    """
    n = int(M.shape[0])
    count = min(count, n)
    if count == 0:
        return np.zeros(0), np.zeros((n, 0))
    if not scipy.sparse.issparse(K) or n <= DENSE_EIGEN or (2 * count > n and n <= DENSE_ALL):
        squares, shapes = dense_pairs(storage.dense(M), storage.dense(K))
    else:
        massive = np.flatnonzero(abs(M).sum(axis=0))
        if len(massive) <= DENSE_EIGEN:
            squares, shapes = _few_masses(M, K, massive, factor)
        else:
            squares, shapes = _lanczos(M, K, count, factor)
    squares, shapes = squares[:count], shapes[:, :count]
    shapes = shapes * np.where(shapes[ties.first_largest(shapes), range(shapes.shape[1])] < 0.0, -1.0, 1.0)
    squares[is_rigid(K, shapes)] = 0.0
    return squares, shapes


def lowest_below(
    M: Matrix, K: Matrix, limit: float, factor: StiffnessFactor | None = None
) -> tuple[FloatArray, FloatArray]:
    """As :func:`lowest`, all modes with ω ≤ ``limit`` [rad/s]."""
    n, count = int(M.shape[0]), 16
    while True:
        squares, shapes = lowest(M, K, count, factor)
        if len(squares) < count or count >= n or squares[-1] > limit**2:
            keep = squares <= limit**2
            return squares[keep], shapes[:, keep]
        count *= 2


def dense_pairs(M: FloatArray, K: FloatArray, massless: float = 10.0 * EPS) -> tuple[FloatArray, FloatArray]:
    """All pairs of a dense problem; M may be singular where K is definite.

    massless : μ of a motion without mass, of the largest, per coordinate; the error of symmetric eigenvalues.
    """
    if is_definite(M):
        squares, shapes = scipy.linalg.eigh(K, M)
        return squares, shapes
    idle = ~M.any(axis=0)
    if idle.any() and not idle.all() and is_surely_definite(K[np.ix_(idle, idle)]):
        return _without_idle(M, K, idle)
    # M only semidefinite: turned round, μ = 1/(ω² - σ); μ = 0 are motions without mass.
    shift = 0.0 if is_surely_definite(K) else _shift(M, K)
    try:
        mu, shapes = scipy.linalg.eigh(M, K - shift * M)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "singular-matrix",
            "the mass matrix is singular and K - σ M is not positive definite: a motion without mass meets "
            "no stiffness, or a negative one.",
        ) from error
    mu, shapes = mu[::-1], shapes[:, ::-1]
    massive = mu > massless * len(M) * mu[0]
    mu, shapes = mu[massive], shapes[:, massive]
    return shift + 1.0 / mu, shapes / np.sqrt(mu)


def _lanczos(
    M: Matrix, K: Matrix, count: int, factor: StiffnessFactor | None, nearest: float = 1e-3
) -> tuple[FloatArray, FloatArray]:
    """nearest : ω² over the shift from which the lowest elastic mode has 13 digits."""
    n = int(M.shape[0])
    if count >= n:
        problem = f"all {n} modes of a sparse system are more than Lanczos gives."
        raise DataError("too-large", problem, Advice("Ask for fewer."))
    if factor is not None:
        return _near(M, K, count, factor, 0.0)
    # Without factors at hand K may have rigid-body motions: a shifted matrix has none, and stays definite.
    shift = _shift(M, K)
    for _ in range(3):
        factor = _factor_at(M, K, shift)
        squares, shapes = _near(M, K, count, factor, shift)
        elastic = squares[~is_rigid(K, shapes)]
        low = float(np.abs(elastic).min(initial=np.inf))
        if low >= -nearest * shift or not np.isfinite(low):
            break
        shift = -low  # far softer than its size lets one expect: modes were crowded, look again from nearer
    return squares, shapes


def _without_idle(M: FloatArray, K: FloatArray, idle: Any) -> tuple[FloatArray, FloatArray]:
    """Coordinates without mass follow statically: exact, and the rest may have rigid-body motions."""
    follow = -np.linalg.solve(K[np.ix_(idle, idle)], K[np.ix_(idle, ~idle)])
    condensed = K[np.ix_(~idle, ~idle)] + K[np.ix_(~idle, idle)] @ follow
    squares, inner = dense_pairs(M[np.ix_(~idle, ~idle)], 0.5 * (condensed + condensed.T))
    shapes = np.zeros((len(M), len(squares)))
    shapes[~idle], shapes[idle] = inner, follow @ inner
    return squares, shapes


def _few_masses(M: Matrix, K: Matrix, massive: Any, factor: StiffnessFactor | None) -> tuple[FloatArray, FloatArray]:
    """All modes where few coordinates have mass: the flexibility of those alone, exact by static condensation."""
    if not len(massive):
        return np.zeros(0), np.zeros((M.shape[0], 0))
    shift = 0.0 if factor is not None else _shift(M, K)
    factor = factor or _factor_at(M, K, shift)
    forces = np.zeros((M.shape[0], len(massive)))
    forces[massive, np.arange(len(massive))] = 1.0
    motion = factor.solve(forces)
    flexibility = motion[massive]
    stiffness = np.linalg.inv(0.5 * (flexibility + flexibility.T))
    squares, shapes = dense_pairs(storage.dense(M[massive][:, massive]), 0.5 * (stiffness + stiffness.T))
    return squares + shift, motion @ (stiffness @ shapes)


def _near(M: Matrix, K: Matrix, count: int, factor: Any, shift: float) -> tuple[FloatArray, FloatArray]:
    """Lanczos with factors of K - shift M; looks a second time for repeated modes that were passed over."""
    pairs = lanczos._solve(M, K, count, factor, shift)
    order = np.argsort(pairs.mu)
    return pairs.mu[order], pairs.shapes[:, order]


def _factor_at(M: Matrix, K: Matrix, shift: float) -> StiffnessFactor:
    factor = StiffnessFactor(K - shift * M)
    if not factor.exists:
        raise DataError("singular-matrix", "K - σ M is singular: a motion without mass meets no stiffness.")
    return factor


def _shift(M: Matrix, K: Matrix, share: float = 1e-8) -> float:
    """σ < 0, a small share of the middle of the spectrum: K - σ M is definite where K is semidefinite."""
    mass, stiffness = M.diagonal(), K.diagonal()
    massive = mass > 0.0
    if not massive.any():
        raise DataError("no-mass", "the mass matrix is zero: there are no modes.")
    middle = float(np.median(np.abs(stiffness[massive]) / mass[massive]))
    return -share * middle if middle > 0.0 else -1.0


def is_surely_definite(matrix: FloatArray, pivot: float = 1e-10) -> bool:
    """Whether a matrix is no rounded semidefinite one, whose pivots rounding leaves at 1e-14 or so."""
    return is_definite(matrix, pivot)


def is_definite(matrix: FloatArray, pivot: float = 1e-14) -> bool:
    """Whether every pivot, scaled to a unit diagonal, is above ``pivot``: 50 roundings."""
    size = np.diag(matrix)
    if (size <= 0.0).any():
        return False
    scaled = matrix / np.sqrt(np.outer(size, size))
    try:
        return float(np.diag(np.linalg.cholesky(scaled)).min()) ** 2 > pivot
    except np.linalg.LinAlgError:
        return False
