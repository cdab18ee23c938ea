"""The command line: quick, and its demo writes what it says."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

import dalembert
from dalembert.cli import app, main
from dalembert.studies import runner
from dalembert.studies.machines import crank_rocker
from dalembert.view.reports.pages import Text


def test_help_names_the_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(command in result.output for command in ("demo", "study", "doctor", "version"))


def test_version_is_the_package_version():
    assert CliRunner().invoke(app, ["version"]).output.strip() == dalembert.__version__


def test_doctor_names_the_engine():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "CasADi" in result.output


def test_an_error_is_one_message_without_a_traceback(monkeypatch, capsys, tmp_path):
    def fail(out):
        raise dalembert.errors.ModelError("unknown-name", "no joint named 'elbw'")

    monkeypatch.setattr(crank_rocker, "demo", fail)
    monkeypatch.setattr("sys.argv", ["dalembert", "demo", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == "ModelError: no joint named 'elbw'\n"


def test_demo_writes_a_figure_a_record_and_an_animation(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new" / "folder")])
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert names == ["crank-rocker.csv", "crank-rocker.html", "crank-rocker.png"]
    assert all(name in result.output for name in names)


def test_a_failed_demo_leaves_the_earlier_figure_untouched(monkeypatch, tmp_path):
    full = OSError("no space left on device")

    class Full:
        def savefig(self, path, **options):
            path.write_bytes(b"half a fig")
            raise full

    earlier = tmp_path / "crank-rocker.png"
    earlier.write_bytes(b"earlier")
    monkeypatch.setattr(dalembert, "plot", lambda *arguments: Full())
    with pytest.raises(OSError) as caught:
        crank_rocker.demo(tmp_path)
    assert caught.value is full
    assert [path.name for path in tmp_path.iterdir()] == ["crank-rocker.png"]
    assert earlier.read_bytes() == b"earlier"


def test_the_demo_meets_the_reference_angle():
    # 1e-6 m at the crank pin, 0.2 m from its joint: the finer of the two accuracies the benchmark compares at.
    run = crank_rocker.simulate()
    assert abs(run["A.angle"][-1] - crank_rocker.FINAL_ANGLE) < 1e-6 / 0.2


def test_study_list_names_every_study_with_what_it_shows():
    result = CliRunner().invoke(app, ["study", "list"])
    assert result.exit_code == 0
    assert all(name in result.output for name in runner.names())


def test_an_unknown_study_is_reported_with_the_known_ones(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["dalembert", "study", "shake-tabel", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "Did you mean 'shake-table'?" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_study_writes_results_report_and_figures_into_the_folder(tmp_path):
    out = tmp_path / "new" / "folder"
    result = CliRunner().invoke(app, ["study", "robot-arm", "--out", str(out)])
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    assert {"results.json", "report.html", "stabilization.png", "playback.png"} <= names
    assert all(f"wrote {out / name}" in result.output for name in names)


def test_study_all_prints_results_and_gives_every_study_a_folder_of_its_own(monkeypatch, tmp_path):
    def run(name, out, **_):
        found = {"modes": [{"frequency_hz": 3.681}], "fit_percent": 60.9}
        outcome = runner.Outcome(f"title of {name}", found, (Text("The first mode lies at 3.7 Hz."),))
        return runner.Written(name, outcome, (out / "results.json",))

    monkeypatch.setattr(runner, "run", run)
    result = CliRunner().invoke(app, ["study", "all", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert all(str(tmp_path / name / "results.json") in result.output for name in runner.names())
    assert all(f"title of {name}" in result.stdout for name in runner.names())
    count = len(runner.names())
    assert result.stdout.count("The first mode lies at 3.7 Hz.") == count
    assert len(re.findall(r"modes\.1\.frequency_hz +3\.681", result.stdout)) == count
    assert len(re.findall(r"fit_percent +60\.9", result.stdout)) == count
