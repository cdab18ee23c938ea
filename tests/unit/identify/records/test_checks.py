"""Limits of the checks of records and channels, just inside and just outside."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify.records.checks import common_sample_time
from dalembert.record import Record
from tests.helpers.findings import raises

N = 1000


@pytest.mark.parametrize(("factor", "refused"), [(0.9, False), (1.1, True)])
def test_repeated_tests_have_one_sample_time(factor: float, refused: bool) -> None:
    step = 0.01 * (1.0 + factor * 0.0001)
    records = [Record.from_channels(dt * np.arange(N), {"a": np.sin(np.arange(N))}) for dt in (0.01, step)]
    with raises(DataError, "sample-time-mismatch") if refused else nullcontext():
        common_sample_time(records)
