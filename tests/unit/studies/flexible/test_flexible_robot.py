"""The study of a robot arm with two flexible links: its links quickly, and from end to end."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.studies import runner
from dalembert.studies.flexible import flexible_robot


def test_its_links_have_mass_centre_and_inertia_of_the_file() -> None:
    rigid = da.read_model("seven-joint-arm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a difference from the rigid bodies is a warning
        m = flexible_robot.make_arm()
    for name in flexible_robot.LINKS:
        data, body = m[name].flexible, rigid[name]
        c = data.center
        assert data.mass == pytest.approx(body.mass, rel=1e-12)
        np.testing.assert_allclose(c, body.center, atol=1e-12)
        about_center = data.inertia - data.mass * (c @ c * np.eye(3) - np.outer(c, c))
        np.testing.assert_allclose(about_center, body.inertia, atol=1e-12)  # sums of five masses and four beams


@pytest.mark.slow
def test_the_study_reaches_its_target_and_leaves_little_vibration(tmp_path: Path) -> None:
    runner.run("flexible-robot", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["reach"]["tip_error_m"] < 1e-6 < 1e-3 < results["reach"]["error_without_sag_m"]
    assert max(results["compliance"]["relative_error"].values()) < 1e-6
    assert max(results["vibration"]["percent"].values()) < 10
    assert results["vibration"]["limits_exceeded"] == []
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "vibration.png", "arm.html"}
