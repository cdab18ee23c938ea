"""Records in which time jumps: told, cut, never filled in silence."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning
from dalembert.identify.records.gaps import cut_at_gaps, find_parts
from dalembert.linear.state_space import StateSpace
from dalembert.record import GapWarning, Record
from tests.helpers.commands import run
from tests.helpers.findings import raises, warns

TRUE = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.01, inputs="force", outputs="sway")


def with_gap(first: int = 1000, lost: int = 50, count: int = 3000) -> Record:
    """A lightly noisy test at 100 Hz that lacks some samples."""
    rng = np.random.default_rng(4)
    t = 0.01 * np.arange(count)
    force = rng.normal(size=count)
    sway = TRUE.response(Record.from_channels(t, {"force": force}))["sway"] + 0.1 * rng.normal(size=count)
    kept = np.delete(np.arange(count), slice(first, first + lost))
    channels = {"force": force[kept], "sway": sway[kept]}
    return Record.from_channels(t[kept], channels, {"force": "N", "sway": "m"}, name="hammer")


def test_resampling_over_a_gap_tells_when_and_how_long_and_keeps_it() -> None:
    with warns(GapWarning, "gaps", "0.5 s", "9.99 s"):
        even = with_gap().resample(every=0.01)
    assert even.provenance["filled"] == ["0.5 s without samples from t = 9.99 s"]


def test_resampling_of_jitter_a_single_lost_sample_or_a_run_of_changing_steps_tells_nothing() -> None:
    rng = np.random.default_rng(1)
    jitter = 0.01 * np.arange(500) + 0.002 * rng.random(500)
    grown = np.cumsum(np.geomspace(1e-4, 1.0, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in (jitter, np.delete(0.01 * np.arange(500), 100), grown):
            assert "filled" not in Record(t, t[:, None], ["x"]).resample(every=0.01).provenance


def test_a_record_is_cut_where_time_jumps() -> None:
    parts = with_gap().parts()
    assert [len(part) for part in parts] == [1000, 1950]
    assert all(part.is_even and part.provenance["parted"] for part in parts)
    whole = Record([0.0, 1.0, 2.0], [[1.0], [2.0], [3.0]], ["x"])
    assert whole.parts() == (whole,)


def test_automatic_identification_cuts_at_a_gap_and_finds_the_mode() -> None:
    with warns(IdentificationWarning, "time-gaps", "2 parts", "0.5 s", "9.99 s"):
        found = da.identify.auto(with_gap(), "force", "sway")
    assert "cut where time jumps (0.5 s without samples from t = 9.99 s)" in found.decisions[0]
    true, model = TRUE.modes(), found.identified
    assert abs(found.frequencies_hz[0] - true.frequencies_hz[0]) < 3 * model.frequency_deviations_hz[0]
    assert abs(found.damping_ratios[0] - true.damping_ratios[0]) < 3 * model.damping_deviations[0]


def test_automatic_identification_of_a_filled_record_says_so() -> None:
    with pytest.warns(GapWarning):
        even = with_gap().resample(every=0.01)
    with warns(IdentificationWarning, "filled-gaps"):
        found = da.identify.auto(even, "force", "sway", refined=False)
    assert "filled by interpolation where time jumps (0.5 s without samples" in found.decisions[0]
    assert "no gaps" not in found.decisions[0]
    assert "filled-gaps" in [one.code for one in found.findings]


def test_parts_too_short_are_left_out_and_told() -> None:
    with warns(IdentificationWarning, "time-gaps", "1 part", "40 samples"):
        assert [len(part) for part in cut_at_gaps(with_gap(40))] == [2910]
    stutter = np.concatenate([0.01 * np.arange(50) + 2.0 * k for k in range(4)])
    with raises(DataError, "time-gaps", "3 gaps", "resample(every=0.01)"):
        cut_at_gaps(Record(stutter, stutter[:, None], ["x"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="as measured"),
        pytest.param(("--resample", "0.01"), id="resampled"),
        pytest.param(("--method", "moesp"), id="another method"),
    ],
)
def test_the_command_cuts_at_a_gap_and_the_report_tells_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    da.write_record(with_gap(), tmp_path / "ham.csv")
    page = tmp_path / "ham.html"
    done = run("identify", tmp_path / "ham.csv", "--inputs", "force", "--order", "2", "--report", page, *more)
    assert done.exit_code == 0, done.output
    assert "0.5 s without samples from t = 9.99 s" in done.stderr
    assert "cut where time jumps" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_report_of_a_filled_record_says_so(tmp_path: Path) -> None:
    with pytest.warns(GapWarning):
        even = with_gap().resample(every=0.01)
    da.report(even, tmp_path / "even.html")
    told = "0.5 s without samples from t = 9.99 s: filled by interpolation"
    assert told in (tmp_path / "even.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("samples", "kept"), [(100 - 1, 1), (100, 2)])
def test_a_part_shorter_than_a_hundred_samples_is_left_out(samples: int, kept: int) -> None:
    t = 0.01 * np.arange(1000)
    t[-samples:] += 5.0
    parts, findings = find_parts(Record.from_channels(t, {"x": np.sin(t)}))
    assert len(parts) == kept
    assert findings[0].evidence["left_out"] == (samples if kept == 1 else 0)
