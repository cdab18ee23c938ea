"""Options that describe a filter of a machine, and the filter they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import kind_option
from dalembert.app.command_line.loaded_machine import Machine
from dalembert.app.command_line.model_options import Repeated

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


def filter_names() -> list[str]:
    """Filters that take equations of motion."""
    from dalembert.estimate import FILTERS

    return [name for name, kind in FILTERS.items() if kind.machines]


FILTER = kind_option("--filter", "FILTER", filter_names, "The filter, such as ekf: extended Kalman filter.")


def variances(option: str, meaning: str) -> Any:
    """An option that takes one variance, or variances by name."""
    return typer.Option(option, metavar="VARIANCE", help=meaning)


Variances = Annotated[
    Repeated, variances("--Q", "Variances of the model per step: one number, or NAME=NUMBER,... by state.")
]
Measured = Annotated[Repeated, variances("--R", "Variances of the sensors: one number, or NAME=NUMBER,... by sensor.")]
AtStart = Annotated[Repeated, variances("--P0", "Variances at the start; the steady ones of the filter when left out.")]
Outputs = Annotated[
    Repeated,
    typer.Option(metavar="NAMES", help="Measured quantities: sensors or coordinates; all sensors when left out."),
]
Known = Annotated[Repeated, typer.Option(metavar="NAMES", help='Inputs that are known; all when left out, none by "".')]


def filter_of(
    machine: Machine, kind: str, *, outputs: Repeated, inputs: Repeated, Q: Repeated,
    R: Repeated, P0: Repeated, start: Repeated, guess: Repeated,
    dt: float | None = None,
) -> Filter:  # fmt: skip
    """The chosen filter, with the initial state of the machine."""
    from dalembert.estimate import FILTERS

    noise = {"Q": option_values.weight(Q, "--Q"), "R": option_values.weight(R, "--R")}
    for name, value in noise.items():
        if value is None:
            problem = "a filter needs variances of the model and of the sensors."
            raise typer.BadParameter(problem, param_hint=f"--{name}")
    inputs_known = None if inputs is None else option_values.names(inputs)
    options: dict[str, Any] = {
        **noise, "outputs": option_values.names(outputs) or None, "inputs": inputs_known, "dt": dt,
        "P0": option_values.weight(P0, "--P0"), "at": machine.start(start, guess),
    }  # fmt: skip
    with terminal.show_waiting("making the filter"):
        filter_: Filter = FILTERS[kind].make(machine.eqs, **options)
    return filter_
