"""Rules for the inputs and outputs of a kinematics-based model: whether the sensors suffice.

With n independent coordinates: at least n inputs with rank S = n, so that SᵀS can be inverted; at least n outputs of
position whose gradient has rank n; so 2n measurements, none twice; and the sampled model observable,

    rank [H; HF; HF²; …] = number of states,

in units of time of one sample, so that positions, rates and accelerations are comparable. A highest derivative in the
state is not counted: it follows from the inputs and acts on nothing that is measured (outside the singular set). Poses
of the workspace are reached from the initial pose by small steps, each closed by Newton's method, as far as the joints
allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.estimate.kinematic.quantities import LEVEL, Relations
from dalembert.expressions import Array, Kernel
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.estimate.kinematic.model import KinematicModel

SX = ca.SX
Workspace = Mapping[str, tuple[float, float]] | None  # range of independent coordinates
LEVELS = ("positions", "velocities", "accelerations")


def is_measured(values: Any, largest: float, rank: float = 1e-6) -> Any:
    """Which directions are measured at all, from singular values; Newton's method leaves 1e-9 of the largest."""
    return values > rank * largest


def is_regular(values: Any, largest: float, singular: float = 1e-2) -> Any:
    """Which poses are regular: at 1/100 a noise of 1 % of the inputs is 100 % of a coordinate."""
    return values > singular * largest


@result
class KinematicCheck:
    """Result of the check of the sensors of a kinematic model.

    Attributes
    ----------
    poses : (k, n) independent coordinates of the poses of the check.
    smallest, largest : (k,) singular values of S with inputs weighted as in the model.
    condition : (k,) the largest singular value in the workspace over the smallest at the pose.
    output_rank, observable_rank : smallest rank of the outputs' gradient, and of the observability matrix.
    blind : share of the poses with a smallest singular value below 1/100 of the largest seen.
    worst : coordinates of the pose with the smallest one.
    findings : poses that the inputs or the outputs do not determine, errors that do not decay.
    regular : whether the inputs determine the independent coordinates at every pose, without a switching model.
    """

    poses: Array
    smallest: Array
    largest: Array
    condition: Array
    output_rank: int
    observable_rank: int
    blind: float
    worst: Mapping[str, float]
    findings: tuple[Finding, ...]
    regular: bool
    counts: Mapping[str, int]

    def table(self) -> str:
        c = self.counts
        rows = [
            ["degrees of freedom n", str(c["n"])],
            ["inputs (at least n)", str(c["inputs"])],
            ["outputs of position (at least n)", str(c["positions"])],
            ["measurements (at least 2n)", str(c["inputs"] + c["outputs"])],
            ["poses of the check", str(len(self.poses))],
            ["largest singular value of S in the workspace", f"{self.largest.max():.3g}"],
            ["largest condition of S (that over the smallest)", f"{self.condition.max():.3g}"],
            ["poses that are nearly singular", f"{100 * self.blind:.1f} %"],
            ["rank of the outputs' gradient", f"{self.output_rank} of {c['n']}"],
            ["rank of the observability matrix", f"{self.observable_rank} of {c['states']}"],
        ]
        lines = [align_columns(["", ""], rows).lstrip("\n")]
        lines += ["The inputs determine the independent coordinates at every pose of the check."] * self.regular
        return "\n".join([*lines, *(finding.text() for finding in self.findings)])

    def __repr__(self) -> str:
        return f"KinematicCheck\n{self.table()}"


