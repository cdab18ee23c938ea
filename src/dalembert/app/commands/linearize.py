"""``linearize``: the linear model of small motions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json, flag
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.matrix_files import write_matrices
from dalembert.app.command_line.model_options import Model, Set
from dalembert.app.command_line.operating_point import From, Guess, Held, Hold, Rates, linear_model, rest
from dalembert.app.command_line.registry import command

if TYPE_CHECKING:
    from dalembert.linear import SecondOrder, StateSpace


MATRICES = ("M", "C", "G", "K", "H", "B", "Y_position", "Y_velocity", "Y_acceleration", "A", "D")


@command("Machines", position=6)
def linearize(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    outputs: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Sensors or coordinates; all sensors when left out.")
    ] = None,
    independent: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Independent coordinates; chosen when left out.")
    ] = None,
    first_order: Annotated[bool, flag("--state-space", "States and their rates: A, B, C, D.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the matrices: .json, .npz or .mat.")] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Linear model of small motions about the equilibrium or a steady motion: M, C, K or A, B, C, D.

    Example: dalembert linearize cart-pendulum --guess "hinge.angle=180 deg" --state-space --out model.mat

    JSON: {"model", "form", "coordinates" or "states", "inputs", "outputs", "units", "matrices": {name: rows}, "files"}.
    """
    option_values.writable(out, "--out", ".json", ".npz", ".mat")
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    chosen = {"outputs": option_values.names(outputs) or None, "coordinates": option_values.names(independent) or None}
    system = linear_model(machine, at, held, **chosen)
    if first_order and hasattr(system, "state_space"):
        system = system.state_space()
    document = {"model": machine.mechanism.name, **describe(system)}
    if out is not None:
        write_matrices(document, out)
        terminal.report_written(out)
    if as_json:
        terminal.give({**document, "files": [] if out is None else [out]})
    else:
        terminal.show(repr(system))


def describe(system: SecondOrder | StateSpace) -> dict[str, Any]:
    """A linear model as plain values."""
    import numpy as np

    second = hasattr(system, "coordinates")
    names = MATRICES if second else ("A", "B", "C", "D")
    matrices = {}
    for name in names:
        matrix = getattr(system, name, None)
        if matrix is None or np.asarray(matrix).size == 0:
            continue
        if second and not np.any(matrix) and name not in ("M", "K"):
            continue
        matrices[name] = np.asarray(matrix).tolist()
    labels = {"coordinates": system.coordinates} if second else {"states": system.states}  # type: ignore[union-attr]
    form = "second order: M x'' + (C+G) x' + (K+H) x = B u" if second else "state space: x' = A x + B u, y = C x + D u"
    return {
        "form": form, **labels, "inputs": system.inputs, "outputs": system.outputs, "units": dict(system.units),
        "matrices": matrices,
    }  # fmt: skip
