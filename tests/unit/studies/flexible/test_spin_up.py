"""The study of the spin-up, from end to end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.flexible import spin_up as study


@pytest.mark.slow
def test_the_study_of_the_spin_up_writes_its_results_and_report(tmp_path):
    written = runner.run("spin-up", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {"spin-up.html", "spin-up.png", "report.html", "results.json"}
    assert found["minima_m"] == pytest.approx([-0.2806, -0.5350, -1.0891], rel=0.01)
    assert found["minima_substructured_m"] == pytest.approx([-0.2840, -0.5579, -1.1309], rel=0.02)
    assert found["steady_sag_m"] == pytest.approx([-1.138, -0.543, -0.117], rel=0.03)
    assert found["steady_sag_substructured_m"] == pytest.approx([-1.181, -0.591, -0.122], rel=0.03)
    assert found["unstiffened_diverges"] is True
    assert set(found["p12"]) >= {"v3_m", "v6_m", "v9_m", "min_m", "extension_m"}
    assert "bends without bound" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_hub_rises_smoothly_to_its_speed():
    angle = study.law(4.0)
    assert angle(0.0) == pytest.approx(0.0, abs=1e-12)
    before, after = ((angle(study.RISE + h) - angle(study.RISE)) / h for h in (-1e-4, 1e-4))
    assert before == pytest.approx(4.0, abs=1e-6)
    assert after == pytest.approx(4.0, abs=1e-9)
    assert isinstance(float(np.asarray(angle(7.0))), float)
