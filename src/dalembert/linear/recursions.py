"""Linear recursions over many samples, without a Python step per sample.

x[k+1] = A[k] x[k] + w[k]

Time is divided into about √N blocks of √N samples. Pass one advances all blocks together from zero, which gives the
contribution e_b of each block. Pass two computes the initial state of each block, x_{b+1} = (product of its A) x_b +
e_b. Pass three advances all blocks together from their initial states. Each sample thus follows from the plain
recursion, for any A (defective, unstable, singular), with 2 √N + √N array steps instead of N.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.numerics.balancing import balance_matrix
from dalembert.numerics.sample_times import time_rounding


def march(A: FloatArray, w: FloatArray, start: FloatArray) -> FloatArray:
    """States (N + 1, n) of one matrix A (n, n), driven by w (N, n), from ``start`` (n,).

    Of several motions at once, (N + 1, k, n), where w is (N, k, n) and ``start`` (k, n).
    """
    count, n = len(w), w.shape[-1]
    if w[:1].size == 0:
        return np.empty((count + 1, *w.shape[1:])) if n == 0 else np.concatenate([start[None], w])
    length = max(1, int(np.sqrt(count)))
    blocks = -(-count // length)
    shape = (blocks, *w.shape[1:])
    drive = np.zeros((blocks * length, *w.shape[1:]))
    drive[:count] = w
    drive = np.ascontiguousarray(np.moveaxis(drive.reshape(blocks, length, -1, n), 1, 0)).reshape(length, -1, n)
    At = np.ascontiguousarray(A.T)
    with np.errstate(over="ignore", invalid="ignore"):  # `require_finite` reports a state beyond the number range
        added = np.zeros(drive.shape[1:])
        for j in range(length):
            added = added @ At + drive[j]
        added = added.reshape(shape)
        block = np.linalg.matrix_power(At, length)
        begin = np.empty(shape)
        x = start
        for b in range(blocks):
            begin[b] = x
            x = x @ block + added[b]
        state, path = begin.reshape(-1, n), np.empty(drive.shape)
        for j in range(length):
            state = state @ At + drive[j]
            path[j] = state
    result = np.empty((count + 1, *w.shape[1:]))
    result[0] = start
    result[1:] = np.moveaxis(path.reshape(length, *shape), 0, 1).reshape(-1, *w.shape[1:])[:count]
    return result


def march_varying(A: FloatArray, which: NDArray[np.intp], w: FloatArray, start: FloatArray) -> FloatArray:
    """As :func:`march` with the matrix ``A[which[k]]`` in step k; A (m, n, n), which (N,) integers."""
    count, n = w.shape
    length = max(1, int(np.sqrt(count)))
    blocks = -(-count // length)
    drive = np.zeros((blocks * length, n, 1))
    drive[:count, :, 0] = w
    drive = drive.reshape(blocks, length, n, 1)
    pick = np.zeros(blocks * length, dtype=np.intp)
    pick[:count] = which
    pick = pick.reshape(blocks, length)
    with np.errstate(over="ignore", invalid="ignore"):
        added, block = np.zeros((blocks, n, 1)), np.broadcast_to(np.eye(n), (blocks, n, n))
        for j in range(length):
            step = A[pick[:, j]]
            added, block = step @ added + drive[:, j], step @ block
        state = np.empty((blocks, n, 1))
        x = start[:, None]
        for b in range(blocks):
            state[b] = x
            x = block[b] @ x + added[b]
        path = np.empty((blocks, length, n))
        for j in range(length):
            state = A[pick[:, j]] @ state + drive[:, j]
            path[:, j] = state[:, :, 0]
    return np.concatenate([start[None], path.reshape(-1, n)[:count]])


def compute_exact_step(A: FloatArray, B: FloatArray, step: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Exact step of x' = A x + B u: x₁ = Φ x₀ + Γ u₀ + Δ (u₁ - u₀), u linear in between.

    Returns Φ (n, n), Γ and Δ (n, nu). With Δ left out u is held at u₀.
    """
    N, scaling, size = _augment(A, B, step)
    with np.errstate(over="ignore", invalid="ignore"):
        power = scipy.linalg.expm(N)
        return _unscale(power, scaling, size)


