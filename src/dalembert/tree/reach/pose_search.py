"""The search for a pose: damped least squares in the tangent space, within ranges, with loops kept closed.

    minimise ½ |r(q)|²    subject to    φ(q) = 0 ,   lower ≤ c(q) ≤ upper
    step      (Z' J' J Z + μ) y = -Z' J' r   within the ranges ,   A Z = 0 ,   q ← q ∘ N Z y , then closed

r has the gaps of all tasks: positions, and rotation vectors log(R Rᵀ_target) in world axes, whose gradient is that of
the angular velocity. The damping μ follows the quality of the linear model, so that steps stay bounded at singular
poses (Nakamura and Hanafusa 1986; Wampler 1986). A coordinate at its limit has exactly that value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.model.orientation import quaternion_from_matrix
from dalembert.numerics.bounded_step import bounded_minimum
from dalembert.numerics.least_squares import DampedStep, Damping, minimise
from dalembert.solve.position.assemble import least_change, normalised_numbers
from dalembert.tree.evaluation import require_tree
from dalembert.tree.places import Goal, ReachTask
from dalembert.tree.reach.ranges import Ranges

SX = ca.SX


@dataclass(frozen=True)
class SearchPoint:
    """A pose with the quantities evaluated there: gaps r and gradient J (weighted), gaps of loops, limited measures."""

    q: Array
    r: Array
    J: Array
    A: Array
    c: Array
    C: Array
    gap: float  # largest unweighted gap

    @property
    def value(self) -> float:
        return 0.5 * float(self.r @ self.r)


class PoseSearch:
    """Poses of a machine for given tasks; the values of the tasks and the ranges may change from search to search."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        tasks: Sequence[ReachTask],
        weights: Sequence[tuple[float, float]],
        ranges: Ranges,
        t: float = 0.0,
        *,
        tolerance: float = 1e-10,
        aimed: float = 1e-2,
        closed: float = 1e-12,
        longest: float = 0.7,
    ) -> None:
        """Tasks with their weights, and the ranges of coordinates.

        tolerance : gap [m or rad] over 1 + the largest position: a tenth of a nanometre on a robot.
        aimed : share of the tolerance at which the search ends: one more step costs little.
        closed : largest gap [m or rad] of a closed loop, as in an assembly; coordinates that follow from others keep
        ten times this distance from their limits.
        longest : change of a coordinate in one step [m or rad]: 40°, as in an assembly.
        """
        self.eqs, self.tasks, self.ranges, self.t = eqs, tuple(tasks), ranges, t
        self.kernel = _task_kernel(eqs, self.tasks, ranges.measures)
        self.weights = np.concatenate([_row_weights(eqs, *pair) for pair in zip(tasks, weights, strict=True)])
        self.goals: Sequence[Goal] = ()
        self.follows = np.array([k < 0 for k in ranges.coordinates], dtype=bool)
        self.still = list(eqs.elastic_speeds.values())
        self.tolerance, self.aimed, self.closed, self.longest = tolerance, aimed, closed, longest
        self.settled = 0.0  # of the search that goes on

    # -- points -------------------------------------------------------------------------------------------------------
    def at(self, q: Array) -> SearchPoint:
        """Gaps and gradients at a pose."""
        h, J, A, c, C = self.kernel(q, self.eqs.p, self.t)
        r, used = self._gaps(h)
        J = np.reshape(J, (-1, self.eqs.nv))[used]
        J[:, self.still] = 0.0
        A, C = (np.reshape(x, (-1, self.eqs.nv)) for x in (A, C))
        gap = float(np.abs(r).max(initial=0.0)) / (1.0 + self.size)
        return SearchPoint(q, self.weights * r, self.weights[:, None] * J, A, np.ravel(c), C, gap)

    def _gaps(self, h: Array) -> tuple[Array, list[int]]:
        """Gaps of all tasks, and the rows of the Jacobian that belong to them."""
        gaps: list[Array] = []
        used: list[int] = []
        place = row = 0
        for task, goal in zip(self.tasks, self.goals, strict=True):
            if task.place is None:
                gaps.append(h[place : place + 1] - goal.position)
                used.append(row)
                place, row = place + 1, row + 1
                continue
            dim = len(goal.position)
            T = h[place : place + (dim + 1) ** 2].reshape(dim + 1, dim + 1).T
            turns = 1 if dim == 2 else 3
            if task.position:
                gaps.append(T[:dim, dim] - goal.position)
                used += range(row, row + dim)
            if task.rotation:
                assert goal.matrix is not None
                gaps.append(turn_vector(T[:dim, :dim] @ goal.matrix.T))
                used += range(row + dim, row + dim + turns)
            place, row = place + (dim + 1) ** 2, row + dim + turns
        return np.concatenate(gaps), used

    @property
    def size(self) -> float:
        """Largest position among the goals, for a tolerance relative to it."""
        return max((float(np.abs(goal.position).max(initial=0.0)) for goal in self.goals), default=0.0)

    def within(self, q: Array) -> Array:
        """The pose with its coordinates moved into their ranges."""
        q = q.copy()
        for k, low, high in zip(self.ranges.coordinates, self.ranges.low, self.ranges.high, strict=True):
            if k >= 0:
                q[k] = min(max(q[k], low), high)
        return q

    # -- the problem of `numerics.least_squares` ------------------------------------------------------------------
    def value(self, point: SearchPoint) -> float:
        return point.value

    def step(self, point: SearchPoint, damping: float) -> DampedStep:
        Z = _null_space(point.A)
        J = point.J @ Z
        H = J.T @ J
        mean = max(float(np.trace(H)) / max(len(H), 1), 1e-300)
        g = J.T @ point.r
        rows, room = self.bounds(point)
        y, _ = bounded_minimum(H + mean * damping * np.eye(len(H)), g, rows @ Z, room)
        change = Z @ y
        size = float(np.abs(change).max(initial=0.0))
        share = min(1.0, self.longest / max(size, 1e-300))
        y = share * y
        return DampedStep(share * change, -float(g @ y + 0.5 * y @ H @ y))

    def bounds(self, point: SearchPoint) -> tuple[Array, Array]:
        """Rows and right sides of the ranges: rows · change ≤ room."""
        margin = np.where(self.follows, 10 * self.closed, 0.0)
        low, high = self.ranges.low + margin, self.ranges.high - margin
        below, above = np.isfinite(low), np.isfinite(high)
        room = np.concatenate(((point.c - low)[below], (high - point.c)[above]))
        return np.vstack((-point.C[below], point.C[above])), np.maximum(room, 0.0)

    def evaluate(self, point: SearchPoint, step: DampedStep) -> SearchPoint | None:
        return self.move(point.q, step.change)

    def move(self, q: Array, change: Array) -> SearchPoint | None:
        """The pose after a change of the speeds' integrals, closed and within the ranges; None where there is none."""
        eqs = self.eqs
        N = np.reshape(eqs.kernel("kinematics")(q, eqs.p, self.t)[0], (eqs.nq, eqs.nv))
        return self.settle(normalised_numbers(eqs, q + N @ change))

    def settle(self, q: Array) -> SearchPoint | None:
        """The nearest pose with closed loops and coordinates within their ranges; None where the search finds none."""
        eqs = self.eqs
        q = self.within(q)
        if eqs.holonomic_rows:
            closed = self._close(q)
            if closed is None:
                return None
            q = closed
        if not np.isfinite(q).all():
            return None
        return self.at(q)

    def _close(self, q: Array, closing: int = 12) -> Array | None:
        # closing: Newton steps that close the loops after a step; three to five are usual.
        eqs = self.eqs
        zero = (np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu))
        for _ in range(closing):
            (phi,) = eqs.kernel("position")(q, eqs.p, self.t)
            if float(np.abs(phi).max(initial=0.0)) <= self.closed:
                break
            A = eqs.kernel("rows").sparse(0, q, *zero, eqs.p, self.t)[eqs.holonomic_rows, :]
            held = self._at_limits(q)
            if held:
                moving = np.ones(eqs.nv)
                moving[held] = 0.0
                A = A.multiply(moving[None, :]).tocsc()
            change = least_change(A, phi, 0.0)
            N = np.reshape(eqs.kernel("kinematics")(q, eqs.p, self.t)[0], (eqs.nq, eqs.nv))
            q = self.within(normalised_numbers(eqs, q + N @ change))
        else:
            return None
        if self.follows.any():
            c = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, self.t)[0][list(self.ranges.measures)]
            beyond = np.maximum(c - self.ranges.high, self.ranges.low - c)[self.follows]
            if (beyond > 0.0).any():
                return None
        return q

    def _at_limits(self, q: Array) -> list[int]:
        """Speeds of coordinates at a limit; closing the loops does not change these coordinates."""
        found = []
        for k, m, low, high in zip(
            self.ranges.coordinates, self.ranges.measures, self.ranges.low, self.ranges.high, strict=True
        ):
            if k >= 0 and (q[k] <= low or q[k] >= high):
                found.append(self.eqs.speeds.index[self.eqs.measure_rates.names[m]])
        return found

    def is_settled(self, before: SearchPoint, after: SearchPoint, step: DampedStep) -> bool:
        if after.gap <= self.aimed * self.tolerance:
            return True
        return before.value - after.value <= self.settled * before.value and after.gap > self.tolerance

    def is_rounding(
        self, point: SearchPoint, trial: SearchPoint | None, step: DampedStep, rounding: float = 1e-15
    ) -> bool:
        # rounding: a predicted reduction below this share of the value is a few units of rounding.
        return step.predicted <= rounding * point.value or point.gap <= self.tolerance

    def search(
        self,
        point: SearchPoint,
        goals: Sequence[Goal],
        most: int | None = None,
        *,
        one_of_many: bool = False,
        settled: float = 1e-12,
        stuck: float = 1e-3,
        iterations: int = 100,
        least_damping: float = 1e-13,
        first_damping: float = 1e-3,
        last_damping: float = 1e8,
    ) -> SearchPoint:
        """The nearest pose with the smallest gaps from a point.

        settled : relative reduction of the value in a step below which a search ends at a minimum that is no solution;
        `stuck` for one initial pose of many.
        iterations : ten to twenty steps reach a pose; on the boundary of the workspace every step quarters the gap, 25
        to 1e-15.
        least_damping : least damping over the mean of the diagonal of J'J. At a singular pose the smallest eigenvalue
        is the gap itself, times a length: it must stay above the damping down to the tolerance. The freedoms of a
        redundant arm then move by rounding over damping, a thousandth of the gap.
        first_damping : first and largest damping over the mean of the diagonal: nearly a Gauss-Newton step, and a step
        of no effect.
        """
        self.goals, self.settled = goals, stuck if one_of_many else settled
        point = self.at(point.q)
        if point.gap <= self.aimed * self.tolerance:
            return point
        damping = Damping(first=first_damping, good=0.1, fair=0.5, poor=2.0, growth=4.0, acceleration=2.0,
                          least=least_damping, most=last_damping)  # fmt: skip
        return minimise(self, point, damping, most or iterations).point

    def is_reached(self, point: SearchPoint) -> bool:
        return point.gap <= self.tolerance


