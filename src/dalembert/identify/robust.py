"""Standard deviations where the residuals of an output-error model are not white.

The estimate stays right, its information no longer tells its scatter: covariance S⁻¹ Q S⁻¹ with Q that of the gradient
Σ_t J⊥ᵀ R⁻¹ e (sandwich, Huber 1967). Q is the sum over batches of the record, each longer than the memory of the
gradient, of the squares of what each adds to it (batch means). A record of less than some fifty decay times has too few
such batches: the deviations are then too small, by up to a half.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from dalembert.identify import likelihood
from dalembert.identify.ascent import Ascent, Point
from dalembert.identify.likelihood import BoolArray
from dalembert.identify.uncertainty import modal_slopes, output_slopes
from dalembert.linear.checks import FloatArray

# Batches: as many as give each three times the longest memory of the modes, within these.
LEAST_BATCHES, MOST_BATCHES = 8, 64
# Standard deviations this many times those of white noise are no accident of 8 or more batches.
FAR_FROM_WHITE = 2.0


def batch_length(ascent: Ascent, point: Point) -> int:
    """Samples of a batch."""
    memory = 3.0 / max(float(np.min(-point.model.poles.real, initial=1.0)), 1e-12)
    shortest, longest = ascent.samples // MOST_BATCHES, ascent.samples // LEAST_BATCHES
    return int(np.clip(memory, shortest, longest))


def batch_gradients(ascent: Ascent, point: Point, free: BoolArray, precision: FloatArray, length: int) -> FloatArray:
    """What each batch adds to the gradient of the free parameters, (batches, parameters)."""
    model, nu, S = point.model, point.model.nu, len(ascent.y)
    J, P = len(model.poles), nu + S + 1
    mask = model.linear_mask()
    d, ny = int(model.direct.sum()), len(model.D)
    T = likelihood.state_map(model.weights)
    follow = point.score.follow.reshape(len(point.score.follow), -1)
    pieces = -(-length // likelihood.MOST_LENGTH)  # blocks that make a batch, so that none is large
    piece = length // pieces
    rows = []
    for s, (u, y) in enumerate(zip(ascent.u, ascent.y, strict=True)):
        place = np.array([*range(nu), nu + s, nu + S])
        parts = likelihood.blocks(model, u, y, model.weights[:, [*range(nu), nu + s]], piece)
        for first in range(0, len(u), piece * pieces):
            batch = list(_inner(parts, ny, pieces))
            if len(u) - first < 0.5 * piece * pieces:
                break  # the rest of a segment is no batch
            inner = np.sum(batch, axis=0)
            ze = np.zeros((J, P, 2, ny))
            ze[:, place] = inner[: len(inner) - d].reshape(J, nu + 2, 2, ny)
            xe = np.einsum("jgpd,jpdk->jgk", T, ze[:, :-1]).reshape(2 * J, -1)[mask]
            cross = ze.reshape(-1, ny) - follow.T @ np.vstack([xe, inner[len(inner) - d :]])
            rows.append(likelihood.gradient(model.C, precision, cross.reshape(J, P, 2, ny))[free])
    return np.array(rows).reshape(-1, int(np.count_nonzero(free)))


def _inner(blocks: Iterator[FloatArray], ny: int, count: int) -> Iterator[FloatArray]:
    """Products of the signals with e of the next ``count`` blocks."""
    for block in islice(blocks, count):
        yield block[:-ny] @ block[-ny:].T


def robust_covariance(ascent: Ascent, point: Point, free: BoolArray, noise: FloatArray, dt: float) -> FloatArray | None:
    """Covariance (2k, 2k) of (f_1 [Hz], ζ_1, f_2, ...) by the scatter of the gradient; None for too short records."""
    length = batch_length(ascent, point)
    if length < 8:
        return None
    precision = likelihood.symmetric_inverse(noise)
    rows = batch_gradients(ascent, point, free, precision, length)
    if len(rows) < LEAST_BATCHES // 2:
        return None
    S = likelihood.information(point.model.C, precision, point.score.projected)[free][:, free]
    ln, slopes = output_slopes(point.model, free)
    moved = rows @ (likelihood.symmetric_inverse(S) @ slopes.T)  # what each batch adds to Re, Im of ln λ
    scale = len(rows) / (len(rows) - 1.0)
    turn = modal_slopes(ln / dt) / dt
    result: FloatArray = turn @ (scale * moved.T @ moved) @ turn.T
    return result


def honest_covariance(
    ascent: Ascent, point: Point, free: BoolArray, noise: FloatArray, fisher: FloatArray, dt: float
) -> tuple[str, FloatArray, tuple[str, ...]]:
    """The covariance by Fisher information, or by the scatter of the residuals where these are far from white.

    Returns what it is, the covariance, and a note where the residuals decided.
    """
    name = "Fisher information"
    robust = robust_covariance(ascent, point, free, noise, dt) if len(fisher) else None
    if robust is None:
        return name, fisher, ()
    known = np.diag(fisher) > 0.0
    ratio = float(np.sqrt(np.max(np.diag(robust)[known] / np.diag(fisher)[known], initial=0.0)))
    if ratio < FAR_FROM_WHITE:
        return name, fisher, ()
    note = (
        f"the residuals are far from white: standard deviations from their scatter over the record, up to {ratio:.1f} "
        "times those of white noise; noise='innovations' models what drives the system besides its inputs"
    )
    return "scatter of the residuals", robust, (note,)
