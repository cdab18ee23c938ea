"""Standard deviations where the residuals of an output-error model are not white.

The estimate stays right, but the inverse of its information is not its covariance. This is S⁻¹ Q S⁻¹ with Q that of
the gradient Σ_t J⊥ᵀ R⁻¹ e (sandwich, Huber 1967). Q is the sum over batches of the record, each longer than the
correlation time of the gradient, of the squares of their shares in it (batch means). A record of less than some fifty
decay times has too few such batches: the deviations are then too small, by up to a half.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.filter_sums import BlockFilters, add_starts
from dalembert.identify.likelihood.likelihood_search import LikelihoodPoint, LikelihoodSearch
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.identify.likelihood.uncertainty import modal_derivatives, output_derivatives
from dalembert.identify.model.identified import DeviationMethod


def batch_length(search: LikelihoodSearch, point: LikelihoodPoint, most: int = 64, least: int = 8) -> int:
    """Samples of a batch.

    most : most batches.
    least : fewest batches; as many as give each three times the longest decay time of the modes.
    """
    decay = 3.0 / max(float(np.min(-point.model.poles.real, initial=1.0)), 1e-12)
    shortest, longest = search.samples // most, search.samples // least
    return int(np.clip(decay, shortest, longest))


def batch_gradients(
    search: LikelihoodSearch, point: LikelihoodPoint, free: BoolArray, precision: FloatArray, length: int
) -> FloatArray:
    """Share of each batch in the gradient of the free parameters, (batches, parameters)."""
    model, nu, S = point.model, point.model.nu, len(search.y)
    J, P, ny = len(model.poles), nu + S + 1, len(model.D)
    T = likelihood.state_map(model.weights)
    follow = point.score.follow.reshape(len(point.score.follow), -1)
    through = np.einsum("ajgc,ab->jgcb", likelihood.output_map(model.C), precision)
    rows = [np.zeros((0, int(np.count_nonzero(free))))]
    for s, (u, y) in enumerate(zip(search.u, search.y, strict=True)):
        place = np.array([*range(nu), nu + s, nu + S])
        for signals, direct in batch_products(model, u, y, model.segment_weights(s), length):
            ze = np.zeros((len(signals), J, P, 2, ny))
            ze[:, :, place, 0], ze[:, :, place, 1] = signals.real, signals.imag
            xe = np.einsum("jgpd,zjpdk->zjgk", T, ze[:, :, :-1]).reshape(len(signals), 2 * J, ny)
            linear = np.concatenate([xe[:, model.linear_mask()], direct[:, model.direct]], axis=1)
            cross = ze - (follow.T @ linear).reshape(ze.shape)
            rows.append(np.einsum("jgcb,zjpgb->zjpc", through, cross, optimize=True)[:, free])
    return np.vstack(rows)


def batch_products(
    model: ModalModel, u: FloatArray, y: FloatArray, weights: ComplexArray, length: int, block_length: int = 256,
    chunk: int = 100_000,
) -> Iterator[tuple[ComplexArray, FloatArray]]:  # fmt: skip
    """Products with e of the signals (f, h, λg), (batches, J, nu + 2, ny), and of the inputs, (batches, nu, ny).

    Of some batches at a time, all of one record; less than half a batch at its end is left out.
    """
    nu, ny, lam = model.nu, len(model.D), model.multipliers()
    per = -(-length // block_length)  # blocks of a batch
    L = length // per
    batch = L * per
    count = max(1, int(len(u) / batch + 0.5)) * batch  # of all batches; zeros after the last sample
    filters = BlockFilters(model.poles, nu, L, derivatives=True)
    filter_state = np.zeros((len(lam), 1), dtype=complex)
    size = batch * max(1, chunk // (batch * (nu + ny)))
    for first in range(0, count, size):
        many = min(size, count - first) // batch
        driven, e = np.zeros((nu, many * batch)), np.zeros((ny, many * batch))
        ub, yb = (signal[first : min(first + many * batch, len(u))].T for signal in (u, y))
        driven[:, : ub.shape[1]] = ub
        e[:, : ub.shape[1]] = yb - likelihood.simulate(model, ub, weights, first, filter_state)
        blocks, residuals = driven.reshape(nu, many, per, L), e.reshape(ny, many, per, L)
        starts = [
            signal.reshape(len(lam), nu + 1, many, per).swapaxes(1, 2)
            for signal in filters.starts(driven.reshape(nu, many * per, L), count)
        ]
        weighed = filters.weigh(e.reshape(ny, many * per, L)).reshape(2, len(lam), ny, many, per).swapaxes(2, 3)
        sums = add_starts(starts, weighed)  # two of (J, many, nu + 1, ny)
        spectra = np.fft.rfft(blocks, 2 * L).conj(), np.fft.rfft(residuals, 2 * L)
        lags = np.fft.irfft(np.einsum("kzbf,azbf->zkaf", *spectra), 2 * L)[..., 1:L]
        within = np.tensordot(filters.powers[:, :, : L - 1], lags, axes=(2, 3))  # (2, J, many, nu, ny)
        simple, slow = (sums[k] for k in (0, 1))
        simple[:, :, :nu] += within[0]
        slow[:, :, :nu] += within[1]
        g = lam[:, None, None] * np.einsum("jk,jzka->jza", weights, slow)
        signals = np.concatenate([simple, g[:, :, None]], axis=2).swapaxes(0, 1)
        yield signals, np.einsum("kzbs,azbs->zka", blocks, residuals)


def robust_covariance(
    search: LikelihoodSearch, point: LikelihoodPoint, free: BoolArray, noise: FloatArray, dt: float, least: int = 8
) -> FloatArray | None:
    """Covariance (2k, 2k) of (f_1 [Hz], ζ_1, f_2, ...) by the scatter of the gradient; None for too short records."""
    length = batch_length(search, point)
    if length < 8:
        return None
    precision = likelihood.symmetric_inverse(noise)
    rows = batch_gradients(search, point, free, precision, length)
    if len(rows) < least // 2:
        return None
    S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
    ln, slopes = output_derivatives(point.model, free)
    moved = rows @ (likelihood.symmetric_inverse(S) @ slopes.T)  # share of each batch in Re, Im of ln λ
    scale = len(rows) / (len(rows) - 1.0)
    turn = modal_derivatives(ln / dt) / dt
    result: FloatArray = turn @ (scale * moved.T @ moved) @ turn.T
    return result


def choose_covariance(
    search: LikelihoodSearch, point: LikelihoodPoint, free: BoolArray, noise: FloatArray, fisher: FloatArray, dt: float,
    far_from_white: float = 2.0,
) -> tuple[DeviationMethod, FloatArray, tuple[str, ...]]:  # fmt: skip
    """The covariance by Fisher information, or by the scatter of the residuals where these are far from white.

    Returns the method, the covariance, and a note where the residuals decided.

    far_from_white : ratio of standard deviations to those of white noise. From 8 batches a standard deviation is known
    to 1/√14 = 27 %: twice is 3.7 of these, no chance.
    """
    robust = robust_covariance(search, point, free, noise, dt) if len(fisher) else None
    if robust is None:
        return "fisher", fisher, ()
    positive = np.diag(fisher) > 0.0
    ratio = float(np.sqrt(np.max(np.diag(robust)[positive] / np.diag(fisher)[positive], initial=0.0)))
    if ratio < far_from_white:
        return "fisher", fisher, ()
    note = (
        f"the residuals are far from white: standard deviations from their scatter over the record, up to {ratio:.1f} "
        "times those of white noise; innovation noise in the model would describe such disturbances"
    )
    return "residuals", robust, (note,)
