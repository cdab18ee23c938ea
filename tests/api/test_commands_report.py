"""Reports of runs: one page that can be sent by itself, with the machine, figures, tables, animation and provenance."""

from __future__ import annotations

import html
import re
import shlex

import pytest

import dalembert as da
from dalembert.view.reports.record_report import summarize_run
from tests.helpers.commands import run
from tests.helpers.findings import raises

ODD = """
planar = true
name = "<script>alert(1)</script> & 'co'"
[bodies."<b>rod</b>"]
mass = 1
inertia = 0.1
[joints.hinge]
type = "revolute"
a = "ground"
b = "<b>rod</b>(-0.5, 0)"
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "page.html"
    result = run("simulate", "four-bar", "--until", 1, "--set", "crank=0.18", "--report", file)
    assert result.exit_code == 0, result.output
    return file.read_text(encoding="utf-8")


def test_the_page_asks_no_server_for_anything(page):
    outside = re.sub(r"srcdoc='[^']*'", "", page)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", outside)
    assert "<img" in outside and "data:image/png;base64," in outside


def test_the_page_has_the_machine_its_motion_and_where_it_comes_from(page):
    for words in ("The machine moving", "Motion", "Forces in the joints", "The machine", "How far to trust it",
                  "Provenance", "model hash (SHA-256)", "dalembert", "casadi", "four-bar (library)", "crank 0.18",
                  "DormandPrince"):  # fmt: skip
        assert words in page
    rows = re.findall(r"<tr><td>crank</td><td>([^<]*)</td>", page)
    assert rows[0] == "0.18"  # mass of the crank with the parameter that was set, 1 kg/m
    assert len(re.search(r"[0-9a-f]{64}", page).group()) == 64


def test_the_moving_picture_is_inside_and_locked_in(page):
    frame = re.search(r"<iframe [^>]*?sandbox='allow-scripts'[^>]*?srcdoc='([^']*)'", page)
    assert frame is not None
    assert len(frame.group(1)) > 10_000


def test_what_was_found_is_said_in_plain_words():
    m = da.read_model("four-bar")
    eqs = da.equations(m)
    record = da.simulate(eqs, 10.0, start=da.assemble(eqs, **m.start), every=0.01)
    text = summarize_run(record, m, eqs)
    assert "three moving bodies and four joints" in text
    assert "A.angle made 23.6 turns" in text  # (149.59 - π/2) / 2π
    assert re.search(r"D\.angle stayed|C\.angle stayed between 5\d", text)


def test_names_from_a_file_cannot_bring_code_into_the_page(tmp_path):
    (tmp_path / "odd.toml").write_text(ODD)
    result = run("simulate", tmp_path / "odd.toml", "--until", 0.1, "--report", tmp_path / "odd.html")
    if result.exit_code:  # a loader may refuse such names
        assert result.exit_code == 2
        return
    page = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page and "<b>rod" not in page


@pytest.mark.slow
def test_a_machine_at_rest_and_a_spatial_one_have_pages_too(tmp_path):
    for name, until in (("pendulum", 0.1), ("top", 0.05)):
        start = ["--start", "hinge.angle=-90 deg"] if name == "pendulum" else []
        result = run("simulate", name, "--until", until, *start, "--report", tmp_path / f"{name}.html")
        assert result.exit_code == 0, result.output
    assert "No joint moved" in (tmp_path / "pendulum.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_channels_asked_for_are_those_drawn(tmp_path):
    result = run("simulate", "pendulum", "--until", 0.1, "--plot", "tip,encoder", "--report", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<td>tip.x</td>" in page and "<td>encoder</td>" in page and "<td>hinge.rate</td>" not in page


def test_a_report_that_is_no_page_is_refused(tmp_path):
    m = da.read_model("pendulum")
    eqs = da.equations(m)
    with raises(da.errors.FileFormatError, "bad-name"):
        da.report(da.simulate(eqs, 0.1), tmp_path / "page.pdf", mechanism=m, equations=eqs)


@pytest.mark.slow
def test_a_run_without_a_scene_says_so_on_its_page(tmp_path):
    m = da.read_model("pendulum")
    eqs = da.equations(m)
    whole = da.simulate(eqs, 0.1)
    bare = da.Record(whole.time, whole.data, whole.names, whole.units)
    da.report(bare, tmp_path / "page.html", mechanism=m, equations=eqs)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<iframe" not in page and "scene" in page


def test_the_page_holds_the_command_that_makes_the_same_run(tmp_path):
    given = ("--until", "100 ms", "--method", "rk4", "--step", "5 ms", "--start", "A.angle=80 deg", "--guess",
             "D.angle=1", "--input", "torque=0.1*sin(2*t)", "--set", "crank=0.18")  # fmt: skip
    result = run("simulate", "four-bar", *given, "--report", tmp_path / "first.html")
    assert result.exit_code == 0, result.output
    page = html.unescape((tmp_path / "first.html").read_text(encoding="utf-8"))
    command = re.search(r"dalembert simulate four-bar [^<]*", page).group()
    assert shlex.split(command)[3:] == [
        "--until", "0.1", "--method", "rk4", "--step", "0.005", "--set", "crank=0.18", "--start", "A.angle=80 deg",
        "--guess", "D.angle=1", "--input", "torque=0.1*sin(2*t)",
    ]  # fmt: skip
