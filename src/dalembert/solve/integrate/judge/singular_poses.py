"""Poses in a run at which the constraint rows lose rank: found between chunks, located, and reported.

At such a pose (a dead point, a parallelogram on one line) more can move than nearby: the joints leave the further
motion open, and reactions and energy may jump. With rows of unit length Â the function

    g = log det (Â Âᵀ + ε 1) = log (product of the pivots of its LDL)

falls there like 2 log |t - t*|; rows that are redundant everywhere only add a nearly constant term. One native call per
chunk evaluates g at all steps. A minimum that is sharp at the length of the steps, as that of |t - t*| is and that of a
smooth positive function is not, is located with states of the run in between, and counts where the smallest singular
value that is not zero everywhere goes below the limit of `mobility`.
"""

from __future__ import annotations

import operator
import warnings
from functools import reduce
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import SimulationWarning
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained import matrices
from dalembert.solve.constrained.redundancy import find_open_reactions
from dalembert.solve.constrained.structure import rows_of_cut_joints
from dalembert.solve.position.mobility import NEAR_SINGULAR, scaled_rows


class SingularPoses:
    """Monitors the rank of the rows of one run. `found` has one entry per pass: when, which joints, energy lost."""

    def __init__(self, eqs: EquationsOfMotion) -> None:
        self.found: list[dict[str, Any]] = []
        self.more = False
        self.restart(eqs)

    def restart(self, eqs: EquationsOfMotion) -> None:
        """Other parameters from here on: other rows."""
        self.eqs = eqs
        self.kernel = _volume(eqs) if is_watched(eqs) else None
        self.states = np.zeros((0, 0))  # the last two
        self.values = np.zeros(0)
        self.best, self.most_regular = -np.inf, np.zeros(0)  # the largest value of the run, and its state
        self.known_rank: int | None = None

    def look(self, steps: Any, before: Array, block: Array, sharp: float = 0.75, lowest_root: float = 3e-5) -> None:
        """The states of one block, after the state before it.

        sharp : √det at a minimum over its farther neighbour: |t - t*| at steps to 5 : 1 gives 0.71 at most.
        lowest_root : √det over its largest: below it steps are so short that no minimum is sharp (√ε = 1e-5).
        """
        if self.kernel is None:
            return
        where = steps.layout.starts
        if not len(self.states):
            q, v, z, t = (before[a:b] for a, b in (where[name] for name in ("q", "v", "z", "t")))
            self.states, self.values = before[None, :].copy(), self.kernel.raw(q, v, z, self.eqs.p, t)[0].copy()
        times = np.concatenate((self.states[-1:, 0], block[:, 0]))
        accepted = np.diff(times) > 0
        if not accepted.all():
            block = block[accepted]
        if not len(block):
            return
        last = self.states
        self.values = np.concatenate((self.values, self._values(where, block)))
        g = self.values
        k = int(np.argmax(g))
        if g[k] > self.best:
            self.best, self.known_rank = float(g[k]), None
            self.most_regular = (last[k] if k < len(last) else block[k - len(last)]).copy()
        falls = g[1:] < g[:-1]
        lowest = np.flatnonzero(falls[:-1] & (g[1:-1] <= g[2:])) + 1
        sides = np.maximum(g[lowest - 1], g[lowest + 1])
        limit = np.maximum(sides + 2 * np.log(sharp), self.best + 2 * np.log(lowest_root))
        candidates = lowest[g[lowest] < limit]
        self.states = np.vstack((last, block if len(candidates) else block[-2:]))
        for place in candidates:
            self._locate(steps, int(place))
        self.states, self.values = self.states[-2:].copy(), self.values[-2:].copy()

    def _values(self, where: Any, states: Array) -> Array:
        assert self.kernel is not None
        q, v, z, t = (states[:, a:b] for a, b in (where[name] for name in ("q", "v", "z", "t")))
        return np.asarray(self.kernel.many(q, v, z, self.eqs.p, t)[0][:, 0])

    def _rank(self, where: object, redundant: float = 1e-6) -> int:
        """Rank of the rows at the most regular pose so far.

        redundant : singular values below it at the run's most regular pose are zero everywhere.
        """
        if self.known_rank is None:
            singular = np.linalg.svd(self._rows(where, self.most_regular), compute_uv=False)
            self.known_rank = matrices.rank_of(singular, redundant)
        return self.known_rank

    def _rows(self, where: Any, x: Array) -> Array:
        eqs = self.eqs
        q, v, z = (x[a:b] for a, b in (where[name] for name in ("q", "v", "z")))
        A = eqs.kernel("rows")(q, v, z, np.zeros(eqs.nu), eqs.p, x[0])[0]
        return scaled_rows(eqs, np.reshape(A, (len(eqs.rows), eqs.nv)))

    def _locate(self, steps: Any, k: int, regular_from: float = 0.03, share: float = 1e-2, most: int = 200) -> None:
        """Smallest singular value along the run between the steps next to step k; its square is smooth.

        regular_from : |t - t*| over its largest, where a pass begins and ends: energies are compared there.
        share : of the left singular vector: a tenth of the largest share of ten joints.
        most : poses to locate; each takes some twenty steps and factorizations.
        """
        from scipy.optimize import minimize_scalar

        if len(self.found) >= most:
            self.more = True
            return
        where = steps.layout.starts
        rank = self._rank(where)
        left, middle, right = self.states[k - 1 : k + 2]

        def at(t: float) -> Array:
            begin = middle if t > middle[0] else left
            return np.asarray(steps.to(begin[None, :], np.array([t]))[0]) if t > begin[0] else begin

        def square(t: float) -> float:
            return float(np.linalg.svd(self._rows(where, at(t)), compute_uv=False)[rank - 1] ** 2)

        span = (float(left[0]), float(right[0]))
        exact = float(np.sqrt(np.finfo(float).eps)) * (span[1] - span[0])  # nearer to a minimum a function is constant
        t = float(minimize_scalar(square, bounds=span, method="bounded", options={"xatol": exact}).x)
        U, singular, _ = np.linalg.svd(self._rows(where, at(t)))
        if singular[rank - 1] > NEAR_SINGULAR * singular[0]:
            return
        if self.found and t - self.found[-1]["time"] <= span[1] - span[0]:  # one pass, noise of tiny steps
            return
        left_over = int(np.count_nonzero(singular > NEAR_SINGULAR * singular[0]))
        weight = (U[:, left_over:] ** 2).sum(axis=1)  # rows that are redundant everywhere cannot be distinguished here
        owners = dict.fromkeys(
            row.owner for row, w in zip(self.eqs.rows, weight, strict=True) if w > share * weight.max()
        )
        regular = np.flatnonzero(self.values > self.best + 2 * (rank - left_over) * np.log(regular_from))
        first = int(max(regular[regular < k], default=k - 1))
        last = int(min(regular[regular > k], default=k + 1))
        self.found.append({
            "time": t, "joints": list(owners), "singular value": float(singular[rank - 1] / singular[0]),
            "energy lost": self._energy(where, self.states[first]) - self._energy(where, self.states[last]),
        })  # fmt: skip

    def _energy(self, where: Any, x: Array) -> float:
        """What the machine holds, without the work done on it since the start."""
        q, v, z, work = (x[a:b] for a, b in (where[name] for name in ("q", "v", "z", "work")))
        kinetic, potential = self.eqs.kernel("energy")(q, v, z, self.eqs.p, x[0])
        return float(kinetic[0] + potential[0] - work[0])

    def warn(self) -> None:
        if self.found:
            warnings.warn(describe(self.eqs.name, self.found, self.more), stacklevel=5)


