"""``library``: the ready machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.model_options import complete_model, ready, ready_file
from dalembert.app.command_line.registry import command


@command("Model files", position=2)
def library(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show the file of this machine.", autocompletion=complete_model)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the ready machines, or show the file of one.

    JSON: {"models": [{"name", "description"}]}; of one machine {"name", "description", "file", "text"}.
    """
    if name is not None:
        file = ready_file(name)
        text = file.read_text(encoding="utf-8")
        if as_json:
            terminal.give({"name": name, "description": description(file), "file": file, "text": text})
        else:
            terminal.show(text.rstrip())
        return
    models = [(model_name, description(file)) for model_name, file in ready().items()]
    if as_json:
        terminal.give({"models": [{"name": model_name, "description": about} for model_name, about in models]})
    else:
        terminal.show_table("Ready machines", ("model", "description"), models, left=(0, 1))


def description(file: Path) -> str:
    """Description in a model file; of a robot the first comment."""
    import re
    import tomllib

    text = file.read_text(encoding="utf-8")
    if file.suffix != ".toml":
        comment = re.search(r"<!--\s*(.*?)\s*-->", text, re.DOTALL)
        return "" if comment is None else comment[1]
    return str(tomllib.loads(text).get("description", ""))
