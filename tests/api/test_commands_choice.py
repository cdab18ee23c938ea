"""From a file to believable modes in two commands, and back with poles of one's own choice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, run
from tests.helpers.commands import error_text as said
from tests.helpers.measured_frames import frame, measured


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of a test, and the page that the second command makes of it."""
    where = tmp_path_factory.mktemp("two")
    da.write_record(measured(2000), where / "test.csv")
    return where


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    looked = run("look", folder / "test.csv")
    assert looked.exit_code == 0 and "drives: force" in looked.stdout, looked.output
    result = run("identify", folder / "test.csv", "--report", folder / "modes.html")
    assert result.exit_code == 0, result.output
    for f in frame().modes().frequencies_hz:
        assert f"{f:.2f}"[:-1] in result.stdout
    return (folder / "modes.html").read_text("utf-8")


@pytest.fixture(scope="module")
def choice(page: str) -> dict[str, Any]:
    """The choice of the sound modes, made of the data of the page as its script makes it."""
    import base64

    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    hz, zeta = (np.frombuffer(base64.b64decode(data["poles"][key]["f4"]), "<f4") for key in ("hz", "damping"))
    poles = [
        {"order": data["poles"]["order"][k], "frequency_hz": float(hz[k]), "damping_ratio": float(zeta[k])}
        for k in data["first"]
    ]
    return {**data["choice"], "poles": poles}


def test_the_page_has_what_a_test_engineer_looks_for(page: str) -> None:
    parts = ("3 modes are sound", 'class="workbench"', "Sound modes", "MAC, nearest", "Steps and reasons",
             "Cross-validation", "Provenance")  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "file test.csv (SHA-256)" in page and "script-src 'sha256-" in page


@pytest.mark.slow
def test_a_choice_gives_its_poles_in_every_form_of_output(folder: Path, choice: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    file.write_text(json.dumps(choice), "utf-8")
    files = ["--report", tmp_path / "chosen.html", "--out", tmp_path / "model.npz"]
    found = document("identify", folder / "test.csv", "--choice", file, *files)
    assert [mode["class"] for mode in found["modes"]] == ["chosen"] * 3
    wanted = [pole["frequency_hz"] for pole in choice["poles"]]
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(wanted, rel=1e-6)  # single precision
    assert all(mode["frequency_deviation_hz"] > 0.0 for mode in found["modes"])
    assert found["fit_percent"]["held_out"] > 90.0
    assert np.load(tmp_path / "model.npz", allow_pickle=False)["A"].shape == (6, 6)
    assert "Chosen modes" in (tmp_path / "chosen.html").read_text("utf-8")


def test_other_data_of_the_same_channels_are_reported(choice: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    record = da.read_record(folder / "test.csv")
    data = np.array(record.data)
    data[0, 1] *= 1.0001
    da.write_record(
        da.Record(record.time, data, record.names, [record.units[n] for n in record.names]), tmp_path / "test.csv"
    )
    (tmp_path / "choice.json").write_text(json.dumps(choice), "utf-8")
    result = run("identify", tmp_path / "test.csv", "--choice", tmp_path / "choice.json")
    assert result.exit_code == 0, result.output
    assert "SHA-256 differs" in said(result) and "chosen" in result.stdout


@pytest.mark.parametrize(
    ("change", "options", "code", "words"),
    [
        ({"poles": []}, [], 2, "no poles"),
        ({"version": 9}, [], 2, "version"),
        ({"schema": "x"}, [], 2, "dalembert-choice"),
        (None, [], 2, "no such file"),
        ("{", [], 2, "JSON"),
        ("[" * 20_000, [], 2, "JSON"),
        (" " * 1_000_001, [], 2, "bytes"),
        ({}, ["--method", "n4sid", "--inputs", "force"], 2, "method auto"),
        ({"outputs": ["a1"]}, ["--inputs", "force"], 1, "outputs"),
    ],
    ids=lambda value: str(value)[:24],
)  # fmt: skip
def test_a_choice_that_cannot_be_used_is_answered_with_the_reason(
    folder: Path, choice: dict[str, Any], tmp_path: Path, change: Any, options: list[str], code: int, words: str
) -> None:
    file = tmp_path / "choice.json"
    if change is not None:
        file.write_text(change if isinstance(change, str) else json.dumps({**choice, **change}), "utf-8")
    result = run("identify", folder / "test.csv", "--choice", file, *options)
    assert result.exit_code == code, result.output
    assert words in said(result) and "Traceback" not in result.stderr and result.stdout == ""