def check_levels(
    relations: Relations, inputs: tuple[str, ...], outputs: tuple[str, ...], level: int, scheme: str | None
) -> None:
    """The rules that need no numbers; all broken rules are reported together."""
    n, sensors = len(relations.coordinates), relations.known
    problems = []
    wrong = [name for name in inputs if sensors[name].order != level]
    if wrong:
        what = ", ".join(f"{name!r} ({LEVEL[sensors[name].order]})" for name in wrong)
        problems.append(f"inputs must measure {LEVELS[level]}; these do not: {what}.")
    if len(inputs) < n:
        many = "s" * (n != 1)
        needs = f"coordinate{many} need{'' if many else 's'}"
        problems.append(f"{n} independent {needs} at least {n} input{many}, got {len(inputs)}.")
    highest = level if scheme is not None else level - 1
    late = [name for name in outputs if sensors[name].order > highest]
    if late:
        problems.append(f"the state goes up to {LEVELS[highest]} and cannot predict {', '.join(map(repr, late))}.")
    positions = [name for name in outputs if sensors[name].order == 0]
    if len(positions) < n:
        problems.append(
            f"at least {n} of the outputs must be positions, got {len(positions)}: only positions determine the pose "
            "of the machine; integrated rates and accelerations drift."
        )
    both = [name for name in inputs if name in outputs]
    if both:
        problems.append(
            f"{', '.join(map(repr, both))} cannot be input and output: 2n separate measurements are needed."
        )
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        if len(set(names)) < len(names):
            problems.append(f"{what} name a sensor twice.")
    if problems:
        raise ModelError("unobservable", f"sensors of the kinematic model of {relations.name!r}: {' '.join(problems)}")


def ranges(r: Relations, z: Array, q: Array, workspace: Workspace) -> tuple[Array, Array]:
    """Lower and upper ends of the independent coordinates, about z of the pose q."""
    spans = {}
    for name, pair in (workspace or {}).items():
        full = r.names([name], "workspace")[0]
        if full not in r.coordinates.index:
            raise ModelError(
                "unknown-name", f"workspace: {unknown_name('independent coordinate', name, r.coordinates.names)}"
            )
        try:
            low, high = (float(x) for x in pair)
        except (TypeError, ValueError):
            raise DataError("wrong-shape", f"workspace: {name!r} needs two numbers, got {pair!r}.") from None
        if not low < high or not np.isfinite([low, high]).all():
            raise DataError("out-of-range", f"workspace: {name!r} needs a number and a larger one, got {pair!r}.")
        spans[full] = (low, high)
    reach = max(1e-3, float(np.abs(q).max(initial=1.0)))
    ends = []
    for name, unit, at in zip(r.coordinates.names, r.coordinates.units, z, strict=True):
        half = reach if unit == "m" else np.pi
        ends.append(spans.get(name, (at - half, at + half)))
    low_high: Array = np.array(ends)
    return low_high[:, 0], low_high[:, 1]


def explore(model: KinematicModel, workspace: Workspace, poses: int) -> tuple[Array, Array]:
    """z and pose of closed poses along rays from the start to the ends of the workspace."""
    s, x0 = model.stepper, model.state()
    return explore_rays(model.relations, x0[: s.n], x0[s.blocks * s.n : s.nx - s.remembers], workspace, poses)


