"""The study of a vibratory feeder."""

from __future__ import annotations

import pytest

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
