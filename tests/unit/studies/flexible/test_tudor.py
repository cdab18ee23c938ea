"""The study of the arm TUDOR, from end to end, and with a record of measurements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.studies import runner
from dalembert.studies.flexible import tudor as study
from tests.helpers.findings import raises


@pytest.mark.slow
@pytest.mark.spec("001-T4")
def test_the_study_has_the_published_frequencies_statics_energy_and_resonance(tmp_path: Path) -> None:
    runner.run("tudor", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    links = [[4.733, 75.63, 241.8], [22.90, 143.5, 401.8]]
    np.testing.assert_allclose(results["link_frequencies_hz"], links, rtol=5e-3)
    locked = [[3.51, 20.88], [2.86, 14.73], [2.46, 13.21], [2.19, 12.52], [1.99, 12.13]]
    np.testing.assert_allclose(results["locked_hz"], locked, rtol=5e-3)
    free = [[48.9, 102.3], [48.8, 75.1], [48.8, 71.4], [48.8, 69.9], [48.8, 69.1]]
    np.testing.assert_allclose(results["free_hz"], free, rtol=5e-3)
    assert results["with_rotors_hz"] == pytest.approx([3.09, 13.48, 70.7], rel=5e-3)
    torques, tips = results["holding_torque"], results["tip_m"]
    assert torques["undeformed"] == pytest.approx([7.286, 1.811], abs=1e-3)
    assert torques["deformed"] == pytest.approx([7.270, 1.796], abs=1e-3)
    assert torques["deformed_linear_rotations"] == pytest.approx([7.283, 1.808], abs=1e-3)
    assert tips["exact_rotations"] == pytest.approx([0.8147, -0.0824], abs=1e-4)
    assert tips["linear_rotations"] == pytest.approx([0.8174, -0.0828], abs=1e-4)
    strains = [results["strains"][name] for name in study.STRAINS]
    assert strains == pytest.approx([-8.35e-4, -5.31e-4, -1.93e-4, -7.9e-5], rel=0.01)
    assert results["free_fall_energy_error_j"] < 1e-9 * 3.84
    assert results["free_fall_kinetic_energy_j"] == pytest.approx(3.84, abs=5e-3)
    replay = results["replay"]
    assert replay["source"] == "stand-in plant" and replay["angle_rms_rad"] < 1e-3
    assert max(replay["strain_rms_percent"].values()) < 25  # three modes carry the moment of the elbow to a tenth
    assert list(replay["resonance_hz"].values()) == pytest.approx([2.0, 2.0], abs=0.1)


@pytest.mark.slow
def test_a_record_of_measurements_takes_the_place_of_the_stand_in(tmp_path: Path) -> None:
    """Angles at rest, sampled ten times more coarsely and from another time: the model stays at rest too, but for the
    15.6 mN m by which the sag relieves the elbow, over the gain 1200 N m/rad of its loop."""
    time = np.arange(0.0, 1.5, 1e-2) + 3.0
    _, held = study.hold(study.loaded(**study.MODEL))
    channels = {name: np.full(len(time), held.get(name, 0.0)) for name in (*study.JOINTS, *study.STRAINS)}
    file = tmp_path / "measured.csv"
    da.write_record(da.Record.from_channels(time, channels), file)
    measured = study.read_data(file)
    assert (measured.name, measured.time[0], measured.sample_time) == ("measured.csv", 0.0, pytest.approx(1e-3))
    assert study.replay(measured)[0]["angle_rms_rad"] < 15.6e-3 / 1200


def test_data_that_a_study_cannot_take_are_refused(tmp_path: Path) -> None:
    with raises(da.errors.DataError, "ineffective-argument"):
        runner.run("spin-up", tmp_path, data=tmp_path / "a.csv")
    time = np.linspace(0, 1, 11)
    da.write_record(da.Record.from_channels(time, {"shoulder.angle": time}), tmp_path / "a.csv")
    with raises(da.errors.DataError, "missing-channel"):
        study.read_data(tmp_path / "a.csv")
