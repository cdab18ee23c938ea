"""The study of the flexible pendulum, from end to end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.flexible import flexible_pendulum as study


@pytest.mark.slow
def test_the_study_of_the_pendulum_writes_its_results_and_report(tmp_path):
    written = runner.run("flexible-pendulum", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {"pendulum.html", "swing.png", "report.html", "results.json"}
    assert len(found["tip_deflection_mm"]) == 8
    assert len(found["angle_rad"]) == 6
    assert found["max_deflection_mm"] == pytest.approx(5.1, abs=0.1)
    assert found["max_end_rotation_rad"] == pytest.approx(0.022, abs=1e-3)
    assert found["energy_drift_J"] < 1e-10
    assert found["change_with_half_the_modes_mm"] < 0.2
    assert "falls from the horizontal" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_rigid_pendulum_has_the_mass_of_the_beam():
    rigid, flexible = study.mechanism(None), study.mechanism(study.beam_data(2))
    assert np.isclose(rigid.bodies[-1].mass, flexible.bodies[-1].mass)
