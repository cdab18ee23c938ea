"""``demo``: a crank-rocker, simulated, drawn and animated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command


@command("To begin with", position=1)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for figure, record and animation.")] = Path("demo-output"),
    as_json: Json = False,
) -> None:
    """Simulate a crank-rocker for ten seconds; write a figure, a record and an animation.

    JSON: {"results": [{"quantity", "value", "unit"}], "files": [...]}.
    """
    from dalembert.studies.machines import crank_rocker

    result = crank_rocker.demo(out)
    terminal.report_written(*result.files)
    if as_json:
        rows = [{"quantity": q, "value": number(v), "unit": u} for q, v, u in result.rows]
        terminal.give({"results": rows, "files": list(result.files)})
        return
    terminal.show_table("Crank-rocker four-bar, 10 s", ("quantity", "value", "unit"), result.rows, left=(0, 2))
    page = next((path for path in result.files if path.suffix == ".html"), None)
    if page is not None:
        terminal.say(f"open {page} in a browser to see it move")


def number(text: str) -> float | int | None:
    """A number of a table as a number; None where there is none."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return None
