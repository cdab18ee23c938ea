"""Leaves and assemblies as they are described: copies, labels, and what is wrong with a description."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import Assembly, Leaf, linearize_parts, modular_model, rigid_body


def bead(name: str = "bead") -> Leaf:
    leaf = Leaf(name)
    m, r = leaf.add_parameter("m", 0.2, "kg"), leaf.add_parameter("r", 0.5, "m")
    x, y = leaf.add_coordinate("x", "m"), leaf.add_coordinate("y", "m")
    leaf.constrain(x**2 + y**2 - r**2, "circle")
    leaf.add_kinetic_energy(m / 2 * (leaf.rate("x") ** 2 + leaf.rate("y") ** 2))
    leaf.add_potential(9.81 * m * y)
    return leaf


@pytest.mark.spec("002-F3", "002-I2")
def test_one_leaf_serves_under_several_names_with_values_of_its_own() -> None:
    first = bead("a")
    pair = Assembly("pair", [first, first.copy("b", r=0.3)])
    model = modular_model(pair)
    assert model.motion.labels(0) == ("a.x", "a.y", "b.x", "b.y")
    assert model.freedoms == 2
    found = model.accelerations({"a.x": 0.5, "a.y": 0.0, "b.x": 0.3, "b.y": 0.0, "b.y.rate": 0.6})
    assert found["a.y.rate.rate"] == pytest.approx(-9.81)
    assert found["b.x.rate.rate"] == pytest.approx(-(0.6**2) / 0.3)
    nested = Assembly("all", [pair.copy("left"), pair.copy("right")])
    assert "left.b.x.rate" in modular_model(nested).S.rows


@pytest.mark.spec("002-I2")
def test_a_model_shows_its_matrices_node_by_node() -> None:
    text = modular_model(Assembly("pair", [bead("a"), bead("b")])).trace()
    assert "a: freedoms: 1 (a.x.rate)" in text
    assert "not proved" in text


def test_equations_have_units_parameters_inputs_and_outputs_by_label() -> None:
    leaf = bead()
    leaf.add_input("push", "N", on="x.rate")
    leaf.add_output("height", leaf["y"], "m")
    eqs = da.equations(Assembly("one", [leaf]))
    assert eqs.parameters.names == ("bead.m", "bead.r")
    assert eqs.coordinates.units == ("m", "m")
    assert eqs.speeds.units == ("m/s", "m/s")
    assert eqs.inputs.names == ("bead.push",)
    assert eqs.outputs.names == ("bead.height",)
    run = da.simulate(eqs, until=1.0, start=eqs.state([0.5, 0.0]))
    assert np.ptp(run["energy"]) < 1e-9
    lin = da.linearize(eqs, eqs.state([0.0, -0.5]), coordinates=["bead.x"])
    assert lin.modes().frequencies[0] == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-9)  # rad/s


def test_a_massless_leaf_that_constraints_hold_is_legal() -> None:
    heavy, light = bead(), Leaf("light")
    light.add_coordinate("x")
    pair = Assembly("pair", [heavy, light])
    pair.constrain(pair["light.x"] == pair["bead.x"], "together")
    found = modular_model(pair).accelerations({"bead.x": 0.5, "bead.y": 0.0, "light.x": 0.5, "bead.y.rate": 0.4,
                                               })  # fmt: skip
    assert found["light.x.rate.rate"] == pytest.approx(found["bead.x.rate.rate"])


def test_a_leaf_takes_expressions_of_sympy() -> None:
    sympy = pytest.importorskip("sympy")
    leaf = Leaf("bead")
    for name, value in (("m", 0.2), ("r", 0.5)):
        leaf.add_parameter(name, value)
    leaf.add_coordinate("x"), leaf.add_coordinate("y")
    m, r, x, y, dx, dy = sympy.symbols("m r x y x.rate y.rate")
    leaf.constrain(sympy.Eq(x**2 + y**2, r**2), "circle")
    leaf.add_kinetic_energy(m / 2 * (dx**2 + dy**2))
    leaf.add_potential(sympy.Float(9.81) * m * y)
    values = {"x": 0.3, "y": 0.4, "x.rate": 0.8, "y.rate": -0.6}
    assert modular_model(leaf).accelerations(values) == pytest.approx(modular_model(bead()).accelerations(values))
    with pytest.raises(da.errors.ModelError) as caught:
        leaf.constrain(x >= 0, "right side")
    assert caught.value.code == "not-supported"
    with pytest.raises(da.errors.ModelError) as caught:
        leaf.constrain(sympy.Symbol("w"), "unknown")
    assert "w" in str(caught.value)


def twice() -> None:
    leaf = bead()
    Assembly("a", [leaf, leaf])


def twice_in_the_tree() -> None:
    leaf = bead()
    inner = Assembly("inner")
    outer = Assembly("outer", [inner, leaf])
    inner.add(leaf)
    modular_model(outer)


def cycle() -> None:
    a, b = Assembly("a"), Assembly("b")
    a.add(b)
    b.add(a)


def self_cycle() -> None:
    a = Assembly("a")
    a.add(a)


def same_name() -> None:
    Assembly("a", [bead(), bead()])


def unknown_symbol() -> None:
    bead()["speed"]


def doubled_symbol() -> None:
    leaf = bead()
    leaf.add_coordinate("x")


def foreign_symbol() -> None:
    leaf = bead()
    leaf.constrain(leaf["x"] - ca.SX.sym("elsewhere"), "stray")
    modular_model(leaf)


def foreign_force() -> None:
    leaf = bead()
    leaf.add_force(ca.SX.sym("elsewhere"), "x.rate")
    modular_model(leaf)


def holds_nothing() -> None:
    leaf = bead()
    leaf.constrain(leaf["r"] - 0.5, "constant")
    modular_model(leaf)


def vanishes() -> None:
    leaf = bead()
    leaf.constrain(leaf["x"] - leaf["x"] * 1.0, "nothing")
    modular_model(leaf)


def contradicts() -> None:
    leaf = bead()
    leaf.constrain(leaf["x"] - 2, "far away")
    _ = modular_model(leaf).S


def contradicting_rates() -> None:
    leaf = Leaf("cart")
    leaf.add_coordinate("x")
    leaf.constrain(leaf.rate("x") - 1, "one")
    leaf.constrain(leaf.rate("x") - 2, "two")
    _ = modular_model(leaf).S


def too_few() -> None:
    pair = Assembly("pair", [bead("a"), bead("b")])
    pair.choose("a.x.rate")
    _ = modular_model(pair).S


def too_many() -> None:
    leaf = bead()
    leaf.choose("x.rate", "y.rate")
    _ = modular_model(leaf).S


def dependent() -> None:
    leaf = Leaf("two")
    x, y, _ = (leaf.add_coordinate(k) for k in "xyz")
    leaf.constrain(x - y, "same")
    leaf.choose("x.rate", "y.rate")
    _ = modular_model(leaf).S


def unknown_independent() -> None:
    leaf = bead()
    leaf.choose("angle.rate")
    _ = modular_model(leaf).S


def independent_twice() -> None:
    bead().choose("x.rate", "x.rate")


def inequality() -> None:
    leaf = bead()
    leaf.constrain(leaf["y"] < 0, "below")


def constraint_twice() -> None:
    leaf = bead()
    leaf.constrain(leaf["y"], "circle")


def vector_constraint() -> None:
    leaf = bead()
    leaf.constrain(ca.vertcat(leaf["x"], leaf["y"]), "both")


def vector_energy() -> None:
    bead().add_kinetic_energy(ca.SX.sym("v", 2))


def energy_of_accelerations() -> None:
    leaf = bead()
    leaf.add_kinetic_energy(leaf.rate("x", 2) ** 2)
    modular_model(leaf)


def quasi_velocity_without_definition() -> None:
    leaf = Leaf("body")
    leaf.add_kinetic_energy(leaf.add_velocity("w") ** 2)
    modular_model(leaf)


def dependent_definitions() -> None:
    leaf = bead()
    leaf.add_velocity("u", definition=leaf.rate("x") + leaf.rate("y"))
    leaf.add_velocity("s", definition=2 * leaf.rate("x") + 2 * leaf.rate("y"))
    leaf.own.constraints.clear()
    modular_model(leaf)


def missing_value() -> None:
    leaf = bead()
    leaf.add_force(leaf.add_parameter("k") * leaf["x"], "x.rate")
    modular_model(leaf).accelerations({"x": 0.5, "y": 0.0})


def missing_coordinate() -> None:
    modular_model(bead()).accelerations({"x": 0.5})


def no_mass() -> None:
    leaf = Leaf("ghost")
    leaf.add_coordinate("x")
    modular_model(leaf).explicit()


def not_at_rest() -> None:
    linearize_parts(bead(), {"x": 0.5, "y": 0.0, "y.rate.rate": 0.0})


def third_order() -> None:
    leaf = Leaf("jerk")
    leaf.add_coordinate("x")
    leaf.constrain(leaf.rate("x", 3) - 1, "jerk")
    da.equations(leaf)


def mixed_inertia() -> None:
    leaf = Leaf("odd")
    leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.add_force(-leaf.rate("x", 2) - leaf.rate("y", 2), "x.rate")
    leaf.add_force(-3 * leaf.rate("y", 2), "y.rate")
    da.equations(leaf)


def text_for_an_expression() -> None:
    bead().constrain("x - y", "text")


def force_along_nothing() -> None:
    leaf = bead()
    leaf.add_force(1.0, leaf["m"] * 2)
    _ = modular_model(leaf).unconstrained


def circular_rates() -> None:
    leaf = Leaf("loop")
    leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.own.rates["x"], leaf.own.rates["y"] = leaf.rate("y") + 1, leaf.rate("x") + 1
    modular_model(leaf)


def wrong_axis() -> None:
    rigid_body("B", coordinates="zxw")


@pytest.mark.spec("002-A7", "002-A11", "002-F3")
@pytest.mark.parametrize(
    ("mistake", "code", "word"),
    [
        (twice, "duplicate", "bead"), (twice_in_the_tree, "duplicate", "bead"), (cycle, "cyclic", "a"),
        (self_cycle, "cyclic", "a"), (same_name, "taken-name", "bead"), (unknown_symbol, "unknown-name", "speed"),
        (doubled_symbol, "taken-name", "x"), (foreign_symbol, "foreign-symbol", "elsewhere"),
        (foreign_force, "foreign-symbol", "elsewhere"), (holds_nothing, "independent-constraint", "constant"),
        (vanishes, "independent-constraint", "nothing"), (contradicts, "no-solution", "bead"),
        (contradicting_rates, "no-solution", "cart"), (too_few, "dependent-coordinates", "too few"),
        (too_many, "dependent-coordinates", "too many"), (dependent, "dependent-coordinates", "x.rate"),
        (unknown_independent, "unknown-name", "angle.rate"), (independent_twice, "duplicate", "x.rate"),
        (inequality, "not-supported", "below"), (constraint_twice, "taken-name", "circle"),
        (vector_constraint, "wrong-shape", "both"), (vector_energy, "wrong-shape", "energy"),
        (energy_of_accelerations, "wrong-level", "x.rate.rate"),
        (quasi_velocity_without_definition, "missing-argument", "w"),
        (dependent_definitions, "rank-deficient", "y"), (missing_value, "missing-argument", "k"),
        (missing_coordinate, "missing-argument", "y"), (no_mass, "singular-matrix", "x.rate.rate"),
        (not_at_rest, "not-at-rest", "rate"), (third_order, "not-supported", "jerk"),
        (mixed_inertia, "not-symmetric", "x.rate"), (text_for_an_expression, "wrong-type", "text"),
        (force_along_nothing, "no-motion", "variables"), (circular_rates, "algebraic-loop", "rates"),
        (wrong_axis, "unknown-choice", "w"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_mistake_is_named(mistake: Callable[[], None], code: str, word: str) -> None:
    with pytest.raises(da.errors.DalembertError) as caught:
        mistake()
    assert caught.value.code == code
    assert word in str(caught.value)
