"""``view``: a machine in the browser, moved by hand."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import FLAG, Json
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.model_options import Model, Near, Set, Start
from dalembert.app.command_line.registry import command


@command("Machines", position=3)
def view(
    model: Model,
    changes: Set = None,
    start: Start = None,
    guess: Near = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", metavar=FLAG, help="Open a browser.")] = True,
    as_json: Json = False,
) -> None:
    """Show a machine in the browser with a slider per joint; served on this machine only, until Ctrl-C.

    Example: dalembert view four-bar --no-browser

    JSON: {"model", "address"}, once, before it serves.
    """
    from dalembert.app.live.serve import serve

    machine = load(model, changes)

    def announce(address: str) -> None:
        if as_json:
            terminal.give({"model": machine.mechanism.name, "address": address})
            sys.stdout.flush()
        else:
            terminal.show(f"live view at {address} (Ctrl-C ends it)")

    serve(machine.mechanism, machine.eqs, machine.start(start, guess), port=port, browser=browser, say=announce)
