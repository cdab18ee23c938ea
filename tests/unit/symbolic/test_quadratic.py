"""Linear systems from quadratic energies, against the nonlinear equations linearized."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.symbolic import System, linearize_energies
from dalembert.symbolic.quadratic import quadratic_forms
from tests.helpers.findings import raises


def spinning() -> System:
    """Two coordinates in a turning frame, with a damper between them and a circulatory force."""
    s = System("spinning")
    x, y = s.coordinates("x y")
    turn = s.parameter("turn", 1.3, "rad/s")
    s.add_particle("m", 2.0, (x, y), velocity=(s.rate(x) - turn * y, s.rate(y) + turn * x))
    s.add_potential(9 * x**2 + 7 * da.math.cosh(y))
    s.add_dissipation(0.4 * (s.rate(x) - s.rate(y)) ** 2 + 0.3 * s.rate(x) * y)
    s.add_generalized_force("follower", x, 0.8 * y)
    s.add_generalized_force("drive", y, s.input("F", "N"))
    return s


@pytest.mark.spec("003-C28", "003-C29", "003-C30")
def test_both_routes_of_linearization_give_the_same_matrices() -> None:
    s = spinning()
    direct = linearize_energies(s)
    lin = da.linearize(da.equations(s), at=da.equations(s).state())
    for name in ("M", "C", "G", "K", "H", "B"):
        assert np.allclose(getattr(direct, name), getattr(lin, name), rtol=1e-12, atol=1e-12), name
    # T = ½ m |ẋ + Ω × x|²: gyroscopic 2 m Ω, centrifugal softening m Ω²
    assert np.allclose(direct.G, [[0, -2 * 2 * 1.3], [2 * 2 * 1.3, 0]], rtol=1e-14, atol=0)
    softening = 2 * 1.3**2
    assert np.allclose(np.diag(direct.K), [18 - softening, 7 - softening], rtol=1e-14, atol=0)


@pytest.mark.spec("003-C29", "003-C30")
def test_a_force_across_the_velocity_is_gyroscopic_with_its_sign() -> None:
    """A charge in a magnetic field, m ẍ = -c ẏ - k x and m ÿ = c ẋ - k y: G = [0 c; -c 0], beside damping."""
    s = System("charge")
    x, y = s.coordinates("x y")
    s.add_particle("m", 2.0, (x, y))
    s.add_potential(3.0 * (x**2 + y**2))
    s.add_generalized_force("across x", x, -0.7 * s.rate(y) - 0.1 * s.rate(x))
    s.add_generalized_force("across y", y, 0.7 * s.rate(x))
    direct = linearize_energies(s)
    lin = da.linearize(da.equations(s), at=da.equations(s).state())
    assert np.allclose(direct.G, [[0, 0.7], [-0.7, 0]], rtol=1e-14, atol=0)
    assert np.allclose(direct.C, [[0.1, 0], [0, 0]], rtol=1e-14, atol=0)
    for name in ("G", "C", "K", "H"):
        assert np.allclose(getattr(direct, name), getattr(lin, name), rtol=1e-12, atol=1e-12), name


@pytest.mark.spec("003-C29")
def test_the_forms_of_a_general_quadratic_energy_come_back() -> None:
    """T₁ = ẋᵀ M₁ x gives G = M₁ - M₁ᵀ; D = ½ ẋᵀ C ẋ + ẋᵀ C₁ x gives K + sym C₁ and H = skew C₁."""
    random = np.random.default_rng(4)
    n = 4
    M = (lambda a: a @ a.T + np.eye(n))(random.normal(size=(n, n)))
    M1, C1 = random.normal(size=(n, n)), random.normal(size=(n, n))
    Mg, K, C = ((a + a.T) / 2 for a in random.normal(size=(3, n, n)))
    s = System("general")
    x = ca.vertcat(*s.coordinates([f"x{k}" for k in range(n)]))
    v = s.rates
    s.add_kinetic(0.5 * v.T @ ca.DM(M) @ v + v.T @ ca.DM(M1) @ x + 0.5 * x.T @ ca.DM(Mg) @ x)
    s.add_potential(0.5 * x.T @ ca.DM(K) @ x)
    s.add_dissipation(0.5 * v.T @ ca.DM(C) @ v + v.T @ ca.DM(C1) @ x)
    found = linearize_energies(s)
    expected = {"M": M, "C": C, "G": M1 - M1.T, "K": K - Mg + (C1 + C1.T) / 2, "H": (C1 - C1.T) / 2}
    for name, value in expected.items():
        assert np.allclose(getattr(found, name), value, rtol=1e-12, atol=1e-12), name
    forms = quadratic_forms(s)
    for name, value in {"M": M, "M1": M1, "Mg": Mg, "K": K, "C": C, "C1": C1}.items():
        assert np.allclose(np.array(ca.DM(forms[name])), value, rtol=1e-14, atol=1e-14), name


def test_a_pose_that_is_no_equilibrium_names_the_coordinate() -> None:
    s = System("pendulum", gravity=(0, -9.81))
    theta = s.coordinate("theta")
    s.add_particle("bob", 1.0, (da.sin(theta), -da.cos(theta)))
    with pytest.raises(ModelError) as caught:
        linearize_energies(s, {"theta": 0.3})
    assert caught.value.where["coordinate"] == "theta"
    with raises(ModelError, "unknown-name", "phi"):
        linearize_energies(s, {"phi": 0.3})
    assert linearize_energies(s).K[0, 0] == pytest.approx(9.81, rel=1e-14)
