"""The study of the robot on three legs, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dalembert.studies import runner


@pytest.mark.spec("002-T18")
@pytest.mark.slow
def test_the_study_of_the_robot_writes_its_results_and_report(tmp_path: Path) -> None:
    written = runner.run("three-rrr", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {
        "three-rrr.html", "torques.png", "path.png", "report.html", "results.json",
    }  # fmt: skip
    # printed with four decimals from samples every 10 ms; curvatures at the peaks are below 100 N m/s²
    missed = 5e-5 + 100 * 0.005**2 / 2
    assert list(found["torque_max"].values()) == pytest.approx([7.7611, 11.0594, 9.7484], abs=missed)
    assert list(found["torque_min"].values()) == pytest.approx([-7.5083, -10.9740, -5.1835], abs=missed)
    assert list(found["torque_max_time"].values()) == pytest.approx([2.60, 5.51, 5.70], abs=0.0101)
    assert list(found["torque_min_time"].values()) == pytest.approx([5.16, 7.02, 0.88], abs=0.0101)
    assert found["residual"] < 1e-12 < found["residual_with_feedback"] < 4.3e-5
    assert (found["speeds"], found["rows"], found["degrees_of_freedom"]) == (24, 21, 3)
