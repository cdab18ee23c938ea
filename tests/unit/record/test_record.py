"""Record: what it holds, how it is picked from, and what it refuses."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.core.errors import DataError, MissingExtraError
from dalembert.record import GapWarning, Record
from tests.helpers.findings import assert_read_only, raises, warns


@pytest.fixture
def run() -> Record:
    t = np.linspace(0.0, 1.0, 11)
    return Record.from_channels(
        t,
        {"A.angle": t**2, "A.rate": 2 * t, "tip.x": 3 * t, "tip.y": 1 - t, "AB": t, "energy": np.ones(11)},
        {"A.angle": "rad", "A.rate": "rad/s", "tip.x": "m", "tip.y": "m", "energy": "J"},
        name="swing",
        statistics={"steps": 10},
        provenance={"method": "RK4"},
        scene={"planar": True},
    )


def test_a_channel_is_found_by_its_name(run: Record) -> None:
    assert np.array_equal(run["A.rate"], 2 * run.time)
    assert run.units["A.rate"] == "rad/s"
    assert "A.rate" in run
    assert "A.rat" not in run
    assert len(run) == 11


def test_time_is_found_by_its_name(run: Record) -> None:
    assert run["time"] is run.time


def test_a_vector_is_found_by_its_stem(run: Record) -> None:
    assert np.array_equal(run["tip"], np.column_stack([3 * run.time, 1 - run.time]))
    assert "tip" in run
    spatial = Record([0.0], [[1.0, 2.0, 3.0]], ["p.z", "p.y", "p.x"])
    assert np.array_equal(spatial["p"], [[3.0, 2.0, 1.0]])


def test_a_list_of_names_gives_columns_in_its_order(run: Record) -> None:
    assert np.array_equal(run[["energy", "tip"]], np.column_stack([run["energy"], run["tip"]]))


def test_a_stem_that_is_no_vector_is_answered_with_its_channels(run: Record) -> None:
    with raises(DataError, "stem-of-names", "'A'"):
        run["A"]
    assert "A" not in run
    assert run.select("A").names == ("A.angle", "A.rate")


def test_a_number_as_index_is_refused_with_the_way_to_do_it(run: Record) -> None:
    with raises(DataError, "wrong-type"):
        run[3]  # type: ignore[call-overload, index]


def test_every_array_handed_out_is_read_only(run: Record) -> None:
    for values in (run.time, run.data, run["A.angle"], run["tip"], run[["tip", "energy"]], run.between(0, 1).data):
        assert_read_only(values)


def test_the_array_of_the_caller_stays_writeable() -> None:
    data = np.zeros((2, 1))
    Record([0.0, 1.0], data, ["x"])
    data[0] = 1.0


def test_large_arrays_are_not_copied() -> None:
    time, data = np.arange(1000.0), np.zeros((1000, 3))
    run = Record(time, data, ["a", "b", "c"])
    assert np.shares_memory(run.data, data)
    assert np.shares_memory(run.time, time)
    assert np.shares_memory(run.between(10, 20).data, data)


def test_a_record_is_frozen(run: Record) -> None:
    name = run.name
    with pytest.raises(AttributeError):
        run.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del run._data
    assert run.name == name and run._data is not None
    run.statistics["steps"] = 0
    run.units["A.rate"] = "m"
    assert run.statistics == {"steps": 10}
    assert run.units["A.rate"] == "rad/s"


def test_records_have_no_arithmetic(run: Record) -> None:
    for act in ("__add__", "__sub__", "__mul__", "__neg__", "__lt__"):
        assert getattr(Record, act, None) is getattr(object, act, None)
    with pytest.raises(TypeError):
        run + run  # type: ignore[operator]


@pytest.mark.parametrize("through", [lambda r: pickle.loads(pickle.dumps(r)), copy.copy, copy.deepcopy])  # noqa: S301
def test_pickling_and_copying_keep_everything(run: Record, through) -> None:  # type: ignore[no-untyped-def]
    twin = through(run)
    assert np.array_equal(twin.data, run.data)
    assert np.array_equal(twin.time, run.time)
    for part in ("names", "units", "name", "status", "statistics", "provenance", "scene"):
        assert getattr(twin, part) == getattr(run, part)
    assert not twin.data.flags.writeable


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (lambda: Record([0, 1, 1], np.zeros((3, 1)), ["x"]), ("not-increasing", "2", "1 s")),
        (lambda: Record([0, 2, 1], np.zeros((3, 1)), ["x"]), ("not-increasing", "2")),
        (lambda: Record([0, np.nan, 1], np.zeros((3, 1)), ["x"]), ("not-finite", "1")),
        (lambda: Record([np.nan], np.zeros((1, 1)), ["x"]), ("not-finite", "0")),
        (lambda: Record([0, np.inf], np.zeros((2, 1)), ["x"]), ("not-finite", "1")),
        (lambda: Record([[0, 1]], np.zeros((2, 1)), ["x"]), ("wrong-shape",)),
        (lambda: Record([], np.zeros((0, 1)), ["x"]), ("empty",)),
        (lambda: Record([0, 1], np.zeros((2, 0)), []), ("empty",)),
        (lambda: Record([0, 1], np.zeros((3, 1)), ["x"]), ("wrong-shape", "3", "1", "2")),
        (lambda: Record([0, 1], np.zeros((2, 2)), ["x"]), ("wrong-shape", "2", "1")),
        (lambda: Record([0, 1], [0, 1], ["x"]), ("wrong-shape", "2")),
        (lambda: Record([0, 1], np.zeros((2, 2)), ["x", "x"]), ("taken-name", "'x'")),
        (lambda: Record([0, 1], np.zeros((2, 1)), ["time"]), ("bad-name", "'time'")),
        (lambda: Record([0, 1], np.zeros((2, 1)), [""]), ("bad-name",)),
        (lambda: Record([0, 1], np.zeros((2, 1)), ["a\nb"]), ("bad-name",)),
        (lambda: Record([0, 1], np.zeros((2, 1)), [3]), ("bad-name",)),  # type: ignore[list-item]
        (lambda: Record([0, 1], np.zeros((2, 1)), "x"), ("wrong-type",)),
        (lambda: Record([0, 1], np.zeros((2, 1)), ["x"], ["m", "m"]), ("wrong-type",)),
        (lambda: Record([0, 1], np.zeros((2, 1)), ["x"], "m"), ("wrong-type",)),
        (lambda: Record([0, 1], np.zeros((2, 1)), ["force"], {"forc": "N"}), ("unknown-name", "'force'")),
        (lambda: Record([0, 1], [["a"], ["b"]], ["x"]), ("not-a-number",)),
        (lambda: Record([0, 1], [[1j], [2]], ["x"]), ("not-a-number",)),
        (lambda: Record(["0", "1"], [[1], [2]], ["x"]), ("not-a-number",)),
        (lambda: Record([0, 1], [[1], [2, 3]], ["x"]), ("not-a-number",)),  # type: ignore[list-item]
        (lambda: Record.from_channels([0, 1], {"x": [1, 2, 3]}), ("wrong-shape", "'x'", "3")),
        (lambda: Record.from_channels([0, 1], {"x": [1, 2]}, {"y": "m"}), ("unknown-name", "'y'")),
        (lambda: Record.from_channels([0, 1], {"p.x": 1, "p": [[1, 2], [1, 2]]}), ("taken-name", "'p.x'")),
        (lambda: Record.from_channels([0, 1], {}), ("empty",)),
    ],
)
def test_what_does_not_fit_is_refused_with_the_culprit(make, finding: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    with raises(DataError, *finding):
        make()


def test_a_vector_channel_is_spread_over_its_axes() -> None:
    run = Record.from_channels([0.0, 1.0], {"tip": [[1, 2, 3], [4, 5, 6]], "k": 2.0}, {"tip": "m"})
    assert run.names == ("tip.x", "tip.y", "tip.z", "k")
    assert run.units == {"tip.x": "m", "tip.y": "m", "tip.z": "m", "k": ""}
    assert np.array_equal(run["k"], [2.0, 2.0])


def test_gaps_are_allowed_and_counted() -> None:
    run = Record([0.0, 1.0, 2.0], [[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]], ["a", "b"])
    assert run.has_gaps()
    assert "4 samples missing in 2 gaps" in repr(run)
    assert not run.select("a").between(2, 2).has_gaps()


def test_gaps_are_reported_by_channel_and_time() -> None:
    run = Record([0.0, 1.0, 2.0], [[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]], ["a", "b"], name="hammer")
    found = [(gap.channel, gap.start, gap.stop, gap.samples) for gap in run.gaps()]
    assert found == [("a", 1.0, 1.0, 1), ("b", 0.0, 2.0, 3)]
    assert repr(run.gaps()).startswith("record 'hammer' has 2 gaps, 4 samples missing\nchannel  from [s]")
    assert repr(run.select("a").between(2, 2).gaps()) == "record 'hammer' has no gaps"


def test_samples_lost_by_a_logger_are_gaps_of_all_channels() -> None:
    t = np.delete(0.1 * np.arange(100), [40, 41, 42, 70])
    run = Record(t, np.zeros((96, 1)), ["x"])
    found = [(gap.channel, round(gap.start, 9), round(gap.stop, 9), gap.samples) for gap in run.gaps()]
    assert found == [("(all)", 3.9, 4.3, 3), ("(all)", 6.9, 7.1, 1)]
    assert "uneven steps, 0.1 to 0.4 s (usually 0.1 s, the longest after t = 3.9 s)" in repr(run)
    assert "4 samples lost in 2 jumps of time" in repr(run)
    assert not run.is_even
    with warns(GapWarning, "gaps", "0.3 s", "3.9 s"):
        assert run.resample(every=0.1).is_even


def test_a_record_sampled_at_will_is_uneven_but_has_no_gaps() -> None:
    t = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.1, 200))
    run = Record(t, np.zeros((200, 1)), ["x"])
    assert len(run.gaps()) == 0
    assert "uneven steps" in repr(run)
    assert "uneven" not in repr(Record(0.1 * np.arange(9), np.zeros((9, 1)), ["x"]))


def test_select_takes_names_and_stems_in_the_order_asked_for(run: Record) -> None:
    part = run.select("energy", "A", "energy")
    assert part.names == ("energy", "A.angle", "A.rate")
    assert part.units["A.rate"] == "rad/s"
    assert part.scene == run.scene
    with raises(DataError, "unknown-name"):
        run.select("tipp")
    with raises(DataError, "empty"):
        run.select()


def test_between_includes_both_ends_and_keeps_the_rest(run: Record) -> None:
    part = run.between(0.25, 0.5)
    assert part.time == pytest.approx([0.3, 0.4, 0.5], abs=1e-15)
    assert part.provenance == run.provenance
    assert len(run.between(stop=0.05)) == 1
    with raises(DataError, "out-of-range", "0", "1 s"):
        run.between(2.0, 3.0)


def test_at_interpolates_linearly_and_refuses_to_extrapolate(run: Record) -> None:
    assert run.at(0.05)["tip.x"] == pytest.approx(0.15, rel=1e-14)
    assert run.at(1.0)["tip.x"] == 3.0
    with raises(DataError, "out-of-range", "'swing'", "1.01 s"):
        run.at(1.01)


def test_cubic_resampling_is_exact_for_a_cubic() -> None:
    # a not-a-knot spline reproduces cubics: what is left is rounding, some tens of ulp of values near 10
    t = np.array([0.0, 0.1, 0.35, 0.6, 1.3, 2.0])
    fine = Record(t, (t**3 - t)[:, None], ["x"]).resample(every=0.01, kind="cubic")
    assert len(fine) == 201
    assert np.abs(fine["x"] - (fine.time**3 - fine.time)).max() < 1e-13


def test_resampling_keeps_the_last_sample_in_spite_of_rounding() -> None:
    t = np.linspace(0.0, 10.0, 101)
    assert len(Record(t, t[:, None], ["x"]).resample(every=0.1)) == 101


def test_linear_resampling_leaves_gaps_where_they_are() -> None:
    run = Record([0.0, 1.0, 2.0, 3.0], [[0.0], [np.nan], [2.0], [3.0]], ["x"])
    got = run.resample(times=[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])["x"]
    assert np.array_equal(got, [0.0, np.nan, np.nan, np.nan, 2.0, 2.5, 3.0], equal_nan=True)
    with raises(DataError, "gaps", "'x'"):
        run.resample(every=0.5, kind="cubic")


@pytest.mark.parametrize(
    ("how", "finding"),
    [
        ({"every": 0.0}, ("not-positive",)),
        ({"every": np.nan}, ("not-positive",)),
        ({}, ("conflicting-arguments",)),
        ({"every": 0.1, "times": [0.0]}, ("conflicting-arguments",)),
        ({"times": [0.5, 2.0]}, ("out-of-range",)),
        ({"times": [0.5, 0.4]}, ("not-increasing",)),
        ({"every": 0.1, "kind": "spline"}, ("unknown-choice", "'linear'", "'cubic'")),
    ],
)
def test_resampling_nonsense_is_refused(run: Record, how: dict, finding: tuple[str, ...]) -> None:  # type: ignore[type-arg]
    with raises(DataError, *finding):
        run.resample(**how)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.floats(-1e3, 1e3))
def test_resampling_at_its_own_times_changes_nothing(steps: list[float], start: float) -> None:
    t = start + np.concatenate([[0.0], np.cumsum(steps)])
    run = Record(t, np.sin(t)[:, None], ["x"])
    assert np.array_equal(run.resample(times=t).data, run.data)


def test_the_sample_time_is_known_only_when_uniform(run: Record) -> None:
    assert run.sample_time == pytest.approx(0.1, rel=1e-15)
    rounded = np.round(np.arange(1000) / 3000.0, 7)  # a logger's seven decimals
    assert Record(rounded, rounded[:, None], ["x"]).sample_time == pytest.approx(1 / 3000, rel=1e-6)
    with raises(DataError, "uneven-sampling", "0.2 s"):
        Record([0.0, 0.1, 0.2, 0.4], np.zeros((4, 1)), ["x"]).sample_time
    with raises(DataError, "too-few-samples"):
        Record([0.0], [[1.0]], ["x"]).sample_time


def test_the_repr_is_a_short_table(run: Record) -> None:
    text = repr(run)
    assert "Record 'swing': 11 samples, 0 to 1 s, 6 channels, complete" in text
    assert "rad/s" in text
    many = Record([0.0], np.zeros((1, 50)), [f"c{i}" for i in range(50)])
    assert len(repr(many).splitlines()) == 23
    assert "30 more" in repr(many)
    repr(Record([0.0], [[np.nan]], ["x"]))


def test_pandas_and_xarray_get_names_and_units(run: Record) -> None:
    frame = run.to_pandas()
    assert list(frame.columns) == list(run.names)
    assert frame.index.name == "time"
    assert frame.attrs["units"] == run.units
    dataset = run.to_xarray()
    assert dataset["A.rate"].attrs["units"] == "rad/s"
    assert np.array_equal(dataset["tip.x"].values, run["tip.x"])


def test_a_missing_pandas_names_its_extra(run: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with raises(MissingExtraError, "missing-extra"):
        run.to_pandas()
