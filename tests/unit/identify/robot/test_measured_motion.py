"""Motion from records: cut-off, derivatives, ends, and records that do not serve."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion
from dalembert.errors import DataError
from dalembert.identify.robot.measured_motion import (
    MotionSpectrum,
    choose_cutoff,
    read_channels,
    read_motions,
)
from tests.helpers.robots import fourier_motion, measured_record, planar_arm

T = np.arange(0.0, 8.0, 0.005)


@cache
def arm() -> EquationsOfMotion:
    return da.equations(planar_arm(), coordinates="joint")


def read(record: da.Record, **options: Any) -> Any:
    channels = read_channels(arm(), (record,), None, None, efforts=True)
    given = {"cutoff_hz": None, "decimate": None} | options
    return read_motions(arm(), record, channels, **given)


def true_motion() -> tuple[FloatArray, ...]:
    return fourier_motion(arm(), T, size=0.5)


def test_exact_positions_are_not_filtered_and_their_derivatives_are_those_of_the_motion() -> None:
    motion = true_motion()
    (found,), findings = read(measured_record(arm(), motion, T, derivatives=False))
    assert found.cutoff_hz is None and not findings
    inner = slice(5, len(T) - 5)
    for one, wanted in zip((found.q, found.v, found.a), motion, strict=True):
        # splines of degree five over 5 ms of motions up to 0.75 Hz: relative errors of (2π · 0.75 · 0.005)⁴ = 3e-7
        np.testing.assert_allclose(one, wanted[inner], atol=1e-5)


def test_noisy_positions_are_filtered_so_that_accelerations_keep_their_share_of_noise() -> None:
    motion = true_motion()
    (found,), findings = read(measured_record(arm(), motion, T, derivatives=False, encoder=1e-4))
    assert found.cutoff_hz is not None and not findings
    exact = motion[2][np.searchsorted(T, found.t - 1e-9)]
    share = np.sqrt(((found.a - exact) ** 2).mean(axis=0) / (exact**2).mean(axis=0))
    # the filter passes some noise above its cut-off, and one joint needs a higher one than the other
    assert (share < 3 * 0.01).all()
    assert found.t[0] == pytest.approx(np.ceil(2.0 / found.cutoff_hz / 0.005) * 0.005)


def test_noise_that_hides_the_accelerations_is_reported() -> None:
    _, findings = read(measured_record(arm(), true_motion(), T, derivatives=False, encoder=0.05))
    assert {one.code for one in findings} == {"coarse-sampling"}
    assert findings[0].evidence["noise"] > 0.1 * findings[0].evidence["size"]


def test_a_white_floor_is_found_with_its_variance() -> None:
    rng = np.random.default_rng(0)
    values = np.sin(2 * np.pi * 0.5 * T) + 1e-3 * rng.normal(size=len(T))
    found = MotionSpectrum.of(values, 0.005, 0)
    # the median of 400 lines scatters by some 7 %; up to half the rate there is all of the noise
    assert found.noise_below(100.0) == pytest.approx(1e-3, rel=0.15)
    assert 0.4 < found.band < 3.0
    assert found.size == pytest.approx(np.sqrt(0.5), rel=0.02)


def test_a_joint_at_rest_does_not_decide_the_cutoff() -> None:
    rng = np.random.default_rng(0)
    moving = MotionSpectrum.of(np.sin(2 * np.pi * 0.5 * T) + 1e-4 * rng.normal(size=len(T)), 0.005, 2)
    resting = MotionSpectrum.of(1e-4 * rng.normal(size=len(T)), 0.005, 2)
    assert choose_cutoff([moving, resting]) == choose_cutoff([moving])
    assert choose_cutoff([resting]) == np.inf


def test_decimation_keeps_the_motion() -> None:
    motion = true_motion()
    (found,), _ = read(measured_record(arm(), motion, T, derivatives=False), decimate=5)
    assert np.diff(found.t)[0] == pytest.approx(0.025)
    middle = np.abs(found.t - 4.0) < 2.0
    exact = motion[0][np.searchsorted(T, found.t - 1e-9)]
    np.testing.assert_allclose(found.q[middle], exact[middle], atol=3e-4)  # the filter keeps its band within 1e-4


def test_short_names_of_joints_are_channels_too() -> None:
    record = measured_record(arm(), true_motion(), T, derivatives=False)
    renamed = da.Record(
        T, record[["A.angle", "B.angle", "uA", "uB"]], ["A", "B", "uA", "uB"], ["rad"] * 2 + ["N m"] * 2
    )
    (found,), _ = read(renamed)
    np.testing.assert_allclose(found.q[0], true_motion()[0][5])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda r: r.select("A.angle", "uA", "uB"), "missing-channel"),
        (lambda r: r.select("A.angle", "B.angle", "uA"), "missing-channel"),
        (lambda r: r.between(0.0, 0.02), "too-few-samples"),
        (lambda r: r.between(0.0, 0.06), "too-few-samples"),
        (lambda r: da.Record(T**1.1, r.data, r.names), "uneven-sampling"),
        (lambda r: da.Record(T, np.where(T[:, None] == T[50], np.nan, r.data), r.names), "not-finite"),
    ],
)
def test_records_that_do_not_serve_are_refused(change: Any, code: str) -> None:
    record = change(measured_record(arm(), true_motion(), T, derivatives=False))
    with pytest.raises(DataError) as caught:
        read(record)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"motion": {"Z": "A.angle"}}, "unknown-name"),
        ({"motion": {"A": "angle1"}}, "unknown-name"),
        ({"inputs": {"Z": "uA"}}, "unknown-name"),
    ],
)
def test_wrong_assignments_of_channels_are_refused(options: dict[str, Any], code: str) -> None:
    record = measured_record(arm(), true_motion(), T)
    with pytest.raises(DataError) as caught:
        read_channels(arm(), (record,), options.get("motion"), options.get("inputs"), efforts=True)
    assert caught.value.code == code


# ---- edges of thresholds


@pytest.mark.parametrize(("ratio", "line"), [(99.0, 1), (101.0, 20)])
def test_a_line_a_hundred_times_above_the_floor_is_motion(ratio: float, line: int) -> None:
    # An impulse has the power 1 in all lines (of its window), a cosine adds to it in phase; the floor is 1/ln 2.
    count = 801
    k = np.arange(count) - 400
    values = np.where(k == 0, 1.0, 0.0)
    size = np.sqrt(ratio / np.log(2.0)) - 1.0
    values += 2.0 * size / np.hanning(count).sum() * np.cos(2 * np.pi * 20 / count * k)
    found = MotionSpectrum.of(values, 0.01, 0)
    assert found.band == pytest.approx(found.frequencies[line])


def test_positions_of_24_bits_limit_their_second_derivatives() -> None:
    """White noise of 1e-7 of the largest position, differentiated twice, up to half the rate: ω_N²/√5 of it."""
    dt, t = 0.01, np.arange(0.0, 20.0, 0.01)
    position = 0.5 * np.sin(2.0 * np.pi * t)
    size = 0.5 * (2.0 * np.pi) ** 2 / np.sqrt(2.0)
    expected = 1e-7 * 0.5 * (np.pi / dt) ** 2 / np.sqrt(5.0) / size
    # the Hann window of a whole number of periods keeps the power to the few lines beside the sine
    assert MotionSpectrum.of(position, dt, 2).least_error(np.inf) == pytest.approx(expected, rel=0.02)
