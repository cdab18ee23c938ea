"""Positions and speeds consistent with the joints, from a partial guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, diags, identity, vstack
from scipy.sparse.linalg import splu

from dalembert.core.arguments import one_of, real_number, whole_number
from dalembert.core.errors import AssemblyError, ConvergenceError, ModelError, ModelWarning, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.mechanics.rotations import turn_between
from dalembert.model.orientation import Rotation
from dalembert.numerics.least_squares import DampedStep, Damping, minimise
from dalembert.record.units import in_si, per_second
from dalembert.solve.constrained.matrices import RANK_TOLERANCE
from dalembert.solve.constrained.structure import mass_is_singular, rows_of_cut_joints
from dalembert.solve.position.limits import find_exceeded
from dalembert.solve.position.orientations import take_poses
from dalembert.solve.position.static_shape import find_static_shape
from dalembert.solve.position.tangent import require_mapping

# Gap [m or rad] over 1 + the largest coordinate: 4500 units of rounding, a hundred times the rounding of a row.
CLOSED = 1e-12
AIMED = 1e-2  # The search continues to this share of the tolerance where possible: the last Newton step costs little.
# 144 poses of eight machines of the library, all coordinates off by 0.3 to 3 [m, rad], set the next four numbers: 137
# close from the first start, after 7 steps (median) to 46; the others from a second start or a 13th to 16th.
ITERATIONS = 60
RESTARTS = 24
MOST_RESTARTS = 10_000  # a minute of small machines; the spread of the 100th start has no meaning any more
LONGEST_STEP = 0.7  # change of a coordinate in one step [m or rad]: 40° stay on one side of a dead point
# Rates [m/s, rad/s] over 1 + the largest speed: above it the wanted rates contradict each other.
SPEED_ROUNDING = 1e-13
MISSED_SPEED = 1e-9
# Speeds, above which steps are solved with sparse factors and the search begins once; speeds without inertia, above
# which their rank is not looked at. A dense step of so many takes 15 ms, a search from all starts half a minute.
DENSE = 300


class Units:
    """Units of a search in a machine at a pose: 1 m and 1 rad for one of ordinary size, else a length of its own.

    Its size is the largest of places, gaps and levers; a machine without levers may be small only by its place.

    ordinary : sizes [m] that need no other unit. A gap changes by the lever [m] for a turn of 1 rad and by 1 for a move
        of 1 m: between 0.1 and 10 m the two differ ten times at most, in the squares of a damped step a hundred times.
    """

    def __init__(self, eqs: EquationsOfMotion, q: Array, t: float, ordinary: tuple[float, float] = (0.1, 10.0)) -> None:
        still = np.zeros(eqs.nv)
        s = eqs.kernel("measures")(q, still, eqs.p, t)[0]
        gaps = eqs.kernel("position")(q, eqs.p, t)[0]
        A = eqs.kernel("rows").sparse(0, q, still, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, t)
        A = abs(A[eqs.holonomic_rows, :]).tocsc()
        lengths = np.array([unit == "m/s" for unit in eqs.speeds.units], dtype=bool)
        straight = A[:, lengths].sum(axis=1).A1 > 0 if lengths.any() else np.ones(len(gaps), dtype=bool)
        levers = A[straight, :][:, ~lengths].data
        places = s[[unit == "m" for unit in eqs.measures.units]]
        sizes = np.abs(np.concatenate((places, gaps[straight], levers, () if levers.size else ordinary[:1])))
        size = float(sizes[np.isfinite(sizes)].max(initial=0.0))
        self.length = size / float(np.clip(size, *ordinary)) if size > 0.0 else 1.0
        self.q, self.columns = q, np.where(lengths, self.length, 1.0)

    def tolerance(self, q: Array) -> float:
        """Gap in these units that is closed."""
        return CLOSED * (1 + _largest(q) / max(self.length, 1.0))

    def rows(self, J: csc_matrix) -> Array:
        """Units of rows with these gradients in m and rad: a length, or 1 of directions and angles."""
        if self.length == 1.0 or 0 in J.shape:
            return np.ones(J.shape[0])
        largest = abs(J @ diags(self.columns)).max(axis=1).toarray().ravel()
        return np.asarray(np.clip(largest, min(self.length, 1.0), max(self.length, 1.0)))

    def scale(self, J: csc_matrix, rows: Array) -> csc_matrix:
        """The gradient in these units."""
        if self.length == 1.0:
            return J
        J = csc_matrix(J)
        data = J.data * np.repeat(self.columns, np.diff(J.indptr)) / rows[J.indices]
        return csc_matrix((data, J.indices, J.indptr), J.shape)


def row_units(eqs: EquationsOfMotion, q: Array, t: float) -> Array:
    """Units of the position rows of a machine at a pose, (rows,): a length of its own, or 1 of angles."""
    still = np.zeros(eqs.nv)
    A = eqs.kernel("rows").sparse(0, q, still, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, t)
    return Units(eqs, q, t).rows(csc_matrix(A[eqs.holonomic_rows, :]))


def assemble(
    eqs: EquationsOfMotion,
    position: Mapping[str, float] | None = None,
    *,
    velocity: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
    internal: Mapping[str, float] | None = None,
    start: State | None = None,
    t: float = 0.0,
    restarts: int = RESTARTS,
    elastic: str = "held",
) -> State:
    """Put a machine together.

    Parameters
    ----------
    position : values that joint or body coordinates must have, e.g. ``{"A.angle": 1.57}``; of a body in space also
        ``plate.rotation`` (a `da.rotation`, a rotation vector or a quaternion) or ``plate.pose`` (x, y, z and that).
    velocity : values that their rates must have, addressed by the coordinate (``{"A.angle": 10.0}``) or by the rate;
        also speeds of bodies (``{"top.wz": 150.0}``).
    guess : coordinates to start from; they decide which of several ways of closing the loops is found.
    internal : internal states (motor currents, lags).
    start : a state to start from, instead of the drawing.
    t : time, for moving joints and drivers.
    restarts : number of further trials from poses around the first one, where the joints do not close from it. With
        none a machine that is moved on from ``start`` stays on its branch, or an error soon reports that it cannot.
    elastic : "held" keeps elastic coordinates at their values (zero, of ``start`` or of ``position``); "static" finds
        their rest under weight and springs, with the joints where they are.

    Returns
    -------
    State with every joint closed to about 1e-12 and speeds that keep it closed; other coordinates move as
    little as possible. A `ModelWarning` names coordinates beyond the limits of their joints.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> state = da.assemble(da.equations(m), {"hinge.angle": 0.0}, velocity={"hinge.angle": 2.0})
    >>> round(state["rod.x"], 12), round(state["rod.vy"], 12)
    (0.5, 1.0)
    """
    require_equations(eqs)
    one_of("elastic", elastic, ("held", "static"))
    t = real_number("t", t)
    restarts = whole_number("restarts", restarts)
    if start is not None:
        require_state(eqs, start)
    plain, turned = take_poses(eqs, require_mapping(position, "position"), "position")
    wanted = _read_named(eqs, plain, "position")
    speeds = _read_named(eqs, velocity, "velocity", rates=True)
    loose, leaning = take_poses(eqs, require_mapping(guess, "guess"), "guess")
    hints = {**wanted, **_read_named(eqs, loose, "guess", coordinates=True)}
    parts = {block.owner: eqs.coordinates.names[block.part] for block in eqs.quaternions}
    parts |= {one.owner: eqs.measures.names[one.parameters : one.parameters + 4] for one in eqs.carried_orientations}
    for owner, orientation in {**leaning, **turned}.items():
        hints |= dict(zip(parts[owner], map(float, orientation.quaternion), strict=True))
    first_guess = eqs.placement.first_guess
    if start is not None or first_guess is None:
        q = np.array(eqs.placement.q if start is None else start.q)
    else:
        q = np.array(first_guess(hints))
    z = np.array(eqs.placement.z if start is None else start.z)
    for name, value in require_mapping(internal, "internal").items():
        if name not in eqs.internal.index:
            raise ModelError(
                "unknown-name", unknown_name("internal state", name, eqs.internal.names, f"equations {eqs.name!r}")
            )
        z[eqs.internal.index[name]] = real_number(f"internal: {name!r}", value, ModelError)
    for name, value in hints.items():
        if name in eqs.coordinates.index:
            q[eqs.coordinates.index[name]] = value
    for counter in eqs.counters:  # whole turns are counted from the wanted values
        q[counter.coordinate] = hints.get(eqs.measures.names[counter.measure], q[counter.coordinate])
    if eqs.placement.followers and start is None:
        s = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, t)[0]
        for follower in eqs.placement.followers:
            name = eqs.measures.names[follower.measure]
            q[follower.coordinate] = follower.ratio * wanted.get(name, s[follower.measure])
    for name in eqs.elastic:
        k = eqs.coordinates.index[name]
        wanted.setdefault(name, float(q[k]))
        rate = eqs.measure_rates.names[eqs.measures.index[name]]
        if name not in speeds and rate not in speeds:
            speeds[name] = 0.0 if start is None else float(start.v[eqs.speeds.index[rate]])
    if start is not None and not guess and rows_of_cut_joints(eqs):
        q = _approach(eqs, np.array(start.q), q, wanted, t)
    q = _close(eqs, q, wanted, turned, t, whole_number("restarts", restarts, 0, MOST_RESTARTS))
    if elastic == "static":
        q = find_static_shape(eqs, q, list(wanted), lambda values, near: _close(eqs, near, values, turned, t, 0), t)
    if eqs.counters:
        s = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, t)[0]
        for counter in eqs.counters:
            q[counter.coordinate] = s[counter.measure]
    v = _speeds(eqs, q, np.zeros(eqs.nv) if start is None else np.array(start.v), speeds, t)
    state = eqs.state(q, v, z, t)
    if eqs.limits:
        ModelWarning.report(find_exceeded(eqs, state))
    return state


def _read_named(
    eqs: EquationsOfMotion,
    given: Mapping[str, float] | None,
    what: str,
    *,
    rates: bool = False,
    coordinates: bool = False,
) -> dict[str, float]:
    result = {}
    by_rate = dict(zip(eqs.measure_rates.names, eqs.measures.names, strict=True)) if rates else {}
    for name, value in require_mapping(given, what).items():
        full = eqs.full_name(name) if isinstance(name, str) else repr(name)
        full = by_rate.get(full, full)
        further = eqs.speeds if rates else eqs.coordinates if coordinates else None
        if full not in eqs.measures.index and (further is None or full not in further.index):
            known = [*eqs.measures.names, *((*eqs.measure_rates.names, *eqs.speeds.names) if rates else ())]
            raise ModelError(
                "unknown-name", f"{what}: {unknown_name('coordinate', name, known, f'equations {eqs.name!r}')}"
            )
        if isinstance(value, str):
            channels = (eqs.measures if full in eqs.measures.index else further) or eqs.measures
            unit = channels.units[channels.index[full]]
            unit = per_second(unit) if rates and channels is eqs.measures else unit
            value = in_si(value, unit, what=f"{what}: {name!r}", error=ModelError)
        result[full] = real_number(f"{what}: {name!r}", value, ModelError)
    return result


class _JointGaps:
    """Residual and gradient of joints plus prescribed coordinates, in units of the machine."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        wanted: Mapping[str, float],
        turned: Mapping[str, Rotation],
        t: float,
        units: Units,
    ) -> None:
        self.eqs, self.t = eqs, t
        self.turned = {owner: np.array(x.quaternion, dtype=float) for owner, x in turned.items()}
        # orientations that are coordinates first, then those of carried bodies
        self.blocks = [block for block in eqs.quaternions if block.owner in turned]
        self.carried = [one for one in eqs.carried_orientations if one.owner in turned]
        self.turns = [k for one in self.carried for k in range(one.turns, one.turns + 3)]
        self.columns = [column for block in self.blocks for column in block.columns]
        # elastic coordinates have their value already and do not move
        self.still = [k for name, k in eqs.elastic_speeds.items() if name in wanted]
        free = {name: value for name, value in wanted.items() if name not in eqs.elastic}
        self.chosen = [eqs.measures.index[name] for name in free]
        self.values = np.array(list(free.values()))
        self.zero_v, self.zero_z, self.zero_u = np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu)
        self.units = units
        self.row_units = self.units.rows(self._rows(units.q))

    def residual(self, q: Array) -> Array:
        eqs = self.eqs
        parts = [eqs.kernel("position")(q, eqs.p, self.t)[0]]
        measured = eqs.kernel("measures")(q, self.zero_v, eqs.p, self.t)[0] if self.chosen or self.carried else q
        if self.chosen:
            parts.append(measured[self.chosen] - self.values)
        now = [(block.owner, q[block.part]) for block in self.blocks]
        now += [(one.owner, measured[one.parameters : one.parameters + 4]) for one in self.carried]
        parts += [np.array(turn_between(self.turned[owner], p), dtype=float).ravel() for owner, p in now]
        return np.concatenate(parts) / self.row_units

    def gradient(self, q: Array) -> csc_matrix:
        return self.units.scale(self._rows(q), self.row_units)

    def _rows(self, q: Array) -> csc_matrix:
        eqs = self.eqs
        A = eqs.kernel("rows").sparse(0, q, self.zero_v, self.zero_z, self.zero_u, eqs.p, self.t)
        if len(eqs.holonomic_rows) < len(eqs.rows):
            A = A[eqs.holonomic_rows, :]
        if self.chosen or self.turned:
            S = eqs.kernel("measures").sparse(2, q, self.zero_v, eqs.p, self.t)
            turns = identity(eqs.nv, format="csr")[self.columns, :]
            A = vstack((A, S[self.chosen, :], turns, S[self.turns, :])).tocsc()
        if self.still:
            moving = np.ones(eqs.nv)
            moving[self.still] = 0.0
            A = (A @ diags(moving)).tocsc()
        return A

    def move(self, q: Array, change: Array) -> Array:
        N = self.eqs.kernel("kinematics").sparse(0, q, self.eqs.p, self.t)
        step = N @ (self.units.columns * change)
        counted = [counter.coordinate for counter in self.eqs.counters]
        step[counted] = np.where(np.isfinite(step[counted]), step[counted], 0.0)  # angles without a meaning here
        return normalised_numbers(self.eqs, q + step)

    def owner(self, index: int) -> str:
        count = len(self.eqs.holonomic_rows)
        if index < count:
            row = self.eqs.rows[self.eqs.holonomic_rows[index]]
            kind = "joint" if any(j.name == row.owner for j in self.eqs.joints) else "constraint"
            return f"{kind} {row.owner!r}"
        if index >= count + len(self.chosen):
            owners = [*(block.owner for block in self.blocks), *(one.owner for one in self.carried)]
            return f"the prescribed orientation of {owners[(index - count - len(self.chosen)) // 3]!r}"
        return f"the prescribed coordinate {self.eqs.measures.names[self.chosen[index - count]]!r}"


