"""``dalembert modes`` with files of modes, and geometries in ``dalembert identify``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, error_text, run
from tests.helpers.storey_frame import FLOORS, played, sampled_frame, storey_frame, white

MACHINE = "building-pendulum"
PLACES = "name,x,y,z,direction,to\nground,0,0,0,,a1\na1,0,0,0.23,x,a2\na2,0,0,0.51,x,a3\na3,0,0,0.74,x,\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modes")
    shapes = storey_frame().modes()
    da.write_modes(da.linear.Modes(shapes.eigenvalues, shapes.shapes, FLOORS), folder / "frame.csv")
    (folder / "machine.json").write_text(json.dumps(document("modes", MACHINE)))
    (folder / "places.csv").write_text(PLACES)
    da.write_record(played(sampled_frame(), white(1024, seed=3), noise=0.01, seed=3), folder / "record.csv")
    return folder


def test_modes_of_a_machine_agree_with_their_own_file(files: Path) -> None:
    found = document("modes", MACHINE, "--compare", files / "machine.json", "--out", files / "mac.png")
    count = len(found["pairs"])
    np.testing.assert_allclose([pair["mac"] for pair in found["pairs"]], 1.0, atol=1e-9)
    np.testing.assert_allclose([pair["error_percent"] for pair in found["pairs"]], 0.0, atol=1e-9)
    assert [pair["partner"] for pair in found["pairs"]] == list(range(1, count + 1))
    assert np.shape(found["mac"]) == (count, count) and len(found["comac"]) == len(found["coordinates"])
    assert (files / "mac.png").read_bytes().startswith(b"\x89PNG")
    shown = run("modes", MACHINE, "--compare", files / "machine.json")
    assert shown.exit_code == 0 and "MAC" in shown.output and "COMAC" in shown.output


def test_sensors_of_a_machine_are_compared_by_a_map(files: Path, tmp_path: Path) -> None:
    """The tip of a pendulum of 1 m moves by its angle times its length, against the sensor."""
    own = document("modes", "double-pendulum")
    first = own["modes"][0]
    angle = dict(zip(own["coordinates"], first["shape"], strict=True))
    row = [1, 1.1 * first["frequency_hz"], 0, angle["shoulder.angle"], -angle["elbow.angle"]]
    (tmp_path / "m.csv").write_text("mode,f [Hz],zeta,s1,s2\n" + ",".join(map(str, row)) + "\n")
    names = ["--map", "s1=shoulder.angle", "--map", "s2=-elbow.angle"]
    found = document("modes", "double-pendulum", "--compare", tmp_path / "m.csv", *names)
    (pair,) = found["pairs"]
    assert pair["partner"] == 1 and pair["mac"] == pytest.approx(1.0)
    assert pair["error_percent"] == pytest.approx(100 * (1 - 1 / 1.1))
    refused = run("modes", "double-pendulum", "--compare", tmp_path / "m.csv")
    assert refused.exit_code != 0 and "--map" in error_text(refused)


def test_a_file_of_modes_is_shown_and_its_shapes_move_on_the_geometry(files: Path, tmp_path: Path) -> None:
    shown = run("modes", files / "frame.csv")
    assert shown.exit_code == 0 and "2.0011" in shown.output
    moved = run("modes", files / "frame.csv", "--places", files / "places.csv", "--out", tmp_path / "m.html")
    assert moved.exit_code == 0
    assert (tmp_path / "m.html").stat().st_size > 10_000
    assert run("modes", files / "frame.csv", "--out", tmp_path / "m.html").exit_code == 2
    assert run("modes", files / "frame.csv", "--set", "a=1").exit_code == 2
    assert run("modes", MACHINE, "--places", files / "places.csv").exit_code == 2
    assert run("modes", MACHINE, "--map", "a=b").exit_code == 2


def test_an_identified_model_is_compared_with_a_modal_file(files: Path, tmp_path: Path) -> None:
    """Noise of 1 % leaves frequencies within 0.1 % here (their deviations are 0.03 % and less)."""
    arguments = ["--inputs", "force", "--order", 6, "--out", tmp_path / "fit.json"]
    assert run("identify", files / "record.csv", *arguments).exit_code == 0
    found = document("modes", tmp_path / "fit.json", "--compare", files / "frame.csv")
    assert [pair["partner"] is not None for pair in found["pairs"]] == [True] * 3
    assert max(pair["error_percent"] for pair in found["pairs"]) < 0.1
    assert min(pair["mac"] for pair in found["pairs"]) > 0.999
    modes = da.read_modes(tmp_path / "fit.json")
    assert modes.frequency_deviations_hz is not None and set(modes.provenance["classes"]) == {"sound"}


@pytest.mark.slow
def test_a_report_plays_the_shapes_on_the_geometry_of_a_file(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    places = ["--places", files / "places.csv", "--place", "a3=0,0,0.8,x"]
    made = run("identify", files / "record.csv", "--inputs", "force", "--order", 6, "--report", page, *places)
    assert made.exit_code == 0, made.output
    assert "identified modes" in page.read_text("utf-8")


def test_places_that_do_not_fit_are_warned_of(files: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,x,y,z,direction\na1,0,0,0.2,x\na9,0,0,1,x\n")
    shown = run("modes", files / "frame.csv", "--places", tmp_path / "p.csv", "--out", tmp_path / "m.html")
    assert shown.exit_code == 0
    assert "a9" in error_text(shown) and "a2, a3" in error_text(shown)
    refused = run("identify", files / "record.csv", "--places", files / "places.csv")
    assert refused.exit_code == 2


def test_look_names_a_modal_file_and_identify_refuses_it(files: Path) -> None:
    shown = run("look", files / "frame.csv")
    assert shown.exit_code == 0 and "no record of time" in shown.output
    found = document("look", files / "frame.csv", files / "record.csv")
    assert found["modal_files"][0]["coordinates"] == FLOORS and len(found["records"]) == 1
    refused = run("identify", files / "frame.csv", "--dt", 0.01)
    assert refused.exit_code != 0 and "dalembert modes FILE" in error_text(refused)
