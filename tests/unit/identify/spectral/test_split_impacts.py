"""Impacts of one long record."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises

RATE = 2048.0


def modal_test(hits: dict[float, float], *, limit: float = np.inf) -> da.Record:
    """Half sines of 4 ms at the times, and the free motion of a mode of 40 Hz after each; noise of 1 mN and 1 mm/s²."""
    t = np.arange(int(8 * RATE)) / RATE
    random = np.random.default_rng(1)
    force, answer = (1e-3 * random.standard_normal(len(t)) for _ in range(2))
    for time, peak in hits.items():
        since = t - time
        force += peak * np.sin(np.pi * since / 0.004) * ((since >= 0) & (since <= 0.004))
        answer += peak * np.exp(-3.0 * since.clip(0)) * np.sin(2 * np.pi * 40 * since) * (since >= 0)
    channels = {"hammer": np.minimum(force, limit), "a": answer}
    return da.Record.from_channels(t, channels, units={"hammer": "N", "a": "m/s²"})


@pytest.mark.spec("004-C42")
def test_each_impact_has_a_record_of_its_own() -> None:
    test = modal_test({1.0: 50.0, 3.0: 60.0, 5.0: 40.0})
    impacts = da.identify.split_impacts(test, "hammer", trigger=5.72, pretrigger=0.01, length=1.5)
    assert [impact.judgement for impact in impacts.impacts] == ["good"] * 3 and not impacts.findings
    for part, start in zip(impacts.good, (1.0, 3.0, 5.0)):
        assert len(part) == round(1.5 * RATE)
        # the half sine of 40 N reaches the trigger within a tenth of its 4 ms
        assert part.time[0] == pytest.approx(start - 0.01, abs=0.0004 + 1 / RATE)
    windowed = da.identify.hammer_windows(impacts.good, "hammer").records
    estimate = da.identify.frf(windowed, "hammer", segment="record", window="boxcar", overlap=0.0, detrend="none")
    assert estimate.blocks == 3
    peak = estimate.frequencies[np.abs(estimate.response.values[:, 0, 0]).argmax()] / 2 / np.pi
    assert peak == pytest.approx(40.0, abs=0.5 / 1.5 + 1e-9)  # half a line; the decay moves the peak by 0.01 Hz


@pytest.mark.spec("004-C42")
def test_double_hits_overloads_and_cut_impacts_are_findings() -> None:
    test = modal_test({1.0: 50.0, 1.03: 8.0, 3.0: 150.0, 5.0: 40.0, 7.5: 40.0}, limit=70.0)
    impacts = da.identify.split_impacts(test, "hammer", trigger=5.72, length=1.5)
    assert [impact.judgement for impact in impacts.impacts] == ["double-hit", "saturated-channel", "good"]
    assert [finding.code for finding in impacts.findings] == ["double-hit", "saturated-channel", "too-few-samples"]
    assert len(impacts.good) == 1 and len(impacts.records) == 3
    # as sampled: the second pulse is 8 N of 50 N, each within 1 % of its peak
    assert impacts.findings[0].evidence["value"] == pytest.approx(0.16, rel=0.02)


def test_mistakes_have_their_codes() -> None:
    test = modal_test({1.0: 50.0})
    with raises(DataError, "empty", "hammer"):
        da.identify.split_impacts(test, "hammer", trigger=100.0, length=1.0)
    with raises(DataError, "unknown-name"):
        da.identify.split_impacts(test, "hamer", trigger=5.0)
    with raises(DataError, "out-of-range"):
        da.identify.split_impacts(test, "hammer", trigger=5.0, pretrigger=2.0, length=1.0)
