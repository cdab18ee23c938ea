"""``equilibrium``, ``modes`` and ``linearize``: where a machine rests, and small motions about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.commands import terminal, values
from dalembert.app.commands.models import Machine, Model, Set, load
from dalembert.app.commands.running import FLAG, Json
from dalembert.app.commands.simulating import FIGURES
from dalembert.core.errors import ConvergenceError, DalembertError

if TYPE_CHECKING:
    from dalembert.equations import State
    from dalembert.linear import SecondOrder, StateSpace

MATRICES = ("M", "C", "G", "K", "H", "B", "Y_position", "Y_velocity", "Y_acceleration", "A", "D")
MOST_SHOWN = 8  # columns of a matrix on a terminal
Guess = Annotated[
    list[str] | None,
    typer.Option("--guess", metavar="NAME=VALUE", help="Near which equilibrium, stable or not; repeatable."),
]
From = Annotated[
    list[str] | None,
    typer.Option(
        "--start", metavar="NAME=VALUE", help="Pose to search from; that of the model, else its drawing; repeatable."
    ),
]
Hold = Annotated[
    list[str] | None, typer.Option("--hold", metavar="NAME=VALUE", help="A coordinate with this value; repeatable.")
]
Held = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=VALUE",
        help="Value of an input; constant ones of the model hold, others are 0; repeatable.",
    ),
]
Rates = Annotated[
    list[str] | None,
    typer.Option(
        "--rate",
        metavar="NAME=VALUE",
        help="Steady motion: constant rate of a coordinate, NAME=free for one to be found; repeatable.",
    ),
]


def rest(
    machine: Machine, inputs: list[str] | None = None, *, guess: list[str] | None = None,
    hold: list[str] | None = None, rates: list[str] | None = None, start: list[str] | None = None,
) -> tuple[State, dict[str, float]]:  # fmt: skip
    """The equilibrium or steady motion asked for, and the values of the inputs there.

    Constant inputs of the file hold (the force that carries an arm), unless the machine does not rest with them (a
    motor that turns): then all that are not given are zero, and that is told.
    """
    from dalembert.solve.rest.equilibrium import equilibrium as find

    steady = {
        name: None if text.lower() == "free" else values.quantity(text, "--rate", rate_unit(machine, name))
        for name, text in values.pairs(rates, "--rate").items()
    }
    near, kept = machine.wanted(guess, "--guess") or None, machine.wanted(hold, "--hold") or None
    begin = machine.start(start) if rates else machine.still(start)
    given = machine.wanted(inputs, "--input")

    def found(held: dict[str, float]) -> State:
        with terminal.waiting("looking for the steady motion" if steady else "looking for the equilibrium"):
            return find(machine.eqs, start=begin, guess=near, inputs=held, hold=kept, rates=steady or None)

    held = {**machine.constant_inputs(), **given}
    try:
        at = found(held)
    except ConvergenceError as error:
        if not any(held[name] for name in held if name not in given):
            raise
        held = given
        try:
            at = found(held)
        except DalembertError:
            raise error from None
    left = [name for name in machine.mechanism.simulation.get("inputs", {}) if name not in held]
    if left:
        terminal.say(
            f"inputs of the model's run are zero here: {', '.join(left)}; --input NAME=VALUE holds one at a value"
        )
    return at, held


def rate_unit(machine: Machine, name: str) -> str | None:
    """Unit of the rate of a coordinate, or of a rate or speed by its own name."""
    return machine.unit_of(f"velocity {name}")


def linear_model(machine: Machine, at: State, held: Mapping[str, float], **options: Any) -> SecondOrder | StateSpace:
    from dalembert.solve.rest.linearize import linearize as make

    return make(machine.eqs, at, inputs=held, **options)


def equilibrium(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Find where a machine stays at rest, or a motion that stays the same.

    Example: dalembert equilibrium pendulum --guess "hinge.angle=80 deg"

    JSON: {"model", "about", "coordinates": {name: {"value", "unit"}}, "rates": {...}, "free": [name],
    "inputs": {name: value}, "stability"}. "free" are coordinates at any value of which the machine would rest.
    """
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    eqs = machine.eqs
    places = {name: (at[name], unit) for name, unit in zip(eqs.measures.names, eqs.measures.units, strict=True)}
    speeds = {}
    if rates:
        pairs = zip(eqs.measure_rates.names, eqs.measure_rates.units, strict=True)
        speeds = {name: (at[name], unit) for name, unit in pairs if abs(at[name]) > 1e-12}
    verdict = stability(machine, at, held)
    about = "steady motion" if rates else "equilibrium"
    if as_json:
        both = [{n: {"value": v, "unit": u} for n, (v, u) in group.items()} for group in (places, speeds)]
        found = {"model": machine.mechanism.name, "about": about, "coordinates": both[0], "rates": both[1]}
        found["free"] = list(at.free)
        terminal.give(
            {**found, "inputs": {name: held.get(name, 0.0) for name in eqs.inputs.names}, "stability": verdict}
        )
        return
    rows: list[tuple[str, ...]] = [
        (name, terminal.number(0.0 if abs(v) < 1e-12 else v), unit) for name, (v, unit) in {**places, **speeds}.items()
    ]
    head: tuple[str, ...] = ("coordinate", "value", "unit")
    if at.free:
        head = (*head, "")
        rows = [(*row, "any other would do" if row[0] in at.free else "") for row in rows]
    terminal.show_table(f"{machine.mechanism.name}: {about}", head, rows, left=(0, 2, 3))
    if at.free:
        names = ", ".join(at.free)
        terminal.say(f"it would rest at any {names}; --hold {at.free[0]}=VALUE chooses one of these places")
    if verdict is not None:
        terminal.show(f"small motions about it: {verdict}")