def normalised_numbers(eqs: EquationsOfMotion, q: Array) -> Array:
    for block in eqs.quaternions:
        q[block.part] /= np.linalg.norm(q[block.part])
    return q


def least_change(J: csc_matrix, residual: Array, damping: float) -> Array:
    """The smallest x with J x = -residual, damped: -Jᵀ (J Jᵀ + μ 1)⁻¹ residual, μ times the largest gradient squared
    where that is above one: the damping of a machine of kilometres.
    """
    if not (np.isfinite(J.data).all() and np.isfinite(residual).all()):
        raise ConvergenceError(
            "not-finite",
            "the search came to a pose where joints are not defined (a wheel lying flat, a direction without length). "
            "Start nearer to the pose you look for.",
        )
    scale = float(abs(J).max()) ** 2 if J.nnz else 1.0
    damping *= max(1.0, scale)
    if J.shape[1] <= DENSE:
        dense = J.toarray()
        if damping == 0.0:
            return np.asarray(-np.linalg.lstsq(dense, residual, rcond=RANK_TOLERANCE)[0])
        G = dense @ dense.T + damping * np.eye(J.shape[0])
        return np.asarray(-dense.T @ np.linalg.solve(G, residual))
    G = (J @ J.T + (damping + CLOSED * scale) * identity(J.shape[0])).tocsc()
    factor = splu(G)
    y = factor.solve(residual)
    y += factor.solve(residual - (J @ (J.T @ y)) - damping * y)
    return np.asarray(-(J.T @ y))


