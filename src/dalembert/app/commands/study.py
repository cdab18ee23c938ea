"""``study``: case studies with their results and reports."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command

MOST_IN_A_ROW = 8  # numbers of a list


def studies(incomplete: str) -> list[str]:
    """Names for the shell's completion."""
    from dalembert.studies import runner

    return [name for name in ("list", "all", *runner.names()) if name.startswith(incomplete)]


@command("To begin with", position=2)
def study(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A study; `list` shows them, `all` runs them all.", autocompletion=studies),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for report, figures, animation, results.json; study-output/NAME.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A record of measurements, for a study that takes one: tudor.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a case study; write its results, figures, an animation and a report.

    Example: dalembert study shake-table --out shake

    JSON: {"studies": [{"study", "title", "files", "results"}]}; of `list`: {"studies": [{"study", "about"}]}.
    """
    from dalembert.studies import runner

    if name == "list":
        if as_json:
            terminal.give({"studies": [{"study": k, "about": about} for k, (_, about) in runner.STUDIES.items()]})
        else:
            rows = [(key, about) for key, (_, about) in runner.STUDIES.items()]
            terminal.show_table("Studies", ("study", "subject"), rows, left=(0, 1))
        return
    base = Path("study-output") if out is None else out
    chosen = runner.names() if name == "all" else (name,)
    tables: list[dict[str, Any]] = []
    for k, study_name in enumerate(chosen):
        where = f" ({k + 1} of {len(chosen)})" if len(chosen) > 1 else ""
        if where and not as_json:
            terminal.say(f"study {study_name}{where}")
        folder = base / study_name if name == "all" or out is None else base
        written = runner.run(study_name, folder, data=data, progress=terminal.progress())
        results = runner.plain(written.outcome.results)
        if not as_json:
            show_results(written.outcome.title, runner.summary(written.outcome), results)
        terminal.report_written(*written.files)
        tables.append({"study": study_name, "title": written.outcome.title, "files": written.files, "results": results})
    if as_json:
        terminal.give({"studies": tables})


def show_results(title: str, summary: str, results: dict[str, Any]) -> None:
    """Print the findings in words, then the numbers."""
    terminal.show(title)
    if summary:
        terminal.show(textwrap.fill(summary, width=100))
    rows = list(flatten(results))
    terminal.show_table("Results", ("quantity", "value"), rows[:40], left=(0, 1))
    if hidden := rows[40:]:
        terminal.say(f"{len(hidden)} more in results.json")


def flatten(results: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Results by their full names; short lists of numbers in one row, long ones by their size.

    Examples
    --------
    >>> list(flatten({"modes": [{"hz": 1.0}, {"hz": 2.5}], "fit": [1, 2], "run": [0.0] * 100}))
    [('modes.1.hz', '1'), ('modes.2.hz', '2.5'), ('fit', '1  2'), ('run', '100 values')]
    """
    if isinstance(results, dict):
        for key, value in results.items():
            yield from flatten(value, f"{name}.{key}" if name else str(key))
    elif isinstance(results, list) and any(isinstance(result, dict | list) for result in results):
        for k, value in enumerate(results, start=1):
            yield from flatten(value, f"{name}.{k}")
    elif isinstance(results, list):
        short = len(results) <= MOST_IN_A_ROW
        yield name, "  ".join(format_value(result) for result in results) if short else f"{len(results)} values"
    else:
        yield name, format_value(results)


def format_value(value: Any) -> str:
    return terminal.number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
