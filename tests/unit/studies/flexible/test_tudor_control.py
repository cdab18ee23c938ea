"""The study of slow control of TUDOR, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dalembert.studies import runner


@pytest.mark.slow
@pytest.mark.spec("001-T7", "001-C48", "001-C50", "001-C61")
def test_the_study_has_the_published_poles_and_errors(tmp_path: Path) -> None:
    runner.run("tudor-control", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["poles"]["0 g"] == [
        pytest.approx(pole, rel=5e-3) for pole in ([-8.83, 0.0], [-14.55, 0.0], [-17.45, 0.0], [-8.57, 16.31])
    ]
    assert results["poles"]["400 g"] == [
        pytest.approx(pole, rel=5e-3) for pole in ([-8.06, 0.0], [-2.15, 10.86], [-13.46, 0.0], [-19.11, 0.0])
    ]
    # two published digits
    assert results["joint_error_rad"]["0 g"] == pytest.approx([3.3e-3, 3.8e-3], abs=5e-5)
    assert results["joint_error_rad"]["400 g"] == pytest.approx([8.4e-3, 9.0e-3], abs=5e-5)
    assert results["u2_share_percent"]["0 g"] == pytest.approx([1.6, 0.6], abs=0.05)
    assert results["u2_share_percent"]["400 g"] == pytest.approx([2.8, 1.1], abs=0.05)
    for payload in ("0 g", "400 g"):
        for corrected, slow in zip(results["joint_error_with_u2_rad"][payload], results["joint_error_rad"][payload],
                                   strict=True):  # fmt: skip
            assert corrected < slow / 3
    assert results["least_damping_over_elbow"]["400 g"]["u2 of the state"] < 0
