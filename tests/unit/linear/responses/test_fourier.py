"""Fourier series and periodic responses: interpolants, names, refusals."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.responses.fourier import FourierSeries, fourier_series, periodic_response
from tests.helpers.findings import raises


def pair(**more) -> SecondOrder:
    K = np.array([[3.0, -1.0], [-1.0, 2.0]])
    return SecondOrder(np.diag([1.0, 2.0]), K, **{"C": 0.05 * K, "B": [[1.0], [0.5]], **more})


# --- Fourier ----------------------------------------------------------------------------------------------------------
@pytest.mark.spec("000-21")
def test_held_and_linear_samples_have_the_coefficients_of_their_interpolants():
    T, n = 2.0, np.arange(1, 30)
    square = fourier_series([1.0, -1.0], T, 29, hold="zero")
    np.testing.assert_allclose(square.sines[1:], np.where(n % 2, 4.0 / (np.pi * n), 0.0), rtol=0, atol=1e-15)
    triangle = fourier_series([0.0, 1.0, 0.0, -1.0], T, 29)
    sign = np.where(n % 4 == 1, 1.0, -1.0)
    np.testing.assert_allclose(
        triangle.sines[1:], np.where(n % 2, sign * 8 / (np.pi * n) ** 2, 0.0), rtol=0, atol=1e-15
    )


def test_a_series_returns_a_trigonometric_polynomial_exactly():
    T = 0.7
    w = 2 * np.pi / T

    def signal(t):
        return 0.3 - 2.0 * np.cos(w * t) + 0.5 * np.sin(3 * w * t)

    series = fourier_series(signal, T, 5)
    assert series.mean == pytest.approx(0.3, abs=1e-14)
    np.testing.assert_allclose(series.cosines, [0.6, -2, 0, 0, 0, 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(series.sines, [0, 0, 0, 0.5, 0, 0], rtol=0, atol=1e-14)
    t = np.linspace(-1.0, 2.0, 17)
    np.testing.assert_allclose(series(t), signal(t), rtol=0, atol=1e-13)
    assert "FourierSeries: period 0.7 s, 5 harmonics" in repr(series)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fourier_series([1.0], 0.0, 3), "not-positive"),
        (lambda: fourier_series([1.0], 1.0, -1), "not-a-count"),
        (lambda: fourier_series([np.nan], 1.0, 1), "not-finite"),
        (lambda: fourier_series(np.sin, 1.0, 1, breaks=[2.0]), "out-of-range"),
        (lambda: fourier_series(lambda t: t / 0.0 if t.ndim == 0 else t * np.nan, 1.0, 1), "not-finite"),
        (lambda: periodic_response(pair(), {"u1": 0.0}, 1.0), "no-motion"),
        (lambda: periodic_response(pair(), {"u2": 1.0}, 1.0), "unknown-name"),
        (lambda: periodic_response(pair(), {"u1": FourierSeries(2.0, [1.0])}, 1.0), "sample-time-mismatch"),
        (lambda: periodic_response(pair(), {"u1": 1.0}, 1.0, modes=3), "not-a-count"),
        (lambda: periodic_response(StateSpace(0.5, 1.0, dt=0.1), {"u1": 1.0}, 1.0), "sample-time-mismatch"),
    ],
)
def test_what_is_not_periodic_is_refused(call, words):
    with raises(DataError, words):
        call()


@pytest.mark.spec("003-C22")
def test_a_zero_mean_load_moves_a_free_structure_about_where_it_is():
    free = SecondOrder(np.eye(2), [[1.0, -1.0], [-1.0, 1.0]], C=0.01 * np.eye(2), B=[1.0, 0.0])
    steady = periodic_response(free, {"u1": np.sin}, 2 * np.pi, harmonics=3)
    assert steady["x1"][0] == 0.0
    with raises(DataError, "resonance"):
        periodic_response(free, {"u1": lambda t: 1.0 + np.sin(t)}, 2 * np.pi)


@pytest.mark.spec("003-C66")
def test_hysteretic_damping_has_a_periodic_response_with_a_real_mean():
    system = SecondOrder(1.0, 10.0, K_loss=1.0, B=[1.0], coordinates="x", inputs="f")
    steady = periodic_response(system, {"f": FourierSeries(2 * np.pi, [5.0, 1.0])}, 2 * np.pi, harmonics=1)
    np.testing.assert_allclose(steady["x"], [0.5, 1.0 / (9.0 + 1.0j)], rtol=1e-14)


def test_a_periodic_response_prints_its_harmonics_and_knows_its_outputs():
    steady = periodic_response(pair(), {"u1": [1.0, -1.0]}, 5.0, harmonics=3, hold="zero")
    assert "PeriodicResponse: period 5 s, 3 harmonics" in repr(steady)
    with raises(DataError, "unknown-name", "'x9'"):
        steady["x9"]


@pytest.mark.parametrize(("factor", "rows"), [(0.9, 1), (1.1, 2)])
def test_a_harmonic_of_the_size_of_rounding_is_not_shown(factor: float, rows: int) -> None:
    series = FourierSeries(1.0, [0.0, 2.0, 2.0 * factor * 1e-14])
    assert len(series.table().splitlines()) == 1 + rows


@pytest.mark.parametrize(("off", "refused"), [(0.5e-12, False), (2e-12, True)])
def test_a_series_has_the_period_of_the_response_up_to_rounding(off: float, refused: bool) -> None:
    system, load = SecondOrder(1.0, 4.0, C=0.1, B=1.0, inputs="f"), FourierSeries(1.0 + off, [0.0, 1.0])
    if refused:
        with raises(DataError, "sample-time-mismatch", "'f'"):
            periodic_response(system, {"f": load}, 1.0)
    else:
        periodic_response(system, {"f": load}, 1.0)


# ---- edges of thresholds


@pytest.mark.parametrize(("size", "driven"), [(3e-15, False), (3e-14, True)])
def test_a_harmonic_below_1e_14_of_the_largest_is_rounding(size, driven):
    series = FourierSeries(1.0, [0.0, 1.0, size])
    assert (len(series.table().splitlines()) == 3) == driven
    found = periodic_response(pair(inputs="f"), {"f": series}, 1.0, harmonics=2)
    assert found.amplitudes[2].any() == driven


@pytest.mark.parametrize(("excess", "refused"), [(3e-13, False), (3e-12, True)])
def test_periods_that_differ_by_more_than_1e_12_are_refused(excess, refused):
    series = FourierSeries(1.0 + excess, [0.0, 1.0])
    with raises(DataError, "sample-time-mismatch") if refused else nullcontext():
        periodic_response(pair(inputs="f"), {"f": series}, 1.0, harmonics=1)


def test_panels_of_16_points_integrate_a_wave_each_to_rounding():
    # The highest harmonic has one wave per panel; 12 points leave 1e-9, 16 points 1e-15 of it.
    series = fourier_series(lambda t: np.cos(2 * np.pi * 40 * t), 1.0, 40)
    np.testing.assert_allclose(series.cosines[40], 1.0, rtol=0, atol=2e-14)
