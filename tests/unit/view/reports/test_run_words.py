"""Words about a run, on both sides of the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.record import Record
from dalembert.view.reports.run_words import trust


@pytest.mark.parametrize(("share", "accurate"), [(0.9e-4, True), (1.1e-4, False)])
def test_a_run_is_accurate_where_energy_balances_to_a_ten_thousandth(share: float, accurate: bool) -> None:
    T = np.linspace(0.0, 1.0, 3)
    channels = {"energy.kinetic": 50.0 * T, "energy.balance": 50.0 * share * T}
    run = Record.from_channels(T, channels, dict.fromkeys(channels, "J"))
    assert ("smaller steps" in trust(run)) is not accurate
