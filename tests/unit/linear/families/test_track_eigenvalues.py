"""Tracked eigenvalues followed, stability boundaries, critical speeds, root loci, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace, campbell, root_locus, track_eigenvalues
from dalembert.linear.families.tracking import jumps
from tests.helpers.checks import matched
from tests.helpers.findings import raises


def circulatory(epsilon: float):
    return lambda alpha: SecondOrder.from_full(np.eye(2), None, [[1 - alpha, epsilon], [-epsilon, 1 + alpha]])


def springs(epsilon: float):
    return lambda alpha: SecondOrder(np.eye(2), [[1 - alpha, epsilon], [epsilon, 1 + alpha]])


# --- following --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C20")
@pytest.mark.parametrize("epsilon", [0.3, 0.02, 1e-3])
def test_branches_veer_and_do_not_jump_where_springs_couple(epsilon):
    alpha = np.linspace(-0.6, 0.6, 22)
    found = track_eigenvalues(springs(epsilon), alpha)
    assert found.eigenvalues.shape == (22, 2)
    expected = np.sqrt(1 + np.outer(np.hypot(alpha, epsilon), [-1, 1]))
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-12)
    assert found.crossings == () and found.stable.all()


def test_branches_cross_where_nothing_couples_them():
    alpha = np.linspace(-0.6, 0.6, 22)
    found = track_eigenvalues(springs(0.0), alpha)
    np.testing.assert_allclose(found.frequencies, np.sqrt(1 + np.outer(alpha, [1, -1])), rtol=1e-12)


def test_many_branches_that_cross_at_once_keep_their_shapes():
    rates = np.array([3.0, -2.0, 1.0, 0.5, -1.0])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]

    def build(p):
        return SecondOrder(np.eye(5), turn @ np.diag(10.0 + np.arange(5) + rates * p) @ turn.T)

    p = np.linspace(-2.0, 2.0, 15)
    found = track_eigenvalues(build, p)
    expected = np.sqrt(10.0 + np.arange(5) + np.outer(p, rates))
    order = np.argsort(expected[0])
    np.testing.assert_allclose(found.frequencies, expected[:, order], rtol=1e-10)


@pytest.mark.spec("003-C20")
def test_circulatory_coupling_has_the_closed_form_on_both_sides_of_the_merge():
    epsilon = 0.3
    found = track_eigenvalues(circulatory(epsilon), np.array([-1.0, -0.8, -0.5, -0.2, 0.0]))
    w = np.sort(found.frequencies, axis=1)
    np.testing.assert_allclose(w[0][-2:], [0.21462, 1.39783], rtol=0, atol=0.5e-5)  # spec 003, E2
    np.testing.assert_allclose(w[1][-2:], [0.50831, 1.31970], rtol=0, atol=0.5e-5)
    np.testing.assert_allclose(w[2][-2:], [0.77460, 1.18322], rtol=0, atol=0.5e-5)
    for row, (sigma, omega) in ((3, (0.11112, 1.00615)), (4, (0.14838, 1.01095))):
        s = found.eigenvalues[row]
        assert s.real.max() == pytest.approx(sigma, abs=0.5e-5)
        assert np.abs(s.imag).max() == pytest.approx(omega, abs=0.5e-5)


# --- boundaries -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("003-C20")
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.5])
def test_flutter_of_circulatory_coupling_begins_and_ends_at_alpha_equal_epsilon(epsilon):
    found = track_eigenvalues(circulatory(epsilon), np.linspace(-0.8, 0.8, 17), parameter="alpha")
    assert [crossing.becomes for crossing in found.crossings] == ["unstable", "stable"]
    assert all(crossing.motion == "flutter" for crossing in found.crossings)
    # τ = 1e-7 puts the boundary off by 2 τ²/ε; eigenvalues near a double one are good to √ε_machine, its square here
    np.testing.assert_allclose(
        [crossing.value for crossing in found.crossings], [-epsilon, epsilon], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose([crossing.eigenvalue.imag for crossing in found.crossings], 1.0, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.stable, np.abs(found.values) >= epsilon - 1e-12)


def bicycle(v: float) -> SecondOrder:
    """Carvallo-Whipple bicycle, benchmark values of Meijaard et al. (2007): lean and steer."""
    M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    return SecondOrder.from_full(M, v * C1, 9.81 * K0 + v**2 * K2, coordinates=["lean", "steer"])


@pytest.mark.spec("003-C20")
def test_the_bicycle_has_its_published_weave_and_capsize_speeds():
    found = track_eigenvalues(bicycle, np.linspace(0.0, 10.0, 21), parameter="speed", unit="m/s")
    weave, capsize = found.crossings
    assert (weave.becomes, weave.motion) == ("stable", "flutter")
    assert (capsize.becomes, capsize.motion) == ("unstable", "divergence")
    assert weave.value == pytest.approx(4.29238253634111, abs=1e-9)
    assert capsize.value == pytest.approx(6.02426201538837, abs=1e-9)
    published = [-14.0783896927982, -0.775341882195845 - 4.46486771378823j, -0.775341882195845 + 4.46486771378823j,
                 -0.32286642900409]  # fmt: skip
    np.testing.assert_allclose(matched(found.eigenvalues[10], published), published, rtol=0, atol=1e-9)
    assert found.stable.tolist() == [4.29 < v < 6.03 for v in found.values]


def test_the_branches_of_the_bicycle_are_smooth_where_they_do_not_meet():
    found = track_eigenvalues(bicycle, np.linspace(1.0, 10.0, 91))
    steps = np.abs(np.diff(found.eigenvalues, axis=0)).max(axis=0)
    assert (steps < 0.5).all()  # castering, the fastest, moves 0.3 per 0.1 m/s


def test_a_boundary_that_falls_on_a_value_of_the_parameter_is_found_once():
    found = track_eigenvalues(lambda c: SecondOrder(1.0, 4.0, C=c), np.linspace(-1.0, 1.0, 5))
    assert len(found.crossings) == 1
    assert found.crossings[0].value == pytest.approx(0.0, abs=1e-12)
    assert found.crossings[0].eigenvalue == pytest.approx(2.0j, abs=1e-9)


def test_rigid_body_modes_are_not_taken_for_boundaries():
    def build(k):
        return SecondOrder(np.eye(2), k * np.array([[1.0, -1.0], [-1.0, 1.0]]), C=0.1 * np.array([[1, -1], [-1, 1]]))

    assert track_eigenvalues(build, np.linspace(1.0, 50.0, 30)).crossings == ()


def test_divergence_begins_where_the_stiffness_vanishes():
    found = track_eigenvalues(
        lambda p: SecondOrder(np.eye(2), np.diag([1.0 - p, 9.0]), C=0.1 * np.eye(2)), [0.0, 0.7, 1.7]
    )
    (only,) = found.crossings
    assert (only.becomes, only.motion) == ("unstable", "divergence")
    assert only.value == pytest.approx(1.0, abs=1e-9)


def test_a_sampled_system_is_judged_by_the_unit_circle():
    found = track_eigenvalues(lambda a: StateSpace(a, dt=0.1), [0.5, 0.9, 1.3])
    (only,) = found.crossings
    assert only.value == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(found.growth_rates[:, 0], np.log([0.5, 0.9, 1.3]) / 0.1, rtol=1e-13)


# --- critical speeds --------------------------------------------------------------------------------------------------


def rotor(speed: float) -> SecondOrder:
    """Spec 003, R2: ω⁴ - (13 + Ω²) ω² + 36 = 0."""
    return SecondOrder(np.eye(2), np.diag([4.0, 9.0]), G=[[0, speed], [-speed, 0]])


@pytest.mark.spec("003-C19")
def test_campbell_finds_every_meeting_of_a_frequency_with_a_multiple_of_the_speed():
    found = campbell(rotor, np.linspace(0.0, 5.0, 26), orders=(1.0, 2.0))
    root = np.sqrt(52.0**2 - 48.0 * 36.0)
    # ω = Ω: 13 Ω² = 36;  ω = 2Ω: 12 Ω⁴ - 52 Ω² + 36 = 0
    expected = [np.sqrt(36 / 13), np.sqrt((52 - root) / 24), np.sqrt((52 + root) / 24)]
    np.testing.assert_allclose([one.speed for one in found.critical_speeds], expected, rtol=1e-12)
    assert [one.order for one in found.critical_speeds] == [1.0, 2.0, 2.0]
    for one in found.critical_speeds:
        assert one.eigenvalue.imag == pytest.approx(one.order * one.speed, rel=1e-11)
    np.testing.assert_allclose(found.frequencies[5], [1.842403, 3.256617], rtol=0, atol=0.5e-6)  # Ω = 1
    np.testing.assert_allclose(found.frequencies[25], [0.986024, 6.085044], rtol=0, atol=0.5e-6)  # Ω = 5
    assert found.unit == "rad/s" and "critical speed, order 2" in repr(found)


# --- root locus -------------------------------------------------------------------------------------------------------


def test_the_root_locus_of_a_third_order_plant_crosses_at_routh_s_gain():
    plant = StateSpace([[-1, 1, 0], [0, -2, 1], [0, 0, -3]], [0, 0, 1], [1, 0, 0], inputs="u", outputs="y")
    found = root_locus(plant, np.linspace(0.0, 100.0, 21), input="u", output="y")
    (only,) = found.crossings
    assert only.value == pytest.approx(60.0, rel=1e-9)
    assert only.eigenvalue.imag == pytest.approx(np.sqrt(11.0), rel=1e-7)
    np.testing.assert_allclose(np.sort(found.eigenvalues[0].real), [-3, -2, -1], rtol=0, atol=1e-12)


def test_two_real_branches_that_meet_and_leave_the_axis_are_followed_through():
    # s² + 2 s + k: -1 ± √(1 - k)
    mass = SecondOrder(1.0, 0.0, C=2.0, B=[1.0], coordinates="x", inputs="f")
    gains = np.linspace(0.25, 4.0, 16)
    found = root_locus(mass, gains)
    for s, root in zip(found.eigenvalues, np.emath.sqrt(1 - gains + 0j), strict=True):
        expected = np.array([-1 + root, -1 - root])
        np.testing.assert_allclose(matched(s, expected), expected, rtol=0, atol=1e-7)  # k = 1 is a double root


def test_a_direct_term_that_closes_the_loop_on_itself_is_refused():
    with raises(DataError, "algebraic-loop"):
        root_locus(StateSpace(-1.0, 1.0, 1.0, -1.0), [0.0, 1.0])


# --- refusals and looks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_values_that_do_not_increase_are_refused(values):
    with raises(DataError, "not-increasing"):
        track_eigenvalues(rotor, values)


def test_builders_that_change_their_mind_are_refused():
    with raises(DataError, "wrong-shape"):
        track_eigenvalues(lambda p: SecondOrder(np.eye(1 + int(p)), np.eye(1 + int(p))), [0.0, 1.0])
    with raises(DataError, "wrong-type"):
        track_eigenvalues(lambda p: p, [0.0, 1.0], parameter="speed")


def test_long_work_reports_how_far_it_is():
    shares = []
    track_eigenvalues(rotor, [0.0, 1.0, 2.0], progress=shares.append)
    assert shares == pytest.approx([2 / 3, 1.0])


def test_the_result_is_frozen_and_prints_values_frequencies_and_boundaries():
    found = track_eigenvalues(circulatory(0.3), np.linspace(-0.8, 0.8, 5), parameter="alpha")
    with pytest.raises(AttributeError):
        found.unit = "m"
    assert "alpha = -0.3" in repr(found) and "becomes unstable (flutter at 0.15915 Hz)" in repr(found)
    assert found.damping_ratios.shape == found.frequencies_hz.shape == found.eigenvalues.shape


# ---- edges of thresholds


def final_bracket(places: list[float], root: float) -> float:
    """Distance of the nearest places on the two sides of a root."""
    return min(x for x in places if x > root) - max(x for x in places if x <= root)


def test_a_crossing_near_zero_is_found_to_a_thousandth_of_the_precision_of_the_interval():
    places = []

    def gaps(value):
        places.append(value)
        return np.array([1.0 if value > 1e-13 else -1.0])

    jumps(gaps, -1.0, 1.0, 1e-6)
    assert 0.25e-9 < final_bracket(places, 1e-13) <= 1e-9  # halved intervals end between half of it and the whole


def test_a_crossing_is_found_to_the_last_digits_of_a_double():
    places = []

    def build(value):
        places.append(value)
        return StateSpace([[1.0 if value > 1.0 / 3.0 else -1.0]], [[1.0]], [[1.0]])

    (found,) = track_eigenvalues(build, [0.1, 1.0]).crossings
    assert found.value == pytest.approx(1.0 / 3.0, rel=2e-15, abs=0.0)
    assert 1e-16 < final_bracket(places, 1.0 / 3.0) <= 2e-15 / 3.0
