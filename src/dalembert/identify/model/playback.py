"""An identified model played back over measured samples, without a Python step per sample.

simulation   x[k+1] = A x[k] + B u[k],                      ŷ[k] = C x[k] + D u[k]
prediction   x[k+1] = (A - K C) x[k] + (B - K D) u[k] + K y[k]   from one step before; more steps by the first line
start        x[0] is the least-squares fit of C Ā^k x[0] to y minus the run from zero; Ā = A or A - K C
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.linear.recursions import march


def free_motion(A: Any, C: Any, count: int) -> Any:
    """C Aᵏ for k < count: (count, ny, n), real or complex, by doubling."""
    result = np.empty((count, *C.shape), dtype=np.result_type(A, C))
    if not count:
        return result
    result[0] = C
    done, power = 1, A
    while done < count:
        more = min(done, count - done)
        result[done : done + more] = result[:more] @ power
        done += more
        power = power @ power
    return result


def estimate_initial_state(
    A: FloatArray, C: FloatArray, rest: FloatArray, block_length: int = 4096, dead: float = 1e-12
) -> FloatArray:
    """x[0] (n,) whose free motion C Aᵏ x[0] is nearest to ``rest`` (N, ny); minimum norm where that is not unique.

    A triangular factor is carried from block to block, so memory does not grow with N; a motion that has died out
    ends the sum early.

    block_length, dead : samples of the free motion held at once, and where it has died out, relative to its beginning.
    """
    n, (count, ny) = len(A), rest.shape
    if n == 0 or ny == 0:
        return np.zeros(n)
    R = np.zeros((0, n + 1))
    length = min(block_length, max(64, 2_000_000 // max(1, n * ny)))
    Ck, first = C, float(np.abs(C).max()) or 1.0
    transition = np.linalg.matrix_power(A, length)
    for begin in range(0, count, length):
        size = min(length, count - begin)
        rows = free_motion(A, Ck, size).reshape(size * ny, n)
        if not np.isfinite(rows).all() or np.abs(rows).max() < dead * first:
            break
        block = np.column_stack([rows, rest[begin : begin + size].reshape(-1)])
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
        with np.errstate(over="ignore", invalid="ignore"):
            Ck = Ck @ transition
    solution: FloatArray = scipy.linalg.lstsq(R[:, :n], R[:, n], cond=1e-12)[0]
    return solution


def simulate(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, u: FloatArray, start: FloatArray, run: int = 65_536
) -> FloatArray:
    """Outputs (N, ny) from an initial state (n,); the states of some samples at a time are in memory.

    run : samples whose states are held at once.
    """
    result = np.empty((len(u), len(C)))
    for first in range(0, len(u), run):
        block = u[first : first + run]
        path = march(A, block @ B.T, start)
        result[first : first + run] = path[:-1] @ C.T + block @ D.T
        start = path[-1]
    return result


def play_back(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, u: FloatArray, y: FloatArray | None
) -> FloatArray:
    """ŷ (N, ny) of the system driven by u (N, nu), from the start that suits y best, or from zero (y None)."""
    simulated = simulate(A, B, C, D, u, np.zeros(len(A)))
    if y is None:
        return simulated
    return simulate(A, B, C, D, u, estimate_initial_state(A, C, y - simulated))


def predict(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, K: FloatArray,
    u: FloatArray, y: FloatArray, steps: int, estimate: bool,
) -> FloatArray:  # fmt: skip
    """ŷ[k] from the inputs up to k and the outputs up to k - steps, (N, ny)."""
    closed, both = A - K @ C, np.hstack([B - K @ D, K])
    measured, through = np.hstack([u, y]), np.hstack([D, np.zeros((len(C), len(C)))])
    start = np.zeros(len(A))
    predicted = simulate(closed, both, C, through, measured, start)
    if estimate:
        start = estimate_initial_state(closed, C, y - predicted)
        predicted = simulate(closed, both, C, through, measured, start) if steps == 1 else predicted
    if steps == 1:
        return predicted
    # the predictor state steps - 1 samples before, carried on by the inputs alone; the first ones all from x[0]
    x = march(closed, (measured @ both.T)[:-1], start)
    late, drive = min(steps - 1, len(u) - 1), u @ B.T
    carried = x[: len(x) - late]
    for j in range(late):
        carried = carried @ A.T + drive[j : j + len(carried)]
    x = np.vstack([march(A, drive[: late - 1], start), carried]) if late else x
    result: FloatArray = x @ C.T + u @ D.T
    return result
