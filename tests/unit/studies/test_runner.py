"""Files and pages that a run of a study writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dalembert as da
from dalembert.core.progress import step
from dalembert.studies import runner
from dalembert.studies.identification import robot_arm
from dalembert.view import figure_style
from dalembert.view.plots.figures import new_figure
from dalembert.view.reports.pages import Heading, Listing, Moving, Picture, Table, Text, Verbatim, html_page
from tests.helpers.findings import raises


def outcome(**results):
    figure = new_figure(2.0, 1.0)
    figure.subplots().plot([0.0, 1.0])
    pieces = [Text("Plain words."), Picture("line", figure, "A line.")]
    return runner.Outcome("A title", results, pieces, {"seed": 7})


@pytest.fixture
def small(monkeypatch):
    """A registry with one study, whose outcome the test sets."""

    def given(made):
        monkeypatch.setattr(runner, "STUDIES", {"small": ("identification.robot_arm", "Something small.")})
        monkeypatch.setattr(robot_arm, "study", lambda: made)

    return given


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
    with raises(da.errors.DataError, "not-finite", "results.modes[0].damping"):
        runner.run("small", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_json_cannot_hold_is_named(small, tmp_path):
    small(outcome(model=object()))
    with raises(da.errors.DataError, "wrong-type"):
        runner.run("small", tmp_path)


def test_an_unknown_study_is_refused_with_a_suggestion(tmp_path):
    with raises(da.errors.DataError, "unknown-name", "'robot-arm'"):
        runner.run("robot-am", tmp_path)


def test_every_study_that_is_listed_has_a_module_with_a_study():
    import importlib

    for module, about in runner.STUDIES.values():
        assert callable(importlib.import_module(f"dalembert.studies.{module}").study)
        assert about.endswith(".")


@pytest.fixture(scope="module")
def swinging():
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.5, inertia=da.rod(1.0))
    m.add_revolute("pivot", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="pivot", input="torque")
    m.add_sensor("encoder", da.angle("pivot"))
    eqs = da.equations(m)
    moving = Moving("swing", da.animate(da.simulate(eqs, 1.0)), "It swings.")
    pieces = [Text("It swings once a second."), Table(("", "value"), (("period", "1.5"),))]
    return runner.Outcome("A pendulum", {"period": 1.5}, pieces, {"seed": 1}, moving=[moving], model=(m, eqs))


def test_a_report_begins_with_what_was_found_then_moves_then_reports_its_model(swinging):
    page = swinging.page()
    assert page[0] == Text("It swings once a second.")
    assert [piece.text for piece in page if isinstance(piece, Heading)] == [
        "How it moves", "The model", "What was found",
    ]  # fmt: skip
    rows = {row[0].replace("\u00a0", " "): row[1:] for row in next(p for p in page if isinstance(p, Table)).rows}
    assert rows["bodies"] == ("1", "rod")
    assert rows["joints"] == ("1", "pivot (revolute)")
    assert rows["joint coordinates"] == ("1", "pivot.angle")
    assert rows["degrees of freedom"][0] == "1"
    assert rows["inputs"] == ("1", "torque [N m]")
    assert rows["sensors"] == ("1", "encoder (angle)")
    assert rows["parameters"][0] == "0"


def test_a_report_holds_the_animation_and_the_hash_of_its_model(small, swinging, tmp_path):
    small(swinging)
    written = runner.run("small", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [path.name for path in written.files] == ["swing.html", "report.html", "results.json"]
    assert page.count("<iframe") == 1
    assert "://" not in page.split("<iframe")[0] and len(page) < 5_000_000
    assert found["provenance"]["model hash (SHA-256)"] == swinging.model[1].content_hash
    assert swinging.model[1].content_hash in page


def test_an_identified_model_is_reported_by_order_channels_and_frequencies():
    model = da.identify.Identified(
        da.StateSpace([[0.0, 1.0], [-0.9, 1.8]], C=[1.0, 0.0], dt=0.1, outputs="sway", units={"sway": "m/s^2"}),
        method="given",
    )
    made = runner.Outcome("A sway", {}, [Text("It sways."), Heading("More")], model=model)
    table = next(piece for piece in made.page() if isinstance(piece, Table))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["states"][0] == "2"
    assert rows["outputs"] == ("1", "sway [m/s²]")
    assert rows["inputs"] == ("0", "none: ambient vibration")
    assert rows["modes that oscillate"] == ("1", "0.5189 Hz")
    assert len(made.origin()["model hash (SHA-256)"]) == 64
    assert made.page()[-1] == Heading("More")


def test_a_page_that_cannot_be_bundled_says_so_and_the_rest_is_written(small, swinging, tmp_path, monkeypatch):
    from dalembert.view.animation import page_build

    def missing():
        raise page_build.PageError("node is missing.")

    monkeypatch.setattr(page_build, "template", missing)
    small(swinging)
    written = runner.run("small", tmp_path)
    assert [path.name for path in written.files] == ["report.html", "results.json"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<iframe" not in page and "node is missing." in page


def test_a_run_of_a_study_reports_how_far_it_is(small, tmp_path, monkeypatch):
    def study():
        step("first")
        step("second")
        return outcome(value=1.0)

    small(None)
    monkeypatch.setattr(robot_arm, "study", study)
    monkeypatch.setattr(robot_arm, "STEPS", {"first": 2.0, "second": 2.0})
    seen = []
    runner.run("small", tmp_path, progress=seen.append)
    assert seen == [0.0, 0.25, 0.5, 1.0]


def test_every_study_plans_its_steps():
    import importlib

    for module, _ in runner.STUDIES.values():
        plan = importlib.import_module(f"dalembert.studies.{module}").STEPS
        assert plan and all(seconds > 0.0 for seconds in plan.values())


def test_a_report_holds_its_figures_and_asks_no_server(small, tmp_path):
    small(outcome(value=1.0))
    written = runner.run("small", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in written.files] == ["line.png", "report.html", "results.json"]
    assert page.count('src="data:image/png;base64,') == 1
    assert "://" not in page
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


def test_columns_of_words_begin_on_the_left_and_numbers_end_on_the_right():
    table = Table(("", "here", "there", "why"), (("a", "1.5 ± 0.2", "-", "it is so"), ("b", "2e-05", "3 / 4", "")))
    assert '<table class="t4">' in html_page("x", [table])


def test_a_figure_stays_as_it_is_when_its_dark_side_is_drawn():
    def looks(figure):
        ax = figure.axes[0]
        return figure.get_facecolor(), ax.lines[0].get_color(), ax.xaxis.label.get_color(), figure.dpi, figure.canvas

    figure = outcome().pieces[1].figure
    before = looks(figure)
    page = html_page("x", [Picture("line", figure, "A line.")])
    assert '<source media="(prefers-color-scheme: dark)"' in page
    assert looks(figure) == before


def test_a_figure_drawn_for_dark_screens_has_no_other_side():
    with figure_style("dark"):
        figure = da.plot(da.Record([0.0, 1.0], [[0.0], [1.0]], ["x"]))
    page = html_page("x", [Picture("line", figure)])
    assert "<img" in page and "<source" not in page


def test_ticks_of_the_dark_side_are_dark_even_those_kept_for_later():
    from dalembert.view.reports.pages import _dark, png

    figure = new_figure(3.0, 2.0)
    ax = figure.subplots()
    ax.plot([0.0, 1.0])
    png(figure)
    ax.set_yticks([0.0])  # the others are kept
    pale = "#e3e6ea"  # of the grid on white paper
    kept = [tick.gridline.get_color() for tick in _dark(figure).axes[0].yaxis.majorTicks]
    assert len(kept) > 1 and pale not in kept


def test_the_same_figure_gives_the_same_bytes():
    from dalembert.view.reports.pages import png

    first, second = (outcome().pieces[1].figure for _ in range(2))
    assert png(first) == png(second)
