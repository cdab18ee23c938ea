"""Choice of independent coordinates that stay independent at every pose of the machine.

At one pose several coordinates may be suitable; at its dead point the slider of a slider-crank is not, nor is the
angle of the rocker of a crank-rocker. So the machine is moved along its joints from the initial pose as far as they
allow, and a coordinate s is judged by its worst pose: by the part of its gradient on the motions Z of the joints that
is orthogonal to those of the coordinates chosen before, relative to the largest gradient on the way,

    score = min |(1 - P) Zᵀ s'ᵀ| / max |Zᵀ s'ᵀ| .

Z is orthonormal in speeds of like size: a shape bends its body by a hundredth of what joints move it. With amplitudes
in their own units (of modes of unit mass: 1 moves a light plate by 20 m) two shapes that move the next body alike
would cancel in Z, and neither would be independent of the other.

Coordinates of joints come first, then amplitudes of elastic shapes, turns of bodies and their places.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.numerics import ties
from dalembert.solve.constrained.solve import projection_function
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.tangent import Candidate, measure_candidate, split, turn_candidates


def choose_coordinates(
    eqs: EquationsOfMotion,
    chart: Chart,
    lasting: float = 0.1,  # score from which on a coordinate is suitable: its rates have at most 10 times the errors
    possible: float = 1e-6,  # score from which on it is independent at all, where none is suitable
) -> list[str]:
    """Names of independent coordinates for a machine that starts at the chart's state."""
    measures, joints = ([measure_candidate(eqs, k) for k in rows] for rows in (eqs.positions, eqs.recorded_measures))
    turns = turn_candidates(eqs, chart.x, world=False)
    elastic = [c for c in measures if c.name in eqs.elastic]
    groups = [joints, elastic, *turns, [c for c in measures if c not in joints and c not in elastic]]
    candidates = [c for group in groups for c in group]
    count = len(chart.positions)
    slopes = (_gradients(eqs, q, chart.x.t, candidates) for q in _poses(eqs, chart))
    views = np.array([S for S in slopes if S.shape[1] == count])  # (poses, candidates, freedoms)
    if not len(views):
        return [c.name for c in chart.positions]
    largest = np.maximum(np.linalg.norm(views, axis=2).max(axis=0), 1e-300)
    places = np.cumsum([0, *map(len, groups)])
    chosen: list[int] = []
    while len(chosen) < count:
        score = np.linalg.norm(views, axis=2).min(axis=0) / largest
        score[chosen] = 0.0
        best = [int(a + ties.first_largest(score[a:b])) for a, b in pairwise(places) if b > a]
        good = [k for k in best if score[k] >= lasting] or [
            k for k in best if ties.is_largest(score[k], score.max()) and score.max() > possible
        ]
        if not good:
            return [c.name for c in chart.positions]
        chosen.append(good[0])
        along = views[:, good[0]] / np.maximum(np.linalg.norm(views[:, good[0]], axis=1, keepdims=True), 1e-300)
        views = views - np.einsum("pcf,pf->pc", views, along)[:, :, None] * along[:, None]
    return [candidates[k].name for k in sorted(chosen)]


def _gradients(
    eqs: EquationsOfMotion,
    q: Array,
    t: float,
    candidates: list[Candidate],
    bending: float = 0.01,  # motion of a body's points by its shapes, of that by its joints; its square couples shapes
) -> Array:
    """(candidates, freedoms): gradients of the coordinates on the motions that the joints allow."""
    still = np.zeros(eqs.nv)
    A = eqs.kernel("rows")(q, still, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, t)[0].reshape(len(eqs.rows), eqs.nv)
    S = eqs.kernel("measures")(q, still, eqs.p, t)[2].reshape(len(eqs.measures), eqs.nv)
    A, elastic, scale = A[eqs.holonomic_rows], list(eqs.elastic_speeds.values()), np.ones(eqs.nv)
    if elastic:
        scale[elastic] = bending / np.maximum(np.linalg.norm(A[:, elastic], axis=0), 1.0)
    Z = scale[:, None] * split(A * scale)[4]
    eye = np.eye(eqs.nv)
    rows = [
        S[c.index] if c.kind == "measure" else eye[c.columns[c.index]] if c.columns else S[c.turns + c.index]
        for c in candidates
    ]
    return np.asarray(np.array(rows).reshape(len(candidates), eqs.nv) @ Z)


def _poses(
    eqs: EquationsOfMotion,
    chart: Chart,
    rays: int = 4,  # directions of motion that are explored
    steps: int = 48,  # forward and back: 48 × 0.15 rad is more than a turn
    stride: float = 0.15,  # largest change of a coordinate in a step [rad or m]
    newton: int = 3,  # iterations that close a pose: 0.15 -> 1e-2 -> 1e-4 -> 1e-8
    residual: float = 1e-6,  # of a closed pose [m or rad], after these iterations
    still: float = 1e-12,  # of a direction of unit size that the joints leave none of: some thousand roundings
    large: int = 60,  # speeds of a machine; above it the initial pose alone decides
) -> list[Array]:
    """Poses along some ways that the joints allow, the start first; flexible bodies turn and move as they are bent."""
    start, t, p = chart.x.q, chart.x.t, eqs.p
    held = np.eye(eqs.nv)[list(eqs.elastic_speeds.values())]
    poses = [start]
    if eqs.nv > large:
        return poses
    project = Kernel(projection_function(eqs, newton))
    random = np.random.default_rng(0)
    free = split(np.vstack((chart.T.A[eqs.holonomic_rows], held)))[4].shape[1]
    for ray in range(min(rays, free)):
        first = random.normal(size=eqs.nv) if ray else np.ones(eqs.nv)
        for sign in (1.0, -1.0):
            q, direction = start, sign * first
            for _ in range(steps):
                A = eqs.kernel("rows")(q, 0 * direction, np.zeros(eqs.nz), np.zeros(eqs.nu), p, t)[0]
                Z = split(np.vstack((A.reshape(len(eqs.rows), eqs.nv)[eqs.holonomic_rows], held)))[4]
                direction = Z @ (Z.T @ direction)
                size = float(np.abs(direction).max(initial=0.0))
                if size < still:
                    break
                N = eqs.kernel("kinematics")(q, p, t)[0].reshape(eqs.nq, eqs.nv)
                direction = direction / size
                trial = project(q + stride * (N @ direction), 0 * direction, p, t)[0]
                gap = eqs.kernel("position")(trial, p, t)[0]
                if not np.isfinite(trial).all() or np.abs(gap).max(initial=0.0) > residual:
                    break
                q = trial
                poses.append(q)
    return poses
