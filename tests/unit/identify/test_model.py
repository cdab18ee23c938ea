"""Identified: played back over records, fit, residual tests; modal phase collinearity."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.signal

from dalembert.core.errors import DataError
from dalembert.identify import Identified, mean_phase, modal_phase_collinearity, phase_deviation
from dalembert.identify.model.quality import examine, measure_fit
from dalembert.identify.physical.mass_stiffness import modal_triple
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.storey_frame import FLOORS, played, sampled_frame, white

A = 0.98 * np.array([[0.9, 0.3], [-0.3, 0.9]])
B, C, D = [[1.0], [0.5]], [[1.0, 0.0], [0.3, 1.0]], [[0.1], [0.0]]
K = np.array([[0.3, 0.1], [0.0, 0.2]])
SYSTEM = StateSpace(A, B, C, D, dt=0.1, inputs=["f"], outputs=["a", "b"], units={"f": "N", "a": "m"})


def noisy_run(samples: int = 300, seed: int = 0) -> tuple[Record, np.ndarray]:
    """Innovation form run sample by sample from a start other than zero."""
    rng = np.random.default_rng(seed)
    u, e = rng.normal(size=(samples, 1)), 0.5 * rng.normal(size=(samples, 2))
    x, y = np.array([3.0, -2.0]), np.zeros((samples, 2))
    for k in range(samples):
        y[k] = SYSTEM.C @ x + SYSTEM.D @ u[k] + e[k]
        x = A @ x + SYSTEM.B @ u[k] + K @ e[k]
    return Record(0.1 * np.arange(samples), np.hstack([u, y]), ["f", "a", "b"], ["N", "m", "m"]), e


MODEL = Identified(SYSTEM, method="given", gain=K, innovation=0.25 * np.eye(2))


def test_prediction_errors_of_the_true_model_are_the_innovations_once_the_start_is_forgotten() -> None:
    record, e = noisy_run()
    radius = np.abs(np.linalg.eigvals(A - K @ SYSTEM.C)).max()
    left = MODEL.residuals(record).values[0]
    # the start is estimated from noisy data, its error dies like radius^k
    assert np.abs((left - e)[60:]).max() < 10.0 * radius**60


@pytest.mark.parametrize("steps", [1, 2, 5, 400])
def test_prediction_some_steps_ahead_uses_no_later_outputs(steps: int) -> None:
    record, _ = noisy_run()
    made = MODEL.predict(record, steps, start="zero").data
    u, y = record["f"][:, None], record[["a", "b"]]
    filtered = np.zeros((len(u) + 1, 2))
    for k in range(len(u)):
        error = y[k] - SYSTEM.C @ filtered[k] - SYSTEM.D @ u[k]
        filtered[k + 1] = A @ filtered[k] + SYSTEM.B @ u[k] + K @ error
    for k in (0, 1, 3, 4, 5, 17, 299):
        begin = max(0, k - steps + 1)
        x = filtered[begin]
        for j in range(begin, k):
            x = A @ x + SYSTEM.B @ u[j]
        assert made[k] == pytest.approx(SYSTEM.C @ x + SYSTEM.D @ u[k], abs=1e-12)


def test_simulation_finds_the_start_of_a_noise_free_record() -> None:
    frame = sampled_frame()
    record = played(frame, white(500), start=np.arange(1.0, 7.0))
    model = Identified(frame, method="given")
    assert np.abs(model.simulate(record).data - record[FLOORS]).max() < 1e-9 * np.abs(record[FLOORS]).max()
    assert model.simulate(record).units["a1"] == "m/s²"
    assert model.fit(record).percent.min() > 100.0 - 1e-7
    assert model.fit(record, start="zero").percent.max() < 90.0


def test_the_start_is_found_without_keeping_the_free_motion_of_a_long_record() -> None:
    turning = StateSpace([[np.cos(0.1), np.sin(0.1)], [-np.sin(0.1), np.cos(0.1)]], C=[1.0, 0.0], dt=0.1, outputs="a")
    k = np.arange(20_000)
    record = Record(0.1 * k, np.cos(0.1 * k + 0.5)[:, None], ["a"])
    assert Identified(turning, method="given").fit(record).percent[0] > 100.0 - 1e-6


def test_fit_is_the_normalised_root_mean_square_over_all_records() -> None:
    y = [np.array([[1.0], [3.0]]), np.array([[0.0], [4.0]])]
    made = [np.array([[1.0], [2.0]]), np.array([[0.0], [4.0]])]
    fit = measure_fit(y, made, ["a"], "simulation", {"a": "m"})
    assert fit["a"] == pytest.approx(100.0 * (1.0 - np.sqrt(1.0 / 10.0)))  # ‖y - mean‖² = 2 + 8
    assert fit.rms[0] == pytest.approx(0.5)
    assert "68.38" in fit.table()
    assert "a" in repr(fit)


def test_an_input_that_acts_late_is_played_back_late() -> None:
    record, _ = noisy_run(50)
    late = MODEL.replace(delays={"f": 3})
    f = record["f"]
    shifted = Record.from_channels(record.time, {"f": np.concatenate([[f[0]] * 3, f[:-3]])})
    assert late.simulate(record, start="zero").data == pytest.approx(MODEL.simulate(shifted, start="zero").data)


def test_offsets_are_taken_off_and_put_back() -> None:
    record, _ = noisy_run(50)
    lifted = Record(record.time, record.data + np.array([5.0, 2.0, 0.0]), record.names)
    model = MODEL.replace(offsets={"f": 5.0, "a": 2.0})
    assert model.simulate(lifted).data == pytest.approx(MODEL.simulate(record).data + np.array([2.0, 0.0]))


def test_white_residuals_pass_the_tests_as_often_as_they_should() -> None:
    rng = np.random.default_rng(3)
    white_p, free_p, beyond = [], [], []
    for _ in range(200):
        u = scipy.signal.lfilter([1.0], [1.0, -0.9], rng.normal(size=(600, 1)), axis=0)
        left = examine([rng.normal(size=(600, 2)) @ [[1.0, 0.7], [0.0, 1.0]]], [u], ["a", "b"], ["f"], "prediction")
        white_p.append(left.whiteness_all)
        free_p.append(left.independence[0, 0])
        beyond.append((np.abs(left.autocorrelation) > left.band95).mean())
    # 200 draws at 5 %: 10 expected, standard deviation 3.1
    assert 1 <= np.sum(np.array(white_p) < 0.05) <= 20
    assert 1 <= np.sum(np.array(free_p) < 0.05) <= 20
    assert np.mean(beyond) == pytest.approx(0.05, abs=0.01)


def test_coloured_residuals_that_know_nothing_of_a_coloured_input_are_called_independent() -> None:
    rng = np.random.default_rng(4)
    p = []
    for _ in range(200):
        u, e = (scipy.signal.lfilter([1.0], [1.0, -0.8], rng.normal(size=(2000, 1)), axis=0) for _ in range(2))
        left = examine([e], [u], ["a"], ["f"], "simulation")
        assert not left.is_white()
        p.append(left.independence[0, 0])
    assert np.sum(np.array(p) < 0.05) <= 20
    # the band without Bartlett's sum would be too narrow by √((1 + 0.64)/(1 - 0.64)) = 2.13
    assert left.cross_band95[0, 0] == pytest.approx(2.13 * 1.96 / np.sqrt(2000), rel=0.3)


def test_a_model_that_lacks_a_mode_shows_in_the_crosscorrelation() -> None:
    frame = sampled_frame()
    record = played(frame, white(2000), noise=0.01)
    modal = frame.modal()
    small = Identified(
        modal.replace(A=modal.A[:4, :4], B=modal.B[:4], C=modal.C[:, :4], states=modal.states[:4]), method="cut"
    )
    left = small.residuals(record)
    assert not left.is_independent()
    assert "not independent of the inputs" in repr(left)
    assert Identified(frame, method="given").residuals(record).is_independent()
    assert Identified(frame, method="given").residuals(record).is_white()


def test_segments_are_judged_without_lags_across_their_border() -> None:
    rng = np.random.default_rng(5)
    e = [rng.normal(size=(400, 1)), rng.normal(size=(300, 1))]
    left = examine(e, [np.zeros((400, 0)), np.zeros((300, 0))], ["a"], [], "prediction", lags=3)
    centred = [part - part.mean() for part in e]
    expected = sum(float(part[2:, 0] @ part[:-2, 0]) for part in centred) / sum(
        float(part[:, 0] @ part[:, 0]) for part in centred
    )
    assert left.autocorrelation[1, 0] == pytest.approx(expected)
    assert left.is_independent()
    assert left.crosscorrelation.shape == (7, 1, 0)


def test_what_cannot_be_played_back_is_refused_in_words() -> None:
    record, _ = noisy_run(50)
    with raises(DataError, "sample-time-mismatch", "0.2 s", "0.1 s"):
        MODEL.simulate(Record(2.0 * record.time, record.data, record.names))
    with raises(DataError, "missing-gain"):
        MODEL.replace(gain=None).predict(record)
    with raises(DataError, "not-a-count", "steps"):
        MODEL.predict(record, 0)
    with raises(DataError, "unknown-choice", "start"):
        MODEL.simulate(record, start="there")
    with raises(DataError, "unknown-choice", "kind"):
        MODEL.fit(record, "both")
    holed = record.data.copy()
    holed[3, 1] = np.nan
    with raises(DataError, "not-finite", "'a'"):
        MODEL.fit(Record(record.time, holed, record.names))
    with raises(DataError, "unknown-name", "'f'"):
        MODEL.replace(delays={"ff": 1})
    with raises(DataError, "wrong-type"):
        Identified(StateSpace([[-1.0]]), method="given")
    with raises(DataError, "unknown-argument", "'gian'"):
        MODEL.replace(gian=K)


def test_it_is_frozen_and_survives_pickling() -> None:
    with pytest.raises(AttributeError):
        MODEL.method = "other"  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(MODEL))  # noqa: S301
    assert np.array_equal(again.system.A, A)
    assert not again.gain.flags.writeable
    assert "order 2" in repr(MODEL)


def test_standard_deviations_stand_beside_the_modes_and_leave_with_another_system() -> None:
    known = MODEL.replace(frequency_deviations_hz=[0.01], damping_deviations=[0.002])
    assert "0.01" in known.modal_table()
    assert known.replace(system=SYSTEM.replace(D=None)).frequency_deviations_hz is None
    with raises(DataError, "wrong-shape", "1 underdamped"):
        MODEL.replace(frequency_deviations_hz=[0.1, 0.2])


def test_real_and_alternating_decays_are_no_underdamped_modes() -> None:
    system = StateSpace(np.diag([0.5, -0.5, 0.0]), C=np.ones((1, 3)), dt=0.1)
    assert len(Identified(system, method="given").frequencies_hz) == 0


@pytest.mark.spec("000-58")
def test_modal_values_of_the_printed_n4sid_realization_come_out_as_printed() -> None:
    # spec 000, AT-5: frequencies, ratios and moduli to half a unit of the last digit of the recomputation there; the
    # phases are those of the source, from matrices before rounding to four decimals: 0.01 rad.
    a = np.array(
        [[0.4184, 0.8019, 0.3995, 0.1444, 0.0153, -0.0073], [-0.6853, 0.2661, 0.3680, -0.5466, -0.0164, 0.0120],
         [-0.5789, 0.1414, 0.0405, 0.7964, 0.0423, -0.0117], [-0.1367, 0.5145, -0.8260, -0.1599, 0.0415, 0.0040],
         [0.0117, -0.0324, 0.0257, -0.0387, 0.9263, -0.3689], [-0.0001, -0.0059, 0.0485, -0.0300, 0.3585, 0.8969]]
    )  # fmt: skip
    c = np.array(
        [[56.6682, 39.7860, 6.4378, -6.8943, 0.7703, -0.1882], [12.0417, -4.2486, 17.2738, 20.3517, 1.5212, -0.4419],
         [-26.3375, -11.1040, -11.0976, -8.1824, 3.1637, -0.1651]]
    )  # fmt: skip
    found = Identified(StateSpace(a, C=c, dt=1 / 32, outputs=FLOORS), method="n4sid, printed")
    assert found.frequencies_hz == pytest.approx([1.9363, 5.6970, 8.7928], abs=5e-5)
    assert found.damping_ratios == pytest.approx([0.0464, 0.00282, 0.00417], abs=5e-5)
    shapes = found.underdamped_modes().normalise("a1").shapes.T
    assert np.abs(shapes[:, 1:]) == pytest.approx(
        np.array([[2.5215, 2.8236], [0.1461, 0.4241], [3.4332, 1.4712]]), abs=5e-5
    )
    phase = np.angle(shapes[:, 1:] / np.exp(1j * np.array([[0.1167, 0.0777], [-0.0392, -3.1710], [3.1396, -0.0291]])))
    assert np.abs(phase).max() < 0.01


def test_collinearity_is_one_for_a_turned_real_shape_and_zero_for_a_travelling_wave() -> None:
    real = np.array([1.0, -2.0, 0.5])
    assert modal_phase_collinearity(np.exp(0.7j) * real) == pytest.approx([1.0])
    assert mean_phase(np.exp(0.7j) * real) == pytest.approx([0.7])
    assert phase_deviation(np.exp(0.7j) * real) == pytest.approx([0.0], abs=1e-12)
    wave = np.exp(2j * np.pi * np.arange(4) / 4)
    assert modal_phase_collinearity(wave) == pytest.approx([0.0], abs=1e-12)
    # two components a right angle apart, 1 and h: ((1 - h²)/(1 + h²))²
    assert modal_phase_collinearity([1.0, 0.5j]) == pytest.approx([(0.75 / 1.25) ** 2])
    assert phase_deviation([1.0, 0.5j]) == pytest.approx([0.5 * np.pi / 2 / 1.5])
    with raises(DataError, "not-finite"):
        modal_phase_collinearity([np.nan])


# ---- edges of thresholds of poles


def test_the_hold_of_a_pole_near_1_keeps_eight_digits():
    # a pair exp(±iθ): ln z/(z - 1) is 1 to θ/2; the logarithm of z alone has an error of ε/θ
    for turn in (1e-10, 1e-9, 1e-7):
        A = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        found = modal_triple(A, np.array([[1.0], [0.0]]), np.eye(2), 0.1)
        plain = modal_triple(A, np.array([[1.0], [0.0]]), np.eye(2), None)
        np.testing.assert_allclose(np.abs(found.inputs / plain.inputs), 10.0, rtol=6e-8)
