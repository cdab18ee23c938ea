"""Automatic identification: what it decides, what it says, what it draws."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert import identify
from dalembert.estimate.models.process import process
from dalembert.identify import IdentificationWarning, auto
from dalembert.identify.auto import auto as auto_steps
from dalembert.identify.auto import preparation
from dalembert.identify.records.data import read_data
from dalembert.view import report
from dalembert.view.plots.identification import plot_playback
from dalembert.view.reports.identification.identification_report import identification_pieces
from dalembert.view.reports.pages import Listing, Picture, Table
from tests.helpers.bolted_structure import bolted_structure
from tests.helpers.findings import raises, warns
from tests.helpers.measured_frames import DT, frame, measured


def codes(result):
    return [one.code for one in result.findings]


@pytest.fixture(scope="module")
def found():
    return auto(measured(), "force")


def test_the_order_and_the_modes_of_a_frame_are_found_unasked(found):
    truth = frame().modes()
    assert found.order == 6
    assert np.all(np.abs(found.frequencies_hz - truth.frequencies_hz) < 4 * found.identified.frequency_deviations_hz)
    assert np.all(np.abs(found.damping_ratios - truth.damping_ratios) < 4 * found.identified.damping_deviations)


def test_the_fit_is_that_of_the_last_third(found):
    assert [len(run) for run in found.training + found.held_out] == [2667, 1333]
    # what the noise leaves at best: its size over that of the output, in this part of the record
    clean, noisy = (measured(noise=noise)[["a1", "a2", "a3"]][2667:] for noise in (0.0, 0.05))
    best = 100.0 * (1.0 - np.linalg.norm(noisy - clean, axis=0) / np.linalg.norm(noisy - noisy.mean(axis=0), axis=0))
    assert np.allclose(found.fit.percent, best, atol=0.1)
    assert found.fit.kind == "simulation"


def test_residuals_of_a_right_model_are_white_and_nothing_speaks_against_it(found):
    assert found.residuals.is_white()
    assert found.residuals.is_independent()
    assert found.findings == ()


def test_it_explains_order_fit_and_modes_in_words(found):
    text = found.explain()
    assert "order 6" in text
    assert "held out the end" in text
    assert "MOESP" in text
    assert "maximum likelihood" in text
    assert "simulation of the data held out" in text


def test_the_result_is_frozen(found):
    with pytest.raises(AttributeError):
        found.order = 4


def test_offsets_of_sensors_do_no_harm(found):
    shifted = auto(measured(offset=3.0), "force")
    assert shifted.order == 6
    assert any("subtracted the mean" in text for text in shifted.decisions)
    assert np.allclose(shifted.frequencies_hz, found.frequencies_hz, rtol=1e-4)


def test_impacts_keep_their_levels():
    force = np.zeros(2000)
    force[[10, 700]] = 50.0
    result = auto(measured(2000, noise=0.01, force=force), "force")
    assert any("impacts" in text for text in result.decisions)
    assert np.allclose(result.frequencies_hz, frame().modes().frequencies_hz, rtol=2e-3)


def test_noise_free_data_are_recovered_exactly_and_not_refined():
    result = auto(measured(noise=0.0), "force")
    assert result.order == 6
    assert np.allclose(result.frequencies_hz, frame().modes().frequencies_hz, rtol=1e-8)
    assert any("noise-free" in text for text in result.decisions)


def test_the_last_of_several_records_is_held_out():
    runs = [measured(1500, seed=seed) for seed in (1, 2, 3)]
    result = auto(runs, "force")
    assert result.held_out == (runs[2],)
    assert result.training == (runs[0], runs[1])
    assert result.fit.mean > 94.0


def test_an_order_that_is_asked_for_is_taken():
    result = auto(measured(2000), "force", order=4)
    assert result.order == 4
    assert result.trials == ()
    assert result.fit.mean < 94.0


def test_a_stable_column_of_the_diagram_that_the_model_lacks_is_a_finding():
    result = auto(measured(2000), "force", order=4)
    truth = frame().modes().frequencies_hz
    absent = [f for f in truth if np.min(np.abs(result.frequencies_hz - f)) > 0.02 * f]
    (column,) = (one for one in result.findings if one.code == "column-not-in-model")
    assert len(absent) == 1
    assert np.allclose(column.evidence["hertz"], absent, rtol=0.01)
    assert column.evidence["orders"] == [8]  # order 6 has the pole, and the next one shows that it is stable


def test_a_stable_column_that_the_first_order_lacks_leads_to_a_larger_order(monkeypatch):
    choose = auto_steps.choose_tried_order
    monkeypatch.setattr(auto_steps, "choose_tried_order", lambda *given: (4, *choose(*given)[1:]))
    result = auto(measured(2000), "force")
    assert result.order >= 6 and "column-not-in-model" not in codes(result)
    sound = result.frequencies_hz[result.places()]
    assert all(np.isclose(sound, f, rtol=0.01).any() for f in frame().modes().frequencies_hz)
    assert any("lacks, as sound modes" in text for text in result.decisions)
    assert [trial.order for trial in result.trials if trial.chosen] == [result.order]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dalembert.identify.IdentificationWarning")
def test_a_weak_mode_of_a_structure_with_a_bolted_joint_is_found_under_a_multisine():
    """Order 8 is chosen by the trials and lacks the mode at 3.1 Hz, whose column stands from order 14."""
    record, hertz = bolted_structure()
    result = auto(record, "force")
    sound = result.frequencies_hz[result.places()]
    # the cubic spring moves the modes by some per cent
    assert all(np.isclose(sound, f, rtol=0.02).any() for f in hertz[[0, 1, 5]])
    assert not [f for f in result.findings if f.code == "column-not-in-model" and min(f.evidence["hertz"]) < 4.0]


@pytest.mark.slow
def test_without_inputs_modes_come_from_the_outputs_alone():
    run = measured(6000, noise=0.01).select("a1", "a2", "a3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        result = auto(run, outputs=["a1", "a2", "a3"])
    truth = frame().modes().frequencies_hz
    nearest = np.array([np.min(np.abs(result.frequencies_hz - f)) for f in truth])
    assert np.all(nearest < 0.01 * truth)
    assert result.fit.kind == "prediction"
    assert result.frf is None


def test_two_modes_of_one_shape_are_found():
    # sway at 3.0 and 3.02 Hz with one shape: what a spring that softens looks like to a linear model
    t = DT * np.arange(3000)
    rng = np.random.default_rng(5)
    push = rng.normal(size=3000)
    shape = np.array([0.4, 0.8, 1.0])
    one = [da.SecondOrder(1.0, (2 * np.pi * f) ** 2, C=0.4, B=[1.0], Y_position=[[1.0]]) for f in (3.0, 3.08)]
    sway = sum(
        s.state_space().to_discrete(DT).response(da.Record.from_channels(t, {"u1": push})).data[:, 0] for s in one
    )
    y = np.outer(sway, shape)
    y += 1e-3 * y.std() * rng.normal(size=y.shape)
    run = da.Record(t, np.column_stack([push, y]), ["push", "a1", "a2", "a3"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        result = auto(run, "push", order=4)
    assert "duplicate-modes" in codes(result)


def test_findings_on_the_data_are_warned_of_and_kept():
    run = measured(3000)
    values = run.data.copy()
    values[:, 1] = np.clip(values[:, 1], -0.5 * values[:, 1].std(), 0.5 * values[:, 1].std())
    clipped = da.Record(run.time, values, run.names, run.units)
    with warns(IdentificationWarning, "saturated-channel", "a1"):
        result = auto(clipped, "force")
    assert {"channel": "a1"} in [one.where for one in result.findings if one.code == "saturated-channel"]


def test_a_model_of_noise_is_warned_of():
    rng = np.random.default_rng(3)
    run = da.Record(DT * np.arange(2000), rng.normal(size=(2000, 2)), ["force", "a1"])
    with warns(IdentificationWarning, "poor-fit"):
        auto(run, "force")


def test_a_change_between_training_and_held_out_data_is_found():
    first, second = measured(4000), measured(2000, noise=2.0, seed=3)
    joined = da.Record(DT * np.arange(6000), np.vstack([first.data, second.data]), first.names, first.units)
    result = auto(joined, "force")
    assert "overfit" in codes(result)


@pytest.mark.parametrize("view", ["stabilization", "frf", "playback", "residuals", "shapes"])
def test_every_view_of_the_result_draws(found, view):
    assert da.plot(found, view=view).axes


def test_parts_of_the_result_draw_by_themselves(found):
    model = found.model_response()
    assert len(da.plot(found.frf, model, highest=8.0, axis="log").axes) == 4  # three outputs and their coherence
    assert da.plot(found.stabilization, highest=8.0).axes[0].get_xlim() == (0.0, 8.0)
    assert da.plot(found.residuals).axes


@pytest.fixture(scope="module")
def quiet():
    return auto(measured(1000, noise=0.01).select("a1", "a2"), order=4, refined=False)


def test_a_model_without_gain_is_drawn_by_its_free_motion(quiet):
    model = quiet.identified.replace(gain=None)
    figure = da.plot(replace(quiet, identified=model), view="playback")
    assert "simulated" in figure.get_suptitle()


def test_a_frequency_response_without_inputs_is_refused(quiet):
    with raises(da.errors.DataError, "empty", "inputs"):
        da.plot(quiet, view="frf")


def test_the_page_tells_modes_decisions_cross_validation_and_shows_six_pictures(found):
    pieces = identification_pieces(found)
    tables = [piece for piece in pieces if isinstance(piece, Table)]
    assert [piece.name for piece in pieces if isinstance(piece, Picture)] == [
        "frf", "stabilization", "shapes", "mac", "playback", "residuals",
    ]  # fmt: skip
    assert isinstance(pieces[1], Picture)  # on the first screen, after a paragraph
    assert {name: number for name, number, _ in tables[-2].rows}["states"] == str(found.order)
    shown, _, deviation = tables[0].rows[0][1].partition(" ± ")
    assert float(shown) == pytest.approx(found.frequencies_hz[0], abs=float(deviation))
    assert tables[-1].rows[-1] == ("mean", f"{found.training_fit.mean:.2f}", f"{found.fit.mean:.2f}")
    assert Listing(found.decisions) in pieces


def test_a_long_playback_shows_some_vibrations_from_near_where_they_are_strongest():
    t = np.arange(0.0, 60.0, 0.01)
    y = np.sin(2 * np.pi * 5.0 * t) * np.exp(-((t - 40.0) ** 2) / 50.0)
    run = da.Record(t, y[:, None], ["a1"], ["m/s^2"])
    figure = plot_playback(run, run)
    whole, near = figure.axes
    assert whole.get_xlim()[1] - whole.get_xlim()[0] > 60.0
    low, high = near.get_xlim()
    assert low < 40.0 < high and high - low == pytest.approx(2.0, rel=0.1)  # ten periods of 0.2 s
    assert len(plot_playback(run, run, start=38.0, stop=42.0).axes) == 1  # 20 can be seen one by one


@pytest.mark.slow
def test_the_report_is_one_file_with_its_pictures_inside(found, tmp_path):
    report(found, tmp_path / "report.html", title="A frame")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 6
    assert "<h1>A frame</h1>" in page
    assert "Steps and reasons" in page
    addresses = page.replace("http://www.w3.org/2000/svg", "")  # the name of a vocabulary, which no browser loads
    assert "http:" not in addresses and "https:" not in addresses


def test_a_report_is_made_of_automatic_results_only(tmp_path):
    with raises(da.errors.DataError, "wrong-type"):
        report(frame(), tmp_path / "report.html")


# ---- thresholds


BELOW_AND_ABOVE = pytest.mark.parametrize(("factor", "found"), [(0.99, False), (1.01, True)])


@pytest.mark.parametrize(("quiet", "found"), [(0.89, False), (0.91, True)])
def test_an_input_that_rests_most_of_the_time_is_a_series_of_impacts(quiet: float, found: bool) -> None:
    u = np.ones(1000)
    u[: int(1000 * quiet)] = 0.99 * 0.02
    assert preparation._is_impact(u) is found
    u[: int(1000 * quiet)] = 1.01 * 0.02
    assert not preparation._is_impact(u)


@BELOW_AND_ABOVE
def test_a_mean_far_beyond_its_error_is_an_offset(factor: float, found: bool) -> None:
    parts = np.tile([1.0, -1.0], 5)
    error = parts.std(ddof=1) / np.sqrt(len(parts))
    y = np.repeat(parts, 50) + np.tile([0.1, -0.1], 250) + factor * 5.0 * error
    data = read_data.quiet(da.Record(DT * np.arange(500), y[:, None], ["y"]))
    assert preparation._find_offsets(data) == (["y"] if found else [])


@pytest.mark.parametrize(("factor", "kept"), [(0.9, ("a",)), (1.1, ("a", "b"))])
def test_a_copy_of_an_output_is_left_out(factor: float, kept: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    a, own = np.linalg.qr(rng.normal(size=(500, 2)) - 0.0)[0].T
    a, own = a - a.mean(), own - own.mean()
    own -= a * (a @ own) / (a @ a)
    b = a / np.linalg.norm(a) + factor * 1e-7 * own / np.linalg.norm(own)
    data = read_data.quiet(da.Record(DT * np.arange(500), np.column_stack([a, 3.0 * b]), ["a", "b"]))
    assert preparation._leave_out_copies(data)[0] == kept


@pytest.mark.parametrize(("factor", "kept"), [(0.8, ("a",)), (1.2, ("v", "a"))])
def test_an_output_that_is_the_integral_of_another_is_left_out(factor: float, kept: tuple[str, ...]) -> None:
    a = np.random.default_rng(0).normal(size=(2001, 2))
    noise = factor * 0.05 * np.sqrt(0.5) * a[:, 1]  # means of two samples have half the power
    v = np.concatenate([[0.0], np.cumsum(0.5 * (a[1:, 0] + a[:-1, 0]) + noise[1:])])
    record = da.Record(DT * np.arange(2001), np.column_stack([v, a[:, 0]]), ["v", "a"], ["m/s", "m/s^2"])
    data = read_data.quiet(record)
    assert preparation._leave_out_copies(data)[0] == kept


def test_the_result_is_accepted_wherever_an_identified_model_is(found):
    run = measured(3000)
    assert np.allclose(identify.refine(found, run).frequencies_hz, found.frequencies_hz, rtol=1e-2)
    assert identify.intervals(found)[0].shape == (3, 2)
    assert identify.deviations(found, run).frequency_deviations_hz is not None
    fitted = identify.proportional_damping.quiet
    assert fitted(found).alpha == fitted(found.identified).alpha
    assert process(found).nx == found.order


def test_an_input_that_moves_in_one_record_only_is_legal():
    force = np.zeros(1500)
    force[10] = 50.0
    hits = [measured(1500, noise=0.01, force=force, seed=seed) for seed in (1, 2)]
    other = [da.Record(run.time, np.column_stack([run.data, np.zeros(1500)]), [*run.names, "second"]) for run in hits]
    third = measured(1500, noise=0.01, force=force, seed=3)
    last = da.Record(third.time, np.column_stack([np.zeros(1500), third.data[:, 1:], third.data[:, 0]]), other[0].names)
    result = auto([*other, last], ["force", "second"])
    assert last in result.training  # it has the only motion of its input
    assert np.allclose(result.sound_modes.frequencies_hz, frame().modes().frequencies_hz, rtol=1e-2)
