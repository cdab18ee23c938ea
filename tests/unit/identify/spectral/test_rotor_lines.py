"""Lines of a rotor whose speed varies: named by their phases, removed by its angle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import dalembert as da
from dalembert.identify.output_only.machine_sines import remove_machine_sines
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.spectral.rotor_lines import RotorLines, find_rotor_lines, remove_lines
from dalembert.record import Record
from tests.helpers.ambient_chain import DT, ambient, truth

SPEED = 3.3  # [Hz]: its multiples are 0.9 Hz and more from the modes of the chain, but 9.9 and 13.2 Hz between two
SAMPLES = 19_200  # 300 s


def turning(samples: int, seed: int, variation: float, speed: float = SPEED) -> np.ndarray:
    """Angle of a rotor [rad] whose speed is a random process of a correlation time of 10 s."""
    rng = np.random.default_rng([seed, 1])
    slow = scipy.signal.lfilter([1.0], [1.0, -np.exp(-DT / 10.0)], rng.normal(size=samples + 6400))[6400:]
    return np.asarray(2.0 * np.pi * speed * np.cumsum(1.0 + variation * slow / slow.std()) * DT)


def on_one_channel(y: np.ndarray) -> Data:
    return read_data.quiet(Record(DT * np.arange(len(y)), y[:, None], ["y"]))


def find(y: np.ndarray, *multiples: float) -> RotorLines | None:
    hertz = 1.004 * SPEED * np.array(multiples)  # as peaks of a spectrum have it
    return find_rotor_lines(on_one_channel(y), hertz, np.ones((1, len(hertz)), dtype=complex))


@pytest.mark.parametrize("variation", [0.005, 0.01, 0.02])
def test_lines_of_one_rotor_are_found_with_its_mean_speed_and_its_variation(variation: float) -> None:
    angle = turning(SAMPLES, 1, variation)
    noise = np.random.default_rng(1).normal(size=SAMPLES)
    found = find(sum(np.cos(k * angle + k) for k in (1, 2, 3, 5)) + 0.3 * noise, 1, 2, 3, 5)
    assert found is not None and found.given == {0: 1, 1: 2, 2: 3, 3: 5} and set(found.multiples) >= {1, 2, 3, 5}
    # mean speed without 5 s at both ends, which the filter of ± 6 % joins: an error of 0.1 rad in 290 s · 2π · 3.3 Hz
    ends = int(1.0 / (0.06 * SPEED * DT))
    mean = (angle[-ends] - angle[ends]) / (2.0 * np.pi * DT * (SAMPLES - 2 * ends))
    assert found.base_hz == pytest.approx(mean, rel=1e-4)
    # noise of density 0.09/64 gives the angle 2 · 0.09/64/Σk² = 7e-5 rad²/Hz in 1 Hz to each side: 0.007 Hz, 0.2 %
    true = float(np.std(np.diff(angle)[ends:-ends])) / (2.0 * np.pi * SPEED * DT)
    assert np.hypot(true, 0.004) > found.variation > 0.9 * true
    assert found.covers(np.array([3.3, 3.3 * (1 + 4 * variation + 0.02), 3 * 3.3, 6 * 3.3])).tolist() == [
        True, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_record_without_time_to_measure_the_speed_shows_no_rotor(seed: int) -> None:
    """Lines at 6, 10 and 15 times 0.33 Hz: the ends that the filter joins, 50 s each, are longer than the record."""
    samples = round(90.0 / DT)
    angle = turning(samples, seed, 0.01, speed=0.1 * SPEED)
    y = sum(np.cos(k * angle + k) for k in (6, 10, 15)) + 0.01 * np.random.default_rng(1).normal(size=samples)
    assert find(y, 0.6, 1.0, 1.5) is None


@pytest.mark.parametrize("seed", range(3))
def test_lines_whose_phases_are_independent_are_found_by_their_speeds(seed: int) -> None:
    """Amplitudes and phases of each line are a random process of its own, with a correlation time of 6 s, 20 turns."""
    rng, angle, y = np.random.default_rng(seed), turning(SAMPLES, seed, 0.015), np.zeros(SAMPLES)
    for k in (1, 2, 3, 4):
        slow = scipy.signal.lfilter([1.0], [1.0, -np.exp(-DT / 6.0)], rng.normal(size=(2, SAMPLES)))
        y += ((slow[0] + 1j * slow[1]) * np.exp(1j * k * angle)).real / slow.std()
    y += 0.3 * rng.normal(size=SAMPLES)
    found = find(y, 1, 2, 3, 4)
    assert found is not None and found.given == {0: 1, 1: 2, 2: 3, 3: 4}
    # standard deviation of a mean of 30 independent values (300 s, 10 s each) of a speed that varies by 1.5 %: 0.3 %
    assert found.base_hz == pytest.approx(SPEED, rel=0.01) and 0.007 < found.variation < 0.02
    left = remove_lines(y[:, None], found.angles[0], found.multiples, found.width)
    assert left.std() < 0.6 * y.std()


def test_a_steady_speed_is_none_that_varies() -> None:
    angle = 2.0 * np.pi * SPEED * DT * np.arange(SAMPLES)
    noise = np.random.default_rng(2).normal(size=SAMPLES)
    assert find(sum(np.cos(k * angle) for k in (1, 2, 3)) + noise, 1, 2, 3) is None


def test_modes_at_whole_multiples_are_not_of_one_rotor() -> None:
    """A string under random forces: evenly spaced modes, whose phases are independent."""
    for seed in range(2):
        rng, y = np.random.default_rng(seed), np.zeros(SAMPLES)
        for k in (1, 2, 3, 4):
            pole = 2.0 * np.pi * SPEED * k * DT * (-0.01 + 1j)
            y += scipy.signal.lfilter([1.0], np.poly(np.exp([pole, pole.conjugate()])).real, rng.normal(size=SAMPLES))
        assert find(y, 1, 2, 3, 4) is None
        data = read_data.quiet(ambient(SAMPLES, seed=seed))
        modes = truth()
        assert find_rotor_lines(data, modes.frequencies_hz, modes.shapes.astype(complex)) is None


def test_the_distortion_of_a_mode_is_coupled_to_it_and_no_rotor() -> None:
    rng = np.random.default_rng(5)
    pole = 2.0 * np.pi * SPEED * DT * (-0.01 + 1j)
    x = scipy.signal.lfilter([1.0], np.poly(np.exp([pole, pole.conjugate()])).real, rng.normal(size=SAMPLES))
    x = x / x.std()
    assert find(x + 0.3 * x**2 + 0.3 * x**3, 1, 2, 3) is None


def test_lines_are_removed_by_the_angle_and_the_rest_stays() -> None:
    clean = ambient(SAMPLES, seed=1)
    angle = turning(SAMPLES, 1, 0.015)
    lines = np.outer(sum(np.cos(k * angle + k) / k for k in (1, 2, 3)), np.arange(1, 9)) * clean.data.std()
    noisy = Record(clean.time, clean.data + lines, clean.names, clean.units)
    found = remove_machine_sines(noisy, read_data.quiet(noisy))
    assert [one.code for one in found.findings] == ["rotor-harmonics"] and "3.3" in found.decisions[0]
    left = found.records[0].data - clean.data
    # the filter takes 2 · 12 of the lines of the modes too, and noise of the angle leaves some per cent
    assert np.sqrt(np.mean(left**2)) < 0.1 * np.sqrt(np.mean(lines**2))
    exact = remove_lines(noisy.data, angle, (1, 2, 3)) - remove_lines(clean.data, angle, (1, 2, 3))
    # by the true angle it is linear and leaves nothing but the next lines, a distance of 990 periods per record
    assert np.sqrt(np.mean(exact**2)) < 1e-2 * np.sqrt(np.mean(lines**2))


@pytest.mark.slow
def test_a_rotor_whose_speed_varies_is_named_never_sound_and_the_modes_beside_it_are() -> None:
    clean = ambient(SAMPLES, seed=3)
    angle = turning(SAMPLES, 3, 0.01)
    lines = np.outer(sum(np.cos(k * angle + k) for k in (1, 2, 3, 4, 5)), np.arange(1, 9)) * clean.data.std()
    with pytest.warns(da.identify.IdentificationWarning):
        fit = da.identify.auto(Record(clean.time, clean.data + lines, clean.names, clean.units))
    (finding,) = (one for one in fit.findings if one.code == "rotor-harmonics")
    assert finding.evidence["multiples"] == [1, 2, 3, 4, 5]
    sound = fit.frequencies_hz[fit.places()]
    apart = np.abs(sound[:, None] / (finding.evidence["base_hz"] * np.arange(1, 6)) - 1.0)
    assert (apart > 0.02).all()  # two standard deviations of the speed
    # deviations of frequencies of 1 % damping: √(ζ/(4π f T)), 0.07 % at 5.5 Hz; seven of them. The lowest mode, of
    # 550 periods, is uncertain
    assert all(np.abs(sound / f - 1.0).min() < 0.005 for f in truth().frequencies_hz[1:]), fit.table()
    assert fit.judgements[0].grade != "of the fit only"
