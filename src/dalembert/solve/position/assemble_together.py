"""Initial states of one machine with many sets of parameters, all at once.

From a pose of the machine that is closed, Newton's iteration closes it for every set of parameters:

    q₁ = q + N Δ ,    Δ = -J⁺ residual          (J⁺: pseudo-inverse; the smallest change, redundant joints allowed)

and the speeds follow in the same way. A set that does not close in a few iterations from there is left to `assemble`,
which searches with damping and from several places.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.position.assemble import TOLERANCE, normalised_numbers

ITERATIONS = 12  # from a neighbouring pose three to five suffice
RANK = 1e-10  # relative size of a singular value that counts as zero, as in `assemble`


def assemble_together(
    eqs: EquationsOfMotion, start: State, wanted: Mapping[str, Array], speeds: Mapping[str, Array], p: Array
) -> tuple[Array, Array, Array]:
    """q and v of every set, and which of them are closed.

    start : a closed pose to begin from.  wanted, speeds : names of measures -> (n,) values.  p : (n, parameters).
    """
    n, t = len(p), start.t
    q = np.tile(start.q, (n, 1))
    chosen = [eqs.measures.index[name] for name in wanted]
    values = np.stack(list(wanted.values()), axis=1) if wanted else np.empty((n, 0))
    zeros = np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu)

    def residual(q: Array) -> Array:
        gaps = eqs.kernel("position").many(q, p, t)[0].reshape(n, -1)
        return np.hstack((gaps, eqs.kernel("measures").many(q, zeros[0], p, t)[0][:, chosen] - values))

    tolerance = TOLERANCE * (1 + np.abs(q).max(axis=1, initial=0.0))
    with np.errstate(all="ignore"):
        missed = residual(q)
        gap = np.abs(missed).max(axis=1, initial=0.0)
        for _ in range(ITERATIONS):
            if (gap <= 1e-2 * tolerance).all():
                break
            J = _gradient(eqs, q, zeros[0], p, t, eqs.holonomic_rows, chosen)
            N = eqs.kernel("kinematics").many(q, p, t)[0]
            change = -_pseudo_inverse(J) @ missed[:, :, None]
            trial = q + (N @ change)[:, :, 0]
            trial = np.stack([normalised_numbers(eqs, one) for one in trial]) if eqs.quaternions else trial
            after = residual(trial)
            new_gap = np.abs(after).max(axis=1, initial=0.0)
            better = (new_gap < gap)[:, None]
            if not better.any():
                break
            q, missed = np.where(better, trial, q), np.where(better, after, missed)
            gap = np.minimum(gap, np.where(np.isfinite(new_gap), new_gap, np.inf))
        v, slip = _speeds(eqs, q, speeds, p, t)
    return q, v, (gap <= tolerance) & slip


def _gradient(
    eqs: EquationsOfMotion, q: Array, v: Array, p: Array, t: float, rows: tuple[int, ...], chosen: list[int]
) -> Array:
    A = eqs.kernel("rows").many(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), p, t)[0][:, list(rows), :]
    return np.concatenate((A, eqs.kernel("measures").many(q, v, p, t)[2][:, chosen, :]), axis=1)


def _speeds(eqs: EquationsOfMotion, q: Array, speeds: Mapping[str, Array], p: Array, t: float) -> tuple[Array, Array]:
    """Speeds of every set, and whether they agree with joints and prescribed rates."""
    n = len(q)
    chosen = [eqs.measures.index[name] for name in speeds]
    values = np.stack(list(speeds.values()), axis=1) if speeds else np.empty((n, 0))
    v = np.zeros((n, eqs.nv))
    size = 1 + np.abs(values).max(axis=1, initial=0.0)
    back = _pseudo_inverse(_gradient(eqs, q, v, p, t, eqs.rate_rows, chosen))
    for _ in range(3):  # one for rows linear in the speeds, others against rounding
        rates = eqs.kernel("rates").many(q, v, p, t)[0].reshape(n, -1)
        missed = np.hstack((rates, eqs.kernel("measures").many(q, v, p, t)[1][:, chosen] - values))
        worst = np.abs(missed).max(axis=1, initial=0.0)
        if (worst <= 1e-13 * size).all():
            break
        v = v - (back @ missed[:, :, None])[:, :, 0]
    return v, worst <= 1e-9 * size


def _pseudo_inverse(J: Array) -> Array:
    """Of every matrix; NaN where one is not finite, so that its set does not close."""
    fine = np.isfinite(J).all(axis=(1, 2))
    back = np.full((len(J), J.shape[2], J.shape[1]), np.nan)
    if fine.any():
        back[fine] = np.linalg.pinv(J[fine], rcond=RANK)
    return back