def _close(
    eqs: EquationsOfMotion,
    q0: Array,
    wanted: Mapping[str, float],
    turned: Mapping[str, Rotation],
    t: float,
    restarts: int,
    first_spread: float = 0.05,
    wider: float = 1.25,
    farthest: int = 10_000,
) -> Array:
    # first_spread: of the first of them [m, rad]; the 16th has 1.4, the last 8.5.
    # wider: from one to the next.
    # farthest: steps more for a prescribed coordinate that is far away: a thousand turns.
    q0 = normalised_numbers(eqs, q0.copy())  # a step does so too, and must not be measured against another length
    for name in eqs.elastic:
        if name in wanted:
            q0[eqs.coordinates.index[name]] = wanted[name]
    units = Units(eqs, q0, t)
    problem, tolerance = _JointGaps(eqs, wanted, turned, t, units), units.tolerance(q0)
    # a prescribed angle may be many turns away, and steps are limited
    far = float(np.abs(problem.residual(q0)[len(eqs.holonomic_rows) :]).max(initial=0.0)) if wanted else 0.0
    steps = ITERATIONS + (min(int(far / LONGEST_STEP), farthest) if np.isfinite(far) else 0)
    q, gap = _iterate(problem, q0, tolerance, steps)
    if gap <= tolerance:
        return q
    random = np.random.default_rng(0)
    best, best_gap = q, gap
    restarts = restarts if eqs.nv <= DENSE else 0
    for k in range(restarts):
        spread = first_spread * wider**k
        shift = random.normal(size=eqs.nv) * spread
        shift[problem.still] = 0.0
        q, gap = _iterate(problem, problem.move(q0.copy(), shift), tolerance, steps)
        if gap <= tolerance:
            return q
        if gap < best_gap:
            best, best_gap = q, gap
    residual = np.abs(problem.residual(best)) * problem.row_units
    worst = int(np.argmax(residual))
    if not np.isfinite(residual[worst]):
        raise AssemblyError(
            "not-finite",
            f"cannot assemble {eqs.name!r}: the gap of {problem.owner(worst)} is not a finite number. "
            "Check its numbers and parameters (a length of zero?).",
        )
    raise AssemblyError(
        "joint-open",
        f"cannot assemble {eqs.name!r}: {problem.owner(worst)} stays open by {residual[worst]:.2e} "
        f"(m or rad) after {steps} iterations from {restarts + 1} starting points.",
        Advice("Check lengths and prescribed coordinates, or give a better {}.", Argument("guess")),
        *_ask_about_degrees(eqs, wanted),
        evidence={"gap": float(residual[worst])},
    )


