"""Block-Hankel data compressed to a triangular factor, block by block (spec 000, 61).

w[k] = (u[k], y[k]), q numbers per sample; column j of the block-Hankel matrix H is (w[j], ..., w[j + 2i - 1]), and a
subspace method needs only a factor F of H Hᵀ = F Fᵀ: 2iq x 2iq, however long the record.

products     H Hᵀ by its shift structure: the first block row holds the correlations Σ_j w[j] w[j + τ]ᵀ, and
             (H Hᵀ)[a+1, b+1] = (H Hᵀ)[a, b] + w[J+a] w[J+b]ᵀ - w[a] w[b]ᵀ. The correlations come out of products of
             whole blocks of 2i samples: 3·2i q² operations per sample instead of (2iq)². Then Cholesky. Half the digits
             are lost: where the last pivots fall below 1e-5 of their rows (noise-free or band-limited data) they are
             rounding, and
orthogonal   Hᵀ = Q R by Householder reflections instead, R carried from block to block of columns: 2 (2iq)² operations
             per sample, all digits kept.

Segments add their products, or stack their columns; no column spans two records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dalembert.errors import DataError
from dalembert.identify.data import Data
from dalembert.linear import checks
from dalembert.linear.checks import FloatArray

Places = NDArray[np.intp]
# A pivot of the Cholesky factor below this, relative to its row, has lost more than ε/1e-10 of its digits.
WEAKEST_PIVOT = 1e-5
# Numbers of a block held at once: 8 MB.
BLOCK = 1_000_000


class HankelFactor(checks.Frozen):
    """The factor F of block-Hankel data, channels scaled to unit root mean square.

    Attributes
    ----------
    factor : (2iq, 2iq)
        Lower triangular, rows in time order: w[0], ..., w[2i-1], each inputs first.
    rows : int
        i, block rows of the past and of the future.
    columns : int
        J, number of columns of H.
    scales : (q,)
        Root mean square of each channel.
    how : "products" or "orthogonal"
    weakest : float
        Smallest relative pivot of the products.
    """

    factor: FloatArray
    rows: int
    columns: int
    nu: int
    ny: int
    scales: FloatArray
    how: str
    weakest: float

    def __init__(
        self, factor: FloatArray, rows: int, columns: int, nu: int, ny: int, scales: FloatArray, how: str,
        weakest: float,
    ) -> None:  # fmt: skip
        self._freeze(factor=factor, rows=rows, columns=columns, nu=nu, ny=ny, scales=scales, how=how, weakest=weakest)

    def places(self, kind: str, first: int, last: int) -> Places:
        """Row numbers of the inputs ("u") or outputs ("y") of samples ``first`` <= k < ``last`` of the window."""
        q = self.nu + self.ny
        inside = np.arange(self.nu) if kind == "u" else np.arange(self.nu, q)
        return (np.arange(first, last)[:, None] * q + inside).reshape(-1)

    def triangle(self, places: Sequence[Places]) -> FloatArray:
        """Lower triangular factor of the rows in this order."""
        part = self.factor[np.concatenate(places)]
        if self.how == "products":
            return np.asarray(np.linalg.cholesky(part @ part.T), dtype=np.float64)
        return lower(part)

    def note(self) -> str:
        """How the data were compressed, in words."""
        size = len(self.factor)
        if self.how == "products":
            return (
                f"{self.columns} columns of block-Hankel data ({self.rows} block rows of past and of future) "
                f"compressed by their products to {size} x {size}; the weakest pivot, {self.weakest:.1e}, is far above rounding."
            )
        return (
            f"{self.columns} columns of block-Hankel data ({self.rows} block rows of past and of future) compressed by "
            f"orthogonal reflections to {size} x {size}: products would have lost what little is independent in them "
            f"(weakest pivot {self.weakest:.1e}), as in noise-free or band-limited data."
        )


def lower(rows: FloatArray) -> FloatArray:
    """L lower triangular with L Lᵀ = rows rowsᵀ, by orthogonal reflections; zero columns where rows is too narrow."""
    R = np.asarray(np.linalg.qr(rows.T, mode="r"))
    L = np.zeros((len(rows), len(rows)))
    L[:, : len(R)] = R.T
    return L


def compress_hankel(data: Data, rows: int, *, how: str = "auto") -> HankelFactor:
    """Factor of the block-Hankel data of all segments.

    Parameters
    ----------
    data : Data
    rows : int
        i; every segment needs more than 2i samples.
    how : "auto", "products" or "orthogonal"
    """
    window, q = 2 * rows, data.nu + data.ny
    columns = sum(length - window + 1 for length in data.lengths)
    if min(data.lengths) < window or columns < window * q:
        raise DataError(
            f"{rows} block rows of {q} channels need at least {window * (q + 1) - 1} samples (in all, and {window} in "
            f"each record); there are {data.samples}. Use fewer rows=, fewer channels or longer records."
        )
    if how not in ("auto", "products", "orthogonal"):
        raise DataError(f"how must be 'auto', 'products' or 'orthogonal', not {how!r}.")
    squares = sum(np.concatenate([(u * u).sum(0), (y * y).sum(0)]) for u, y in zip(data.u, data.y, strict=True))
    scales = np.sqrt(squares / data.samples)
    scales = np.where(scales > 0.0, scales, 1.0)
    factor, weakest = None, 0.0
    if how != "orthogonal":
        factor, weakest = _by_products(data, window, scales)
    if factor is None or (how == "auto" and weakest < WEAKEST_PIVOT):
        if how == "products":
            raise DataError("the products of these data are singular to rounding: use how='orthogonal' or 'auto'.")
        factor, how = _by_reflections(data, window, scales), "orthogonal"
    else:
        how = "products"
    return HankelFactor(factor / np.sqrt(columns), rows, columns, data.nu, data.ny, scales, how, weakest)


def _by_products(data: Data, window: int, scales: FloatArray) -> tuple[FloatArray | None, float]:
    """Cholesky factor of H Hᵀ, None where it breaks down, and its weakest pivot relative to its row."""
    gram = np.zeros((window * len(scales),) * 2)
    for u, y in zip(data.u, data.y, strict=True):
        gram += hankel_products(u, y, window)
    size = np.tile(scales, window)
    gram /= size[:, None]
    gram /= size
    try:
        L = np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None, 0.0
    pivots = np.diagonal(L) / np.linalg.norm(L, axis=1)
    return L, float(pivots.min())


def hankel_products(u: FloatArray, y: FloatArray, window: int) -> FloatArray:
    """H Hᵀ (window·q, window·q) of one segment, through its shift structure."""
    count, q = len(y), u.shape[1] + y.shape[1]
    columns = count - window + 1
    head, tail = _joined(u, y, 0, window), _joined(u, y, columns, count)
    gram = np.zeros((window, q, window, q))
    gram[0] = _correlations(u, y, window, columns).transpose(1, 0, 2)
    flat = gram.reshape(window * q, window * q)
    for a in range(window - 1):
        here, there = slice(a * q, (a + 1) * q), slice((a + 1) * q, (a + 2) * q)
        step = np.outer(tail[a], tail[a:].ravel()) - np.outer(head[a], head[a : window - 1].ravel())
        flat[there, (a + 1) * q :] = flat[here, a * q : (window - 1) * q] + step
    upper = np.triu(flat)
    return upper + np.triu(flat, 1).T


def _correlations(u: FloatArray, y: FloatArray, window: int, columns: int) -> FloatArray:
    """Σ_{j < columns} w[j] w[j + τ]ᵀ for τ < window: (window, q, q).

    Blocks of ``window`` samples times themselves and times the next: every pair (j, j + τ) lies in one or the other.
    """
    q = u.shape[1] + y.shape[1]
    blocks = max(1, len(y) // window)
    same, following = np.zeros((window * q,) * 2), np.zeros((window * q,) * 2)
    chunk = max(2, BLOCK // (window * q))
    for first in range(0, blocks - 1, chunk):
        last = min(first + chunk, blocks - 1)
        w = _joined(u, y, first * window, (last + 1) * window).reshape(last + 1 - first, window * q)
        same += w[:-1].T @ w[:-1]
        following += w[:-1].T @ w[1:]
    result = np.zeros((window, q, q))
    both = np.concatenate([same.reshape(window, q, window, q), following.reshape(window, q, window, q)], axis=2)
    for a in range(window):
        result += both[a, :, a : a + window].transpose(1, 0, 2)
    done = (blocks - 1) * window
    rest = _joined(u, y, done, len(y))
    for tau in range(window):
        result[tau] += rest[: columns - done].T @ rest[tau : tau + columns - done]
    return result


def _by_reflections(data: Data, window: int, scales: FloatArray) -> FloatArray:
    """Lower factor by QR, carried over blocks of columns of H."""
    size = window * len(scales)
    R = np.zeros((0, size))
    for block in hankel_blocks(data, window, scales, max(2 * size, BLOCK // size)):
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
    L = np.zeros((size, size))
    L[:, : len(R)] = R.T
    return L


def hankel_blocks(data: Data, window: int, scales: FloatArray, size: int) -> Iterator[FloatArray]:
    """Columns of H, as rows of blocks (at most ``size``, window·q)."""
    for u, y in zip(data.u, data.y, strict=True):
        columns = len(y) - window + 1
        for first in range(0, columns, size):
            last = min(first + size, columns)
            w = _joined(u, y, first, last + window - 1) / scales
            yield as_strided(w, (last - first, window * w.shape[1]), w.strides, writeable=False).copy()


def _joined(u: FloatArray, y: FloatArray, first: int, last: int) -> FloatArray:
    """Samples (last - first, q), contiguous."""
    return np.ascontiguousarray(np.hstack([u[first:last], y[first:last]]))
