"""Degrees of freedom: counted, and true; redundant joints; distance to singular poses.

    count  ν = d n - Σ (d - k) J(k)        (Chebychev-Gruebler-Kutzbach)
    true   n_v - rank A                    (rank decided from singular values)

Before the rank is taken, turning speeds are multiplied by the largest arm that occurs in the rows (so that neither
metres nor millimetres matter) and rows are brought to unit length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import AssemblyError, DataError, ModelError, unknown_name
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.numerics import ties
from dalembert.record import Record
from dalembert.solve.constrained import matrices
from dalembert.solve.constrained.solve import depends_on_reactions
from dalembert.solve.constrained.structure import rows_of_cut_joints
from dalembert.solve.position.assemble import assemble, normalised_numbers, state_or_rest
from dalembert.solve.position.idle import free_spins
from dalembert.solve.position.prescribed_motion import acceleration_name
from dalembert.solve.position.tangent import RANK, speed_numbers

# Share of a left null vector from which a joint takes part in a redundancy: rows outside it have rounding there, some
# 1e-16 over the singular value that counts (1e-9 at least), so 1e-7.
INVOLVED = 1e-6
# Singular value, relative to the largest, below which a pose is near a singular one: constraint forces are ten
# thousand times the loads there, and a step that closes joints to 1e-12 knows speeds to 1e-8.
NEAR_SINGULAR = 1e-4


def gruebler(bodies: int, freedoms: Mapping[int, int], *, planar: bool) -> int:
    """d n - Σ (d - k) J(k) for `bodies` moving bodies and ``freedoms[k]`` joints with k freedoms.

    Examples
    --------
    >>> gruebler(3, {1: 4}, planar=True), gruebler(3, {1: 4}, planar=False)
    (1, -2)
    """
    d = 3 if planar else 6
    return d * bodies - sum((d - k) * count for k, count in freedoms.items())


@dataclass(frozen=True, eq=False)
class Mobility:
    """Freedoms of a machine at one pose.

    gruebler : speeds minus constraint rows.  dof : speeds minus rank of the rows.  rank, rows : their numbers.
    redundant : names of joints (gears, drivers, constraints) that take part in a redundancy.
    surplus : (owner, number of rows) that could go without freeing anything; one choice of several.
    distance : smallest singular value that counts, of the scaled rows; 0 is a singular pose.
    singular : True when the rank is lower here than nearby, False when it is the same, None when there is no
        neighbour to compare with.
    independent : speeds that determine all others, chosen for the best conditioning, or the given ones.
    complement : (nv, dof) S with A S = 0, a column per motion the joints allow: 1 for one independent speed and what
        the others do with it ("partition"), or orthonormal ("qr", "svd").
    idle : freedoms that move nothing else: a link between two ball joints turns about their line.
    """

    name: str
    gruebler: int
    dof: int
    rank: int
    rows: int
    redundant: tuple[str, ...]
    surplus: tuple[tuple[str, int], ...]
    distance: float
    singular: bool | None
    independent: tuple[str, ...]
    complement: Array
    tolerance: float
    idle: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [
            f"Mobility of {self.name!r}: {self.dof} degree{'s' if self.dof != 1 else ''} of freedom",
            f"  Gruebler count  {self.gruebler}",
            f"  constraint rows {self.rows}, independent {self.rank} (relative tolerance {self.tolerance:g})",
            f"  distance to a singular pose {self.distance:.3g}",
        ]
        if self.singular:
            lines.append("  this pose is singular: nearby the rows are independent of each other")
        if self.redundant:
            lines.append(f"  redundant together: {', '.join(self.redundant)}")
            lines.append("  could go: " + ", ".join(f"{n} row{'s' * (n > 1)} of {o}" for o, n in self.surplus))
        if self.dof:
            shown = ", ".join(self.independent[:8]) + (", ..." if len(self.independent) > 8 else "")
            lines.append(f"  independent speeds: {shown}")
        lines += [f"  idle: {text}" for text in self.idle]
        return "\n".join(lines)


def scaled_rows(eqs: EquationsOfMotion, A: Array) -> Array:
    """Rows of unit length with turning speeds in units of the largest arm. A: (..., rows, nv)."""
    turning = np.array([unit == "rad/s" for unit in eqs.speeds.units], dtype=bool)
    size = np.sqrt((A**2).sum(axis=-1))
    arm = 0.0
    if turning.any() and not turning.all():
        straight = np.sqrt((A[..., ~turning] ** 2).sum(axis=-1))
        turn = np.sqrt((A[..., turning] ** 2).sum(axis=-1))
        mixed = straight > RANK * size
        arm = float((turn[mixed] / straight[mixed]).max(initial=0.0))
    scaled = np.where(turning, A / arm, A) if arm > 0 else A
    return unit_rows(eqs, scaled)


def unit_rows(eqs: EquationsOfMotion, A: Array) -> Array:
    """Rows of unit length; those of a joint that closes a loop of a tree over the largest of them."""
    size = np.sqrt((A**2).sum(axis=-1))
    for group in map(list, rows_of_cut_joints(eqs)):
        size[..., group] = size[..., group].max(axis=-1, keepdims=True)
    result: Array = A / np.where(size > 0, size, 1.0)[..., None]
    return result


def rows_at(eqs: EquationsOfMotion, state: State, *, scaled: bool = True) -> Array:
    A = eqs.kernel("rows")(state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, state.t)[0]
    A = np.reshape(A, (len(eqs.rows), eqs.nv))
    if not np.isfinite(A).all():
        raise ModelError("not-finite", f"constraint rows of {eqs.name!r} are not finite at t = {state.t:g} s.")
    return scaled_rows(eqs, A) if scaled else unit_rows(eqs, A)


def mobility(
    eqs: EquationsOfMotion,
    state: State | None = None,
    *,
    basis: str = "partition",
    independent: Iterable[str] | None = None,
    tolerance: float = RANK,
) -> Mobility:
    """Degrees of freedom, counted and true, and the joints that are redundant.

    Parameters
    ----------
    state : the pose; None assembles the drawing.
    basis : how the motions the joints allow are written: "partition", "qr" or "svd", see `Mobility.complement`.
    independent : names of the independent speeds of a partition; found when left out.
    tolerance : singular values below this share of the largest count as zero.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> da.mobility(da.equations(m)).dof
    1
    """
    state = state_or_rest(eqs, state, weightless=True)
    A, plain = rows_at(eqs, state), rows_at(eqs, state, scaled=False)
    values = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(0)
    rank = matrices.rank_of(values, real_number("tolerance", tolerance))
    redundant: tuple[str, ...] = ()
    surplus: tuple[tuple[str, int], ...] = ()
    if rank < len(eqs.rows):
        weight = np.linalg.norm(matrices.left_null_space(A, tolerance), axis=1)
        owners = [row.owner for row in eqs.rows]
        redundant = tuple(dict.fromkeys(o for o, w in zip(owners, weight, strict=True) if w > INVOLVED))
        extra = [owners[k] for k in _surplus_rows(A, rank)]
        surplus = tuple((owner, extra.count(owner)) for owner in dict.fromkeys(extra))
    chosen = matrices.independent_columns(A, tolerance)[0]
    if independent is not None:
        chosen = speed_numbers(eqs, independent)
    return Mobility(
        name=eqs.name,
        gruebler=eqs.nv - len(eqs.rows),
        dof=eqs.nv - rank,
        rank=rank,
        rows=len(eqs.rows),
        redundant=redundant,
        surplus=surplus,
        distance=float(values[rank - 1] / values[0]) if rank else 1.0,
        singular=_is_singular(eqs, state, A, rank, tolerance) if rank < min(A.shape) else False,
        independent=tuple(eqs.speeds.names[k] for k in chosen),
        complement=matrices.complement(plain, basis, independent=chosen, names=eqs.speeds.names, tolerance=tolerance),
        tolerance=tolerance,
        idle=tuple(eqs.spins[k] for k in free_spins(eqs, plain, np.array(state.q), state.t)),
    )


def _surplus_rows(A: Array, rank: int) -> list[int]:
    """Rows that repeat others: those that QR of Aᵀ with pivoting takes last."""
    return sorted(int(k) for k in ties.pivot_columns(A.T)[1][rank:])


def _is_singular(
    eqs: EquationsOfMotion, state: State, A: Array, rank: int, tolerance: float, probe: float = 1e-2
) -> bool | None:
    """Whether the rank drops just here: compare with a pose a little further along a freedom.

    probe : distance of the neighbouring pose [rad, or times the arm, m] whose rank is compared: a simple dead point has
    a singular value of this size there, far above `rank`.
    """
    S = matrices.complement(A, tolerance=tolerance)
    direction = S @ np.random.default_rng(0).normal(size=S.shape[1])
    direction *= probe / float(np.abs(direction).max())
    q, t = np.array(state.q), state.t
    N = np.reshape(eqs.kernel("kinematics")(q, eqs.p, t)[0], (eqs.nq, eqs.nv))
    q = normalised_numbers(eqs, q + N @ direction)
    try:
        near = assemble(eqs, start=eqs.state(q, state.v, state.z, t), t=t)
    except AssemblyError:
        return None
    return matrices.rank_of(np.linalg.svd(rows_at(eqs, near), compute_uv=False), tolerance) > rank


def rank_report(eqs: EquationsOfMotion, record: Record, *, tolerance: float = RANK) -> Record:
    """Rank of the constraint rows, freedoms, distance to a singular pose and residuals along a run.

    Returns a Record with channels ``rank``, ``dof``, ``distance`` (smallest singular value that counts) and
    ``smallest`` (smallest of all: passes near zero where rank is about to drop), each relative to the largest. A run
    that carries its accelerations has the Euclidean norms of the residuals too: ``residual.acceleration`` of A v̇ - b,
    ``residual.force`` of Sᵀ(f - M v̇) on the motions S the joints allow (not where friction depends on reactions), and
    ``residual.combined``, the root of the sum of their squares.
    """
    columns = []
    for channels, default in ((eqs.coordinates, None), (eqs.speeds, None), (eqs.internal, 0.0), (eqs.inputs, 0.0)):
        block = np.zeros((len(record.time), len(channels)))
        for k, name in enumerate(channels.names):
            if name in record.names:
                block[:, k] = record[name]
            elif default is None:
                raise DataError(
                    "missing-channel", unknown_name("channel", name, record.names, f"the run given for {eqs.name!r}")
                )
        columns.append(block)
    q, v, z, u = columns
    count = len(record.time)
    values = np.zeros((count, 0))
    if eqs.rows:
        A = eqs.kernel("rows").many(q, v, z, u, eqs.p, record.time[:, None])[0]
        A = np.reshape(A, (count, len(eqs.rows), eqs.nv))
        values = np.asarray(np.linalg.svd(scaled_rows(eqs, A), compute_uv=False))
    rank = np.array([matrices.rank_of(s, tolerance) for s in values], dtype=float)
    pairs = list(zip(values, rank.astype(int), strict=True))
    data = {
        "rank": rank,
        "dof": eqs.nv - rank,
        "distance": np.array([s[r - 1] / s[0] if r else 1.0 for s, r in pairs]),
        "smallest": np.array([s[-1] / s[0] if r else 1.0 for s, r in pairs]),
    }
    names = [acceleration_name(n, eqs.speeds.index) for n in eqs.speeds.names]
    if all(name in record.names for name in names):
        a = np.column_stack([record[name] for name in names]) if names else np.zeros((count, 0))
        data |= _residuals(eqs, record.time, (q, v, z, u), a, tolerance)
    return Record.from_channels(record.time, data, {}, name=f"rank of {eqs.name}", provenance={"tolerance": tolerance})


def _residuals(
    eqs: EquationsOfMotion, time: Array, at: tuple[Array, ...], a: Array, tolerance: float
) -> dict[str, Array]:
    """Norms of A v̇ - b and Sᵀ(f - M v̇) at every sample."""
    count, rows, nv = len(time), len(eqs.rows), eqs.nv
    t = time[:, None]
    A, b = eqs.kernel("rows").many(*at, eqs.p, t)
    A, b = np.reshape(A, (count, rows, nv)), np.reshape(b, (count, rows))
    missed = np.linalg.norm(np.einsum("kij,kj->ki", A, a) - b, axis=1)
    residuals = {"residual.acceleration": missed}
    if not depends_on_reactions(eqs):
        M = np.reshape(eqs.kernel("inertia").many(at[0], eqs.p, t)[0], (count, nv, nv))
        f = np.reshape(eqs.kernel("forces").many(*at, eqs.p, t, np.zeros((count, rows)))[0], (count, nv))
        left = f - np.einsum("kij,kj->ki", M, a)
        along = (matrices.complement(A[k], tolerance=tolerance).T @ left[k] for k in range(count))
        force = np.array([np.linalg.norm(x) for x in along])
        residuals |= {"residual.force": force, "residual.combined": np.hypot(missed, force)}
    return residuals
