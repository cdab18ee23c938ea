"""The study of the elastic slider-crank, from end to end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.flexible import elastic_slider_crank as study


@pytest.mark.slow
def test_the_study_of_the_slider_crank_writes_its_results_and_report(tmp_path):
    written = runner.run("elastic-slider-crank", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {file.name for file in written.files} == {"slider-crank.html", "bending.png", "report.html", "results.json"}
    for name in ("literature", "thesis"):
        assert len(found[name]["midpoint_mm"]) == 10
        assert len(found[name]["slider_m"]) == 3
        assert found[name]["slider_to_rigid_mm"] < 5.0
        # nothing damps the short vibrations after the torque has ended; their phases differ
        assert found[name]["modes_converged_mm"] < 0.1 * max(map(abs, found[name]["midpoint_range_mm"]))
    assert found["literature"]["midpoint_range_mm"] == pytest.approx([-1.22, 1.22], rel=0.05)
    assert found["thesis"]["crank_tip_range_mm"][0] == pytest.approx(-3.12, rel=0.05)
    assert "moduli of the literature" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_torque_rises_and_ends():
    assert [study.torque(t) for t in (0.0, 0.7, 0.71)] == pytest.approx([0.0, 0.01 * (1 - np.exp(-0.7 / 0.167)), 0.0])
