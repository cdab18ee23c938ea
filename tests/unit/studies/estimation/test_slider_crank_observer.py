"""The study of the slider-crank observer, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import runner


@pytest.mark.slow
def test_the_slider_crank_study_reports_its_figures_beside_those_of_the_source(tmp_path):
    written = runner.run("slider-crank-observer", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["crossings_s"]["found"] == pytest.approx([2.618, 2.884], abs=1e-3)
    assert set(found["without_switching"]) == {"EKF", "SS-UKF"}
    for some in found["rms"].values():
        assert some["SS-UKF"]["A.rate"] == pytest.approx(some["EKF"]["A.rate"], rel=0.05)
    schemes = found["schemes_rms"]
    assert schemes["3, both (as in the source)"]["A.rate"] == pytest.approx(
        schemes["1, constraint"]["A.rate"], rel=1e-9
    )
    assert {file.name for file in written.files} == {
        "turning.html", "crossing.png", "drift.png", "breakdown.png", "window.png", "report.html", "results.json",
    }  # fmt: skip
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "25.15 s for 30 s" in page
    assert "What was assumed" in page
