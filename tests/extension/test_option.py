"""A new option is one annotation: check, error, docstring and help of a command follow from it."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.testing import CliRunner

import dalembert as da
from dalembert.core.declare import between, checked, declarations
from tests.helpers.findings import raises

Share = Annotated[float, between(0.0, 0.5), "share of the data kept for validation"]


@checked
def split(samples: int, share: Share = 0.25) -> int:
    """Samples that are kept."""
    return round(samples * share)


def test_an_option_is_checked_documented_and_offered_by_a_command_from_one_declaration() -> None:
    assert split(100) == 25 and split(100, 0.5) == 50
    with raises(da.errors.DataError, "out-of-range", "share", "0.5") as caught:
        split(100, 0.7)
    assert caught.value.where == {"argument": "share"}
    text = declarations(split)["share"].text()
    assert text == "share of the data kept for validation; a number from 0 to 0.5"
    assert text in (split.__doc__ or "")

    def command(share: Annotated[float, typer.Option(help=text)] = 0.25) -> None: ...

    app = typer.Typer()
    command.__annotations__["share"] = Annotated[float, typer.Option(help=text)]
    app.command()(command)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    assert "kept for validation" in shown
