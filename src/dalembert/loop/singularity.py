"""Failures of a loop: laws at a singularity, and loops that diverge.

A law with a `SingularityMonitor` reports its margin h, which goes through zero where the law has no solution, and the
residual d (0 to 1) of the equation that it has to solve there. A run ends where h changes its sign or falls below a
thousandth of its first value while d is not as small as h; where d is as small, the command has a limit and the pose
is passed. Laws whose inputs are all limited are not monitored: their commands are bounded in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.loop.names import machine_name, reference_channel
from dalembert.record import Record
from dalembert.solve.integrate.events import Event, EventView

SINGULAR, DIVERGED = "singular-law", "diverged"
UNTIL_THEN = Advice("The error's record has the run until then.")


def is_monitored(law: Law, actuators: Mapping[str, ActuatorLimits] | None) -> bool:
    """Whether a run ends at a singularity of the law."""
    limits = [(actuators or {}).get(name, ActuatorLimits()).limits for name in law.drives]
    return law.monitor is not None and not all(np.isfinite(pair).all() for pair in limits)


def singularity_error(law: Law, reads: Array, t: float) -> ConvergenceError:
    """The error of a law at its singularity."""
    assert law.monitor is not None
    return ConvergenceError(
        SINGULAR,
        f"law {law.name!r} has no solution at t = {t:.6g} s: {law.monitor.explain(reads, t)}.",
        Advice("Stop before, use another actuator, or give the input limits: {}.", Argument("actuators")),
        UNTIL_THEN,
        where={"law": law.name, "time": t},
    )


def vanishes(residual: Any, accuracy: float = 1e-3) -> Any:
    """Whether the equation of a law vanishes, to the accuracy of usual projections."""
    return residual <= accuracy


def least_margin(first: Any, lost: float = 1e-3) -> Any:
    """The margin at which a law is of no use: a command a thousand times the first one."""
    return lost * first


def is_unbounded(margin: Any, residual: Any, first: Any, ratio: float = 3.0) -> Any:
    """Whether the command grows without limit as the margin vanishes; also where they are not finite.

    ratio : residual over relative margin above which the command has no limit; 1 where both vanish alike.
    """
    relative = np.abs(margin) / np.maximum(first, 1e-300)
    return ~((vanishes(residual) | (residual <= ratio * relative)) & ~np.isnan(relative))


class MarginView:
    """The margin of a law as a function of the states of the loop it is in."""

    def __init__(self, law: Law, machine: EquationsOfMotion, eqs: EquationsOfMotion, observer: ObserverStep | None):
        estimates = {} if observer is None else {machine_name(machine, n): n for n in observer.gives.names}
        full = [machine_name(machine, name) for name in law.reads]
        self.law, self.eqs = law, eqs
        self.names = [f"estimate.{estimates[name]}" if name in estimates else name for name in full]
        view = EventView(eqs)
        margin, residual = self._parts(view)
        reads = ca.vertcat(*[view[name] for name in self.names])
        self.function = ca.Function("margin", view.arguments, [margin, residual, ca.densify(reads)], {"cse": True})
        self.is_constant = bool(ca.SX(margin).is_constant())  # as of one link on a hinge, in joint coordinates

    def _parts(self, s: Any) -> Any:
        law = self.law
        assert law.monitor is not None
        columns = [
            ca.vertcat(ca.SX(0, 1), *[s[name] for name in names])
            for names in (
                self.names, [f"{law.name}.{name}" for name in law.state.names],
                [reference_channel(name) for name in law.references.names],
            )
        ]  # fmt: skip
        return law.monitor.function(*columns, ca.SX(np.array(law.parameters, dtype=float)), s.t)[2:]

    def at(self, state: State) -> tuple[float, float, Array]:
        """(margin, residual, what the law reads) at a state."""
        eqs = self.eqs
        numbers = (state.q, state.v, np.zeros(eqs.nv), state.lam, state.z, np.zeros(eqs.nu), eqs.p, state.t)
        margin, residual, reads = self.function(*numbers)
        return float(margin), float(residual), np.asarray(reads).reshape(-1)

    def events(self, begin: State, on: str | None) -> tuple[Event, ...]:
        """Events that end a run: the margin goes through zero, or almost vanishes; none where it never changes."""
        if self.is_constant:
            return ()
        self.first = abs(self.at(begin)[0])
        floor = least_margin(self.first)

        def crossing(s: object) -> Any:
            return self._while_on(s, on, self._parts(s)[0])

        def measure_vanishing(s: object) -> Any:
            return self._while_on(s, on, ca.fabs(self._parts(s)[0]) - floor)

        name = self.law.name
        events = [Event(f"{name}: singularity", crossing, action=self._judge)]
        if floor > 0.0:
            events.append(Event(f"{name}: no margin", measure_vanishing, direction=-1, action=self._judge))
        return tuple(events)

    @staticmethod
    def _while_on(s: Any, on: str | None, value: Any) -> Any:
        return value if on is None else ca.if_else(s[on] > 0.5, value, 1.0)

    def _judge(self, state: State) -> str:
        margin, residual, reads = self.at(state)
        if is_unbounded(margin, residual, self.first):
            raise singularity_error(self.law, reads, state.t)
        return "note"

    def explain_nearness(self, record: Record, near: float = 0.3) -> str:
        """A sentence where a failed run was near the singularity of this law; else nothing.

        near : of the margin at the start: mentioned where a run failed for another reason.
        """
        states = [_state(self.eqs, record, k) for k in (0, len(record.time) - 1)]
        (first, _, _), (margin, residual, reads) = (self.at(state) for state in states)
        if not abs(margin) < near * abs(first) or vanishes(residual):
            return ""
        assert self.law.monitor is not None
        t = states[1].t
        return f" Law {self.law.name!r} is near a singularity: at t = {t:.6g} s {self.law.monitor.explain(reads, t)}."


def _state(eqs: EquationsOfMotion, record: Record, k: int) -> State:
    """Sample k of a record of these equations."""
    q, v, z = (
        [record[name][k] for name in group.names] for group in (eqs.coordinates, eqs.speeds, eqs.internal)
    )  # fmt: skip
    return eqs.state(q, v, z, float(record.time[k]))


def explain_failure(run: Callable[[], Record], eqs: EquationsOfMotion, views: Sequence[MarginView]) -> Record:
    """A run of a continuous loop; its failure is reported together with the cause, as far as the record shows it."""
    try:
        return run()
    except ConvergenceError as failure:
        if failure.code == SINGULAR or failure.record is None:
            raise
        found, near = failure.finding, "".join(view.explain_nearness(failure.record) for view in views)
        grown = "" if near else _describe_growth(eqs, failure.record)
        if near:
            found = replace(found, code=SINGULAR, problem=found.problem + near)
        elif grown:
            advice = (Advice("Check the gains and their signs."), UNTIL_THEN, *found.advice)
            found = replace(found, code=DIVERGED, problem=f"{grown} The run stopped: {found.problem}", advice=advice)
        explained = ConvergenceError.of(found)
        explained.record = failure.record
        raise explained from failure


def _describe_growth(eqs: EquationsOfMotion, record: Record, growth: float = 1e6) -> str:
    """A sentence where the states of a run grew beyond all bounds; else nothing.

    growth : of a state over its first value (or over 1): no stable loop with such a transient is of use.
    """
    names = [*eqs.coordinates.names, *eqs.speeds.names, *eqs.internal.names]
    sizes = np.abs(record[names].reshape(len(record.time), len(names)))
    first, last = max(1.0, float(sizes[0].max(initial=0.0))), float(sizes[-1].max(initial=0.0))
    if not last > growth * first:
        return ""
    name = names[int(np.argmax(sizes[-1]))]
    return f"the closed loop diverges: {name!r} is {last:.1e} at t = {record.time[-1]:.6g} s."
