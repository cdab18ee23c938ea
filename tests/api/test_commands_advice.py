"""What a command advises can be typed into that command: no message of the library reaches the shell as Python."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.app.command_line.advice import words
from dalembert.app.command_line.exit_codes import report_errors
from dalembert.core.errors import DataError, SimulationWarning
from dalembert.core.findings import Advice, Argument, Call
from tests.helpers.commands import error_text, run
from tests.helpers.repetitions import few


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


@pytest.mark.slow
def test_a_filter_that_lacks_an_input_says_how_to_do_without(tmp_path: Path) -> None:
    record = da.simulate(da.equations(da.read_model("four-bar")), until=0.1).select("encoder")
    da.write_record(record, tmp_path / "a.csv")
    options = ("estimate", "four-bar", tmp_path / "a.csv", "--Q", 1e-6, "--R", 1e-4)
    missing = run(*options)
    assert missing.exit_code == 1
    assert "lacks the input 'torque'" in error_text(missing)
    assert "--inputs NAMES" in error_text(missing)
    assert run(*options, "--inputs", "").exit_code == 0


@pytest.mark.parametrize("method", few(["moesp", "auto", "ssi-cov"]))
def test_the_report_advises_options_too(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    force = rng.standard_normal(3000)
    system = da.StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.01, inputs="force", outputs="a")
    record = da.Record.from_channels(0.01 * np.arange(3000), {"force": force})
    drifting = system.response(record)["a"] + 0.01 * rng.standard_normal(3000) + 40.0 * np.linspace(0.0, 1.0, 3000)
    data, page = tmp_path / "hammer.csv", tmp_path / "hammer.html"
    da.write_record(da.Record.from_channels(record.time, {"force": force, "a": drifting}), data)
    inputs = "none" if method == "ssi-cov" else "force"
    result = run("identify", data, "--inputs", inputs, "--method", method, "--order", 2, "--report", page)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    warnings_shown = text[text.index(">Warnings<") :].partition("<h2")[0]
    assert "--detrend" in warnings_shown and "detrend=" not in text and "da.identify" not in text
