"""Duhamel's integral: branches, names, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace, response
from dalembert.linear.responses.duhamel import (
    _apart,
    _critical,
    _phi1,
    _short,
    duhamel,
    impulse_function,
    kernels,
    release_function,
)
from tests.helpers.findings import raises


def pair(**more) -> SecondOrder:
    K = np.array([[3.0, -1.0], [-1.0, 2.0]])
    return SecondOrder(np.diag([1.0, 2.0]), K, **{"C": 0.05 * K, "B": [[1.0], [0.5]], **more})


# --- oscillator -------------------------------------------------------------------------------------------------------
@pytest.mark.spec("000-20")
def test_impulse_and_release_take_their_textbook_forms_in_every_branch():
    t = np.linspace(0.0, 6.0, 25)
    m, k = 2.0, 8.0
    w = np.sqrt(k / m)
    for xi in (0.0, 0.05, 0.9):
        wd = w * np.sqrt(1 - xi**2)
        decay = np.exp(-xi * w * t)
        h = decay * np.sin(wd * t) / (m * wd)
        g = decay * (np.cos(wd * t) + xi * w / wd * np.sin(wd * t))
        np.testing.assert_allclose(impulse_function(m, 2 * xi * w * m, k, t), h, rtol=0, atol=1e-15)
        np.testing.assert_allclose(release_function(m, 2 * xi * w * m, k, t), g, rtol=0, atol=4e-15)
    critical = 2 * w * m
    np.testing.assert_allclose(impulse_function(m, critical, k, t), t * np.exp(-w * t) / m, rtol=0, atol=1e-16)
    np.testing.assert_allclose(release_function(m, critical, k, t), (1 + w * t) * np.exp(-w * t), rtol=0, atol=1e-15)
    s1, s2 = -w * (3 - np.sqrt(8)), -w * (3 + np.sqrt(8))  # ξ = 3
    over = 6 * w * m
    np.testing.assert_allclose(
        impulse_function(m, over, k, t), (np.exp(s1 * t) - np.exp(s2 * t)) / (s1 - s2) / m, rtol=0, atol=1e-16
    )
    np.testing.assert_allclose(
        release_function(m, over, k, t), (s1 * np.exp(s2 * t) - s2 * np.exp(s1 * t)) / (s1 - s2), rtol=0, atol=2e-15
    )
    np.testing.assert_allclose(impulse_function(m, 0.0, 0.0, t), t / m, rtol=1e-15)  # ω = 0
    np.testing.assert_allclose(release_function(m, 0.0, 0.0, t), 1.0, rtol=1e-15)
    np.testing.assert_allclose(impulse_function(m, 3.0, 0.0, t), -np.expm1(-1.5 * t) / 3.0, rtol=1e-14)


def test_nothing_moves_before_the_impulse():
    assert impulse_function(1.0, 0.1, 1.0, -1.0) == 0.0
    assert release_function(1.0, 0.1, 1.0, -1.0) == 1.0


def test_passing_through_critical_damping_is_smooth():
    # near c = 2 (m = k = 1) h = e^{-at} (t + (a² - 1) t³/6), a = c/2, so ∂h/∂c = e^{-t} t² (t/3 - 1) / 2
    t, small = 2.0, 1e-5
    h = impulse_function(1.0, 2.0 + small * np.arange(-2, 3), 1.0, t)
    np.testing.assert_allclose(np.diff(h) / small, np.exp(-t) * t**2 * (t / 3 - 1) / 2, rtol=1e-4)


def test_an_oscillator_without_mass_is_refused():
    with raises(DataError, "out-of-range"):
        impulse_function(0.0, 1.0, 1.0, 1.0)
    with raises(DataError, "wrong-shape"):
        impulse_function("m", 1.0, 1.0, 1.0)


# --- duhamel ----------------------------------------------------------------------------------------------------------
@pytest.mark.spec("000-20")
@pytest.mark.parametrize("hold", ["zero", "first"])
def test_duhamel_reads_positions_velocities_accelerations_and_direct_terms(hold):
    system = pair(Y_position=[[1, 2]], Y_velocity=[[0.5, -1]], Y_acceleration=[[2, 0.3]], D=[[0.7]], units={"y1": "m"})
    t = np.linspace(0.0, 5.0, 60)
    u = {"u1": np.cos(3 * t) + 1.0}
    start = {"x1": 0.3, "x2.rate": -1.0}
    one = duhamel(system, u, times=t, start=start, hold=hold)
    two = response(system, u, times=t, start=start, hold=hold)
    np.testing.assert_allclose(one.data, two.data, rtol=0, atol=1e-12)
    assert one.names == ("y1",) and one.units == {"y1": "m"}
    assert one.provenance["method"] == "Duhamel's integral"


@pytest.mark.parametrize("ratio", [0.02, 1.0, 1.0 + 1e-7, 1.4])
@pytest.mark.parametrize("every", [0.01, 0.8])
def test_ramps_between_samples_are_exact_in_every_branch(ratio, every):
    """J₂ of short steps, of nearly equal roots and of roots apart, against the exponential of the state matrix."""
    system = SecondOrder(2.0, 18.0, C=2 * ratio * 6.0, B=[1.0], Y_position=[1.0], Y_velocity=[0.5])
    t = every * np.arange(12)
    u = {"u1": np.random.default_rng(3).normal(size=12)}
    one, two = duhamel(system, u, times=t, hold="first"), response(system, u, times=t, hold="first")
    np.testing.assert_allclose(one.data, two.data, rtol=0, atol=1e-13)


def test_duhamel_of_a_free_structure_moves_off_with_its_rigid_body_mode():
    free = SecondOrder(np.eye(2), [[1.0, -1.0], [-1.0, 1.0]], B=[1.0, 1.0])
    t = np.linspace(0.0, 4.0, 9)
    np.testing.assert_allclose(duhamel(free, {"u1": 3.0}, times=t)["x1"], 1.5 * t**2, rtol=0, atol=1e-13)


def test_repeated_frequencies_turn_until_they_uncouple_the_damping():
    C = np.array([[0.3, 0.2], [0.2, 0.3]])
    twin = SecondOrder(np.eye(2), 4.0 * np.eye(2), C=C, B=[1.0, 0.0])
    t = np.linspace(0.0, 4.0, 30)
    one, two = duhamel(twin, {"u1": np.sin}, times=t), response(twin, {"u1": np.sin}, times=t, hold="first")
    np.testing.assert_allclose(one.data, two.data, rtol=0, atol=1e-13)


def test_given_modes_alone_are_superposed_also_on_a_sparse_system():
    system = pair()
    modes = system.modes()
    t = np.linspace(0.0, 4.0, 30)
    every = duhamel(system.sparse(), {"u1": 1.0}, times=t, modes=modes)
    np.testing.assert_allclose(every.data, duhamel(system, {"u1": 1.0}, times=t).data, rtol=0, atol=1e-13)
    first = duhamel(system, {"u1": 1.0}, times=t, modes=Modes(modes.eigenvalues[:1], modes.shapes[:, :1]))
    ratio = first.data[1:, 1] / first.data[1:, 0]
    np.testing.assert_allclose(ratio, modes.shapes[1, 0] / modes.shapes[0, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": np.diag([1.0, 0.0])}, "coupled-modes"),
        ({"G": [[0, 1], [-1, 0]]}, "coupled-modes"),
        ({"H": [[0, 1], [-1, 0]]}, "coupled-modes"),
        ({"K_loss": np.eye(2)}, "coupled-modes"),
        ({"M": np.diag([1.0, 0.0])}, "not-positive-definite"),
    ],
)
def test_systems_whose_modes_do_not_uncouple_are_sent_to_response(change, words):
    with raises(DataError, words):
        duhamel(pair().replace(**change), {"u1": 1.0}, times=[0.0, 1.0])


def test_a_sparse_system_needs_modes_and_a_state_space_has_none():
    with raises(DataError, "missing-argument"):
        duhamel(pair().sparse(), {"u1": 1.0}, times=[0.0, 1.0])
    with raises(DataError, "wrong-type"):
        duhamel(StateSpace(-1.0, 1.0), {"u1": 1.0}, times=[0.0, 1.0])


def test_series_and_closed_forms_agree_where_one_takes_over_from_the_other() -> None:
    a = np.array([0.0, 0.2, 0.45, -0.1])
    w2 = np.array([0.25, 0.25, 0.25, 0.2])
    # a short step: both are exact to rounding; differences in the closed form of J₂ lose a factor of 1/t³
    for series, closed in zip(_short(a, w2, np.ones(4)), _apart(a, w2, np.ones(4)), strict=True):
        assert series == pytest.approx(closed, rel=1e-14)
    assert np.sqrt(w2.max()) == 0.5  # the radius of the series
    # nearly critical damping: |ω² - a²| t² at its limit, of either sign
    z = np.array([0.3**2, -(0.3**2)])
    a = np.array([1.0, 1.0])
    for series, closed in zip(_critical(a, a**2 + z, np.ones(2)), _apart(a, a**2 + z, np.ones(2)), strict=True):
        assert series == pytest.approx(closed, rel=1e-14)


def test_the_integral_of_an_exponential_is_exact_for_any_argument() -> None:
    """(eˣ - 1)/x = 1 + x/2 + x²/6 + ..., whose rest after these terms is below rounding up to 1e-6."""
    x = np.array([0.0, 1e-300, 1e-12, -1e-9, 1e-8j, -1e-7 + 1e-7j, 1e-6j])
    np.testing.assert_allclose(_phi1(x), 1.0 + x / 2.0 + x**2 / 6.0, rtol=1e-15, atol=0.0)


# ---- edges of thresholds


@pytest.mark.parametrize("t", [0.1, 0.45, 0.55, 4.0])
def test_kernels_keep_their_digits_on_both_sides_of_the_short_steps(t):
    # ∫∫ h of an undamped unit oscillator is t - sin t: of the closed form cancellation takes 1/t² of the digits, and
    # the 23 terms of the series are good to rounding below 0.5 (at 4 they leave 1e-12).
    J1 = kernels(np.zeros(1), np.ones(1), np.array([t]))[2][0]
    J2 = kernels(np.zeros(1), np.ones(1), np.array([t]))[3][0]
    exact1 = sum((-1) ** k * Fraction(t) ** (2 * k + 2) / math.factorial(2 * k + 2) for k in range(30))
    exact2 = sum((-1) ** k * Fraction(t) ** (2 * k + 3) / math.factorial(2 * k + 3) for k in range(30))
    np.testing.assert_allclose([J1, J2], [float(exact1), float(exact2)], rtol=4e-15)


@pytest.mark.parametrize("gap", [0.03, 0.25, 0.35, 2.5])
def test_kernels_keep_their_digits_on_both_sides_of_critical_damping(gap):
    # h = e^(-at) sin(wt)/w with w t = gap, a t = 3: the nine terms of the series are good to rounding below 0.3.
    t, a = 3.0, 1.0
    w = gap / t
    h = kernels(np.full(1, a), np.full(1, a * a + w * w), np.array([t]))[1][0]
    np.testing.assert_allclose(h, math.exp(-a * t) * math.sin(gap) / w, rtol=1e-14)
