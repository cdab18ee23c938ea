"""Statistics of channels on records just within the limits of the rules, and just beyond."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify.records.channel_values import ChannelStatistics, examine_values
from dalembert.identify.records.data import read_data
from dalembert.identify.records.drift import measure_drift
from dalembert.record import Record
from tests.helpers.findings import raises

N, DT = 1000, 0.01


def noise(seed: int = 0, samples: int = N) -> np.ndarray:
    """White noise of exact mean 0 and standard deviation 1."""
    x = np.random.default_rng(seed).normal(size=N)
    return np.resize((x - x.mean()) / x.std(), samples)


def record(**channels: np.ndarray) -> Record:
    return Record.from_channels(DT * np.arange(len(next(iter(channels.values())))), channels)


def codes(*outputs: dict[str, np.ndarray], units: dict[str, str] | None = None, **more: bool) -> list[str]:
    runs = [
        Record.from_channels(
            DT * np.arange(size := len(next(iter(channels.values())))),
            {"force": noise(9, size) + k * noise(8, size), **channels}, units,
        )
        for k, channels in enumerate(outputs)
    ]  # fmt: skip
    return [one.code for one in read_data.quiet(runs, "force", **more).findings]


def held(value: float, count: int, samples: int = N) -> dict[str, np.ndarray]:
    x = noise(0, samples)
    x[200 : 200 + count] = value
    return {"a": x}


def levels(count: int) -> dict[str, np.ndarray]:
    return {"a": np.random.default_rng(0).integers(0, count, N).astype(float)}


# code, records that are good, records that are not; of a part e of its own a second channel leaves an eigenvalue e²/2
FAULTS: dict[str, tuple[str, Callable[[], list[str]], Callable[[], list[str]]]] = {
    "five samples at an extreme": ("saturated-channel", lambda: codes(held(9.0, 5)), lambda: codes(held(9.0, 6))),
    "a thousandth at an extreme": (
        "saturated-channel", lambda: codes(held(9.0, 10, 10_000)), lambda: codes(held(9.0, 11, 10_000))),
    "twenty equal samples": ("stuck-channel", lambda: codes(held(0.1, 19)), lambda: codes(held(0.1, 20))),
    "a fiftieth of equal samples": (
        "stuck-channel", lambda: codes(held(0.1, 199, 10_000)), lambda: codes(held(0.1, 200, 10_000))),
    "eight levels": ("coarse-resolution", lambda: codes(levels(9)), lambda: codes(levels(8))),
    "a mean of ten deviations": ("offset", lambda: codes({"a": noise() + 9.9}), lambda: codes({"a": noise() + 10.1})),
    "a mean of one deviation": (
        "unexplained-offset", lambda: codes({"a": noise() + 0.99}, offset_takes_states=True),
        lambda: codes({"a": noise() + 1.01}, offset_takes_states=True)),
    "sizes of one unit": (
        "suspect-units", lambda: codes({"a": noise(1), "b": 0.99e6 * noise(2)}, units={"a": "m", "b": "m"}),
        lambda: codes({"a": noise(1), "b": 1.01e6 * noise(2)}, units={"a": "m", "b": "m"})),
    "sizes in repeated tests": (
        "suspect-units", lambda: codes({"a": noise(1)}, {"a": 0.99e4 * noise(2)}),
        lambda: codes({"a": noise(1)}, {"a": 1.01e4 * noise(2)})),
    "a channel of two": (
        "dependent-channels", lambda: codes({"a": noise(1), "b": noise(1) + 1.7e-7 * noise(2)}),
        lambda: codes({"a": noise(1), "b": noise(1) + 1.2e-7 * noise(2)})),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_beyond_its_limit_only_and_alone(name: str) -> None:
    code, good, bad = FAULTS[name]
    assert code not in good()
    assert bad() == [code]


def test_channels_of_two_units_may_differ_and_offsets_matter_where_they_take_states() -> None:
    assert codes({"a": noise(1), "b": 1e7 * noise(2)}, units={"a": "m", "b": "Pa"}) == []
    assert codes({"a": noise() + 1.5}) == []


def test_samples_written_faster_than_measured_are_found() -> None:
    runs = [record(force=np.repeat(noise(9)[:250], 4), a=np.repeat(noise()[:250], 4))]
    (finding,) = (one for one in examine_values(runs, ["force"], ["a"], {}, offsets=False) if "repeated" in one.code)
    assert finding.evidence["times"] == 4


@pytest.mark.parametrize(("factor", "found"), [(0.9, False), (1.1, True)])
def test_the_share_of_a_drift(factor: float, found: bool) -> None:
    x = np.tile(noise()[:32], N // 32 + 1)[:N]  # no level of its own: parts of 31 samples hold nearly one period
    ramp = np.linspace(-1.0, 1.0, N)
    size = np.sqrt(factor * 0.02 / (1.0 - factor * 0.02)) * x.std() / ramp.std()
    assert (measure_drift(x + size * ramp, [], linear=False) > 0.0) is found


def test_values_beyond_1e100_are_refused() -> None:
    for size in (0.99e100, -0.99e100):
        x = noise()
        x[3] = size
        assert np.isfinite(ChannelStatistics([record(a=x)], ["a"]).spreads).all()
        x[3] = size / 0.98
        with raises(DataError, "out-of-range"):
            ChannelStatistics([record(a=x)], ["a"])
