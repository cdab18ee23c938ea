"""Sums over a record of products of filtered signals, without running the filters sample by sample.

w = (u, y), cut into blocks of L samples from t = τ_b on. For a filter of pole λ, f[t+1] = λ f[t] + u[t], f[0] = 0:

    starts    f[τ_b + L] = λᴸ f[τ_b] + Σ_s λ^(L-1-s) u[τ_b + s]
    sums      Σ_t f[t] w[t] = Σ_b f[τ_b] W[b] + Σ_k λ^(k-1) r(k),   W[b] = Σ_s λˢ w[τ_b + s],
              r(k) = Σ u[t] w[t + k] over all t with both samples in one block

r does not depend on λ: it is made once, by Fourier transforms of the blocks. Every λ then needs only products of the
data with powers of λ, some J q N multiplications for J poles instead of the (J nu)² N of a Gram matrix of filtered
signals; nothing is truncated, however slow the poles. The derivative by λ, d[t+1] = λ d[t] + f[t], follows in the same
way with the weights s λ^(s-1).

Products of filtered signals with each other follow from those with the data alone. Two signals a[t+1] = λ a[t] + v[t]
and b[t+1] = μ b[t] + w[t] over N samples have (add up the products of both sides)

    (1 - λ μ) Σ a b = λ Σ a w + μ Σ v b + Σ v w + a[0] b[0] - a[N] b[N]

so that the Gram matrix of the signals of a modal model (`modal_likelihood`) follows from Σ f w, Σ h w without a pass
over the data: exactly, for any inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray

# The second factor of a product unchanged, and conjugate.
Conjugation = Callable[[ComplexArray], ComplexArray]
CONJUGATIONS: tuple[Conjugation, Conjugation] = (np.asarray, np.conj)


@dataclass(frozen=True)
class FilterSums:
    """Of J poles, over one record: f = (q - λ)⁻¹ u, h = λᵗ and their derivatives by λ.

    ``fw`` (J, nu, q) Σ f w; ``hw`` (J, q) Σ h w; ``f_end`` (J, nu), ``h_end`` (J,) one sample after the last; ``df_w``,
    ``dh_w``, ``df_end``, ``dh_end`` the same of the derivatives, None where not requested.
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
    """Moments of a record u (N, nu), y (N, ny), made once: ``ww`` (q, q) Σ w wᵀ and ``lags`` (L - 1, nu, q) = r(k)."""

    def __init__(self, u: FloatArray, y: FloatArray, block_length: int = 256) -> None:
        # block_length: samples of a block
        self.u, self.y = u, y
        self.count, self.nu, self.q = len(u), u.shape[1], u.shape[1] + y.shape[1]
        self.length = min(block_length, self.count)
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

    def chunks(self, chunk: int = 100_000) -> Iterator[FloatArray]:
        """Blocks (q, some, L), by channel; zeros after the last sample.

        chunk : numbers of the blocks held at once (0.8 MB).
        """
        L = self.length
        size = L * max(1, chunk // (self.q * L))
        for first in range(0, self.count, size):
            count = min(size, self.count - first)
            blocks = np.zeros((self.q, -(-count // L) * L))
            blocks[: self.nu, :count] = self.u[first : first + count].T
            blocks[self.nu :, :count] = self.y[first : first + count].T
            yield blocks.reshape(self.q, -1, L)

    def sums(self, poles: ComplexArray, *, derivatives: bool) -> FilterSums:
        """Of filters with multipliers λ = exp(poles), |λ| ≤ 1; kept for the next call with the same poles."""
        key = poles.tobytes()
        if self._last is None or self._last[0] != key or self._last[1] < derivatives:
            self._last = key, derivatives, self._sums(poles, derivatives)
        return self._last[2]

    def _sums(self, poles: ComplexArray, derivatives: bool) -> FilterSums:
        filters = BlockFilters(poles, self.nu, self.length, derivatives)
        with_f = np.tensordot(filters.powers[:, :, : self.length - 1], self.lags, axes=(2, 0))
        with_h = np.zeros((len(with_f), len(poles), self.q), dtype=complex)
        for blocks in self.chunks():
            weighed = filters.weigh(blocks)
            starts = filters.starts(blocks[: self.nu], self.count)
            for order, sums in enumerate(add_starts(starts, weighed)):
                with_f[order] += sums[:, :-1]
                with_h[order] += sums[:, -1]
        h_end, dh_end = np.exp(self.count * poles), self.count * np.exp((self.count - 1) * poles)
        if not derivatives:
            return FilterSums(with_f[0], with_h[0], filters.f, h_end)
        return FilterSums(with_f[0], with_h[0], filters.f, h_end, with_f[1], with_h[1], filters.df, dh_end)


class BlockFilters:
    """Filters of J poles that run over the blocks of a record; ``f``, ``df`` (J, nu) their present states."""

    def __init__(self, poles: ComplexArray, nu: int, length: int, derivatives: bool) -> None:
        self.poles, self.length, self.orders, self.done = poles, length, 2 if derivatives else 1, 0
        self.powers = _powers(poles, length, self.orders)
        columns = np.stack([self.powers.real, self.powers.imag], axis=-1).transpose(2, 0, 1, 3)
        self.forward = np.ascontiguousarray(columns).reshape(length, -1)
        self.backward = np.ascontiguousarray(columns[::-1]).reshape(length, -1)
        self.f, self.df = np.zeros((2, len(poles), nu), dtype=complex)

    def weigh(self, blocks: FloatArray) -> ComplexArray:
        """Σ_s λˢ w and Σ_s s λ^(s-1) w of blocks (channels, some, L): (orders, J, channels, some)."""
        return self._complex(blocks, self.forward)

    def starts(self, u: FloatArray, count: int) -> list[ComplexArray]:
        """(f, h) and their derivatives where each of these blocks u (nu, some, L) starts: orders of (J, nu + 1, some).

        count : samples of the record; the last block may have less than L.
        """
        poles, L, some = self.poles, self.length, u.shape[1]
        drive = self._complex(u, self.backward)
        begins = self.done + L * np.arange(some)
        last = min(L, count - int(begins[-1]))
        if last < L:
            drive[..., -1] = self._complex(u[:, -1:, :last], self.backward[L - last :])[..., 0]
        self.done += L * some
        f = scan(drive[0], poles, L, self.f)
        gone = np.exp(last * poles)[:, None]
        self.f = gone * f[..., -1] + drive[0, ..., -1]
        h = np.exp(poles[:, None] * begins)
        result = [np.concatenate([f, h[:, None]], axis=1)]
        if self.orders == 2:
            df = scan(drive[1] + (L * np.exp((L - 1) * poles))[:, None, None] * f, poles, L, self.df)
            late = last * np.exp((last - 1) * poles)[:, None] * f[..., -1]
            self.df = gone * df[..., -1] + late + drive[1, ..., -1]
            dh = np.exp(poles[:, None] * np.maximum(begins - 1, 0)) * begins
            result.append(np.concatenate([df, dh[:, None]], axis=1))
        return result

    def _complex(self, blocks: FloatArray, columns: FloatArray) -> ComplexArray:
        """(channels, some, L) times columns (L, orders·J·2), complex (orders, J, channels, some)."""
        channels, some, length = blocks.shape
        parts = np.ascontiguousarray(blocks.reshape(channels * some, length) @ columns).view(np.complex128)
        result = parts.reshape(channels, some, self.orders, len(self.poles)).transpose(2, 3, 0, 1)
        return np.ascontiguousarray(result)


def add_starts(starts: list[ComplexArray], seen: ComplexArray) -> list[ComplexArray]:
    """Share of the states at the starts of blocks in Σ (f, h) w and its derivatives: orders of (..., nu + 1, q)."""
    seen = seen.swapaxes(-1, -2)
    result = [np.matmul(starts[0], seen[0])]
    if len(starts) == 2:
        result.append(np.matmul(starts[1], seen[0]) + np.matmul(starts[0], seen[1]))
    return result


def _powers(poles: ComplexArray, count: int, orders: int) -> ComplexArray:
    """λˢ and s λ^(s-1), s < count: (orders, J, count)."""
    s = np.arange(count)
    powers = np.exp(poles[:, None] * s)
    if orders == 1:
        return powers[None]
    slow = np.zeros_like(powers)
    slow[:, 1:] = s[1:] * powers[:, :-1]
    return np.stack([powers, slow])


def scan(drive: ComplexArray, poles: ComplexArray, length: int, start: ComplexArray) -> ComplexArray:
    """x (J, k, blocks) with x[b+1] = λ^length x[b] + drive[b], x[0] = start, by doubling."""
    x = np.empty_like(drive)
    x[..., 0], x[..., 1:] = start, drive[..., :-1]
    ahead = 1
    while ahead < x.shape[-1]:
        x[..., ahead:] += np.exp(ahead * length * poles)[:, None, None] * x[..., :-ahead]
        ahead *= 2
    return x


# ---- products of filtered signals with each other


@dataclass(frozen=True)
class FilteredProducts:
    """Σ a b, or Σ a b̄, of f = (q - λ)⁻¹ u and h = λᵗ: ``ff`` (J, nu, J, nu), ``fh`` (J, nu, J), ``hh`` (J, J)."""

    ff: ComplexArray
    fh: ComplexArray
    hh: ComplexArray

    def join(self, conjugate: Conjugation) -> ComplexArray:
        """All of (h, f_1, ..., f_nu), each of every pole: ((1 + nu)·J, (1 + nu)·J)."""
        J, nu = self.fh.shape[:2]
        result = np.empty((1 + nu, J, 1 + nu, J), dtype=complex)
        result[0, :, 0], result[1:, :, 1:] = self.hh, self.ff.transpose(1, 0, 3, 2)
        result[1:, :, 0], result[0, :, 1:] = self.fh.transpose(1, 0, 2), conjugate(self.fh).transpose(2, 1, 0)
        return result.reshape((1 + nu) * J, (1 + nu) * J)


def multiply_filtered(lam: ComplexArray, sums: FilterSums, uu: FloatArray, conjugate: Conjugation) -> FilteredProducts:
    """The second factor unchanged, or conjugate."""
    nu = len(uu)
    over = 1.0 / (1.0 - lam[:, None] * conjugate(lam))
    fu, hu = sums.fw[..., :nu], sums.hw[:, :nu]
    there = conjugate(lam[:, None, None] * fu)
    ff = lam[:, None, None, None] * fu[:, :, None, :] + there.transpose(2, 0, 1) + uu[:, None, :]
    ff -= sums.f_end[:, :, None, None] * conjugate(sums.f_end)
    fh = conjugate(lam[:, None] * hu).T - sums.f_end[:, :, None] * conjugate(sums.h_end)
    hh = 1.0 - sums.h_end[:, None] * conjugate(sums.h_end)
    return FilteredProducts(ff * over[:, None, :, None], fh * over[:, None, :], hh * over)


def multiply_modal(
    lam: ComplexArray, weights: ComplexArray, sums: FilterSums, uu: FloatArray, conjugate: Conjugation
) -> ComplexArray:
    """Σ a b or Σ a b̄ of the signals (f, h, λ g) of every mode, (J, nu + 2, J, nu + 2).

    g = (q - λ)⁻¹ z, z = b f + z₀ h; weights (J, nu + 1) = [b, z₀].
    """
    assert sums.df_w is not None and sums.dh_w is not None and sums.df_end is not None and sums.dh_end is not None
    J, nu = len(lam), len(uu)
    b, z0 = weights[:, :nu], weights[:, nu]
    simple = multiply_filtered(lam, sums, uu, conjugate)
    ff, fh, hh = simple.ff, simple.fh, simple.hh
    hf = conjugate(fh).transpose(2, 0, 1)
    over = 1.0 / (1.0 - lam[:, None] * conjugate(lam))
    zf = np.matmul(b[:, None, :], ff.reshape(J, nu, J * nu)).reshape(J, J, nu) + z0[:, None, None] * hf
    zh = np.matmul(b[:, None, :], fh)[:, 0] + z0[:, None] * hh
    zu = np.einsum("jk,jkm->jm", b, sums.fw[..., :nu]) + z0[:, None] * sums.hw[:, :nu]
    gu = np.einsum("jk,jkm->jm", b, sums.df_w[..., :nu]) + z0[:, None] * sums.dh_w[:, :nu]
    g_end = np.einsum("jk,jk->j", b, sums.df_end) + z0 * sums.dh_end
    gf = lam[:, None, None] * gu[:, None, :] + conjugate(lam)[:, None] * zf + zu[:, None, :]
    gf = (gf - g_end[:, None, None] * conjugate(sums.f_end)) * over[..., None]
    gh = (conjugate(lam) * zh - g_end[:, None] * conjugate(sums.h_end)) * over
    zz = np.einsum("jlm,lm->jl", zf, conjugate(b)) + zh * conjugate(z0)
    gz = np.einsum("jlm,lm->jl", gf, conjugate(b)) + gh * conjugate(z0)
    gg = (lam[:, None] * gz + conjugate(lam) * conjugate(gz).T + zz - g_end[:, None] * conjugate(g_end)) * over
    result = np.empty((J, nu + 2, J, nu + 2), dtype=complex)
    result[:, :nu, :, :nu], result[:, :nu, :, nu], result[:, nu, :, nu] = ff, fh, hh
    result[:, nu, :, :nu] = hf
    gf, gh = lam[:, None, None] * gf, lam[:, None] * gh
    result[:, nu + 1, :, :nu], result[:, nu + 1, :, nu] = gf, gh
    result[:, :nu, :, nu + 1], result[:, nu, :, nu + 1] = conjugate(gf).transpose(1, 2, 0), conjugate(gh).T
    result[:, nu + 1, :, nu + 1] = lam[:, None] * gg * conjugate(lam)
    return result


def real_products(plain: ComplexArray, conjugated: ComplexArray) -> FloatArray:
    """Products (a, 2, b, 2) of real and imaginary parts from Σ a b and Σ a b̄, both (a, b)."""
    result = np.empty((plain.shape[0], 2, plain.shape[1], 2))
    result[:, 0, :, 0], result[:, 1, :, 1] = 0.5 * (plain + conjugated).real, 0.5 * (conjugated - plain).real
    result[:, 0, :, 1], result[:, 1, :, 0] = 0.5 * (plain - conjugated).imag, 0.5 * (plain + conjugated).imag
    return result