def _ask_about_degrees(eqs: EquationsOfMotion, wanted: Mapping[str, float]) -> list[Advice]:
    """A question for every angle of more than a turn: it may be in degrees."""
    angles = {name: value for name, value in wanted.items() if eqs.measures.units[eqs.measures.index[name]] == "rad"}
    return [
        Advice(f"Angles are in rad. Are {value:g} degrees meant? Write {{}}.", Argument(name, f"{value:g} deg"))
        for name, value in angles.items()
        if abs(value) > 2.0 * np.pi
    ]


def _approach(
    eqs: EquationsOfMotion, start: Array, q: Array, wanted: Mapping[str, float], t: float, stride: float = 0.2
) -> Array:
    """q near the wanted values, moved there from a start in small steps: the loops of a tree stay on their branch.

    q is given back where a step does not close the joints.

    stride : change of a prescribed coordinate of a tree from a start [m or rad]: 11° of a crank.
    """
    chosen = {name: value for name, value in wanted.items() if name not in eqs.elastic}
    now = eqs.kernel("measures")(start, np.zeros(eqs.nv), eqs.p, t)[0][[eqs.measures.index[name] for name in chosen]]
    change = np.array(list(chosen.values())) - now
    count = int(np.ceil(np.abs(change).max(initial=0.0) / stride))
    units = Units(eqs, start, t)
    tolerance = units.tolerance(start)
    for k in range(1, count):
        between = dict(zip(chosen, now + k / count * change, strict=True))
        start, gap = _iterate(_JointGaps(eqs, between, {}, t, units), start, tolerance)
        if not gap <= tolerance:
            return q
    return start


