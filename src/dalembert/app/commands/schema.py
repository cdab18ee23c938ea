"""``schema``: the JSON Schema of model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command


@command("Model files", position=3)
def schema(
    out: Annotated[Path | None, typer.Option(help="Write it to a file.")] = None,
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of model files, for completion and checks in editors.

    Example: dalembert schema --out model.schema.json

    JSON: the schema; with --out {"files"}.
    """
    from dalembert.core.atomic_files import write_text
    from dalembert.files.models.schema.json_schema import model_schema

    text = json.dumps(model_schema(), indent=1, ensure_ascii=False)
    if out is None:
        terminal.show(text)
    else:
        write_text(out, text + "\n")
        terminal.report_written(out)
        if as_json:
            terminal.give({"files": [out]})
