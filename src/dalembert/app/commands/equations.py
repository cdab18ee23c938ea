"""``equations``: the equations of motion as text to read, as code, or as a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Coordinates, Json
from dalembert.app.command_line.loaded_machine import read_machine
from dalembert.app.command_line.model_options import Model
from dalembert.app.command_line.registry import command


class OutputForm(StrEnum):
    """Forms of the equations."""

    latex = "latex"
    markdown = "markdown"
    python = "python"
    html = "html"


SUFFIXES = {OutputForm.latex: ".tex", OutputForm.markdown: ".md", OutputForm.python: ".py", OutputForm.html: ".html"}


def complete_formalism(incomplete: str) -> list[str]:
    """Formalisms, for the shell's completion."""
    from dalembert.symbolic.from_mechanism import FORMALISMS

    return [name for name in FORMALISMS if name.startswith(incomplete)]


@command("Machines", position=6.5)
def equations(
    model: Model,
    form: Annotated[OutputForm, typer.Option("--as", help="Form of the output.")] = OutputForm.markdown,
    formalism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Derive by lagrange, kane, newton_euler, ...; when left out, as simulations use them.",
            autocompletion=complete_formalism,
        ),
    ] = None,
    coordinates: Annotated[
        Coordinates | None, typer.Option(help="Coordinates of joints or of bodies; of joints with a formalism.")
    ] = None,
    simplify: Annotated[bool, typer.Option("--simplify", help="Simplify longer formulas too.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write; a page always goes to a file.")] = None,
    as_json: Json = False,
) -> None:
    """Show the equations of motion: LaTeX, Markdown, a Python module, or a page with all steps.

    Example: dalembert equations four-bar --as html --formalism kane

    Text goes to standard output, or to --out; a page goes to a file. It opens from disk and needs no network.

    JSON: {"model", "form", "formalism", "coordinates", "speeds", "rows", "operations", "files", "text" without a file}.
    """
    from dalembert.core.atomic_files import write_text
    from dalembert.symbolic.from_mechanism import from_mechanism

    option_values.writable(out, "--out", SUFFIXES[form])
    with terminal.show_waiting(f"deriving {model}"):
        mechanism = read_machine(model)
        derivation = from_mechanism(
            mechanism, formalism, coordinates=None if coordinates is None else coordinates.value
        )
        if simplify:
            derivation = derivation.simplify(progress=False)
        text = write(derivation, form)
    if out is None and form is OutputForm.html:
        out = Path(f"{mechanism.name}-equations.html")
    if out is not None:
        write_text(out, text)
        terminal.report_written(out)
    if as_json:
        terminal.give(
            {
                "model": mechanism.name, "form": form.value, "formalism": derivation.formalism,
                "coordinates": derivation.system.coordinate_names, "speeds": derivation.names,
                "rows": [row.owner for row in derivation.rows], "operations": derivation.operations,
                "files": [] if out is None else [out], **({"text": text} if out is None else {}),
            }
        )  # fmt: skip
    elif out is None:
        terminal.show(text)


def write(derivation: Any, form: OutputForm) -> str:
    """The derivation in one of the forms."""
    if form is OutputForm.html:
        from dalembert.view.reports.equations_page import equations_page

        return equations_page(derivation)
    if form is OutputForm.python:
        from dalembert.files.export.python_export import python_module

        return python_module(derivation)
    return str(derivation.latex() if form is OutputForm.latex else derivation.markdown())
