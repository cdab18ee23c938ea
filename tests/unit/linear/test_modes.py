"""Modes: sizes, participation, assurance, choice."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder
from tests.helpers.findings import raises

NAMES = ["a.x", "a.rz", "b.x", "b.rz"]


def system() -> SecondOrder:
    M = np.diag([2.0, 0.1, 3.0, 0.2])
    K = np.array([[50, 3, -20, 1], [3, 8, -1, -2], [-20, -1, 40, 2], [1, -2, 2, 9.0]])
    return SecondOrder(M, K, coordinates=NAMES)


@pytest.mark.spec("003-C10", "003-C12")
def test_every_size_of_the_shapes_keeps_the_frequencies():
    modes = system().modes()
    np.testing.assert_allclose(modes.modal_masses, 1.0, rtol=1e-13)
    np.testing.assert_allclose(modes.momenta, system().M @ modes.shapes, rtol=1e-13)
    for how, check in (
        ("largest", lambda phi: phi[np.argmax(np.abs(phi))]),
        ("unit", lambda phi: phi @ phi),
        ("mass", lambda phi: phi @ system().M @ phi),
        ("b.x", lambda phi: phi[2]),
    ):
        sized = modes.normalise(how)
        np.testing.assert_allclose([check(phi) for phi in sized.shapes.T], 1.0, rtol=1e-12)
        np.testing.assert_allclose(np.sqrt(sized.modal_stiffnesses / sized.modal_masses), modes.frequencies, rtol=1e-12)
        np.testing.assert_allclose(np.diag(sized.mac(modes)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(modes.normalise("unit").normalise("mass").shapes, modes.shapes, rtol=1e-12)


@pytest.mark.spec("003-C12")
def test_modal_forces_do_not_depend_on_the_size_of_the_shapes():
    f = np.array([1.0, 0, 2, 0])
    modes = system().modes()
    expected = modes.shapes.T @ f
    for how in ("largest", "unit", "a.x"):
        sized = modes.normalise(how)
        acceleration = sized.shapes * (sized.shapes.T @ f / sized.modal_masses)
        np.testing.assert_allclose(acceleration, modes.shapes * expected, rtol=1e-11)


def test_directions_are_endings_names_mappings_or_vectors():
    modes = system().modes()
    r = np.array([1.0, 0, 1, 0])
    by_ending = modes.participation(".x")
    np.testing.assert_allclose(by_ending, modes.shapes.T @ system().M @ r, rtol=1e-12)
    np.testing.assert_allclose(modes.participation({"a.x": 1, "b.x": 1}), by_ending)
    np.testing.assert_allclose(modes.participation(r), by_ending)
    assert modes.effective_masses(".x").sum() == pytest.approx(5.0, rel=1e-12)
    assert modes.effective_masses("a.x").sum() == pytest.approx(2.0, rel=1e-12)
    np.testing.assert_allclose(modes.normalise("unit").effective_masses(".x"), modes.effective_masses(".x"), rtol=1e-11)


def test_a_rigid_body_carries_the_whole_mass():
    modes = SecondOrder(np.diag([1.0, 2.0]), [[1, -1], [-1, 1]], coordinates=["p.x", "q.x"]).modes()
    np.testing.assert_allclose(modes.effective_masses(".x"), [3.0, 0.0], rtol=0, atol=1e-14)


def test_complex_modes_have_real_masses_and_shares():
    damped = system().replace(C=np.diag([0.5, 0, 0, 0])).modes()
    assert np.iscomplexobj(damped.shapes)
    np.testing.assert_allclose(damped.modal_masses, 1.0, rtol=1e-12)
    assert damped.effective_masses(".x").dtype == np.float64
    with raises(DataError, "no-motion"):
        Modes([1j], [[1.0], [0.0]], ["a", "b"]).normalise("b")


def test_modes_are_chosen_by_number():
    modes = system().modes()
    two = modes.select([3, 1])
    np.testing.assert_array_equal(two.frequencies, modes.frequencies[[2, 0]])
    np.testing.assert_array_equal(two.momenta, modes.momenta[:, [2, 0]])
    assert len(modes.select([])) == 0


BAD = [
    (lambda m: m.select([5]), "unknown-name", "mode 5"),
    (lambda m: m.select([0]), "unknown-name", "mode 0"),
    (lambda m: m.normalise("a.y"), "unknown-name", "'a.y'", "mass, largest, unit"),
    (lambda m: m.participation(".y"), "unknown-name", "'.y'"),
    (lambda m: m.participation({"c.x": 1.0}), "unknown-name", "'c.x'"),
    (lambda m: m.participation([1.0, 2.0]), "wrong-shape", "4", "(2,)"),
    (lambda m: m.energy_shares({"part": np.eye(3)}), "wrong-shape", "'part'"),
    (lambda m: Modes([1j], [[1.0]]).modal_masses, "missing-argument", "momenta"),
    (lambda m: Modes([1j], [[1.0]]).table(groups={"x": ".x"}), "missing-argument", "elastic forces"),
    (lambda m: Modes([1j], [[1.0]], momenta=[[1.0], [2.0]]), "wrong-shape", "momenta", "(2, 1)"),
]


@pytest.mark.parametrize("case", BAD, ids=[" ".join(case[1:]) for case in BAD])
def test_a_wrong_request_is_refused_with_the_known_names(case):
    ask, code, *shown = case
    with raises(DataError, code, *shown):
        ask(system().modes())


def test_what_rounding_leaves_of_a_rigid_body_is_no_oscillation():
    table = Modes([2.4e-7j, 30j], np.eye(2), ["a", "b"]).table().splitlines()
    assert table[1].split() == ["1", "0", "0", "0", "rigid", "body", "(0", "to", "rounding)"]
    assert table[2].endswith("oscillation")
    # slow beside a very fast one, but not slow: it keeps its name
    assert Modes([0.01j, 1e9j], np.eye(2), ["a", "b"]).table().splitlines()[1].endswith("  oscillation")


def test_rounding_in_a_matrix_is_printed_as_zero_and_small_matrices_are_not():
    assert "e-16" not in repr(SecondOrder(np.eye(2), [[2.0, -2.22e-16], [-2.22e-16, 3.0]]))
    assert "3e-16" in repr(SecondOrder([[2e-16, 0.0], [0.0, 3e-16]], np.eye(2)))


def left_over(system: SecondOrder) -> float:
    """Largest (λ² M + λ (C + G) + K + H + i K_loss) φ over the modes, relative to its terms."""
    modes = system.modes()
    loss = 1j * system.K_loss
    worst = 0.0
    for lam, phi in zip(modes.eigenvalues, modes.shapes.T, strict=True):
        terms = (lam**2 * system.M @ phi, lam * (system.C + system.G) @ phi, (system.K + system.H + loss) @ phi)
        worst = max(worst, float(np.abs(sum(terms)).max() / max(np.abs(term).max() for term in terms)))
    return worst


def test_shapes_of_an_undamped_rotor_whirl_with_their_eigenvalues():
    """G alone does not distinguish +G from -G by its eigenvalues; the phase of the shapes does."""
    G = np.array([[0.0, 3.0, 0.4], [-3.0, 0.0, -1.0], [-0.4, 1.0, 0.0]])
    assert left_over(SecondOrder(np.diag([1.0, 2.0, 1.5]), np.diag([5.0, 7.0, 11.0]), G=G)) < 1e-12


def test_hysteretic_modes_with_viscous_damping_solve_their_equation():
    """Uncoupled and coupled; λ = -d/2 + i √(k (1 + iη) - d²/4) of one mass, with d far from small."""
    K = np.array([[9.0, -3.0], [-3.0, 6.0]])
    lam = SecondOrder(1.0, 9.0, C=3.0, K_loss=0.9).modes().eigenvalues[0]
    assert lam == pytest.approx(-1.5 + 1j * np.sqrt(9.0 + 0.9j - 2.25), rel=1e-13)
    assert left_over(SecondOrder(np.eye(2), K, C=0.4 * K, K_loss=0.1 * K)) < 1e-12
    assert left_over(SecondOrder(np.eye(2), K, C=[[1.0, 0.2], [0.2, 0.3]], K_loss=0.1 * K)) < 1e-12


def motion(modes: Modes) -> str:
    """The name of the motion of the first mode."""
    return " ".join(modes.table().splitlines()[1].split()[4:])


@pytest.mark.parametrize(("share", "name"), [(0.5, "oscillation"), (2.0, "decaying oscillation")])
def test_a_mode_decays_from_its_limit_on(share, name):
    assert motion(Modes([complex(-share * 1e-12, 1.0)], [[1.0]], ["x"])) == name


@pytest.mark.parametrize(("share", "name"), [(0.5, "rigid body (0 to rounding)"), (2.0, "oscillation")])
def test_a_rigid_body_is_slow_absolutely_and_against_the_fastest_mode(share, name):
    assert motion(Modes([1j * share * 1e-5, 1e3j], np.eye(2))) == name
    assert motion(Modes([1e-6j, 1e-6j / (share * 6e-8)], np.eye(2))) == name


def test_measured_modes_carry_masses_and_deviations_through_selection_and_scaling():
    modes = Modes([1j, 2j], [[2.0, 1.0], [1.0, -4.0]], ["a", "b"], modal_masses=[4.0, 9.0],
                  frequency_deviations_hz=[0.1, 0.2], damping_deviations=[0.01, 0.02])  # fmt: skip
    second = modes.select([2])
    assert second.modal_masses.tolist() == [9.0] and second.frequency_deviations_hz.tolist() == [0.2]
    assert modes.normalise("mass").modal_masses.tolist() == [1.0, 1.0]
    assert modes.normalise("mass").shapes[0].tolist() == [1.0, 1.0 / 3.0]
    np.testing.assert_allclose(modes.normalise("largest").modal_masses, [1.0, 9.0 / 16.0])
    assert modes.has_masses and not Modes([1j], [[1.0]]).has_masses


def test_masses_and_deviations_must_be_positive_and_one_per_mode():
    for wrong in ([1.0, 2.0], [0.0], [np.nan], [-1.0]):
        with raises(DataError, "wrong-shape"):
            Modes([1j], [[1.0]], frequency_deviations_hz=wrong)
    with raises(DataError, "conflicting-arguments"):
        Modes([1j], [[1.0]], momenta=[[1.0]], modal_masses=[1.0])
    with raises(DataError, "unknown-name"):
        Modes([1j], [[1.0]]).replace(shape=1)