@dataclass(frozen=True)
class _Pose:
    """A pose, its gaps, the largest of them, and their norm, which is zero where they are as small as aimed."""

    q: Array
    residual: Array
    gap: float
    norm: float


class _Closing:
    """Gaps of joints as a problem of `numerics.least_squares`: the least change that closes them, in limited steps."""

    def __init__(self, gaps: _JointGaps, tolerance: float) -> None:
        self.gaps, self.tolerance = gaps, tolerance

    def at(self, q: Array) -> _Pose:
        residual = self.gaps.residual(q)
        gap = float(np.abs(residual).max(initial=0.0))
        is_closed = gap <= self.tolerance * AIMED
        return _Pose(q, residual, gap, 0.0 if is_closed else float(np.linalg.norm(residual)))

    def value(self, point: _Pose) -> float:
        return point.norm

    def step(self, point: _Pose, damping: float) -> DampedStep:
        change = least_change(self.gaps.gradient(point.q), point.residual, damping)
        size = float(np.abs(change).max(initial=0.0))
        return DampedStep(change * min(1.0, LONGEST_STEP / max(size, 1e-300)), point.norm)

    def evaluate(self, point: _Pose, step: DampedStep) -> _Pose | None:
        return self.at(self.gaps.move(point.q.copy(), step.change)) if np.isfinite(step.change).all() else None

    def is_settled(self, before: _Pose, after: _Pose, step: DampedStep) -> bool:
        return after.norm == 0.0

    def is_rounding(self, point: _Pose, trial: _Pose | None, step: DampedStep) -> bool:
        return trial is not None and point.gap <= self.tolerance