def turn_vector(R: Array) -> Array:
    """Rotation vector of a matrix, (1,) in the plane; its length is at most π."""
    if len(R) == 2:
        return np.array([np.arctan2(R[1, 0], R[0, 0])])
    return rotation_vector(quaternion_from_matrix(R))


def rotation_vector(p: Array) -> Array:
    """Rotation vector of a quaternion with p₀ ≥ 0; 2 p where its length underflows."""
    size = float(np.linalg.norm(p[1:]))
    return np.asarray(p[1:] * (2.0 * np.arctan2(size, p[0]) / size if size > 0.0 else 2.0))


def _null_space(A: Array, rank: float = 1e-10) -> Array:
    # rank: a singular value below this share of the largest is zero: rows of loops have entries of about 1.
    if not len(A):
        return np.eye(A.shape[1])
    _, values, Vt = np.linalg.svd(A)
    count = int((values > rank * values.max(initial=0.0)).sum())
    return np.asarray(Vt[count:].T)


def _row_weights(eqs: EquationsOfMotion, task: ReachTask, pair: tuple[float, float]) -> Array:
    if task.place is None:
        return np.array([pair[0]])
    dim = int(require_tree(eqs).function("forward_kinematics", task.place).size1_out(0)) - 1
    turns = 1 if dim == 2 else 3
    return np.array([pair[0]] * (dim * task.position) + [pair[1]] * (turns * task.rotation))


