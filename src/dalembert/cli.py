"""The command line. No science in here, and nothing heavy imported before a command needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dalembert.errors import DalembertError

app = typer.Typer(
    name="dalembert",
    help="Machines of rigid and flexible bodies: motion, identification, estimation and control.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for figure, record and animation.")] = Path("demo-output"),
) -> None:
    """Simulate a crank-rocker for ten seconds; write a figure, a record and an animation."""
    from rich.console import Console
    from rich.table import Table

    from dalembert.studies import crank_rocker

    result = crank_rocker.demo(out)
    table = Table("quantity", "value", "unit", title="Crank-rocker four-bar, 10 s", title_justify="left")
    for quantity, value, unit in result.rows:
        table.add_row(quantity, value, unit)
    console = Console()
    console.print(table)
    for path in result.files:
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="A study; `list` shows them, `all` runs them all.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for results.json, report.html and figures; study-output/NAME.")
    ] = None,
) -> None:
    """Run a case study; write its results, figures and a report."""
    from rich.console import Console
    from rich.table import Table

    from dalembert.studies import runner

    console = Console()
    if name == "list":
        table = Table("study", "what it shows")
        for key, (_, about) in runner.STUDIES.items():
            table.add_row(key, about)
        console.print(table)
        return
    base = Path("study-output") if out is None else out
    chosen = runner.names() if name == "all" else (name,)
    for one in chosen:
        written = runner.run(one, base / one if name == "all" or out is None else base)
        console.print(written.outcome.title, style="bold", highlight=False, soft_wrap=True)
        for path in written.files:
            console.print(f"wrote {path}", highlight=False, soft_wrap=True, markup=False)


@app.command()
def doctor() -> None:
    """Tell what this installation computes with: engine, compiler, cache."""
    from dalembert.expressions import doctor as examine

    typer.echo(examine())


@app.command()
def version() -> None:
    """Print the version."""
    from dalembert import __version__

    typer.echo(__version__)


def main() -> None:
    """Run the command line; an error made for people is shown as one message, without a traceback."""
    try:
        app()
    except DalembertError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(2)
