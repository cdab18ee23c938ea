"""The study of the redundant arm, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dalembert.studies import runner


@pytest.mark.slow
def test_the_arm_passes_its_nearly_singular_pose_within_limits(tmp_path: Path) -> None:
    written = runner.run("reach", tmp_path, progress=False)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {
        "reach.html", "path.png", "joints.png", "manipulability.png", "timing.png", "workspace.png", "report.html",
        "results.json",
    }  # fmt: skip
    assert found["limits_respected"] is True and found["limits_exceeded"] == []
    # samples are reached to 1e-10 m; the law splines 201 of them and integrates with steps of 2 ms
    assert found["path_error_m"] < 1e-10 < found["position_error_m"] < 1e-7
    # the manipulability falls to a tenth where the elbow is 0.127 rad from straight: cos = 0.998² · 2 - 1
    assert found["smallest_elbow_angle_rad"] == pytest.approx(0.12651, abs=1e-4)
    assert found["smallest_manipulability"] < 0.11 * found["largest_manipulability"]
    assert found["smallest_manipulability"] == pytest.approx(0.01453, rel=1e-3)
    assert found["torque_peak_Nm"] == pytest.approx(55.51, rel=1e-3) and found["torque_peak_joint"] == "joint2.effort"
    assert found["fastest_duration_s"] == pytest.approx(1.43, rel=0.01) and found["fastest_largest_share"] <= 1 + 1e-6
    assert max(found["speed_shares"].values()) < 1 and max(found["torque_shares"].values()) < 1
