"""The study of the excavator, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import runner


@pytest.mark.slow
def test_the_excavator_study_reports_its_figures_beside_the_words_of_the_source(tmp_path):
    written = runner.run("excavator", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {"digging.html", "forces.png", "report.html", "results.json"}
    assert all(abs(late) < 0.016 for late in found["delay_s"].values())
    assert found["random_walk"]["dig.x"] > found["band_10_Hz"]["dig.x"]
    assert found["random_walk"]["dig.z"] > found["band_10_Hz"]["dig.z"]
    assert found["band_10_Hz"]["payload"] < 3e3
    assert "everywhere on this motion" in found["verdict"]
    assert "do not act independently of one another" in found["verdict_bucket_down"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "9.27 s" in page
    assert "What was assumed" in page
