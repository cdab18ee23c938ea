"""Connections of a closed loop: readings and driven inputs, with names checked, rates compared, and numbers assigned.

All problems of a loop are collected and reported at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.expressions.quantities import is_real
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.loop.noise import Noise, SensorFaults, read_sensor
from dalembert.numerics.sample_times import count_multiple
from dalembert.solve.integrate.events import Event

ESTIMATE, SENSOR, INPUT = "estimate", "sensor", "input"


@dataclass(frozen=True)
class SwitchOn:
    """When laws are switched on: at a time, at the first crossing of an event, or at the first one after a time."""

    time: float = -np.inf
    event: Event | None = None

    @property
    def at_once(self) -> bool:
        return self.event is None and self.time == -np.inf


def read_switch(given: Any) -> SwitchOn:
    """None, a time [s], a `da.Event`, or (time, event)."""
    if given is None:
        return SwitchOn()
    if isinstance(given, SwitchOn):
        return given
    if isinstance(given, Event):
        return SwitchOn(event=given)
    if is_real(given) and np.isfinite(float(given)):
        return SwitchOn(float(given))
    if isinstance(given, (tuple, list)) and len(given) == 2 and is_real(given[0]) and isinstance(given[1], Event):
        return SwitchOn(event=replace(given[1], after=max(float(given[0]), given[1].after)))
    raise DataError(
        "wrong-type",
        "a time of switching on must be a time [s], an event (at its first crossing) or (time, event): at the first "
        f"crossing after that time; got {given!r}.",
    )


def as_laws(controller: object, switch: SwitchOn | None = None) -> tuple[Law, ...]:
    """Laws of a controller, or of several in a list; a ``law(switched_on=)`` gets the time of switching on."""
    if controller is None:
        return ()
    items = controller if isinstance(controller, (list, tuple)) else (controller,)
    laws: list[Law] = []
    for item in items:
        options = {"switched_on": switch.time} if switch is not None and is_informed(item, switch) else {}
        law = item if isinstance(item, Law) else item.law(**options) if hasattr(item, "law") else None
        if not isinstance(law, Law):
            raise ModelError(
                "wrong-type",
                f"a controller must be a Law, have a method law() that returns one, or be a list of such; got "
                f"{type(item).__name__}.",
            )
        laws.append(law)
    return tuple(laws)


def read_actuators(given: object) -> dict[str, ActuatorLimits]:
    """Driven input -> `ActuatorLimits`; their names are compared with the laws later."""
    if given is not None and not isinstance(given, Mapping):
        raise DataError(
            "wrong-type",
            f"actuators must name inputs; got {given!r}.",
            Advice("Such as {}.", Argument("actuators", {"force": "..."})),
        )
    for name, actuator in (given or {}).items():
        if not isinstance(actuator, ActuatorLimits):
            raise DataError(
                "wrong-type",
                f"actuator of {name!r} must be ActuatorLimits, got {type(actuator).__name__}.",
                Advice("Make it with {}.", Call("da.ActuatorLimits")),
            )
    return dict(given or {})


def within_limits(item: Any, actuators: Mapping[str, ActuatorLimits]) -> Any:
    """A design (or several) with the limits of its actuators, where possible: its integrals stop there."""
    if isinstance(item, (list, tuple)):
        return type(item)(within_limits(each, actuators) for each in item)
    if not hasattr(item, "within"):
        return item
    limits = {name: actuators[name].limits for name in item.drives if name in actuators}
    return item.within({name: pair for name, pair in limits.items() if np.isfinite(pair).any()})


def is_informed(controller: object, switch: SwitchOn) -> bool:
    """Whether a controller gets the time at which it is switched on."""
    if isinstance(controller, Law) or not hasattr(controller, "law") or switch.at_once or switch.event is not None:
        return False
    return "switched_on" in inspect.signature(controller.law).parameters


def find_waiting(controller: object, laws: Sequence[Law], switch: SwitchOn) -> tuple[bool, ...]:
    """Laws that keep their initial state while switched off: those without information that they are off.

    A law that reads its own inputs, that is not direct (its state is an estimate) or that gets the time of switching on
    runs from the beginning.
    """
    items = controller if isinstance(controller, (list, tuple)) else (controller,)
    return tuple(
        bool(law.direct and not set(law.drives) & set(law.reads) and not is_informed(item, switch))
        for item, law in zip(items, laws, strict=False)
    )


def as_observer_step(observer: object, dt: float | None) -> ObserverStep | None:
    """The observer at this interval; None means continuous, or the observer's own interval."""
    if observer is None:
        return None
    if isinstance(observer, ObserverStep):
        return observer
    if not hasattr(observer, "observer_step"):
        raise ModelError(
            "wrong-type",
            f"an observer must be an ObserverStep or have a method observer_step(dt) that returns one; got "
            f"{type(observer).__name__}.",
        )
    observer_step = observer.observer_step(dt)
    if not isinstance(observer_step, ObserverStep):
        raise ModelError(
            "wrong-type",
            f"the observer step of {type(observer).__name__} is a {type(observer_step).__name__}, not an ObserverStep.",
        )
    return observer_step