def describe(name: str, found: list[dict[str, Any]], more: bool = False) -> SimulationWarning:
    """The warning of the singular poses of a run."""
    times = ", ".join(f"{one['time']:.6g}" for one in found[:4]) + (", ..." if len(found) > 4 else "")
    joints = list(dict.fromkeys(owner for one in found for owner in one["joints"]))
    shown = ", ".join(joints[:8]) + (", ..." if len(joints) > 8 else "")
    lost = max((one["energy lost"] for one in found), key=abs)
    count = f"{len(found)}{' or more' if more else ''} singular pose{'s' if len(found) > 1 or more else ''}"
    return SimulationWarning(
        "singular-pose",
        f"the run of {name!r} passes {count} (t = {times} s), where the rows of {shown} lose rank: from there the "
        f"machine could move on in more than one way, and the joints do not decide which. Energy lost: {lost:.1e} J"
        f"{' at most' if len(found) > 1 else ''}.",
        Advice("Compare with smaller steps."),
        Advice("Keep the machine away from there by a driver or other dimensions."),
        where={"time": found[0]["time"], "joints": joints},
        evidence={"energy lost": lost},
    )


def is_watched(eqs: EquationsOfMotion, large: int = 600) -> bool:
    """Whether the rows may depend on each other, and are few enough to look.

    large : speeds; above it dense singular values would take longer than the run.
    """
    return eqs.nv <= large and bool(eqs.cache("may lose rank", lambda: may_lose_rank(eqs)))


