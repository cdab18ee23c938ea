"""Initial states of one machine with many sets of parameters, all at once.

From a pose of the machine that is closed, Newton's iteration closes it for every set of parameters:

    q₁ = q + N Δ ,    Δ = -J⁺ residual          (J⁺: pseudo-inverse; the smallest change, redundant joints allowed)

and the speeds follow in the same way. The prescribed coordinates must determine the pose, so that it does not matter
where the iteration begins. A set that does not close in a few iterations is left to `assemble`, which searches with
damping and from several places. What happens to a set does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.constrained.matrices import RANK_TOLERANCE
from dalembert.solve.position.assemble import AIMED, CLOSED, MISSED_SPEED, SPEED_ROUNDING, Units, normalised_numbers

ITERATIONS = 12  # from a neighbouring pose three to five suffice


def determines_pose(eqs: EquationsOfMotion, start: State, wanted: tuple[str, ...]) -> bool:
    """Whether joints and the prescribed measures leave no freedom at a pose."""
    if eqs.counters or eqs.placement.followers or any(name not in eqs.measures.index for name in wanted):
        return False
    chosen = [eqs.measures.index[name] for name in wanted]
    J = _gradient(eqs, start.q[None, :], np.zeros((1, eqs.nv)), eqs.p[None, :], start.t, eqs.holonomic_rows, chosen)[0]
    return bool(np.linalg.matrix_rank(J, tol=RANK_TOLERANCE * max(float(np.abs(J).max(initial=0.0)), 1.0)) == eqs.nv)


def assemble_together(
    eqs: EquationsOfMotion, start: State, wanted: Mapping[str, Array], speeds: Mapping[str, Array], p: Array
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """q and v of every set, and which of them are closed.

    start : a closed pose to begin from.  wanted, speeds : names of measures -> (n,) values.  p : (n, parameters).
    """
    n, t = len(p), start.t
    chosen = [eqs.measures.index[name] for name in wanted]
    values = np.stack(list(wanted.values()), axis=1) if wanted else np.empty((n, 0))
    still = np.zeros((1, eqs.nv))

    def residual(q: Array) -> Array:
        gaps = eqs.kernel("position").many(q, p, t)[0].reshape(n, -1)
        return np.hstack((gaps, eqs.kernel("measures").many(q, still, p, t)[0][:, chosen] - values))

    q = np.tile(start.q, (n, 1))
    tolerance = CLOSED * (1 + np.abs(q).max(axis=1, initial=0.0)) * min(Units(eqs, start.q, t).length, 1.0)
    with np.errstate(all="ignore"):
        missed = residual(q)
        gap = np.abs(missed).max(axis=1, initial=0.0)
        active = gap > AIMED * tolerance
        for _ in range(ITERATIONS):
            if not active.any():
                break
            J = _gradient(eqs, q, still, p, t, eqs.holonomic_rows, chosen)
            N = eqs.kernel("kinematics").many(q, p, t)[0]
            trial = q - (N @ _least_change(J, missed)[:, :, None])[:, :, 0]
            trial = np.stack([normalised_numbers(eqs, one) for one in trial]) if eqs.quaternions else trial
            after = residual(trial)
            new_gap = np.abs(after).max(axis=1, initial=0.0)
            active &= new_gap < gap
            q, missed = np.where(active[:, None], trial, q), np.where(active[:, None], after, missed)
            gap = np.where(active, new_gap, gap)
            active &= gap > AIMED * tolerance
        v, agrees = _find_speeds(eqs, q, speeds, p, t)
    return q, v, (gap <= tolerance) & agrees


def _find_speeds(
    eqs: EquationsOfMotion, q: Array, speeds: Mapping[str, Array], p: Array, t: float
) -> tuple[Array, Array]:
    """Speeds of every set, and whether they agree with joints and prescribed rates."""
    n = len(q)
    chosen = [eqs.measures.index[name] for name in speeds]
    values = np.stack(list(speeds.values()), axis=1) if speeds else np.empty((n, 0))
    v, size = np.zeros((n, eqs.nv)), 1 + np.abs(values).max(axis=1, initial=0.0)
    worst = np.zeros(n)
    for _ in range(4):  # one for rows linear in the speeds, others against rounding
        rates = eqs.kernel("rates").many(q, v, p, t)[0].reshape(n, -1)
        missed = np.hstack((rates, eqs.kernel("measures").many(q, v, p, t)[1][:, chosen] - values))
        worst = np.abs(missed).max(axis=1, initial=0.0)
        off = worst > SPEED_ROUNDING * size
        if not off.any():
            break
        J = _gradient(eqs, q, v, p, t, eqs.rate_rows, chosen)
        v = np.where(off[:, None], v - _least_change(J, missed), v)
    return v, worst <= MISSED_SPEED * size


def _gradient(
    eqs: EquationsOfMotion, q: Array, v: Array, p: Array, t: float, rows: Sequence[int], chosen: list[int]
) -> Array:
    A = eqs.kernel("rows").many(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), p, t)[0][:, list(rows), :]
    return np.concatenate((A, eqs.kernel("measures").many(q, v, p, t)[2][:, chosen, :]), axis=1)


def _least_change(J: Array, residual: Array) -> Array:
    """The smallest x with J x = residual in every set: exactly where J is square and regular, else by J⁺.

    NaN where a matrix is not finite, so that its set does not close.
    """
    x = np.full((len(J), J.shape[2]), np.nan)
    fine = np.flatnonzero(np.isfinite(J).all(axis=(1, 2)) & np.isfinite(residual).all(axis=1))
    if J.shape[1] != J.shape[2]:
        x[fine] = (np.linalg.pinv(J[fine], rcond=RANK_TOLERANCE) @ residual[fine][:, :, None])[:, :, 0]
        return x
    try:
        x[fine] = np.linalg.solve(J[fine], residual[fine][:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # one of them is singular: each alone
        for k in fine:
            x[k] = (
                np.linalg.pinv(J[k], rcond=RANK_TOLERANCE) @ residual[k]
                if len(fine) == 1
                else _least_change(J[k : k + 1], residual[k : k + 1])[0]
            )
    return x
