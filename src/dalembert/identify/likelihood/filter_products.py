"""Products of filtered signals with each other, from those with the data alone.

Two signals a[t+1] = λ a[t] + v[t] and b[t+1] = μ b[t] + w[t] over N samples have (add up the products of both sides)

    (1 - λ μ) Σ a b = λ Σ a w + μ Σ v b + Σ v w + a[0] b[0] - a[N] b[N]

so that the Gram matrix of the signals of a modal model (`modal_likelihood`) follows from
Σ f w, Σ h w (`block_moments`) without a pass over the data: exactly, whatever the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.identify.likelihood.block_moments import FilterSums

Turn = Callable[[ComplexArray], ComplexArray]
# The second factor as it is, and conjugate.
TURNS: tuple[Turn, Turn] = (np.asarray, np.conj)
# Decay over a record, -N ln |λ|, below which 1 - λ μ takes too many digits.
UNDAMPED = 0.05


@dataclass(frozen=True)
class Filtered:
    """Σ a b, or Σ a b̄, of f = (q - λ)⁻¹ u and h = λᵗ: ``ff`` (J, nu, J, nu), ``fh`` (J, nu, J), ``hh`` (J, J)."""

    ff: ComplexArray
    fh: ComplexArray
    hh: ComplexArray

    def joined(self, turn: Turn) -> ComplexArray:
        """All of (h, f_1, ..., f_nu), each of every pole: ((1 + nu)·J, (1 + nu)·J)."""
        J, nu = self.fh.shape[:2]
        result = np.empty((1 + nu, J, 1 + nu, J), dtype=complex)
        result[0, :, 0], result[1:, :, 1:] = self.hh, self.ff.transpose(1, 0, 3, 2)
        result[1:, :, 0], result[0, :, 1:] = self.fh.transpose(1, 0, 2), turn(self.fh).transpose(2, 1, 0)
        return result.reshape((1 + nu) * J, (1 + nu) * J)


def filtered(lam: ComplexArray, sums: FilterSums, uu: FloatArray, turn: Turn) -> Filtered:
    """The second factor as it is, or conjugate (``turn``)."""
    nu = len(uu)
    over = 1.0 / (1.0 - lam[:, None] * turn(lam))
    fu, hu = sums.fw[..., :nu], sums.hw[:, :nu]
    there = turn(lam[:, None, None] * fu)
    ff = lam[:, None, None, None] * fu[:, :, None, :] + there.transpose(2, 0, 1) + uu[:, None, :]
    ff -= sums.f_end[:, :, None, None] * turn(sums.f_end)
    fh = turn(lam[:, None] * hu).T - sums.f_end[:, :, None] * turn(sums.h_end)
    hh = 1.0 - sums.h_end[:, None] * turn(sums.h_end)
    return Filtered(ff * over[:, None, :, None], fh * over[:, None, :], hh * over)


def modal_products(
    lam: ComplexArray, weights: ComplexArray, sums: FilterSums, uu: FloatArray, turn: Turn
) -> ComplexArray:
    """Σ a b or Σ a b̄ of the signals (f, h, λ g) of every mode, (J, nu + 2, J, nu + 2).

    g = (q - λ)⁻¹ z, z = b f + z₀ h; weights (J, nu + 1) = [b, z₀].
    """
    assert sums.df_w is not None and sums.dh_w is not None and sums.df_end is not None and sums.dh_end is not None
    J, nu = len(lam), len(uu)
    b, z0 = weights[:, :nu], weights[:, nu]
    simple = filtered(lam, sums, uu, turn)
    ff, fh, hh = simple.ff, simple.fh, simple.hh
    hf = turn(fh).transpose(2, 0, 1)
    over = 1.0 / (1.0 - lam[:, None] * turn(lam))
    zf = np.matmul(b[:, None, :], ff.reshape(J, nu, J * nu)).reshape(J, J, nu) + z0[:, None, None] * hf
    zh = np.matmul(b[:, None, :], fh)[:, 0] + z0[:, None] * hh
    zu = np.einsum("jk,jkm->jm", b, sums.fw[..., :nu]) + z0[:, None] * sums.hw[:, :nu]
    gu = np.einsum("jk,jkm->jm", b, sums.df_w[..., :nu]) + z0[:, None] * sums.dh_w[:, :nu]
    g_end = np.einsum("jk,jk->j", b, sums.df_end) + z0 * sums.dh_end
    gf = lam[:, None, None] * gu[:, None, :] + turn(lam)[:, None] * zf + zu[:, None, :]
    gf = (gf - g_end[:, None, None] * turn(sums.f_end)) * over[..., None]
    gh = (turn(lam) * zh - g_end[:, None] * turn(sums.h_end)) * over
    zz = np.einsum("jlm,lm->jl", zf, turn(b)) + zh * turn(z0)
    gz = np.einsum("jlm,lm->jl", gf, turn(b)) + gh * turn(z0)
    gg = (lam[:, None] * gz + turn(lam) * turn(gz).T + zz - g_end[:, None] * turn(g_end)) * over
    result = np.empty((J, nu + 2, J, nu + 2), dtype=complex)
    result[:, :nu, :, :nu], result[:, :nu, :, nu], result[:, nu, :, nu] = ff, fh, hh
    result[:, nu, :, :nu] = hf
    gf, gh = lam[:, None, None] * gf, lam[:, None] * gh
    result[:, nu + 1, :, :nu], result[:, nu + 1, :, nu] = gf, gh
    result[:, :nu, :, nu + 1], result[:, nu, :, nu + 1] = turn(gf).transpose(1, 2, 0), turn(gh).T
    result[:, nu + 1, :, nu + 1] = lam[:, None] * gg * turn(lam)
    return result


def real_products(plain: ComplexArray, turned: ComplexArray) -> FloatArray:
    """Products (a, 2, b, 2) of real and imaginary parts from Σ a b and Σ a b̄, both (a, b)."""
    result = np.empty((plain.shape[0], 2, plain.shape[1], 2))
    result[:, 0, :, 0], result[:, 1, :, 1] = 0.5 * (plain + turned).real, 0.5 * (turned - plain).real
    result[:, 0, :, 1], result[:, 1, :, 0] = 0.5 * (plain - turned).imag, 0.5 * (plain + turned).imag
    return result
