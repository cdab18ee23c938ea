"""Why a loop fails: laws that are not defined at every pose, and loops that diverge.

Where a run loses its law it ends, with the reason and what it had.

A law with a `Grip` says its hold h on the machine, which goes through zero where the law has no solution, and the
demand d (0 to 1) that is left for it to meet there. It is lost where h changes its sign or falls below a thousandth of
what it was, while d is not as small as h (else what is asked for has a limit, and the pose is passed). Inputs that are
all limited are left alone: there a law asks for what it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.equations import EquationsOfMotion, Law, State, Watching
from dalembert.expressions import Array
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.plants import machine_name
from dalembert.loop.wiring import reference_channel
from dalembert.record import Record
from dalembert.solve.integrate.events import Event, EventView

LOST = 1e-3  # of the hold it had
DEMAND = 1e-3  # below which all that is wanted cancels
OVER = 3.0  # demand over hold (of the hold it had) above which what is asked for has no limit
RUNAWAY = 1e6  # growth of a state over what the run began with (or over 1) that no sound loop shows
SLIPPING = 0.3  # of the hold it had: what a run that failed for another reason is told


def watched(law: Law, actuators: Mapping[str, ActuatorLimits] | None) -> bool:
    """Whether a run ends where the law loses its grip."""
    limits = [(actuators or {}).get(name, ActuatorLimits()).limits for name in law.drives]
    return law.grip is not None and not all(np.isfinite(pair).all() for pair in limits)


def lost_grip(law: Law, reads: Array, t: float) -> ConvergenceError:
    """What to say where a law has lost its grip."""
    assert law.grip is not None
    return ConvergenceError(
        f"law {law.name!r} loses its grip at t = {t:.6g} s: {law.grip.words(reads, t)}. Stop before, give the input "
        "limits (actuators=), or use another actuator; error.record holds the run until then."
    )


def unbounded(hold: Any, demand: Any, had: Any) -> Any:
    """Whether what is asked for grows without bound as the hold vanishes; what is not finite has."""
    return ~(demand <= np.maximum(DEMAND, OVER * np.abs(hold) / np.maximum(had, 1e-300)))


class GripView:
    """The grip of a law as a function of the states of the loop it is in."""

    def __init__(self, law: Law, machine: EquationsOfMotion, eqs: EquationsOfMotion, watching: Watching | None) -> None:
        estimates = {} if watching is None else {machine_name(machine, n): n for n in watching.gives.names}
        full = [machine_name(machine, name) for name in law.reads]
        self.law, self.eqs = law, eqs
        self.names = [f"estimate.{estimates[name]}" if name in estimates else name for name in full]
        view = EventView(eqs)
        hold, demand = self._parts(view)
        reads = ca.vertcat(*[view[name] for name in self.names])
        self.function = ca.Function("grip", view.arguments, [hold, demand, ca.densify(reads)], {"cse": True})

    def _parts(self, s: Any) -> Any:
        law = self.law
        assert law.grip is not None
        columns = [
            ca.vertcat(ca.SX(0, 1), *[s[name] for name in names])
            for names in (
                self.names, [f"{law.name}.{name}" for name in law.memory.names],
                [reference_channel(name) for name in law.references.names],
            )
        ]  # fmt: skip
        return law.grip.function(*columns, ca.SX(np.array(law.parameters, dtype=float)), s.t)[2:]

    def at(self, state: State) -> tuple[float, float, Array]:
        """(hold, demand, what the law reads) at a state."""
        eqs = self.eqs
        numbers = (state.q, state.v, np.zeros(eqs.nv), state.lam, state.z, np.zeros(eqs.nu), eqs.p, state.t)
        hold, demand, reads = self.function(*numbers)
        return float(hold), float(demand), np.asarray(reads).reshape(-1)

    def events(self, begin: State, on: str | None) -> tuple[Event, ...]:
        """What ends a run: the hold through zero, or almost nothing left of it."""
        self.had = abs(self.at(begin)[0])
        floor = LOST * self.had

        def crossing(s: Any) -> Any:
            return self._while_on(s, on, self._parts(s)[0])

        def vanishing(s: Any) -> Any:
            return self._while_on(s, on, ca.fabs(self._parts(s)[0]) - floor)

        name = self.law.name
        found = [Event(f"{name}: singular pose", crossing, action=self._judged)]
        if floor > 0.0:
            found.append(Event(f"{name}: no grip", vanishing, direction=-1, action=self._judged))
        return tuple(found)

    @staticmethod
    def _while_on(s: Any, on: str | None, value: Any) -> Any:
        return value if on is None else ca.if_else(s[on] > 0.5, value, 1.0)

    def _judged(self, state: State) -> str:
        hold, demand, reads = self.at(state)
        if unbounded(hold, demand, self.had):
            raise lost_grip(self.law, reads, state.t)
        return "note"

    def slipping(self, record: Record) -> str:
        """Whether a run that failed was about to lose this law, in words; else nothing."""
        states = [_state(self.eqs, record, k) for k in (0, len(record.time) - 1)]
        (first, _, _), (hold, demand, reads) = (self.at(state) for state in states)
        if not abs(hold) < SLIPPING * abs(first) or demand <= DEMAND:
            return ""
        assert self.law.grip is not None
        t = states[1].t
        return f" Law {self.law.name!r} is losing its grip: at t = {t:.6g} s {self.law.grip.words(reads, t)}."


def _state(eqs: EquationsOfMotion, record: Record, k: int) -> State:
    """Sample k of a record of these equations."""
    q, v, z = (
        [record[name][k] for name in group.names] for group in (eqs.coordinates, eqs.speeds, eqs.internal)
    )  # fmt: skip
    return eqs.state(q, v, z, float(record.time[k]))


def with_cause(run: Callable[[], Record], eqs: EquationsOfMotion, views: Sequence[GripView]) -> Record:
    """A run of a continuous loop; its failure is told together with what made it fail, as far as that can be seen."""
    try:
        return run()
    except ConvergenceError as failure:
        if "loses its grip" not in str(failure) and failure.record is not None:
            told = "".join(view.slipping(failure.record) for view in views)
            failure.args = (f"{_grown(eqs, failure.record) if not told else ''}{failure}{told}", *failure.args[1:])
        raise


def _grown(eqs: EquationsOfMotion, record: Record) -> str:
    """Whether the states of a run grew beyond all bounds, in words; else nothing."""
    names = [*eqs.coordinates.names, *eqs.speeds.names, *eqs.internal.names]
    sizes = np.abs(record[names].reshape(len(record.time), len(names)))
    first, last = max(1.0, float(sizes[0].max(initial=0.0))), float(sizes[-1].max(initial=0.0))
    if not last > RUNAWAY * first:
        return ""
    name = names[int(np.argmax(sizes[-1]))]
    return (
        f"the closed loop diverges: {name!r} is {last:.1e} at t = {record.time[-1]:.6g} s. Check the gains and their "
        "signs; error.record holds the run until then. What stopped it: "
    )
