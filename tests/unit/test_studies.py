"""Studies: what the runner writes, and what the studies of measured data find."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dalembert as da
from dalembert.studies import robot_arm, runner, shake_table
from dalembert.view.figures import new_figure
from dalembert.view.pages import Heading, Listing, Picture, Table, Text, Verbatim, html_page


def outcome(**results):
    figure = new_figure(2.0, 1.0)
    figure.subplots().plot([0.0, 1.0])
    pieces = [Text("Plain words."), Picture("line", figure, "A line.")]
    return runner.Outcome("A title", results, pieces, {"seed": 7})


@pytest.fixture
def small(monkeypatch):
    """A registry with one study, whose outcome the test sets."""

    def given(made):
        monkeypatch.setattr(runner, "STUDIES", {"small": ("robot_arm", "Something small.")})
        monkeypatch.setattr(robot_arm, "study", lambda: made)

    return given


# --- the runner


def test_results_are_nested_plain_json_with_provenance(small, tmp_path):
    small(outcome(modes=[{"frequency": np.float64(1.5)}], order=np.int64(4), matrix=np.eye(2), pole=1.0 + 2.0j))
    runner.run("small", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert found["modes"] == [{"frequency": 1.5}]
    assert found["order"] == 4
    assert found["matrix"] == [[1.0, 0.0], [0.0, 1.0]]
    assert found["pole"] == {"real": 1.0, "imag": 2.0}
    assert found["provenance"]["seed"] == 7
    assert found["provenance"]["dalembert"] == da.__version__


def test_a_number_that_is_not_finite_is_named_and_nothing_is_written(small, tmp_path):
    small(outcome(modes=[{"damping": float("nan")}]))
    with pytest.raises(da.DataError, match=re.escape("results.modes[0].damping is nan")):
        runner.run("small", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_json_cannot_hold_is_named(small, tmp_path):
    small(outcome(model=object()))
    with pytest.raises(da.DataError, match=r"results\.model is a object"):
        runner.run("small", tmp_path)


def test_an_unknown_study_is_refused_with_a_suggestion(tmp_path):
    with pytest.raises(da.DataError, match="Did you mean 'robot-arm'"):
        runner.run("robot-am", tmp_path)


def test_every_study_that_is_listed_has_a_module_with_a_study():
    import importlib

    for module, about in runner.STUDIES.values():
        assert callable(importlib.import_module(f"dalembert.studies.{module}").study)
        assert about.endswith(".")


# --- the page


def test_a_report_holds_its_figures_and_asks_no_server(small, tmp_path):
    small(outcome(value=1.0))
    written = runner.run("small", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in written.files] == ["line.png", "report.html", "results.json"]
    assert page.count('src="data:image/png;base64,') == 1
    assert "http" not in page
    assert "<script" not in page


def test_every_text_on_a_page_is_escaped():
    bad = '<script>alert(1)</script> & "x"'
    figure = new_figure(1.0, 1.0)
    pieces = [
        Heading(bad), Text(bad), Verbatim(bad), Listing((bad,)), Table((bad,), ((bad,),), bad),
        Picture(bad, figure, bad),
    ]  # fmt: skip
    page = html_page(bad, pieces, {bad: [bad]})
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 13


def test_the_same_figure_gives_the_same_bytes():
    from dalembert.view.pages import png

    first, second = (outcome().pieces[1].figure for _ in range(2))
    assert png(first) == png(second)


# --- the shake table


@pytest.fixture(scope="module")
def building():
    return shake_table.study()


def test_the_building_has_three_sway_modes_where_plain_spectra_show_them(building):
    # peaks of the measured frequency response: 3.69, 11.13 and 16.6 Hz; half a line of the spectrum is 0.06 Hz
    assert np.allclose(building.results["frequencies_hz"], [3.69, 11.13, 16.6], atol=0.06)
    assert np.all(np.array(building.results["damping"]) > 0.002)
    assert np.all(np.array(building.results["damping"]) < 0.02)


def test_every_mode_of_the_building_has_deviations_and_a_shape(building):
    for mode in building.results["modes"]:
        assert 0.0 < mode["frequency_deviation_hz"] < 0.01 * mode["frequency_hz"]
        assert 0.0 < mode["damping_deviation"] < 0.5 * mode["damping"]
        assert max(abs(value) for value in mode["shape"].values()) == pytest.approx(1.0)


def test_mode_shapes_of_the_building_cross_the_ground_line_none_once_and_twice(building):
    shapes = [list(mode["shape"].values()) for mode in building.results["modes"]]
    assert [int(np.sum(np.diff(np.sign(shape)) != 0)) for shape in shapes] == [0, 1, 2]


def test_the_stick_is_a_shear_building_with_the_modes_found(building):
    stick = building.results["stick"]
    M, K = np.array(stick["M"]), np.array(stick["K"])
    assert np.count_nonzero(M - np.diag(np.diag(M))) == 0
    assert K[0, 2] == 0.0
    assert np.linalg.eigvalsh(K)[0] > 0.0
    assert np.linalg.eigvalsh(np.array(stick["C"]))[0] > 0.0
    assert np.abs(stick["frequency_errors_percent"]).max() < 0.2  # the weight the fit gives to frequencies
    assert np.min(stick["mac"]) > 0.99


def test_the_modes_of_the_building_soften_with_the_level(building):
    levels = building.results["levels"]
    first = [one["frequencies_hz"][0] for one in sorted(levels, key=lambda one: one["level"])]
    assert first[0] > first[-1] + 0.1


def test_both_held_out_fits_of_the_building_are_told(building):
    results = building.results
    assert results["fit_percent"] == pytest.approx(np.mean(list(results["fit"]["floors_percent"].values())))
    assert results["fit_percent"] > results["fit"]["model_of_all_training_data"]["held_out_percent"]
    assert results["fit_percent"] > 50.0


def test_the_held_out_third_is_the_last_and_not_used_for_the_modes():
    found = da.identify.auto(shake_table.record(), shake_table.GROUND, shake_table.FLOORS)
    training, held = found.training[0], found.held_out[0]
    assert training.time[-1] < held.time[0]
    assert len(held) == pytest.approx(len(shake_table.record()) / 3, abs=1)


# --- the robot arm


def test_the_arm_has_two_light_resonances_and_is_reproduced_on_its_second_half():
    results = robot_arm.study().results
    assert results["order"] == 4
    assert len(results["frequencies_cycles_per_sample"]) == 2
    assert results["fit_percent"] > 95.0
