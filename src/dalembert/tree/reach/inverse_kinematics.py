"""Inverse kinematics: the pose of a machine that brings places to their targets.

From the start, then from random poses within the limits (with a seed), a damped search (`pose_search`) looks for a pose
that reaches all targets; the first one is taken. Further freedoms go to the preferred posture (`posture`).

Of a machine that sags, the search and the static shape at its pose take turns: the sag changes with the pose by a small
part of the motion, by which the gap falls in every pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arguments import one_of, positive_number, real_number, whole_number
from dalembert.core.errors import AssemblyError, ConvergenceError, DataError, ModelError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.solve.position.assemble import assemble
from dalembert.tree.places import Goal, ReachTask, read_target
from dalembert.tree.reach.pose_search import PoseSearch, SearchPoint
from dalembert.tree.reach.posture import descend, read_objective
from dalembert.tree.reach.ranges import Ranges, close_loops, initial_state, read_ranges


class OutOfReachError(ConvergenceError):
    """A target that no pose within the limits reaches; ``state`` is the nearest pose that was found."""

    state: State


def inverse_kinematics(
    eqs: EquationsOfMotion,
    target: Mapping[Any, Any],
    *,
    start: State | None = None,
    weights: Mapping[Any, Any] | None = None,
    prefer: State | Mapping[str, float] | str | None = None,
    limits: bool | Mapping[str, Any] = True,
    restarts: int = 300,
    seed: int = 0,
    tolerance: float = 1e-10,
    nearest: bool = False,
    elastic: str = "held",
    passes: int = 50,
) -> State:
    """The pose of a machine in joint coordinates that brings places to their targets.

    Parameters
    ----------
    target : place -> position (x, y, z), a `da.rotation`, or a pose: position and rotation in one list, or a transform
        as `da.tree.forward_kinematics` gives it. Places are ``"hand"`` (its centre of mass), ``"hand.tip"`` (a named
        point), ``"hand.origin"``, or points and frames of bodies; ``"hand.rotation"`` and ``"hand.pose"`` work too, and
        joint coordinates and position sensors by name.
    start : the pose to begin from; decides which of several solutions is found. None: as drawn.
    weights : place -> weight, or (weight of the position [1/m], of the orientation [1/rad]); they matter where not all
        can be reached. 1 where left out.
    prefer : further freedoms of a redundant arm: a state or coordinates to stay near to, ``"middle"`` of the limits, or
        ``"manipulability"``. None: near to the start.
    limits : whether coordinates keep to the limits of their joints; or coordinate -> (lower, upper).
    restarts : how often to begin again from random poses, drawn with `seed`; of 480 targets for random arms with six
        or seven joints, most need 1 to 10, three need more than 100.
    tolerance : largest gap [m, rad], relative to 1 + the largest position.
    nearest : return the nearest pose where the target is out of reach, instead of an error.
    elastic : "held" keeps elastic coordinates at their values; "static": the machine hangs in its joints, and the
        places reach their targets in spite of its sag, under its weight and its other forces at zero inputs.
    passes : largest number of static shapes; the gap of an arm that sags by a tenth falls to a tenth in each.

    Returns
    -------
    State at rest, loops closed and limits kept.

    Raises
    ------
    OutOfReachError : code ``out-of-reach``, with the remaining gap, the limits that are active, and ``state``, the
        nearest pose found.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> upper, fore = (m.add_body(name, mass=1.0, inertia=da.rod(1.0), points={"tip": (0.5, 0)}) for name in "ab")
    >>> shoulder = m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    >>> elbow = m.add_revolute("elbow", upper.at(0.5, 0), fore.at(-0.5, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> state = da.tree.inverse_kinematics(eqs, {"b.tip": (1.0, 1.0)}, start=da.assemble(eqs, {"elbow": 1.0}))
    >>> round(state["elbow.angle"], 6)
    1.570796
    """
    require_equations(eqs)
    one_of("elastic", elastic, ("held", "static"))
    tasks, goals = read_target(eqs, target)
    begin = initial_state(eqs, start)
    if elastic == "static":
        begin = hang(begin)
    ranges = read_ranges(eqs, limits)
    search = PoseSearch(eqs, tasks, read_weights(tasks, weights), ranges, begin.t)
    search.tolerance = positive_number("tolerance", tolerance)
    objective = read_objective(eqs, prefer, tasks, ranges, begin)
    best = nearest_pose(search, begin, goals, whole_number("restarts", restarts), seed)
    if best is None:
        raise open_loops(eqs)
    if not search.is_reached(best):
        best = search.search(best, goals)
    elif objective is not None:
        best = descend(search, best, goals, objective)
    state = to_state(search, best.q, begin)
    for _ in range(whole_number("passes", passes, 1) if elastic == "static" else 0):
        state = hang(state)
        search.goals = goals
        best = search.at(np.array(state.q))
        if search.is_reached(best):
            break
        best = search.search(best, goals)
        if objective is not None and search.is_reached(best):
            best = descend(search, best, goals, objective)
        before, state = state, to_state(search, best.q, begin)
        if not search.is_reached(best) and float(np.abs(state.q - before.q).max()) <= search.tolerance:
            break  # the nearest pose sags as it did
    else:
        if elastic == "static" and search.is_reached(best):
            problem = f"the sag of {eqs.name!r} still moved its places after {passes} static shapes."
            raise ConvergenceError("no-convergence", problem, evidence={"passes": passes})
    if not search.is_reached(best) and not nearest:
        raise out_of_reach(search, best, goals, state)
    return state


def hang(state: State) -> State:
    """The same joints with elastic coordinates at static rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of a pose that the search leaves
        return assemble(state.eqs, start=state, elastic="static", t=state.t)


def read_weights(tasks: Sequence[ReachTask], weights: Mapping[Any, Any] | None) -> list[tuple[float, float]]:
    """Weight of the position and of the orientation of every task."""
    problem = f"weights must be a mapping of places to numbers, got {weights!r:.80}."
    DataError.when(weights is not None and not isinstance(weights, Mapping), "wrong-type", problem)
    given = {key if isinstance(key, str) else repr(key): value for key, value in (weights or {}).items()}
    labels = [task.label for task in tasks]
    for name in given:
        known = any(label == name or label.startswith(f"{name}.") for label in labels)
        if not known:
            require_name("place", name, labels, "this target", error=ModelError, argument="weights")
    found = []
    for label in labels:
        value: Any = next((given[name] for name in given if label == name or label.startswith(f"{name}.")), 1.0)
        pair = (value, value) if np.ndim(value) == 0 else tuple(value)
        if len(pair) != 2:
            problem = f"weights of {label!r} must be one number or two, got {value!r:.60}."
            raise ModelError("wrong-shape", problem, where={"place": label})
        numbers = [real_number(f"weight of {label!r}", one) for one in pair]
        if min(numbers) < 0 or max(numbers) <= 0:
            problem = f"weights of {label!r} must be positive, got {value!r:.60}."
            raise ModelError("not-positive", problem, where={"place": label})
        found.append((numbers[0], numbers[1]))
    return found


def nearest_pose(
    search: PoseSearch,
    begin: State,
    goals: Sequence[Goal],
    restarts: int,
    seed: int,
    repeats: int = 30,
    alike: float = 0.01,
) -> SearchPoint | None:
    """The first pose that reaches the goals, or else the nearest one; None where no loop closes.

    repeats : number of searches with the same smallest value, after which its pose counts as the nearest one: with 30
    of them 1 of 480 reachable targets is given up too early, with 12 of them 2.
    alike : share by which such values differ: searches end with steps that gain a thousandth.
    """
    best: SearchPoint | None = None
    values: list[float] = []
    for first in first_poses(search, begin, goals, restarts, seed):
        found = search.search(first, goals, one_of_many=True)
        if search.is_reached(found):
            return found
        if best is None or found.value < best.value:
            best = found
        values.append(found.value)
        if sum(value <= best.value * (1 + alike) for value in values) >= repeats:
            break
    return best


def open_loops(eqs: EquationsOfMotion) -> AssemblyError:
    """The error of a machine whose loops do not close."""
    return AssemblyError(
        "joint-open", f"no pose of {eqs.name!r} closes its loops within the limits.",
        Advice("Give a pose that does: {}.", Argument("start", Call("da.assemble"))),
    )  # fmt: skip


# --- initial poses ----------------------------------------------------------------------------------------------------


def first_poses(
    search: PoseSearch, begin: State, goals: Sequence[Goal], restarts: int, seed: int
) -> Iterator[SearchPoint]:
    """The initial pose, moved into its ranges, then random poses; poses whose loops do not close are left out."""
    random = np.random.default_rng(whole_number("seed", seed))
    search.goals = goals
    first = search.settle(np.array(begin.q))
    if first is not None:
        yield first
    for _ in range(restarts):
        search.goals = goals
        point = _settle_far(search, random_pose(search.eqs, search.ranges, begin.q, random), begin)
        if point is not None:
            yield point


def random_pose(eqs: EquationsOfMotion, ranges: Ranges, near: Array, random: np.random.Generator) -> Array:
    """Coordinates drawn evenly within their ranges; angles without limits over a turn, the rest about a pose."""
    q = np.array(near)
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    held = {eqs.coordinates.index[name] for name in eqs.elastic}
    limited = {k: (low, high) for k, low, high in zip(ranges.coordinates, ranges.low, ranges.high, strict=True)}
    for k, unit in enumerate(eqs.coordinates.units):
        if k in inner or k in held:
            continue
        low, high = limited.get(k, (-np.inf, np.inf))
        width = np.pi if unit == "rad" else 1.0
        low, high = (
            (low, high) if np.isfinite([low, high]).all()
            else (low, low + 2 * width) if np.isfinite(low)
            else (high - 2 * width, high) if np.isfinite(high)
            else (near[k] - width, near[k] + width)
        )  # fmt: skip
        q[k] = random.uniform(low, high)
    for block in eqs.quaternions:
        turned = random.normal(size=4)
        q[block.part] = turned / np.linalg.norm(turned)
    return q


def _settle_far(search: PoseSearch, q: Array, begin: State) -> SearchPoint | None:
    """A pose within the ranges near a drawn one; loops by a whole assembly."""
    eqs = search.eqs
    if eqs.holonomic_rows:
        closed = close_loops(eqs, eqs.state(q, None, begin.z, begin.t))
        if closed is None:
            return None
        q = closed
    return search.settle(q)


# --- results ----------------------------------------------------------------------------------------------------------


def to_state(search: PoseSearch, q: Array, begin: State) -> State:
    """A state at rest; angles without limits within half a turn of the start."""
    eqs = search.eqs
    q = np.array(q)
    limited = {k for k, low, high in zip(search.ranges.coordinates, search.ranges.low, search.ranges.high, strict=True)
               if np.isfinite([low, high]).any()}  # fmt: skip
    if not eqs.rows:
        for k, (name, unit) in enumerate(zip(eqs.coordinates.names, eqs.coordinates.units, strict=True)):
            if unit == "rad" and k not in limited and name in eqs.measures.index:
                q[k] -= 2 * np.pi * np.round((q[k] - begin.q[k]) / (2 * np.pi))
    for counter in eqs.counters:
        q[counter.coordinate] = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, begin.t)[0][counter.measure]
    return eqs.state(q, None, begin.z, begin.t)


def active_limits(ranges: Ranges, point: SearchPoint, active: float = 1e-9) -> dict[str, str]:
    """Coordinates at an end of their range: name -> "lower" or "upper".

    active : distance [m or rad] over 1 + the limit at which a coordinate is at its limit: rounding of a bounded step.
    """
    found = {}
    for name, c, low, high in zip(ranges.names, point.c, ranges.low, ranges.high, strict=True):
        for word, limit in (("lower", low), ("upper", high)):
            if np.isfinite(limit) and abs(c - limit) <= active * (1 + abs(limit)):
                found[name] = word
    return found


def remaining_gaps(search: PoseSearch, point: SearchPoint) -> list[tuple[str, float, float]]:
    """(label, distance [m], angle [rad]) of every task."""
    gaps = point.r / search.weights
    found, row = [], 0
    for task, goal in zip(search.tasks, search.goals, strict=True):
        dim = len(goal.position) if task.place is not None else 1
        moved = dim if task.position else 0
        turned = (1 if dim == 2 else 3) if task.rotation else 0
        part = gaps[row : row + moved + turned]
        found.append((task.label, float(np.linalg.norm(part[:moved])), float(np.linalg.norm(part[moved:]))))
        row += moved + turned
    return found


def out_of_reach(search: PoseSearch, point: SearchPoint, goals: Sequence[Goal], state: State) -> OutOfReachError:
    """The error of a target that was not reached."""
    search.goals = goals
    gaps = remaining_gaps(search, search.at(point.q))
    label, distance, angle = max(gaps, key=lambda one: one[1] + one[2])
    active = active_limits(search.ranges, point)
    missed = " and ".join(
        text for text in (f"{distance:.3g} m" if distance > 0 else "", f"{angle:.3g} rad" if angle > 0 else "") if text
    )
    at = ", ".join(f"{name!r} is at its {word} limit" for name, word in active.items())
    free = "no limit is active: the arm is too short, or the search ended in a local minimum"
    advice = [
        Advice("Take the nearest pose with {}.", Argument("nearest", True)),
        Advice("Begin elsewhere with {}.", Argument("start")),
    ]
    if active:
        advice.insert(0, Advice("Check the limits, or leave them out with {}.", Argument("limits", False)))
    error = OutOfReachError(
        "out-of-reach", f"{label!r} of {search.eqs.name!r} stays {missed or 'open'} from its target; {at or free}.",
        *advice, where={"place": label},
        evidence={"distance": distance, "angle": angle, "active": active,
                  "gaps": {name: (m, rad) for name, m, rad in gaps}},
    )  # fmt: skip
    error.state = state
    return error