def _iterate(
    gaps: _JointGaps,
    q: Array,
    tolerance: float,
    steps: int = ITERATIONS,
    gain: float = 1e-4,
    first_damping: float = 1e-6,
    stuck: float = 1e6,
) -> tuple[Array, float]:
    """The pose with the joints closed, and its largest gap.

    gain : relative decrease of the residual that counts as one.
    first_damping : the first; rows have gradients of about 1.
    stuck : damping that ends a search: steps are a millionth of the gradient's.
    """
    problem = _Closing(gaps, tolerance)
    point = problem.at(q)
    if point.norm > 0.0:
        damping = Damping(first=0.0, restart=first_damping, dropped=first_damping, least=0.0, most=stuck)
        point = minimise(problem, point, damping, steps, share=gain).point
    return point.q, point.gap


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _speeds(
    eqs: EquationsOfMotion, q: Array, v0: Array, wanted: Mapping[str, float], t: float, passes: int = 20
) -> Array:
    # passes: Newton steps of speeds: one where rows are linear in them; where a row has no gradient a step quarters
    # what is missed, 15 from 1 m/s to `missed`.
    zero_z, zero_u = np.zeros(eqs.nz), np.zeros(eqs.nu)
    v = v0
    chosen = [eqs.measures.index[name] for name in wanted if name in eqs.measures.index]
    direct = [eqs.speeds.index[name] for name in wanted if name not in eqs.measures.index]  # angular velocities
    wanted = {n: wanted[n] for n in sorted(wanted, key=lambda n: n not in eqs.measures.index)}
    values = np.array(list(wanted.values()))
    units = Units(eqs, q, t)
    for _ in range(passes):
        (rates,) = eqs.kernel("rates")(q, v, eqs.p, t)
        A = eqs.kernel("rows").sparse(0, q, v, zero_z, zero_u, eqs.p, t)
        if len(eqs.rate_rows) < len(eqs.rows):
            A = A[eqs.rate_rows, :]
        residual, J = rates, A
        if wanted:
            _, s_rate, _, _ = eqs.kernel("measures")(q, v, eqs.p, t)
            S = eqs.kernel("measures").sparse(2, q, v, eqs.p, t)
            residual = np.concatenate((rates, np.concatenate((s_rate[chosen], v[direct])) - values))
            J = vstack((A, S[chosen, :], identity(eqs.nv, format="csr")[direct, :])).tocsc()
        rows = units.rows(J)
        residual, J = residual / rows, units.scale(J, rows)
        size = 1 + _largest(v / units.columns) + _largest(values / rows[len(rates) :])
        if float(np.abs(residual).max(initial=0.0)) <= SPEED_ROUNDING * size:
            return v
        v = v + units.columns * least_change(J, residual, 0.0)
    worst = int(np.argmax(np.abs(residual)))
    if abs(residual[worst]) > MISSED_SPEED * size:
        rated = [eqs.rows[k].owner for k in eqs.rate_rows]
        names = [*(f"constraint {o!r}" for o in rated), *(f"the prescribed rate of {n!r}" for n in wanted)]
        rate_names = dict(zip(eqs.measures.names, eqs.measure_rates.names, strict=True))
        asked = ", ".join(repr(rate_names.get(name, name)) for name in wanted) or "nothing"
        raise AssemblyError(
            "no-solution",
            f"no speeds of {eqs.name!r} agree with all wanted rates (prescribed: {asked}): {names[worst]} is missed by "
            f"{abs((residual * rows)[worst]):.2e} m/s or rad/s. Prescribe fewer or other rates.",
        )
    return v