def explore_rays(
    r: Relations,
    z0: Array,
    q0: Array,
    workspace: Workspace,
    poses: int,
    rays: int = 24,  # directions in which the workspace is explored
    least: int = 64,  # poses per direction: steps of 0.1 rad in a range of two turns
    residual: float = 1e-9,  # of a closed pose [m or rad]: Newton's method ends near 1e-15
    jump: float = 20.0,  # motion of a pose over that of the coordinates: more is another way of closing the loops
) -> tuple[Array, Array]:
    """The same from z₀ at the pose q₀."""
    n = len(r.coordinates)
    low, high = ranges(r, z0, q0, workspace)
    random = np.random.default_rng(0)
    if n == 1:
        ends = np.array([low, high])
    else:  # towards the faces of the box, so that its corners are seen too
        ends = low + (high - low) * random.random((rays, n))
        face = random.integers(n, size=rays)
        ends[np.arange(rays), face] = np.where(random.random(rays) < 0.5, low[face], high[face])
    z = np.tile(z0, (len(ends), 1))
    if not len(r.pose):
        parts = np.linspace(0.0, 1.0, least + 1)[:, None, None]
        every = (z0 + parts * (ends - z0)).reshape(-1, n)
        return every, np.zeros((len(every), 0))
    a, b, p, t = SX.sym("q", len(r.pose)), SX.sym("z", n), SX.sym("p", len(r.parameters)), SX.sym("t")
    pose = a
    for _ in range(2):  # steps here are longer than from one sample to the next
        pose = r.close(pose, b, p, t)
    kernel = Kernel(ca.Function("explore", [a, b, p, t], [pose, r.gap(pose, b, p, t)]))
    steps = max(least, -(-poses // len(ends)))
    q, alive = np.tile(q0, (len(ends), 1)), np.ones(len(ends), dtype=bool)
    closed_z, closed_q = [z0[None]], [q0[None]]
    for k in range(1, steps + 1):
        z = z0 + k / steps * (ends - z0)
        new, gap = kernel.many(q, z, r.parameter_values, 0.0)
        with np.errstate(invalid="ignore"):
            moved = np.abs(new - q).max(axis=1, initial=0.0)
            stride = np.abs(ends - z0).max() / steps * max(1.0, np.abs(q0).max())
            alive &= (gap.reshape(-1) <= residual) & (moved <= jump * stride)
        if not alive.any():
            break
        q = np.where(alive[:, None], new, q)
        closed_z.append(z[alive])
        closed_q.append(q[alive])
    return np.vstack(closed_z), np.vstack(closed_q)


def weighted_slopes(model: KinematicModel, z: Array, q: Array) -> Array:
    """W^½ S at every pose, (poses, m, n)."""
    s = model.stepper
    pose, zs, _, p, t = s.symbols()
    S, _ = s.affine(model.inputs, s.order, pose, zs, SX.zeros(s.n), p, t)
    S = ca.densify(ca.diag(ca.DM(s.weights) ** 0.5) @ S)
    kernel = Kernel(ca.Function("slopes", [pose, zs, p, t], [ca.vec(S)]))
    (values,) = kernel.many(q, z, s.relations.parameter_values, 0.0)
    return np.asarray(values.reshape(len(z), s.n, len(model.inputs)).transpose(0, 2, 1))


def largest_determinant(model: KinematicModel, workspace: Workspace) -> float:
    """Largest det(SᵀWS) in the workspace, the unit of the switching distance."""
    S = weighted_slopes(model, *explore(model, workspace, 400))
    values = np.linalg.svd(S, compute_uv=False)
    if not is_measured(values[:, -1], values.max()).any():
        raise ModelError(
            "unobservable",
            f"the inputs {', '.join(model.inputs)} do not determine {', '.join(model.independent)} at any pose of the "
            "workspace.",
            Advice("Measure other quantities."),
        )
    return float(np.prod(values**2, axis=1).max())


def most_singular(model: KinematicModel, states: Array, near: float = 0.3) -> Array | None:
    """The state of (k, nx) whose inputs determine the independent coordinates worst, if nearly singular.

    near : of the median smallest singular value; a filter that diverged below it was near a singular pose.
    """
    s = model.stepper
    states = states[np.isfinite(states).all(axis=1)]
    if not len(states):
        return None
    pose = slice(s.blocks * s.n, s.nx - s.remembers)
    here, usual = (
        np.linalg.svd(weighted_slopes(model, *where), compute_uv=False)[:, s.n - 1]
        for where in ((states[:, : s.n], states[:, pose]), explore(model, model.workspace, 100))
    )
    return states[int(here.argmin())] if here.min() < near * np.median(usual) else None


def sample_motion(model: KinematicModel, motion: Record, poses: int, gap: float = 1e-6) -> tuple[Array, Array, Array]:
    """z, pose and ż of at most `poses` samples of a record.

    gap : of a pose [m or rad]: 1 µm, a thousandth of usual readings.
    """
    s, r, x0 = model.stepper, model.relations, model.state()
    if not isinstance(motion, Record):
        raise ModelError(
            "wrong-type", f"the motion must be a record of {', '.join(r.coordinates.names)}, got {motion!r}."
        )
    needed = [*r.coordinates.names, *r.rates.names]
    for name in needed:
        if name not in motion.names:
            raise DataError("missing-channel", unknown_name("channel", name, motion.names, "the record of the motion"))
    z, zd = np.split(np.asarray(motion[needed], dtype=float).reshape(len(motion), -1), 2, axis=1)
    rows = np.unique(np.linspace(0, len(z) - 1, min(poses, len(z))).astype(int))
    begin = r.start(dict(zip(r.coordinates.names, z[0].tolist(), strict=True)), x0[s.blocks * s.n : s.nx - s.remembers])
    q, gaps = r.follow(z, motion.time, begin[1])
    if not gaps.max() <= gap:
        k = int(np.argmax(~(gaps <= gap)))
        problem = f"at t = {motion.time[k]:.6g} s the joints of {r.name!r} cannot be closed for the motion."
        raise DataError("inconsistent-motion", problem, where={"time": float(motion.time[k])})
    return z[rows], q[rows], zd[rows]


def survey(
    model: KinematicModel, motion: Record | None, workspace: Workspace, dt: float, poses: int, few: int = 10
) -> KinematicCheck:
    """The rules along a motion, or over the workspace with speeds of about a turn per second.

    few : poses that show no workspace.
    """
    s, r = model.stepper, model.relations
    n = s.n
    if motion is None:
        z, q = explore(model, workspace, poses)
        zd = 2 * np.pi * np.random.default_rng(1).normal(size=z.shape)
    else:
        z, q, zd = sample_motion(model, motion, poses)
    values = np.linalg.svd(weighted_slopes(model, z, q), compute_uv=False)
    scale = values.max()
    largest, smallest = values[:, 0], values[:, n - 1]
    positions = [name for name in model.outputs if r.known[name].order == 0]
    pose, zs, _, p, t = s.symbols()
    H = Kernel(ca.Function("slopes", [pose, zs, p, t], [ca.vec(r.slopes(positions, pose, zs, p, t))]))
    gradients = H.many(q, z, r.parameter_values, 0.0)[0].reshape(len(z), n, -1).transpose(0, 2, 1)
    output_values = np.linalg.svd(gradients, compute_uv=False)
    output_rank = int(is_regular(output_values, output_values.max()).sum(axis=1).min())
    most = int(is_measured(output_values, output_values.max()).sum(axis=1).max())
    usable = is_regular(smallest, scale)
    observable = _observable(model, z[usable], q[usable], zd[usable], dt) if usable.any() else 0
    worst = int(np.argmin(smallest))
    at = dict(zip(r.coordinates.names, (float(x) for x in z[worst]), strict=True))
    blind = float(np.mean(~usable))
    problems = _problems(model, usable, most, observable)
    if problems:
        raise ModelError("unobservable", f"sensors of the kinematic model of {r.name!r}: {' '.join(problems)}")
    dim = dict(zip(r.coordinates.names, z[int(np.argmin(output_values[:, n - 1]))].tolist(), strict=True))
    doubtful = bool(blind) or len(z) < few
    findings = _findings(model, doubtful, at, output_rank, dim)
    counts = {"n": n, "inputs": len(model.inputs), "outputs": len(model.outputs), "positions": len(positions),
              "states": s.order * n}  # fmt: skip
    with np.errstate(divide="ignore"):
        condition = np.where(smallest > 0, scale / np.where(smallest > 0, smallest, 1.0), np.inf)
    return KinematicCheck(
        poses=z, smallest=np.asarray(smallest), largest=np.asarray(largest), condition=condition,
        output_rank=output_rank, observable_rank=observable, blind=blind, worst=at, findings=tuple(findings),
        regular=not doubtful and s.switching is None, counts=counts,
    )  # fmt: skip


def _observable(model: KinematicModel, z: Array, q: Array, zd: Array, dt: float) -> int:
    """Smallest rank of [H; HF; …] over some of the states; see the module."""
    s, r = model.stepper, model.relations
    n, ne, nx = s.n, s.blocks * s.n, s.nx
    functions = {**model._functions, "outputs": model.outputs_function(model.outputs)}
    x, e = ca.MX.sym("x", nx), ca.MX.sym("e", ne)
    u, p = ca.MX.sym("u", len(model.inputs)), ca.MX.sym("p", len(r.parameters))
    at = functions["retract"](x, e, p, 0) if "retract" in functions else x + e
    after = functions["step"](at, u, p, 0, dt)
    F, H = ca.jacobian(after[:ne], e), ca.jacobian(functions["outputs"](at, u, p, 0), e)
    zero = ca.MX.zeros(ne)
    both = ca.Function("both", [x, e, u, p], [ca.densify(F), ca.densify(H)])
    kernel = Kernel(ca.Function("observable", [x, u, p], both(x, zero, u, p)))
    random = np.random.default_rng(1)
    unit = np.repeat(dt ** -np.arange(s.blocks, dtype=float), n)  # time in samples
    least = determined = s.order * n
    for k in random.choice(len(z), size=min(20, len(z)), replace=False):
        state = np.zeros(nx)
        state[:n] = z[k]
        if s.blocks > 1:
            state[n : 2 * n] = zd[k]
        state[ne : ne + len(r.pose)] = q[k]
        F_k, H_k = kernel(state, np.zeros(len(model.inputs)), r.parameter_values)
        F_k, H_k = F_k.reshape(ne, ne) * unit / unit[:, None], H_k.reshape(-1, ne) * unit
        F_k, H_k = F_k[:determined, :determined], H_k[:, :determined]
        rows, block = [], H_k
        for _ in range(determined):
            size = np.linalg.norm(block, axis=1, keepdims=True)
            block = block / np.where(size > 0, size, 1.0)
            rows.append(block)
            block = block @ F_k
        singular = np.linalg.svd(np.vstack(rows), compute_uv=False)
        least = min(least, int(is_measured(singular, singular[0]).sum()))
    return least


def _problems(model: KinematicModel, usable: Array, output_rank: int, observable: int) -> list[str]:
    s = model.stepper
    problems = []
    if not usable.any():
        problems.append(
            f"the inputs {', '.join(model.inputs)} do not determine {', '.join(model.independent)} at any pose (S has "
            f"less than rank {s.n} everywhere): add a sensor that moves differently."
        )
    if output_rank < s.n:
        problems.append(
            f"the positions among the outputs ({', '.join(model.outputs)}) determine {output_rank} of {s.n} "
            "independent coordinates: add one that does not follow from the others."
        )
    if usable.any() and output_rank == s.n and observable < s.order * s.n:
        names = ", ".join(model.states.names)
        problems.append(f"only {observable} of the {s.order * s.n} states {names} are observable.")
    return problems


def _place(z: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in z.items())


def _findings(
    model: KinematicModel, blind: bool, worst: Mapping[str, float], output_rank: int, dim: Mapping[str, float]
) -> list[Finding]:
    s, findings = model.stepper, []
    if blind:
        problem = f"Near {_place(worst)} the inputs do not determine the independent coordinates"
        advice = (Advice("Use {}.", Argument("switching", Call("da.estimate.Switching"))),) * (s.switching is None)
        problem += "." if s.switching is None else ": the switching model takes over there."
        findings.append(Finding("singular-pose", problem, {"pose": dict(worst)}, advice=advice))
    if output_rank < s.n:
        problem = (
            f"At some poses, as near {_place(dim)}, the outputs determine fewer coordinates than there are; there the "
            "estimate relies on the inputs."
        )
        findings.append(Finding("unobservable", problem, {"pose": dict(dim)}, {"rank": output_rank, "needed": s.n}))
    if s.scheme == "newmark" and s.form == "velocity" and s.gamma <= 0.5:
        problem = "With gamma = 1/2 an error of the highest derivative alternates undamped."
        advice = (Advice("Use gamma > 1/2, or give that row process noise."),)
        findings.append(Finding("undamped-error", problem, {"argument": "gamma"}, {"gamma": s.gamma}, advice))
    return findings