def _task_kernel(eqs: EquationsOfMotion, tasks: tuple[ReachTask, ...], limited: tuple[int, ...]) -> Kernel:
    """(q, p, t) -> values of all tasks, their Jacobian, rows of the loops, limited measures and their rows."""

    def make() -> Kernel:
        tree, x, F = require_tree(eqs), eqs.symbols(), eqs.functions
        still = SX.zeros(eqs.nv)
        s, _, S, _ = F["measures"](x.q, still, x.p, x.t)
        zero = [SX.zeros(n) for n in (eqs.nv, eqs.nv, len(eqs.rows), eqs.nz, eqs.nu)]
        y = F["outputs"](x.q, *zero, x.p, x.t)
        N, _ = F["kinematics"](x.q, x.p, x.t)
        values, rows = [], []
        for task in tasks:
            if task.measure >= 0:
                values.append(s[task.measure])
                rows.append(S[task.measure, :])
            elif task.output >= 0:
                values.append(y[task.output])
                rows.append(ca.jacobian(y[task.output], x.q) @ N)
            else:
                values.append(ca.vec(tree.function("forward_kinematics", task.place)(x.q, x.p, x.t)))
                rows.append(tree.function("jacobian", task.place, "local_world_aligned")(x.q, x.p, x.t))
        A, _ = F["rows"](x.q, still, SX.zeros(eqs.nz), SX.zeros(eqs.nu), x.p, x.t)
        A = A[eqs.holonomic_rows, :] if eqs.holonomic_rows else SX(0, eqs.nv)
        chosen = list(limited)
        outputs = [ca.vertcat(*values), ca.vertcat(*rows), A, s[chosen], S[chosen, :] if chosen else SX(0, eqs.nv)]
        return Kernel(ca.Function("tasks", [x.q, x.p, x.t], [ca.densify(output) for output in outputs], {"cse": True}))

    found: Kernel = eqs.cache_family("reach", (tasks, limited), make)
    return found
