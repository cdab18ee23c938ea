"""Block-Hankel data compressed to a triangular factor, block by block.

w[k] = (u[k], y[k]), q numbers per sample; column j of the block-Hankel matrix H is (w[j], ..., w[j + 2i - 1]), and a
subspace method needs only a factor F of H Hᵀ = F Fᵀ: 2iq x 2iq, however long the record.

products     H Hᵀ by its shift structure: the first block row holds the correlations Σ_j w[j] w[j + τ]ᵀ, and
             (H Hᵀ)[a+1, b+1] = (H Hᵀ)[a, b] + w[J+a] w[J+b]ᵀ - w[a] w[b]ᵀ. The correlations come from Fourier
             transforms of pieces of the record: some 6 q² operations per sample instead of (2iq)². Then Cholesky. Half
             the digits are lost: pivots below 1e-6 of their rows (noise-free or band-limited data) are rounding, and
             then
orthogonal   Hᵀ = Q R by Householder reflections instead, R carried from block to block of columns: 2 (2iq)² operations
             per sample, all digits kept.

Segments add their products, or stack their columns; no column spans two records.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dalembert.core.arguments import one_of, whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.identify.records.data import Data

Places = NDArray[np.intp]


@frozen
class HankelFactor:
    """The factor F of block-Hankel data, channels scaled to unit root mean square.

    Attributes
    ----------
    standard : (2iq, 2iq)
        Lower triangular, rows in the order U_f, U_p, Y_p, Y_f.
    rows : int
        i, block rows of the past and of the future.
    columns : int
        J, number of columns of H; F Fᵀ = H Hᵀ / J.
    scales : (q,)
        Root mean square of each channel.
    how : "products" or "orthogonal"
    weakest : float
        Smallest relative pivot of the products.
    """

    standard: FloatArray
    rows: int
    columns: int
    nu: int
    ny: int
    scales: FloatArray
    how: str
    weakest: float

    @property
    def factor(self) -> FloatArray:
        """(2iq, 2iq), the same rows in time order: w[0], ..., w[2i-1], each inputs first."""
        factor = np.empty_like(self.standard)
        factor[np.concatenate(window_order(self.rows, self.nu, self.ny))] = self.standard
        return factor

    def places(self, kind: str, first: int, last: int) -> Places:
        """Row numbers of the inputs ("u") or outputs ("y") of samples ``first`` <= k < ``last`` of the window."""
        return row_places(kind, first, last, self.nu, self.ny)

    def note(self) -> str:
        """A note on the compression of the data."""
        size = f"{len(self.standard)} x {len(self.standard)}"
        rows = f"{self.rows} block rows of past and of future"
        data = f"{self.columns} columns of block-Hankel data ({rows}) compressed by"
        if self.how == "products":
            return f"{data} their products to {size}; the weakest pivot, {self.weakest:.1e}, is far from rounding."
        return (
            f"{data} orthogonal reflections to {size}: in products their small independent parts would be rounding "
            f"(weakest pivot {self.weakest:.1e}), as in noise-free or band-limited data."
        )


def row_places(kind: str, first: int, last: int, nu: int, ny: int) -> Places:
    """Row numbers in time order of the inputs or outputs of some samples of the window."""
    inside = np.arange(nu) if kind == "u" else np.arange(nu, nu + ny)
    return (np.arange(first, last)[:, None] * (nu + ny) + inside).reshape(-1)


def window_order(rows: int, nu: int, ny: int) -> list[Places]:
    """Row numbers of U_f, U_p, Y_p, Y_f."""
    spans = (("u", rows, 2 * rows), ("u", 0, rows), ("y", 0, rows), ("y", rows, 2 * rows))
    return [row_places(kind, first, last, nu, ny) for kind, first, last in spans]


def triangularize(rows: FloatArray) -> FloatArray:
    """L lower triangular with L Lᵀ = rows rowsᵀ, by orthogonal reflections; zero columns where rows is too narrow."""
    return _pad_columns(np.asarray(np.linalg.qr(rows.T, mode="r")).T)


def _pad_columns(L: FloatArray) -> FloatArray:
    """L with columns of zeros up to a square."""
    return np.pad(L, ((0, 0), (0, len(L) - L.shape[1])))


def choose_rows(data: Data, order: int | None, rows: int | None, default_rows: int = 30) -> int:
    """Block rows i as given, or enough for twice the order and at least ``default_rows``, within the number of samples.

    default_rows : block rows by default: three periods at ten samples per period.
    """
    q = data.nu + data.ny
    # J >= 2iq columns, J = samples - (2i - 1) segments; half of that, so that the factor is not all noise
    most = int((data.samples + data.segments) / (2.0 * (q + data.segments)))
    most = min(most, min(data.lengths) // 2)
    if rows is not None:
        whole_number("rows", rows, 2)
        if order is not None and (rows - 1) * data.ny < order:
            raise order_too_high(rows, data.ny, (rows - 1) * data.ny, order)
        return int(rows)
    wanted = default_rows if order is None else max(default_rows, -(-2 * order // data.ny) + 1)
    least = 2 if order is None else -(-order // data.ny) + 1
    return max(least, min(wanted, most // 2 if most // 2 >= least else most))


def order_too_high(rows: int, ny: int, largest: int, order: int) -> DataError:
    """The error where the block rows are too few for a model of this order."""
    return DataError(
        "order-too-high",
        f"{rows} block rows of {ny} outputs hold models up to order {largest}, not {order}.",
        Advice("Use {} or more.", Argument("rows", max(rows + 1, order // ny + 2))),
        evidence={"rows": rows, "largest": largest, "order": order},
    )


def compress_hankel(data: Data, rows: int, *, how: str = "auto", weakest_pivot: float = 1e-6) -> HankelFactor:
    """Factor of the block-Hankel data of all segments.

    Parameters
    ----------
    data : Data
    rows : int
        i; every segment needs more than 2i samples.
    how : "auto", "products" or "orthogonal"

    weakest_pivot : a pivot p of the Cholesky factor, relative to its row, is wrong by ε/p²: here 2e-4, far below the
    effect of noise.
    """
    window, q = 2 * rows, data.nu + data.ny
    columns = sum(length - window + 1 for length in data.lengths)
    if min(data.lengths) < window or columns < window * q:
        needed = window * (q + 1) - 1
        raise DataError(
            "too-few-samples",
            f"{rows} block rows of {q} channels need at least {needed} samples (in all, and {window} in each record); "
            f"there are {data.samples}.",
            Advice("Use fewer {}, fewer channels or longer records.", Argument("rows")),
        )
    one_of("how", how, ("auto", "products", "orthogonal"))
    order = np.concatenate(window_order(rows, data.nu, data.ny))
    squares = sum(np.append(np.einsum("ij,ij->j", u, u), np.einsum("ij,ij->j", y, y)) for u, y in zip(data.u, data.y))
    scales = np.sqrt(squares / data.samples)
    scales = np.where(scales > 0.0, scales, 1.0)
    standard, used, weakest = None, "products", 0.0
    if how != "orthogonal":
        standard, weakest = _cholesky(_products(data, window, scales, columns)[np.ix_(order, order)])
        if how == "products" and standard is None:
            raise DataError(
                "singular-matrix",
                "the products of these data are singular to rounding.",
                Advice("Use {}.", Argument("how", "orthogonal"), Argument("how", "auto")),
            )
    if standard is None or (how != "products" and weakest < weakest_pivot):
        standard, used = _factor_by_reflections(data, window, scales, order) / np.sqrt(columns), "orthogonal"
    return HankelFactor(
        standard=standard, rows=rows, columns=columns, nu=data.nu, ny=data.ny, scales=scales, how=used, weakest=weakest
    )


def _products(data: Data, window: int, scales: FloatArray, columns: int) -> FloatArray:
    """H Hᵀ / J of the scaled channels."""
    gram = hankel_products(data.u[0], data.y[0], window)
    for u, y in zip(data.u[1:], data.y[1:], strict=True):
        gram += hankel_products(u, y, window)
    size = np.tile(scales, window)
    gram /= size[:, None] * np.sqrt(columns)
    gram /= size * np.sqrt(columns)
    return gram


def _cholesky(gram: FloatArray) -> tuple[FloatArray | None, float]:
    """Lower factor, None where it breaks down, and its weakest pivot relative to its row."""
    try:
        L = np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None, 0.0
    return L, float(np.sqrt((np.diagonal(L) ** 2 / np.diagonal(gram)).min()))


def hankel_products(u: FloatArray, y: FloatArray, window: int) -> FloatArray:
    """H Hᵀ (window·q, window·q) of one segment, through its shift structure."""
    count, q = len(y), u.shape[1] + y.shape[1]
    columns = count - window + 1
    size = (window - 1) * q
    head, tail = (_join(u, y, first, first + window).ravel()[:size] for first in (0, columns))
    step = np.outer(tail, tail)
    step -= np.outer(head, head)
    gram = np.empty((window * q, window * q))
    gram[:q] = _correlations(u, y, window, columns).transpose(1, 0, 2).reshape(q, -1)
    for a in range(0, size, q):
        np.add(gram[a : a + q, a:size], step[a : a + q, a:], out=gram[a + q : a + 2 * q, a + q :])
        gram[a + q :, a : a + q] = gram[a : a + q, a + q :].T
    return gram


def _correlations(u: FloatArray, y: FloatArray, window: int, columns: int, piece_count: int = 100_000) -> FloatArray:
    """Σ_{j < columns} w[j] w[j + τ]ᵀ for τ < window: (window, q, q).

    By Fourier transforms of pieces of the record, and of the same pieces with the window - 1 samples after them.

    piece_count : numbers of a piece that is transformed at once: they fit into the cache.
    """
    q = u.shape[1] + y.shape[1]
    size = max(512, 1 << (4 * window - 1).bit_length())
    step = size - window + 1
    many = max(1, piece_count // (q * size))
    crossed = np.zeros((size // 2 + 1, q, q), dtype=complex)
    for first in range(0, columns, many * step):
        count = -(-min(many * step, columns - first) // step)
        w = np.zeros((q, count * step + window - 1))
        block = _join(u, y, first, min(first + w.shape[1], len(y)))
        w[:, : len(block)] = block.T
        long = as_strided(w, (q, count, size), (w.strides[0], step * w.itemsize, w.itemsize), writeable=False)
        short = np.zeros((q, count, size))
        short[..., :step] = long[..., :step]
        if first + count * step > columns:
            short[:, -1, columns - first - (count - 1) * step :] = 0.0
        before, after = (np.fft.rfft(pieces).transpose(2, 0, 1) for pieces in (short, long))
        crossed += np.conj(before) @ np.ascontiguousarray(after).transpose(0, 2, 1)
    return np.fft.irfft(crossed, size, axis=0)[:window]


def _factor_by_reflections(
    data: Data, window: int, scales: FloatArray, order: Places, block_size: int = 400_000
) -> FloatArray:
    """Lower factor of the rows in this order by QR, carried over blocks of columns of H.

    block_size : numbers of a block held at once: 3 MB.
    """
    size = window * len(scales)
    R = np.zeros((0, size))
    for block in hankel_blocks(data, window, scales, max(4 * size, block_size // size)):
        R = np.asarray(np.linalg.qr(np.vstack([R, block[:, order]]), mode="r"))
    return _pad_columns(R.T)


def hankel_blocks(data: Data, window: int, scales: FloatArray, size: int) -> Iterator[FloatArray]:
    """Columns of H, as rows of blocks (at most ``size``, window·q)."""
    for u, y in zip(data.u, data.y, strict=True):
        columns = len(y) - window + 1
        for first in range(0, columns, size):
            last = min(first + size, columns)
            w = _join(u, y, first, last + window - 1) / scales
            yield as_strided(w, (last - first, window * w.shape[1]), w.strides, writeable=False).copy()


def _join(u: FloatArray, y: FloatArray, first: int, last: int) -> FloatArray:
    """Samples (last - first, q), contiguous."""
    return np.ascontiguousarray(np.hstack([u[first:last], y[first:last]]))
