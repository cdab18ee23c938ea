"""Use of the remaining freedoms of a redundant arm: objectives, and their descent in the null space of the task.

    posture          V = ½ Σ (s - s_ref)²                 stay near a posture
    middle           V = ½ Σ ((c - c_mid) / c_half)²      keep away from the limits of joints (Liégeois 1977)
    manipulability   V = -½ log det (J Jᵀ)                keep away from singular poses (Yoshikawa 1985)

A step is taken in the null space of the task, within the ranges; then the task is reached again, and the step kept if V
is smaller there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.model.orientation import product
from dalembert.numerics.bounded_step import bounded_minimum
from dalembert.tree.evaluation import require_tree
from dalembert.tree.places import Goal, ReachTask
from dalembert.tree.reach.pose_search import PoseSearch, SearchPoint, rotation_vector
from dalembert.tree.reach.ranges import Ranges

SX = ca.SX
CHOICES = ("middle", "manipulability")


class Objective(Protocol):
    """A function to minimise in the null space of a task."""

    def value(self, q: Array, t: float) -> float: ...

    def model(self, q: Array, t: float) -> tuple[Array, Array]:
        """Gradient (nv,) and an approximation of the second derivatives (nv, nv), in the tangent space."""


@dataclass(frozen=True)
class Nearness:
    """½ Σ ((s - reference)/scale)² of measures, and of orientations of joints that are balls or free."""

    eqs: EquationsOfMotion
    measures: tuple[int, ...]
    reference: Array
    scale: Array
    quaternions: Mapping[int, Array]  # place of a block among those of the equations -> its reference

    def _gaps(self, q: Array, t: float) -> tuple[Array, Array]:
        eqs, chosen = self.eqs, list(self.measures)
        s, _, S, _ = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, t)
        gaps = [(s[chosen] - self.reference) / self.scale]
        rows = [np.reshape(S, (-1, eqs.nv))[chosen] / self.scale[:, None]]
        for k, p in self.quaternions.items():
            block = eqs.quaternions[k]
            turn = np.array(product((p[0], -p[1], -p[2], -p[3]), tuple(q[block.part])), dtype=float)
            gaps.append(rotation_vector(turn if turn[0] >= 0 else -turn))
            rows.append(np.eye(eqs.nv)[list(block.columns)])
        return np.concatenate(gaps), np.vstack(rows)

    def value(self, q: Array, t: float) -> float:
        gaps, _ = self._gaps(q, t)
        return 0.5 * float(gaps @ gaps)

    def model(self, q: Array, t: float) -> tuple[Array, Array]:
        gaps, rows = self._gaps(q, t)
        return rows.T @ gaps, rows.T @ rows


@dataclass(frozen=True)
class Dexterity:
    """-½ log det (J Jᵀ) of the places of the tasks."""

    eqs: EquationsOfMotion
    kernel: Kernel

    def value(self, q: Array, t: float) -> float:
        G = self._square(self.kernel(q, self.eqs.p, t)[0])
        sign, size = np.linalg.slogdet(G)
        return -0.5 * float(size) if sign > 0 else np.inf

    def model(self, q: Array, t: float) -> tuple[Array, Array]:
        J, dJ = self.kernel(q, self.eqs.p, t)
        J = np.reshape(J, (-1, self.eqs.nv))
        dJ = np.reshape(dJ, (J.shape[1], J.shape[0], self.eqs.nv))  # columns of J, rows of J, direction
        back = np.linalg.pinv(J)  # (nv, rows): -½ ∂ log det JJᵀ = -tr(J⁺ ∂J)
        gradient = -np.einsum("cr,crk->k", back, dJ)
        return gradient, np.eye(self.eqs.nv) * max(1.0, float(gradient @ gradient))

    def _square(self, J: Array) -> Array:
        J = np.reshape(J, (-1, self.eqs.nv))
        return J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J


def read_objective(
    eqs: EquationsOfMotion, prefer: Any, tasks: Sequence[ReachTask], ranges: Ranges, start: State | None
) -> Objective | None:
    """The objective of the argument `prefer`: a posture by state or coordinates, or one of the words."""
    if prefer is None:
        return None
    if isinstance(prefer, State):
        if prefer.eqs.coordinates.names != eqs.coordinates.names:
            raise ModelError("wrong-owner", f"prefer belongs to equations {prefer.eqs.name!r}, not to {eqs.name!r}.")
        return near_posture(eqs, prefer.q)
    if isinstance(prefer, Mapping):
        values: dict[int, float] = {}
        for name, value in prefer.items():
            full = eqs.full_name(name)
            require_name(
                "coordinate", full, eqs.measures.names, f"equations {eqs.name!r}", error=ModelError, argument="prefer"
            )
            values[eqs.measures.index[full]] = float(value)
        return Nearness(eqs, tuple(values), np.array(list(values.values())), np.ones(len(values)), {})
    if prefer == "middle":
        inside = np.isfinite(ranges.low) & np.isfinite(ranges.high) & (ranges.high > ranges.low)
        if not inside.any():
            raise ModelError(
                "no-limits",
                f"the middle of the limits needs joints with a lower and an upper limit; {eqs.name!r} has none.",
                Advice("Give {}.", Argument("limits", {"elbow.angle": (-1.0, 1.0)})), where={"argument": "prefer"},
            )  # fmt: skip
        low, high = ranges.low[inside], ranges.high[inside]
        chosen = tuple(m for m, use in zip(ranges.measures, inside, strict=True) if use)
        return Nearness(eqs, chosen, (low + high) / 2, (high - low) / 2, {})
    if prefer == "manipulability":
        return Dexterity(eqs, _dexterity_kernel(eqs, tuple(tasks)))
    shown = " or ".join(map(repr, CHOICES))
    raise ModelError(
        "unknown-choice", f"prefer must be a state, values of coordinates, {shown}; got {prefer!r:.80}.",
        where={"argument": "prefer"},
    )  # fmt: skip


def near_posture(eqs: EquationsOfMotion, q: Array) -> Nearness:
    """Stay near a pose in all coordinates."""
    names = [name for name in eqs.coordinates.names if name in eqs.measures.index and name not in eqs.elastic]
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    names = [name for name in names if eqs.coordinates.index[name] not in inner]
    chosen = tuple(eqs.measures.index[name] for name in names)
    reference = np.array([q[eqs.coordinates.index[name]] for name in names])
    balls = {k: np.array(q[block.part]) for k, block in enumerate(eqs.quaternions)}
    return Nearness(eqs, chosen, reference, np.ones(len(chosen)), balls)


def _dexterity_kernel(eqs: EquationsOfMotion, tasks: tuple[ReachTask, ...]) -> Kernel:
    """(q, p, t) -> J of all places, and its derivatives along every speed."""

    def make() -> Kernel:
        tree, x = require_tree(eqs), eqs.symbols()
        N, _ = eqs.functions["kinematics"](x.q, x.p, x.t)
        rows = []
        for task in tasks:
            if task.place is None:
                continue
            J = tree.function("jacobian", task.place, "local_world_aligned")(x.q, x.p, x.t)
            dim = 2 if J.shape[0] == 3 else 3
            rows.append(J[:dim, :] if not task.rotation else J[dim:, :] if not task.position else J)
        if not rows:
            raise ModelError("missing-argument", "the best manipulability needs a place among the targets.")
        J = ca.densify(ca.vertcat(*rows))
        dJ = ca.densify(ca.jacobian(ca.vec(J), x.q) @ N)
        return Kernel(ca.Function("dexterity", [x.q, x.p, x.t], [J, dJ], {"cse": True}))

    found: Kernel = eqs.cache_family("dexterity", tasks, make)
    return found


def descend(
    search: PoseSearch,
    point: SearchPoint,
    goals: Sequence[Goal],
    objective: Objective,
    iterations: int = 60,
    halvings: int = 12,
    least_share: float = 1e-2,
    settled: float = 1e-10,
) -> SearchPoint:
    """From a pose that reaches its goals to one that reaches them with a smaller objective.

    iterations : Gauss-Newton steps of a posture take five to ten, gradient steps of a manipulability 30.
    halvings : of a step that is too long: a share below 2e-4 gains too little.
    least_share : of the predicted decrease that a step must reach.
    settled : relative decrease that ends it: V is flat there to five digits of the coordinates.
    """
    V = objective.value(point.q, search.t)
    for _ in range(iterations):
        change, predicted = _step_beside(search, point, objective)
        if predicted <= settled * (1.0 + abs(V)):
            break
        share = 1.0
        for _ in range(halvings):
            trial = _move_and_correct(search, point, goals, share * change)
            if trial is not None and objective.value(trial.q, search.t) < V - least_share * share * predicted:
                break
            share /= 2
        else:
            break
        assert trial is not None
        point, V = trial, objective.value(trial.q, search.t)
    return point


def approach(
    search: PoseSearch, point: SearchPoint, goals: Sequence[Goal], objective: Objective, share: float
) -> SearchPoint:
    """A share of one step that reduces the objective in the null space; the same point if the task is lost."""
    change, predicted = _step_beside(search, point, objective, share)
    if not predicted > 0.0:
        return point
    return _move_and_correct(search, point, goals, share * change) or point


def _step_beside(
    search: PoseSearch, point: SearchPoint, objective: Objective, share: float = 1.0, least_curvature: float = 1e-9
) -> tuple[Array, float]:
    """A change that keeps tasks and loops unchanged to first order, and its predicted decrease.

    share : the part of the change that is taken; it must stay within the ranges.

    least_curvature : added to the second derivatives, over their mean: no motion where V is constant.
    """
    Z = _free_directions(np.vstack((point.J, point.A)))
    if not Z.shape[1]:
        return np.zeros(Z.shape[0]), 0.0
    gradient, H = objective.model(point.q, search.t)
    rows, room = search.bounds(point)
    G = Z.T @ H @ Z
    floor = least_curvature * max(float(np.trace(G)) / len(G), 1.0)
    y, _ = bounded_minimum(G + floor * np.eye(len(G)), Z.T @ gradient, rows @ Z, room / share)
    change = Z @ y
    change = change * min(1.0, search.longest / max(float(np.abs(change).max()), 1e-300))
    return change, -float(gradient @ change + 0.5 * change @ H @ change)


def _move_and_correct(
    search: PoseSearch, point: SearchPoint, goals: Sequence[Goal], change: Array, corrections: int = 12
) -> SearchPoint | None:
    # corrections: steps back to the task after a step in its null space.
    trial = search.move(point.q, change)
    if trial is None:
        return None
    trial = search.search(trial, goals, corrections)
    return trial if search.is_reached(trial) else None


def _free_directions(J: Array, free: float = 1e-6) -> Array:
    # free: Singular value of the task, over the largest, below which a direction counts as free: moving along it misses
    # the task by a millionth, which the corrections take back.
    _, values, Vt = np.linalg.svd(J)
    rank = int((values > free * values.max(initial=0.0)).sum())
    return np.asarray(Vt[rank:].T)
