"""Whether a derivation determines the accelerations: ranks at random points and in the pose as drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import HOLONOMIC
from dalembert.equations.equations_of_motion import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.numerics.gauss_newton import close_rows
from dalembert.symbolic.motion import CLOSING, RANK

if TYPE_CHECKING:
    from dalembert.symbolic.derivation import Derivation


def check_derivation(d: Derivation) -> None:
    """Check at random points that masses and rows determine the accelerations."""
    motion = d.motion
    if d.M.shape != (motion.nv, motion.nv) or d.f.shape != (motion.nv, 1):
        raise ModelError("wrong-shape", f"M and f have the shapes {d.M.shape} and {d.f.shape}.")
    points = motion.sample([d.M, d.A], 2)
    good = [(M, A) for M, A in points if np.isfinite(M).all() and np.isfinite(A).all()]
    if not good:
        raise ModelError("not-finite", f"M or A of system {d.system.name!r} is not finite at random points.")
    ranks = []
    for M, A in good:
        stacked = np.vstack([_scale_rows(M), _scale_rows(A)])
        ranks.append(np.linalg.matrix_rank(stacked, RANK))
    if max(ranks) < motion.nv:
        M, A = good[0]
        _, _, V = np.linalg.svd(np.vstack([_scale_rows(M), _scale_rows(A)]))
        name = motion.names[int(np.abs(V[-1]).argmax())]
        raise ModelError(
            "massless-body", f"nothing determines the acceleration of {name!r} in system {d.system.name!r}: the mass "
            "matrix is singular and no constraint row acts on it (checked at random points).",
            where={"speed": name},
        )  # fmt: skip
    if len(d.rows) > max(np.linalg.matrix_rank(_scale_rows(A), RANK) for _, A in good):
        _refuse_contradiction(d)


def _scale_rows(rows: Array) -> Array:
    lengths = np.abs(rows).max(axis=1, keepdims=True) if rows.size else np.ones((len(rows), 1))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _refuse_contradiction(
    d: Derivation,
    gap: float = 1e-6,  # residual that stays open: Newton's method ends near 1e-15 where there is a solution
    starts: int = 4,  # poses from which it is tried: a closed chain has few ways to close
) -> None:
    """Refuse dependent holonomic rows without a common pose; a Gauss-Newton search from a few poses decides."""
    rows = [row for row in d.motion.ordered if row.level == HOLONOMIC]
    if not rows:
        return
    s = d.system
    phi = ca.vertcat(*(row.expression for row in rows))
    f = ca.Function("phi", [s.q, s.p, s.t], [phi, ca.jacobian(phi, s.q)])
    random = np.random.default_rng(3)
    p = [1.0 if x is None else x for x in s.parameter_values.values()]
    best = np.full(len(rows), np.inf)

    def at(q: Array) -> tuple[Array, Array]:
        value, J = map(np.array, f(q, p, 0.0))
        return value[:, 0], J

    for _ in range(starts):
        q = np.array([s.drawn[name] for name in s.coordinate_names]) + random.normal(size=s.q.shape[0])
        q, _ = close_rows(at, q, rank=CLOSING.rank, settled=CLOSING.step, most=CLOSING.steps)
        value = np.array(f(q, p, 0.0)[0])[:, 0]
        if np.isfinite(value).all() and np.abs(value).max() < np.abs(best).max():
            best = value
    if np.abs(best).max() > gap:
        bad = [rows[k].name for k in np.flatnonzero(np.abs(best) > gap)]
        raise ModelError(
            "conflicting-arguments", f"constraints {', '.join(map(repr, bad))} of system {s.name!r} contradict each "
            "other: no pose fulfils them.", where={"rows": bad}, evidence={"residual": float(np.abs(best).max())},
        )  # fmt: skip


def check_drawn(eqs: EquationsOfMotion) -> None:
    """M, f and the rows must be finite in the pose as drawn, and M and the rows must determine the accelerations."""
    q, v = eqs.state().q, np.zeros(eqs.nv)
    (M,) = eqs.kernel("inertia")(q, eqs.p, 0.0)
    (f,) = eqs.kernel("forces")(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0, np.zeros(len(eqs.rows)))
    A, b = eqs.kernel("rows")(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
    for what, value in (("the mass matrix", M), ("the force", f)):
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            name = eqs.speeds.names[int(bad[0][0])]
            raise ModelError(
                "not-finite", f"{what} of {name!r} is not finite in the pose as drawn: something is divided by zero.",
                Advice("Draw another pose: {}.", Call("s.coordinate")), where={"speed": name},
            )  # fmt: skip
    rows = np.flatnonzero(~np.isfinite(np.column_stack([A.reshape(-1, eqs.nv), b])).all(axis=1))
    if len(rows):
        owner = eqs.rows[int(rows[0])].owner
        raise ModelError(
            "not-finite", f"row {owner!r} is not finite in the pose as drawn: something is divided by zero.",
            Advice("Draw another pose: {}.", Call("s.coordinate")), where={"row": owner},
        )  # fmt: skip
    _, sizes, V = np.linalg.svd(np.vstack([_scale_rows(M.reshape(eqs.nv, eqs.nv)), _scale_rows(A.reshape(-1, eqs.nv))]))
    if sizes[-1] <= RANK * sizes[0]:
        name = eqs.speeds.names[int(np.abs(V[-1]).argmax())]
        raise ModelError(
            "singular-matrix", f"nothing determines the acceleration of {name!r} in the pose as drawn: mass matrix and "
            "rows lose rank there.", Advice("Draw another pose: {}.", Call("s.coordinate")), where={"speed": name},
        )  # fmt: skip
