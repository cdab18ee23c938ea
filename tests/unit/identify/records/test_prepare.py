"""Detrending, filters, decimation, cutting, averages, repair and synchronisation of records."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from dalembert import identify
from dalembert.core.errors import DataError
from dalembert.identify.records.repair import running_median
from dalembert.record import Record
from tests.helpers.findings import raises

DT = 0.005
N = 4000
T = DT * np.arange(N)
RNG = np.random.default_rng


def sine(hz, phase=0.3):
    return np.sin(2 * np.pi * hz * T + phase)


def one(x, name="a", unit="m/s^2", **about):
    return Record(DT * np.arange(len(x)), np.asarray(x)[:, None], [name], [unit], **about)


def amplitude(x, hz, dt=DT, edge=400):
    """Modulus and phase of a sine in the middle of a record, by least squares."""
    t = dt * np.arange(len(x))
    part = slice(edge, len(x) - edge)
    basis = np.column_stack([np.sin(2 * np.pi * hz * t), np.cos(2 * np.pi * hz * t)])[part]
    a, b = np.linalg.lstsq(basis, x[part], rcond=None)[0]
    return np.hypot(a, b), np.arctan2(b, a)


# ---- detrend


@pytest.mark.parametrize(("kind", "trend"), [("mean", 0 * T + 5.0), ("linear", 5.0 - 2.0 * T), (3, T**3 - 4 * T**2)])
def test_a_trend_is_taken_off_exactly(kind, trend):
    np.testing.assert_allclose(identify.detrend(one(trend), kind)["a"], 0.0, atol=1e-11 * np.abs(trend).max())


def test_only_named_channels_lose_their_trend():
    record = Record.from_channels(T, {"a": sine(3) + 4.0, "b": sine(5) + 4.0})
    made = identify.detrend(record, channels="a")
    np.testing.assert_array_equal(made["b"], record["b"])
    assert abs(made["a"].mean()) < 1e-12


def test_a_trend_is_taken_around_gaps_which_stay():
    x = 2.0 + 3.0 * T
    x[100:200] = np.nan
    made = identify.detrend(one(x), "linear")["a"]
    assert np.isnan(made[100:200]).all()
    np.testing.assert_allclose(np.delete(made, range(100, 200)), 0.0, atol=1e-11)


def test_uneven_time_can_be_detrended():
    t = np.array([0.0, 1.0, 1.5, 4.0, 9.0])
    np.testing.assert_allclose(identify.detrend(Record(t, 2 + t[:, None], ["a"]), "linear")["a"], 0.0, atol=1e-13)


@pytest.mark.parametrize("kind", ["constant", -1, 1.5, True, 21])
def test_an_unknown_trend_is_refused(kind):
    with raises(DataError, "unknown-choice", "kind"):
        identify.detrend(one(sine(1)), kind)


# ---- what every preparation keeps


@pytest.mark.parametrize(
    "prepare",
    [
        lambda r: identify.detrend(r),
        lambda r: identify.lowpass(r, 20.0),
        lambda r: identify.highpass(r, 2.0),
        lambda r: identify.bandpass(r, 2.0, 20.0),
        lambda r: identify.decimate(r, 4),
        lambda r: identify.trim(r, 1.0, 9.0),
        lambda r: identify.repair(r).record,
        lambda r: identify.shift(r, {"a": 0.013}),
    ],
)
def test_names_units_and_history_survive_and_a_line_is_added(prepare):
    data = np.column_stack([sine(3), sine(7)])
    about = {"name": "run 1", "provenance": {"logger": "x", "preparation": ["washed"]}}
    made = prepare(Record(T, data, ["a", "b"], ["m/s^2", "V"], **about))
    assert made.names == ("a", "b") and made.units == {"a": "m/s^2", "b": "V"} and made.name == "run 1"
    assert made.provenance["logger"] == "x"
    assert made.provenance["preparation"][0] == "washed" and len(made.provenance["preparation"]) == 2


def test_several_records_are_prepared_one_by_one():
    both = identify.lowpass([one(sine(3)), one(sine(5))], 20.0)
    assert isinstance(both, tuple) and len(both) == 2
    np.testing.assert_array_equal(both[1]["a"], identify.lowpass(one(sine(5)), 20.0)["a"])


# ---- filters


@pytest.mark.spec("000-62")
@pytest.mark.parametrize("zero_phase", [True, False])
@pytest.mark.parametrize("order", [2, 4, 7])
def test_the_gain_at_the_cutoff_is_one_over_root_two(zero_phase, order):
    made = identify.lowpass(one(sine(12.5)), 12.5, order=order, zero_phase=zero_phase)
    assert amplitude(made["a"], 12.5)[0] == pytest.approx(np.sqrt(0.5), rel=1e-6)


def test_the_gain_at_both_edges_of_a_band_is_one_over_root_two():
    for hz in (8.0, 24.0):
        made = identify.bandpass(one(sine(hz)), 8.0, 24.0)
        assert amplitude(made["a"], hz)[0] == pytest.approx(np.sqrt(0.5), rel=1e-6)


def test_highpass_keeps_what_is_above_and_removes_a_constant():
    made = identify.highpass(one(sine(30.0) + 4.0), 3.0)["a"]
    assert amplitude(made, 30.0)[0] == pytest.approx(1.0, abs=1e-6)
    assert abs(made[1000:3000].mean()) < 1e-6


def test_zero_phase_filtering_delays_nothing_and_causal_filtering_does():
    gain, phase = amplitude(identify.lowpass(one(sine(10.0)), 12.5)["a"], 10.0)
    assert phase == pytest.approx(0.3, abs=1e-6)
    late = amplitude(identify.lowpass(one(sine(10.0)), 12.5, zero_phase=False)["a"], 10.0)[1]
    sections = scipy.signal.butter(4, 12.5, fs=1 / DT, output="sos")
    _, h = scipy.signal.sosfreqz(sections, [10.0], fs=1 / DT)
    assert np.exp(1j * (late - 0.3)) == pytest.approx(h[0] / abs(h[0]), abs=1e-6)
    assert 0.7 < gain < 1.0


def test_causal_filtering_starts_as_if_the_first_value_had_always_been_there():
    np.testing.assert_allclose(identify.lowpass(one(np.full(500, 7.0)), 10.0, zero_phase=False)["a"], 7.0, atol=1e-12)


@pytest.mark.parametrize(
    ("cutoff", "code"),
    [(cutoff, "out-of-range") for cutoff in (0.0, -1.0, 100.0, 150.0)]
    + [(np.nan, "not-finite"), ("10", "not-a-number")],
)
def test_a_cutoff_outside_the_band_is_refused(cutoff, code):
    with raises(DataError, code, "cut-off"):
        identify.lowpass(one(sine(3)), cutoff)


def test_filtering_over_gaps_is_refused_with_a_remedy():
    x = sine(3)
    x[5] = np.nan
    with raises(DataError, "not-finite", "'a'", "1 samples", "da.identify.repair"):
        identify.lowpass(one(x), 10.0)


# ---- decimation


@pytest.mark.parametrize("factor", [2, 5, 8])
def test_decimation_keeps_amplitude_and_phase_up_to_four_fifths_of_the_new_band(factor):
    hz = 0.78 * 0.5 / (DT * factor)
    made = identify.decimate(one(sine(hz)), factor)
    gain, phase = amplitude(made["a"], hz, DT * factor, edge=60)
    assert gain == pytest.approx(1.0, abs=2e-4)  # 80 dB
    assert phase == pytest.approx(0.3, abs=2e-4)


@pytest.mark.parametrize("factor", [2, 5, 8])
def test_decimation_lets_nothing_fold_back(factor):
    hz = 1.02 * 0.5 / (DT * factor)
    made = identify.decimate(one(sine(hz)), factor)["a"]
    assert np.abs(made[60:-60]).max() < 2e-4


def test_decimated_times_are_every_nth():
    record = one(sine(2)[: 4000 - 3])
    made = identify.decimate(record, 7)
    np.testing.assert_array_equal(made.time, record.time[::7])


# ---- trimming, cutting, averages


@pytest.mark.spec("000-62")
def test_bad_parts_are_cut_out_and_the_rest_stays_separate():
    pieces = identify.cut(one(sine(2)), (5.0, 6.0), (19.9, 25.0))
    assert [(round(p.time[0], 3), round(p.time[-1], 3)) for p in pieces] == [(0.0, 4.995), (6.005, 19.895)]
    assert identify.read_data(pieces).segments == 2


@pytest.mark.spec("000-62")
def test_the_average_of_repeated_tests_has_less_noise_by_the_root_of_their_number():
    rng = np.random.default_rng(0)
    runs = [one(sine(2) + rng.normal(size=N)) for _ in range(10)]
    left = identify.average(runs)["a"] - sine(2)
    # the standard deviation from 4000 samples is itself known to 1/√8000 = 1.1 %
    assert left.std() == pytest.approx(1.0 / np.sqrt(10), rel=0.05)


# ---- repair


def spoiled():
    rng = np.random.default_rng(1)
    clean = sine(1.5) + 0.6 * sine(4.0) + 0.01 * rng.normal(size=N)
    x = clean.copy()
    wild = rng.choice(np.arange(20, N - 20, 12), 40, replace=False)
    x[wild] += 5.0 * rng.choice([-1, 1], 40) * (1 + rng.random(40))
    x[2005:2011] = np.nan
    return clean, x, wild


def test_outliers_and_dropouts_are_found_replaced_and_counted():
    clean, x, wild = spoiled()
    made = identify.repair(one(x))
    assert set(np.flatnonzero(made.outliers[:, 0])) == set(wild) - set(range(2005, 2011))
    assert made.dropouts.sum() == 6
    assert made.count == made.outliers.sum() + 6
    assert not made.record.has_gaps()
    assert np.abs(made.record["a"] - clean).max() < 0.08
    assert f"{made.count} of 4000 samples replaced" in repr(made)


def test_samples_that_were_good_are_not_touched():
    _, x, _ = spoiled()
    made = identify.repair(one(x))
    good = ~made.replaced[:, 0]
    np.testing.assert_array_equal(made.record["a"][good], x[good])


def test_clean_signals_are_left_alone():
    rng = np.random.default_rng(2)
    for x in (sine(0.2), sine(3), sine(40), rng.normal(size=N), np.round(sine(2), 2), np.sign(sine(1)), 0 * T + 3):
        assert identify.repair(one(x)).count <= N * 1e-3


@pytest.mark.parametrize("samples_per_period", [3, 5, 8, 15, 26, 30, 34, 45, 100])
def test_crests_of_an_oscillation_are_no_outliers(samples_per_period):
    x = np.sin(2 * np.pi * np.arange(N) / samples_per_period + 0.2)
    x *= 1.0 + 0.8 * np.sin(2 * np.pi * np.arange(N) / (12 * samples_per_period))
    assert not identify.hampel(x + 0.02 * RNG(0).normal(size=N)).any()


def test_gaussian_noise_of_a_million_samples_is_hardly_touched():
    x = np.random.default_rng(3).normal(size=1_000_000)
    assert identify.hampel(x).sum() <= 10


@pytest.mark.parametrize(("samples", "width"), [(5, 45), (22, 45), (1000, 15)])
def test_medians_at_an_end_are_those_of_the_reflected_record(samples, width):
    x = RNG(0).normal(size=samples)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, width // 2, mode="reflect"), width)
    np.testing.assert_array_equal(running_median(x, width), np.median(windows, axis=1))


def test_long_gaps_and_gaps_at_an_end_remain_and_are_told():
    x = sine(1.0)
    x[:3] = x[1000:1100] = np.nan
    x[2000:2010] = np.nan
    made = identify.repair(one(x), longest=10)
    assert made.remaining.sum() == 103 and made.count == 10
    assert np.isnan(made.record["a"]).sum() == 103
    assert "103 remain gaps" in repr(made)


def test_a_dropout_that_held_its_last_value_is_filled_when_asked():
    x = sine(2.0)
    clean = x.copy()
    x[500:508] = x[499]
    assert identify.repair(one(x)).dropouts.sum() == 0
    made = identify.repair(one(x), held=5)
    np.testing.assert_array_equal(np.flatnonzero(made.dropouts[:, 0]), np.arange(500, 508))
    # a cubic spline errs by (5/384) h^4 max|d^4x/dt^4| over a gap of h = 9 samples
    np.testing.assert_allclose(made.record["a"], clean, atol=5 / 384 * (2 * np.pi * 2.0 * 9 * DT) ** 4)


def test_linear_filling_goes_straight_across():
    x = np.array([0.0, 1.0, np.nan, np.nan, 4.0, 9.0] + [9.0] * 5)
    made = identify.repair(one(x), threshold=None, kind="linear")
    np.testing.assert_allclose(made.record["a"][2:4], [2.0, 3.0])


def test_only_named_channels_are_repaired_so_that_a_hammer_blow_stays():
    force = np.zeros(N)
    force[100:103] = 1.0, 3.0, 1.0
    record = Record.from_channels(T, {"force": force + 1e-3 * sine(7), "a": spoiled()[1]})
    made = identify.repair(record, channels="a")
    np.testing.assert_array_equal(made.record["force"], record["force"])


def test_uneven_time_is_filled_by_time_not_by_number():
    x = np.array([0.0, 1.0, np.nan, 8.0, 9.0])
    t = np.array([0.0, 1.0, 7.0, 8.0, 9.0])
    made = identify.repair(Record(t, x[:, None], ["a"]), threshold=None)
    assert made.record["a"][2] == pytest.approx(7.0)


@pytest.mark.parametrize(
    "wrong", [{"window": 4}, {"window": 1}, {"threshold": -1.0}, {"kind": "spline"}, {"longest": -1}]
)
def test_senseless_settings_are_refused(wrong):
    with pytest.raises(DataError):
        identify.repair(one(sine(2)), **wrong)


# ---- synchronisation


def band_limited(t, seed=0):
    """A sum of sines up to 40 Hz that can be evaluated at any time."""
    rng = np.random.default_rng(seed)
    hz, phase, size = rng.uniform(0.5, 40.0, 60), rng.uniform(0, 6.28, 60), rng.normal(size=60)
    return np.sin(2 * np.pi * np.multiply.outer(t, hz) + phase) @ size


@pytest.mark.parametrize("samples", [0.0, 0.37, 12.0, -3.75, 151.42])
def test_a_delay_is_found_to_a_fraction_of_a_sample(samples):
    late = samples * DT
    found = identify.delay(band_limited(T), 0.3 * band_limited(T - late) + 2.0, DT)
    assert found == pytest.approx(late, abs=1e-4 * DT)


def test_noise_does_not_hide_a_delay():
    rng = np.random.default_rng(5)
    a, b = band_limited(T), band_limited(T - 8.25 * DT)
    noisy = identify.delay(a + rng.normal(size=N), b + rng.normal(size=N), DT)
    assert noisy == pytest.approx(8.25 * DT, abs=0.05 * DT)


def test_a_limit_keeps_the_search_near_zero():
    x = sine(2.0)  # repeats every 100 samples
    assert abs(identify.delay(x, np.roll(x, 3), DT, longest=20 * DT)) < 20 * DT


@pytest.mark.parametrize("late", [0.0031, -0.0192, 0.3])
def test_shifting_undoes_a_delay(late):
    record = Record.from_channels(T, {"a": band_limited(T), "b": band_limited(T - late)})
    made = identify.shift(record, {"b": late})
    gap = np.abs(made["a"] - made["b"])[100:-100].max()
    assert gap < 1e-3 * np.abs(made["a"]).max()
    assert len(made) == N - int(np.ceil(abs(late) / DT - 1e-9))


def test_shifting_by_whole_samples_is_exact():
    record = Record.from_channels(T, {"a": sine(3), "b": np.roll(sine(3), 4)})
    made = identify.shift(record, {"b": 4 * DT})
    np.testing.assert_array_equal(made["a"], made["b"])


def test_two_loggers_are_brought_to_one_clock():
    late = 0.7333
    first = Record.from_channels(T, {"table": band_limited(T), "a1": band_limited(T, 1)}, {"a1": "g"}, name="left")
    channels = {"table2": 2.0 * band_limited(T - late), "a2": band_limited(T - late, 2)}
    second = Record.from_channels(T, channels, {"a2": "m/s^2"}, name="right")
    made = identify.synchronise([first, second], on=["table", "table2"])
    assert made.delays[1] == pytest.approx(late, abs=1e-4 * DT)
    assert made.correlations[1] == pytest.approx(1.0, abs=1e-5)
    joined = made.join()
    assert joined.names == ("table", "a1", "table2", "a2")
    assert joined.units["a2"] == "m/s^2"
    truth = band_limited(joined.time, 2)
    assert np.abs(joined["a2"] - truth)[100:-100].max() < 1e-3 * np.abs(truth).max()


def test_a_record_ahead_of_the_first_is_brought_back_too():
    runs = [one(band_limited(T)), one(band_limited(T + 0.5))]
    made = identify.synchronise(runs, on="a")
    assert made.delays[1] == pytest.approx(-0.5, abs=1e-4 * DT)
    np.testing.assert_allclose(made.records[0]["a"], made.records[1]["a"], atol=1e-2)
    assert made.records[0].time[0] == pytest.approx(0.5)


@pytest.mark.parametrize("late", [-0.5012, 0.7333])
@pytest.mark.parametrize("lengths", [(4000, 3000), (3000, 4000)])
def test_records_of_different_lengths_are_cut_to_what_both_cover(late, lengths):
    times = [DT * np.arange(n) for n in lengths]
    made = identify.synchronise([one(band_limited(times[0])), one(band_limited(times[1] - late))], on="a")
    first, second = made.records
    np.testing.assert_array_equal(first.time, second.time)
    assert len(first) >= min(lengths) - abs(late) / DT - 1
    size = np.abs(first["a"]).max()
    assert np.abs(first["a"] - second["a"])[100:-100].max() < 1e-3 * size


def test_signals_that_are_not_the_same_are_refused():
    rng = np.random.default_rng(6)
    with raises(DataError, "weak-correlation"):
        identify.synchronise([one(rng.normal(size=N)), one(rng.normal(size=N))], on="a")


REFUSED = {
    "a trend needs samples to be taken from": (
        lambda: identify.detrend(one(sine(1)), over=(90.0, 91.0)),
        "too-few-samples", "0 samples", "degree 0", "90 and 91 s"),
    "an unknown channel is named with a suggestion":
        (lambda: identify.lowpass(one(sine(3)), 10.0, channels="b"), "unknown-name", "'b'"),
    "a band from high to low": (lambda: identify.bandpass(one(sine(3)), 20.0, 10.0), "out-of-range", "20 to 10 Hz"),
    "filtering uneven time":
        (lambda: identify.lowpass(Record(T + 0.3 * DT * (T > 5), sine(3)[:, None], ["a"]), 10.0), "uneven-sampling"),
    "a record too short to filter both ways":
        (lambda: identify.lowpass(one(sine(3)[:15]), 10.0), "too-few-samples", "15"),
    "decimation to nearly nothing": (lambda: identify.decimate(one(sine(2)[:100]), 20), "too-few-samples", "20"),
    "cutting everything": (lambda: identify.cut(one(sine(2)), (-1.0, 100.0)), "empty", "2 samples"),
    "trimming outside the record": (lambda: identify.trim(one(sine(2)), 100.0), "out-of-range", "100"),
    "records that are no repetitions are not averaged":
        (lambda: identify.average([one(sine(2)), one(sine(2)[:-5])]), "conflicting-arguments", "record 2"),
    "a channel without a good sample": (lambda: identify.repair(one(np.full(50, np.nan))), "not-finite", "'a'"),
    "loggers of different rates": (
        lambda: identify.synchronise([one(sine(2)), Record(2 * T, sine(2)[:, None], ["a"])], on="a"),
        "sample-time-mismatch"),
    "one record alone cannot be synchronised": (lambda: identify.synchronise([one(sine(2))], on="a"), "empty"),
    "a missing shared channel is named":
        (lambda: identify.synchronise([one(sine(2)), one(sine(2), "b")], on="a"), "unknown-name", "record 2", "'a'"),
    "a constant signal has no delay": (lambda: identify.delay(sine(2), np.ones(N)), "constant-channel"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused(case):
    call, code, *shown = REFUSED[case]
    with raises(DataError, code, *shown):
        call()
