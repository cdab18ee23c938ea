"""Closed loops in `da.simulate`: continuous parts are put into the equations, sampled parts run in samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, SimulationWarning, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.linear import StateSpace
from dalembert.linear.responses.excitation import initial_state, sample_inputs
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.continuous import ON, close_equations, linear_equations, read_linear_state
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.loop.names import followed_output, machine_name, reference_channel, reference_name
from dalembert.loop.noise import Noise
from dalembert.loop.sampled.hosts import LinearHost, MachineHost
from dalembert.loop.sampled.sampled_run import SampledRun
from dalembert.loop.singularity import MarginView, explain_failure, is_monitored
from dalembert.loop.wiring import (
    Loop,
    SwitchOn,
    as_laws,
    as_observer_step,
    find_waiting,
    read_actuators,
    read_switch,
    wire,
    within_limits,
)
from dalembert.numerics.sample_times import count_intervals, is_same_time, slack
from dalembert.record import Record
from dalembert.solve.integrate.events import Event, Switch, as_events
from dalembert.solve.integrate.judge.accuracy import judge_energy
from dalembert.solve.integrate.methods.dormand_prince import DormandPrince
from dalembert.solve.integrate.open_run import end_time, open_run, report_assumptions, sample_times
from dalembert.solve.position.assemble import state_or_rest

DEFAULT = DormandPrince(order=5)  # an interval is short: order 8 would take twice the evaluations for one step


def find_observer_step(observer: object, laws: Sequence[Law], noise: Noise | None) -> ObserverStep | None:
    """The observer at its own interval, at that of the sampled laws, or at that of the noise."""
    if observer is None or isinstance(observer, ObserverStep):
        return observer
    intervals = [law.dt for law in laws if law.dt is not None]
    own = getattr(observer, "dt", None)
    if own is not None:
        return as_observer_step(observer, float(own))
    if intervals:
        return as_observer_step(observer, float(min(intervals)))
    every = None if noise is None else noise.every
    return as_observer_step(observer, every if not laws or getattr(observer, "needs_interval", False) else None)


def sample_laws(laws: tuple[Law, ...], observer_step: ObserverStep | None) -> tuple[Law, ...]:
    """Continuous laws without a state behind a sampled observer: its estimate is held, and so are their inputs."""
    if observer_step is None or observer_step.dt is None:
        return laws
    return tuple(replace(law, dt=observer_step.dt) if law.dt is None and not len(law.state) else law for law in laws)


def in_deviations(item: object) -> Any:
    """A design (or several) for a linear plant, which has deviations from its operating point only.

    A design on a model of `da.linearize` contains that point, and would subtract it a second time.
    """
    if isinstance(item, (list, tuple)):
        return type(item)(in_deviations(each) for each in item)
    return item.in_deviations() if hasattr(item, "in_deviations") else item


def check_noise(noise: object) -> Noise | None:
    if noise is not None and not isinstance(noise, Noise):
        raise DataError(
            "wrong-type",
            f"noise must be a Noise, got {noise!r}.",
            Advice("Make it with {}.", Call("da.Noise", Argument("process"), Argument("sensors"), Argument("seed"))),
        )
    return None if noise is None else noise.with_seed()


def read_given(inputs: object, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(inputs, Record):
        return {name: inputs for name in inputs.names if name in names}
    if inputs is not None and not isinstance(inputs, Mapping):
        raise DataError(
            "wrong-type",
            f"inputs must name channels; got {inputs!r}.",
            Advice("Such as {}.", Argument("inputs", {"u": 1.0})),
        )
    return dict(inputs or {})


@dataclass(frozen=True, eq=False)
class LoopParts:
    """The parts of a loop, as far as they are known without the plant."""

    laws: tuple[Law, ...]
    observer: ObserverStep | None
    noise: Noise | None
    references: Mapping[str, Any]
    actuators: Mapping[str, ActuatorLimits]
    switch: SwitchOn
    waits: tuple[bool, ...]  # laws that keep their initial state while they are off

    @property
    def driven(self) -> tuple[str, ...]:
        """Inputs that laws drive."""
        return tuple(dict.fromkeys(name for law in self.laws for name in law.drives))

    @property
    def continuous(self) -> bool:
        """Whether a part acts without an interval."""
        return any(law.dt is None for law in self.laws) or (self.observer is not None and self.observer.dt is None)

    def before(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs as others drive them: those of the laws until these are switched on."""
        return {name: source for name, source in given.items() if name not in self.driven or not self.switch.at_once}

    def around(self, plant: object, given: Mapping[str, Any], interval: float | None = None) -> Loop:
        return wire(
            plant, self.laws, self.observer, given=given, noise=self.noise, actuators=self.actuators,
            switch=self.switch, waits=self.waits, interval=interval,
        )  # fmt: skip


