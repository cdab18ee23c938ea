"""Reports on records and estimates: what stands on the page, and mistakes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, FileFormatError
from dalembert.view.plots.record_channels import select_distinct
from dalembert.view.reports.estimate_report import estimate_pieces, in_order
from dalembert.view.reports.pages import Picture, Table, Text, html_page
from tests.helpers import flexible_parts
from tests.helpers.findings import raises


@pytest.fixture(scope="module")
def pendulum() -> tuple[da.Mechanism, da.EquationsOfMotion, da.Record]:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("pivot", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"pivot.angle": -1.0})
    lowest = da.Event("lowest", lambda s: s["pivot.angle"] + np.pi / 2, action="note")
    return m, eqs, da.simulate(eqs, until=2.0, start=start, events=lowest)


def test_a_run_is_reported_in_words_figures_and_tables(
    tmp_path: Path, pendulum: tuple[da.Mechanism, da.EquationsOfMotion, da.Record]
) -> None:
    da.report(pendulum[2], tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "pivot.angle stayed between" in page
    assert "Energy supplied, dissipated and stored balance within" in page
    assert "The joints stayed closed to" in page
    assert "Its kinetic energy was largest at" in page
    assert "events happened (lowest), the first at" in page
    assert "data hash (SHA-256)" in page
    assert "<iframe" in page
    assert page.count('src="data:image/png;base64') == 2
    assert page.count('(prefers-color-scheme: dark)" srcset="data:image/png;base64') == 2  # each for dark screens too


@pytest.mark.slow
def test_with_its_machine_the_page_has_masses_and_a_hash(
    tmp_path: Path, pendulum: tuple[da.Mechanism, da.EquationsOfMotion, da.Record]
) -> None:
    m, eqs, run = pendulum
    da.report(run, tmp_path / "run.html", mechanism=m, equations=eqs, provenance={"seed": 7}, title="Swing")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<h1>Swing</h1>" in page
    assert "mass [kg]" in page
    assert "model hash (SHA-256)" in page
    assert "seed" in page
    assert page.index("<iframe") < page.index("The model")  # the picture moves on the first screen


def test_gaps_of_a_measurement_are_listed(tmp_path: Path) -> None:
    t = np.delete(0.1 * np.arange(100), [40, 41])
    data = np.sin(t)[:, None]
    data[10] = np.nan
    da.report(da.Record(t, data, ["x"], ["m"], name="rig <1>"), tmp_path / "rig.html")
    page = (tmp_path / "rig.html").read_text(encoding="utf-8")
    assert "rig &lt;1&gt; has one channel with 98 samples" in page
    assert "3 samples are missing" in page
    assert "<td>(all)</td><td>3.9</td><td>4.2</td><td>2</td>" in page
    assert "The samples are not evenly spaced." in page


@pytest.fixture(scope="module")
def estimate() -> da.estimate.Estimate:
    cart = da.StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], states=["place", "speed"], inputs="push", outputs="seen")
    t = 0.1 * np.arange(60)
    noisy = t**2 / 2 + 0.01 * np.random.default_rng(0).standard_normal(60)
    noisy[20] = np.nan
    record = da.Record(t, np.column_stack([np.ones(60), noisy]), ["push", "seen"], name="cart")
    return da.estimate.Kalman(cart, dt=0.1, Q={"speed": 1e-4}, R=1e-4, P0=1.0).run(record)


def test_an_estimate_is_judged_and_its_deviations_are_reported(tmp_path: Path, estimate: da.estimate.Estimate) -> None:
    da.report(estimate, tmp_path / "estimate.html")
    page = (tmp_path / "estimate.html").read_text(encoding="utf-8")
    assert "A filter (Kalman) took in seen for 60 samples" in page
    assert "1 of 60 measured values were missing." in page
    assert "can be trusted" in page or "Do not trust its deviations" in page
    assert "Errors against the truth" not in page
    assert "object at 0x" not in page
    assert "model hash (SHA-256)" in page


@pytest.mark.slow
def test_errors_are_reported_where_the_truth_is_given(tmp_path: Path, estimate: da.estimate.Estimate) -> None:
    t = estimate.time
    true = da.Record(t, np.column_stack([t**2 / 2, t]), ["place", "speed"])
    da.report(estimate, tmp_path / "estimate.html", truth=true, settle=1.0)
    page = (tmp_path / "estimate.html").read_text(encoding="utf-8")
    assert "Its error against the truth is" in page
    assert "Errors against the truth" in page
    assert "After 1 s" in page


def test_a_long_estimate_begins_with_what_is_measured_and_carried_and_ends_with_what_rests() -> None:
    t = np.linspace(0.0, 1.0, 9)
    moving = {f"m{k}": k + t for k in range(14)}
    record = da.Record.from_channels(t, {"rest": 1.0 + 1e-16 * t, **moving, "mass": 2.0 + 0.0 * t, "seen": t})
    carried, outputs = SimpleNamespace(names=("m3", "mass")), SimpleNamespace(names=("seen", "elsewhere"))
    model = SimpleNamespace(outputs=outputs, errors=carried, carried=carried)
    first, rest = in_order(SimpleNamespace(record=record, filter=SimpleNamespace(process=model)))  # type: ignore[arg-type]
    assert first == ["seen", "m3", "mass", "m0", "m1", "m2", *(f"m{k}" for k in range(4, 10))]
    assert rest == ["m10", "m11", "m12", "m13", "rest"]


def test_an_estimate_is_drawn_once_by_five_curves_that_differ(estimate: da.estimate.Estimate) -> None:
    t = estimate.time
    true = da.Record(t, np.column_stack([t**2 / 2, t]), ["place", "speed"])
    for truth, wanted in ((None, "estimate"), (true, "errors")):
        names = [piece.name for piece in estimate_pieces(estimate, truth, 0.0) if isinstance(piece, Picture)]
        assert names == [wanted, "consistency", "innovations"]
    ramp = 2.0 * np.pi * np.linspace(0.0, 3.0, 50)
    channels = {"encoder": ramp, "A.angle": ramp, "A.rate": np.cos(ramp)}
    turned = da.Record.from_channels(ramp, channels, {"encoder": "rad", "A.angle": "rad", "A.rate": "rad/s"})
    assert select_distinct(turned, ["encoder", "A.angle", "A.rate"]) == {"A.rate": []}


def test_a_report_without_animations_runs_no_script_and_asks_nobody() -> None:
    page = html_page("Sway", [Text("It does not move.")])
    policy = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; ") and "script-src" not in policy and "connect-src" not in policy
    assert page.index("Content-Security-Policy") < page.index("<title>")  # before anything it is to govern


def test_a_table_can_be_folded() -> None:
    page = html_page("page", [Table(("name",), (("x",),), folded="1 < 2 more")])
    assert "<details><summary>1 &lt; 2 more</summary><figure>" in page


@pytest.mark.slow
def test_pages_are_the_same_when_written_twice(tmp_path: Path, estimate: da.estimate.Estimate) -> None:
    for name in ("one.html", "two.html"):
        da.report(estimate, tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_mistakes_are_reported_before_anything_is_written(
    tmp_path: Path, pendulum: tuple[da.Mechanism, da.EquationsOfMotion, da.Record]
) -> None:
    m, _, run = pendulum
    with raises(DataError, "wrong-type"):
        da.report(3, tmp_path / "x.html")
    with raises(FileFormatError, "bad-name"):
        da.report(run, tmp_path / "x.pdf")
    with raises(DataError, "unknown-name", "'trth'"):
        da.report(run, tmp_path / "x.html", trth=run)
    with raises(DataError, "missing-argument"):
        da.report(run, tmp_path / "x.html", mechanism=m)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_report_names_flexible_bodies_and_their_modes(tmp_path: Path) -> None:
    run = flexible_parts.swing(flexible_parts.lines(False), until=0.1)
    da.report(run, tmp_path / "run.html")
    assert "flexible, two modes" in (tmp_path / "run.html").read_text(encoding="utf-8")
    m = flexible_parts.pendulum()
    da.report(run, tmp_path / "machine.html", mechanism=m, equations=da.equations(m))
    assert "flexible, two modes; inertia about its frame" in (tmp_path / "machine.html").read_text(encoding="utf-8")
