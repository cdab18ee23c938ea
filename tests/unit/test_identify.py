"""What someone meets who has nothing but a file: offsets, wrong methods, units, real poles, poor orders."""

import warnings
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import (
    IdentificationWarning,
    correlation_decays,
    cva,
    delay,
    era,
    free_decays,
    ibrahim,
    moesp,
    n4sid,
    next_era,
    observer_gain_from_markov,
    physical,
    proportional_damping,
    shift,
    ssi_cov,
    stabilization,
)
from dalembert.linear import SecondOrder
from dalembert.record import Record
from tests.helpers.findings import raises, warns

DT = 0.01
UNITS = {"u": "N", "a": "m/s^2", "b": "m/s^2"}


def frame() -> SecondOrder:
    return SecondOrder(
        np.eye(2), [[6000.0, -2000.0], [-2000.0, 2000.0]], C=[[1.2, -0.4], [-0.4, 0.4]], B=[1.0, 0.0],
        Y_acceleration=np.eye(2), inputs="u", outputs=["a", "b"],
    )  # fmt: skip


def driven(count: int = 1500, *, noise: float = 0.02, units: dict[str, str] | None = None, seed: int = 0) -> Record:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(count)
    system = frame().state_space().to_discrete(DT)
    x, y = np.zeros(4), np.empty((count, 2))
    for k in range(count):
        y[k] = system.C @ x + system.D[:, 0] * u[k]
        x = system.A @ x + system.B[:, 0] * u[k]
    y += noise * y.std(axis=0) * rng.standard_normal(y.shape)
    return Record.from_channels(DT * np.arange(count), {"u": u, "a": y[:, 0], "b": y[:, 1]}, units or UNITS)


def lags(count: int = 1000) -> Record:
    """Two first-order lags with time constants 0.5 s and 0.05 s."""
    u = np.random.default_rng(1).standard_normal(count)
    x, y = np.zeros(2), np.empty(count)
    poles = np.exp([-DT / 0.5, -DT / 0.05])
    for k in range(count):
        y[k] = x.sum()
        x = poles * x + (1.0 - poles) * u[k]
    return Record.from_channels(DT * np.arange(count), {"u": u, "y": y})


def test_a_standing_offset_of_an_output_is_warned_of_when_the_inputs_have_none() -> None:
    test = driven()
    shifted = Record.from_channels(test.time, {"u": test["u"], "a": test["a"] + 2.0 * test["a"].std(), "b": test["b"]})
    with pytest.warns(IdentificationWarning) as caught:
        found = moesp(shifted, "u", order=4)
    assert {one.message.code for one in caught} == {"unexplained-offset", "poor-simulation"}
    assert [one.message.finding for one in caught] == list(found.findings)
    assert "detrend='mean'" in str(caught[0].message)
    assert moesp(shifted, "u", order=4, detrend="mean").frequencies_hz == pytest.approx(
        frame().modes().frequencies_hz, rel=2e-3
    )


def test_an_offset_that_a_step_of_the_input_explains_is_not_warned_of() -> None:
    k = np.arange(600)
    u = np.where(k < 5, 0.0, 1.0)
    y = np.where(k < 6, 0.0, 1.0 - np.exp(-(k - 5) * 0.1))
    step = Record.from_channels(DT * k, {"u": u, "y": y})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moesp(step, "u", order=1)


def test_a_model_without_oscillating_modes_shows_its_decays() -> None:
    fit = moesp(lags(), "u", order=2)
    table = fit.modal_table()
    assert "no oscillating modes" in table
    assert "time constants [s] of decays: 0.5, 0.05" in table


def test_decays_are_told_beside_the_modes() -> None:
    fit = moesp(driven(), "u", order=5)
    assert len(fit.frequencies_hz) == 2
    assert "time constant" in fit.modal_table() or "alternates" in fit.modal_table()
    assert "time constant" not in moesp(driven(), "u", order=4).modal_table()


@pytest.mark.parametrize("method", [moesp, n4sid, cva])
def test_an_order_lower_than_the_data_ask_for_is_noted(method: Any) -> None:
    notes = method(driven(), "u", order=2).notes
    assert any("order 2 as given; the singular values fall most" in note for note in notes)
    assert "order 4 as given" in method(driven(), "u", order=4).notes


def test_an_unstable_model_without_inputs_is_told() -> None:
    k = np.arange(400)
    growing = Record.from_channels(DT * k, {"y": 1.002**k * np.cos(0.3 * k)})
    assert any("the model is unstable" in note for note in ssi_cov(growing, order=2).notes)
    with pytest.warns(IdentificationWarning) as told:
        ibrahim(growing, order=2)
    assert any("unstable" in str(each.message) for each in told)


def test_a_record_that_does_not_decay_is_not_taken_for_a_free_decay_in_silence() -> None:
    with warns(IdentificationWarning, "no-free-decay", "ssi"):
        free_decays(driven(), ["a", "b"])


def test_a_guessed_order_is_not_called_a_clear_gap() -> None:
    rng = np.random.default_rng(0)
    with warns(IdentificationWarning, "unclear-order"):
        fit = era(0.9 ** np.arange(60) * rng.standard_normal(60), dt=DT)
    assert not any("last clear gap" in note for note in fit.notes)
    assert any("is uncertain" in note for note in fit.notes)


