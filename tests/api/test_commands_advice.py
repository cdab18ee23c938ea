"""What a command advises can be typed into that command: no message of the library reaches the shell as Python."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.app.command_line.advice import words
from dalembert.app.command_line.exit_codes import report_errors
from dalembert.core.codes import CODES
from dalembert.core.errors import DataError, SimulationWarning
from dalembert.core.findings import Advice, Argument, Call
from tests.helpers.commands import error_text, run

SOURCE = Path(da.__file__).parent
PYTHON = re.compile(r"\bda\.\w|\bidentify\.\w|\brecord\.\w+\(|(?<![\w.'\"`{-])[A-Za-z_]\w*=(?!=)")
CARRIERS = re.compile(r"\w+(Error|Warning)|Interrupted|Finding")
BEYOND = {"ValueError", "TypeError", "AttributeError", "KeyError", "RuntimeError", "OSError", "AssertionError"}
BEYOND |= {"ArithmeticError", "LinAlgError", "PageError"}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Every call in the package, with its place and the name of what is called."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                found.append((f"{file.relative_to(SOURCE)}:{node.lineno}", name, node))
    return found


def written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) if isinstance(part, ast.Constant) else "some value" for part in node.values)
    if isinstance(node, ast.BinOp):
        return written(node.left) + written(node.right)
    return ""


def carriers() -> Iterator[tuple[str, ast.Call]]:
    """Calls that make an error, a warning or a finding of this package."""
    for place, name, node in calls():
        own = CARRIERS.fullmatch(name) and name not in BEYOND and not name.startswith(("Pydantic", "Validation"))
        if own and node.args and not isinstance(node.args[0], ast.Starred):
            yield place, node


def test_every_error_and_warning_has_a_code_that_is_explained() -> None:
    wrong = []
    for place, node in carriers():
        first = node.args[0]
        if isinstance(first, ast.Constant | ast.JoinedStr) and written(first) not in CODES:
            wrong.append(f"{place}: {written(first)[:80]}")
    assert not wrong, "\n".join(wrong)


def test_no_problem_and_no_advice_is_written_in_python() -> None:
    texts = [(place, written(node.args[1])) for place, node in carriers() if len(node.args) > 1]
    texts += [(place, written(node.args[0])) for place, name, node in calls() if name == "Advice" and node.args]
    assert len(texts) > 1000  # else this looks at nothing
    wrong = [f"{place}: {text}" for place, text in texts if PYTHON.search(text)]
    assert not wrong, "\n".join(wrong)


def test_an_advice_has_one_place_for_its_parts() -> None:
    """Any of the parts helps, so that all of them stand there: two places would repeat them."""
    sentences = [(place, written(node.args[0])) for place, name, node in calls() if name == "Advice" and node.args]
    wrong = [f"{place}: {text}" for place, text in sentences if text.count("{}") > 1]
    assert not wrong, "\n".join(wrong)


def test_advice_that_is_no_option_is_left_out_and_the_rest_stays() -> None:
    drift = DataError("drift", "output 'a' drifts.", Advice("Use {}.", Call("da.identify.highpass")), Advice("Wait."))
    assert words(drift, ["--detrend"]) == "output 'a' drifts. Wait."
    again = DataError("drift", "output 'a' drifts.", Advice("Use {}.", Argument("detrend", "linear"), Call("da.f")))
    assert words(again, ["--detrend"]) == "output 'a' drifts. Use --detrend linear."


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
    assert "--repair" in error_text(refused) and "identify." not in error_text(refused)
    mended = run("identify", dropouts, "--inputs", "force", "--order", 2, "--method", "moesp", "--repair")
    assert mended.exit_code == 0
    assert "4 of 6000 samples replaced" in error_text(mended)


def test_a_stretch_and_block_rows_are_options(dropouts: Path) -> None:
    part = run(
        "identify", dropouts, "--inputs", "force", "--order", 2, "--method", "moesp", "--between", "8:", "--rows", 12
    )
    assert part.exit_code == 0, part.output
    wrong = run("identify", dropouts, "--inputs", "force", "--between", "8")
    assert wrong.exit_code == 2 and "FROM:TO" in error_text(wrong)


def test_warnings_are_given_once_and_advise_options(capsys: pytest.CaptureFixture[str]) -> None:
    advice = Advice("Use {}.", Argument("noise", "innovations")), Advice("Use {}.", Argument("order", 4))
    with report_errors(False, False, ["--order"]):
        for _ in range(2):
            warnings.warn(SimulationWarning("drift", "the decay is odd.", *advice), stacklevel=2)
    assert capsys.readouterr().err == "warning: the decay is odd. Use --order 4.\n"


def test_a_filter_that_lacks_an_input_says_how_to_do_without(tmp_path: Path) -> None:
    record = da.simulate(da.equations(da.read_model("four-bar")), until=0.1).select("encoder")
    da.write_record(record, tmp_path / "a.csv")
    options = ("estimate", "four-bar", tmp_path / "a.csv", "--Q", 1e-6, "--R", 1e-4)
    missing = run(*options)
    assert missing.exit_code == 1
    assert "lacks the input 'torque'" in error_text(missing)
    assert "--inputs NAMES" in error_text(missing)
    assert run(*options, "--inputs", "").exit_code == 0
