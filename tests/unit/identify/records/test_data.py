"""Records at the border of identification: what is refused, what is warned of, what passes untouched."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import Data, IdentificationWarning, moesp, okid_era, read_data, ssi_data
from dalembert.identify.records.channel_values import ChannelStatistics
from dalembert.record import Record
from tests.helpers.findings import raises, warns

N = 600
DT = 0.01


def good(seed=0, samples=N, name="", units=None):
    rng = np.random.default_rng(seed)
    t = DT * np.arange(samples)
    force = rng.normal(size=samples)
    a = np.convolve(force, 0.9 ** np.arange(50))[:samples]
    channels = {"force": force, "a1": a, "a2": 0.4 * a + rng.normal(size=samples)}
    return Record.from_channels(t, channels, units or {"force": "N", "a1": "m/s^2", "a2": "m/s^2"}, name=name)


def changed(record, **columns):
    """The record with some channels replaced."""
    channels = {name: columns.get(name, record[name]) for name in record.names}
    return Record.from_channels(record.time, channels, record.units, name=record.name)


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_data(*args, **kwargs)


# ---- good data


def test_good_data_pass_without_a_warning_and_keep_names_units_and_numbers():
    record = good()
    data = quiet(record, "force", ["a1", "a2"])
    assert (data.nu, data.ny, data.samples, data.segments) == (1, 2, N, 1)
    assert data.inputs == ("force",) and data.outputs == ("a1", "a2")
    assert data.units == {"force": "N", "a1": "m/s^2", "a2": "m/s^2"}
    assert data.dt == pytest.approx(DT, rel=1e-12)
    np.testing.assert_array_equal(data.u[0][:, 0], record["force"])
    np.testing.assert_array_equal(data.y[0], record[["a1", "a2"]])


def test_outputs_left_out_are_all_channels_that_are_no_inputs():
    assert read_data(good(), "force").outputs == ("a1", "a2")


def test_repeated_tests_stay_separate_segments():
    data = quiet([good(1), good(2, samples=400)], "force")
    assert data.lengths == (600, 400)
    assert data.samples == 1000
    assert data.duration == pytest.approx(10.0)


def test_neighbouring_channels_are_a_view_of_the_record_not_a_copy():
    record = good()
    assert np.shares_memory(read_data(record, "force").y[0], record.data)


def test_arrays_are_read_only():
    data = read_data(good(), "force", ["a2", "a1"])
    assert not data.y[0].flags.writeable


def test_a_stem_names_all_channels_below_it():
    record = Record(DT * np.arange(50), np.random.default_rng(0).normal(size=(50, 3)), ["f", "tip.x", "tip.y"])
    assert read_data(record, "f", "tip").outputs == ("tip.x", "tip.y")


@pytest.mark.parametrize("kind", ["mean", "linear"])
def test_detrending_takes_the_trend_off_every_record_by_itself(kind):
    t = DT * np.arange(N)
    drift = 3.0 + (2.0 * t if kind == "linear" else 0.0 * t)
    one, two = good(1), good(2)
    data = read_data([changed(one, a1=one["a1"] + drift), changed(two, a1=two["a1"] - drift)], "force", detrend=kind)
    plain = read_data([one, two], "force", detrend=kind)
    for a, b in zip(data.y, plain.y):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert data.means is not None and len(data.means) == 2 and data.means[0].shape == (3,)


def test_no_means_are_kept_where_none_were_taken_off():
    assert read_data(good(), "force").means is None


@pytest.mark.parametrize(
    "identify",
    [
        lambda runs: moesp(runs, "force", order=2, detrend="mean"),
        lambda runs: ssi_data(read_data(runs, (), ["a1", "a2"], detrend="mean"), order=2),
        lambda runs: okid_era(read_data(runs, "force", detrend="mean"), order=2),
    ],
    ids=["moesp", "ssi_data", "okid_era"],
)
def test_levels_of_several_records_are_averaged_by_their_lengths(identify):
    runs = [good(1, samples=400), good(2, samples=1200)]
    runs = [changed(run, a1=run["a1"] + level) for run, level in zip(runs, (4.0, 8.0))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        found = identify(runs)
    every = np.concatenate([run["a1"] for run in runs])
    assert found.offsets["a1"] == pytest.approx(every.mean(), rel=1e-12)


def test_data_read_before_are_handed_back():
    data = read_data(good(), "force")
    assert read_data(data) is data
    assert read_data(data, "force", ["a1", "a2"]) is data


def test_provenance_says_what_was_prepared():
    from dalembert.identify import lowpass

    data = read_data(lowpass(good(name="run 7"), 20.0), "force", detrend="mean")
    assert data.provenance["records"] == ["run 7"]
    assert data.provenance["preparation"] == ["lowpass 20 Hz, order 4, zero phase", "mean taken off"]


def test_data_print_their_size_and_channels():
    text = repr(read_data(good(), "force"))
    assert "600 samples in 1 segment" in text and "force [N]" in text


def test_a_binary_input_is_no_saturation():
    u = np.sign(np.random.default_rng(3).normal(size=N))
    quiet(changed(good(), force=u), "force")


def test_a_hammer_input_that_rests_most_of_the_time_is_no_saturation():
    u = np.zeros(N)
    u[50:53] = 1.0, 2.0, 1.0
    y = np.convolve(u, 0.95 ** np.arange(400) * np.sin(0.5 * np.arange(400)))[:N]
    quiet(Record.from_channels(DT * np.arange(N), {"force": u, "a": y}), "force")


@pytest.mark.parametrize("still", [slice(0, 100), slice(500, 600)])
def test_a_one_sided_output_at_rest_before_or_after_is_no_saturation(still):
    y = np.abs(good()["a1"]) + 0.1
    y[still] = 0.0
    # a channel that begins late or ends early is found as such, and as nothing else
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_data(changed(good(), a1=y), "force")
    assert {one.message.code for one in caught} == {"truncated-channel"}


def test_an_input_resting_in_one_of_several_tests_is_allowed():
    rng = np.random.default_rng(4)
    first, second = (Record(DT * np.arange(N), rng.normal(size=(N, 3)), ["u1", "u2", "y"]) for _ in range(2))
    quiet([changed(first, u2=0.0), changed(second, u1=0.0)], ["u1", "u2"])


def test_a_mean_far_from_the_first_sample_hides_no_spread():
    runs = [good(), changed(good(1), a1=1e9 + good(1)["a1"])]
    seen = ChannelStatistics(runs, ["force", "a1"])
    for k, run in enumerate(runs):
        np.testing.assert_allclose(seen.means[k], run[["force", "a1"]].mean(axis=0), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(seen.spreads[k], run[["force", "a1"]].std(axis=0), rtol=1e-6)


# ---- bad data refused


def test_infinite_samples_are_refused():
    a = good()["a2"].copy()
    a[7] = np.inf
    with raises(DataError, "not-finite", "'a2'"):
        read_data(changed(good(), a2=a), "force")


def test_gaps_in_channels_not_used_do_not_matter():
    a = good()["a2"].copy()
    a[7] = np.nan
    assert quiet(changed(good(), a2=a), "force", "a1").ny == 1


def test_uneven_time_in_one_of_several_records_is_told_by_number():
    t = DT * np.arange(N)
    t[300:] += 0.004
    with raises(DataError, "uneven-sampling", "record 2"):
        read_data([good(), Record(t, good().data, good().names, good().units)], "force")


def test_time_rounded_by_a_logger_is_accepted():
    t = np.round(1 / 128 * np.arange(N), 6)
    assert quiet(Record(t, good().data, good().names), "force").dt == pytest.approx(1 / 128, rel=1e-5)


def test_the_shortest_record_decides_where_each_must_be_long_enough():
    data = read_data([good(1), good(2, samples=50)], "force")
    data.require(600, "OKID")
    with raises(DataError, "too-few-samples") as caught:
        data.require(60, "OKID with 59 past samples", each=True)
    assert caught.value.finding.evidence == {"samples": 50, "needed": 60}


def test_one_record_given_twice_is_refused():
    record = good()
    with raises(DataError, "duplicate", "record 2"):
        read_data([record, record], "force")


@pytest.mark.parametrize("wrong", [None, 3.0, "run.csv", {"a": 1}, [], [1, 2]])
def test_anything_but_records_is_refused(wrong):
    with raises(DataError, "empty" if wrong == [] else "wrong-type", "Record"):
        read_data(wrong, "force")


@pytest.mark.parametrize("wrong", [3, [3], [None]])
def test_channels_by_number_are_refused(wrong):
    with raises(DataError, "wrong-type", repr(wrong if wrong == 3 else wrong[0])):
        read_data(good(), wrong)


# ---- bad data warned of


def test_clipping_on_one_record_only_is_found():
    x = good(1)["a1"]
    with warns(IdentificationWarning, "saturated-channel", "'a1'"):
        read_data([changed(good(), a1=0.1 * good()["a1"]), changed(good(1), a1=np.clip(x, -2, 2))], "force")


def test_an_offset_that_hides_the_motion_is_warned_of_unless_taken_off():
    record = changed(good(), a1=9.81 + 0.01 * good()["a1"])
    with warns(IdentificationWarning, "offset", "'a1'", "9.8", "detrend='mean'"):
        read_data(record, "force")
    quiet(record, "force", detrend="mean")


def test_dependent_inputs_are_warned_of():
    record = Record.from_channels(good().time, {"u1": good()["force"], "u2": -good()["force"], "y": good()["a1"]})
    with warns(IdentificationWarning, "dependent-channels", "inputs u1, u2"):
        read_data(record, ["u1", "u2"])


def test_more_outputs_than_the_order_allows_are_warned_of():
    rng = np.random.default_rng(5)
    data = read_data(Record(DT * np.arange(N), rng.normal(size=(N, 6)), ["u", *"abcde"]), "u")
    assert [one.code for one in data.check_order(2)] == ["more-outputs-than-order"]


def test_an_order_that_fits_has_no_finding():
    assert read_data(good(), "force").check_order(6) == []


def test_findings_are_kept_with_the_data():
    record = changed(good(), a1=1e7 * good()["a1"])
    with warns(IdentificationWarning, "suspect-units"):
        data = read_data(record, "force")
    assert [(one.code, one.where) for one in data.findings] == [("suspect-units", {"channel": "a1", "other": "a2"})]
    assert pickle.loads(pickle.dumps(data)).findings == data.findings  # noqa: S301


def test_warnings_point_at_the_caller():
    with pytest.warns(IdentificationWarning) as caught:
        read_data(changed(good(), a1=1e7 * good()["a1"]), "force")
    assert caught[0].filename == __file__


def test_data_survive_pickling():
    data = read_data(good(), "force")
    again = pickle.loads(pickle.dumps(data))  # noqa: S301
    assert isinstance(again, Data)
    np.testing.assert_array_equal(again.y[0], data.y[0])
    assert again.units == data.units and not again.y[0].flags.writeable


REFUSED = {
    "data read before refuse other channels":
        (lambda: read_data(read_data(good(), "force"), "a1"), "conflicting-arguments"),
    "a constant output is refused as a dead sensor":
        (lambda: read_data(changed(good(), a2=4.2), "force"), "constant-channel", "'a2'", "4.2"),
    "a constant input is refused since it excites nothing":
        (lambda: read_data(changed(good(), force=1.0), "force"), "constant-channel", "'force'"),
    "a channel constant up to rounding":
        (lambda: read_data(changed(good(), a2=5.0 + 1e-15 * np.arange(N) / N), "force"), "constant-channel", "'a2'"),
    "one sample": (lambda: read_data(Record([0.0], [[1.0, 2.0]], ["u", "y"]), "u"), "too-few-samples"),
    "a record too short for its channels":
        (lambda: read_data(good().between(0.0, 6.5 * DT), "force"), "too-few-samples", "7 samples", "3 channels", "8"),
    "too few samples for a method are refused with its purpose": (
        lambda: read_data(good(), "force").require(5000, "a model of order 40"),
        "too-few-samples", "a model of order 40", "5000 samples", "600"),
    "an unknown channel gets a suggestion": (lambda: read_data(good(), "forse"), "unknown-name", "'forse'", "'force'"),
    "a channel cannot be input and output":
        (lambda: read_data(good(), ["force", "a1"], ["a1", "a2"]), "conflicting-arguments", "a1"),
    "a channel named twice": (lambda: read_data(good(), "force", ["a1", "a1"]), "duplicate", "a1", "outputs"),
    "all channels as inputs leave no output": (lambda: read_data(good(), ["force", "a1", "a2"]), "empty"),
    "a record without a channel that the first has": (
        lambda: read_data([good(), good(1, name="b").select("force", "a1")], "force"),
        "unknown-name", "record 2 'b'", "'a2'"),
    "an unknown detrending": (lambda: read_data(good(), "force", detrend="constant"), "unknown-choice", "detrend"),
    "methods that need inputs refuse data without": (
        lambda: read_data(good()).require_inputs("OKID"),
        "missing-argument", "OKID", "inputs=", "da.identify.ssi_data"),
    "an order with more unknowns than samples": (
        lambda: read_data(good(), "force").check_order(500),
        "too-few-samples", "order 500", "1502", "600 samples", "2 outputs"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused(case):
    call, code, *shown = REFUSED[case]
    with raises(DataError, code, *shown):
        call()
