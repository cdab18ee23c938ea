"""The study of unknown slider forces, from end to end."""

from __future__ import annotations

import json

import pytest

from dalembert.studies import runner


@pytest.mark.slow
def test_the_study_of_slider_forces_reports_its_figures_beside_those_of_the_source(tmp_path):
    runner.run("slider-crank-forces", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["source"]["two-stage"]["EKF"] == {"speed": 0.0842, "acceleration": 1.8226, "force": 4.4267}
    for kinds in found["swinging"].values():  # 004-3.3, T3.3b and T3.3d
        for name in ("speed", "acceleration", "force"):
            assert kinds["SS-UKF"][name] == pytest.approx(kinds["EKF"][name], rel=0.03)
    two = found["swinging"]["two-stage"]["EKF"]
    assert two["speed"] < 0.06 and two["acceleration"] < 1.5 and two["force"] < 5.0
    single = [row["single-stage"]["speed"] for row in found["walks"]]  # T3.3c
    assert max(single) > 10 * min(single)
    assert len({row["two-stage"]["speed"] for row in found["walks"]}) == 1
    assert not any(row["motion_changed"] for row in found["walks"])
    assert found["forms"]["unknown-from-known, loose"] == pytest.approx(
        found["forms"]["known-from-unknown, loose"], rel=0.1
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "0.0842 / " in page
    assert "why they differ" in page
    assert "a pose where force moves nothing" in page
