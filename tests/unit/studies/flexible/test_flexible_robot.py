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


def test_its_links_have_the_inertia_of_the_file_and_no_row_joins_them() -> None:
    rigid = da.equations(da.read_model("seven-joint-arm"), coordinates="joint")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a difference from the rigid bodies is a warning
        eqs = da.equations(flexible_robot.make_arm(), coordinates="joint")
    assert (len(eqs.rows), len(eqs.elastic)) == (0, 16)
    angles = dict.fromkeys(flexible_robot.JOINTS, 0.3)
    masses = []
    for one in (eqs, rigid):
        state = da.assemble(one, angles)
        masses.append(da.tree.mass_matrix(one, state)[:7, :7])
    np.testing.assert_allclose(masses[0], masses[1], atol=1e-9)  # six digits of the file, sums of five masses


@pytest.mark.slow
def test_the_study_reaches_its_target_and_leaves_little_vibration(tmp_path: Path) -> None:
    runner.run("flexible-robot", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["reach"]["tip_error_m"] < 1e-6 < 1e-3 < results["reach"]["error_without_sag_m"]
    assert max(results["compliance"]["relative_error"].values()) < 1e-6
    assert max(results["vibration"]["percent"].values()) < 10
    assert results["vibration"]["limits_exceeded"] == []
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "vibration.png", "arm.html"}
