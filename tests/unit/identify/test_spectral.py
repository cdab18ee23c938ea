"""Spectral densities, frequency responses, coherences and hammer windows against SciPy, closed forms and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

from dalembert import identify
from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning
from dalembert.identify.spectral.frf import _Scaled
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises, warns

DT = 1 / 32
RNG = np.random.default_rng


def frame(inputs=1, damping=4e-3):
    """A three-storey frame, pushed at one or two floors, accelerations out, sampled with held inputs."""
    K = 1e3 * np.array([[12.0, -6.8, 0.0], [-6.8, 13.7, -6.8], [0.0, -6.8, 6.8]])
    B = np.eye(3)[:, [0, 2][:inputs]]
    system = SecondOrder(
        10.0 * np.eye(3), K, C=damping * K, B=B, Y_acceleration=np.eye(3), inputs=["f1", "f3"][:inputs],
        outputs=["a1", "a2", "a3"], D=None,
    )  # fmt: skip
    return system.state_space().to_discrete(DT)


def simulated(system, u, noise=0.0, input_noise=0.0, seed=0):
    rng = RNG(seed)
    t = DT * np.arange(len(u))
    run = system.response(dict(zip(system.inputs, u.T)), times=t)
    channels = {name: u[:, i] + input_noise * rng.normal(size=len(t)) for i, name in enumerate(system.inputs)}
    for name in system.outputs:
        channels[name] = run[name] + noise * run[name].std() * rng.normal(size=len(t))
    units = dict.fromkeys(system.inputs, "N") | dict.fromkeys(system.outputs, "m/s^2")
    return Record.from_channels(t, channels, units)


def truth(system, w):
    """(nf, ny, nu) of the sampled system itself."""
    z = np.exp(1j * w * system.dt)
    eye = np.eye(system.nx)
    return np.array([system.C @ np.linalg.solve(zi * eye - system.A, system.B) + system.D for zi in z])


# ---- densities


@pytest.mark.spec("000-62")
@pytest.mark.parametrize("window", ["hann", "boxcar", "flattop", ("kaiser", 8.0)])
@pytest.mark.parametrize(("segment", "overlap"), [(256, 0.5), (255, 0.0), (200, 0.75)])
@pytest.mark.parametrize(("detrend", "theirs"), [("mean", "constant"), ("linear", "linear"), ("none", False)])
def test_densities_are_those_of_scipy(window, segment, overlap, detrend, theirs):
    x = RNG(1).normal(size=(3000, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]]) + 3.0
    S = identify.spectra(Record(DT * np.arange(3000), x, ["a", "b"]), window=window, segment=segment, overlap=overlap,
                         detrend=detrend)  # fmt: skip
    options = {"fs": 1 / DT, "window": window, "nperseg": segment, "noverlap": round(overlap * segment)}
    hertz, ab = scipy.signal.csd(x[:, 0], x[:, 1], detrend=theirs, **options)
    _, aa = scipy.signal.welch(x[:, 0], detrend=theirs, **options)
    np.testing.assert_allclose(S.frequencies_hz, hertz, rtol=1e-12)
    np.testing.assert_allclose(S.csd("a", "b"), ab, rtol=1e-9, atol=1e-12 * np.abs(ab).max())
    np.testing.assert_allclose(S.psd("a"), aa, rtol=1e-9, atol=1e-12 * aa.max())


def test_frequencies_are_in_radians_per_second_with_hertz_beside():
    S = identify.spectra(Record(DT * np.arange(512), RNG(0).normal(size=(512, 1)), ["a"]), segment=64)
    assert S.frequencies[-1] == pytest.approx(np.pi / DT)
    assert S.frequencies_hz[-1] == pytest.approx(0.5 / DT)


def test_the_area_under_a_density_is_the_variance():
    x = RNG(2).normal(size=4096)
    S = identify.spectra(Record(DT * np.arange(4096), x[:, None], ["a"]), window="boxcar", segment="record")
    assert S.variance("a") == pytest.approx(x.var(), rel=1e-12)


def test_densities_of_several_records_are_the_mean_over_all_their_blocks():
    x = RNG(3).normal(size=(2048, 1))
    parts = [Record(DT * np.arange(1024), part, ["a"]) for part in (x[:1024], x[1024:])]
    joined = identify.spectra(Record(DT * np.arange(2048), x, ["a"]), segment=256, overlap=0.0)
    np.testing.assert_allclose(identify.spectra(parts, segment=256, overlap=0.0).values, joined.values, rtol=1e-12)


def test_no_block_runs_from_one_record_into_the_next():
    parts = [Record(DT * np.arange(300), RNG(k).normal(size=(300, 1)), ["a"]) for k in range(3)]
    assert identify.spectra(parts, segment=200, overlap=0.0).blocks == 3


def test_the_spread_of_a_density_is_one_over_the_root_of_its_averages():
    x = RNG(4).normal(size=200_000)
    S = identify.spectra(Record(DT * np.arange(x.size), x[:, None], ["a"]), segment=400, overlap=0.5)
    inner = S.psd("a")[3:-3]
    # 195 correlated lines tell a standard deviation to about 1/√(2·195/1.5) = 6 %
    assert inner.std() / inner.mean() == pytest.approx(S.relative_error, rel=0.15)


def test_singular_values_of_the_densities_show_one_source_where_there_is_one():
    u = RNG(5).normal(size=4096)
    S = identify.spectra(Record(DT * np.arange(4096), np.outer(u, [1.0, 2.0]) + 1e-3 * RNG(6).normal(size=(4096, 2)),
                                ["a", "b"]), segment=256)  # fmt: skip
    s = S.singular_values()
    assert (s[:, 1] < 1e-4 * s[:, 0])[1:].all()


def test_a_selection_of_spectra_keeps_units_and_averages():
    S = identify.spectra(Record(DT * np.arange(512), RNG(0).normal(size=(512, 3)), list("abc"), ["m", "V", "N"]))
    part = S.select("c", "a")
    np.testing.assert_array_equal(part.csd("c", "a"), S.csd("c", "a"))
    assert part.units == {"c": "N", "a": "m"} and part.averages == S.averages
    assert "c [N²/Hz]" in repr(part)


@pytest.mark.parametrize(
    "wrong",
    [{"window": "hanning-ish"}, {"overlap": 1.0}, {"overlap": -0.1}, {"segment": 5000}, {"segment": 2},
     {"segment": "all"}, {"detrend": "constant"}],
)  # fmt: skip
def test_senseless_settings_of_spectra_are_refused(wrong):
    with pytest.raises(DataError):
        identify.spectra(Record(DT * np.arange(512), RNG(0).normal(size=(512, 1)), ["a"]), **wrong)


# ---- frequency responses


@pytest.mark.spec("000-62")
@pytest.mark.parametrize("method", ["H1", "H2", "Hv"])
def test_periodic_data_without_noise_give_the_exact_response(method):
    system = frame()
    period = RNG(7).normal(size=(512, 1))
    run = simulated(system, np.tile(period, (12, 1)))  # the frame forgets in 11 periods
    steady = Record(DT * np.arange(512), run.data[-512:], run.names, run.units)
    made = identify.frf(steady, "f1", method=method, window="boxcar", segment="record", detrend="none")
    H = truth(system, made.frequencies)
    np.testing.assert_allclose(made.response.values, H, atol=1e-9 * np.abs(H).max())
    np.testing.assert_allclose(made.coherence.multiple[1:], 1.0, atol=1e-9)


@pytest.mark.spec("000-62")
def test_two_inputs_are_told_apart_from_records_that_excite_them_differently():
    system = frame(2)
    tests = []
    for seed in range(3):
        run = simulated(system, np.tile(RNG(seed).normal(size=(512, 2)), (12, 1)))
        tests.append(Record(DT * np.arange(512), run.data[-512:], run.names, run.units))
    made = identify.frf(tests, ["f1", "f3"], window="boxcar", segment="record", detrend="none")
    H = truth(system, made.frequencies)
    np.testing.assert_allclose(made.response.values, H, atol=1e-8 * np.abs(H).max())
    np.testing.assert_allclose(made.coherence.multiple[1:], 1.0, atol=1e-9)
    assert (made.coherence.ordinary <= made.coherence.multiple[:, :, None] + 1e-9).all()


def flat(noise_in, noise_out, seed, samples=100_000):
    """y = 2 u with noise on either side."""
    rng = RNG(seed)
    u = rng.normal(size=samples)
    channels = {"u": u + noise_in * rng.normal(size=samples), "y": 2.0 * u + noise_out * rng.normal(size=samples)}
    return Record.from_channels(DT * np.arange(samples), channels)


def test_h1_is_unbiased_by_noise_on_the_output_and_h2_is_too_large():
    record = flat(0.0, 1.0, 8)
    gain = {m: np.abs(identify.frf(record, "u", method=m, segment=256)["y"]).mean() for m in ("H1", "H2", "Hv")}
    assert gain["H1"] == pytest.approx(2.0, rel=0.01)
    assert gain["H2"] == pytest.approx(2.0 * 1.25, rel=0.02)  # 1 + noise power / output power
    assert gain["Hv"] == pytest.approx(2.0 * np.sqrt(1.25), rel=0.02)


def test_h2_is_unbiased_by_noise_on_the_input_and_h1_is_too_small():
    record = flat(0.5, 0.0, 9)
    gain = {m: np.abs(identify.frf(record, "u", method=m, segment=256)["y"]).mean() for m in ("H1", "H2", "Hv")}
    assert gain["H2"] == pytest.approx(2.0, rel=0.01)
    assert gain["H1"] == pytest.approx(2.0 / 1.25, rel=0.02)
    assert gain["Hv"] == pytest.approx(2.0 / np.sqrt(1.25), rel=0.02)


def test_with_one_input_hv_is_the_geometric_mean_of_h1_and_h2():
    record = flat(0.3, 0.4, 10, samples=4000)
    h1, h2, hv = (identify.frf(record, "u", method=m, segment=256)["y"] for m in ("H1", "H2", "Hv"))
    np.testing.assert_allclose(hv, h1 / np.abs(h1) * np.sqrt(np.abs(h1) * np.abs(h2)), rtol=1e-9)
    assert (np.abs(h1) <= np.abs(h2) * (1 + 1e-12)).all()


def test_coherence_is_the_share_of_the_output_that_the_input_explains():
    made = identify.coherence(flat(0.0, 1.0, 11), "u", segment=256)
    assert made["y"].mean() == pytest.approx(0.8, abs=0.01)
    _, theirs = scipy.signal.coherence(*flat(0.0, 1.0, 11).data.T, fs=1 / DT, nperseg=256)
    np.testing.assert_allclose(made["y", "u"], theirs[1:], rtol=1e-9)


def test_random_errors_are_those_seen_over_many_tests():
    values, predicted = [], []
    for seed in range(200):
        made = identify.frf(flat(0.0, 1.0, 100 + seed, samples=2000), "u", segment=100)
        values.append(np.abs(made["y"]))
        predicted.append(made.deviation("y"))
    seen = np.std(values, axis=0)[2:-2]
    # 200 runs tell a standard deviation to 5 %; 46 lines together to 1 %, the formula is first order in 1/39 averages
    assert seen.mean() == pytest.approx(np.mean(predicted), rel=0.05)


def test_random_errors_of_two_inputs_are_those_seen_over_many_tests():
    values, predicted = [], []
    for seed in range(200):
        rng = RNG(seed)
        u = rng.normal(size=(3000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
        y = u @ [2.0, -1.0] + rng.normal(size=3000)
        record = Record(DT * np.arange(3000), np.column_stack([u, y]), ["u1", "u2", "y"])
        made = identify.frf(record, ["u1", "u2"], segment=100)
        values.append(np.abs(made.response.values[:, 0]))
        predicted.append(made.deviations[:, 0])
    np.testing.assert_allclose(np.std(values, axis=0)[2:-2].mean(axis=0), np.mean(predicted, axis=(0, 1)), rtol=0.06)


def test_names_and_units_travel_into_the_response():
    made = identify.frf(simulated(frame(), RNG(0).normal(size=(2048, 1))), "f1", ["a1", "a3"])
    assert made.response.unit("a3", "f1") == "m/s^2/N"
    assert made.response.outputs == ("a1", "a3")
    assert "H1" in repr(made)
    assert made.provenance["method"].startswith("H1: hann window")


def test_peaks_of_a_measured_response_lie_at_the_modes():
    system = frame(damping=3e-4)
    made = identify.frf(simulated(system, RNG(3).normal(size=(65536, 1)), noise=0.01), "f1", segment=2048)
    found = [peak.frequency_hz for peak in made.response.peaks("a1", prominence=0.3)]
    for hertz in system.modes().frequencies_hz[:3]:
        assert min(abs(np.array(found) - hertz)) < 2 / (2048 * DT)


def test_the_line_at_zero_is_left_out_where_means_were_taken_off():
    record = simulated(frame(), RNG(0).normal(size=(1024, 1)))
    assert identify.frf(record, "f1").frequencies[0] > 0.0
    assert identify.frf(record, "f1", detrend="none").frequencies[0] == 0.0


def test_fewer_blocks_than_inputs_are_refused():
    record = simulated(frame(2), RNG(0).normal(size=(1024, 2)))
    with raises(DataError, "too-few-samples") as caught:
        identify.frf(record, ["f1", "f3"], segment="record", window="boxcar")
    assert caught.value.finding.evidence == {"blocks": 1, "needed": 2}


def test_one_average_has_no_random_error():
    made = identify.frf(simulated(frame(), RNG(0).normal(size=(512, 1))), "f1", segment="record", window="boxcar")
    assert made.deviations is None
    with raises(DataError, "unknown-noise"):
        made.deviation("a1", "f1")


def test_h2_of_as_many_inputs_as_outputs_is_exact_without_noise():
    rng = RNG(1)
    G = np.array([[1.0, 2.0], [-0.5, 3.0]])
    u = rng.normal(size=(4000, 2))
    record = Record(DT * np.arange(4000), np.hstack([u, u @ G.T]), ["u1", "u2", "y1", "y2"])
    for method in ("H1", "H2", "Hv"):
        made = identify.frf(record, ["u1", "u2"], method=method, segment=400)
        np.testing.assert_allclose(made.response.values, np.broadcast_to(G, made.response.values.shape), atol=1e-8)


def test_frequencies_without_excitation_are_told_and_set_to_zero():
    x = np.cos(2 * np.pi * 8 / 256 * np.arange(1024))
    with warns(IdentificationWarning, "weak-excitation", "127 of 128"):
        made = identify.frf(
            Record(DT * np.arange(1024), np.column_stack([x, 2.0 * x]), ["u", "y"]), "u", window="boxcar", segment=256,
        )  # fmt: skip
    assert made["y"][7] == pytest.approx(2.0)  # line 8; line 0 is left out
    assert np.flatnonzero(made.coherence["y"]).tolist() == [7]


# ---- hammer tests


def struck(noise=0.0):
    """A lightly damped oscillator struck once; still moving at the end of the record."""
    w, zeta = 2 * np.pi * 3.0, 0.01
    A = np.array([[0.0, 1.0], [-(w**2), -2 * zeta * w]])
    system = StateSpace(A, [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]], inputs="f", outputs="x").to_discrete(DT)
    u = np.zeros((512, 1))
    u[10:13, 0] = 20.0, 50.0, 20.0
    run = simulated(system, u)
    rng = RNG(0)
    data = run.data + noise * np.abs(run.data).max(axis=0) * rng.normal(size=run.data.shape)
    return system, w, zeta, Record(run.time, data, run.names, run.units)


def test_the_exponential_window_moves_every_pole_by_exactly_its_decay_rate():
    system, _, zeta, record = struck()
    made = identify.hammer_windows(record, "f", remaining=1e-6)
    moved = system.replace(A=system.A * np.exp(-made.decay_rate * DT), B=system.B * np.exp(-made.decay_rate * DT))
    run = simulated(moved, made.record["f"][:, None])
    np.testing.assert_allclose(made.record["x"], run["x"], atol=1e-12 * np.abs(record["x"]).max())
    s = moved.modes().eigenvalues
    true = made.true_poles(s)
    np.testing.assert_allclose(-true.real / np.abs(true), zeta, rtol=1e-9)
    measured = -s.real / np.abs(s)
    np.testing.assert_allclose(made.true_damping(measured, np.abs(s)), zeta, rtol=1e-9)
    assert (measured > 3 * zeta).all()


def test_a_windowed_hammer_test_gives_the_response_of_the_moved_system():
    system, _, _, record = struck()
    made = identify.hammer_windows(record, "f", remaining=1e-9)
    H = identify.frf(made.record, "f", window="boxcar", segment="record", detrend="none")
    z = np.exp((1j * H.frequencies + made.decay_rate) * DT)
    exact = np.array([(system.C @ np.linalg.solve(zi * np.eye(2) - system.A, system.B))[0, 0] for zi in z])
    np.testing.assert_allclose(H["x"], exact, atol=1e-7 * np.abs(exact).max())


def test_the_force_window_keeps_the_blow_and_removes_the_noise_after_it():
    _, _, _, record = struck(noise=0.01)
    made = identify.hammer_windows(record, "f", remaining=1.0)
    np.testing.assert_array_equal(made.record["f"][10:13], record["f"][10:13])
    assert not made.record["f"][40:].any()
    np.testing.assert_array_equal(made.record["x"], record["x"])
    assert made.decay_rate == 0.0
    assert made.impacts.shape == (1, 1, 2)


def test_a_given_width_sets_the_force_window():
    _, _, _, record = struck(noise=0.01)
    made = identify.hammer_windows(record, "f", width=10 * DT)
    assert np.ptp(made.impacts[0, 0]) == pytest.approx(10 * DT)


def test_several_hammer_tests_share_one_decay_rate():
    first, second = struck(0.01)[3], struck(0.01)[3].between(0.0, 8.0)
    made = identify.hammer_windows([first, second], "f")
    assert made.decay_rate == pytest.approx(np.log(100) / (511 * DT))
    with raises(DataError, "not-unique", "2 records"):
        made.record


# ---- the whole chain of the spec: filter, trim, average over repeats and input configurations


@pytest.mark.spec("000-62")
def test_ten_repeats_of_four_input_configurations_give_the_response_within_their_random_errors():
    system = frame(2)
    tests = []
    for pair in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -1.0)):
        for repeat in range(10):
            u = np.zeros((2148, 2))
            u[150:153] = np.outer([20.0, 50.0, 20.0], pair)
            # 2148 samples with a bad beginning, trimmed to 2048 at 32 Hz
            run = simulated(system, u)
            noise = 0.1 * np.random.default_rng([repeat, len(tests)]).normal(size=(2148, 3))
            tests.append(Record(run.time, run.data + np.pad(noise, ((0, 0), (2, 0))), run.names, run.units))
    tests = identify.trim(identify.lowpass(tests, 12.5), 100 * DT)
    made = identify.frf(tests, ["f1", "f3"], window="boxcar", segment="record", detrend="none")
    assert made.blocks == 40 and len(tests[0]) == 2048
    H = truth(system, made.frequencies)
    inner = (made.frequencies_hz > 0.5) & (made.frequencies_hz < 10.0)
    score = np.abs(made.response.values - H)[inner] / (np.sqrt(2.0) * made.deviations[inner])
    # E|ΔH|² = 2 σ²; σ² comes from 38 degrees of freedom, so the mean of score² is 38/37, known to 1/√3600
    assert (score**2).mean() == pytest.approx(38 / 37, abs=0.07)
    assert np.abs(made.response.values - H)[inner].max() < 0.1 * np.abs(H).max()


def test_white_noise_on_rest_is_told_by_the_coherence_of_each_output():
    record = simulated(frame(), RNG(0).normal(size=(8192, 1)), noise=0.0)
    noisy = Record(record.time, record.data + [0, 0, 0, 2.0 * record["a3"].std()] * RNG(1).normal(size=(8192, 4)),
                   record.names, record.units)  # fmt: skip
    made = identify.coherence(noisy, "f1", segment=512)
    # boxes of 16 s hold the memory of the frame up to leakage at its peaks
    assert np.median(made["a1"]) > 0.99
    assert np.median(made["a3"]) < 0.7


# ---- thresholds of excitation


def scaled_codes(G: np.ndarray, nu: int) -> list[str]:
    u, y = np.zeros((8, nu)), np.zeros((8, 1))
    data = identify.Data((u,), (y,), DT, tuple(f"f{k}" for k in range(nu)), ("a",))
    return [one.code for one in _Scaled(G.astype(complex), data, 8).findings]


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_inputs_are_dependent_below_an_eigenvalue_of_their_correlation(factor: float) -> None:
    c = 1.0 - factor * 1e-10
    G = np.array([[[1.0, c, 0.0], [c, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    assert scaled_codes(G, 2) == (["dependent-channels"] if factor < 1.0 else [])


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_an_input_has_no_power_below_a_share_of_its_largest(factor: float) -> None:
    G = np.array([np.eye(2), np.diag([factor * 1e-24, 1.0])])
    assert scaled_codes(G, 1) == (["weak-excitation"] if factor < 1.0 else [])


REFUSED: dict[str, tuple[Any, ...]] = {
    "h2 of unequal numbers of inputs and outputs": (
        lambda: identify.frf(simulated(frame(2), RNG(0).normal(size=(1024, 2))), ["f1", "f3"], method="H2"),
        "not-supported", "H2", "method='H1' or method='Hv'"),
    "an unknown estimator gets a suggestion":
        (lambda: identify.frf(flat(0, 1, 0, samples=500), "u", method="H3"), "unknown-choice", "'H3'"),
    "a response needs an input": (lambda: identify.frf(flat(0, 1, 0, samples=500)), "missing-argument"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused(case: str) -> None:
    call, code, *shown = REFUSED[case]
    with raises(DataError, code, *shown):
        call()
