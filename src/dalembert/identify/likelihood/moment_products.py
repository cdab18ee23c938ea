"""The products of :func:`dalembert.identify.likelihood.modal_likelihood.products` from the moments of the records.

e = y - Re(C z) - D u is never made: Σ s e = Σ s y - Σ s ŷ, and Σ e eᵀ likewise. That loses (rms y / rms e)² of the
digits, which is nothing for measured data; where the residuals are small (``CLEAN``), e itself must be made. So must
the signals where a mode does not decay within a record (``UNDAMPED``): 1 - λ μ takes the digits then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.identify.likelihood.block_moments import Moments
from dalembert.identify.likelihood.filter_products import TURNS, UNDAMPED, modal_products, real_products
from dalembert.identify.likelihood.modal_likelihood import ModalModel, Products

# Power of the residuals, relative to that of their output, below which differences of powers lose too much: V is then
# known to some 1e-12 N, against 1e-5 that ends the ascent.
CLEAN = 1e-4


def quick_products(model: ModalModel, records: Sequence[Moments]) -> Products:
    """As ``likelihood.products``."""
    J, nu, ny, S = len(model.poles), model.nu, len(model.D), len(records)
    P, direct = nu + S + 1, model.direct
    d = int(direct.sum())
    zz, zu, ze = np.zeros((J, P, 2, J, P, 2)), np.zeros((J, P, 2, d)), np.zeros((J, P, 2, ny))
    uu, ue, ee = np.zeros((d, d)), np.zeros((d, ny)), np.zeros((ny, ny))
    for s, moments in enumerate(records):
        place = np.array([*range(nu), nu + s, nu + S])
        inner, with_u, with_e, total = _record(model, moments, model.weights[:, [*range(nu), nu + s]])
        if S == 1:
            zz = inner
        else:
            zz[:, place[:, None], :, :, place[None, :]] += inner.transpose(1, 4, 0, 2, 3, 5)
        zu[:, place] += with_u[..., direct]
        ze[:, place] += with_e
        uu += moments.ww[:nu, :nu][direct][:, direct]
        ue += total[:nu][direct]
        ee += total[nu:]
    return Products(zz, zu, uu, ze, ue, 0.5 * (ee + ee.T), sum(part.count for part in records))


def decaying(model: ModalModel, records: Sequence[Moments]) -> bool:
    """Whether all modes decay enough, in every record, for their products to follow from those with the data."""
    slowest = float(np.min(-model.poles.real, initial=np.inf))
    return slowest * min(part.count for part in records) > UNDAMPED


def clean(sums: Products, records: Sequence[Moments]) -> bool:
    """Whether some output is explained so well that what is left must be made sample by sample."""
    power = sum(np.diag(part.ww)[part.nu :] for part in records)
    return bool((np.diag(sums.ee) < CLEAN * power).any())


def _record(
    model: ModalModel, moments: Moments, weights: ComplexArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Products of the signals (J, nu + 2, 2) with each other, with u and with e; and Σ w eᵀ (q, ny)."""
    J, nu, lam = len(model.poles), model.nu, model.multipliers()
    sums = moments.sums(model.poles, derivatives=True)
    assert sums.df_w is not None and sums.dh_w is not None
    b, z0 = weights[:, :nu], weights[:, nu]
    plain, turned = (modal_products(lam, weights, sums, moments.ww[:nu, :nu], turn) for turn in TURNS)
    size = J * (nu + 2)
    inner = real_products(plain.reshape(size, size), turned.reshape(size, size))
    # Σ s w of s = f, h, λ g
    gw = np.einsum("jk,jkw->jw", b, sums.df_w) + z0[:, None] * sums.dh_w
    sw = np.concatenate([sums.fw, sums.hw[:, None], (lam[:, None] * gw)[:, None]], axis=1)
    # Σ s z and Σ s z̄, (J, nu + 2, J)
    sz = np.einsum("jplk,lk->jpl", plain[..., : nu + 1], weights)
    sz_turned = np.einsum("jplk,lk->jpl", turned[..., : nu + 1], np.conj(weights))
    se = sw[..., nu:] - 0.5 * (sz @ model.C.T + sz_turned @ np.conj(model.C.T)) - sw[..., :nu] @ model.D.T
    zw = np.einsum("jk,jkw->jw", weights, sw[:, : nu + 1])
    we = moments.ww[:, nu:] - (model.C @ zw).real.T - moments.ww[:, :nu] @ model.D.T
    ze = np.einsum("jk,jka->ja", weights, se[:, : nu + 1])
    we[nu:] -= (model.C @ ze).real + model.D @ we[:nu]
    shape = (J, nu + 2, 2)
    return (
        inner.reshape(*shape, *shape),
        np.stack([sw[..., :nu].real, sw[..., :nu].imag], axis=2),
        np.stack([se.real, se.imag], axis=2),
        we,
    )
