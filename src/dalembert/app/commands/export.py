"""``export``: filters, control laws and functions of the equations as C, or as object files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json, flag
from dalembert.app.command_line.filter_options import FILTER, AtStart, Known, Outputs, filter_of
from dalembert.app.command_line.loaded_machine import Machine, load
from dalembert.app.command_line.model_options import Model, Repeated, Set, Start, repeatable
from dalembert.app.command_line.operating_point import linear_model, rest
from dalembert.app.command_line.registry import command


class Real(StrEnum):
    """Numbers of the exported code."""

    double = "double"
    float = "float"


@command("Data", position=3)
def export(
    model: Model,
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    dt: Annotated[
        float | None, typer.Option(**option_values.TIME, help="Sampling interval of a filter or law (s).")
    ] = None,
    kind: Annotated[str | None, FILTER] = None,
    lqr: Annotated[bool, flag("--lqr", "A linear-quadratic law about the equilibrium.")] = False,
    functions: Annotated[
        Repeated,
        repeatable("--functions", 'Of the equations: inverse, mass_matrix, forward, "jacobian tool.tip"', "NAMES"),
    ] = None,
    outputs: Outputs = None,
    inputs: Known = None,
    Q: Annotated[
        Repeated, typer.Option("--Q", metavar="NUMBERS", help="Variances of a step, or weights of the states.")
    ] = None,
    R: Annotated[
        Repeated, typer.Option("--R", metavar="NUMBERS", help="Variances of a sample, or weights of inputs.")
    ] = None,
    P0: AtStart = None,
    guess: Annotated[Repeated, repeatable("--guess", "Near this equilibrium (of a law) or pose (of a filter)")] = None,
    start: Start = None,
    changes: Set = None,
    name: Annotated[str | None, typer.Option(help="Prefix of everything in C; the name of the machine.")] = None,
    real: Annotated[Real, typer.Option(help="Type of numbers in C.")] = Real.double,
    target: Annotated[
        str | None,
        typer.Option(
            "--object",
            metavar="TARGET",
            help="Machine code instead of C: cortex-m4, cortex-m7, armv7, aarch64, riscv32, riscv64, x86-64, native.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a filter, a control law or functions of the equations of a machine as C99 for a microcontroller.

    Example: dalembert export pendulum --filter ekf --Q 1e-6 --R 1e-4 --dt 0.01 --out c

    Give one of --filter, --lqr and --functions (inverse,mass_matrix,forward). `make -C FOLDER test` builds the code and
    checks it. --object writes an object file and its header instead, without a compiler; its README.md explains how
    to link it.

    JSON: {"model", "name", "folder", "state_bytes", "work_bytes", "files"}, with --object also "target" and "needs".
    """
    from dalembert.files.export.c_export import export_c, identifier
    from dalembert.files.export.object_export import export_object

    count = (kind is not None) + lqr + bool(functions)
    problem = "choose what to export: --filter ekf, --lqr or --functions inverse."
    option_values.refuse(
        (count != 1, "--filter / --lqr / --functions", problem),
        (functions and dt is not None, "--dt", "is for filters and laws."),
        (functions and target is not None, "--object", "is for filters and laws."),
        (functions and real is Real.float, "--real", "is for filters and laws."),
        (not functions and dt is None, "--dt", "a filter or law needs a sampling interval."),
        (target is not None and real is not Real.double, "--real / --object", "an object computes with doubles."),
    )
    machine = load(model, changes)
    step: Any
    if functions:
        step = machine.eqs
    elif kind is not None:
        step = filter_of(
            machine, kind, outputs=outputs, inputs=inputs, Q=Q, R=R, P0=P0, start=start, guess=guess, dt=dt
        )  # fmt: skip
    else:
        assert dt is not None
        step = law_of(machine, guess, start, inputs, Q, R, dt)
    interval = dt if kind is not None else None
    prefix = identifier(machine.mechanism.name)[:41] if name is None else name
    with terminal.show_waiting("writing C" if target is None else "writing machine code"):
        written: Any = (
            export_c(
                step, out, name=prefix, dt=interval, real=real.value, functions=option_values.names(functions) or None
            )
            if target is None
            else export_object(step, out, target=target, name=prefix, dt=interval)
        )
    terminal.report_written(*written.files)
    if as_json:
        terminal.give(
            {
                "model": machine.mechanism.name, "name": written.name, "folder": written.folder,
                "state_bytes": written.memory_bytes, "work_bytes": written.work_bytes, "files": written.files,
                **({} if target is None else {"target": target, "needs": written.needs}),
            }
        )  # fmt: skip
        return
    check = f"check it: make -C {out} test" if target is None else f"link it: {out / 'README.md'}"
    terminal.say(f"state {written.memory_bytes} bytes, work {written.work_bytes} bytes; {check}")


def law_of(
    machine: Machine, guess: Repeated, start: Repeated, inputs: Repeated, Q: Repeated, R: Repeated, dt: float
) -> Any:  # fmt: skip
    """The sampled linear-quadratic law about an equilibrium."""
    from dalembert.control import lqr

    Q_, R_ = option_values.weight(Q, "--Q"), option_values.weight(R, "--R")
    option_values.refuse((Q_ is None, "--Q", "a law needs weights of the states."))
    system = linear_model(machine, *rest(machine, guess=guess, start=start))
    return lqr(
        system, dt=dt, cost="integral", inputs=option_values.names(inputs) or None, Q=Q_, R=1.0 if R_ is None else R_
    )
