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

# Samples of a block, and numbers of the blocks held at once (8 MB).
LENGTH = 256
CHUNK = 1_000_000


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
        J, nu, L = len(poles), self.nu, self.length
        orders = 2 if derivatives else 1
        powers = _powers(poles, L, orders)
        columns = np.ascontiguousarray(np.stack([powers.real, powers.imag], axis=-1).transpose(2, 0, 1, 3))
        forward = columns.reshape(L, -1)
        backward = np.ascontiguousarray(columns[::-1]).reshape(L, -1)
        W, V = [], []
        for blocks in self.chunks():
            some = blocks.shape[1]
            W.append((blocks.reshape(-1, L) @ forward).reshape(self.q, some, orders * J * 2))
            V.append((blocks[:nu].reshape(nu * some, L) @ backward).reshape(nu, some, orders * J * 2))
        # (order, J, channel, block)
        seen, added = (_complex(np.concatenate(parts, axis=1), orders, J) for parts in (W, V))
        rest = self.count - L * (seen.shape[-1] - 1)  # samples of the last block
        lag = np.tensordot(powers[:, :, : L - 1], self.lags, axes=(2, 0))
        step = np.exp(L * poles)
        f = scanned(added[0], step)
        begins = L * np.arange(seen.shape[-1])
        h = np.exp(poles[:, None] * begins)
        last = self.u[self.count - rest :].T @ backward[L - rest :]
        ends = _complex(last[:, None], orders, J)[..., 0]  # (order, J, nu)
        gone = np.exp(rest * poles)
        f_end, h_end = gone[:, None] * f[..., -1] + ends[0], np.exp(self.count * poles)
        fw = np.matmul(f, seen[0].transpose(0, 2, 1)) + lag[0]
        hw = np.matmul(seen[0], h[:, :, None])[..., 0]
        if not derivatives:
            return FilterSums(fw, hw, f_end, h_end)
        slow, slow_gone = L * np.exp((L - 1) * poles), rest * np.exp((rest - 1) * poles)
        df = scanned(added[1] + slow[:, None, None] * f, step)
        dh = begins * np.exp(poles[:, None] * np.maximum(begins - 1, 0))
        df_w = np.matmul(df, seen[0].transpose(0, 2, 1)) + np.matmul(f, seen[1].transpose(0, 2, 1)) + lag[1]
        dh_w = (np.matmul(seen[0], dh[:, :, None]) + np.matmul(seen[1], h[:, :, None]))[..., 0]
        df_end = gone[:, None] * df[..., -1] + slow_gone[:, None] * f[..., -1] + ends[1]
        return FilterSums(
            fw, hw, f_end, h_end, df_w, dh_w, df_end, self.count * np.exp((self.count - 1) * poles)
        )  # fmt: skip


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


def scanned(drive: ComplexArray, step: ComplexArray) -> ComplexArray:
    """x (J, k, blocks) with x[b+1] = step x[b] + drive[b], x[0] = 0, by doubling."""
    x = np.zeros_like(drive)
    x[..., 1:] = drive[..., :-1]
    ahead, power = 1, step[:, None, None]
    while ahead < x.shape[-1]:
        x[..., ahead:] += power * x[..., :-ahead]
        ahead, power = 2 * ahead, power * power
    return x
