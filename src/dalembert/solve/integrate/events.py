"""Events: zero crossings of a named expression that stop a run or switch something.

A crossing is a change of sign between two accepted steps. It is located by stepping again from the left state with a
shorter step, so it is as exact as the run; a crossing and its return within one step are not seen (use a smaller step).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import casadi as ca
import numpy as np
from scipy.optimize import brentq

from dalembert.core.arguments import real_number, whole_number
from dalembert.core.errors import ConvergenceError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array, one_value
from dalembert.solve.integrate.column import Layout

SX = ca.SX
LOGIC = tuple(getattr(ca, f"OP_{name}") for name in ("LT", "LE", "EQ", "NE", "NOT", "AND", "OR"))


INSTANT = 1e-13  # s, of a located event
ON_ZERO = 1e-12  # an event function this small at a start counts as zero


@dataclass(frozen=True)
class Switch:
    """What changes at an event.

    parameters : values that parameters get.  inputs : channels that get another source (number, function, Record).
    velocity : name -> speed right after, or a function of the State right before that returns it. The named rates jump
        as if hit by an impulse along them; all other speeds follow through the joints.
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    velocity: Mapping[str, float] | Callable[[State], Mapping[str, float]] | None = None


@dataclass(frozen=True)
class Event:
    """A zero crossing to find.

    Parameters
    ----------
    name : shown in the record's statistics and status.
    function : of the state ``s``: ``s["A.angle"]``, a speed, joint rate, internal state, input, parameter, reaction or
        sensor by name, and ``s.t``; called once with symbols.
    direction : +1 rising through zero, -1 falling, 0 both.
    action : ``"stop"``; ``"note"`` (only list it); a `Switch`; or a function of the State that returns one of these.
    limit : times the event may happen before the run is given up (a ball that bounces for ever in a finite time).
    after : crossings up to this time do not count [s].

    Examples
    --------
    >>> top = Event("top", lambda s: s["hinge.rate"], direction=-1)
    >>> top.action
    'stop'
    """

    name: str
    function: Callable[[Any], Any]
    direction: int = 0
    action: Any = "stop"
    limit: int = 1000
    after: float = -np.inf

    def __post_init__(self) -> None:
        whole_number(f"limit of event {self.name!r}", self.limit)
        real_number(f"after of event {self.name!r}", self.after, ModelError, finite=False)
        if not callable(self.function):
            raise ModelError("wrong-type", f"event {self.name!r}: function must be callable, got {self.function!r}.")
        if self.direction not in (-1, 0, 1):
            raise ModelError(
                "unknown-choice", f"event {self.name!r}: direction must be -1, 0 or +1, got {self.direction!r}."
            )
        if self.action not in ("stop", "note") and not isinstance(self.action, Switch) and not callable(self.action):
            raise ModelError(
                "unknown-choice",
                f"event {self.name!r}: action must be 'stop', 'note', a Switch or a function of the state, "
                f"got {self.action!r}.",
            )


class EventView:
    """The argument ``s`` of event functions: every channel of the equations, by name."""

    def __init__(self, eqs: EquationsOfMotion) -> None:
        s = eqs.symbols()
        self.t = s.t
        self.arguments = [s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t]
        F = eqs.functions
        value, rate, _, _ = F["measures"](s.q, s.v, s.p, s.t)
        kinetic, potential = F["energy"](s.q, s.v, s.z, s.p, s.t)
        self._eqs = eqs
        self._groups = (
            (eqs.coordinates.names, s.q),
            (eqs.speeds.names, s.v),
            (eqs.internal.names, s.z),
            (eqs.inputs.names, s.u),
            (eqs.parameters.names, s.p),
            (eqs.measures.names, value),
            (eqs.measure_rates.names, rate),
            (eqs.outputs.names, F["outputs"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t)),
            (eqs.reaction_channels.names, F["reactions"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t)),
            (("energy.kinetic", "energy.potential"), ca.vertcat(kinetic, potential)),
        )

    def __getitem__(self, name: str) -> Any:
        name = self._eqs.full_name(name)
        for names, values in self._groups:
            if name in names:
                return values[names.index(name)]
        parts = [f"{name}.{axis}" for axis in "xyz"]
        for names, values in self._groups:
            found = [values[names.index(part)] for part in parts if part in names]
            if found:
                return ca.vertcat(*found)
        known = [n for names, _ in self._groups for n in names]
        raise ModelError("unknown-name", unknown_name("channel", name, known, f"equations {self._eqs.name!r}"))


