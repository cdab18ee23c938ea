"""Checks of records at the edges of their thresholds: a finding just beyond each, none just below."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify.records.channel_values import (
    ChannelStatistics,
    _find_repeated_values,
    examine_values,
)
from dalembert.identify.records.data import read_data
from dalembert.identify.records.drift import measure_drift
from dalembert.record import Record
from tests.helpers.findings import raises

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
    x[500 : 501 + 5 + extra] = x.max() + 1.0  # the first one is no repetition
    assert codes({"a": x}) == (["saturated-channel"] if extra == 0 else [])


@pytest.mark.parametrize("extra", [-1, 0])
def test_samples_that_do_not_change(extra: int) -> None:
    assert 0.02 * N <= 20
    x = noise()
    x[500 : 500 + 20 + extra] = 0.1
    assert codes({"a": x}) == (["stuck-channel"] if extra == 0 else [])


@pytest.mark.parametrize(("levels", "found"), [(8, True), (8 + 1, False)])
def test_different_values_of_an_output(levels: int, found: bool) -> None:
    x = np.random.default_rng(0).integers(0, levels, N).astype(float)
    assert ("coarse-resolution" in codes({"a": x})) is found


@BELOW_AND_ABOVE
def test_the_mean_of_an_output(factor: float, found: bool) -> None:
    assert codes({"a": noise() + factor * 10.0}) == (["offset"] if found else [])


@BELOW_AND_ABOVE
def test_the_mean_of_an_output_that_takes_states(factor: float, found: bool) -> None:
    shifted = {"a": noise() + factor * 1.0}
    assert codes(shifted, offset_takes_states=True) == (["unexplained-offset"] if found else [])
    assert codes(shifted) == []


@BELOW_AND_ABOVE
def test_channels_of_one_unit(factor: float, found: bool) -> None:
    channels = {"a": noise(1), "b": factor * 1000000.0 * noise(2)}
    assert codes(channels, units={"a": "m", "b": "m"}) == (["suspect-units"] if found else [])
    assert codes(channels, units={"a": "m", "b": "Pa"}) == []


@BELOW_AND_ABOVE
def test_a_channel_in_repeated_tests(factor: float, found: bool) -> None:
    sizes = {"a": noise(1)}, {"a": factor * 10000.0 * noise(2)}
    assert codes(*sizes) == (["suspect-units"] if found else [])


@pytest.mark.parametrize(("share", "found"), [(0.5, True), (2.0, False)])
def test_dependent_channels(share: float, found: bool) -> None:
    # of two channels with correlation r the smallest eigenvalue is 1 - r, of a part e of its own 1 - r = e²/2
    own = np.sqrt(2.0 * share * 1e-14)
    assert codes({"a": noise(1), "b": noise(1) + own * noise(2)}) == (["dependent-channels"] if found else [])


@pytest.mark.parametrize(("factor", "found"), [(0.9, False), (1.1, True)])
def test_the_share_of_a_drift(factor: float, found: bool) -> None:
    x = np.tile(noise()[:32], N // 32 + 1)[:N]  # no level of its own: parts of 31 samples hold nearly one period
    ramp = np.linspace(-1.0, 1.0, N)
    size = np.sqrt(factor * 0.02 / (1.0 - factor * 0.02)) * x.std() / ramp.std()
    assert (measure_drift(x + size * ramp, [], linear=False) > 0.0) is found


@BELOW_AND_ABOVE
def test_a_decay_takes_its_level_with_it(factor: float, found: bool) -> None:
    t = np.arange(N)
    x = noise() + 10.0 * np.sin(2.0 * np.pi * t / N)
    x[-N // 4 :] = x[-N // 4 :] / x[-N // 4 :].std() * x[: N // 4].std() / (factor * 20.0)
    assert (measure_drift(x, [], linear=False) == 0.0) is found


# ---- the numbers themselves


def record(**channels: np.ndarray) -> Record:
    return Record.from_channels(DT * np.arange(len(next(iter(channels.values())))), channels)


def test_values_beyond_1e100_are_refused() -> None:
    for size in (0.99e100, -0.99e100):
        x = noise()
        x[3] = size
        assert np.isfinite(ChannelStatistics([record(a=x)], ["a"]).spreads).all()
        x[3] = size / 0.98
        with raises(DataError, "out-of-range"):
            ChannelStatistics([record(a=x)], ["a"])


def repeated_values(x: np.ndarray) -> list[str]:
    found = _find_repeated_values([record(a=x)], "a", False, np.array([x.min()]), np.array([x.max()]))
    return [one.code for one in found]


@pytest.mark.parametrize(
    ("samples", "repeated", "found"),
    [(1000, 4, False), (1000, 5, True), (10_000, 9, False), (10_000, 10, True)],
)
def test_a_channel_is_saturated_by_5_samples_and_a_thousandth_of_them(samples: int, repeated: int, found: bool) -> None:
    x = np.resize(noise(), samples)
    x[500 : 501 + repeated] = 9.0  # the first one is no repetition
    assert repeated_values(x) == (["saturated-channel"] if found else [])


@pytest.mark.parametrize(
    ("samples", "equal", "found"), [(500, 19, False), (500, 20, True), (10_000, 199, False), (10_000, 200, True)]
)
def test_a_channel_is_stuck_for_20_samples_and_a_fiftieth_of_them(samples: int, equal: int, found: bool) -> None:
    x = np.resize(noise(), samples)
    x[200 : 200 + equal] = 0.1
    assert repeated_values(x) == (["stuck-channel"] if found else [])


@pytest.mark.parametrize(("mean", "found"), [(0.198, True), (0.202, False)])
def test_an_input_with_a_mean_of_a_fifth_of_its_spread_explains_an_offset(mean: float, found: bool) -> None:
    runs = [record(force=noise(9) + mean, a=noise(1) + 1.5)]
    codes = [one.code for one in examine_values(runs, ["force"], ["a"], {}, offsets=True, strict=True)]
    assert codes == (["unexplained-offset"] if found else [])


@pytest.mark.parametrize(
    ("mean", "code"),
    [(0.99, []), (1.01, ["unexplained-offset"]), (9.9, ["unexplained-offset"]), (10.1, ["offset"])],
)
def test_an_offset_of_one_deviation_takes_states_and_one_of_ten_hides_the_motion(mean: float, code: list[str]) -> None:
    assert codes({"a": noise() + mean}, offset_takes_states=True) == code


@pytest.mark.parametrize(("ratio", "found"), [(0.99, False), (1.01, True)])
def test_units_are_suspect_from_1e6_on_and_those_of_repeated_tests_from_1e4_on(ratio: float, found: bool) -> None:
    channels = {"a": noise(1), "b": ratio * 1e6 * noise(2)}
    assert codes(channels, units={"a": "m", "b": "m"}) == (["suspect-units"] if found else [])
    assert codes({"a": noise(1)}, {"a": ratio * 1e4 * noise(2)}) == (["suspect-units"] if found else [])


@pytest.mark.parametrize(("own", "found"), [(1.2e-7, True), (1.7e-7, False)])
def test_channels_are_dependent_below_an_eigenvalue_of_1e_14(own: float, found: bool) -> None:
    # of a part e of its own the smallest eigenvalue is e²/2: 0.7e-14 and 1.4e-14
    assert codes({"a": noise(1), "b": noise(1) + own * noise(2)}) == (["dependent-channels"] if found else [])


@pytest.mark.parametrize(("levels", "found"), [(8, True), (9, False)])
def test_eight_values_of_an_output_are_too_coarse(levels: int, found: bool) -> None:
    x = np.random.default_rng(0).integers(0, levels, N).astype(float)
    assert ("coarse-resolution" in codes({"a": x})) is found


@pytest.mark.parametrize(("roundings", "refused"), [(8, True), (9, False)])
def test_a_channel_that_varies_by_eight_roundings_is_constant(roundings: int, refused: bool) -> None:
    # the range is relative to the largest value: steps of ε above 1, less ε themselves
    x = np.ones(N)
    x[500] += roundings * 2.0**-52
    runs = [record(a=x)]
    if refused:
        with raises(DataError, "constant-channel"):
            examine_values(runs, [], ["a"], {}, offsets=False)
    else:
        examine_values(runs, [], ["a"], {}, offsets=False)
