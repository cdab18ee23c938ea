"""Machines from model files, as commands use them: read, changed, assembled, simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.model_options import Repeated, ready
from dalembert.core.errors import DalembertError, DataError, Interrupted, unknown_name

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.model import Mechanism
    from dalembert.model.mechanism import NamedStart
    from dalembert.record import Record


@dataclass(frozen=True)
class Machine:
    """A model as a command uses it: the description, its equations with changed values, the changes."""

    source: str
    mechanism: Mechanism
    eqs: EquationsOfMotion
    changes: Mapping[str, float]

    def start(self, given: Repeated = None, guess: Repeated = None) -> State:
        """Initial state of the motion: that of the file, with the given values instead."""
        named, values = self.named_start(given)
        initial = dict(self.mechanism.start)
        if named is not None:
            initial |= {"position": named.position, "velocity": named.velocity}
        wanted, near = self.read_values(values), self.read_values(guess, "--guess")
        state = find_start(self.eqs, initial, wanted, near)
        hints = near or initial.get("guess", {})
        turned = find_turned_bodies(
            self.mechanism,
            state,
            lambda drawn: find_start(self.eqs, {**initial, "restarts": 0}, wanted, {**drawn, **hints}),
        )
        if turned:
            terminal.say(warn_of_turned_bodies(self.mechanism, turned))
        return state

    def named_start(self, given: Repeated) -> tuple[NamedStart | None, list[str]]:
        """The initial state of the file that ``--start`` names, and the values of coordinates beside it."""
        starts, names = self.mechanism.starts, [text for text in given or () if "=" not in text and text]
        for name in names:
            if name not in starts:
                if starts:
                    raise DataError("unknown-name", unknown_name("initial state", name, starts, self.source))
                return None, list(given or ())  # its form is the mistake
        return (starts[names[-1]] if names else None), [text for text in given or () if text not in names]

    def read_values(self, given: Repeated, option: str = "--start") -> dict[str, float]:
        """Values of coordinates and rates by name, in units that fit them."""
        return option_values.quantities(given, option, self.unit_of)

    def unit_of(self, name: str) -> str | None:
        """Unit of a coordinate, rate, speed, input or internal state; None where nothing has this name."""
        eqs = self.eqs
        full = eqs.full_name(name.removeprefix("start ").removeprefix("velocity "))
        if name.startswith("velocity ") and full in eqs.measures.index:
            return eqs.measure_rates.units[eqs.measures.index[full]]
        for channels in (eqs.measures, eqs.measure_rates, eqs.speeds, eqs.coordinates, eqs.internal, eqs.inputs):
            if full in channels.index:
                return channels.units[channels.index[full]]
        return None

    def still(self, given: Repeated = None) -> State | None:
        """Initial pose of a search for rest: that of the motion; None where neither file nor user give one."""
        import numpy as np

        if not given and not any(self.mechanism.start.get(key) for key in ("position", "guess", "internal", "t")):
            return None
        state = self.start(given)
        return self.eqs.state(state.q, np.zeros(self.eqs.nv), state.z, state.t)

    def inputs(self, given: Repeated = None, start: Repeated = None) -> dict[str, Any]:
        """Drives of the inputs: those of the file or of the named initial state, with the given ones instead."""
        wanted, named = option_values.pairs(given, "--input"), self.named_start(start)[0]
        drives = {**self.mechanism.simulation.get("inputs", {}), **({} if named is None else named.inputs)}
        return {
            **drives,
            **{name: option_values.drive(name, text, "--input", self.unit_of(name)) for name, text in wanted.items()},
        }

    def constant_inputs(self) -> dict[str, float]:
        """Constant inputs of the file, for a state of rest: none where one changes in time, as in a manoeuvre."""
        drives = self.mechanism.simulation.get("inputs", {})
        return {} if any(callable(value) for value in drives.values()) else {k: float(v) for k, v in drives.items()}


def load(model: str, changes: Repeated = None) -> Machine:
    """Read a machine and make its equations."""
    from dalembert.mechanics import equations

    wanted = option_values.quantities(changes, "--set", lambda name: declared_unit(model, name))
    with terminal.show_waiting(f"reading {model}"):
        mechanism = read_machine(model)
        eqs = equations(mechanism, coordinates=terminal.settings.coordinates)
    return Machine(model, mechanism, eqs.replace(**wanted) if wanted else eqs, wanted)


def read_machine(model: str) -> Mechanism:
    """Read a machine with the options of the command."""
    from dalembert.files.models import read_model

    machine_read = read_model(model, allow_outside=terminal.settings.allow_outside, **terminal.settings.reading)
    if terminal.settings.ground:
        machine_read.add_ground()
    return machine_read


def declared_unit(model: str, name: str) -> str | None:
    """Unit that a model file gives a parameter of its own, as a text; None where it gives none."""
    from dalembert.files.models.text.arithmetic import dimension_of, parse
    from dalembert.files.models.text.sources import Problems, read_source
    from dalembert.record.units import unit_text

    try:
        source = read_source(ready().get(model, Path(model)), model, Problems())
        raw = source.document["parameters"][name]
        dimension = dimension_of(parse(raw), lambda name: None) if isinstance(raw, str) else None
    except (DalembertError, KeyError, TypeError):  # the reader of the model reports all mistakes
        return None
    return None if dimension is None or not any(dimension) else unit_text(dimension)


def find_start(
    eqs: EquationsOfMotion,
    own: Mapping[str, Any],
    wanted: Mapping[str, float],
    near: Mapping[str, float] | None = None,
) -> State:
    """Initial state of a machine: that of its file (``own``), with other values of some coordinates and rates.

    Wanted positions replace those of the file, which then are only initial guesses of the assembly; wanted rates
    replace the rates of the file. ``"velocity A.angle"`` is the rate of a coordinate, as ``"A.rate"`` is. Values
    in ``near`` decide between several ways of closing the loops, instead of the guesses of the file.
    """
    from dalembert.solve.position.assemble import assemble

    use: dict[str, Any] = {key: dict(v) if isinstance(v, Mapping) else v for key, v in own.items()}
    rates, internal, places = {}, {}, {}
    for name, value in wanted.items():
        if name.startswith("velocity "):
            rates[name.removeprefix("velocity ")] = value
        elif name in eqs.measure_rates.index or name in eqs.speeds.index:
            rates[name] = value
        elif name in eqs.internal.index:
            internal[name] = value
        else:
            places[name.removeprefix("start ")] = value
    if places:
        use["guess"] = {**use.get("guess", {}), **use.get("position", {})}
        use["position"] = places
    if near:
        use["guess"] = dict(near)  # guesses of the file may belong to the other closure of the loop
    if rates:
        use["velocity"] = rates
    if internal:
        use["internal"] = {**use.get("internal", {}), **internal}
    return assemble(eqs, use.pop("position", None), **use)


def find_turned_bodies(m: Mechanism, state: State, again: Callable[[Mapping[str, float]], State]) -> dict[str, float]:
    """Planar bodies that are turned by more than 90° from the drawing without need: name -> turn [deg].

    ``again(guess)`` assembles once more from these angles. The result has only bodies that then stay near the
    drawing: a pendulum that starts upside down on purpose gives no warning.
    """
    if not m.planar or len(m.joints) <= len(m.bodies):
        return {}  # without a loop the closure is unique
    drawn = {f"{body.name}.angle": body.angle for body in m.bodies}
    turned = {name: math.remainder(state[name] - angle, math.tau) for name, angle in drawn.items()}
    turned = {name: turn for name, turn in turned.items() if abs(turn) > math.pi / 2}
    if not turned:
        return {}
    try:
        second = again({name: drawn[name] for name in turned})
    except DalembertError:
        return {}
    return {
        name.removesuffix(".angle"): math.degrees(turn)
        for name, turn in turned.items()
        if abs(math.remainder(second[name] - drawn[name], math.tau)) <= math.pi / 2
    }


def warn_of_turned_bodies(m: Mechanism, turned: Mapping[str, float]) -> str:
    """Warning about turned bodies, with the option for the other closure of the loop."""
    bodies = ", ".join(f"{name} turned by {abs(turn):.0f} deg" for name, turn in turned.items())
    guess = " ".join(f"--guess {name}.angle={math.degrees(m[name].angle):g}deg" for name in turned)
    return f"warning: assembled far from the drawing: {bodies}. Nearer to it with {guess}"


def until_of(machine: Machine, until: float | None, say: bool = True, default: float = 10.0) -> float:
    """End time of the simulation [s]; ``default`` where neither the user nor the model has one."""
    if until is not None:
        return until
    end = machine.mechanism.simulation.get("until")
    if end is None:
        if say:
            terminal.say(f"the model has no end time: {default:g} s; --until sets another")
        return default
    return float(end)


def run_of(
    machine: Machine, until: float | None, every: float | None, method: Any, start: Repeated,
    guess: Repeated, inputs: Repeated, out: Path | None = None,
) -> Record:  # fmt: skip
    """The run; where it fails, the part so far is written to the file of the whole."""
    from dalembert.loop.simulate import simulate as solve

    simulation = machine.mechanism.simulation
    try:
        return solve(
            machine.eqs, until_of(machine, until), start=machine.start(start, guess),
            inputs=machine.inputs(inputs, start), method=method,
            every=simulation.get("every") if every is None else every, progress=terminal.progress(),
        )  # fmt: skip
    except (DalembertError, Interrupted) as error:
        if out is not None and error.record is not None and len(error.record):
            from dalembert.files.records.records import write_record

            write_record(error.record, out)
            terminal.say(f"wrote {out}: results up to {error.record.time[-1]:g} s")
        raise