def test_proportional_damping_takes_an_identified_model_or_modes() -> None:
    fit = moesp(driven(noise=0.0), "u", order=4)
    fit = fit.replace(system=frame().replace(C=0.3 * np.eye(2) + 1e-4 * frame().K).state_space().to_discrete(DT))
    law = proportional_damping(fit)
    same = proportional_damping(2.0 * np.pi * fit.frequencies_hz, fit.damping_ratios)
    assert (law.alpha, law.beta) == pytest.approx((same.alpha, same.beta))
    assert (law.alpha, law.beta) == pytest.approx((0.3, 1e-4))
    law = proportional_damping(frame().replace(C=0.2 * np.eye(2) + 1e-4 * frame().K).modes())
    assert (law.alpha, law.beta) == pytest.approx((0.2, 1e-4))


@pytest.mark.parametrize("given", [("fast", [0.1, 0.2]), ([1.0, 2.0], None), ([1.0, 2.0], "light")])
def test_proportional_damping_of_no_numbers_is_refused(given: Any) -> None:
    with pytest.raises(DataError):
        proportional_damping(*given)


def test_masses_from_forces_in_kilonewtons_are_announced() -> None:
    fit = moesp(driven(units={**UNITS, "u": "kN"}), "u", order=4)
    with warns(IdentificationWarning, "not-si-units", "kN/(m/s^2)"):
        physical(fit)


def test_masses_from_a_ground_acceleration_are_refused() -> None:
    fit = moesp(driven(units={**UNITS, "u": "m/s^2"}), "u", order=4)
    with raises(DataError, "no-force", "'u'", "acceleration"):
        physical(fit)


def test_a_delay_between_channels_asks_for_signals_not_for_a_record() -> None:
    with raises(DataError, "wrong-type", "signals"):
        delay(driven(), "a", "b")  # type: ignore[arg-type]


def test_next_era_says_when_its_model_is_unstable() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit = next_era(driven(300, noise=0.5), ["a", "b"], order=8)
    unstable = np.abs(np.linalg.eigvals(fit.system.A)).max() > 1.0 + 1e-9
    assert unstable == any("unstable" in str(w.message) for w in told)


def test_next_era_keeps_to_the_lags_that_stand_out_of_their_scatter() -> None:
    """With all the lags of a tenth of the record the first mode of this one is lost."""
    fit = next_era(driven(3000), ["a", "b"], order=4)
    assert fit.frequencies_hz == pytest.approx(frame().modes().frequencies_hz, rel=0.02)
    long = driven(3000, noise=0.0)
    assert len(correlation_decays(long, ["a", "b"]).values) < 300
    assert len(correlation_decays(long, ["a", "b"], lags=300).values) == 300


@pytest.mark.parametrize(
    "call",
    [
        lambda r: moesp(r, "u", order=4, rows="many"),
        lambda r: moesp(r, "u", order=4, delays={"u": "late"}),
        lambda r: moesp(r, "u", order=4, delays=["u"]),
        lambda r: moesp(r, "u", order=4).predict(r, "far"),
        lambda r: moesp(r, "u", order=4).fit(None),
        lambda r: moesp(r, "u", order=4).residuals(r, lags=-1),
        lambda r: era(np.ones(9), dt="fast"),
        lambda r: free_decays(r, ["a", "b"], start="late"),
        lambda r: stabilization(r, "u", orders=20),
        lambda r: stabilization(r, "u", orders="abc"),
        lambda r: stabilization(r, "u", tolerances=0.1),
        lambda r: shift(r, "a"),
        lambda r: observer_gain_from_markov(moesp(r, "u", order=4), r),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_in_plain_words(call: Any) -> None:
    with pytest.raises(DataError):
        call(driven(400))


def test_matrices_from_modes_that_noise_has_mixed_are_warned_of() -> None:
    """Two equal oscillators side by side; the mass of the second may come out eight times too large."""
    twins = SecondOrder(
        np.eye(2), np.diag([1000.0, 1000.02]), C=np.diag([1.2, 1.2]), B=np.eye(2), Y_acceleration=np.eye(2),
        inputs=["fx", "fy"], outputs=["ax", "ay"],
    )  # fmt: skip
    with warns(IdentificationWarning, "close-modes"):
        physical(twins.state_space().to_discrete(DT), kind="acceleration", colocated=[("ax", "fx"), ("ay", "fy")])


def test_uncoupled_coordinates_have_their_matrices() -> None:
    apart = SecondOrder(
        np.diag([1.0, 2.0]), np.diag([1000.0, 5000.0]), C=np.diag([1.2, 2.0]), B=np.eye(2), Y_acceleration=np.eye(2),
        inputs=["fx", "fy"], outputs=["ax", "ay"],
    )  # fmt: skip
    sampled = apart.state_space().to_discrete(DT)
    found = physical(sampled, kind="acceleration", colocated=[("ax", "fx"), ("ay", "fy")])
    np.testing.assert_allclose(found.M, apart.M, atol=1e-9)
    np.testing.assert_allclose(found.K, apart.K, atol=1e-6)


def test_a_model_that_leaves_most_of_an_output_unexplained_says_so():
    rng = np.random.default_rng(5)
    u, noise = rng.standard_normal((2, 4000))
    heard = Record.from_channels(np.arange(4000) * 0.01, {"u": u, "y": np.convolve(u, [0.2, 0.1])[:4000] + noise})
    with warns(IdentificationWarning, "poor-simulation", " 9"):
        moesp(heard, "u", "y", order=2)
    clean = Record.from_channels(heard.time, {"u": u, "y": np.convolve(u, [0.2, 0.1])[:4000] + 0.01 * noise})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moesp(clean, "u", "y", order=2)
