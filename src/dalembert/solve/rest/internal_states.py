"""Equilibria that internal states decide: integral action moves the machine until its memory rests.

    f + Aᵀλ = 0 ,   φ = 0 ,   g(q, z) = 0     by Newton's method on (ξ, z, λ) together

Where ∂g/∂z is regular the internal states follow the pose, which `equilibrium` makes use of; an integrator has
∂g/∂z = 0, and the pose follows from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.expressions import Array

ITERATIONS = 60


def rest_with_memory(problem: Any, q: Array, z: Array) -> tuple[Array, Array] | None:
    """Pose and internal states at rest, nearest to these; None where Newton's method does not get there.

    problem : of `equilibrium`: ``forces(q, z, λ)``, ``move(q, δξ)``, ``share(δξ)``.
    """
    lam = np.zeros(len(problem.forces(q, z, np.zeros(len(problem.eqs.rows) + len(problem.held))).gap))
    before = np.inf
    for _ in range(ITERATIONS):
        now = problem.forces(q, z, lam)
        A = now.A.toarray()
        left = now.f + A.T @ lam
        size = float(np.linalg.norm(np.concatenate((left, now.gap, now.g))))
        if not np.isfinite(size) or size > 1e6 * max(before, 1.0):
            return None
        if size <= 1e-13 * (1 + float(np.abs(now.f).max(initial=0.0))):
            return q, z
        before = min(before, size)
        rows, nz = len(lam), len(z)
        matrix = np.block([
            [now.K.toarray(), -now.f_z.toarray(), -A.T],
            [A, np.zeros((rows, nz + rows))],
            [now.g_x.toarray(), now.g_z.toarray(), np.zeros((nz, rows))],
        ])  # fmt: skip
        change = np.linalg.lstsq(matrix, np.concatenate((left, -now.gap, -now.g)), rcond=1e-12)[0]
        move = change[: problem.eqs.nv]
        share = problem.share(move)
        q = problem.move(q, share * move)
        z = z + share * change[len(move) : len(move) + nz]
        lam = lam + share * change[len(move) + nz :]
    return (q, z) if before <= 1e-9 * (1 + float(np.abs(now.f).max(initial=0.0))) else None
