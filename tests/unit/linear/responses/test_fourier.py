"""Fourier series and periodic responses: interpolants, names, refusals."""

from __future__ import annotations

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


# ---- edges of thresholds


def test_panels_of_16_points_integrate_a_wave_each_to_rounding():
    # The highest harmonic has one wave per panel; 12 points leave 1e-9, 16 points 1e-15 of it.
    series = fourier_series(lambda t: np.cos(2 * np.pi * 40 * t), 1.0, 40)
    np.testing.assert_allclose(series.cosines[40], 1.0, rtol=0, atol=2e-14)
