"""Sums over a record of what first-order filters make of it, without running the filters sample by sample.

w = (u, y), cut into blocks of L samples from t = τ_b on. For a filter of pole λ, f[t+1] = λ f[t] + u[t], f[0] = 0:

    starts    f[τ_b + L] = λᴸ f[τ_b] + Σ_s λ^(L-1-s) u[τ_b + s]
    sums      Σ_t f[t] w[t] = Σ_b f[τ_b] W[b] + Σ_k λ^(k-1) r(k),   W[b] = Σ_s λˢ w[τ_b + s],
              r(k) = Σ u[t] w[t + k] over all t with both samples in one block

r does not depend on λ: it is made once, by Fourier transforms of the blocks. What is left for every λ are products of
the data with powers of λ, some J q N multiplications for J poles instead of the (J nu)² N of a Gram matrix of filtered
signals; nothing is cut off, however slow the poles. The derivative by λ, d[t+1] = λ d[t] + f[t], goes the same way
with the weights s λ^(s-1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.linear.checks import ComplexArray, FloatArray

# Samples of a block, and numbers of the blocks held at once (0.8 MB).
LENGTH = 256
CHUNK = 100_000


@dataclass(frozen=True)
class FilterSums:
    """Of J poles, over one record: f = (q - λ)⁻¹ u, h = λᵗ and their derivatives by λ.

    ``fw`` (J, nu, q) Σ f w; ``hw`` (J, q) Σ h w; ``f_end`` (J, nu), ``h_end`` (J,) one sample after the last; ``df_w``,
    ``dh_w``, ``df_end``, ``dh_end`` the same of the derivatives, None where not asked for.
    """

    fw: ComplexArray
    hw: ComplexArray
    f_end: ComplexArray
    h_end: ComplexArray
    df_w: ComplexArray | None = None
    dh_w: ComplexArray | None = None
    df_end: ComplexArray | None = None
    dh_end: ComplexArray | None = None


class Moments:
    """What is made once of a record u (N, nu), y (N, ny): ``ww`` (q, q) Σ w wᵀ and ``lags`` (L - 1, nu, q) = r(k)."""

    def __init__(self, u: FloatArray, y: FloatArray) -> None:
        self.u, self.y = u, y
        self.count, self.nu, self.q = len(u), u.shape[1], u.shape[1] + y.shape[1]
        self.length = min(LENGTH, self.count)
        self.ww = np.zeros((self.q, self.q))
        crossed = np.zeros((self.nu, self.q, self.length + 1), dtype=complex)
        for blocks in self.chunks():
            flat = blocks.reshape(self.q, -1)
            self.ww += flat @ flat.T
            spectra = np.fft.rfft(blocks, 2 * self.length)
            for k in range(self.nu):
                crossed[k] += np.einsum("bf,qbf->qf", spectra[k].conj(), spectra)
        lags = np.fft.irfft(crossed, 2 * self.length)[..., 1 : self.length]
        self.lags = np.ascontiguousarray(lags.transpose(2, 0, 1))
        self._last: tuple[bytes, bool, FilterSums] | None = None

    def chunks(self) -> Iterator[FloatArray]:
        """Blocks (q, some, L), by channel; zeros after the last sample."""
        L = self.length
        size = L * max(1, CHUNK // (self.q * L))
        for first in range(0, self.count, size):
            count = min(size, self.count - first)
            blocks = np.zeros((self.q, -(-count // L) * L))
            blocks[: self.nu, :count] = self.u[first : first + count].T
            blocks[self.nu :, :count] = self.y[first : first + count].T
            yield blocks.reshape(self.q, -1, L)

    def sums(self, poles: ComplexArray, *, derivatives: bool) -> FilterSums:
        """Of filters with multipliers λ = exp(poles), |λ| ≤ 1; kept until other poles are asked for."""
        key = poles.tobytes()
        if self._last is None or self._last[0] != key or self._last[1] < derivatives:
            self._last = key, derivatives, self._sums(poles, derivatives)
        return self._last[2]

    def _sums(self, poles: ComplexArray, derivatives: bool) -> FilterSums:
        J, nu, L, orders = len(poles), self.nu, self.length, 2 if derivatives else 1
        powers = _powers(poles, L, orders)
        columns = np.ascontiguousarray(np.stack([powers.real, powers.imag], axis=-1).transpose(2, 0, 1, 3))
        forward, backward = columns.reshape(L, -1), np.ascontiguousarray(columns[::-1]).reshape(L, -1)
        lag = np.tensordot(powers[:, :, : L - 1], self.lags, axes=(2, 0))
        with_f, with_h = lag.astype(complex), np.zeros((orders, J, self.q), dtype=complex)
        f, df = np.zeros((2, J, nu), dtype=complex)  # at the end of what is done
        first = 0
        for blocks in self.chunks():
            some = blocks.shape[1]
            # (orders, J, channels, blocks)
            seen = _complex((blocks.reshape(-1, L) @ forward).reshape(self.q, some, -1), orders, J)
            drive = blocks[:nu].reshape(nu * some, L) @ backward
            added = _complex(drive.reshape(nu, some, orders * J * 2), orders, J)
            begins = first + L * np.arange(some)
            last = min(L, self.count - int(begins[-1]))  # samples of the last block
            if last < L:
                drive = self.u[self.count - last :].T @ backward[L - last :]
                added[..., -1] = _complex(drive[:, None], orders, J)[..., 0]
            h = np.exp(poles[:, None] * begins)[:, None, :]
            starts = scanned(added[0], poles, L, f)
            _add(with_f[0], with_h[0], starts, h, seen[0])
            if derivatives:
                _add(with_f[1], with_h[1], starts, h, seen[1])
                growth = added[1] + (L * np.exp((L - 1) * poles))[:, None, None] * starts
                slow = scanned(growth, poles, L, df)
                dh: ComplexArray = begins * np.exp(poles[:, None] * np.maximum(begins - 1, 0))
                _add(with_f[1], with_h[1], slow, dh[:, None, :], seen[0])
                left = last * np.exp((last - 1) * poles)[:, None] * starts[..., -1] + added[1, ..., -1]
                df = np.exp(last * poles)[:, None] * slow[..., -1] + left
            f = np.exp(last * poles)[:, None] * starts[..., -1] + added[0, ..., -1]
            first += L * some
        h_end, dh_end = np.exp(self.count * poles), self.count * np.exp((self.count - 1) * poles)
        if not derivatives:
            return FilterSums(with_f[0], with_h[0], f, h_end)
        return FilterSums(with_f[0], with_h[0], f, h_end, with_f[1], with_h[1], df, dh_end)


def _add(with_f: ComplexArray, with_h: ComplexArray, f: ComplexArray, h: ComplexArray, seen: ComplexArray) -> None:
    """What the starts f (J, nu, blocks), h (J, 1, blocks) of blocks add to the sums, seen (J, q, blocks)."""
    turned = seen.transpose(0, 2, 1)
    with_f += np.matmul(f, turned)
    with_h += np.matmul(h, turned)[:, 0]


def _powers(poles: ComplexArray, count: int, orders: int) -> ComplexArray:
    """λˢ and s λ^(s-1), s < count: (orders, J, count)."""
    s = np.arange(count)
    powers = np.exp(poles[:, None] * s)
    if orders == 1:
        return powers[None]
    slow = np.zeros_like(powers)
    slow[:, 1:] = s[1:] * powers[:, :-1]
    return np.stack([powers, slow])


def _complex(parts: FloatArray, orders: int, J: int) -> ComplexArray:
    """(channels, blocks, orders·J·2) -> complex (orders, J, channels, blocks)."""
    channels, blocks, _ = parts.shape
    result = np.ascontiguousarray(parts).view(np.complex128).reshape(channels, blocks, orders, J)
    return np.ascontiguousarray(result.transpose(2, 3, 0, 1))


def scanned(drive: ComplexArray, poles: ComplexArray, length: int, start: ComplexArray) -> ComplexArray:
    """x (J, k, blocks) with x[b+1] = λ^length x[b] + drive[b], x[0] = start, by doubling."""
    x = np.empty_like(drive)
    x[..., 0], x[..., 1:] = start, drive[..., :-1]
    ahead = 1
    while ahead < x.shape[-1]:
        x[..., ahead:] += np.exp(ahead * length * poles)[:, None, None] * x[..., :-ahead]
        ahead *= 2
    return x
