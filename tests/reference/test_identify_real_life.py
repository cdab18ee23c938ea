"""Simulated real life: oversampled, noisy, periodic and slightly nonlinear tests give all modes once, and none more.

Limits: 2 % in frequency and 20 % in damping, which a test engineer takes as agreement.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.identify import AutoIdentified, IdentificationWarning, auto
from tests.helpers.repetitions import few
from tests.helpers.tested_structures import Truth, compare_modes, four_modes, frame_of_twelve, wrong_modes

PERIOD = 8192


def found(truth: Truth, inputs: str | list[str] = "force") -> AutoIdentified:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        return auto(truth.record, inputs)


CASES: dict[str, dict[str, Any]] = {
    "accelerations, 1 %": {},
    "accelerations, 10 %": {"noise": 0.1},
    "positions, 10 %, clean force": {"noise": 0.1, "accelerations": False, "noisy_force": False},
    "periodic, 10 %": {"noise": 0.1, "period": PERIOD},
    "force of smooth spectrum": {"smooth": True, "noise": 0.1},
}
HARD: dict[str, dict[str, Any]] = {
    "hardening, 1 %": {"hardening": 0.05},
    "hardening, 10 %, periodic": {"hardening": 0.05, "noise": 0.1, "period": PERIOD},
}


@pytest.mark.parametrize("case", few(CASES.values(), 2), ids=CASES)
def test_all_four_modes_of_an_oversampled_test_are_found_once(case: dict[str, Any]) -> None:
    truth = four_modes(1, **case)
    result = found(truth)
    assert wrong_modes(result, truth) == []
    assert result.time_scale.factor > 1
    assert "reduced-rate" in [one.code for one in result.findings]
    assert not result.nonlinearity.decided


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.01, 0.1])
@pytest.mark.parametrize("period", [None, PERIOD])
@pytest.mark.parametrize("hardening", [0.0, 0.05])
def test_all_four_modes_of_every_structure_are_found_once(
    seed: int, noise: float, period: int | None, hardening: float
) -> None:
    options = {"accelerations": bool(seed % 2), "noisy_force": bool(seed // 2 % 2), "smooth": seed % 5 == 4}
    truth = four_modes(seed, noise=noise, period=period, hardening=hardening, **options)
    assert wrong_modes(found(truth), truth) == []


@pytest.mark.parametrize("case", few(HARD.values()), ids=HARD)
def test_a_spring_five_percent_stiffer_is_found_and_leaves_the_modes(case: dict[str, Any]) -> None:
    truth = four_modes(2, samples=40_000, **case)
    result = found(truth)
    assert wrong_modes(result, truth) == []
    assert result.nonlinearity.decided
    assert 1e-3 < result.nonlinearity.level < 0.05
    assert "nonlinear" in [one.code for one in result.findings]


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [6, 12])
def test_all_twelve_modes_of_a_frame_are_found(sensors: int) -> None:
    truth = frame_of_twelve(0, sensors)
    result = found(truth, ["f1", "f2", "f3"])
    assert wrong_modes(result, truth) == []
    assert result.time_scale.factor == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
@pytest.mark.parametrize("sensors", [6, 12])
def test_all_twelve_modes_of_every_frame_are_found(seed: int, sensors: int) -> None:
    truth = frame_of_twelve(seed, sensors)
    assert wrong_modes(found(truth, ["f1", "f2", "f3"]), truth) == []


@pytest.mark.parametrize("noise", few([0.0, 0.01]))
def test_five_digits_change_no_mode(noise: float) -> None:
    truth = four_modes(3, samples=30_000, noise=noise, noisy_force=False)
    run = truth.record
    scale = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(run.data), 1e-300))) - 4)
    stored = da.Record(run.time, np.round(run.data / scale) * scale, run.names, run.units)
    whole, short = found(truth), found(Truth(stored, truth.frequencies_hz, truth.damping_ratios))
    # rounding of the fifth digit is noise of 1e-5: far below 1e-4 of a frequency and 1 % of a damping ratio
    assert np.allclose(short.sound_modes.frequencies_hz, whole.sound_modes.frequencies_hz, rtol=1e-4)
    assert np.allclose(short.sound_modes.damping_ratios, whole.sound_modes.damping_ratios, rtol=1e-2)


def test_the_command_line_gives_the_same_modes_sound_ones_first(tmp_path: Path) -> None:
    truth = four_modes(5, noise=0.1)
    da.write_record(truth.record, tmp_path / "test.csv")
    done = CliRunner().invoke(app, ["identify", str(tmp_path / "test.csv"), "--inputs", "force", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    classes = [mode["class"] for mode in document["modes"]]
    assert classes == sorted(classes, key=("sound", "uncertain", "of the fit only").index)
    sound = [mode for mode in document["modes"] if mode["class"] == "sound"]
    hertz, ratios = (np.array([mode[key] for mode in sound]) for key in ("frequency_hz", "damping_ratio"))
    assert compare_modes(hertz, ratios, truth) == []
    assert document["time_scale"]["factor"] > 1
    assert document["nonlinearity"]["decided"] is False


def test_held_out_data_do_not_repeat_the_training_input() -> None:
    truth = four_modes(1, period=PERIOD)
    result = found(truth)
    assert result.periodic is not None and result.periodic.period == PERIOD
    starts = [float(run.time[0]) % result.periodic.seconds for run in result.held_out]
    ends = [float(run.time[-1]) % result.periodic.seconds for run in result.training]
    assert max(ends) < min(starts)  # the last part of every period, which the training never holds


def test_a_period_too_short_to_be_cut_is_reported() -> None:
    result = found(four_modes(1, samples=20_000, period=1000))
    assert result.held_out == () and result.fit is None
    assert "no-held-out-data" in [one.code for one in result.findings]