def open_reactions(*states: State) -> dict[str, list[str]]:
    """Statistics of a run between two states: the joints whose reactions are not unique."""
    names = find_open_reactions(*states) if is_watched(states[0].eqs) else []
    return {"reactions not unique": names} if names else {}


def may_lose_rank(eqs: EquationsOfMotion) -> bool:
    """Whether joints close a loop, or anything but joints constrains the motion: a tree cannot lose rank."""
    sticking = {d.row for d in eqs.dry}  # of a coordinate of one joint
    if {row.owner for k, row in enumerate(eqs.rows) if k not in sticking} - {joint.name for joint in eqs.joints}:
        return True
    group = {body: body for joint in eqs.joints for body in joint.bodies}

    def root(body: str) -> str:
        while group[body] != body:
            body = group[body]
        return body

    for joint in eqs.joints:
        a, b = (root(body) for body in joint.bodies)
        if a == b:
            return True
        group[a] = b
    return False


def find_dead_point(state: State, ahead: float = 0.1) -> Finding | None:
    """The finding where independent coordinates do not decide the pose any more that the motion is about to reach.

    ahead : way along the motion [rad or m] at which no pose exists on the branch, though one exists here: a step of any
    method fails closer to a dead point, and a pose this far from one still exists.
    """
    eqs = state.eqs
    seeds = eqs.unrecorded & {*eqs.coordinates.names}
    if not seeds:
        return None
    N, n = eqs.kernel("kinematics")(state.q, eqs.p, state.t)
    rate = N @ state.v + np.ravel(n)
    places = [k for k, name in enumerate(eqs.coordinates.names) if name not in {*seeds, *eqs.elastic}]
    fastest = float(np.abs(rate[places]).max(initial=0.0))
    if not 0.0 < fastest < np.inf:
        return None
    inertia = eqs.kernel("inertia")
    if np.isfinite(inertia(state.q + rate * ahead / fastest, eqs.p, state.t)[0]).all():
        return None
    names = ", ".join(repr(eqs.coordinates.names[k]) for k in places)
    problem = (
        f"the independent coordinates {names} of {eqs.name!r} do not determine its pose after t = {state.t:.6g} s: a "
        "dead point, or loops that cannot close any further."
    )
    return Finding("dead-point", problem, {"time": state.t}, {}, (Advice("Choose other {}.", Argument("coordinates")),))


def _volume(eqs: EquationsOfMotion, epsilon: float = 1e-10) -> Kernel:
    """(q, v, z, p, t) -> log det (Â Âᵀ + ε 1).

    epsilon : above the rounding of pivots that are zero (1e-15), so that g is smooth to 1e-5.
    """

    def make() -> Kernel:
        s = eqs.symbols()
        A, _ = eqs.functions["rows"](s.q, s.v, s.z, ca.SX.zeros(eqs.nu), s.p, s.t)
        square = ca.densify(ca.sum2(A * A))
        for group in map(list, rows_of_cut_joints(eqs)):
            square[group] = ca.sum1(square[group])
        length = ca.sqrt(square + 1e-60)
        unit = ca.sparsify(ca.diag(1 / length) @ A)
        G = ca.triu(ca.sparsify(unit @ unit.T)) + epsilon * ca.SX.eye(len(eqs.rows))
        pivots = ca.ldl(ca.triu2symm(G))[0]
        floored = ca.fmax(ca.densify(ca.vec(pivots)), 1e-30)  # each at most 1 + ε: ten multiply to a normal number
        groups = ca.vertsplit(floored, [*range(0, len(eqs.rows), 10), len(eqs.rows)])
        value = sum(ca.log(reduce(operator.mul, ca.vertsplit(group))) for group in groups)
        function = ca.Function("volume", [s.q, s.v, s.z, s.p, s.t], [value], {"cse": True})
        return Kernel(function)

    return eqs.cache("volume of the rows", make)  # type: ignore[no-any-return]
