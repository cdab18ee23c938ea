"""The study of an arm of two plates, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("skfem")

from dalembert.studies import runner


@pytest.mark.slow
@pytest.mark.spec("001-T6")
def test_slow_and_fast_models_together_have_the_motion_normal_to_the_plane(tmp_path: Path) -> None:
    runner.run("two-link-plates", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["plate_hz"]["solid"][:3] == pytest.approx([18.2, 114.0, 213.7], rel=0.01)
    assert results["epsilon"] == pytest.approx(0.0088, rel=0.02)  # of 18.1 Hz as published
    errors = results["tip_rms_error_percent"]
    assert errors["slow_and_fast"]["normal"] < 1 < 10 < errors["slow"]["normal"]
