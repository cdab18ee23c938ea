"""Checks of records at the edges of their thresholds: a finding just beyond each, none just below."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.records.channel_values import (
    THRESHOLDS,
    ChannelStatistics,
    _find_dependence,
    _find_repeated_values,
)
from dalembert.identify.records.data import read_data
from dalembert.identify.records.drift import THRESHOLDS as DRIFT
from dalembert.identify.records.drift import measure_drift
from dalembert.record import Record

N, DT = 1000, 0.01
BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "found"), [(0.99, False), (1.01, True)])


def noise(seed: int = 0) -> np.ndarray:
    """White noise of exact mean 0 and standard deviation 1."""
    x = np.random.default_rng(seed).normal(size=N)
    return (x - x.mean()) / x.std()


def codes(*outputs: dict[str, np.ndarray], units: dict[str, str] | None = None, **more: bool) -> list[str]:
    force = noise(9)
    runs = [
        Record.from_channels(DT * np.arange(N), {"force": force + k * noise(8), **channels}, units)
        for k, channels in enumerate(outputs)
    ]
    return [one.code for one in read_data.quiet(runs, "force", **more).findings]


@pytest.mark.parametrize("extra", [-1, 0])
def test_samples_at_the_extreme_value(extra: int) -> None:
    x = noise()
    x[500 : 501 + THRESHOLDS.clipped_samples + extra] = x.max() + 1.0  # the first one is no repetition
    assert codes({"a": x}) == (["saturated-channel"] if extra == 0 else [])


@pytest.mark.parametrize("extra", [-1, 0])
def test_samples_that_do_not_change(extra: int) -> None:
    assert THRESHOLDS.stuck_samples >= THRESHOLDS.stuck_share * N
    x = noise()
    x[500 : 500 + THRESHOLDS.stuck_samples + extra] = 0.1
    assert codes({"a": x}) == (["stuck-channel"] if extra == 0 else [])


@pytest.mark.parametrize(("levels", "found"), [(THRESHOLDS.levels, True), (THRESHOLDS.levels + 1, False)])
def test_different_values_of_an_output(levels: int, found: bool) -> None:
    x = np.random.default_rng(0).integers(0, levels, N).astype(float)
    assert ("coarse-resolution" in codes({"a": x})) is found


@BELOW_AND_ABOVE
def test_the_mean_of_an_output(factor: float, found: bool) -> None:
    assert codes({"a": noise() + factor * THRESHOLDS.offset}) == (["offset"] if found else [])


@BELOW_AND_ABOVE
def test_the_mean_of_an_output_that_takes_states(factor: float, found: bool) -> None:
    shifted = {"a": noise() + factor * THRESHOLDS.unexplained_offset}
    assert codes(shifted, offset_takes_states=True) == (["unexplained-offset"] if found else [])
    assert codes(shifted) == []


@BELOW_AND_ABOVE
def test_channels_of_one_unit(factor: float, found: bool) -> None:
    channels = {"a": noise(1), "b": factor * THRESHOLDS.unit_ratio * noise(2)}
    assert codes(channels, units={"a": "m", "b": "m"}) == (["suspect-units"] if found else [])
    assert codes(channels, units={"a": "m", "b": "Pa"}) == []


@BELOW_AND_ABOVE
def test_a_channel_in_repeated_tests(factor: float, found: bool) -> None:
    sizes = {"a": noise(1)}, {"a": factor * THRESHOLDS.repeat_ratio * noise(2)}
    assert codes(*sizes) == (["suspect-units"] if found else [])


@pytest.mark.parametrize(("share", "found"), [(0.5, True), (2.0, False)])
def test_dependent_channels(share: float, found: bool) -> None:
    # of two channels with correlation r the smallest eigenvalue is 1 - r, of a part e of its own 1 - r = e²/2
    own = np.sqrt(2.0 * share * THRESHOLDS.dependent)
    assert codes({"a": noise(1), "b": noise(1) + own * noise(2)}) == (["dependent-channels"] if found else [])


@pytest.mark.parametrize(("factor", "found"), [(0.9, False), (1.1, True)])
def test_the_share_of_a_drift(factor: float, found: bool) -> None:
    x = np.tile(noise()[:32], N // 32 + 1)[:N]  # no level of its own: parts of 31 samples hold nearly one period
    ramp = np.linspace(-1.0, 1.0, N)
    size = np.sqrt(factor * DRIFT.share / (1.0 - factor * DRIFT.share)) * x.std() / ramp.std()
    assert (measure_drift(x + size * ramp, [], linear=False) > 0.0) is found


@BELOW_AND_ABOVE
def test_a_decay_takes_its_level_with_it(factor: float, found: bool) -> None:
    t = np.arange(N)
    x = noise() + 10.0 * np.sin(2.0 * np.pi * t / N)
    x[-N // 4 :] = x[-N // 4 :] / x[-N // 4 :].std() * x[: N // 4].std() / (factor * DRIFT.growth)
    assert (measure_drift(x, [], linear=False) == 0.0) is found


@pytest.mark.parametrize(("samples", "found"), [(160, False), (161, True)])
def test_levels_are_counted_in_more_than_20_samples_for_each(samples: int, found: bool) -> None:
    x = np.arange(samples) // 3 % 8.0
    run = Record.from_channels(DT * np.arange(samples), {"a": x})
    codes = [one.code for one in _find_repeated_values([run], "a", False, np.array([0.0]), np.array([7.0]))]
    assert ("coarse-resolution" in codes) is found


@pytest.mark.parametrize(("share", "involved"), [(0.09, ("a", "b")), (0.11, ("a", "b", "c"))])
def test_a_channel_with_a_tenth_of_a_combination_is_part_of_it(share: float, involved: tuple[str, ...]) -> None:
    # the null vector of 1 - n nᵀ is n; scaled to a unit diagonal it is n times the sizes, about (√½, √½, 1)
    small = share / np.sqrt(2.0)
    direction = np.array([np.sqrt((1.0 - small**2) / 2.0)] * 2 + [small])
    gram = np.eye(3) - np.outer(direction, direction)
    size = np.sqrt(np.diag(gram))
    part = direction * size / np.linalg.norm(direction * size)
    assert part[2] == pytest.approx(share, rel=0.02)
    (found,) = _find_dependence(gram, ["a", "b", "c"], "outputs")
    assert found.where["channels"] == involved


@pytest.mark.parametrize(("level", "again"), [(0.9e6, False), (1.1e6, True)])
def test_a_variance_below_1e_12_of_the_squared_mean_is_computed_again(level: float, again: bool, monkeypatch) -> None:
    # means are from the first sample of the first record: a second record stands at another level
    calls: list[str] = []
    original = Record.__getitem__
    monkeypatch.setattr(Record, "__getitem__", lambda self, name: calls.append(name) or original(self, name))
    first, second = noise(), level + noise(1)
    first[0] = 0.0
    runs = [Record.from_channels(DT * np.arange(N), {"a": x}) for x in (first, second)]
    assert ChannelStatistics(runs, ["a"]).spreads[1, 0] == pytest.approx(1.0, rel=1e-3)
    assert bool(calls) is again
