"""Modal coordinates, truncation with static correction, modal damping."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.linear.responses.modal import (
    energy_damping,
    equivalent_viscous,
    modal,
    modal_damping,
    rayleigh_coefficients,
)
from dalembert.linear.responses.superposition import _span
from tests.helpers.findings import raises

SPIN = np.array([[0, 1.0, 0], [-1, 0, 0], [0, 0, 0]])


def chain(n: int, k: float = 1.0, *, ends: bool = True) -> np.ndarray:
    K = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    if not ends:
        K[0, 0] = K[-1, -1] = k
    return K


def transfer(system: SecondOrder, s: complex) -> np.ndarray:
    read = system.Y_position + s * system.Y_velocity + s**2 * system.Y_acceleration
    stiffness = s**2 * system.M + s * system.C_full + system.K_full
    return read @ np.linalg.solve(stiffness, system.B) + system.D


@pytest.mark.spec("003-C11", "000-19")
@pytest.mark.parametrize("sparse", [False, True])
def test_all_modes_uncouple_and_keep_the_transfer_function(sparse):
    M, K = np.diag([1.0, 2, 3]), chain(3, 5.0)
    system = SecondOrder(M, K, C=0.1 * M + 0.02 * K, B=[1, 0, 0], Y_position=[[0, 0, 1]], Y_acceleration=[[0, 1, 0]])
    form = (system.sparse() if sparse else system).modal()
    assert form.coordinates == ("mode1", "mode2", "mode3")
    omega = system.modes().frequencies
    np.testing.assert_allclose(form.M, np.eye(3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(form.K, np.diag(omega**2), rtol=1e-12)
    assert np.array_equal(form.C, np.diag(np.diag(form.C)))
    # spec 000, item 19: ξ = α/2ω + βω/2
    np.testing.assert_allclose(np.diag(form.C) / (2 * omega), 0.1 / (2 * omega) + 0.02 * omega / 2, rtol=1e-12)
    for s in (0.3j, 1 + 2j):
        np.testing.assert_allclose(transfer(form, s), transfer(system, s), rtol=1e-11)


@pytest.mark.spec("003-C23")
def test_damping_that_does_not_uncouple_gyroscopic_and_circulatory_terms_stay_full():
    system = SecondOrder(np.eye(3), chain(3), C=np.diag([0.3, 0, 0]), G=0.2 * SPIN, H=0.1 * SPIN, B=np.eye(3))
    form = system.modal()
    assert np.abs(form.C - np.diag(np.diag(form.C))).max() > 0.01
    for skew in (form.G, form.H):
        assert np.array_equal(skew, -skew.T)
        assert skew.any()
    assert np.array_equal(form.K, np.diag(np.diag(form.K)))
    np.testing.assert_allclose(transfer(form, 0.7j), transfer(system, 0.7j), rtol=1e-11)
    with raises(DataError, "not-supported"):
        system.modal(diagonal=True)


@pytest.mark.spec("003-C23")
def test_any_real_shapes_serve_as_modal_coordinates():
    system = SecondOrder(np.eye(3), chain(3), C=np.diag([0.3, 0, 0]), B=np.eye(3))
    other = SecondOrder(np.diag([1.0, 2, 5]), np.diag([1.0, 4, 2]) + chain(3)).modes()
    np.testing.assert_allclose(transfer(modal(system, modes=other), 0.7j), transfer(system, 0.7j), rtol=1e-11)
    damped = modal(system, modes=system.modes())  # complex shapes: their real span
    np.testing.assert_allclose(transfer(damped, 0.7j), transfer(system, 0.7j), rtol=1e-10)


@pytest.mark.spec("003-C13", "000-21")
@pytest.mark.parametrize("sparse", [False, True])
def test_static_correction_makes_a_truncated_form_exact_at_rest_and_better_below_its_modes(sparse):
    n = 30
    system = SecondOrder(np.eye(n), chain(n), B=np.eye(n)[:, [7]], Y_position=np.eye(n)[[7, 20]])
    kept = (system.sparse() if sparse else system).modal(4)
    corrected = (system.sparse() if sparse else system).modal(4, static_correction=True)
    assert kept.nq == corrected.nq == 4
    np.testing.assert_allclose(transfer(corrected, 0.0), transfer(system, 0.0), rtol=1e-10)
    s = 0.9j * system.modes().frequencies[0]
    exact = transfer(system, s)
    plain, better = np.abs(transfer(kept, s) - exact).max(), np.abs(transfer(corrected, s) - exact).max()
    # The error falls by (ω/ω₅)² = (0.9/5)², the first mode left out.
    assert better < 1.1 * (0.9 / 5) ** 2 * plain


def test_static_correction_of_a_free_structure_carries_self_equilibrated_loads():
    n = 12
    system = SecondOrder(np.eye(n), chain(n, ends=False), B=np.eye(n)[:, [2]], Y_position=np.eye(n)[[9]])
    exact = transfer(system, 0.05j)
    plain, better = (abs((transfer(system.modal(3, static_correction=flag), 0.05j) - exact).item())
                     for flag in (False, True))  # fmt: skip
    assert better < 0.02 * plain


@pytest.mark.spec("003-C13")
def test_projection_onto_fewer_modes_is_the_nearest_in_the_mass_norm():
    M = np.diag([1.0, 2, 3, 1])
    modes = SecondOrder(M, chain(4)).modes()
    x = np.array([0.2, -1.0, 0.4, 2.0])
    np.testing.assert_allclose(modes.shapes @ modes.project(x), x, rtol=1e-12)
    np.testing.assert_allclose(modes.normalise("largest").project(x), np.linalg.solve(
        modes.normalise("largest").shapes, x), rtol=1e-12)  # fmt: skip
    few = modes.select([1, 2])
    miss = x - few.shapes @ few.project(x)
    np.testing.assert_allclose(few.momenta.T @ miss, 0.0, rtol=0, atol=1e-13)
    with raises(DataError, "wrong-shape"):
        few.project([1.0, 2.0])


def test_modal_damping_matrix_returns_its_ratios():
    M, K = np.diag([1.0, 2, 3]), chain(3, 5.0)
    plain = SecondOrder(M, K)
    ratios = [0.01, 0.05, 0.002]
    damped = plain.replace(C=modal_damping(plain, ratios))
    np.testing.assert_allclose(damped.modes().damping_ratios, ratios, rtol=1e-11)
    np.testing.assert_allclose(damped.modes().frequencies, plain.modes().frequencies, rtol=1e-12)
    two = plain.replace(C=modal_damping(plain.sparse(), [0.01, 0.05]))
    np.testing.assert_allclose(two.modes().damping_ratios, [0.01, 0.05, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(plain.replace(C=modal_damping(plain, 0.03)).modes().damping_ratios, 0.03, rtol=1e-11)


@pytest.mark.parametrize("how", ["largest", "unit", "x2"])
def test_modal_damping_does_not_depend_on_the_size_of_the_shapes(how):
    """C = M Φ diag(2 ζ ω / m̄) Φᵀ M, with modal masses m̄ far from 1."""
    plain = SecondOrder(np.diag([10.0, 20, 30]), chain(3, 5.0), coordinates=["x1", "x2", "x3"])
    modes = plain.modes().normalise(how)
    assert np.abs(modes.modal_masses - 1.0).min() > 1.0
    C = modal_damping(plain, [0.01, 0.05, 0.002], modes)
    np.testing.assert_allclose(C, modal_damping(plain, [0.01, 0.05, 0.002]), rtol=1e-11)
    np.testing.assert_allclose(plain.replace(C=C).modes().damping_ratios, [0.01, 0.05, 0.002], rtol=1e-11)


def test_rayleigh_coefficients_meet_two_ratios_and_fit_more():
    alpha, beta = rayleigh_coefficients([3.0, 40.0], [0.01, 0.03])
    for omega, zeta in ((3.0, 0.01), (40.0, 0.03)):
        assert alpha / (2 * omega) + beta * omega / 2 == pytest.approx(zeta, rel=1e-12)
    alpha, beta = rayleigh_coefficients([5.0], 0.02)
    assert alpha / 10 == pytest.approx(beta * 2.5) == pytest.approx(0.01)
    omega = np.array([1.0, 4, 9])
    alpha, beta = rayleigh_coefficients(omega, 0.3 / (2 * omega) + 0.01 * omega / 2)
    assert (alpha, beta) == pytest.approx((0.3, 0.01))
    with raises(DataError, "out-of-range"):
        rayleigh_coefficients([0.0, 1.0], 0.02)


@pytest.mark.spec("004-C41")
def test_elastic_energy_is_shared_among_parts_and_weighs_their_loss_factors():
    soft, stiff = np.zeros((3, 3)), np.zeros((3, 3))
    soft[:2, :2] = [[1, -1], [-1, 1]]
    stiff[1:, 1:] = [[4, -4], [-4, 8]]
    M = np.array([[2.0, 0.3, 0], [0.3, 1, 0], [0, 0, 0.5]])
    modes = SecondOrder(M, soft + stiff, coordinates=["a.x", "b.x", "b.y"]).modes()
    np.testing.assert_allclose(modes.shapes.T @ M @ modes.shapes, np.eye(3), rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        modes.frequencies_hz, np.sqrt(scipy.linalg.eigh(soft + stiff, M, eigvals_only=True)) / (2 * np.pi), rtol=1e-12
    )
    shares = modes.energy_shares({"soft": soft, "stiff": scipy.sparse.csc_array(stiff)})
    np.testing.assert_allclose(shares["soft"] + shares["stiff"], 1.0, rtol=1e-12)
    for i, phi in enumerate(modes.shapes.T):
        assert shares["soft"][i] == pytest.approx(phi @ soft @ phi / modes.frequencies[i] ** 2, rel=1e-11)
    works = modes.energy_shares({"x": ".x", "y": ["b.y"]})
    np.testing.assert_allclose(works["x"] + works["y"], 1.0, rtol=1e-12)
    table = modes.table(directions=[".x"], groups={"soft": soft})
    assert "mass .x" in table
    assert "energy soft" in table
    zeta = energy_damping(modes, {"soft": (soft, 0.1), "stiff": (stiff, 0.02)})
    np.testing.assert_allclose(zeta, 0.05 * shares["soft"] + 0.01 * shares["stiff"], rtol=1e-12)


def test_equivalent_viscous_damping_has_the_loss_at_every_resonance():
    K = chain(3, 50.0)
    hysteretic = SecondOrder(np.eye(3), K, K_loss=0.04 * K, C=0.01 * np.eye(3))
    viscous = equivalent_viscous(hysteretic)
    assert not viscous.K_loss.any()
    omega = viscous.modes().frequencies
    np.testing.assert_allclose(viscous.modes().damping_ratios, 0.02 + 0.005 / omega, rtol=1e-11)
    viscous.state_space()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: modal_damping(s, [0.1] * 4), "wrong-shape"),
        (lambda s: modal_damping(s, [[0.1]]), "not-finite"),
        (lambda s: modal_damping(s, 0.1, s.replace(C=np.diag([0.3, 0, 0])).modes()), "not-supported"),
        (lambda s: modal(s, modes="all"), "wrong-type"),
        (lambda s: modal(s, modes=SecondOrder(1.0, 1.0).modes()), "wrong-owner"),
    ],
)
def test_wrong_ratios_and_modes_are_refused(make, message):
    with raises(DataError, message):
        make(SecondOrder(np.eye(3), chain(3)))


def test_modal_damping_of_a_large_sparse_system_gets_the_advice_to_reduce():
    eye = scipy.sparse.eye_array(6000)
    with raises(DataError, "too-large"):
        modal_damping(SecondOrder(eye, eye), 0.02)


@pytest.mark.parametrize(("factor", "columns"), [(0.9, 1), (1.1, 2)])
def test_a_shape_extends_a_span_by_what_others_leave_of_it(factor: float, columns: int) -> None:
    shapes = np.array([[1.0, 1.0], [0.0, factor * 1e-8]])
    assert _span(shapes).shape[1] == columns


# ---- edges of thresholds