def _augment(A: FloatArray, B: FloatArray, step: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """[[A, B, 0], [0, 0, I], [0, 0, 0]] step, states and inputs scaled so that its norm does not depend on units.

    Returns the matrix (n + 2nu, n + 2nu), and the scales (n,) of the states and (nu,) of the inputs.
    """
    n, nu = B.shape
    A_, scaling = balance_matrix(A)
    B_ = step * B / scaling[:, None]
    size = np.maximum(np.abs(B_).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    N = np.zeros((n + 2 * nu, n + 2 * nu))
    N[:n, :n], N[:n, n : n + nu] = step * A_, B_ / size
    N[n : n + nu, n + nu :] = np.eye(nu)
    return N, scaling, size


def _unscale(power: FloatArray, scaling: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Φ, Γ, Δ of the exponential of :func:`_augment`, one or a stack of them."""
    n, nu = len(scaling), len(size)
    inputs = scaling[:, None] * power[..., :n, n:] * np.tile(size, 2)
    return scaling[:, None] * power[..., :n, :n] / scaling, inputs[..., :nu], inputs[..., nu:]


def compute_exact_steps(A: FloatArray, B: FloatArray, steps: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As :func:`compute_exact_step` for many steps (m,): Φ (m, n, n), Γ and Δ (m, n, nu).

    exp(θ N) for all θ = step/longest from one set of powers: Σ θʲ Nʲ/j! is a single matrix product, then squarings.
    Order 16 at norm 1/2 leaves 2⁻¹⁷/17! ≈ 2e-20.
    """
    longest = float(steps.max())
    N, scaling, size = _augment(A, B, longest)
    halvings = max(0, int(np.ceil(np.log2(float(np.linalg.norm(N, 1)) or 1.0))) + 1)
    term, terms = np.eye(len(N)), [np.eye(len(N)).ravel()]
    for j in range(1, 17):
        term = term @ N / (j * 2.0**halvings)
        terms.append(term.ravel())
    theta = steps / longest
    power = (theta[:, None] ** np.arange(17) @ np.array(terms)).reshape(len(steps), *N.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(halvings):
            power = power @ power
        phi, gamma, delta = _unscale(power, scaling, size)
    # the last block belongs to a slope per unit of θ: u₁ - u₀ is θ times the slope
    return phi, gamma, delta / theta[:, None, None]


def march_held(
    A: FloatArray, B: FloatArray, u: FloatArray, times: FloatArray, start: FloatArray, hold: str,
    numbers: int = 8_000_000,
) -> FloatArray:  # fmt: skip
    """States (N, n) of x' = A x + B u at ``times`` (N,), u (N, nu) held or linear between the samples.

    ``numbers`` of step matrices in memory: 64 MB.
    """
    if len(times) < 2 or not len(A):
        return np.tile(start, (len(times), 1))
    step = uniform_step(times)
    if step is not None:
        phi, gamma, delta = compute_exact_step(A, B, step)
        w = u[:-1] @ gamma.T
        if hold == "first":
            w += np.diff(u, axis=0) @ delta.T
        return require_finite(march(phi, w, start), times)
    # Loggers round their times: few different steps remain after their rounding is removed.
    noise = 4.0 * np.finfo(np.float64).eps * float(np.abs(times).max())
    steps = np.diff(times)
    which = np.unique(np.round(steps / noise).astype(np.int64), return_inverse=True)[1]
    lengths = np.array(np.bincount(which, weights=steps) / np.bincount(which))
    size = max(16, numbers // (A.shape[0] + 2 * B.shape[1]) ** 2)
    path = [start[None]]
    for first in range(0, len(steps), size):
        chunk = slice(first, first + size)
        used, place = np.unique(which[chunk], return_inverse=True)
        pick = place.astype(np.intp)
        phi, gamma, delta = compute_exact_steps(A, B, lengths[used])
        w = np.einsum("kij,kj->ki", gamma[pick], u[:-1][chunk])
        if hold == "first":
            w += np.einsum("kij,kj->ki", delta[pick], np.diff(u, axis=0)[chunk])
        path.append(march_varying(phi, pick, w, path[-1][-1])[1:])
    return require_finite(np.concatenate(path), times)


def uniform_step(times: FloatArray) -> float | None:
    """The step of times that are uniform up to rounding; None where they are not uniform."""
    count = len(times)
    step = float(times[-1] - times[0]) / (count - 1)
    off = np.abs(times - (times[0] + step * np.arange(count))).max()
    return step if off <= time_rounding(step, float(np.abs(times).max())) else None


def require_finite(states: FloatArray, times: FloatArray) -> FloatArray:
    """The states, or an error with the time at which they leave the number range."""
    if not np.isfinite(states[-1]).all() or not np.isfinite(states).all():
        k = int(np.argmax(~np.isfinite(states).all(axis=1)))
        raise DataError(
            "diverged",
            f"the response grows beyond the number range at t = {times[k]:.6g} s.",
            Advice("The system is unstable (see {}).", Call("SecondOrder.stability")),
            Advice("Stop earlier, or stabilise it."),
        )
    return states
