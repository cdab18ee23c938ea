"""The study of horns, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("skfem")

from dalembert.studies import runner


@pytest.mark.slow
@pytest.mark.spec("004-T7", "004-T8", "004-C54", "004-C55", "004-C56")
def test_horns_need_the_fewest_modes_by_energy(tmp_path: Path) -> None:
    runner.run("bar-horn", tmp_path)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert found["frequencies_khz"] == pytest.approx([24.8781, 48.5433], abs=0.5e-4)
    assert found["imr"]["sum_rule_gap"] < 1e-12 and found["ebr"]["mean_energy_gap"] < 1e-10
    assert found["imr"]["modes_needed"] == {"IMR": 9, "SBE": 22}
    block = found["sonotrode"]
    assert block["coordinates"] >= 8000 and block["mean_energy_gap"] < 1e-10
    needed = block["modes_needed"]
    assert all(isinstance(size, str) or needed["EBR"] <= size for size in needed.values())
