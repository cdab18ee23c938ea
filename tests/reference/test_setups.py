"""Set-ups of a lightly damped steel frame, oversampled as loggers do: modes, classes and shapes without any option.

Eight modes from 2.1 to 12.6 Hz with 0.2 % damping, 256 Hz, 15 set-ups of 10 min, two references, levels of excitation
that differ by up to 20 dB. The least standard deviation of a damping ratio over all set-ups is √(ζ/(2π f T)), with T of
9000 s: 6.5 % of it at 2.1 Hz, 2.6 % at 12.6 Hz. So 20 % are three deviations of the first mode.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from tests.helpers.repetitions import few
from tests.helpers.roving_frame import DAMPING, HERTZ, measure, truth


@cache
def setups(kind: int = 2, drift: float = 0.0) -> tuple[da.Record, ...]:
    """A small version: 4 set-ups of 5 min at ten times the fastest mode."""
    return tuple(measure((0, 4, 8, 13), rate=128.0, duration=300.0, kinds=(2, kind), seed=7, drift=drift))


def check(merged: da.identify.MergedModes, duration: float, turn: float = 0.0) -> None:
    sound = merged.sound_modes
    assert len(sound) == len(merged.structural_modes) == 8, merged.table()
    # four deviations: the least ones by PreGER, 1.2 times as large by PoSER
    least = np.sqrt(0.002 / (2.0 * np.pi * HERTZ * duration))
    assert (np.abs(sound.frequencies_hz - HERTZ) < 5.0 * least * HERTZ).all()
    assert (np.abs(sound.damping_ratios - DAMPING) < 5.0 * least).all()
    # shapes are known to some per cent of their largest component, at 30 sensors, squared
    assert np.diagonal(sound.mac(truth(merged.outputs, turn))) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("method", ["poser", "preger"])
def test_oversampled_set_ups_give_every_mode_once_and_none_that_is_false(method: str) -> None:
    merged = da.identify.merge_setups.quiet(setups(), method=method)
    check(merged, 1200.0)
    assert merged.time_scale is not None and merged.time_scale.factor >= 2
    assert merged.unit == "m/s²" and not [one for one in merged.findings if one.code != "node"]


@pytest.mark.parametrize("method", few(["poser", "preger"]))
def test_velocities_beside_accelerations_give_the_shape_of_one_quantity(method: str) -> None:
    merged = da.identify.merge_setups.quiet(setups(1), method=method)
    check(merged, 1200.0)
    assert "m/s²" in merged.notes[-1] and merged.unit == "m/s²"


CLOSE = np.array([2.100, 4.016, 4.773, 6.679, 7.619, 12.45, 12.60, 12.66])  # three within 1.7 %, seen by two references


def test_three_close_modes_are_found_with_two_references() -> None:
    records = measure((0, 2, 4, 8, 10, 13), rate=40.0, duration=600.0, seed=8, hertz=CLOSE)
    modes = da.identify.merge_setups.quiet(records, method="preger").structural_modes
    # a third of the least distance, 0.06 Hz
    assert modes.frequencies_hz == pytest.approx(CLOSE, abs=0.02)
    assert (np.diagonal(modes.mac(truth(modes.coordinates))) > 0.95).all()


@pytest.mark.slow
def test_frequencies_that_shift_between_set_ups_are_a_finding() -> None:
    steady, shifted = (da.identify.merge_setups.quiet(setups(2, drift), method="preger") for drift in (0.0, 0.003))
    assert not [one for one in steady.findings if one.code == "shifted-modes"]
    (finding,) = (one for one in shifted.findings if one.code == "shifted-modes")
    assert 0.1 < finding.evidence["percent"] < 0.9  # 0.3 % in four set-ups, known to a factor of 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_fifteen_set_ups_give_eight_sound_modes_with_damping_within_20_per_cent(seed: int) -> None:
    records = measure(seed=seed)
    for method in ("poser", "preger"):
        merged = da.identify.merge_setups.quiet(records, method=method)
        check(merged, 9000.0)
        assert (np.abs(merged.sound_modes.damping_ratios - 0.002) < 0.2 * 0.002).all()
        assert len(merged.modes) == 8


@pytest.mark.slow
@pytest.mark.parametrize("method", ["poser", "preger"])
def test_noise_as_strong_as_half_the_motion_and_turned_sensors_change_nothing(method: str) -> None:
    merged = da.identify.merge_setups.quiet(measure(noise=0.5, turn=0.4, kinds=(2, 1), seed=3), method=method)
    check(merged, 9000.0, turn=0.4)
