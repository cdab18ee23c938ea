"""Kalman filters over records: names, gaps, times, mistakes, divergence."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError, DataError, Interrupted, ModelError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.record import Record
from tests.helpers.engines import ENGINES, engine
from tests.helpers.findings import raises, warns
from tests.helpers.kalman_models import block_on_a_spring, cart, kalman, pushed
from tests.helpers.linear_gaussian import random_problem
from tests.helpers.repetitions import few


def test_an_estimate_has_names_units_and_deviations():
    estimate = kalman().run(pushed())
    assert estimate["speed"][-1] == pytest.approx(19.9, abs=4 * estimate.deviation("speed")[-1])
    assert estimate.record.units == {"position": "m", "speed": "m/s"}
    assert "log-likelihood" in repr(estimate) and "speed" in estimate.table()
    assert estimate.innovation("seen").shape == (200,)
    assert estimate.status == "complete"


def test_a_second_order_model_is_taken_as_it_is():
    mass = SecondOrder([[2.0]], [[8.0]], C=[[0.1]], B=[[1.0]], Y_position=[[1.0]], coordinates=["x"], inputs=["f"])
    filter_ = da.estimate.Kalman(mass, Q=1e-6, R=1e-4, dt=0.01)
    assert filter_.process.carried.names == mass.state_space().states


@pytest.mark.spec("004-C2")
def test_the_input_of_the_last_interval_moves_the_state_and_that_of_now_is_in_the_output():
    # x_k = x_{k-1} + u_{k-1}, y_k = x_k + u_k, all exact: the state is known at once and follows u_{k-1}
    model = StateSpace([[1.0]], [[1.0]], [[1.0]], [[1.0]], dt=1.0)
    u = np.array([1.0, 2.0, 4.0, 8.0])
    x = np.array([5.0, 6.0, 8.0, 12.0])
    record = Record(np.arange(4.0), np.column_stack([u, x + u]), ["u1", "y1"])
    estimate = da.estimate.Kalman(model, Q=1e-12, R=1e-12, P0=1e6).run(record)
    assert estimate.states[:, 0] == pytest.approx(x, rel=1e-9)
    assert np.abs(estimate.innovations[1:]).max() < 1e-9  # what is expected is what comes


def test_missing_samples_are_left_out_exactly_and_deviations_grow_over_the_gap():
    record = pushed()
    data = np.array(record.data)
    data[50:100, record.names.index("seen")] = np.nan
    estimate = kalman().run(Record(record.time, data, record.names))
    deviation = estimate.deviation("position")
    assert np.all(np.diff(deviation[49:100]) > 0) and deviation[101] < deviation[99]
    assert np.isnan(estimate.innovations[60, 0]) and estimate.measured[60] == 0 and estimate.nis[60] == 0
    assert estimate.consistency().samples == 200


def test_a_slow_sensor_beside_a_fast_one_is_two_filters_in_turn():
    problem = random_problem(3, 3, 2)
    record = problem.simulate(np.random.default_rng(3), 60)
    data = np.array(record.data)
    data[np.arange(60) % 5 != 0, record.names.index("y2")] = np.nan  # every fifth sample only
    slow = Record(record.time, data, record.names)
    estimate = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0).run(slow)
    means, covariances, likelihood = problem.filtered(slow)
    assert estimate.states == pytest.approx(means, abs=1e-10)
    assert estimate.covariances() == pytest.approx(covariances, abs=1e-10)
    assert estimate.log_likelihood == pytest.approx(likelihood, rel=1e-12)


def test_records_longer_and_shorter_than_a_block_are_whole():
    problem = random_problem(4, 2, 1)
    kalman_ = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0)
    for count in (1, 2, 256, 257, 600):
        record = problem.simulate(np.random.default_rng(count), count)
        means, _, likelihood = problem.filtered(record)
        estimate = kalman_.run(record)
        assert estimate.states == pytest.approx(means, abs=1e-10)
        assert estimate.log_likelihood == pytest.approx(likelihood, rel=1e-11)


@pytest.mark.parametrize("form", ["covariance", "square-root", "information"])
def test_native_and_interpreted_filters_have_the_same_bits(form):
    problem = random_problem(6, 4, 2)
    record = problem.simulate(np.random.default_rng(6), 300, gaps=0.1)
    given = {"Q": problem.Q, "R": problem.R, "P0": problem.P0}
    found = []
    for name in ENGINES:
        with engine(name):
            found.append(da.estimate.Kalman(problem.system, form=form, **given).run(record))
    assert np.array_equal(found[0].states, found[1].states)
    assert np.array_equal(found[0].covariances(), found[1].covariances())


def test_large_filters_agree_with_numpy():
    problem = random_problem(8, 15, 4)
    record = problem.simulate(np.random.default_rng(8), 20, gaps=0.2)
    means, covariances, _ = problem.filtered(record)
    for form in ("covariance", "square-root", "information"):
        estimate = da.estimate.Kalman(
            problem.system, Q=problem.Q, R=problem.R, start=problem.x0, P0=problem.P0, form=form
        ).run(record)
        assert estimate.states == pytest.approx(means, abs=1e-9)
        assert estimate.covariances() == pytest.approx(covariances, abs=1e-9)


def test_without_p0_the_filter_begins_settled():
    problem = random_problem(9, 3, 2)
    record = problem.simulate(np.random.default_rng(9), 30)
    filter_ = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R)
    assert filter_.run(record).covariances()[0] == pytest.approx(filter_.steady.P, rel=1e-9, abs=1e-11)


def test_a_start_may_be_named_and_given_per_run():
    filter_ = kalman(start={"speed": 3.0})
    assert filter_.start.tolist() == [0.0, 3.0]
    moved = filter_.run(pushed(), start={"position": 1.0}, P0=1e-12)
    assert moved["position"][0] == pytest.approx(1.0, abs=1e-3)


def test_a_stepper_takes_samples_by_name_and_time():
    stepper = da.estimate.Kalman(cart(0.1), Q=1e-6, R=1e-4, P0=1.0).stepper()
    assert set(stepper.step({"seen": 0.0}, {"push": 1.0})) == {"position", "speed"}
    stepper.step([np.nan], [1.0])
    assert stepper.t == pytest.approx(0.1) and stepper.x[1] > 0.09
    assert stepper.P.shape == (2, 2) and stepper.innovation.tolist() == [0.0]
    stepper.step([0.02], [1.0], t=0.2)
    with raises(DataError, "not-increasing"):
        stepper.step([0.0], [1.0], t=0.1)
    with raises(DataError, "sample-time-mismatch", "dt"):
        stepper.step([0.0], [1.0], t=0.5)
    with raises(ModelError, "unknown-name", "'seen'"):
        stepper.step({"sen": 0.0}, [1.0])
    with raises(DataError, "wrong-shape"):
        stepper.step([0.0, 1.0], [1.0])
    with raises(DataError, "not-finite"):
        stepper.step([0.0], {})


def test_filters_and_estimates_can_be_pickled():
    estimate = kalman().run(pushed(30))
    again = pickle.loads(pickle.dumps(estimate))  # noqa: S301  our own bytes
    assert again["speed"].tolist() == estimate["speed"].tolist()
    assert again.filter.run(pushed(30)).states == pytest.approx(estimate.states)


def test_an_estimate_is_written_and_read_back_as_a_record(tmp_path):
    estimate = kalman().run(pushed(30))
    da.write_record(estimate.to_record(), tmp_path / "estimate.csv")
    again = da.read_record(tmp_path / "estimate.csv")
    assert again["speed"].tolist() == estimate["speed"].tolist()
    assert again["speed.deviation"].tolist() == estimate.deviation("speed").tolist()
    assert again["NIS"].tolist() == estimate.nis.tolist()


def test_covariances_that_were_too_many_to_keep_are_computed_again(monkeypatch):
    import dalembert.estimate.engine.run as engine

    record = pushed(300)
    kept = kalman().run(record)
    monkeypatch.setattr(engine, "kept_columns", partial(engine.kept_columns, most=10))
    lean = kalman().run(record)
    assert lean._filter_states is None
    assert lean.covariances() == pytest.approx(kept.covariances(), rel=1e-14)
    assert da.estimate.smooth(lean).states == pytest.approx(da.estimate.smooth(kept).states, rel=1e-12)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_channels_the_record_lacks_are_named():
    record = pushed()
    with raises(DataError, "missing-channel", "'push'"):
        kalman().run(record.select("seen"))
    with raises(DataError, "missing-channel", "'push'", "'seen'"):
        kalman().run(record.select("position"))


def test_inputs_may_not_have_gaps():
    record = pushed()
    data = np.array(record.data)
    data[7, record.names.index("push")] = np.nan
    with raises(DataError, "gap-in-record", "'push'", "0.7"):
        kalman().run(Record(record.time, data, record.names))


def test_a_record_without_a_single_sample_is_refused():
    record = pushed()
    data = np.array(record.data)
    data[:, record.names.index("seen")] = np.nan
    with raises(DataError, "empty"):
        kalman().run(Record(record.time, data, record.names))


def test_a_record_of_another_sampling_time_is_refused_with_a_remedy():
    with raises(DataError, "sample-time-mismatch", "0.2", "0.1", "dt"):
        kalman().run(pushed(dt=0.2))
    record = pushed(50)
    late = np.array(record.time)
    late[20:] += 0.3
    with raises(DataError, "uneven-sampling", "0.1", "0.4", "1.9"):
        kalman().run(Record(late, record.data, record.names))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"R": -1.0}, ("negative",)),
        ({"R": [1.0, 2.0]}, ("wrong-shape",)),
        ({"R": {"sen": 1.0}}, ("unknown-name", "'seen'")),
        ({"R": {}}, ("missing-argument", "R")),
        ({"R": None}, ("missing-argument", "R")),
        ({"Q": None}, ("missing-argument", "Q")),
        ({"Q": [[1.0, 2.0], [2.0, 1.0]]}, ("not-positive-definite", "Q")),
        ({"Q": [[1.0, 0.5], [0.2, 1.0]]}, ("not-symmetric", "Q")),
        ({"Q": "much"}, ("wrong-type", "Q")),
        ({"Q": np.nan}, ("not-finite",)),
        ({"Q": {"sped": 1.0}}, ("unknown-name", "'speed'")),
        ({"P0": {"speed": -2.0}}, ("negative", "P0")),
        ({"start": [1.0]}, ("wrong-shape", "start")),
        ({"start": {"sped": 1.0}}, ("unknown-name", "'speed'")),
        ({"form": "square root"}, ("unknown-choice", "'square-root'")),
        ({"outputs": "sen"}, ("unknown-name", "'seen'")),
        ({"input_noise": {"pull": 1.0}}, ("unknown-name", "'pull'")),
    ],
)
def test_wrong_arguments_are_explained(given, message):
    with raises((DataError, ModelError), *message):
        kalman(**given)


def test_a_continuous_model_needs_its_sampling_time():
    with raises(DataError, "missing-argument", "dt"):
        da.estimate.Kalman(cart(), Q=1.0, R=1.0)


def test_a_model_no_sensor_sees_is_warned_of_and_has_no_settled_filter():
    blind = StateSpace([[1.0, 0.0], [0.0, 0.5]], None, [[0.0, 1.0]], states=["drift", "seen"], dt=1.0)
    with warns(UserWarning, "hidden-mode"):
        filter_ = da.estimate.Kalman(blind, Q=1.0, R=1.0, P0=1.0)
    with raises(DataError, "no-steady-filter"):
        filter_.steady
    with raises(DataError, "no-steady-filter"):
        da.estimate.Kalman(blind, Q=1.0, R=1.0, form="steady")
    with warns(UserWarning, "hidden-mode"), raises(DataError, "no-steady-filter", "P0"):
        da.estimate.Kalman(blind, Q=1.0, R=1.0).stepper()


def test_a_mode_no_noise_moves_on_the_unit_circle_has_no_settled_filter():
    constant = StateSpace([[1.0]], None, [[1.0]], states=["bias"], dt=1.0)
    with raises(DataError, "no-steady-filter"):
        da.estimate.Kalman(constant, Q=0.0, R=1.0, form="steady")


def test_the_information_form_refuses_what_it_cannot_carry():
    delay = StateSpace([[0.0, 0.0], [1.0, 0.0]], None, [[0.0, 1.0]], dt=1.0)
    with raises(DataError, "singular-matrix"):
        da.estimate.Kalman(delay, Q=1.0, R=1.0, form="information")
    with raises(DataError, "singular-matrix", "'seen'", "R"):
        kalman(R=0.0, form="information")
    with raises(DataError, "not-positive-definite", "P0"):
        kalman(P0={"speed": 1.0}, form="information").run(pushed())


def test_a_nonlinear_process_is_sent_to_the_right_filter():
    pendulum = da.estimate.UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]], states=["angle", "speed"], outputs=["encoder"]
    )
    with raises(ModelError, "not-linear"):
        da.estimate.Kalman(pendulum, Q=1.0, R=1.0, dt=0.01)


def test_a_mechanism_is_sent_to_its_equations():
    with raises(ModelError, "wrong-type", "da.equations"):
        da.estimate.Kalman(da.Mechanism("m"), Q=1.0, R=1.0)


def test_only_records_are_filtered():
    with raises(DataError, "wrong-type"):
        kalman().run([1.0])


# --- divergence, interruption -----------------------------------------------------------------------------------------


def test_variances_that_explode_stop_the_run_and_keep_what_there_was():
    unstable = StateSpace([[3.0, 0.0], [0.0, 0.5]], None, [[0.0, 1.0]], states=["away", "seen"], dt=1.0)
    with warns(UserWarning, "hidden-mode"):
        filter_ = da.estimate.Kalman(unstable, Q=1.0, R=1.0, P0=1.0)
    record = Record(np.arange(1000.0), np.zeros((1000, 1)), ["y1"])
    with raises(ConvergenceError, "diverged") as caught:
        filter_.run(record)
    assert caught.value.record is not None and 10 < len(caught.value.record) < 1000
    assert np.isfinite(caught.value.record.data).all()


def test_sensors_that_contradict_the_model_for_long_stop_the_run():
    record = pushed(400)
    data = np.array(record.data)
    data[100:, record.names.index("seen")] = 1e9 * (-1.0) ** np.arange(300)  # volts into a channel of metres
    with raises(ConvergenceError, "diverged") as caught:
        kalman().run(Record(record.time, data, record.names))
    assert len(caught.value.record) == 100
    assert "t = 10 s" in str(caught.value)


def test_an_interrupted_run_keeps_what_it_had():
    def stop(fraction: float) -> None:
        if fraction > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        kalman().run(pushed(1000), progress=stop)
    assert 256 <= len(caught.value.record) < 1000
    whole = kalman().run(pushed(1000))
    assert caught.value.record["speed"] == pytest.approx(whole["speed"][: len(caught.value.record)])


def test_progress_is_reported_up_to_the_end():
    shares: list[float] = []
    kalman().run(pushed(600), progress=shares.append)
    assert shares[-1] == 1.0 and shares == sorted(shares)


# --- settled covariances ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", few(["covariance", "square-root", "information"]))
def test_a_filter_that_has_settled_goes_on_as_if_it_had_not(form, monkeypatch):
    import dalembert.estimate.filters.converged_filter as settled

    problem = random_problem(43, 4, 3)  # spectral radius below 1
    record = problem.simulate(np.random.default_rng(41), 3000)
    data = np.array(record.data)
    data[1500, record.names.index("y2")] = np.nan  # back to the full recursion, and settled again
    record = Record(record.time, data, record.names)
    filter_ = da.estimate.Kalman(problem.system, Q=problem.Q, R=problem.R, P0=problem.P0, form=form)
    used: list[int] = []
    original = settled.ConvergedFilter.samples
    monkeypatch.setattr(settled.ConvergedFilter, "samples", lambda s, m, d: (used.append(len(d)), original(s, m, d))[1])
    fast = filter_.run(record)
    assert sum(used) > 1000
    monkeypatch.setattr(settled.ConvergedFilter, "ready", lambda s, data: False)
    full = filter_.run(record)
    assert fast.states == pytest.approx(full.states, rel=1e-12, abs=1e-12)
    assert fast.nis == pytest.approx(full.nis, rel=1e-10, abs=1e-12)
    assert fast.innovations == pytest.approx(full.innovations, rel=1e-11, abs=1e-11, nan_ok=True)
    assert fast.log_likelihood == pytest.approx(full.log_likelihood, rel=1e-12)
    assert fast.covariances() == pytest.approx(full.covariances(), rel=1e-11, abs=1e-13)


# --- what no sensor shows -----------------------------------------------------------------------------------------


def test_neither_units_nor_turned_coordinates_hide_what_a_sensor_shows():
    tiny = StateSpace([[1.0, 0.1], [0.0, 1.0]], None, [[1e-9, 0.0]], dt=0.1)  # a sensor in gigametres
    da.estimate.Kalman(tiny, Q=1.0, R=1e-18, P0=1.0)
    stiff = SecondOrder([[1e-3]], [[1e7]], Y_position=[[1.0]])  # an undamped mode of 16 kHz
    da.estimate.Kalman(stiff, Q=1e-9, R=1e-12, dt=1e-5, P0=1.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_drift_seen_by_its_speed_only_is_found_in_any_coordinates(seed):
    T, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    A = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 0.5]])
    turned = StateSpace(T @ A @ T.T, None, np.array([[0.0, 1.0, 0.0]]) @ T.T, dt=0.1)
    with warns(UserWarning, "hidden-mode"):
        da.estimate.Kalman(turned, Q=1.0, R=1.0, P0=1.0)


@pytest.mark.parametrize("form", ["covariance", "square-root", "information", "steady"])
def test_a_filter_inside_a_simulation_is_the_filter_over_what_its_sensors_wrote(form):
    eqs, model = block_on_a_spring()
    filter_ = da.estimate.Kalman(model, Q=[1e-8, 1e-6], R=da.estimate.Encoder(1000).variance, dt=0.01, form=form)
    run = da.simulate(
        eqs, 3.0, start=da.assemble(eqs, {"rail": 0.3}), inputs={"push": 0.5}, observer=filter_,
        noise=da.Noise(sensors={"place": da.estimate.Encoder(1000)}, seed=1),
    )  # fmt: skip
    seen = Record.from_channels(run.time, {"place": run["measured.place"], "push": run["push"]})
    after = filter_.run(seen)
    assert run["estimate.rail.speed"] == pytest.approx(after["rail.speed"], rel=1e-10, abs=1e-12)
    assert np.abs(run["estimate.rail.speed"] - run["rail.speed"])[200:].max() < 0.05
