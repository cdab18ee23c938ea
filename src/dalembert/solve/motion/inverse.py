"""Inverse dynamics: the inputs that make a motion.

    M v̇ - f(q,v,z,u,λ) - Aᵀ λ = 0   solved for (u, λ), and for the internal states z of actuators on the way

Newton's method with exact derivatives (one step where f is affine in u and λ; friction makes it nonlinear). With J_λ =
Aᵀ + ∂f/∂λ and U the directions that no reaction reaches, every step solves

    Uᵀ ∂f/∂u u = Uᵀ (M v̇ - f|₀)    in the sense of least squares, with u of minimum (weighted) norm

(with more or fewer inputs than degrees of freedom too), then λ from the rest.
Internal states: the forces give z(t), its splined derivative and ż = g(q,v,z,u,λ) give the inputs behind it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.expressions.cut_offs import remove_cut_offs
from dalembert.mechanics.forces.friction import SMOOTH
from dalembert.record import Record
from dalembert.solve.constrained.solve import build_function
from dalembert.solve.integrate.channels import Samples, to_record
from dalembert.solve.motion.kinematics import Poses
from dalembert.solve.motion.recorded_poses import find_poses
from dalembert.solve.position.assemble import require_state
from dalembert.solve.position.idle import free_spins
from dalembert.solve.position.prescribed_motion import (
    DOUBT,
    LEAST,
    MotionWarning,
    differentiate,
)
from dalembert.solve.position.tangent import RANK, require_mapping

SX = ca.SX
BLOCK = 256  # samples at a time, fewer for large machines
NUMBERS = 4_000_000  # in one matrix of a block


ITERATIONS = 60  # Newton's method takes five; the second half, in half steps, is for a kink that makes it cycle
SETTLED = 1e-11  # last change of inputs and reactions


NEARLY_AT_REST = 10 * SMOOTH  # m/s or rad/s: from there on the regularised law is within 0.5 % of exact friction


def inverse_dynamics(
    eqs: EquationsOfMotion,
    motion: Mapping[str, Any] | Record | None,
    *,
    times: float | Sequence[float] | Array | None = None,
    start: State | None = None,
    inputs: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Record:
    """The inputs that make a motion, with the reactions it causes.

    Parameters
    ----------
    motion : a Record of joint or body coordinates or of position sensors (``A.angle``, ``tip.x``), with their rates
        and accelerations (``A.rate``, ``A.acceleration``) where known, else differentiated by splines of degree five;
        a Record of all body coordinates (a simulated run) is taken pose by pose. Or coordinate -> function of time,
        with `times`; derivatives are then exact. None: the mechanism's drivers alone.
    times : end time or times, for a motion given by functions.
    start : from `da.assemble`; decides which way the loops are closed.
    inputs : the input channels that may act; None: all of them and the drivers, where drivers take as much of the
        effort as they can. Inputs given by name have to make the motion alone: drivers only prescribe it.
    weights : input -> weight of its square where the solution is not unique; 1 where left out.

    Returns
    -------
    Record with all channels of a run; ``<driver>.effort``; ``residual.force``, the norm of the generalized force that
    the inputs cannot supply. ``statistics``: degrees of freedom, rank, determination, largest residual, and of every
    input the estimated error that differentiating a record caused; above 2 % there is a warning; and the idle freedoms
    (spins about the line of ball joints), kept at rest and not counted: the effort along them is in ``residual.force``.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True, gravity=0)
    >>> rod = m.add_body("rod", mass=3.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> motor = m.add_actuator("motor", "hinge", input="torque")
    >>> run = da.inverse_dynamics(da.equations(m), {"hinge": lambda t: t**2}, times=[0.0, 1.0])
    >>> float(run["torque"][0].round(12)), run.statistics["determination"]
    (2.0, 'determined')
    """
    require_equations(eqs)
    if start is not None:
        require_state(eqs, start)
    problem = _ForceBalance(eqs, inputs, weights)
    poses, doubtful, how = find_poses(eqs, motion, times, start)
    solution = problem.solve(poses)
    if doubtful is None and problem.behind and len(poses.t[::2]) >= LEAST:
        doubtful = poses.every_second()
    errors = {} if doubtful is None else problem.errors(doubtful, solution)
    _near_rest(eqs, poses, solution)
    return _record(eqs, problem, poses, solution, how, errors)


# --- the balance of forces -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Solution:
    z: Array
    u: Array
    lam: Array
    residual: Array
    idle: tuple[int, ...]  # spins about the line of ball joints that neither input nor row acts on
    freedom: int
    rank: int
    unknowns: int
    iterations: int


class _ForceBalance:
    """Which unknowns there are, and the native balance of forces."""

    def __init__(
        self, eqs: EquationsOfMotion, inputs: Sequence[str] | None, weights: Mapping[str, float] | None
    ) -> None:
        self.eqs = eqs
        weights = require_mapping(weights, "weights")
        names = list(eqs.inputs.names if inputs is None else take_names("input", inputs))
        for name in (*names, *weights):
            if name not in eqs.inputs.index:
                raise ModelError(
                    "unknown-name", unknown_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}")
                )
        chosen = [eqs.inputs.index[name] for name in names]
        f, g = eqs.functions["forces"], eqs.functions["internal"]
        in_forces = _columns(f, 3)
        pattern = eqs.functions["rows"].jac_sparsity(1, 3)
        self.prescribed = {  # inputs that are the acceleration of a driver, with its row
            column: row
            for row, column in zip(pattern.row(), pattern.get_col(), strict=True)
            if eqs.rows[row].owner in eqs.drivers and column not in in_forces
        }
        self.direct = [k for k in chosen if k in in_forces]
        self.behind = [k for k in chosen if k not in in_forces and k not in self.prescribed]
        feeds: dict[int, list[int]] = {}  # input -> internal states it feeds
        pattern = g.jac_sparsity(0, 3)
        for row, column in zip(pattern.row(), pattern.get_col(), strict=True):
            feeds.setdefault(column, []).append(row)
        for k in self.behind:
            if k not in feeds:
                raise ModelError(
                    "undetermined-force",
                    f"input {eqs.inputs.names[k]!r} acts on nothing, so no motion determines its value.",
                )
        pushing = _columns(f, 2)
        for k, name in enumerate(eqs.internal.names):
            sources = [i for i in self.behind if k in feeds.get(i, ())]
            if k not in pushing or len(sources) != 1:
                actuator = eqs.internal.owners[k]
                why = "its input is not among those that may act" if k in pushing else "no force depends on it"
                raise ModelError(
                    "not-supported",
                    f"inverse dynamics cannot find the internal state {name!r} of actuator {actuator!r}: {why}.",
                )
        given = dict(weights)
        for name, value in given.items():
            if not (np.isfinite(value) and value > 0):
                raise ModelError("not-positive", f"weight of input {name!r} must be positive, got {value!r}.")
        weight = [next(i for i in self.behind if k in feeds[i]) for k in range(eqs.nz)] + self.direct
        self.weight = np.sqrt([float(given.get(eqs.inputs.names[k], 1.0)) for k in weight])
        rows = range(len(eqs.rows))
        idle = () if inputs is None else eqs.drivers
        self.rows = [k for k in rows if eqs.rows[k].owner not in idle]
        self.kernel, self.affine = self._native()

    def _native(self) -> tuple[Kernel, bool]:
        """(q,v,a,z,u,λ,p,t) -> residual, ∂f/∂(z,u), Aᵀ + ∂f/∂λ of the unknowns."""
        eqs = self.eqs

        def make() -> tuple[Kernel, bool]:
            s, F = eqs.symbols(), eqs.functions
            A, _ = F["rows"](s.q, s.v, s.z, s.u, s.p, s.t)
            # limits of an input do not act: the input that a motion needs may be beyond them
            f = remove_cut_offs(F["forces"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam), s.u)
            residual = F["inertia"](s.q, s.p, s.t) @ s.a - f - A.T @ s.lam
            chosen = s.u[self.direct] if self.direct else SX(0, 1)  # u[[]] of one input is 1 x 0
            W = ca.jacobian(f, ca.vertcat(s.z, chosen))
            L = (A.T + ca.jacobian(f, s.lam))[:, self.rows]
            unknown = ca.vertcat(s.z, s.u, s.lam)
            affine = not unknown.shape[0] or ca.jacobian(ca.vertcat(ca.vec(W), ca.vec(L)), unknown).nnz() == 0
            inputs = [s.q, s.v, s.a, s.z, s.u, s.lam, s.p, s.t]
            function = build_function("balance", inputs, [residual, W, L])
            return Kernel(function), affine

        return eqs.cache(("inverse", tuple(self.direct), tuple(self.rows)), make)  # type: ignore[no-any-return]

    def solve(self, poses: Poses) -> _Solution:
        size = max(1, min(BLOCK, NUMBERS // (1 + self.eqs.nv**2)))
        parts = [self._block(poses, slice(k, k + size)) for k in range(0, len(poses.t), size)]
        z, u, lam, residual = (np.concatenate([p[i] for p in parts]) for i in range(4))
        if self.behind:
            self._inputs_behind(poses, z, u, lam)
        if self.prescribed:
            self._prescribed_accelerations(poses, z, u)
        idle = self._idle(poses)
        freedom = max(p[4] for p in parts) - len(idle)
        return _Solution(
            z, u, lam, residual, idle, freedom, min(p[5] for p in parts), len(self.weight), max(p[6] for p in parts)
        )

    def _idle(self, poses: Poses) -> tuple[int, ...]:
        eqs = self.eqs
        if not eqs.spins:
            return ()
        zero = (np.zeros(eqs.nz), np.zeros(eqs.nu), np.zeros(len(eqs.rows)))
        _, W, L = self.kernel(poses.q[0], poses.v[0], poses.a[0], *zero, eqs.p, poses.t[0])
        efforts = np.hstack([np.reshape(x, (eqs.nv, -1)) for x in (W, L)])
        return free_spins(eqs, efforts.T, poses.q[0], float(poses.t[0]))

    def errors(self, doubtful: Poses, found: _Solution, zero_effort: float = 1e-9) -> dict[str, float]:
        """Largest change of every input and driver when the motion is off by its estimated error; warns of large ones.

        A change counts against the largest effort, or against the share of the inertia forces M v̇ along it.

        zero_effort : of the largest effort: one below it is zero; RANK lets through errors as large.
        """
        eqs = self.eqs
        other = self.solve(doubtful)
        some = (doubtful.q, doubtful.v)
        rest = (other.z, other.u, other.lam, eqs.p, doubtful.t.reshape(-1, 1))
        r, W, L = self.kernel.many(*some, doubtful.a, *rest)
        inertia = r - self.kernel.many(*some, np.zeros_like(doubtful.a), *rest)[0]
        columns = np.concatenate([x.reshape(len(r), eqs.nv, -1) for x in (W, L)], axis=2)
        along = np.abs(np.einsum("bij,bi->bj", columns, inertia)) / np.maximum((columns**2).sum(axis=1), 1e-300)
        shares = along.max(axis=0, initial=0.0)
        places = {k: eqs.nz + i for i, k in enumerate(self.direct)}
        chosen = self.direct + self.behind
        values = {eqs.inputs.names[k]: (found.u[:, k], other.u[:, k], places.get(k)) for k in chosen}
        for i, k in enumerate(self.rows):
            owner = eqs.rows[k].owner
            if owner in eqs.drivers:
                several = sum(row.owner == owner for row in eqs.rows) > 1
                name = f"{owner}.effort" + (f".{eqs.rows[k].number}" if several else "")
                values[name] = (found.lam[:, k], other.lam[:, k], eqs.nz + len(self.direct) + i)
        errors = {}
        rounding = zero_effort * max((float(np.abs(x).max()) for x, _, _ in values.values()), default=0.0)
        for name, (values_found, values_other, place) in values.items():
            change = np.abs(values_found[::2] - values_other)
            errors[name] = float(change.max())
            size = max(float(np.abs(values_found).max()), 0.0 if place is None else float(shares[place]))
            if errors[name] > DOUBT * size + rounding:
                warnings.warn(
                    MotionWarning(
                        "coarse-sampling",
                        f"inverse dynamics: {name!r} is uncertain by about {errors[name]:.2g} (largest value "
                        f"{np.abs(values_found).max():.2g}), most at t = {doubtful.t[int(np.argmax(change))]:.6g} s. "
                        "The motion is sampled too coarsely, or too noisy, to be differentiated.",
                        Advice("Record more samples, or channels of accelerations."),
                        where={"input": name},
                    ),
                    stacklevel=3,
                )
        return errors

    def _block(self, poses: Poses, part: slice) -> tuple[Array, Array, Array, Array, int, int, int]:
        eqs = self.eqs
        t, q, v, a = poses.t[part], poses.q[part], poses.v[part], poses.a[part]
        count = len(t)
        z, u, lam = np.zeros((count, eqs.nz)), np.zeros((count, eqs.nu)), np.zeros((count, len(eqs.rows)))
        x = np.zeros((count, len(self.weight)))
        change = np.inf
        for iteration in range(1, ITERATIONS + 1):
            r, W, L = self.kernel.many(q, v, a, z, u, lam, eqs.p, t.reshape(-1, 1))
            W, L = W.reshape(count, eqs.nv, -1), L.reshape(count, eqs.nv, -1)
            right = r + np.einsum("bij,bj->bi", W, x) + np.einsum("bij,bj->bi", L, lam[:, self.rows])
            if iteration == 1 and eqs.friction_joints:
                self._unique_friction(L[0])
            new_x, new_lam, freedom, found = lexicographic(W, L, right, self.weight)
            size = 1 + np.abs(new_x).max(axis=1, initial=0.0) + np.abs(new_lam).max(axis=1, initial=0.0)
            dx, dlam = new_x - x, new_lam - lam[:, self.rows]
            step = np.abs(dx).max(axis=1, initial=0.0) + np.abs(dlam).max(axis=1, initial=0.0)
            share = 1.0 if iteration < ITERATIONS // 2 else 0.5  # a kink may make full steps cycle
            x = x + share * dx
            lam[:, self.rows] += share * dlam
            z, u[:, self.direct] = x[:, : eqs.nz], x[:, eqs.nz :]
            change = float((step / size).max())
            if not np.isfinite(change):
                worst = int(np.argmin(np.isfinite(step)))
                raise ConvergenceError("not-finite", f"the forces are not finite at t = {t[worst]:.6g} s.")
            if self.affine or change <= SETTLED:
                break
        else:
            worst = int(np.argmax(step / size))
            raise ConvergenceError(
                "friction-unsettled",
                f"friction and reactions did not settle at t = {t[worst]:.6g} s (last change {change:.1e}). The joint "
                "may be jamming there: lower the friction coefficient.",
            )
        (r, _, _) = self.kernel.many(q, v, a, z, u, lam, eqs.p, t.reshape(-1, 1))
        return z, u, lam, r, freedom, found, iteration

    def _unique_friction(self, L: Array, share: float = 1e-8) -> None:
        # share: of a joint in a null vector, from which its reaction is not unique: rounding is 1e-15 / 1e-9.
        _, values, Vt = np.linalg.svd(L)
        null = Vt[int((values > RANK * values.max(initial=0.0)).sum()) :]
        for joint in self.eqs.joints:
            columns = [k for k, row in enumerate(self.rows) if row in joint.rows]
            if joint.name in self.eqs.friction_joints and null.size and np.abs(null[:, columns]).max() > share:
                raise ModelError(
                    "not-unique",
                    f"friction in joint {joint.name!r} needs its reaction, which is not unique: joints are redundant.",
                )

    def _inputs_behind(self, poses: Poses, z: Array, u: Array, lam: Array) -> None:
        """Inputs of actuators with internal states: g(q,v,z,u,λ) = ż by Newton."""
        eqs = self.eqs
        if len(poses.t) < LEAST:
            actuator = eqs.internal.owners[0]
            raise DataError(
                "too-few-samples",
                f"the input of actuator {actuator!r} needs the rate of its internal state: give at least {LEAST} "
                f"times, got {len(poses.t)}.",
            )
        wanted = differentiate(poses.t, z, 1)[0]

        def make() -> Kernel:
            s = eqs.symbols()
            g = eqs.functions["internal"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam)
            outputs = [ca.densify(g), ca.densify(ca.jacobian(g, s.u[self.behind]))]
            return Kernel(ca.Function("internal_rates", [s.q, s.v, s.z, s.u, s.p, s.t, s.lam], outputs))

        kernel = eqs.cache(("inverse internal", tuple(self.behind)), make)
        for _ in range(ITERATIONS):
            g, G = kernel.many(poses.q, poses.v, z, u, eqs.p, poses.t.reshape(-1, 1), lam)
            gap = wanted - g.reshape(wanted.shape)
            change = np.einsum("bij,bj->bi", np.linalg.pinv(G.reshape(len(gap), eqs.nz, -1)), gap)
            u[:, self.behind] += change
            if not np.abs(change).max(initial=0.0) > SETTLED * (1 + np.abs(u).max(initial=0.0)):
                return
        name = eqs.inputs.names[self.behind[int(np.argmax(np.abs(change).max(axis=0)))]]
        raise ConvergenceError(
            "no-convergence",
            f"input {name!r} was not found in {ITERATIONS} iterations (last change {np.abs(change).max():.1e}): "
            "the rate of the internal state behind it may not be reachable.",
            where={"input": name},
        )

    def _prescribed_accelerations(self, poses: Poses, z: Array, u: Array) -> None:
        """Inputs that are accelerations of drivers, from the motion: A v̇ = b(u), b = u + b₀."""
        eqs, rows = self.eqs, list(self.prescribed.values())

        def make() -> Kernel:
            s = eqs.symbols()
            A, b = eqs.functions["rows"](s.q, s.v, s.z, ca.DM.zeros(eqs.nu), s.p, s.t)
            wanted = ca.densify((A @ s.a - b)[rows])
            return Kernel(build_function("prescribed", [s.q, s.v, s.a, s.z, s.p, s.t], [wanted]))

        kernel = eqs.cache(("inverse prescribed", tuple(rows)), make)
        (found,) = kernel.many(poses.q, poses.v, poses.a, z, eqs.p, poses.t.reshape(-1, 1))
        u[:, list(self.prescribed)] = found.reshape(len(poses.t), -1)


def _columns(function: ca.Function, argument: int) -> set[int]:
    return set(function.jac_sparsity(0, argument).get_col())


def lexicographic(W: Array, L: Array, right: Array, weight: Array) -> tuple[Array, Array, int, int]:
    """Solve W x + L λ = right for a batch: least squares; then x of minimum weighted norm; then λ of minimum norm.

    Returns x, λ, the largest number of directions that λ does not reach, and the smallest rank of W there.
    """
    count, n, nx = W.shape
    m = L.shape[2]
    if nx + m == n and n:
        # A random right-hand side has a part along the weakest direction: with columns of unit length its solution is
        # about as long as the inverse of the smallest singular value.
        square, random = np.concatenate((W, L), axis=2), np.random.default_rng(0)
        probe = random.uniform(1.0, 2.0, n) * random.choice([-1.0, 1.0], n)
        try:
            solved = np.linalg.solve(square, np.stack((right, np.broadcast_to(probe, right.shape)), axis=2))
        except np.linalg.LinAlgError:
            solved = np.full((count, n, 2), np.nan)
        if np.isfinite(solved).all() and np.abs(solved[:, :, 1] * np.linalg.norm(square, axis=1)).max() * RANK < 1.0:
            return np.asarray(solved[:, :nx, 0]), np.asarray(solved[:, nx:, 0]), nx, nx
    U, values, Vt = (np.asarray(part, dtype=float) for part in np.linalg.svd(L))
    reached = np.zeros((count, n), dtype=bool)
    reached[:, : values.shape[1]] = values > RANK * values.max(axis=1, initial=1e-300)[:, None]
    rotated = np.swapaxes(U, 1, 2)
    G = np.where(reached[:, :, None], 0.0, rotated @ W) / weight
    rest = np.where(reached, 0.0, np.einsum("bij,bj->bi", rotated, right))
    freedom = int((n - reached.sum(axis=1)).max(initial=0))
    x, found = np.zeros((count, nx)), 0
    if nx:
        scale = float(np.abs(W / weight).max())
        Ug, sg, Vg = np.linalg.svd(G, full_matrices=False)
        keep = sg > RANK * max(scale, 1e-300)
        inverse = np.where(keep, 1 / np.where(keep, sg, 1.0), 0.0)
        x = np.einsum("bji,bj->bi", Vg, inverse * np.einsum("bji,bj->bi", Ug, rest)) / weight
        found = int(keep.sum(axis=1).min(initial=nx))
    left = np.einsum("bij,bj->bi", rotated, right - np.einsum("bij,bj->bi", W, x))[:, : values.shape[1]]
    held = reached[:, : values.shape[1]]
    share = np.where(held, left / np.where(held, values, 1.0), 0.0)
    lam = np.asarray(np.einsum("bji,bj->bi", Vt[:, : values.shape[1]], share))
    return np.asarray(x), lam, freedom, found


def _near_rest(eqs: EquationsOfMotion, poses: Poses, found: _Solution) -> None:
    """Warn where a joint with exact friction hardly moves: there the motion does not determine its effort."""
    inside = [d for d in eqs.dry if d.measure >= 0]
    if all(d.speed is not None for d in inside):
        return
    rates, limits, _ = eqs.kernel("friction").many(poses.q, poses.v, eqs.p, poses.t.reshape(-1, 1), found.lam)
    for k, d in enumerate(inside):
        slow = np.flatnonzero(np.abs(rates.reshape(len(poses.t), -1)[:, k]) < NEARLY_AT_REST)
        if d.speed is None and len(slow):
            limit = float(limits.reshape(len(poses.t), -1)[slow, k].max())
            unit = "rad" if d.unit == "N m" else "m"
            warnings.warn(
                MotionWarning(
                    "resting-friction",
                    f"inverse dynamics: {d.coordinate!r} rests, or slides slower than {NEARLY_AT_REST:g} {unit}/s, at "
                    f"{len(slow)} of {len(poses.t)} samples (first at t = {poses.t[slow[0]]:.6g} s). There friction "
                    f"{d.name!r} may be anything up to {limit:.2g} {d.unit} either way, and the inputs "
                    "are uncertain by as much; the law regularised at a tenth of that speed is used.",
                    where={"coordinate": d.coordinate},
                ),
                stacklevel=3,
            )


# --- the record ------------------------------------------------------------------------------------------------------


def _record(
    eqs: EquationsOfMotion, problem: _ForceBalance, poses: Poses, found: _Solution, how: str, errors: dict[str, float]
) -> Record:
    t = poses.t
    (power,) = eqs.kernel("power").many(poses.q, poses.v, found.z, found.u, eqs.p, t.reshape(-1, 1), found.lam)
    work = _integral(t, power.reshape(-1))
    samples = Samples(t, poses.q, poses.v, found.z, work, poses.a, found.lam)
    full = to_record(eqs, samples, found.u)
    norm = np.linalg.norm(found.residual, axis=1)
    if found.rank < found.freedom:
        kind = "under-actuated: least squares"
    elif found.unknowns > found.rank:
        kind = "redundant: minimum norm"
    else:
        kind = "determined"
    return Record(
        t,
        np.hstack((full.data, norm[:, None])),
        [*full.names, "residual.force"],
        [*full.units.values(), ""],
        name=eqs.name,
        statistics={
            "degrees of freedom": found.freedom,
            "inputs": len(problem.direct) + len(problem.behind),
            "rank": found.rank,
            "determination": kind,
            "largest residual": float(norm.max()),
            "estimated error": errors,
            "idle": [eqs.spins[k] for k in found.idle],
            "iterations": found.iterations,
        },
        provenance={
            "method": "inverse dynamics",
            "mechanism": eqs.name,
            "motion": how,
            "model_hash": eqs.content_hash,
        },
        scene=eqs.scene_data,
    )


def _integral(t: Array, power: Array) -> Array:
    if len(t) < 2:
        return np.zeros(len(t))
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t, power).antiderivative()(t))
