"""Studies of horns and of a feeder, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("skfem")

from dalembert.studies import runner
from dalembert.studies.flexible import vibratory_feeder


@pytest.mark.spec("004-T9", "004-C54", "004-C55", "004-C56")
def test_the_feeder_needs_the_fewest_modes_by_energy() -> None:
    """Sizes and order are recomputed in the spec, frequencies to two decimals."""
    found = runner.plain(vibratory_feeder.study().results)
    hertz = [6.43, 8.31, 31.70, 35.44, 36.07, 62.55, 65.59, 65.82, 75.95, 87.14]
    assert found["frequencies_hz"] == pytest.approx(hertz, abs=0.0055)
    sizes = found["sizes"]
    assert [sizes[name] for name in ("EBR", "p2/w2", "SBE", "K12 phi")] == [10, 11, 14, 26]
    assert found["order"]["EBR"][:4] == [1, 8, 5, 3]
    assert sizes["EBR"] == min(sizes.values())


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
