"""Likelihood of a modal model of sampled data, with its gradient and Fisher information, in one pass over the samples.

model        z_j[t+1] = λ_j z_j[t] + b_jᵀ u[t],   z_j[0] = one initial state per segment   (one complex z per pair)
             ŷ[t] = Σ_j Re(c_j z_j[t]) + D u[t],   e = y - ŷ white, covariance R
signals      f_jk = (q - λ_j)⁻¹ u_k,   h_j = λ_jᵗ,   λ_j g_j = ∂z_j/∂(ln λ_j),  g_j = (q - λ_j)⁻¹ z_j
             every derivative of ŷ is a fixed 2 x 2 combination of these: the Gram matrix of [f, h, λg, u, e] holds all
             information of the data (blocks of samples are added up, so memory does not grow with their number).
elimination  c_j, D are linear for given λ, b, z₀ (variable projection): with L = [Re z, -Im z, u],
             G⊥ = G - G_zL G_LL⁻¹ G_Lz,  and the information on (ln λ, b, z₀) is M ∘ G⊥, M = Kᵀ R⁻¹ K with the K of c_j
             (since all outputs share L, R drops out of the elimination).

The products come from the samples, or from moments of the records (`filter_sums`). Then e = y - Re(C z) - D u is never
made: Σ s e = Σ s y - Σ s ŷ, and Σ e eᵀ likewise. That loses (rms y / rms e)² of the digits, which does not matter for
measured data; where the residuals are small (``CLEAN``), e itself must be made. So must the signals where a mode does
not decay within a record (``UNDAMPED``), because of the digits that 1 - λ μ loses.

Golub and Pereyra 1973, Kaufman 1975 (variable projection); Ljung 1999, 7.4, 10.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.identify.likelihood.filter_sums import CONJUGATIONS, Moments, multiply_modal, real_products

# Products of one segment: of its signals (f, h, λg) with each other (J, nu + 2, 2, J, nu + 2, 2), with the direct
# inputs and e (J, nu + 2, 2, d + ny), and of these with each other (d + ny, d + ny).
SegmentProducts = tuple[FloatArray, FloatArray, FloatArray]
LEAST_LENGTH, MOST_LENGTH = 256, 4096


@dataclass(frozen=True)
class ModalModel:
    """Parameters of the model: poles (J,) = ln λ per sample, weights (J, nu + S) = [b, z₀], C (ny, J), D (ny, nu).

    ``real`` (J,) marks real poles: their z, b, c are real. ``direct`` (nu,) marks the inputs that may reach the
    outputs at once.
    """

    poles: ComplexArray
    real: BoolArray
    weights: ComplexArray
    C: ComplexArray
    D: FloatArray
    direct: BoolArray

    @property
    def nu(self) -> int:
        """Inputs."""
        return int(self.D.shape[1])

    @property
    def nx(self) -> int:
        """Real states."""
        return int(2 * len(self.poles) - np.count_nonzero(self.real))

    def multipliers(self) -> ComplexArray:
        """λ (J,), exactly real where the pole is."""
        lam = np.exp(self.poles)
        lam.imag[self.real] = 0.0
        return lam

    def segment_weights(self, s: int) -> ComplexArray:
        """[b, z₀] (J, nu + 1) of one segment."""
        return self.weights[:, [*range(self.nu), self.nu + s]]

    def linear(self) -> FloatArray:
        """[Re c, Im c, D] as the rows of a real matrix (nx + direct, ny), as the regressors L are ordered."""
        parts = np.stack([self.C.real.T, self.C.imag.T], axis=1).reshape(-1, len(self.C))
        return np.vstack([parts[self.linear_mask()], self.D.T[self.direct]])

    def linear_mask(self) -> BoolArray:
        """Which of [Re c, Im c] of each mode are free: (2J,)."""
        return np.column_stack([np.ones(len(self.real), dtype=bool), ~self.real]).ravel()

    def with_linear(self, gamma: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """C, D of rows as from :meth:`linear`."""
        parts = np.zeros((2 * len(self.poles), gamma.shape[1]))
        parts[self.linear_mask()] = gamma[: self.nx]
        D = np.zeros_like(self.D)
        D[:, self.direct] = gamma[self.nx :].T
        return parts[0::2].T + 1j * parts[1::2].T, D


@dataclass(frozen=True)
class Products:
    """Inner products over all samples: z = (f, h of each segment, λg) of each mode, real and imaginary parts.

    zz (J, P, 2, J, P, 2), zu (J, P, 2, d), uu (d, d), ze (J, P, 2, ny), ue (d, ny), ee (ny, ny); P = nu + S + 1,
    d = direct inputs.
    """

    zz: FloatArray
    zu: FloatArray
    uu: FloatArray
    ze: FloatArray
    ue: FloatArray
    ee: FloatArray
    samples: int


def products_from_samples(model: ModalModel, u: tuple[FloatArray, ...], y: tuple[FloatArray, ...]) -> Products:
    """One pass over the segments u_k (N_k, nu), y_k (N_k, ny)."""
    parts = (_multiply_samples(model, *pair, model.segment_weights(s)) for s, pair in enumerate(zip(u, y, strict=True)))
    return _add_segments(model, parts, sum(map(len, y)))


def products_from_moments(model: ModalModel, records: Sequence[Moments]) -> Products:
    """As :func:`products_from_samples`, from the moments of the records."""
    parts = (_multiply_record(model, moments, model.segment_weights(s)) for s, moments in enumerate(records))
    return _add_segments(model, parts, sum(record_moments.count for record_moments in records))


def _add_segments(model: ModalModel, parts: Iterable[SegmentProducts], samples: int) -> Products:
    """Sum over the segments: their signals take the places of f, of their own h, and of λg."""
    J, nu, ny, S = len(model.poles), model.nu, len(model.D), model.weights.shape[1] - model.nu
    P, d = nu + S + 1, int(model.direct.sum())
    zz, outer, tail = np.zeros((J, P, 2, J, P, 2)), np.zeros((J, P, 2, d + ny)), np.zeros((d + ny, d + ny))
    for s, (inner, with_data, initial) in enumerate(parts):
        place = np.array([*range(nu), nu + s, nu + S])
        if S == 1:
            zz = inner
        else:
            zz[:, place[:, None], :, :, place[None, :]] += inner.transpose(1, 4, 0, 2, 3, 5)
        outer[:, place] += with_data
        tail += initial
    return Products(zz, outer[..., :d], tail[:d, :d], outer[..., d:], tail[:d, d:], tail[d:, d:], samples)


def modes_decay(model: ModalModel, records: Sequence[Moments], undamped: float = 0.05) -> bool:
    """Whether all modes decay enough in every record for :func:`products_from_moments`.

    undamped : decay over a record, -N ln |λ|, below which 1 - λ μ cancels more than one digit of the sums.
    """
    slowest = float(np.min(-model.poles.real, initial=np.inf))
    return slowest * min(moments.count for moments in records) > undamped


def residuals_vanish(sums: Products, records: Sequence[Moments], clean: float = 1e-4) -> bool:
    """Whether the residual of some output is so small that it must be made sample by sample.

    clean : power of the residuals, relative to that of their output, below which differences of powers lose too many
    digits: V is then known to some 1e-12 N, against 1e-5 that ends the search.
    """
    power = sum(np.diag(moments.ww)[moments.nu :] for moments in records)
    return bool((np.diag(sums.ee) < clean * power).any())


def _multiply_record(model: ModalModel, moments: Moments, weights: ComplexArray) -> SegmentProducts:
    """From the moments of one record."""
    J, nu, lam, direct = len(model.poles), model.nu, model.multipliers(), model.direct
    sums = moments.sums(model.poles, derivatives=True)
    assert sums.df_w is not None and sums.dh_w is not None
    b, z0 = weights[:, :nu], weights[:, nu]
    plain, conjugated = (
        multiply_modal(lam, weights, sums, moments.ww[:nu, :nu], conjugate) for conjugate in CONJUGATIONS
    )
    size = J * (nu + 2)
    inner = real_products(plain.reshape(size, size), conjugated.reshape(size, size))
    # Σ s w of s = f, h, λ g
    gw = np.einsum("jk,jkw->jw", b, sums.df_w) + z0[:, None] * sums.dh_w
    sw = np.concatenate([sums.fw, sums.hw[:, None], (lam[:, None] * gw)[:, None]], axis=1)
    # Σ s z and Σ s z̄, (J, nu + 2, J)
    sz = np.einsum("jplk,lk->jpl", plain[..., : nu + 1], weights)
    sz_conjugated = np.einsum("jplk,lk->jpl", conjugated[..., : nu + 1], np.conj(weights))
    se = sw[..., nu:] - 0.5 * (sz @ model.C.T + sz_conjugated @ np.conj(model.C.T)) - sw[..., :nu] @ model.D.T
    zw = np.einsum("jk,jkw->jw", weights, sw[:, : nu + 1])
    we = moments.ww[:, nu:] - (model.C @ zw).real.T - moments.ww[:, :nu] @ model.D.T
    ze = np.einsum("jk,jka->ja", weights, se[:, : nu + 1])
    we[nu:] -= (model.C @ ze).real + model.D @ we[:nu]
    shape = (J, nu + 2, 2)
    signals = np.concatenate([sw[..., :nu][..., direct], se], axis=2)
    ee, uu, ue = 0.5 * (we[nu:] + we[nu:].T), moments.ww[:nu, :nu][direct][:, direct], we[:nu][direct]
    return (
        inner.reshape(*shape, *shape), np.stack([signals.real, signals.imag], axis=2),
        np.block([[uu, ue], [ue.T, ee]]),
    )  # fmt: skip


def _multiply_samples(
    model: ModalModel, u: FloatArray, y: FloatArray, weights: ComplexArray, block_size: int = 500_000
) -> SegmentProducts:
    """From the samples of one segment.

    block_size : numbers of one block of signals in memory, 4 MB, and its samples: they fit into the cache.
    """
    shape = (len(model.poles), model.nu + 2, 2)
    signals = int(np.prod(shape))
    size = signals + int(model.direct.sum()) + y.shape[1]
    total = np.zeros((size, size))
    for block in blocks(model, u, y, weights, int(np.clip(block_size // size, LEAST_LENGTH, MOST_LENGTH))):
        total += block @ block.T
    inner, outer = total[:signals, :signals].reshape(*shape, *shape), total[:signals, signals:]
    return inner, outer.reshape(*shape, size - signals), total[signals:, signals:]


def blocks(model: ModalModel, u: FloatArray, y: FloatArray, weights: ComplexArray, length: int) -> Iterator[FloatArray]:
    """Signals of one segment, ``length`` samples at a time: rows (mode, [f, h, λg], [Re, Im]), direct inputs, e."""
    from scipy.signal import lfilter  # imported here: it takes long to load

    J, nu, ny = len(model.poles), model.nu, y.shape[1]
    lam = model.multipliers()
    d = int(model.direct.sum())
    size = 2 * J * (nu + 2) + d + ny
    filter_state = np.zeros((J, nu + 1, 1), dtype=complex)  # states of the filters between blocks
    for begin in range(0, len(u), length):
        ub, yb = u[begin : begin + length].T, y[begin : begin + length].T
        count = ub.shape[1]
        block = np.empty((size, count))
        z = block[: size - d - ny].reshape(J, nu + 2, 2, count)
        states = np.empty((J, count), dtype=complex)
        driven = ub.astype(complex)
        for j in range(J):
            denominator = [1.0, -lam[j]]
            f, filter_state[j, :nu] = lfilter([0.0, 1.0], denominator, driven, zi=filter_state[j, :nu])
            h = _powers(model.poles[j], begin, count)
            states[j] = weights[j, :nu] @ f + weights[j, nu] * h
            g, filter_state[j, nu] = lfilter([0.0, lam[j]], denominator, states[j], zi=filter_state[j, nu])
            for k, signal in ((slice(0, nu), f), (nu, h), (nu + 1, g)):
                z[j, k, 0], z[j, k, 1] = signal.real, signal.imag
        block[size - d - ny : size - ny] = ub[model.direct]
        block[size - ny :] = yb - (model.C @ states).real - model.D @ ub
        yield block


def simulate(
    model: ModalModel, u: FloatArray, weights: ComplexArray, begin: int, filter_state: ComplexArray
) -> FloatArray:
    """ŷ (ny, some) of one segment for u (nu, some) from sample ``begin`` on; filter_state (J, 1) is updated."""
    from scipy.signal import lfilter

    states = weights[:, : model.nu] @ u
    for j, lam in enumerate(model.multipliers()):
        states[j], filter_state[j] = lfilter([0.0, 1.0], [1.0, -lam], states[j], zi=filter_state[j])
        states[j] += weights[j, model.nu] * _powers(model.poles[j], begin, u.shape[1])
    result: FloatArray = (model.C @ states).real + model.D @ u
    return result


def _powers(pole: complex, begin: int, count: int, dead: float = 1e-17) -> ComplexArray:
    """λᵗ for t = begin, ..., zero below DEAD.

    dead : a free motion below this, relative to its beginning, is set to zero: it would end in denormal numbers.
    """
    result = np.zeros(count, dtype=complex)
    decay = -pole.real
    last = count if decay <= 0.0 else int(np.clip(-np.log(dead) / decay + 1.0 - begin, 0, count))
    # λ^(64 a + b) = λ^(64 a) λ^b: few exponentials
    coarse = np.exp(pole * (begin + 64 * np.arange(-(-last // 64))))
    result[:last] = np.outer(coarse, np.exp(pole * np.arange(64))).ravel()[:last]
    return result


@dataclass(frozen=True)
class Score:
    """Result of one pass, with the best C and D for the given λ, b, z₀.

    change (nx + d, ny) of the linear part; residual (ny, ny), Σ e eᵀ after it; projected G⊥ (J, P, 2, J, P, 2);
    cross zᵀe (J, P, 2, ny); inverse G_LL⁻¹; follow G_LL⁻¹ G_Lz (nx + d, J, P, 2); energy of the signals (J, P).
    """

    change: FloatArray
    residual: FloatArray
    projected: FloatArray
    cross: FloatArray
    inverse: FloatArray
    follow: FloatArray
    energy: FloatArray
    samples: int


def project(model: ModalModel, sums: Products) -> Score:
    """Eliminate the linear part."""
    J, P = len(model.poles), sums.zz.shape[1]
    T = state_map(model.weights)  # (J, 2, P - 1, 2)
    mask = model.linear_mask()
    z_states = np.einsum("abcjpd,jgpd->abcjg", sums.zz[:, :, :, :, :-1], T).reshape(J, P, 2, 2 * J)[..., mask]
    zL = np.concatenate([z_states, sums.zu], axis=3).reshape(2 * J * P, -1)
    xx = np.einsum("jgpd,jpdk->jgk", T, z_states[:, :-1]).reshape(2 * J, -1)[mask]
    xu = np.einsum("jgpd,jpdk->jgk", T, sums.zu[:, :-1]).reshape(2 * J, -1)[mask]
    xe = np.einsum("jgpd,jpdk->jgk", T, sums.ze[:, :-1]).reshape(2 * J, -1)[mask]
    LL = np.block([[xx, xu], [xu.T, sums.uu]])
    Le = np.vstack([xe, sums.ue])
    inverse = symmetric_inverse(LL)
    change, follow = inverse @ Le, inverse @ zL.T
    ze = sums.ze.reshape(2 * J * P, -1)
    projected = sums.zz.reshape(2 * J * P, -1) - zL @ follow
    return Score(
        change=change, residual=_symmetric(sums.ee - Le.T @ change),
        projected=_symmetric(projected).reshape(sums.zz.shape), cross=(ze - zL @ change).reshape(J, P, 2, -1),
        inverse=inverse, follow=follow.reshape(-1, J, P, 2), energy=np.einsum("jpgjpg->jp", sums.zz).copy(),
        samples=sums.samples,
    )  # fmt: skip


def _symmetric(matrix: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (matrix + matrix.T)
    return result


def state_map(weights: ComplexArray) -> FloatArray:
    """[Re z, -Im z] = T (Re, Im of the signals): (J, 2, nu + S, 2)."""
    T = np.empty((len(weights), 2, weights.shape[1], 2))
    T[:, 0, :, 0], T[:, 0, :, 1] = weights.real, -weights.imag
    T[:, 1, :, 0], T[:, 1, :, 1] = -weights.imag, -weights.real
    return T


def output_map(C: ComplexArray) -> FloatArray:
    """K (ny, J, 2, 2): ∂ŷ_a/∂(Re, Im of a weight of mode j) = (Re s, Im s) K_aj."""
    K = np.empty((*C.shape, 2, 2))
    K[..., 0, 0], K[..., 0, 1] = C.real, -C.imag
    K[..., 1, 0], K[..., 1, 1] = -C.imag, -C.real
    return K


def information(C: ComplexArray, precision: FloatArray, gram: FloatArray) -> FloatArray:
    """Jᵀ R⁻¹ J (J, P, 2, J, P, 2) of (b, z₀, ln λ) from the (projected) Gram matrix; precision R⁻¹ (ny, ny)."""
    J = C.shape[1]
    K = output_map(C).reshape(len(C), 4 * J)
    M = (K.T @ precision @ K).reshape(J, 2, 2, J, 2, 2).transpose(0, 3, 1, 4, 2, 5).reshape(J, J, 4, 4)
    P = gram.shape[1]
    pairs = gram.transpose(0, 3, 1, 4, 2, 5).reshape(J, J, P * P, 4)  # 2 x 2 of every two signals
    return np.asarray((pairs @ M).reshape(J, J, P, P, 2, 2).transpose(0, 2, 4, 1, 3, 5))


def gradient(C: ComplexArray, precision: FloatArray, cross: FloatArray) -> FloatArray:
    """Jᵀ R⁻¹ e (J, P, 2)."""
    K = (precision @ output_map(C).reshape(len(C), -1)).reshape(*C.shape, 2, 2)
    return np.asarray(np.einsum("bjgc,jpgb->jpc", K, cross))


def free_parameters(model: ModalModel, score: Score, segments: int, *, start: bool) -> BoolArray:
    """Which of (b, z₀, ln λ) are free, (J, P, 2): real poles have real parameters; a factor of b and c is arbitrary.

    Per mode the weight with the largest effect on the outputs is fixed: c_j then sets the size.
    """
    J, nu = len(model.poles), model.nu
    P = nu + segments + 1
    free = np.ones((J, P, 2), dtype=bool)
    free[model.real, :, 1] = False
    if not start:
        free[:, nu : nu + segments] = False
    power = score.energy[:, :-1] * np.abs(model.weights) ** 2
    power[:, nu:] *= 1e-3  # prefer to fix an input
    held = np.argmax(power, axis=1)
    free[np.arange(J), held] = False
    return free


def symmetric_inverse(matrix: FloatArray, pivot: float = 1e-7, zero: float = 1e-14) -> FloatArray:
    """Inverse of a positive definite matrix, scaled to a unit diagonal; zero along its null space.

    pivot : least pivot of a Cholesky factor: its square is 1e-14, the rounding of a matrix of fifty rows.
    zero : eigenvalue over the largest that is zero: the square of that pivot.
    """
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    inverse_scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    scaled = matrix * inverse_scale[:, None] * inverse_scale
    if not len(matrix):
        return np.zeros_like(matrix)
    factor, failed = scipy.linalg.lapack.dpotrf(scaled + np.diag(np.where(scale > 0.0, 0.0, 1.0)), lower=1)
    if not failed and np.diagonal(factor).min() > pivot:
        half = np.tril(scipy.linalg.lapack.dpotri(factor, lower=1)[0])
        inverse = half + np.tril(half, -1).T
        return np.asarray(inverse * inverse_scale[:, None] * inverse_scale)
    values, vectors = scipy.linalg.eigh(scaled)
    keep = values > zero * values[-1]
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return np.asarray(inverse * inverse_scale[:, None] * inverse_scale)


def find_condition(information: FloatArray) -> float:
    """Condition number of an information matrix scaled to a unit diagonal, infinite where it is singular."""
    scale = np.sqrt(np.maximum(np.diag(information), 0.0))
    if not len(scale) or not scale.all():
        return np.inf if len(scale) else 1.0
    values = scipy.linalg.eigvalsh(information / np.outer(scale, scale))
    return float(values[-1] / values[0]) if values[0] > 0.0 else np.inf
