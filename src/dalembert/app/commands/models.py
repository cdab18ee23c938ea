"""Machines from model files, as commands take them: read, changed, started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.commands import closing, terminal, values
from dalembert.core.errors import DalembertError, ModelError, unknown_name

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.model import Mechanism

SUFFIXES = (".toml", ".json")
DEFAULT_UNTIL = 10.0
LIBRARY = Path(__file__).parents[2] / "library"


def ready() -> dict[str, Path]:
    """Files of the library by name, without loading what reads them: the shell waits for this."""
    return {path.stem: path for path in sorted(LIBRARY.glob("*.toml"))}


def ready_file(name: str) -> Path:
    if name not in ready():
        raise ModelError(unknown_name("library model", name, ready()))
    return ready()[name]


def offered(incomplete: str) -> list[str]:
    """Library models and model files, for the shell's completion."""
    return completed(incomplete, SUFFIXES)


def completed(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Library models, files with these suffixes and folders that begin with what was typed."""
    folder = Path(incomplete.rpartition("/")[0] or ("/" if incomplete.startswith("/") else "."))
    inside = sorted(folder.glob("*")) if folder.is_dir() else []
    files = [str(path) for path in inside if path.suffix in suffixes]
    folders = [f"{path}/" for path in inside if path.is_dir()]
    return [name for name in (*ready(), *files, *folders) if name.startswith(incomplete)]


Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model file, or a machine of `dalembert library`.", autocompletion=offered),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help='Another value of a parameter, such as length="20 mm"; repeatable.'
    ),
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        "--start", metavar="NAME=VALUE", help='Where a coordinate or rate starts, such as A.angle="90 deg"; repeatable.'
    ),
]
Near = Annotated[
    list[str] | None,
    typer.Option(
        "--guess",
        metavar="NAME=VALUE",
        help="About where a coordinate is: decides which way the loops of a machine close (elbow up or down); "
        "repeatable.",
    ),
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=VALUE",
        help="What drives an input: a number, an expression of t, or FILE:CHANNEL of a record; repeatable.",
    ),
]


@dataclass(frozen=True)
class Machine:
    """A model as a command uses it: the description, its equations with the values asked for, what was asked."""

    source: str
    mechanism: Mechanism
    eqs: EquationsOfMotion
    changes: Mapping[str, float]

    def start(self, given: list[str] | None = None, guess: list[str] | None = None) -> State:
        """Where the motion starts: as the file says, with what was given instead."""
        own, wanted, near = self.mechanism.start, self.wanted(given), self.wanted(guess, "--guess")
        state = started(self.eqs, own, wanted, near)
        hints = near or own.get("guess", {})
        turned = closing.turned_bodies(
            self.mechanism,
            state,
            lambda drawn: started(self.eqs, {**own, "restarts": 0}, wanted, {**drawn, **hints}),
        )
        if turned:
            terminal.say(closing.warning(self.mechanism, turned))
        return state

    def wanted(self, given: list[str] | None, option: str = "--start") -> dict[str, float]:
        """Values of coordinates and rates by name, in units that fit them."""
        return values.quantities(given, option, self.unit_of)

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

    def still(self, given: list[str] | None = None) -> State | None:
        """Where a search for rest begins: the pose the motion starts in; None where neither file nor user say one."""
        import numpy as np

        if not given and not any(self.mechanism.start.get(key) for key in ("position", "guess", "internal", "t")):
            return None
        state = self.start(given)
        return self.eqs.state(state.q, np.zeros(self.eqs.nv), state.z, state.t)

    def inputs(self, given: list[str] | None = None) -> dict[str, Any]:
        """What drives the inputs: as the file says, with what was given instead."""
        wanted = values.pairs(given, "--input")
        own = dict(self.mechanism.simulation.get("inputs", {}))
        return {
            **own,
            **{name: values.drive(name, text, "--input", self.unit_of(name)) for name, text in wanted.items()},
        }

    def constant_inputs(self) -> dict[str, float]:
        """Inputs of the file that may hold at rest: none where one changes in time, for then they are a manoeuvre."""
        own = self.mechanism.simulation.get("inputs", {})
        return {} if any(callable(value) for value in own.values()) else {k: float(v) for k, v in own.items()}


def started(
    eqs: EquationsOfMotion,
    own: Mapping[str, Any],
    wanted: Mapping[str, float],
    near: Mapping[str, float] | None = None,
) -> State:
    """The state a machine starts in: as its file says (``own``), with other values of some coordinates and rates.

    Wanted positions replace those of the file, which then only guide how the machine is put together; wanted rates
    replace the rates of the file. ``"velocity A.angle"`` is the rate of a coordinate, as ``"A.rate"`` is. What is
    ``near`` decides between several ways of closing the loops, instead of the guesses of the file.
    """
    from dalembert.solve.position.assemble import assemble

    use: dict[str, Any] = {key: dict(v) if isinstance(v, Mapping) else v for key, v in own.items()}
    rates, memory, places = {}, {}, {}
    for name, value in wanted.items():
        if name.startswith("velocity "):
            rates[name.removeprefix("velocity ")] = value
        elif name in eqs.measure_rates.index or name in eqs.speeds.index:
            rates[name] = value
        elif name in eqs.internal.index:
            memory[name] = value
        else:
            places[name.removeprefix("start ")] = value
    if places:
        use["guess"] = {**use.get("guess", {}), **use.get("position", {})}
        use["position"] = places
    if near:
        use["guess"] = dict(near)  # guesses of the file may be of the other way
    if rates:
        use["velocity"] = rates
    if memory:
        use["internal"] = {**use.get("internal", {}), **memory}
    return assemble(eqs, use.pop("position", None), **use)


def load(model: str, changes: list[str] | None = None) -> Machine:
    """Read a machine and make its equations."""
    from dalembert.files.models import read_model
    from dalembert.mechanics import equations

    wanted = values.quantities(changes, "--set", lambda name: declared_unit(model, name))
    with terminal.waiting(f"reading {model}"):
        mechanism = read_model(model, allow_outside=terminal.settings.allow_outside)
        eqs = equations(mechanism)
    return Machine(model, mechanism, eqs.replace(**wanted) if wanted else eqs, wanted)


def declared_unit(model: str, name: str) -> str | None:
    """Unit that a model file gives a parameter of its own, as a text; None where it gives none."""
    from dalembert.files.models.text.arithmetic import dimension_of, parse
    from dalembert.files.models.text.sources import Problems, read_source
    from dalembert.record.units import unit_text

    try:
        source = read_source(ready().get(model, Path(model)), model, Problems())
        raw = source.document["parameters"][name]
        dimension = dimension_of(parse(raw), lambda name: None) if isinstance(raw, str) else None
    except (DalembertError, KeyError, TypeError):  # whatever is wrong is told by what reads the model
        return None
    return None if dimension is None or not any(dimension) else unit_text(dimension)


def until_of(machine: Machine, until: float | None, say: bool = True) -> float:
    """How long to simulate."""
    if until is not None:
        return until
    own = machine.mechanism.simulation.get("until")
    if own is None:
        if say:
            terminal.say(f"the model says nothing of how long: {DEFAULT_UNTIL:g} s; --until says otherwise")
        return DEFAULT_UNTIL
    return float(own)
