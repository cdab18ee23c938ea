"""Frequency domain decomposition: awkward records."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.signal

from dalembert.core.errors import DataError
from dalembert.identify import efdd, fdd
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.ambient_chain import DT, ambient, truth


def oscillator(f: float, zeta: float, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Displacement of one degree of freedom under white noise, unit variance."""
    s = 2.0 * np.pi * f * (-zeta + 1j * np.sqrt(1.0 - zeta**2))
    z = np.exp(s * DT)
    A = np.array([[z.real, -z.imag], [z.imag, z.real]])
    x = march(A, rng.normal(size=(samples - 1, 2)), np.zeros(2))[:, 0]
    return np.asarray(x / x.std())


def test_close_modes_nearer_than_their_width_are_two() -> None:
    # 5.00 and 5.05 Hz, both 1 % damped: 0.1 Hz wide. The weaker one is in the second singular value only.
    rng = np.random.default_rng(2)
    shapes = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    y = 2.0 * np.outer(oscillator(5.0, 0.01, 76_800, rng), shapes[0])
    y += np.outer(oscillator(5.05, 0.01, 76_800, rng), shapes[1])
    y += 0.05 * rng.normal(size=y.shape)
    found = fdd(Record(DT * np.arange(76_800), y, ["a", "b", "c", "d"]))
    assert len(found.modes) == 2
    assert sorted(found.ranks.tolist()) == [0, 1]
    # a peak is known to half its width at worst
    assert found.frequencies_hz == pytest.approx([5.0, 5.05], abs=0.05)
    for shape in shapes:
        mac = np.abs(found.shapes.conj().T @ shape) ** 2 / np.sum(np.abs(found.shapes) ** 2, axis=0) / 4.0
        assert mac.max() > 0.98


def test_one_sensor_gives_peaks_of_its_density() -> None:
    found = fdd(ambient(38_400).select("m8"))
    assert found.shapes == pytest.approx(1.0)
    first = truth().frequencies_hz[:4]
    # a line is 0.02 Hz, a peak 2 ζ f wide
    assert (np.abs(found.frequencies_hz[:4] - first) < 0.02 + 0.01 * first).all()
    assert any("one output" in note for note in found.notes)


def test_a_band_without_excitation_gives_no_modes_and_a_given_frequency_in_it_a_finding() -> None:
    record = ambient(38_400)
    low = scipy.signal.sosfiltfilt(scipy.signal.butter(10, 6.2, fs=64.0, output="sos"), record.data, axis=0)
    low += 0.05 * low.std(axis=0) * np.random.default_rng(1).normal(size=low.shape)
    quiet = Record(record.time, low, record.names, record.units)
    found = fdd(quiet)
    assert found.frequencies_hz == pytest.approx(truth().frequencies_hz[:2], rel=0.015)
    given = fdd.quiet(quiet, frequencies_hz=[5.47, 17.0])
    assert [one.code for one in given.findings] == ["no-peak"]
    assert given.findings[0].evidence["hertz"] == 17.0
    assert given.frequencies_hz[0] == pytest.approx(5.473, rel=0.015)


def test_given_frequencies_find_the_line_of_their_peak() -> None:
    found = fdd(ambient(38_400), frequencies_hz=[8.9, 1.85])
    assert len(found.modes) == 2
    assert found.modes.mac(truth())[[0, 1], [0, 2]] == pytest.approx(1.0, abs=0.01)


def test_a_frequency_above_half_the_sample_rate_is_refused() -> None:
    with pytest.raises(DataError) as error:
        fdd(ambient(8000), frequencies_hz=40.0)
    assert error.value.finding.code == "out-of-range"


def test_a_record_that_is_too_short_is_refused_with_the_samples_needed() -> None:
    with pytest.raises(DataError) as error:
        fdd(ambient(600))
    assert error.value.finding.code == "too-few-samples"
    assert error.value.finding.evidence["needed"] == 800


def test_noise_alone_is_a_finding_and_no_modes() -> None:
    noise = Record(DT * np.arange(20_000), np.random.default_rng(3).normal(size=(20_000, 3)), ["a", "b", "c"])
    found = fdd.quiet(noise)
    assert len(found.modes) == 0
    assert [one.code for one in found.findings] == ["no-peak"]
    assert "no modes" in found.table()


def test_shapes_do_not_depend_on_the_units_of_the_channels() -> None:
    record = ambient(19_200)
    factors = np.array([1.0, 1e3, 1.0, 1e3, 1.0, 1e3, 1.0, 1e3])
    units = {name: "m/s²" if k % 2 == 0 else "mm/s²" for k, name in enumerate(record.names)}
    mixed = Record(record.time, record.data * factors, record.names, units)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = fdd(record), fdd(mixed)
    assert other.frequencies_hz == pytest.approx(one.frequencies_hz, rel=0.01)
    for a, b in zip(one.shapes.T, (other.shapes / factors[:, None]).T):
        assert abs(np.vdot(a, b)) ** 2 / np.vdot(a, a).real / np.vdot(b, b).real > 0.99


@pytest.mark.parametrize("rate", [100.0, 200.0])
def test_leakage_of_a_record_without_noise_doubles_no_mode(rate: float) -> None:
    """One force, two modes, two sensors: the second singular value is leakage of the window, four decades lower."""
    from scipy.signal import cont2discrete, dlsim

    rng = np.random.default_rng(3)
    samples = int(120 * rate)
    force, motion = rng.normal(size=samples), np.zeros((samples, 2))
    for hertz, shape in ((6.8, (0.53, 0.85)), (20.4, (0.86, -0.51))):
        w = 2 * np.pi * hertz
        A, C = np.array([[0, 1], [-w * w, -0.02 * w]]), np.array([[-w * w, -0.02 * w]])
        parts = cont2discrete((A, np.array([[0], [1.0]]), C, np.array([[1.0]])), 1 / rate)
        motion += dlsim((*parts[:4], 1 / rate), shape[0] * force)[1] * np.array(shape)
    record = Record(np.arange(samples) / rate, motion, ["a1", "a2"])
    for method in (fdd, efdd):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(record)
        # a line of the spectrum is 0.2 Hz wide
        assert found.frequencies_hz == pytest.approx([6.8, 20.4], abs=0.2)
