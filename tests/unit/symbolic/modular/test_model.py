"""The derived model: its equations as text, poses that are singular, and variables of higher order."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import Assembly, Leaf, modular_model
from dalembert.symbolic.modular.algebra.complement import choose_independent, least_squares_complement, null_space
from dalembert.symbolic.modular.algebra.labelled import LabelledMatrix
from tests.helpers.findings import raises


def pair() -> Assembly:
    leaf = Leaf("a")
    m = leaf.add_parameter("m", 2.0)
    x = leaf.add_coordinate("x")
    leaf.add_force(-m * leaf.rate(x, 2), "x.rate")
    both = Assembly("pair", [leaf, leaf.copy("b", m=3.0)])
    both.constrain(both["a.x"] == 2 * both["b.x"], "gear")
    both.choose("b.x.rate")
    return both


@pytest.mark.spec("002-I2")
def test_equations_of_two_copies_are_printed_with_names_of_their_own() -> None:
    model = modular_model(pair())
    sympy = pytest.importorskip("sympy")
    found = model.to_sympy(model.tree.constrained["b.x.rate", ""])
    names = {str(symbol) for symbol in found.free_symbols}
    assert names == {"a.m", "b.m", "a.x.rate.rate", "b.x.rate.rate"}
    text = model.latex()
    assert text.startswith("\\begin{aligned}")
    assert text.count("&= 0") == 2 and "\\ddot{x}_{\\mathrm{a}}" in text
    assert isinstance(model.to_sympy(model.S), sympy.MatrixBase)


@pytest.mark.spec("002-I2", "002-G1")
def test_explicit_equations_are_made_on_request() -> None:
    both = pair()
    both.parts[0].add_input("F", "N", on="x.rate")
    explicit = modular_model(both).explicit()
    assert set(explicit) == {"a.x.rate.rate", "b.x.rate.rate"}
    model = modular_model(both)
    value = model.accelerations({"a.x": 2.0, "b.x": 1.0, "a.F": 1.1})["b.x.rate.rate"]
    assert value == pytest.approx(2 * 1.1 / (4 * 2 + 3))  # 2 F = (4 m_a + m_b) ẍ


@pytest.mark.spec("002-G3", "002-G4")
def test_the_law_of_an_input_is_an_expression_of_the_motion() -> None:
    both = pair()
    for part in both.parts:
        part.add_input("F", "N", on="x.rate")
    model = modular_model(both)
    law = model.inverse_law(["a.F"])["a.F"]
    state = {"a.x": 2.0, "b.x": 1.0, "a.F": 1.1}
    point = model.motion.point({**state, **model.accelerations(state), "a.F": 0.0}, 2)
    assert float(model.motion.function([law], 2)(*point)) == pytest.approx(1.1, rel=1e-12)
    for inputs, code in ((["a.G"], "unknown-name"), (["a.F", "b.F"], "too-few-inputs")):
        with raises(da.errors.ModelError, code):
            model.inverse_law(inputs)


@pytest.mark.spec("002-G1", "002-G6")
def test_what_nothing_determines_is_refused() -> None:
    both = Assembly("pair", [pair().parts[0].copy("a"), pair().parts[0].copy("b", m=0.0)])
    eqs = da.equations(both)
    with raises(da.errors.ModelError, "massless-body"):
        da.forward_dynamics(eqs, da.assemble(eqs))
    with raises(da.errors.ModelError, "free-to-move", "b.x"):
        da.kinematics(eqs, [0.0, 0.1], motion={"a.x": lambda t: t})


@pytest.mark.spec("002-A3", "002-A6")
def test_quasi_accelerations_are_variables_of_order_two() -> None:
    """A point whose quasi-accelerations are along and across a fixed direction: S mixes them."""
    leaf = Leaf("point")
    c, s = np.cos(0.3), np.sin(0.3)
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.add_variable("along", 2, definition=c * leaf.rate(x, 2) + s * leaf.rate(y, 2))
    leaf.add_variable("across", 2, definition=-s * leaf.rate(x, 2) + c * leaf.rate(y, 2))
    leaf.constrain(y - x, "line")
    leaf.add_force(-leaf.rate(x, 2), "x.rate")
    leaf.add_force(-leaf.rate(y, 2) - 9.81, "y.rate")
    model = modular_model(leaf)
    assert (model.motion.base_order, model.motion.working_order, model.freedoms) == (2, 2, 1)
    assert set(model.motion.labels(2)) == {"along", "across", "x.rate.rate", "y.rate.rate"}
    found = model.accelerations({"x": 0.2, "y": 0.2})
    half = -9.81 / 2  # down the line of 45 degrees
    assert found == pytest.approx({"along": (c + s) * half, "across": (c - s) * half, "x.rate.rate": half,
                                   "y.rate.rate": half})  # fmt: skip


@pytest.mark.spec("002-A11")
def test_numeric_complements_agree_on_the_space_that_they_span() -> None:
    rng = np.random.default_rng(8)
    A = LabelledMatrix(rng.normal(size=(3, 6)), [*"rst"], [*"abcdef"])
    free = choose_independent(A.entries, A.columns, ("a", "b", "c"))
    assert free == ("a", "b", "c")
    chosen, spread = least_squares_complement(A, free), null_space(A)
    assert np.abs((A @ chosen).entries).max() < 1e-13
    assert np.abs((A @ spread).entries).max() < 1e-13
    both = np.hstack([chosen.entries, spread.entries])
    assert np.linalg.matrix_rank(both, tol=1e-10) == 3
    assert spread.columns == ("free 1", "free 2", "free 3")
    twice = LabelledMatrix(np.vstack([A.entries, A.entries[:1]]), [*"rstu"], [*"abcdef"])  # a redundant, compatible row
    np.testing.assert_allclose(least_squares_complement(twice, free).entries, chosen.entries, rtol=0, atol=1e-13)
    with pytest.raises(da.errors.ModelError) as caught:
        least_squares_complement(A, ("a", "b"))
    assert caught.value.code == "rank-deficient"


@pytest.mark.spec("002-A7")
def test_redundant_constraints_are_named() -> None:
    leaf = Leaf("parallelogram")
    x, y, z = (leaf.add_coordinate(k) for k in "xyz")
    leaf.constrain(x - y, "first")
    leaf.constrain(y - z, "second")
    leaf.constrain(x - z, "third")
    model = modular_model(leaf)
    assert len(model.tree.redundant) == 1
    assert model.freedoms == 1
    assert model.remainder.rows == ("first", "second", "third")


@pytest.mark.spec("002-A7")
def test_a_row_that_is_redundant_only_where_the_constraints_hold_is_found() -> None:
    leaf = Leaf("circle")
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.constrain(x**2 + y**2 - 1, "circle")
    leaf.constrain(x * leaf.rate(x) + y * leaf.rate(y) + (x**2 + y**2 - 1) * leaf.rate(x), "again")
    model = modular_model(leaf)
    assert model.freedoms == 1
    assert ca.SX(model.S.entries).shape == (2, 1)
