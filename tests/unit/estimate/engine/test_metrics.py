"""Errors of an estimate against the truth."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.kalman_models import kalman, pushed


@pytest.mark.spec("004-C11")
def test_figures_after_settling_are_those_of_the_error():
    record = pushed(500)
    estimate = kalman(P0=100.0, start={"position": 3.0}).run(record)
    result = estimate.compare(record, settle=10.0)
    error = (estimate["speed"] - record["speed"])[100:]
    assert result["speed"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
    assert result.largest["speed"] == pytest.approx(np.abs(error).max())
    assert result.mean["speed"] == pytest.approx(error.mean())
    assert result.errors["speed"][100:] == pytest.approx(error)
    assert result["speed"] < estimate.compare(record)["speed"]  # the first samples are worse
    kept = estimate.time >= estimate.time[0] + 10.0
    believed = np.sqrt(np.mean(estimate.deviations["speed"][kept] ** 2))
    assert result.deviation_rms["speed"] == pytest.approx(believed, rel=1e-12)
    assert believed < 0.99 * np.sqrt(np.mean(estimate.deviations["speed"] ** 2))
    assert 0 < result.cpu_per_second < 1
    assert "RMS error" in repr(result) and "NEES" in repr(result)


@pytest.mark.spec("004-C11")
def test_the_spectrum_of_an_error_shows_its_amplitude_and_frequency():
    record = pushed(1000)
    estimate = kalman().run(record)
    wrong = Record.from_channels(
        record.time, {"speed": np.asarray(estimate["speed"]) - 0.3 * np.sin(2 * np.pi * 1.0 * record.time)}
    )
    f, _, _, error = estimate.compare(wrong).spectra("speed")
    assert f[error.argmax()] == pytest.approx(1.0, abs=1e-9)
    assert error.max() == pytest.approx(0.3, rel=1e-3)


@pytest.mark.spec("004-C67")
def test_amplitudes_of_truth_and_estimate_stand_side_by_side_at_the_frequencies_asked_for():
    record = pushed(1000)  # 100 s: a line every 0.01 Hz
    estimate = kalman().run(record)
    t = record.time
    waves = {0.5: 0.3, 1.004: 0.2}  # on a line, and between two of them
    truth = Record.from_channels(
        t, {"speed": estimate["speed"] + sum(a * np.sin(2 * np.pi * f * t) for f, a in waves.items())}
    )
    found = estimate.compare(truth).amplitudes("speed", waves)
    # between lines a Hann window loses at most 15 %: 1 - 0.849
    assert found[0] == pytest.approx([0.3, 0.0], abs=2e-3)
    assert 0.849 * 0.2 < found[1, 0] < 0.2 + 2e-3
    assert found[:, 1].max() < 2e-3
    assert found[0, 0] == estimate.compare(truth).spectra("speed")[1][50]
    with raises(DataError, "out-of-range"):
        estimate.compare(truth).amplitudes("speed", [6.0])


def test_a_truth_sampled_otherwise_is_interpolated_and_one_too_short_is_refused():
    record = pushed(200, noise=0.0)
    estimate = kalman().run(record)
    fine = pushed(400, dt=0.05).between(0.0, 19.95)
    assert estimate.compare(fine)["speed"] == pytest.approx(estimate.compare(record)["speed"], rel=1e-6)
    with raises(DataError, "out-of-range"):
        estimate.compare(record.between(0.0, 5.0))
    with raises(DataError, "unknown-name", "'speed'"):
        estimate.compare(record, channels="sped")
    with raises(DataError, "missing-channel"):
        estimate.compare(record.select("push"))
    with raises(DataError, "too-few-samples"):
        estimate.compare(record, settle=100.0)
    with raises(DataError, "missing-channel"):
        da.estimate.nees(estimate, record.select("position"))


@pytest.mark.parametrize(("factor", "shown"), [(0.9, False), (1.1, True)])
def test_a_channel_that_does_not_move_has_no_relative_error(factor: float, shown: bool) -> None:
    estimate = kalman().run(pushed(50))
    truth = Record.from_channels(estimate.time, {"speed": factor * 1e-15 * (-1.0) ** np.arange(len(estimate.time))})
    assert ("%" in estimate.compare(truth).table()) is shown