@dataclass(frozen=True)
class Source:
    """The source of one value that a law reads."""

    kind: str
    place: int


@dataclass(frozen=True, eq=False)
class Loop:
    """A sampled loop, checked and numbered."""

    dt: float
    laws: tuple[Law, ...]
    reads: tuple[tuple[Source, ...], ...]  # of every law
    every: tuple[int, ...]  # samples between the actions of every law
    observer: ObserverStep | None
    watch_every: int
    driven: tuple[int, ...]  # inputs of the plant that a law drives
    actuators: tuple[ActuatorLimits, ...]  # of every driven input
    sensors: tuple[str, ...]  # read from the plant
    faults: tuple[SensorFaults, ...]  # of every sensor
    sensor_every: tuple[int, ...]
    noise: Noise | None
    shaken: tuple[str, ...]  # states with process noise
    jittered: tuple[int, ...]  # inputs with process noise
    switch: SwitchOn
    waits: tuple[bool, ...]  # laws that keep their initial state while they are off

    @property
    def references(self) -> tuple[tuple[str, str], ...]:
        """(name, unit) of the references of all laws, in order."""
        return tuple(pair for law in self.laws for pair in zip(law.references.names, law.references.units, strict=True))


class LoopProblems:
    """Collects the problems of a loop, to be raised in one error."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def add(self, code: str, problem: str) -> None:
        self.found.append(Finding(code, problem))

    def add_unknown(self, kind: str, name: str, known: Iterable[str], where: str) -> None:
        self.add("unknown-name", unknown_name(kind, name, known, where))

    def check_names(self, laws: Sequence[Law]) -> None:
        names = [law.name for law in laws]
        if len(set(names)) < len(names):
            self.add("taken-name", f"two laws have the same name: {', '.join(names)}.")

    def raise_all(self) -> None:
        if len(self.found) == 1:
            raise ModelError.of(self.found[0])
        if self.found:
            listed = "\n  ".join(problem.text() for problem in self.found)
            raise ModelError("several-problems", f"the loop cannot be closed:\n  {listed}")


class Wiring:
    """Collects a loop and its problems."""

    def __init__(
        self, plant: Any, laws: Sequence[Law], observer_step: ObserverStep | None, noise: Noise | None
    ) -> None:
        self.plant, self.laws, self.observer, self.noise = plant, tuple(laws), observer_step, noise
        self.problems = LoopProblems()
        self.readable = plant.readable()
        self.sensors: list[str] = []

    def interval(self, default: float | None = None) -> float:
        """The shortest interval in the loop; all others must be multiples of it."""
        found = [(f"law {law.name!r}", law.dt) for law in self.laws]
        if self.observer is not None:
            found.append((f"observer {self.observer.name!r}", self.observer.dt))
        intervals = [dt for _, dt in found if dt is not None]
        if not intervals:
            every = default if self.noise is None or self.noise.every is None else self.noise.every
            if every is None:
                raise DataError(
                    "missing-argument",
                    "the loop has no sampling interval.",
                    Advice("Give it with the noise: {}.", Call("da.Noise", Argument("every"))),
                    Advice("Without noise and controller, use {}.", Call("model.response")),
                )
            return float(every)
        return float(min(intervals))

    def multiple(self, what: str, interval: float | None, dt: float) -> int:
        if interval is None:
            return 1
        count = count_multiple(interval, dt)
        if count is None:
            self.problems.add(
                "sample-time-mismatch",
                f"{what} acts every {interval:g} s, which is no multiple of the shortest interval in the loop, "
                f"{dt:g} s; make the intervals multiples of each other.",
            )
        return count or 1

    def sensor(self, name: str) -> int:
        """Number of something read from the plant."""
        name = self.plant.full_name(name)
        if name not in self.sensors:
            self.sensors.append(name)
        return self.sensors.index(name)

    def source(self, law: Law, name: str) -> Source:
        plant, observer_step = self.plant, self.observer
        full = plant.full_name(name)
        if observer_step is not None:
            given = {
                plant.full_name(known): k for known, k in observer_step.gives.index.items()
            } | observer_step.gives.index
            for candidate in (name, full):
                if candidate in given:
                    return Source(ESTIMATE, given[candidate])
        if full in plant.inputs.index:
            return Source(INPUT, plant.inputs.index[full])
        what = f"law {law.name!r} reads {name!r}"
        if observer_step is not None and full not in plant.sensors:
            known = (*observer_step.gives.names, *plant.sensors, *plant.inputs.names)
            unknown = unknown_name("estimate", name, known, "the loop")
            self.problems.add("unknown-name", f"{what}, which observer {observer_step.name!r} does not give: {unknown}")
        elif full not in self.readable:
            unknown = unknown_name("sensor", name, self.readable, f"{plant.name!r}")
            self.problems.add("unknown-name", f"{what}: {unknown}")
        else:
            return Source(SENSOR, self.sensor(full))
        return Source(INPUT, 0)

    def check_law(self, law: Law) -> None:
        f, who = law.function, f"law {law.name!r}"
        if f.n_in() != 5 or f.n_out() != 2:
            signature = "(reads, state, references, p, t) -> (u, next state)"
            self.problems.add("wrong-signature", f"{who}: its function must be {signature}.")
            return
        self._check_sizes(
            f, who,
            {"reads": (0, law.reads), "state": (1, law.state), "references": (2, law.references),
             "parameters": (3, law.parameters)},
            {"inputs to drive": (f.numel_out(0), law.drives), "states": (f.numel_out(1), law.state),
             "initial values of its state": (len(law.start), law.state)},
        )  # fmt: skip
        if not law.direct and f.jac_sparsity(0, 0).nnz():
            depends = "its u depends on what it reads at the same instant"
            self.problems.add("conflicting-arguments", f"{who} is declared not direct, but {depends}.")

    def _check_sizes(
        self, f: ca.Function, who: str, taken: Mapping[str, tuple[int, Sized]], made: Mapping[str, tuple[int, Sized]]
    ) -> None:
        """taken : what is named -> argument of f, names.  made : what is named -> how many there are, names."""
        for what, (k, names) in taken.items():
            if f.numel_in(k) != len(names):
                problem = f"{who} names {len(names)} {what}, but its function takes {f.numel_in(k)} there."
                self.problems.add("wrong-shape", problem)
        for what, (have, names) in made.items():
            if have != len(names):
                self.problems.add("wrong-shape", f"{who} names {len(names)} {what}, but has {have}.")

    def check_observer(self) -> None:
        w = self.observer
        if w is None:
            return
        f, who = w.function, f"observer {w.name!r}"
        if f.n_in() != 8 or f.n_out() != 2:
            signature = "(state, u before, u now, y, measured, p, t, dt) -> (next state, estimate)"
            self.problems.add("wrong-signature", f"{who}: its function must be {signature}.")
            return
        self._check_sizes(
            f, who,
            {"states": (0, w.state), "known inputs before": (1, w.known), "known inputs now": (2, w.known),
             "sensors": (3, w.reads), "sensors that were measured": (4, w.reads), "parameters": (5, w.parameters)},
            {"states": (f.numel_out(0), w.state), "start values": (len(w.start), w.state),
             "estimates": (f.numel_out(1), w.gives)},
        )  # fmt: skip
        for name in w.known:
            if name not in self.plant.inputs.index:
                where = f"{self.plant.name!r}, known to {who}"
                self.problems.add_unknown("input", name, self.plant.inputs.names, where)
        for name in w.reads:
            if self.plant.full_name(name) not in self.readable:
                self.problems.add_unknown("sensor", name, self.readable, f"{self.plant.name!r}, read by {who}")

    def drives(self, given: Mapping[str, Any], switch: SwitchOn) -> list[int]:
        """Inputs that laws drive, each by one law only."""
        by: dict[str, str] = {}
        self.problems.check_names(self.laws)
        for law in self.laws:
            for name in law.drives:
                if name not in self.plant.inputs.index:
                    where = f"{self.plant.name!r}, driven by law {law.name!r}"
                    self.problems.add_unknown("input", name, self.plant.inputs.names, where)
                elif name in by:
                    both = f"law {by[name]!r} and by law {law.name!r}"
                    self.problems.add("duplicate", f"input {name!r} is driven by {both}.")
                elif name in given and switch.at_once:
                    self.problems.add(
                        "conflicting-arguments",
                        f"input {name!r} is given and driven by law {law.name!r}. Leave one out, or give the time "
                        "from which the law drives it.",
                    )
                by.setdefault(name, law.name)
        return sorted(self.plant.inputs.index[name] for name in by if name in self.plant.inputs.index)


def wire(
    plant: Any,
    laws: Sequence[Law],
    observer_step: ObserverStep | None,
    *,
    given: Mapping[str, Any],
    noise: Noise | None,
    actuators: Mapping[str, ActuatorLimits],
    switch: SwitchOn,
    waits: tuple[bool, ...],
    interval: float | None = None,
) -> Loop:
    """A checked loop around a plant."""
    w = Wiring(plant, laws, observer_step, noise)
    dt = w.interval(interval)
    for law in w.laws:
        w.check_law(law)
    w.check_observer()
    w.problems.raise_all()
    if observer_step is not None:
        for name in observer_step.reads:
            w.sensor(name)
    reads = tuple(tuple(w.source(law, name) for name in law.reads) for law in w.laws)
    driven = w.drives(given, switch)
    every = tuple(w.multiple(f"law {law.name!r}", law.dt, dt) for law in w.laws)
    watch_every = 1 if observer_step is None else w.multiple(f"observer {observer_step.name!r}", observer_step.dt, dt)
    acts = check_actuators(w, actuators, driven)
    faults = read_faults(w)
    process = [] if noise is None else list(noise.process)
    for name in process:
        if plant.full_name(name) not in plant.disturbable:
            w.problems.add_unknown("state or input", name, plant.disturbable, f"noise of {plant.name!r}")
    w.problems.raise_all()
    jittered = [name for name in process if plant.full_name(name) in plant.inputs.index]
    sensor_every = tuple(w.multiple(f"sensor {name!r}", f.dt, dt) for name, f in zip(w.sensors, faults, strict=True))
    w.problems.raise_all()
    return Loop(
        dt, w.laws, reads, every, observer_step, watch_every, tuple(driven), acts, tuple(w.sensors), faults,
        sensor_every, noise, tuple(name for name in process if name not in jittered),
        tuple(plant.inputs.index[plant.full_name(name)] for name in jittered), switch, waits,
    )  # fmt: skip


def check_actuators(
    w: Wiring, given: Mapping[str, ActuatorLimits], driven: Sequence[int]
) -> tuple[ActuatorLimits, ...]:
    names = [w.plant.inputs.names[i] for i in driven]
    for name in given:
        if name not in names:
            w.problems.add_unknown("driven input", name, names, "the actuators")
    return tuple(given.get(name, ActuatorLimits()) for name in names)


def read_faults(w: Wiring) -> tuple[SensorFaults, ...]:
    faults = {}
    for name, given in ({} if w.noise is None else w.noise.sensors).items():
        full = w.plant.full_name(name)
        if full not in w.readable:
            w.problems.add_unknown("sensor", name, w.readable, f"the noise of {w.plant.name!r}")
            continue
        w.sensor(full)
        faults[full] = read_sensor(name, given)
    return tuple(faults.get(name, SensorFaults()) for name in w.sensors)