def event_function(eqs: EquationsOfMotion, events: Sequence[Event]) -> ca.Function | None:
    """(q, v, v̇, λ, z, u, p, t) -> one value per event."""
    if not events:
        return None
    names = [event.name for event in events]
    if len(set(names)) < len(names):
        raise ModelError("taken-name", f"two events have the same name: {', '.join(names)}.")
    view = EventView(eqs)
    values = []
    for event in events:
        what = f"function of event {event.name!r}"
        value = one_value(event.function, what, view)
        if value.is_constant():
            raise ModelError(
                "constant-event", f"{what} returns the constant {float(value):g}, which never crosses zero."
            )
        if value.op() in LOGIC:
            raise ModelError(
                "comparison-event",
                f"{what} returns a comparison, which is true or false and does not cross zero.",
                Advice('Return the difference, s["A.angle"] + 1.0 in place of s["A.angle"] < -1.0.'),
                Advice("An event where it falls below zero has {}.", Argument("direction", -1)),
            )
        values.append(value)
    return ca.Function("events", view.arguments, [ca.densify(ca.vertcat(*values))], {"cse": True})


def as_events(given: Any) -> tuple[Event, ...]:
    items = (given,) if isinstance(given, Event) else tuple(given or ())
    for item in items:
        if not isinstance(item, Event):
            raise ModelError("wrong-type", f"events must be Event objects, got {type(item).__name__}.")
    return items


class SingleSteps(Protocol):
    """Single steps of a method of integration, for the search."""

    layout: Layout

    def reach(self, x: Array, t: float) -> Array: ...


@dataclass
class Crossing:
    """Events found between two steps: the number of steps before, the state there, which ones."""

    step: int
    x: Array
    which: list[int]


class EventMonitor:
    """Looks for crossings in the blocks of a run."""

    def __init__(self, events: Sequence[Event], layout: Layout, above: int | None = None) -> None:
        self.events = events
        self.above = len(events) if above is None else above  # from here on functions are positive whenever armed
        self.first, self.last = layout.starts["events"]
        self.happened: list[tuple[str, float]] = []
        self.counts = np.zeros(len(events), dtype=int)
        self.after = np.array([event.after for event in events], dtype=float)
        self.side = np.zeros(len(events))  # on which side of zero each event function was last seen

    def arm(
        self,
        steps: SingleSteps,
        x: Array,
        fired: Sequence[int] = (),
        probes: tuple[float, ...] = (1e-9, 1e-7, 1e-5, 1e-3),
        noise: float = 1e-14,
    ) -> None:
        """Note on which side the event functions start; the next instant decides for those on zero.

        probes : s: how far the sign of one that starts on zero is sought.
        noise : change of an event function that is rounding.
        """
        values = x[self.first : self.last]
        on_zero = np.abs(values) <= ON_ZERO
        on_zero[list(fired)] = True
        on_zero[self.above :] = False
        self.side = np.sign(values)
        if on_zero.any():
            self.side[on_zero] = 0
            for ahead in probes:
                probe = steps.reach(x, float(x[0] + min(ahead, x[1])))
                change = probe[self.first : self.last] - values
                seen = (np.abs(change) > noise) & on_zero & (self.side == 0)
                self.side[seen] = np.sign(change[seen])
                if self.side[on_zero].all():
                    break
        self.side[self.above :] = 1.0

    def find(self, steps: SingleSteps, before: Array, block: Array) -> Crossing | None:
        """The first crossing in a block, located; None where there is none."""
        values = np.vstack((self.side, block[:, self.first : self.last]))
        signs = np.sign(values)
        signs[0] = self.side
        for row in np.flatnonzero((signs[1:] == 0).any(axis=1)) + 1:
            # a step that lands on zero has arrived; where it goes on is the same side
            signs[row] = np.where(signs[row] == 0, -signs[row - 1], signs[row])
        wanted = np.array([event.direction for event in self.events])
        change = signs[1:] - signs[:-1]
        hit = (np.abs(change) == 2) & ((wanted == 0) | (np.sign(change) == wanted))
        hit &= block[:, :1] > self.after
        for k in map(int, np.flatnonzero(hit.any(axis=1))):
            left = before if k == 0 else block[k - 1]
            found = [
                (self._locate(steps, left, block[k], int(i), float(signs[k, i])), int(i))
                for i in np.flatnonzero(hit[k])
            ]
            found = [(time, i) for time, i in found if time > self.after[i]]
            if not found:
                continue
            t = min(time for time, _ in found)
            which = [i for time, i in found if time - t <= 10 * INSTANT]
            x = block[k].copy() if t >= block[k, 0] else steps.reach(left, t)
            x[0] = t
            return Crossing(k, x, which)
        self.side = signs[-1]
        return None

    def _locate(
        self,
        steps: SingleSteps,
        left: Array,
        right: Array,
        i: int,
        side: float,
        rounding: float = 4 * float(np.finfo(float).eps),
        halvings: int = 40,
    ) -> float:
        # rounding: of its time, relative: the least that `brentq` accepts.
        # halvings: of a step, to find a time between its start on zero and the crossing: 1e-12 of it.
        start, end = float(left[0]), float(right[0])
        column = self.first + i

        def value(t: float) -> float:
            return float(side * steps.reach(left, t)[column]) if t < end else float(side * right[column])

        if right[column] == 0 or end <= start:  # on zero, or at a jump: a held input changed
            return end
        low = start
        if not side * left[column] > ON_ZERO:  # starts on zero: find a time on the first side
            low = end
            for _ in range(halvings):
                low = start + 0.5 * (low - start)
                if value(low) > 0:
                    break
            else:
                return start
        root = float(brentq(value, low, end, xtol=INSTANT, rtol=rounding))
        if i >= self.above and value(root) > 0:  # a load may jump: what is decided there is decided after the jump
            root = min(root + 2 * (INSTANT + rounding * abs(root)), end)
        return root

    def note(self, crossing: Crossing, endless: float = 1e-6, shrinking: int = 8) -> None:
        # endless: s: intervals that shrink below this, `shrinking` in a row, will not end.
        for i in crossing.which:
            if i >= self.above:
                continue
            event = self.events[i]
            self.happened.append((event.name, float(crossing.x[0])))
            self.counts[i] += 1
            times = np.array([t for name, t in self.happened[-40:] if name == event.name][-shrinking - 1 :])
            gaps = np.diff(times)
            if len(gaps) == shrinking and gaps[-1] < endless and (np.diff(gaps) < 0).all():
                raise ConvergenceError(
                    "endless-events",
                    f"event {event.name!r} repeats without end before t = {crossing.x[0] + 8 * gaps[-1]:.9g} s "
                    f"(the last interval was {gaps[-1]:.1e} s).",
                    Advice("Stop the run there, or let its action fix the machine."),
                    where={"event": event.name},
                )
            if self.counts[i] > event.limit:
                raise ConvergenceError(
                    "too-many-events",
                    f"event {event.name!r} happened {event.limit} times until t = {crossing.x[0]:.9g} s.",
                    Advice("Raise {} if that is right.", Argument("limit")),
                    where={"event": event.name},
                )