def stability(machine: Machine, at: State, held: Mapping[str, float]) -> str | None:
    """Verdict on small motions; None where there is no linear model."""
    try:
        return linear_model(machine, at, held).stability().verdict
    except DalembertError:
        return None


def modes(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the shapes: .html, where they move, or a figure: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Natural frequencies, damping and shapes of small motions about the equilibrium or a steady motion.

    Example: dalembert modes bicycle --rate "rear.angle=16.7 rad/s" --out shapes.png

    JSON: {"model", "coordinates", "modes": [{"frequency_hz", "damping_ratio", "eigenvalue", "shape"}], "files"}.
    """
    values.writable(out, "--out", ".html", *FIGURES)
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    found = linear_model(machine, at, held).modes()
    if out is not None:
        from dalembert.view import animate, plot

        if out.suffix.lower() == ".html":
            animate(found, out, structure=at)
        else:
            plot(found, file=out, title=f"{machine.mechanism.name}: mode shapes")
        terminal.wrote(out)
    if as_json:
        rows = [
            {"frequency_hz": f, "damping_ratio": z, "eigenvalue": complex(s), "shape": found.shapes[:, k]}
            for k, (f, z, s) in enumerate(
                zip(found.frequencies_hz, found.damping_ratios, found.eigenvalues, strict=True)
            )
        ]
        document = {"model": machine.mechanism.name, "coordinates": found.coordinates, "modes": rows}
        terminal.give({**document, "files": [] if out is None else [out]})
        return
    table = [line.split(maxsplit=4) for line in found.table().splitlines()[1:]]
    head = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [rad/s]", "motion")
    about = "steady motion" if rates else "equilibrium"
    terminal.show_table(f"{machine.mechanism.name}: modes about the {about}", head, table, left=(4,))


def linearize(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    outputs: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Sensors or coordinates; all sensors when left out.")
    ] = None,
    coordinates: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Independent coordinates; chosen when left out.")
    ] = None,
    first_order: Annotated[
        bool, typer.Option("--state-space", metavar=FLAG, help="States and their rates: A, B, C, D.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the matrices: .json, .npz or .mat.")] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Linear model of small motions about the equilibrium or a steady motion: M, C, K or A, B, C, D.

    Example: dalembert linearize cart-pendulum --guess "hinge.angle=180 deg" --state-space --out model.mat

    JSON: {"model", "form", "coordinates" or "states", "inputs", "outputs", "units", "matrices": {name: rows}, "files"}.
    """
    values.writable(out, "--out", ".json", ".npz", ".mat")
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    system = linear_model(
        machine, at, held, outputs=values.names(outputs) or None, coordinates=values.names(coordinates) or None
    )
    if first_order and hasattr(system, "state_space"):
        system = system.state_space()
    document = {"model": machine.mechanism.name, **described(system)}
    if out is not None:
        write_matrices(document, out)
        terminal.wrote(out)
    if as_json:
        terminal.give({**document, "files": [] if out is None else [out]})
    else:
        terminal.show(repr(system))


def described(system: SecondOrder | StateSpace) -> dict[str, Any]:
    """A linear model as plain values."""
    import numpy as np

    second = hasattr(system, "coordinates")
    names = MATRICES if second else ("A", "B", "C", "D")
    found = {}
    for name in names:
        matrix = getattr(system, name, None)
        if matrix is None or np.asarray(matrix).size == 0:
            continue
        if second and not np.any(matrix) and name not in ("M", "K"):
            continue
        found[name] = np.asarray(matrix).tolist()
    labels = {"coordinates": system.coordinates} if second else {"states": system.states}  # type: ignore[union-attr]
    form = "second order: M x'' + (C+G) x' + (K+H) x = B u" if second else "state space: x' = A x + B u, y = C x + D u"
    return {
        "form": form, **labels, "inputs": system.inputs, "outputs": system.outputs, "units": dict(system.units),
        "matrices": found,
    }  # fmt: skip


def write_matrices(document: dict[str, Any], out: Path) -> None:
    """The linear model as a file, whole or not at all."""
    import json

    import numpy as np

    from dalembert.core.atomic_files import replacing, write_text

    if out.suffix.lower() == ".json":
        write_text(out, json.dumps(terminal.plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        return
    arrays = {name: np.array(rows) for name, rows in document["matrices"].items()}
    for key in ("coordinates", "states", "inputs", "outputs"):
        if key in document:
            arrays[key] = np.array(document[key], dtype=str)
    with replacing(out) as fresh:
        if out.suffix.lower() == ".npz":
            np.savez(fresh, allow_pickle=False, **arrays)
        else:
            from scipy.io import savemat

            savemat(fresh, {name: a.astype(object) if a.dtype.kind == "U" else a for name, a in arrays.items()})
