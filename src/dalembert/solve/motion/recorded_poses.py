"""Poses of a motion for inverse dynamics: prescribed by functions, by recorded coordinates, or by recorded poses.

Speeds and accelerations that a record does not have come from splines, with an estimate of their errors.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.record import Record
from dalembert.solve.constrained.constraint_factor import ConstraintFactor
from dalembert.solve.constrained.mass_factor import diagonal_blocks
from dalembert.solve.motion.kinematics import Poses, follow, read_times
from dalembert.solve.motion.native_functions import analysis
from dalembert.solve.position.prescribed_motion import (
    RecordMotion,
    acceleration_name,
    differentiate,
    doubt,
    read_motion,
    spline,
)

SX = ca.SX
PASSES = 3  # that close the joints of a recorded pose, each with a factor of its own
GAP = 1e-3  # of the joints in a record of whole poses; they are closed before use


def find_poses(
    eqs: EquationsOfMotion, motion: object, times: object, start: State | None
) -> tuple[Poses, Poses | None, str]:
    """Poses; every second one with its speeds and accelerations off by their estimated errors; how they were found."""
    if isinstance(motion, Record) and _is_whole(eqs, motion):
        if times is not None:
            raise DataError(
                "conflicting-arguments",
                "a record of whole poses has its own times.",
                Advice("Resample it instead of giving {}.", Argument("times")),
            )
        return _whole_poses(eqs, motion)
    prescribed = read_motion(eqs, motion)
    grid = read_times(times, prescribed, start, None)
    poses = follow(eqs, prescribed, grid, start)
    doubtful = None
    if isinstance(prescribed, RecordMotion) and any(x.any() for x in prescribed.errors):
        errors = [spline(prescribed.times, x)(grid)[::2] for x in prescribed.errors]
        _, ds, dds = (x[::2] for x in prescribed.at(grid))
        some = poses.every_second()
        kernel = analysis(eqs, prescribed.targets, poses.held).rates_kernel
        v, a, _ = kernel.many(some.q, some.v, eqs.p, some.t.reshape(-1, 1), ds - errors[0], dds - errors[1])
        doubtful = Poses(some.t, some.q, v, a, some.held)
    return poses, doubtful, prescribed.how


def _is_whole(eqs: EquationsOfMotion, record: Record) -> bool:
    return all(name in record for name in eqs.coordinates.names if name not in eqs.unrecorded)


def _whole_poses(eqs: EquationsOfMotion, record: Record) -> tuple[Poses, Poses | None, str]:
    """Poses of a record that has every coordinate, closed and made consistent with the joints."""
    time = record.time
    # whole turns are counted from the angle where that is recorded
    names = [eqs.counted_angles.get(name, name) for name in eqs.coordinates.names]
    q = np.column_stack([record[name] if name in record else np.zeros(len(record)) for name in names])
    if not np.isfinite(q).all():
        raise DataError("gap-in-record", "the motion has gaps (coordinates that are not finite).")
    for block in eqs.quaternions:  # p and -p are the same orientation; splines need one of them throughout
        along = (q[1:, block.part] * q[:-1, block.part]).sum(axis=1)
        q[1:, block.part] *= np.cumprod(np.where(along < 0, -1.0, 1.0))[:, None]
    close, settle = _closers(eqs)
    gap = 0.0
    close.expect(PASSES * len(q))
    for _ in range(PASSES):
        q, gaps = close.many(q, eqs.p, time.reshape(-1, 1))
        gap = max(gap, float(gaps.max(initial=0.0)))
    if gap > GAP:
        how = record.provenance.get("resampled", [""])[0]
        hint = f" It was {how}: sample the run at the wanted times, or select the joint coordinates." if how else ""
        raise DataError(
            "inconsistent-motion",
            f"the poses of the record do not fit the joints of {eqs.name!r} (gap {gap:.1e} m or rad).{hint}",
        )
    seconds = [acceleration_name(n, eqs.speeds.index) for n in eqs.speeds.names]
    speeds = eqs.speeds.names
    given = all(n in record for n in speeds)
    v_error = a_error = np.zeros((len(time), eqs.nv))
    resolved = True
    if given:
        v = np.array(record[list(speeds)])
        turns = [k for k, unit in enumerate(eqs.speeds.units) if unit == "rad/s"]
        resolved = np.abs(v[:, turns]).max(initial=0.0) * np.diff(time).max(initial=0.0) < 1  # rad between samples
        if resolved:
            of = [f"{owner}.rotation" for owner in eqs.speeds.owners]
            for n, measure in zip(eqs.measure_rates.names, eqs.measures.names, strict=True):
                if n in eqs.speeds.index:
                    of[eqs.speeds.index[n]] = measure
            v_error = doubt(record, of, speeds, v, lambda: _speeds_by_spline(eqs, time, q))
    else:
        v, v_error = _speeds_by_spline(eqs, time, q)
    how = "speeds and accelerations given" if given else "speeds and accelerations differentiated by splines"
    if all(n in record for n in seconds):
        a = np.array(record[seconds])
        if resolved:
            a_error = doubt(record, speeds, seconds, a, lambda: differentiate(time, v, 1))
    else:
        a, a_error = differentiate(time, v, 1)
        a_error = a_error + spline(time[::2], v_error[::2]).derivative(1)(time)
        how = "speeds given, accelerations differentiated by splines" if given else how
    settle.expect(2 * len(q))
    exact, shifted = (settle.many(q, v - x, a - y, eqs.p, time.reshape(-1, 1)) for x, y in ((0, 0), (v_error, a_error)))
    poses = Poses(time, q, exact[0], exact[1])
    doubtful = Poses(time, q, shifted[0], shifted[1]).every_second() if v_error.any() or a_error.any() else None
    return poses, doubtful, how


def _speeds_by_spline(eqs: EquationsOfMotion, time: Array, q: Array) -> tuple[Array, Array]:
    rates, error = differentiate(time, q, 1)
    N, n = eqs.kernel("kinematics").many(q, eqs.p, time.reshape(-1, 1))
    N = N.reshape(len(time), eqs.nq, eqs.nv)  # also of one coordinate
    found = [np.zeros((len(time), eqs.nv)) for _ in range(2)]
    rows_of = ca.DM(eqs.functions["kinematics"].sparsity_out(0), 1)
    for columns in diagonal_blocks((rows_of.T @ rows_of).sparsity()):  # N is one block per body
        rows = np.unique(rows_of[:, columns].sparsity().row())
        back = np.linalg.pinv(N[:, rows][:, :, columns])
        for part, x in zip(found, (rates - n.reshape(rates.shape), error), strict=True):
            part[:, columns] = np.einsum("bij,bj->bi", back, x[:, rows])
    return found[0], found[1]


def _closers(eqs: EquationsOfMotion) -> tuple[Kernel, Kernel]:
    """(q,p,t) -> q closer to the joints and the gap before; (q,v,a,p,t) -> v, a that fit the rows."""

    def make() -> tuple[Kernel, Kernel]:
        s, F = eqs.symbols(), eqs.functions
        zero = (SX.zeros(eqs.nz), SX.zeros(eqs.nu))
        A, _ = F["rows"](s.q, s.v, *zero, s.p, s.t)
        upper, rated = eqs.holonomic_rows, eqs.rate_rows
        q, gap, v, a = s.q, SX(0), s.v, s.a
        if upper:
            still, _ = F["rows"](s.q, SX.zeros(eqs.nv), *zero, s.p, s.t)
            phi = F["position"](s.q, s.p, s.t)
            N, _ = F["kinematics"](s.q, s.p, s.t)
            q = q + N @ ConstraintFactor(SX.eye(eqs.nv), still[upper, :]).correction(phi, 2)
            gap = ca.norm_inf(phi)
        if rated:
            missed = F["rates"](s.q, s.v, s.p, s.t)
            factor = ConstraintFactor(SX.eye(eqs.nv), A[rated, :])
            v = v + factor.correction(missed, 2)
        known = eqs.known_rows  # accelerations that follow from inputs are those of the record
        if known:
            A, b = F["rows"](s.q, v, *zero, s.p, s.t)
            if known != rated or F["rows"].jac_sparsity(0, 1).nnz():
                factor = ConstraintFactor(SX.eye(eqs.nv), A[known, :])
            a = a + factor.correction((A @ a - b)[known], 2)
        close = ca.Function("close", [s.q, s.p, s.t], [ca.densify(q), gap])
        settle = ca.Function("settle", [s.q, s.v, s.a, s.p, s.t], [ca.densify(v), ca.densify(a)])
        return Kernel(close), Kernel(settle)

    return eqs.cache("inverse closers", make)  # type: ignore[no-any-return]