def speeds_after(
    eqs: EquationsOfMotion, state: State, given: object, what: str, jump: float = 1e-8, rank: float = 1e-12
) -> Array:
    """Speeds after a jump of the named ones: M (v⁺ - v⁻) = Jᵀ μ with the joints and the jump in J.

    jump : speed that a prescribed jump misses, over 1 + its size: joints do not allow it.
    rank : singular value of the equations of a jump, of the largest, that is zero. It is the square of that of the
    rows, which depend on each other below 1e-6; a jump that needs them is refused by `jump`.
    """
    wanted = given(state) if callable(given) else given
    if not isinstance(wanted, Mapping):
        raise ModelError(
            "wrong-type", f"velocity of {what} must give a dict of names and speeds, got {type(wanted).__name__}."
        )
    if not eqs.nv and not wanted:
        return np.array(state.v)
    zero_z, zero_u = np.zeros(eqs.nz), np.zeros(eqs.nu)
    q, v, t = state.q, np.array(state.v), state.t
    A = eqs.kernel("rows")(q, v, zero_z, zero_u, eqs.p, t)[0].reshape(len(eqs.rows), eqs.nv)[eqs.rate_rows]
    _, rate, S, _ = eqs.kernel("measures")(q, v, eqs.p, t)
    S = S.reshape(len(eqs.measures), eqs.nv)
    jumps, forms = [], []
    for name, value in wanted.items():
        full = eqs.full_name(name)
        if full in eqs.speeds.index:
            k = eqs.speeds.index[full]
            forms.append(np.eye(eqs.nv)[k])
            jumps.append(float(value) - v[k])
        elif full in eqs.measure_rates.index or full in eqs.measures.index:
            k = eqs.measure_rates.index.get(full, eqs.measures.index.get(full, -1))
            forms.append(S[k])
            jumps.append(float(value) - rate[k])
        else:
            known = [*eqs.speeds.names, *eqs.measure_rates.names]
            raise ModelError("unknown-name", unknown_name("speed", name, known, f"velocity of {what}"))
    if not np.all(np.isfinite(jumps)):
        raise ModelError("not-finite", f"velocity of {what} gives a value that is not finite.")
    (rates,) = eqs.kernel("rates")(q, v, eqs.p, t)
    M = np.reshape(eqs.kernel("inertia")(q, eqs.p, t)[0], (eqs.nv, eqs.nv))
    J = np.vstack((A, *forms)) if forms else A
    right = np.concatenate((-rates, jumps))
    m = len(J)
    scale = max(float(np.abs(M).max()), 1e-300)
    system = np.block([[M / scale, J.T], [J, np.zeros((m, m))]])
    change = np.linalg.lstsq(system, np.concatenate((np.zeros(eqs.nv), right)), rcond=rank)[0][: eqs.nv]
    missed = J @ change - right
    if len(missed) and np.abs(missed).max() > jump * (1 + np.abs(right).max()):
        raise ModelError(
            "no-solution", f"velocity of {what}: the joints do not allow the wanted speeds ({dict(wanted)})."
        )
    return np.asarray(v + change)
