"""The study of a measured building."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.identification import shake_table


@pytest.fixture(scope="module")
def building():
    return shake_table.study()


@pytest.mark.slow
def test_the_building_has_three_sway_modes_where_plain_spectra_show_them(building):
    # peaks of the measured frequency response: 3.69, 11.13 and 16.6 Hz; half a line of the spectrum is 0.06 Hz
    assert np.allclose(building.results["frequencies_hz"], [3.69, 11.13, 16.6], rtol=0, atol=0.06)
    assert np.all(np.array(building.results["damping"]) > 0.002)
    assert np.all(np.array(building.results["damping"]) < 0.02)


def test_every_mode_of_the_building_has_deviations_and_a_shape(building):
    for mode in building.results["modes"]:
        assert 0.0 < mode["frequency_deviation_hz"] < 0.01 * mode["frequency_hz"]
        assert 0.0 < mode["damping_deviation"] < 0.5 * mode["damping"]
        assert max(abs(value) for value in mode["shape"].values()) == pytest.approx(1.0)


def test_mode_shapes_of_the_building_cross_the_ground_line_none_once_and_twice(building):
    shapes = [list(mode["shape"].values()) for mode in building.results["modes"]]
    assert [int(np.sum(np.diff(np.sign(shape)) != 0)) for shape in shapes] == [0, 1, 2]


def test_the_stick_is_a_shear_building_with_the_modes_found(building):
    stick = building.results["stick"]
    M, K = np.array(stick["M"]), np.array(stick["K"])
    assert np.count_nonzero(M - np.diag(np.diag(M))) == 0
    assert K[0, 2] == 0.0
    assert np.linalg.eigvalsh(K)[0] > 0.0
    assert np.linalg.eigvalsh(np.array(stick["C"]))[0] > 0.0
    assert np.abs(stick["frequency_errors_percent"]).max() < 0.2  # the weight the fit gives to frequencies
    assert np.min(stick["mac"]) > 0.99


def test_the_modes_of_the_building_soften_with_the_level(building):
    levels = building.results["levels"]
    first = [one["frequencies_hz"][0] for one in sorted(levels, key=lambda one: one["level"])]
    assert first[0] > first[-1] + 0.1


def test_both_held_out_fits_of_the_building_are_reported(building):
    results = building.results
    assert results["fit_percent"] == pytest.approx(np.mean(list(results["fit"]["floors_percent"].values())))
    assert results["fit_percent"] > results["fit"]["model_of_all_training_data"]["held_out_percent"]
    assert results["fit_percent"] > 50.0


def test_the_held_out_third_is_the_last_and_not_used_for_the_modes():
    found = da.identify.auto(shake_table.record(), shake_table.GROUND, shake_table.FLOORS, order=6, refined=False)
    training, held = found.training[0], found.held_out[0]
    assert training.time[-1] < held.time[0]
    assert len(held) == pytest.approx(len(shake_table.record()) / 3, abs=1)
