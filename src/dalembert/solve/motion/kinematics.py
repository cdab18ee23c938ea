"""Position, velocity and acceleration analysis of a machine whose every degree of freedom is prescribed.

    position      φ(q,t) = 0 ,  h(q,t) = s(t)                Newton from the pose before, carried on by its speeds
    velocity      [A; H] v = [...; ṡ]                        acceleration   [A; H] v̇ = [b; s̈ - bias]

The rows are solved as a least change in the plain metric, so that redundant rows and massless bodies do no harm.
Coordinates that only velocity rows tie (a rolling wheel, a motor's rotor) are integrated with Runge-Kutta 4, and so are
idle spins about the line of ball joints, whose speed is kept at zero.
Inverse kinematics with Baumgarte feedback instead is `simulate` with drivers and ``RK4(stabilise=...)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.errors import AssemblyError, ConvergenceError, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.integrate.channels import Samples, to_record
from dalembert.solve.integrate.open_run import sample_times
from dalembert.solve.motion.native_functions import analysis, stack_rows
from dalembert.solve.position.assemble import assemble, require_state
from dalembert.solve.position.idle import free_spins
from dalembert.solve.position.prescribed_motion import Motion, RecordMotion, read_motion
from dalembert.solve.position.tangent import RANK

LEAST_STEPS = 1000  # of a run with velocity rows, whose positions are integrated
BLOCK = 256  # samples in one call; those after a failed one are computed again
SUBDIVISIONS = (8, 64)


CLOSED_GAP = 1e-10  # [m or rad], times (1 + largest coordinate); Newton ends near 1e-15
RATE_ERROR = 1e-8  # difference of prescribed rates, times (1 + largest speed)
JUMP = 0.3  # correction of a predicted pose, of the length of its step, from which smaller parts are taken
NEARBY = 1e-6  # ... where it is longer than this [m or rad]


def kinematics(
    eqs: EquationsOfMotion,
    times: float | Sequence[float] | Array | None = None,
    *,
    motion: Mapping[str, Any] | Record | None = None,
    start: State | None = None,
    every: float | None = None,
) -> Record:
    """Motion of a machine whose drivers, or a given motion, leave it no freedom; no forces.

    Parameters
    ----------
    times : the end time (from the start's time, 0 by default), or all times [s]; None: the times of a motion record.
    motion : coordinate or position sensor -> function of time or number (``{"A.angle": lambda t: 2 * t}``), or a
        Record with such channels; together with the mechanism's drivers it fixes every degree of freedom. The
        orientation of a body in space is ``plate.rotation`` (a `da.rotation`, a rotation vector or a quaternion), with
        its position ``plate.pose``; in a Record the channels ``plate.e0`` to ``plate.e3``, or ``rx, ry, rz``, or
        ``roll, pitch, yaw``.
    start : from `da.assemble`; decides which way the loops are closed. None: the drawing.
    every : sampling interval when `times` is an end time.

    Returns
    -------
    Record of coordinates, speeds, accelerations (``A.acceleration``, ``crank.ax``), joints and sensors of motion. Where
    a motion record was differentiated, ``statistics["estimated error"]`` is that of its accelerations, as a share of
    the largest; above 2 % there is a warning. Idle freedoms (a link between two ball joints spins about their line) are
    held at rest; ``statistics["held at rest"]`` names them.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> run = da.kinematics(da.equations(m), [0.0, 1.0], motion={"hinge": lambda t: t**2})
    >>> run["hinge.acceleration"]
    array([2., 2.])
    """
    require_equations(eqs)
    if start is not None:
        require_state(eqs, start)
    prescribed = read_motion(eqs, motion)
    grid = read_times(times, prescribed, start, every)
    poses = follow(eqs, prescribed, grid, start)
    if isinstance(prescribed, RecordMotion):
        prescribed.warn()
    return _record(eqs, poses, prescribed, "complete")


def read_times(times: Any, motion: Any, start: State | None, every: Any) -> Array:
    begin = 0.0 if start is None else start.t
    if times is None:
        if not hasattr(motion, "times"):
            raise DataError("missing-argument", "give an end time or the times.")
        times = motion.times
    if np.ndim(times) == 0:
        if hasattr(motion, "times") and start is None:
            begin = float(motion.times[0])
        try:
            end = float(times)
        except (TypeError, ValueError):
            raise DataError("wrong-type", f"times must be an end time or a list of times, got {times!r}.") from None
        if not np.isfinite(end) or end <= begin:
            raise DataError(
                "out-of-range", f"the end time must be finite and after the start ({begin:g} s), got {times!r}."
            )
        return sample_times(begin, end, every, None)
    try:
        grid = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise DataError("not-a-number", f"times must be numbers, got {times!r}.") from None
    if grid.ndim != 1 or not grid.size or not np.isfinite(grid).all() or not (np.diff(grid) > 0).all():
        raise DataError("not-increasing", "times must be a list of finite, strictly increasing numbers.")
    return grid


@dataclass(frozen=True)
class Poses:
    """Pose, speeds and accelerations at every time."""

    t: Array
    q: Array
    v: Array
    a: Array
    held: tuple[int, ...] = ()  # idle spins that were held at rest

    def every_second(self) -> Poses:
        return Poses(self.t[::2], self.q[::2], self.v[::2], self.a[::2], self.held)


def follow(eqs: EquationsOfMotion, motion: Motion, times: Array, start: State | None) -> Poses:
    """Poses along a prescribed motion; raises with the poses before a failure."""
    return _MotionAnalysis(eqs, motion, times).go(start)


class _MotionAnalysis:
    def __init__(self, eqs: EquationsOfMotion, motion: Motion, times: Array) -> None:
        self.eqs, self.motion, self.times = eqs, motion, times
        self.stack = stack_rows(eqs, motion.targets)
        self.held: tuple[int, ...] = ()
        self.integrated = not eqs.is_holonomic

    def go(self, start: State | None) -> Poses:
        eqs, every = self.eqs, 1
        grid = self.times
        self.samples = [self._first(start)]
        if self.integrated and len(grid) > 1 and len(grid) <= LEAST_STEPS:
            every = -(-LEAST_STEPS // (len(grid) - 1))
            parts = np.arange(every) / every
            grid = np.append((grid[:-1, None] + np.diff(grid)[:, None] * parts).ravel(), grid[-1])
        last = 1
        w = self._orders(grid[:-1], grid[1:]) if len(grid) > 1 else np.zeros((0, 1))
        self.tools.step.expect(len(w))
        done = 0
        while done < len(w):
            block = w[done : done + BLOCK]
            count = len(block)
            rows = self.tools.step.run(count, self.samples[-1], block, eqs.p)
            x, report = rows[:, :-4], rows[:, -4:]
            fine = self._sound(x, report) & (report[:, 2] <= JUMP * report[:, 3] + NEARBY)
            good = count if fine.all() else int(np.argmin(fine))
            self.samples.extend(x[:good])
            done += good
            if good < count:
                self.samples.append(self._step_carefully(self.samples[-1], float(w[done, 0]), last + done, every))
                done += 1
        return self._poses(every)

    def _orders(self, before: Array, after: Array) -> Array:
        s, ds, dds = self.motion.at(after)
        mid = ds
        if self.integrated:
            mid = self.motion.at((before + after) / 2)[1]
        return np.hstack((after[:, None], s, ds, dds, mid))

    def _sound(self, x: Array, report: Array) -> Any:
        size = 1 + np.abs(x[:, : self.eqs.nq]).max(axis=1, initial=0.0)
        speed = 1 + np.abs(x[:, self.eqs.nq : self.eqs.nq + self.eqs.nv]).max(axis=1, initial=0.0)
        with np.errstate(invalid="ignore"):
            return (
                (report[:, 0] <= CLOSED_GAP * size) & (report[:, 1] <= RATE_ERROR * speed) & np.isfinite(x).all(axis=1)
            )

    def _step_carefully(self, x0: Array, t: float, index: int, every: int) -> Array:
        """The same step in several parts."""
        for parts in SUBDIVISIONS:
            grid = np.linspace(x0[-1], t, parts + 1)
            x = x0
            for order in self._orders(grid[:-1], grid[1:]):
                x, report = (y.copy() for y in self.tools.step.raw(x, order, self.eqs.p))
                if not self._sound(x[None, :], report[None, :])[0]:
                    break
                if parts < SUBDIVISIONS[-1] and report[2] > JUMP * report[3] + NEARBY:
                    break  # too large a jump: take smaller parts, so as not to change to another branch
            else:
                return x
        error = self._failure(x, order)
        if len(self.samples) >= every:
            error.record = _record(self.eqs, self._poses(every), self.motion, f"failed at t = {t:.6g} s")
        raise error

    def _failure(self, x: Array, order: Array) -> ConvergenceError | ModelError:
        eqs, k = self.eqs, len(self.motion.targets.names)
        q, t = x[: eqs.nq], float(order[0])
        if not np.isfinite(x).all():
            q = self.samples[-1][: eqs.nq]
        J, _, missed = self.stack(q, eqs.p, t, order[1 : 1 + k])
        (phi,) = eqs.kernel("position")(q, eqs.p, t)
        gaps = np.abs(np.concatenate((phi, missed)))
        owners = [eqs.rows[i].owner for i in eqs.holonomic_rows] + list(self.motion.targets.names)
        worst = int(np.argmax(gaps)) if gaps.size else 0
        kind = "joint" if worst < len(phi) and any(j.name == owners[worst] for j in eqs.joints) else "coordinate"
        if worst < len(phi) and owners[worst] in eqs.drivers:
            kind = "driver"
        text = self._describe_surplus(J, k)
        if text:
            return ModelError(
                "inconsistent-motion",
                f"{text} At t = {t:.6g} s they disagree: {kind} {owners[worst]!r} by {gaps[worst]:.1e}.",
            )
        return ConvergenceError(
            "joint-open",
            f"at t = {t:.6g} s {kind} {owners[worst]!r} cannot close (gap {gaps[worst]:.1e} m or rad). The prescribed "
            "motion leaves the reach of the machine or meets a singular pose there.",
        )

    def _describe_surplus(self, J: Array, k: int) -> str:
        eqs = self.eqs
        rated = [eqs.rows[i].owner for i in eqs.rate_rows]
        driven = [i for i, owner in enumerate(rated) if owner in eqs.drivers]
        free = [i for i in range(len(rated)) if i not in driven]
        freedom = eqs.nv - rank(J[free]) - len(self.held)
        if k + len(driven) <= freedom:
            return ""
        names = [*(rated[i] for i in driven), *self.motion.targets.names]
        return (
            f"{len(names)} motions are prescribed ({', '.join(names)}) but {eqs.name!r} has {freedom} "
            f"degree{'s' * (freedom != 1)} of freedom."
        )

    def _first(self, start: State | None, iterations: int = 20, most_parts: int = 20) -> Array:
        """The first pose: assembled with the prescribed joint coordinates, then led to prescribed positions.

        iterations : newton steps from one part of the way to a first pose to the next: three to five are taken.
        most_parts : of the way from an assembled pose to prescribed positions: a turn in steps of 18°.
        """
        eqs, targets = self.eqs, self.motion.targets
        t = float(self.times[0])
        s, ds, dds = (x[0] for x in self.motion.at(self.times[:1]))
        wanted: dict[str, Any] = {
            n: float(x) for n, x, k in zip(targets.names, s, targets.measures, strict=True) if k >= 0
        }
        wanted |= {
            f"{orientation.owner}.rotation": s[orientation.part]
            for orientation in targets.orientations
            if orientation.coordinate >= 0
        }
        try:
            q = np.array(assemble(eqs, wanted, start=start, t=t).q)
        except AssemblyError as failure:
            q = np.array(assemble(eqs, start=start, t=t).q if not eqs.drivers else eqs.state().q)
            text = self._describe_surplus(self.stack(q, eqs.p, t, s)[0], len(targets.names))
            if text:
                raise ModelError("joint-open", f"{text} They disagree at t = {t:.6g} s: {failure}") from failure
            raise ConvergenceError("joint-open", f"at t = {t:.6g} s: {failure}") from failure
        J, h, _ = self.stack(q, eqs.p, t, s)
        h = np.where(np.array(targets.turns, dtype=int) >= 0, s, h)
        self.held = free_spins(eqs, np.reshape(J, (-1, eqs.nv)), q, t)
        self.integrated = not eqs.is_holonomic or bool(self.held)
        self.tools = analysis(eqs, targets, self.held)
        goal = s
        gap = np.array([np.inf])
        parts = np.linspace(0.0, 1.0, most_parts + 1)[1:] if max(targets.outputs, default=-1) >= 0 else (1.0,)
        for part in parts:
            for _ in range(iterations):
                q, _, gap = self.tools.newton_kernel(
                    q, eqs.p, t, h + part * (goal - h)
                )  # the gap before its corrections
                if not gap[0] > CLOSED_GAP * (1 + float(np.abs(q).max(initial=0.0))):
                    break
        J = self.stack(q, eqs.p, t, s)[0]
        x = np.concatenate((q, np.zeros(2 * eqs.nv), [t]))
        order = np.concatenate(([t], s, ds, dds, ds))
        if not gap[0] <= CLOSED_GAP * (1 + float(np.abs(q).max(initial=0.0))):
            raise self._failure(x, order)
        self._check_freedom(J, q)
        v, a, missed = self.tools.rates_kernel(q, np.zeros(eqs.nv), eqs.p, t, ds, dds)
        if not missed[0] <= RATE_ERROR * (1 + float(np.abs(v).max(initial=0.0))):
            text = self._describe_surplus(J, len(targets.names)) or "The prescribed rates do not fit the joints."
            raise ModelError(
                "inconsistent-motion", f"{text} Their rates disagree at t = {t:.6g} s by {missed[0]:.1e} m/s or rad/s."
            )
        return np.concatenate((q, v, a, [t]))

    def _check_freedom(self, J: Array, q: Array, named: float = 1e-6, largest: int = 1500) -> None:
        """Refuse a motion that leaves coordinates free, naming them.

        named : part of a free motion from which a joint or speed is named: RANK leaves 1e-7 of others.
        largest : speeds of a machine whose freedom is looked at: its null space takes 2.3 s.
        """
        eqs = self.eqs
        if eqs.nv > largest:
            return
        E = eqs.kernel("spins")(q, eqs.p, float(self.times[0]))[0] if self.held else np.zeros((0, eqs.nv))
        null = null_space(np.vstack((J, np.reshape(E, (-1, eqs.nv))[list(self.held)])))
        if not null.shape[1]:
            return
        S = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, float(self.times[0]))[2]
        elastic = S[[eqs.measures.index[name] for name in eqs.elastic]]
        if elastic.shape[0] and not null_space(elastic @ null).shape[1]:
            owners = [eqs.coordinates.owners[eqs.coordinates.index[name]] for name in eqs.elastic]
            bodies = ", ".join(dict.fromkeys(map(repr, owners)))
            raise ModelError(
                "free-to-move",
                f"the motion of the joints of {eqs.name!r} leaves {null.shape[1]} elastic coordinates free, those of "
                f"{bodies}: they follow from the forces.",
                Advice("Prescribe the joints by {}.", Call("m.add_driver")),
                Advice("Then {} integrates the elastic motion and records the effort of each driver.",
                       Call("da.simulate")),
                Advice("A run that has all coordinates is a motion too."),
                where={"bodies": bodies},
                evidence={"free": null.shape[1]},
            )  # fmt: skip
        freely = np.abs(S @ null).max(axis=1, initial=0.0)
        joints = [eqs.measures.names[k] for k in eqs.recorded_measures if freely[k] > named]
        size = np.linalg.norm(null, axis=1)
        speeds = [eqs.speeds.names[k] for k in np.flatnonzero(size > named * size.max())]
        count = null.shape[1]
        problem = (
            f"{count} degree{'s' * (count != 1)} of freedom of {eqs.name!r} stay{'s' * (count == 1)} free at "
            f"t = {self.times[0]:g} s; free: {', '.join((joints or speeds)[:12])}."
        )
        advice = Advice(
            f"Prescribe {count} more coordinate{'s' * (count != 1)} by {{}}, or start off a singular pose.",
            Call("m.add_driver"),
            Argument("motion"),
        )
        raise ModelError("free-to-move", problem, advice, evidence={"free": joints or speeds})

    def _poses(self, every: int) -> Poses:
        rows = np.array(self.samples[::every])
        nq, nv = self.eqs.nq, self.eqs.nv
        times = self.times[: len(rows)]
        return Poses(times, rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv : nq + 2 * nv], self.held)


def _scale_rows(J: Array) -> Array:
    size = np.linalg.norm(J, axis=1, keepdims=True)
    return np.asarray(J / np.where(size > 0, size, 1.0))


def rank(J: Array) -> int:
    if not J.size:
        return 0
    values = np.linalg.svd(_scale_rows(J), compute_uv=False)
    return int((values > RANK * max(values[0], 1e-300)).sum())


def null_space(J: Array) -> Array:
    """Orthonormal directions of speed that no row constrains."""
    if not J.shape[0]:
        return np.eye(J.shape[1])
    _, values, Vt = np.linalg.svd(_scale_rows(J))
    count = int((values > RANK * max(float(values.max(initial=0.0)), 1e-300)).sum())
    return np.asarray(Vt[count:].T)


# --- the record ------------------------------------------------------------------------------------------------------


def _record(eqs: EquationsOfMotion, poses: Poses, motion: Any, status: str) -> Record:
    """Channels of motion only: nothing that depends on forces, inputs or internal states."""
    count = len(poses.t)
    samples = Samples(
        poses.t, poses.q, poses.v, np.zeros((count, eqs.nz)), np.zeros(count), poses.a, np.zeros((count, len(eqs.rows)))
    )
    full = to_record(eqs, samples, np.zeros((count, eqs.nu)))
    h = eqs.functions["outputs"]
    forced = {i for k in (3, 4, 5) for i in h.jac_sparsity(0, k).row()}
    dropped = {*eqs.inputs.names, *eqs.internal.names, *eqs.reaction_channels.names, "energy.balance"}
    dropped |= {name for k, name in enumerate(eqs.outputs.names) if k in forced}
    keep = [k for k, name in enumerate(full.names) if name not in dropped]
    units = full.units
    return Record(
        full.time,
        full.data[:, keep],
        [full.names[k] for k in keep],
        [units[full.names[k]] for k in keep],
        name=eqs.name,
        status=status,
        statistics={
            "samples": count,
            "largest gap": float(full["residual.position"].max()),
            "estimated error": getattr(motion, "estimated_error", 0.0),
            "held at rest": [eqs.spins[k] for k in poses.held],
        },
        provenance={
            "method": "kinematics",
            "mechanism": eqs.name,
            "motion": motion.how,
            "model_hash": eqs.content_hash,
        },
        scene=eqs.scene_data,
    )