def run_machine(eqs: EquationsOfMotion, end: float, parts: LoopParts, *, start: Any, **options: Any) -> Record:
    """A sampled loop around equations of motion."""
    begin = state_or_rest(eqs, start)
    run = prepare_machine(eqs, begin.t, end, parts, **options)
    record = run.go(run.host.column(begin, end - begin.t))
    SimulationWarning.report(judge_energy(record, run.host.method, begin), stacklevel=3)
    report_assumptions(eqs, record, stacklevel=3)
    return record


def prepare_machine(
    eqs: EquationsOfMotion, begin: float, end: float, parts: LoopParts, *, inputs: Any, method: Any, every: Any,
    events: Any, progress: Any,
) -> SampledRun:  # fmt: skip
    """A sampled loop around equations of motion, not begun."""
    given = read_given(inputs, eqs.inputs.names)
    driven = tuple(name for name in parts.driven if name in eqs.inputs.index)
    chosen = DEFAULT if method is None else method
    host = MachineHost(eqs, chosen, parts.before(given), driven, as_events(events), parts.switch)
    loop = parts.around(host.plant, given)
    first, last = host.plant.span
    if first > begin or last < end:
        raise DataError(
            "record-too-short",
            f"a record given as input covers {first:g} to {last:g} s, the run needs {begin:g} to {end:g} s.",
        )
    count = count_intervals(end - begin, loop.dt)
    return _make_run(host, loop, parts, begin, end, count, every, progress)


def run_linear(
    model: StateSpace, until: Any, parts: LoopParts, *, start: Any, inputs: Any, every: Any, progress: Any
) -> Record:
    """A sampled loop around a state-space model."""
    end = end_time(until, 0.0)
    given = read_given(inputs, model.inputs)
    host = LinearHost(model, parts.before(given))
    loop = parts.around(host.plant, given, model.dt)
    count = count_intervals(end, loop.dt)
    end = end if is_same_time(count * loop.dt, end, loop.dt) else loop.dt * count  # whole intervals only
    if not count:
        raise DataError("out-of-range", f"until = {end:g} s is less than one interval of the loop ({loop.dt:g} s).")
    run = _make_run(host, loop, parts, 0.0, end, count, every, progress)
    return run.go(np.concatenate(([0.0], initial_state(start, model.states, "the start"))))


def _make_run(
    host: object, loop: Loop, parts: LoopParts, begin: float, end: float, count: int, every: object, progress: object,
    most: float = 1e9,
) -> SampledRun:  # fmt: skip
    """A run of `count` intervals with its references and the times of its record.

    most : intervals, 8 GB a channel.
    """
    DataError.when(count > most, "too-large", f"{count:.3g} intervals of {loop.dt:g} s are too many.")
    references = reference_values(loop, parts.references, begin + loop.dt * np.arange(count + 1))
    times = sample_times(begin, end, loop.dt if every is None else every, None)
    return SampledRun(host, loop, references, times, begin, end, progress)


def reference_values(loop: Any, given: Any, times: Any) -> Array:
    """(N, nr) references of all laws at the samples; one that is left out is zero."""
    names = [name for name, _ in loop.references]
    if not names or not given:
        return np.zeros((len(times), len(names)))
    unique = list(dict.fromkeys(names))
    sources = {name: _at_samples(rename_reference(source, name, name), name, times) for name, source in given.items()}
    at = times if len(times) > 1 else np.append(times, times[0] + 1.0)
    _, values = sample_inputs(sources, unique, at, where="references")
    return np.asarray(values[: len(times)][:, [unique.index(name) for name in names]])


def rename_reference(source: object, name: str, channel: str) -> Any:
    """A source of a reference as the source of the input that carries it."""
    if isinstance(source, Record):
        have = next((n for n in (name, channel, *_short(name)) if n in source.names), None)
        if have is None:
            raise DataError(
                "missing-channel",
                unknown_name("channel", name, source.names, f"the record given for reference {name!r}"),
            )
        return Record.from_channels(source.time, {channel: source[have]})
    return source


