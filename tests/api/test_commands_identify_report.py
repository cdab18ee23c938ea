"""``dalembert identify``: one numbering, channels of a choice, and the origin in its report."""

from __future__ import annotations

import html
import io
import json
import re
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.app.command_line import terminal
from tests.helpers.commands import document, run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A multisine force of 2 to 15 Hz on three modes, 64 samples a second."""
    from scipy.signal import cont2discrete, dlsim

    rng = np.random.default_rng(1)
    rate, samples, period = 64.0, 8192, 2048
    lines = np.arange(int(2 * period / rate), int(15 * period / rate))
    spectrum = np.zeros(period // 2 + 1, dtype=complex)
    spectrum[lines] = np.exp(2j * np.pi * rng.random(lines.size))
    force = np.tile(np.fft.irfft(spectrum), samples // period)
    force /= force.std()
    motion = np.zeros((samples, 2))
    for hertz, damping, shape in ((5.19, 0.01, (1, 0.6)), (7.3, 0.012, (0.4, -1)), (12.35, 0.011, (-0.5, 0.9))):
        w = 2 * np.pi * hertz
        A, C = np.array([[0, 1], [-w * w, -2 * damping * w]]), np.array([[-w * w, -2 * damping * w]])
        parts = cont2discrete((A, np.array([[0], [1.0]]), C, np.array([[1.0]])), 1 / rate)
        motion += dlsim((*parts[:4], 1 / rate), force)[1] * np.array(shape)
    motion += 0.02 * motion.std(axis=0) * rng.normal(size=motion.shape)
    names = ["Force", "wing_tip_of_the_left_side_X", "wing_tip_of_the_left_side_Y"]
    data = np.column_stack([force + 1e-3 * rng.normal(size=samples), motion])
    path = tmp_path_factory.mktemp("gvt") / "gvt.csv"
    da.write_record(da.Record(np.arange(samples) / rate, data, names, ["N", "m/s^2", "m/s^2"]), path)
    return path


@pytest.fixture(scope="module")
def page(table: Path) -> str:
    out = table.with_suffix(".html")
    result = run("identify", table, "--report", out)
    assert result.exit_code == 0, result.output
    return out.read_text(encoding="utf-8")


def test_the_report_names_file_date_and_command(page: str) -> None:
    title = re.search(r"<h1[^>]*>(.*?)</h1>\s*<p[^>]*><code>(.*?)</code></p>", page)
    assert title and re.fullmatch(r"Identification of gvt.csv, \d{4}-\d\d-\d\d", title[1])
    assert html.unescape(title[2]) == terminal.command_line() and "made" in page


def test_only_lines_that_the_input_excites_judge_the_fit(table: Path) -> None:
    from dalembert.identify import auto
    from dalembert.view.reports.identification.workbench import evidence_of_auto, workbench_data

    data = workbench_data(evidence_of_auto(auto(da.read_record(table), "Force")), spots=None, files=None)
    assert data is not None
    hertz, excited = np.array(data["response"]["hz"]), np.array(data["response"]["excited"])
    # two lines of the spectrum, each 0.03 Hz, beside either end of the band
    assert excited[(hertz > 2.2) & (hertz < 14.8)].all()
    assert not excited[(hertz < 1.5) | (hertz > 15.5)].any()


def test_modes_have_one_number_in_shell_and_figures(table: Path) -> None:
    found = document("identify", table)["modes"]
    by_frequency = sorted(found, key=lambda mode: mode["frequency_hz"])
    assert [mode["number"] for mode in by_frequency] == list(range(1, len(found) + 1))
    modes = da.identify.auto(da.read_record(table), "Force").modes
    figure = da.plot(modes, view="mac", mode=[1, 3])
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["1", "3"]
    assert [text.get_text().split()[0] for text in figure.axes[0].get_yticklabels()] == ["1", "3"]


def test_a_choice_brings_its_channels(table: Path, tmp_path: Path) -> None:
    result = da.identify.auto(da.read_record(table), "Force", "wing_tip_of_the_left_side_X")
    drawn = result.stabilization
    k = int(np.flatnonzero(drawn.labels == drawn.labels.max())[0])
    rows = result.identified.subspace.rows
    choice = {
        "schema": "dalembert-choice", "version": 1, "inputs": ["Force"], "outputs": ["wing_tip_of_the_left_side_X"],
        "sample_time": result.identified.dt, "diagram": {"method": drawn.method, "rows": rows},
        "poles": [{"order": int(drawn.orders[k]), "frequency_hz": float(drawn.frequencies_hz[k]),
                   "damping_ratio": float(drawn.damping_ratios[k])}],
    }  # fmt: skip
    (tmp_path / "choice.json").write_text(json.dumps(choice))
    found = document("identify", table, "--choice", tmp_path / "choice.json")
    assert found["outputs"] == ["wing_tip_of_the_left_side_X"] and found["modes"][0]["class"] == "chosen"


def test_doctor_lists_every_extra() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {key: value for key, value in project["optional-dependencies"].items() if key not in ("dev", "bench")}
    wanted = {re.split(r"[\[<>=]", one)[0].lower() for group in extras.values() for one in group}
    assert wanted <= {name.lower() for name in document("doctor")["optional"]}


def test_a_search_for_modes_shows_that_it_goes_on_after_two_seconds(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for needed, wanted in ((0.0, False), (0.3, True)):
        screen = Screen()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            with terminal.show_waiting("searching", after=0.1):
                time.sleep(needed)
        assert ("searching" in screen.getvalue()) == wanted
    waited: list[float] = []
    monkeypatch.setattr(terminal, "show_waiting", lambda text, after: waited.append(after) or nullcontext())
    assert run("identify", table, "--order", 6, "--method", "n4sid").exit_code == 0 and waited == [2.0]
