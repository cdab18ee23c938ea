"""Commands on model files: new, library, schema; and on this installation: doctor, version; demo and study."""

from __future__ import annotations

import json

import pytest

import dalembert as da
from dalembert.app.command_line.model_options import complete_model, ready
from dalembert.files import list_models
from dalembert.studies import runner
from tests.helpers.commands import document, installed, run


def test_a_new_model_reads_runs_and_is_commented(tmp_path):
    result = installed("new", "my-arm", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    file = tmp_path / "my-arm.toml"
    assert da.read_model(file).name == "my-arm"
    assert file.read_text().count("#") > 15
    found = document("simulate", file)
    assert found["end"] == 20.0 and "pivot.angle" in found["channels"]
    assert document("modes", file)["modes"][-1]["damping_ratio"] > 0  # the load sways; the trolley is free
    assert document("equilibrium", file)["stability"] == "stable"
    assert document("animate", file, "--until", 0.2, "--out", tmp_path / "arm.html")["samples"] > 1
    assert document("linearize", file)["inputs"] == ["drive"]


def test_a_new_model_may_begin_with_one_of_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert document("new", "mine", "--like", "slider-crank")["files"] == ["mine.toml"]
    assert da.read_model("mine.toml").name == "mine"
    assert document("new", "arm", "--like", "seven-joint-arm")["files"] == ["arm.urdf"]
    assert da.read_model("arm.urdf").name == "arm"


def test_new_writes_over_nothing_unless_forced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("precious")
    refused = run("new", "mine")
    assert refused.exit_code == 2 and "--force" in refused.stderr
    assert (tmp_path / "mine.toml").read_text() == "precious"
    assert run("new", "mine", "--force").exit_code == 0
    assert da.read_model(tmp_path / "mine.toml").name == "mine"


@pytest.mark.parametrize(("name", "code"), [("-x", 2), ('a"b', 2), ("", 2), ("no/such/folder/arm", 2)])
def test_new_refuses_names_that_cannot_be(tmp_path, monkeypatch, name, code):
    monkeypatch.chdir(tmp_path)
    result = run("new", name)
    assert result.exit_code == code and "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_new_reports_an_unknown_model_to_begin_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("new", "mine", "--like", "four-br")
    assert result.exit_code == 1 and "Did you mean 'four-bar'?" in result.stderr


def test_the_library_lists_every_machine_with_what_it_is():
    models = document("library")["models"]
    assert tuple(one["name"] for one in models) == list_models() == tuple(ready())
    assert all(one["description"] for one in models)


def test_the_library_shows_the_file_of_a_machine():
    assert 'name = "pendulum"' in run("library", "pendulum").stdout
    assert run("library", "pendulumm").exit_code == 1


def test_listing_the_library_loads_nothing_numerical():
    import subprocess
    import sys

    home = "dalembert.app.command_line.model_options"
    code = f"import sys\nfrom {home} import complete_model\ncomplete_model('f')\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "casadi", "pydantic"} & set(loaded)


def test_the_shell_is_offered_library_models_files_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "four.toml").write_text("")
    (tmp_path / "other.csv").write_text("")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "arm.toml").write_text("")
    assert complete_model("fo") == ["four-bar", "four.toml"]
    assert complete_model("models/") == ["models/arm.toml"]
    assert complete_model("mod") == ["models/"]


def test_the_schema_is_a_json_schema_of_model_files(tmp_path):
    schema = json.loads(run("schema").stdout)
    assert "bodies" in schema["properties"] and "joints" in schema["properties"]
    assert run("schema", "--out", tmp_path / "model.schema.json").exit_code == 0
    assert json.loads((tmp_path / "model.schema.json").read_text()) == schema
    assert run("schema", "--out", tmp_path / "no" / "folder.json").exit_code == 2


def test_doctor_reports_versions_engine_and_optional_packages():
    found = document("doctor")
    assert found["versions"]["dalembert"] == da.__version__
    assert set(found) == {"versions", "engine", "animation", "browser", "optional", "kinds"}
    result = run("doctor")
    assert "CasADi" in result.stdout and "h5netcdf" in result.stdout


def test_doctor_says_how_to_get_what_is_missing(monkeypatch):
    from dalembert.app.commands import doctor

    monkeypatch.setattr(doctor, "_version", lambda package, module: None)
    assert 'pip install "dalembert[netcdf]"' in run("doctor").stdout


def test_version_as_json():
    assert document("version") == {"version": da.__version__}


@pytest.mark.slow
def test_the_demo_as_json_names_its_files(tmp_path):
    result = installed("demo", "--out", tmp_path / "demo", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert {row["quantity"] for row in found["results"]} >= {"final crank angle", "reference"}
    assert all((tmp_path / "demo" / name).exists() for name in ("crank-rocker.html", "crank-rocker.csv"))


def test_the_demo_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code == 2 and "Traceback" not in result.stderr


@pytest.mark.slow
def test_studies_are_listed_through_the_entry_point():
    result = installed("study", "list", "--json")
    assert result.returncode == 0
    assert [one["study"] for one in json.loads(result.stdout)["studies"]] == list(runner.names())


def test_a_study_as_json_holds_its_results(monkeypatch, tmp_path):
    def run_(name, out, **_):
        return runner.Written(name, runner.Outcome("A title", {"f": 1.5}, ()), (out / "results.json",))

    monkeypatch.setattr(runner, "run", run_)
    found = document("study", "robot-arm", "--out", tmp_path)
    assert found == {
        "studies": [
            {
                "study": "robot-arm", "title": "A title", "files": [str(tmp_path / "results.json")],
                "results": {"f": 1.5},
            }
        ]
    }  # fmt: skip


def test_numbers_of_the_demo_are_numbers_for_programs(monkeypatch, tmp_path):
    from dalembert.studies.machines import crank_rocker

    rows = (("difference", "1.0e-09", "rad"), ("steps", "731", ""), ("events", "-", ""))
    monkeypatch.setattr(crank_rocker, "demo", lambda out: crank_rocker.DemoResult(rows=rows, files=(), record=None))
    assert [one["value"] for one in document("demo", "--out", tmp_path)["results"]] == [1e-9, 731, None]