def _at_samples(source: object, name: str, times: Array) -> Any:
    """A reference from a record, between whose samples it runs straight, at the samples of a loop."""
    if not isinstance(source, Record) or len(times) < 2:
        return source
    first, last, rounding = source.time[0], source.time[-1], slack(times[-1] - times[0])
    if first > times[0] + rounding or last < times[-1] - rounding:
        raise DataError(
            "record-too-short",
            f"the record given for reference {name!r} covers {first:g} to {last:g} s, the run needs {times[0]:g} to "
            f"{times[-1]:g} s.",
        )
    return np.interp(times, source.time, source[name])


def _short(name: str) -> tuple[str, ...]:
    """The short name of "x.reference": "x"."""
    output = followed_output(name)
    return () if output is None else (output,)


def name_references(given: object, names: Sequence[str]) -> dict[str, Any]:
    """References by the names of the laws; "x" is accepted for "x.reference"."""
    if given is None:
        return {}
    if isinstance(given, Record):
        found = {name: given for name in names if any(n in given.names for n in (name, *_short(name)))}
        if not found:
            shown = ", ".join(given.names[:8])
            raise DataError(
                "missing-channel",
                f"the record of references has none of {', '.join(names) or '(none)'}; it has {shown}.",
            )
        return found
    if not isinstance(given, Mapping):
        raise DataError(
            "wrong-type",
            f"references must be given by name; got {given!r}.",
            Advice("Such as {}.", Argument("references", {"position": 1.0})),
        )
    found = {}
    for name, source in given.items():
        full = next((n for n in (name, reference_name(name)) if n in names), None)
        if full is None:
            raise ModelError("unknown-name", unknown_name("reference", name, names, "the laws of this loop"))
        found[full] = source
    return found


def simulate_loop(
    plant: EquationsOfMotion | StateSpace,
    until: object,
    *,
    controller: object,
    observer: object,
    noise: object,
    references: object,
    actuators: object,
    switch_on: object,
    **run: Any,
) -> Record:
    """Route a loop: continuous parts into the equations, sampled ones into a sampled run."""
    if isinstance(plant, StateSpace):
        controller, observer = in_deviations(controller), in_deviations(observer)
    parts = read_parts(controller, observer, noise, references, actuators, switch_on)
    if isinstance(plant, StateSpace):
        stepped = parts.continuous or run["events"] or run["method"] is not None or parts.switch.event is not None
        if not stepped:
            del run["events"], run["method"]
            return run_linear(plant, until, parts, **run)
        plant = linear_equations(plant)
        run["start"] = read_linear_state(plant, run["start"])
    if not parts.continuous:
        begin = 0.0 if run["start"] is None else getattr(run["start"], "t", 0.0)
        return run_machine(plant, end_time(until, begin), parts, **run)
    return run_continuous(plant, until, run, parts)


def read_parts(
    controller: object, observer: object, noise: object, references: object, actuators: object, switch_on: object
) -> LoopParts:
    """The parts of a loop as `da.simulate` is given them, checked as far as that is possible without the plant."""
    switch = read_switch(switch_on)
    limits = read_actuators(actuators)
    controller = within_limits(controller, limits)
    laws = as_laws(controller, switch)
    waits = find_waiting(controller, laws, switch)
    noise = check_noise(noise)
    observer_step = find_observer_step(observer, laws, noise)
    laws = sample_laws(laws, observer_step)
    if not laws and not switch.at_once:
        raise DataError("ineffective-argument", "a time of switching on belongs to a controller; there is none.")
    if not laws and (references is not None or actuators is not None):
        raise DataError("ineffective-argument", "references and actuators belong to a controller; there is none.")
    known = [name for law in laws for name in law.references.names]
    resting = {
        name: value for law in laws for name, value in zip(law.references.names, law.resting, strict=False) if value
    }
    wanted = name_references(references, known)
    return LoopParts(laws, observer_step, noise, {**resting, **wanted}, limits, switch, waits)


