"""Least squares of the observer form, block by block.

    y(k) = D u(k) + Σ_{j=1}^p [Ȳ¹_j u(k-j) - Ȳ²_j y(k-j)] + ε(k)

Regressors are ordered by lag, φ(k) = [u(k), v(k-1), ..., v(k-p)] with v = [u, y], and y(k) comes last. The triangular
factor R of these columns then has the solution for every shorter observer too: with q columns of lags up to p,

    Lᵀ = R_φφ⁻¹ R_φy,   residual sum of squares of order p = Σ of squares of R_φy and R_yy below row q.

Two ways to R, neither of which ever holds more than a block of rows:

    Gram      φᵀφ is block Toeplitz but for its ends, G_{i+1,j+1} = G_{ij} + (first rows) - (last rows),
              so only the correlations G_{0j} are summed over the samples; then Cholesky. Loses half of the digits.
    QR        [R; next rows] = Q R', row block after row block. Keeps them.

The first is used where the condition number shows that the remaining digits suffice, or where noise of the outputs
hides a little noise added to columns that a force of a small band makes dependent; the second elsewhere: data without
noise make φ rank deficient as soon as p times the outputs exceeds the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.fft
import scipy.linalg
from numpy.lib.stride_tricks import sliding_window_view

from dalembert.core.arrays import FloatArray

ITERATIONS = 8  # of the estimate of a condition number


@dataclass(frozen=True)
class Triangle:
    """R of [φ, y] in the channels' own units.

    R : (q + ny, q + ny) upper triangular, q = nu + (nu + ny) p (``nu`` fewer without feed-through);
    rows : how many samples were used; way : "Cholesky" or "QR"; scale : (q + ny,) rms of the columns' channels.
    """

    R: FloatArray
    rows: int
    order: int
    nu: int
    ny: int
    feedthrough: bool
    way: str
    scale: FloatArray

    def columns(self, order: int) -> int:
        """Number of regressors of an observer of this order."""
        return (self.nu if self.feedthrough else 0) + (self.nu + self.ny) * order

    def residual(self, order: int) -> FloatArray:
        """Sum of squares and products of the residuals of an observer of this order, (ny, ny)."""
        below = self.R[self.columns(order) :, -self.ny :]
        return np.asarray(below.T @ below)

    def solve(self, order: int, rcond: float | None = None, regular: float = 1e3) -> tuple[FloatArray, int, float]:
        """Coefficients (ny, q) of minimum norm, numerical rank and condition number of the scaled regressors.

        regular : inverse condition number over the rank tolerance: a margin for the error of LAPACK's estimate.
        """
        q = self.columns(order)
        scale = self.scale[:q]
        R, right = self.R[:q, :q] / scale, self.R[:q, -self.ny :]
        if rcond is None:
            rcond = float(np.finfo(np.float64).eps * max(self.rows, q))
        inverse = scipy.linalg.lapack.dtrcon(R, norm="1", uplo="U", diag="N")[0] if q else 1.0
        if inverse > regular * rcond:
            inner = scipy.linalg.solve_triangular(R, right)
            return np.asarray((inner / scale[:, None]).T), q, float(1.0 / inverse)
        U, s, Vt = scipy.linalg.svd(R)
        rank = int(np.count_nonzero(s > rcond * s[0]))
        inner = Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank, None])
        condition = float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf
        return np.asarray((inner / scale[:, None]).T), rank, condition


def factor_regressors(
    u: Sequence[FloatArray], y: Sequence[FloatArray], p: int, *, rest: bool = False, feedthrough: bool = True,
    equal_scale: bool = False, way: str | None = None,
) -> Triangle:  # fmt: skip
    """R of the regression of order p over all segments.

    u, y : (N_k, nu), (N_k, ny) per segment. ``rest``: the machine was at rest before each segment (zeros stand for
    earlier samples); else the first p samples of each serve as past only. ``equal_scale``: the minimum norm is that of
    plain columns, not of columns of unit rms. ``way``: "Cholesky" or "QR"; the faster that is safe when None.
    """
    nu, ny = u[0].shape[1], y[0].shape[1]
    c = nu + ny
    parts = [np.hstack([a, b]) if nu else b for a, b in zip(u, y, strict=True)]
    if rest:
        parts = [np.vstack([np.zeros((p, c)), block]) for block in parts]
    parts = [block for block in parts if len(block) > p]
    rows = sum(len(block) - p for block in parts)
    size = np.sqrt(sum(np.einsum("ij,ij->j", block, block) for block in parts) / max(rows, 1))
    size = np.ones(c) if equal_scale else np.where(size > 0.0, size, 1.0)
    # columns of a window are [v(k), v(k-1), ...]; φ wants u(k), the lags, then y(k)
    order = np.concatenate([np.arange(nu if feedthrough else 0), np.arange(c, (p + 1) * c), np.arange(nu, c)])
    scale = np.tile(size, p + 1)[order]
    R = None
    used = "QR"
    if way != "QR":
        gram = _gram(parts, p) / np.outer(np.tile(size, p + 1), np.tile(size, p + 1))
        R, used = _cholesky(gram, order, ny, way), "Cholesky"
        if R is None and way is None and not equal_scale:
            R, used = _regularize(gram, order, ny), "Cholesky, regularized"
        used = "QR" if R is None else used
    if R is None:
        R = _streamed_qr(parts, p, order, size)
    return Triangle(R * scale, rows, p, nu, ny, feedthrough, used, scale)


def _gram(parts: Sequence[FloatArray], p: int) -> FloatArray:
    """Σ_k w wᵀ of w = [v(k), v(k-1), ..., v(k-p)], ((p+1)c, (p+1)c)."""
    c = parts[0].shape[1]
    G = np.zeros((p + 1, c, p + 1, c))
    for x in parts:
        G[0] += lagged_products(x, p).transpose(1, 0, 2)
    for j in range(1, p + 1):
        G[j, :, 0] = G[0, :, j].T
    ends = [(x[p - 1 :: -1][:p].reshape(-1), x[: len(x) - p - 1 : -1].reshape(-1)) for x in parts] if p else []
    for i in range(p):
        G[i + 1, :, 1:] = G[i, :, :p]
        here = slice(i * c, (i + 1) * c)
        for first, last in ends:
            G[i + 1, :, 1:] += (np.outer(first[here], first) - np.outer(last[here], last)).reshape(c, p, c)
    return G.reshape((p + 1) * c, (p + 1) * c)


def lagged_products(
    x: FloatArray, p: int, fourier_blocks: int = 32, correlation_rows: int = 8192, fourier_length: int = 2048,
    fourier_lags: int = 12, block_bytes: float = 16e6,
) -> FloatArray:  # fmt: skip
    """Σ_{k ≥ p} x(k) x(k-j)ᵀ for j = 0 ... p, (p + 1, c, c); by Fourier transforms where lags and samples are many.

    correlation_rows : rows of a block whose correlations are summed: small enough to stay in the cache for every lag.
    fourier_lags : lags from which Fourier transforms of blocks of this length are faster (measured), and blocks per
    transform.
    block_bytes : bytes of regressor rows held at a time.
    """
    N, c = x.shape
    length = scipy.fft.next_fast_len(max(fourier_length, 8 * p), real=True)
    step = length - p
    many = (p >= fourier_lags) & (N - p >= 4 * step)
    blocks_full = (N - p) // step if many and 8 * length * c * c < block_bytes * 4 else 0
    result = np.zeros((p + 1, c, c))
    spectrum = np.zeros((length // 2 + 1, c, c), dtype=np.complex128) if blocks_full else None
    for first in range(0, blocks_full, fourier_blocks):
        places = range(first, min(first + fourier_blocks, blocks_full))
        now = np.stack([x[p + i * step : p + (i + 1) * step] for i in places])
        past = np.stack([x[i * step : p + (i + 1) * step] for i in places])
        # past holds p samples more in front, so lag j is found at p - j
        F, B = scipy.fft.rfft(now, length, axis=1), scipy.fft.rfft(past, length, axis=1)
        spectrum += F.conj().transpose(1, 2, 0) @ B.transpose(1, 0, 2)
    if spectrum is not None:
        result += scipy.fft.irfft(spectrum, length, axis=0)[p::-1]
    for start in range(p + blocks_full * step, N, correlation_rows):
        stop = min(start + correlation_rows, N)
        now = x[start:stop].T
        for j in range(p + 1):
            result[j] += now @ x[start - j : stop - j]
    return result


def _cholesky(
    G: FloatArray, order: np.ndarray, ny: int, way: str | None, residual: float = 1e-5, condition: float = 1e10
) -> FloatArray | None:
    """R of the Gram matrix, or None where too many digits would be lost.

    residual : residuals relative to the outputs: below, they are lost in the rounding √ε of the Gram matrix, times 700.
    condition : condition number of the Gram matrix with columns of unit length: 6 of 16 digits remain.
    """
    G = G[np.ix_(order, order)]
    d = np.sqrt(np.diag(G))
    if not (d > 0.0).all():
        return None
    try:
        R = scipy.linalg.cholesky(G / np.outer(d, d))
    except scipy.linalg.LinAlgError:
        return None
    if way is None:
        q = len(R) - ny
        if q and _condition(R[:q, :q]) ** 2 > condition:
            return None
        if np.linalg.svd(R[q:, q:], compute_uv=False)[-1] < residual:
            return None
    return np.asarray(R * d)


def _regularize(
    G: FloatArray, order: np.ndarray, ny: int, noisy: float = 1e-3, ridge: float = 1e-9
) -> FloatArray | None:
    """R of the Gram matrix with a little noise added to all columns; None where noise of the outputs does not hide it.

    A force of a small band makes lagged columns dependent, and rounding decides their share. Noise of √ridge of each
    column does the same without the digits that QR keeps.

    noisy, ridge : power of the noise added to columns that are nearly dependent, relative to theirs: 100 times the
    rounding of a sum of 100 000 products; and residuals relative to the outputs that hide it, 30 times its root.
    """
    G = G[np.ix_(order, order)]
    d = np.sqrt(np.diag(G))
    if not (d > 0.0).all():
        return None
    try:
        R = scipy.linalg.cholesky(G / np.outer(d, d) + ridge * np.eye(len(G)))
    except scipy.linalg.LinAlgError:
        return None
    q = len(R) - ny
    if np.linalg.svd(R[q:, q:], compute_uv=False)[-1] < noisy:
        return None
    return np.asarray(R * d)


def _condition(R: FloatArray) -> float:
    """Estimate of the 2-norm condition number of a triangle by power and inverse iteration; a little low."""
    largest = smallest = np.random.default_rng(0).standard_normal(len(R))
    for _ in range(ITERATIONS):
        largest = R.T @ (R @ (largest / np.linalg.norm(largest)))
        smallest = smallest / np.linalg.norm(smallest)
        smallest = scipy.linalg.solve_triangular(R, scipy.linalg.solve_triangular(R, smallest, trans="T"))
    return float(np.sqrt(np.linalg.norm(largest) * np.linalg.norm(smallest)))


def _blocks(
    x: FloatArray, p: int, order: np.ndarray, size: FloatArray, block_bytes: float = 16e6
) -> Iterator[FloatArray]:
    """Rows [φ(k), y(k)] of a segment, scaled, some at a time."""
    windows = sliding_window_view(x, p + 1, axis=0)  # (N - p, c, p + 1), oldest first
    step = max(2 * len(order), int(block_bytes / (8 * len(order))))
    for start in range(0, len(windows), step):
        block = windows[start : start + step, :, ::-1].transpose(0, 2, 1) / size
        yield block.reshape(len(block), -1)[:, order]


def _streamed_qr(parts: Sequence[FloatArray], p: int, order: np.ndarray, size: FloatArray) -> FloatArray:
    R = np.zeros((0, len(order)))
    for x in parts:
        for block in _blocks(x, p, order, size):
            R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"), dtype=np.float64)
    if len(R) < len(order):
        R = np.vstack([R, np.zeros((len(order) - len(R), len(order)))])
    return R