def check_start(eqs: EquationsOfMotion, state: State, open: float = 1e-6) -> None:
    """Refuse a start whose joints are visibly open, or whose speeds would open them.

    open : gap and rates of an initial state that a user gives: six digits, as a file keeps them.
    """
    (phi,) = eqs.kernel("position")(state.q, eqs.p, state.t)
    units = Units(eqs, state.q, state.t)
    rows = units.rows(eqs.kernel("rows").sparse(0, state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, state.t))
    shares = np.abs(phi) / rows[eqs.holonomic_rows]
    if phi.size and not shares.max() <= open:
        worst = int(np.argmax(shares))
        owner, gap = eqs.rows[eqs.holonomic_rows[worst]].owner, float(np.abs(phi[worst]))
        raise AssemblyError(
            "joint-open",
            f"the start does not close {owner!r} (gap {gap:.2e}).",
            Advice("Make it with {}.", Call("da.assemble")),
            where={"joint": owner},
            evidence={"gap": gap},
        )
    (rates,) = eqs.kernel("rates")(state.q, state.v, eqs.p, state.t)
    shares = np.abs(rates) / rows[eqs.rate_rows]
    if rates.size and not shares.max() <= open * (1 + _largest(state.v / units.columns)):
        worst = int(np.argmax(shares))
        owner, slip = eqs.rows[eqs.rate_rows[worst]].owner, float(np.abs(rates[worst]))
        raise AssemblyError(
            "joint-open",
            f"the speeds at the start do not agree with {owner!r} (by {slip:.2e} m/s or rad/s).",
            Advice("Make them with {}.", Call("da.assemble", Argument("velocity"))),
            where={"joint": owner},
            evidence={"gap": slip},
        )


def check_weightless(eqs: EquationsOfMotion, state: State, free_direction: float = 1e-9) -> None:
    """Every speed without inertia must be constrained by joints, or nothing determines its change: rank [M; A] = n.

    free_direction : singular value of rows that hold speeds without inertia, over the largest.
    """
    if not mass_is_singular(eqs):
        return
    M = eqs.kernel("inertia").sparse(0, state.q, eqs.p, state.t)
    free = np.flatnonzero(M.diagonal() == 0)  # M is positive semidefinite: a zero there is a zero row
    if not 0 < free.size <= DENSE:
        return
    A = eqs.kernel("rows").sparse(0, state.q, state.v, state.z, np.zeros(eqs.nu), eqs.p, state.t)[:, free].toarray()
    _, size, directions = np.linalg.svd(np.vstack((A, np.zeros((max(free.size - A.shape[0], 0), free.size)))))
    if size[free.size - 1] < free_direction * max(1.0, size[0]):
        name = eqs.speeds.names[free[int(np.argmax(np.abs(directions[free.size - 1])))]]
        raise ModelError(
            "massless-body",
            f"the change of {name!r} is not determined: it has no mass or inertia, and no joint holds it.",
            Advice("Give the body mass and inertia, or add a joint."),
            where={"speed": name},
        )


def require_state(eqs: EquationsOfMotion, start: object) -> None:
    """Refuse what is no state of this machine."""
    if not isinstance(start, State):
        raise ModelError(
            "wrong-type",
            f"start must be a State, got {type(start).__name__}.",
            Advice("Make one with {}.", Call("da.assemble")),
        )
    if start.eqs.coordinates.names != eqs.coordinates.names:
        raise ModelError("wrong-owner", f"start belongs to equations {start.eqs.name!r}, not to {eqs.name!r}.")


def assemble_named(eqs: EquationsOfMotion, start: Mapping[str, Any], t: float = 0.0) -> State:
    """The state with these coordinates, rates and internal states, each under its own name."""
    rates, internal = {*eqs.measure_rates.names, *eqs.speeds.names}, set(eqs.internal.names)
    parts: tuple[dict[str, Any], ...] = ({}, {}, {})
    for name, value in start.items():
        full = eqs.full_name(name) if isinstance(name, str) else name
        parts[1 if full in rates else 2 if full in internal else 0][name] = value
    return assemble(require_equations(eqs), parts[0], velocity=parts[1], internal=parts[2], t=t)


def state_or_rest(eqs: EquationsOfMotion, start: Any, t: float = 0.0, *, weightless: bool = False) -> State:
    """The given state, or rest in the drawing's pose; `weightless` lets speeds without inertia be free."""
    if start is None:
        begin = assemble(eqs, t=t)
    elif isinstance(start, Mapping):
        begin = assemble_named(eqs, start, t)
    else:
        require_equations(eqs)
        require_state(eqs, start)
        check_start(eqs, start)
        begin = start
    if not weightless:
        check_weightless(eqs, begin)
    return begin