def prepare_loop(
    eqs: EquationsOfMotion, begin: float, until: object, *, inputs: object = None, method: object = None,
    every: object = None, events: object = (), controller: object = None, observer: object = None,
    noise: object = None, references: object = None, actuators: object = None, switch_on: object = None,
) -> SampledRun | None:  # fmt: skip
    """The run that `da.simulate` would make with these options, not begun; None unless all parts are sampled."""
    if all(part is None for part in (controller, observer, noise, references, actuators, switch_on)):
        return None
    parts = read_parts(controller, observer, noise, references, actuators, switch_on)
    if parts.continuous:
        return None
    return prepare_machine(
        eqs, begin, end_time(until, begin), parts,
        inputs=inputs, method=method, every=every, events=events, progress=False,
    )  # fmt: skip


def run_continuous(
    eqs: EquationsOfMotion,
    until: Any,
    run: dict[str, Any],
    parts: LoopParts,
) -> Record:
    """Continuous laws and observers go into the equations; sampled ones, if any, run around those."""
    laws, observer_step, noise, switch = parts.laws, parts.observer, parts.noise, parts.switch
    inside = [k for k, law in enumerate(laws) if law.dt is None]
    outside = [k for k in range(len(laws)) if k not in inside]
    if outside and not switch.at_once:
        raise ModelError(
            "not-supported",
            "the time of switching on is not clear for continuous and sampled laws together.",
            Advice("Give all of them an interval: {}.", Argument("dt")),
        )
    if noise is not None and noise.sensors:
        raise ModelError(
            "missing-argument",
            "sensor noise is drawn sample by sample.",
            Advice("Give the law and the observer a sampling interval: {}.", Argument("dt")),
        )
    given = read_given(run["inputs"], eqs.inputs.names)
    driven = [name for k in inside for name in laws[k].drives]
    both = [name for name in driven if name in given]
    if both and switch.at_once:
        raise ModelError(
            "conflicting-arguments",
            f"input {both[0]!r} is given and driven by a law.",
            Advice("Leave one out, or give the time from which the law drives it: {}.", Argument("switch_on")),
        )
    mine = {name: a for name, a in parts.actuators.items() if name in driven or not outside}
    loop = close_equations(
        eqs, [laws[k] for k in inside], observer_step, mine, switch, both, [parts.waits[k] for k in inside]
    )
    inputs: dict[str, Any] = {(f"{name}.before" if name in both else name): source for name, source in given.items()}
    following = {name for k in inside for name in laws[k].references.names}
    for name in following & set(parts.references):
        channel = reference_channel(name)
        inputs[channel] = rename_reference(parts.references[name], name, channel)
    machine, switching = loop.eqs, tuple(as_events(run["events"]))
    begin = state_or_rest(eqs, run["start"])
    if not switch.at_once:
        machine, switching = _add_switch(machine, switch, switching, begin.t)
    start = replace(loop.state(begin), eqs=machine)
    on = None if switch.at_once else ON
    margins = [MarginView(laws[k], eqs, machine, observer_step) for k in inside if is_monitored(laws[k], mine)]
    switching = (*switching, *(event for view in margins for event in view.events(start, on)))
    run = {**run, "inputs": inputs, "events": switching, "start": start}
    if not outside and noise is None:
        return explain_failure(lambda: open_run(machine, until, **run), machine, margins)
    gives = (
        {}
        if observer_step is None
        else {machine_name(eqs, name): f"estimate.{name}" for name in observer_step.gives.names}
    )
    rest = [
        replace(laws[k], reads=tuple(gives.get(machine_name(eqs, name), name) for name in laws[k].reads))
        for k in outside
    ]
    parts = LoopParts(
        tuple(rest), None, noise, {n: s for n, s in parts.references.items() if n not in following},
        {n: a for n, a in parts.actuators.items() if n not in mine}, SwitchOn(), (False,) * len(rest),
    )  # fmt: skip
    return run_machine(machine, end_time(until, begin.t), parts, **run)


def _add_switch(
    eqs: EquationsOfMotion, switch: SwitchOn, events: tuple[Event, ...], begin: float
) -> tuple[EquationsOfMotion, tuple[Event, ...]]:
    """The loop with the initial position of its switch, and the event that switches."""
    thrown = Switch(parameters={ON: 1.0})
    if switch.event is None:
        if switch.time <= begin:
            return eqs.replace(**{ON: 1.0}), events
        return eqs, (*events, Event("switch on", lambda s: s.t - switch.time, direction=1, action=thrown))
    watched = switch.event

    def value(s: Any) -> Any:
        return ca.if_else(s[ON] > 0.5, 1.0, watched.function(s))  # after switching, there is no further crossing

    return eqs, (*events, replace(watched, function=value, action=thrown))
