"""What a command advises can be typed into that command: no message of the library reaches the shell as Python."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer.main

import dalembert as da
from dalembert.app.command_line import terminal
from dalembert.app.command_line.advice import in_options, without_python
from dalembert.app.command_line.exit_codes import report_errors
from dalembert.cli import app
from tests.helpers.commands import run
from tests.helpers.commands import told as said

SOURCE = Path(da.__file__).parent
ROOMS = ("identify", "estimate", "solve", "record", "files", "sweeps", "mechanics", "model", "linear", "equations")
CODE = re.compile(r"\bda\.\w|\bidentify\.\w|\brecord\.\w+\(|(?<![\w.'\"`{-])[A-Za-z_]\w*=(?!=)")
ERRORS = ("DataError", "ModelError", "ConvergenceError", "AssemblyError", "FileFormatError", "Finding")


def options_of(name: str) -> list[str]:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return [one for parameter in command.params for one in parameter.opts if one.startswith("--")]


def problems() -> Iterator[tuple[str, str]]:
    """Place and problem of every finding of the library, with words for each value in it."""
    for room in ROOMS:
        files = [SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).rglob("*.py"))
        for file in files:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if not (isinstance(node, ast.Call) and len(node.args) > 1):
                    continue
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in ERRORS:
                    yield f"{file.relative_to(SOURCE)}:{node.lineno}", written(node.args[1])


def written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) if isinstance(part, ast.Constant) else "some value" for part in node.values)
    if isinstance(node, ast.BinOp):
        return written(node.left) + written(node.right)
    return ""


def test_no_problem_names_python_so_that_commands_can_show_it() -> None:
    """Python stands in the advice, which a command shows in its own options or leaves out."""
    found = list(problems())
    assert len(found) > 500  # else this looks at nothing
    assert [(place, text) for place, text in found if CODE.search(text)] == []


def test_advice_that_is_no_option_is_left_out_and_the_rest_stays() -> None:
    text = "output 'a' drifts. Use detrend='linear', or identify.highpass."
    assert in_options(text, ["--detrend"]) == "output 'a' drifts."
    assert without_python("2 of 3 joints are open.") == "2 of 3 joints are open."


@pytest.fixture(scope="module")
def dropouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with four samples lost, and an offset."""
    rng = np.random.default_rng(3)
    force = rng.standard_normal(3000)
    system = da.StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.01, inputs="force", outputs="a")
    record = da.Record.from_channels(0.01 * np.arange(3000), {"force": force})
    a = system.response(record)["a"] + 0.01 * rng.standard_normal(3000)
    a[700:704] = np.nan
    file = tmp_path_factory.mktemp("dropouts") / "hammer.csv"
    da.write_record(da.Record.from_channels(record.time, {"force": force, "a": a}), file)
    return file


def test_a_dropout_is_mended_by_the_option_that_the_message_names(dropouts: Path) -> None:
    refused = run("identify", dropouts, "--inputs", "force", "--order", 2, "--method", "moesp")
    assert refused.exit_code == 1
    assert "--repair" in said(refused) and "identify." not in said(refused)
    mended = run("identify", dropouts, "--inputs", "force", "--order", 2, "--method", "moesp", "--repair")
    assert mended.exit_code == 0
    assert "4 of 6000 samples replaced" in said(mended)


def test_a_stretch_and_block_rows_are_options(dropouts: Path) -> None:
    part = run(
        "identify", dropouts, "--inputs", "force", "--order", 2, "--method", "moesp", "--between", "8:", "--rows", 12
    )
    assert part.exit_code == 0, part.output
    wrong = run("identify", dropouts, "--inputs", "force", "--between", "8")
    assert wrong.exit_code == 2 and "FROM:TO" in said(wrong)


def test_warnings_are_given_once_and_advise_options(capsys: pytest.CaptureFixture[str]) -> None:
    text = "the decay is odd. Use noise='innovations', or another one. Use order=4."
    with report_errors(False, False, ["--order"]):
        warnings.warn(text, stacklevel=2)
        terminal.warn(text)  # of the result, as `identify` prints it
    assert capsys.readouterr().err == "warning: the decay is odd. Use --order 4.\n"


def test_a_filter_that_lacks_an_input_says_how_to_do_without(tmp_path: Path) -> None:
    record = da.simulate(da.equations(da.read_model("four-bar")), until=0.1).select("encoder")
    da.write_record(record, tmp_path / "a.csv")
    options = ("estimate", "four-bar", tmp_path / "a.csv", "--Q", 1e-6, "--R", 1e-4)
    missing = run(*options)
    assert missing.exit_code == 1
    assert "lacks the input 'torque'" in said(missing)
    assert "--inputs NAMES" in said(missing)
    assert run(*options, "--inputs", "").exit_code == 0
