"""The study of tolerances, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import runner
from dalembert.studies.machines import monte_carlo


@pytest.mark.slow
def test_the_study_of_tolerances_reports_spread_and_its_reasons(tmp_path, monkeypatch):
    small = monte_carlo.design(12)
    monkeypatch.setattr(monte_carlo, "design", lambda: small)
    runner.run("monte-carlo", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    nominal = monte_carlo.trial(dict.fromkeys(small.names, 1.0))
    assert found["samples"] == 12
    for key, name in (("peak_torque", "peak torque"), ("swing", "swing"), ("bearing", "bearing")):
        one = found[key]
        assert one["mean"] == pytest.approx(nominal[name], rel=0.02)  # three deviations of a mean of twelve
        assert one["interval_95"][0] < one["mean"] < one["interval_95"][1]
        assert set(one["share_of_variance"]) == set(small.names)
    assert "12 crank-rockers" in (tmp_path / "report.html").read_text(encoding="utf-8")
