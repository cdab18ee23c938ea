"""Closed loops in `da.simulate`: what acts continuously is put into the equations, what is sampled runs in samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion, Law, Watching
from dalembert.errors import DataError, ModelError, unknown_name
from dalembert.expressions import Array
from dalembert.linear import StateSpace
from dalembert.linear.excitation import initial_state, sampled
from dalembert.record import Record
from dalembert.solve.actuators import Actuator
from dalembert.solve.assemble import state_or_rest
from dalembert.solve.events import as_events
from dalembert.solve.hosts import LinearHost, MachineHost
from dalembert.solve.methods import DormandPrince
from dalembert.solve.noise import Noise
from dalembert.solve.sampled_run import SampledRun
from dalembert.solve.wiring import SwitchOn, as_laws, as_watching, read_switch, wired

DEFAULT = DormandPrince(order=5)  # an interval is short: order 8 would take twice the evaluations for one step


def observer_of(observer: Any, laws: Sequence[Law], noise: Noise | None) -> Watching | None:
    """The observer at the interval of the sampled laws, or at its own."""
    if observer is None or isinstance(observer, Watching):
        return observer
    intervals = [law.dt for law in laws if law.dt is not None]
    own = getattr(observer, "dt", None)
    if own is not None:
        return as_watching(observer, float(own))
    if intervals:
        return as_watching(observer, float(min(intervals)))
    return as_watching(observer, None if laws or noise is None else noise.every)


def check_noise(noise: Any) -> Noise | None:
    if noise is not None and not isinstance(noise, Noise):
        raise DataError(f"noise must be a da.Noise(process=..., sensors=..., seed=...), got {noise!r}.")
    return None if noise is None else noise.seeded()


def given_inputs(inputs: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(inputs, Record):
        return {name: inputs for name in inputs.names if name in names}
    if inputs is not None and not isinstance(inputs, Mapping):
        raise DataError(f"inputs must name channels, such as inputs={{'u': 1.0}}; got {inputs!r}.")
    return dict(inputs or {})


def run_machine(
    eqs: EquationsOfMotion,
    end: float,
    *,
    start: Any,
    inputs: Any,
    method: Any,
    every: Any,
    events: Any,
    progress: Any,
    laws: Sequence[Law],
    watching: Watching | None,
    noise: Noise | None,
    references: Any,
    actuators: Mapping[str, Actuator] | None,
    switch: SwitchOn,
) -> Record:
    """A sampled loop around equations of motion."""
    method = DEFAULT if method is None else method
    begin = state_or_rest(eqs, start)
    given = given_inputs(inputs, eqs.inputs.names)
    driven = tuple(dict.fromkeys(name for law in laws for name in law.drives if name in eqs.inputs.index))
    before = dict(given) if not switch.at_once else {k: v for k, v in given.items() if k not in driven}
    host = MachineHost(eqs, method, before, driven, as_events(events), switch)
    loop = wired(
        host.plant, laws, watching, given=given, noise=noise, actuators=actuators, switch=switch,
    )  # fmt: skip
    first, last = host.plant.span
    if first > begin.t or last < end:
        raise DataError(
            f"a record given as input covers {first:g} to {last:g} s, the run needs {begin.t:g} to {end:g} s."
        )
    times = loop_times(begin.t, end, every, loop.dt)
    samples = begin.t + loop.dt * np.arange(int(np.floor((end - begin.t) / loop.dt + 1e-9)) + 1)
    run = SampledRun(host, loop, reference_values(loop, references, samples), times, begin.t, end, progress)
    return run.go(host.column(begin, end - begin.t))


def run_linear(
    model: StateSpace,
    until: Any,
    *,
    start: Any,
    inputs: Any,
    every: Any,
    progress: Any,
    laws: Sequence[Law],
    watching: Watching | None,
    noise: Noise | None,
    references: Any,
    actuators: Mapping[str, Actuator] | None,
    switch: SwitchOn,
) -> Record:
    """A sampled loop around a state-space model."""
    try:
        end = float(until)
    except (TypeError, ValueError):
        raise DataError(f"until must be a number of seconds, got {until!r}.") from None
    if not np.isfinite(end) or end <= 0:
        raise DataError(f"until must be a finite time after the start (0 s), got {until!r}.")
    if switch.event is not None:
        raise ModelError("a linear plant has no events between samples: switch_on must be a time [s].")
    given = given_inputs(inputs, model.inputs)
    driven = [name for law in laws for name in law.drives]
    host = LinearHost(model, given if not switch.at_once else {k: v for k, v in given.items() if k not in driven})
    if not laws and watching is None and noise is not None and noise.every is None and model.dt is not None:
        noise = Noise(noise.process, noise.sensors, noise.seed, model.dt)
    loop = wired(host.plant, laws, watching, given=given, noise=noise, actuators=actuators, switch=switch)
    count = int(np.floor(end / loop.dt + 1e-9))
    end = loop.dt * count if abs(count * loop.dt - end) > 1e-9 * loop.dt else end  # whole intervals only
    if not count:
        raise DataError(f"until = {end:g} s is less than one interval of the loop ({loop.dt:g} s).")
    times = loop_times(0.0, end, every, loop.dt)
    x0 = initial_state(start, model.states, "the start")
    samples = loop.dt * np.arange(count + 1)
    run = SampledRun(host, loop, reference_values(loop, references, samples), times, 0.0, end, progress)
    return run.go(np.concatenate(([0.0], x0)))


def loop_times(begin: float, end: float, every: Any, dt: float) -> Array:
    """Times of the record: every sample of the loop unless asked otherwise."""
    from dalembert.solve.integrate import sample_times

    return sample_times(begin, end, dt if every is None else every, None)


def reference_values(loop: Any, given: Any, times: Any) -> Array:
    """(N, nr) references of all laws at the samples; one that is left out is zero."""
    names = [name for name, _ in loop.references]
    if given is not None and not isinstance(given, (Mapping, Record)):
        raise DataError(f"references must name them, such as references={{'position': 1.0}}; got {given!r}.")
    for name in () if isinstance(given, Record) or given is None else given:
        if name not in names:
            raise ModelError(unknown_name("reference", name, names, "the laws of this loop"))
    if not names or given is None:
        return np.zeros((len(times), len(names)))
    if isinstance(given, Record):
        given = {name: given for name in given.names if name in names}
    unique = list(dict.fromkeys(names))
    at = times if len(times) > 1 else np.append(times, times[0] + 1.0)
    _, values = sampled(given, unique, at, where="references")
    return np.asarray(values[: len(times)][:, [unique.index(name) for name in names]])


def simulate_closed(
    plant: EquationsOfMotion | StateSpace,
    until: Any,
    end: Callable[[Any, float], float],
    simulate: Callable[..., Record],
    *,
    start: Any,
    inputs: Any,
    method: Any,
    every: Any,
    events: Any,
    progress: Any,
    controller: Any,
    observer: Any,
    noise: Any,
    references: Any,
    actuators: Any,
    switch_on: Any,
) -> Record:
    """Route a loop: continuous parts into the equations, sampled ones into a sampled run."""
    laws = as_laws(controller)
    noise = check_noise(noise)
    watching = observer_of(observer, laws, noise)
    switch = read_switch(switch_on)
    if not switch.at_once and not laws:
        raise DataError("switch_on says from when on a controller drives; there is none.")
    options: dict[str, Any] = {
        "laws": laws, "watching": watching, "noise": noise, "references": references, "actuators": actuators,
        "switch": switch,
    }  # fmt: skip
    if isinstance(plant, StateSpace):
        if events:
            raise ModelError("a linear plant has no events.")
        return run_linear(plant, until, start=start, inputs=inputs, every=every, progress=progress, **options)
    begin = 0.0 if start is None else getattr(start, "t", 0.0)
    return run_machine(
        plant, end(until, begin), start=start, inputs=inputs, method=method, every=every, events=events,
        progress=progress, **options,
    )  # fmt: skip
