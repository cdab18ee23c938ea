"""The study of the two-link observer, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import runner


@pytest.mark.slow
def test_the_two_link_study_reports_its_figures_beside_those_of_the_source(tmp_path):
    runner.run("two-link-observer", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    for name in ("TEST 1", "TEST 2"):
        assert found[name]["filters_apart_percent"] < 2.0
        assert found[name]["better_than_lanczos"]["B.rate"] > 4
        assert found[name]["better_than_lanczos"]["B.acceleration"] > 10
    assert "EKF 6.65 s" in (tmp_path / "report.html").read_text(encoding="utf-8")
