"""Which channels of a record rest, and which are shown."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Record
from dalembert.view.plots.record_channels import moving_channels

T = np.linspace(0.0, 1.0, 11)


@pytest.mark.parametrize(("share", "moves"), [(0.99, False), (1.01, True)])
def test_accelerations_are_compared_with_gravity(share: float, moves: bool) -> None:
    values = share * 1e-9 * 9.81 * T
    run = Record.from_channels(T, {"roof.x": values}, {"roof.x": "m/s^2"}, scene={"gravity": [0, -9.81, 0]})
    assert bool(moving_channels(run, ["roof.x"])) is moves


def test_a_channel_without_a_unit_is_compared_with_itself_alone() -> None:
    run = Record.from_channels(T, {"large": 1e12 * T, "small": 1e-6 * T, "level": 5.0 + 1e-10 * T})
    assert moving_channels(run, run.names) == ["large", "small"]


def test_gaps_do_not_move() -> None:
    values = np.where(T > 0.5, np.nan, 2.0)
    run = Record.from_channels(T, {"x": values, "lost": np.full(len(T), np.nan)}, {"x": "m", "lost": "m"})
    assert moving_channels(run, ["x", "lost"]) == []
