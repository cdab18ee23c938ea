"""Equations, matrices and results as a lecturer sees them: text, pages, notebooks."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises


def cart():
    s = da.symbolic.System("cart", gravity=(0, -9.81, 0))
    x, theta = s.coordinate("x", "m"), s.coordinate("theta", "rad", drawn=0.3)
    M, m, rod = s.parameter("M", 2.0, "kg"), s.parameter("m", 1.0, "kg"), s.parameter("l", 0.5, "m")
    s.add_particle("cart", M, (x, 0, 0))
    s.add_particle("bob", m, (x + rod * da.sin(theta), -rod * da.cos(theta), 0))
    return s


def test_nested_lists_are_the_inertia_of_a_body():
    made = []
    for convert in (lambda rows: rows, np.array):
        s = da.symbolic.System("top")
        angles = s.coordinates("psi theta phi", "rad")
        s.add_body(
            "top",
            1.0,
            convert([[2.0, -0.3, 0.0], [-0.3, 3.0, 0.1], [0.0, 0.1, 1.0]]),
            (0, 0, 0),
            rotation=s.rotation("zxz", angles),
        )
        made.append(da.symbolic.lagrange(s).solve({"theta": 0.4}, {"psi": 1.0, "phi": 0.5}).acceleration)
    np.testing.assert_array_equal(*made)
    with raises(da.errors.ModelError, "wrong-shape"):
        s.add_body("other", 1.0, [[1.0, 0.0], [0.0, 1.0, 0.0]], (0, 0, 0), rotation=s.rotation("zxz", angles))


def test_the_mass_matrix_is_bold_beside_a_mass_of_its_letter():
    text = da.symbolic.lagrange(cart()).latex()
    assert "\\mathbf{M} &= " in text and "M + m" in text
    assert not [line for line in text.splitlines() if line.startswith(("M &=", "M\\,"))]
    plain = da.symbolic.System("mass")
    plain.add_particle("m", plain.parameter("m", 1.0, "kg"), (plain.coordinate("x", "m"), 0, 0))
    assert "mathbf" not in da.symbolic.lagrange(plain).latex()


def test_a_derivation_has_a_page(tmp_path):
    page = tmp_path / "cart.html"
    da.report(da.symbolic.lagrange(cart()), page, title="The cart")
    text = page.read_text()
    assert "The cart" in text and "<math" in text and "Conserved quantities" in text


def test_conserved_quantities_are_channels_along_a_run():
    derivation = da.symbolic.lagrange(cart())
    run = da.simulate(da.equations(derivation), 2.0, start={"theta": 1.0, "x.rate": 0.2})
    kept = derivation.conserved_along(run)
    assert kept.names == ("x.momentum", "E")
    momentum = 3.0 * 0.2  # (M + m) ẋ, the bob at rest beside the cart
    assert np.abs(kept["x.momentum"] - momentum).max() < 1e-7  # tolerances of the run: 1e-9 a step
    np.testing.assert_allclose(kept["E"], run["energy"], rtol=1e-9, atol=1e-9)
    spoiled = da.Record.from_channels(run.time, {"x": 0.0, "theta": 1.0, "x.rate": run.time, "theta.rate": 0.0})
    assert np.ptp(derivation.conserved_along(spoiled)["x.momentum"]) == pytest.approx(6.0)


def test_conserved_quantities_of_quasi_velocities_are_channels_too():
    s = da.symbolic.System("sleigh")
    x, y, phi = s.coordinate("x", "m"), s.coordinate("y", "m"), s.coordinate("phi", "rad")
    v, w = s.speed("v", s.rate(x) * da.cos(phi) + s.rate(y) * da.sin(phi)), s.speed("w", s.rate(phi))
    s.add_body("sleigh", 2.0, 0.3, (x + 0.1 * da.cos(phi), y + 0.1 * da.sin(phi), 0), rotation=phi)
    s.constrain(s.rate(y) * da.cos(phi) - s.rate(x) * da.sin(phi), "knife")
    derivation = da.symbolic.kane(s)
    run = da.simulate(da.equations(derivation), 1.0, start={"v": 1.0, "w": 2.0})
    kept = derivation.conserved_along(run)
    expected = 0.5 * 2.0 * (1.0 + (0.1 * 2.0) ** 2) + 0.5 * 0.3 * 4.0
    assert np.abs(kept["E"] - expected).max() < 1e-7
    assert v is not w


def test_linear_models_modes_and_gains_are_formulas_in_notebooks():
    model = da.SecondOrder([[2.0, 0.5], [0.5, 1.0]], [[3.0, 0.0], [0.0, 1e-7]], B=[[1.0], [0.0]])
    assert "\\begin{bmatrix}2 & 0.5 \\\\ 0.5 & 1\\end{bmatrix}" in model._repr_latex_()
    assert "1 \\cdot 10^{-7}" in model._repr_latex_()
    space = da.StateSpace([[0.0, 1.0], [-2.0, -3.0]], [0.0, 1.0])
    gain = da.control.lqr(space, Q=1.0, R=1.0)
    for shown in (model, space, model.modes(), gain, da.equations(da.symbolic.lagrange(cart()))):
        text = shown._repr_latex_()
        assert text.startswith("$$") and text.endswith("$$") and text.count("{") == text.count("}")
    large = da.StateSpace(-np.eye(20))
    assert "\\mathbb{R}^{20 \\times 20}" in large._repr_latex_()


def test_a_linear_model_prints_as_a_table_of_its_names():
    model = da.SecondOrder([[2.0, 0.5], [0.5, 1.0]], np.eye(2), coordinates=["cart", "bob"], units={"cart": "m"})
    lines = str(model).splitlines()
    assert any(line.split() == ["M", "cart", "2", "0.5"] for line in lines)
    assert any(line.split() == ["bob", "0.5", "1"] for line in lines)
    assert any(line.split()[:2] == ["A", "cart"] for line in str(model.state_space()).splitlines())
