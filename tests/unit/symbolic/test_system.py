"""Systems in symbols: what they accept, how they differentiate and classify, and mistakes with their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.equations import ACCELERATION, HOLONOMIC, VELOCITY
from dalembert.errors import ModelError
from dalembert.symbolic import System, derive, to_sympy

SX = ca.SX


def pendulum(**options: Any) -> System:
    s = System("pendulum", gravity=(0, -9.81))
    theta = s.coordinate("theta", unit="rad", **options)
    m, rod = s.parameter("m", 1.2, "kg"), s.parameter("l", 0.7, "m")
    s.add_particle("bob", m, (rod * da.sin(theta), -rod * da.cos(theta)))
    return s


@pytest.mark.spec("002-A1")
def test_a_rate_of_any_order_follows_from_the_chain_rule() -> None:
    s = System("point")
    x = s.coordinate("x")
    t, q = sympy.Symbol("t", real=True), sympy.Function("q")
    expression = sympy.sin(q(t)) * t**2
    found = da.sin(x) * s.t**2
    for order in range(1, 5):
        names = {sympy.Derivative(q(t), (t, k)): sympy.Symbol(n, real=True) for k, n in
                 enumerate(("x", "x.rate", "x.acceleration", "x.derivative3", "x.derivative4")) if k}  # fmt: skip
        expected = expression.diff(t, order).doit()
        for derivative in sorted(names, key=lambda one: -one.derivative_count):
            expected = expected.subs(derivative, names[derivative])
        expected = expected.subs(q(t), sympy.Symbol("x", real=True))
        assert sympy.simplify(to_sympy(s.rate(found, order)) - expected) == 0


@pytest.mark.spec("002-A2")
def test_the_level_of_a_constraint_follows_from_its_symbols() -> None:
    s = System("levels")
    x, y = s.coordinates("x y")
    s.constrain(x**2 + y**2 - 1, "circle")
    s.constrain(x - da.sin(s.t), "driver")
    s.constrain(s.rate(y) - x * s.rate(x), "edge")
    s.constrain(s.rate(x, 2) - x, "law")
    assert [one.level for one in s.constraints] == [HOLONOMIC, HOLONOMIC, VELOCITY, ACCELERATION]
    assert [bool(ca.depends_on(one.expression, s.t)) for one in s.constraints] == [False, True, False, False]
    for inequality in (x >= 0, x < y):
        with pytest.raises(ModelError) as caught:
            s.constrain(inequality, "wall")
        assert (caught.value.code, caught.value.where["row"]) == ("not-supported", "wall")


def test_sympy_expressions_of_symbols_with_the_same_names_are_accepted() -> None:
    theta, rod, t = sympy.Symbol("theta"), sympy.Symbol("l"), sympy.Symbol("t")
    moving = sympy.Function("theta")(t)
    one, two = pendulum(), System("pendulum")
    two.coordinate("theta", unit="rad")
    two.parameter("m", 1.2, "kg")
    two.parameter("l", 0.7, "m")
    two.add_kinetic(sympy.Symbol("m") * rod**2 * moving.diff(t) ** 2 / 2)
    two.add_potential(-9.81 * sympy.Symbol("m") * rod * sympy.cos(theta))
    state = ({"theta": 0.4}, {"theta": 1.1})
    assert derive(two).solve(*state).acceleration == pytest.approx(derive(one).solve(*state).acceleration, rel=1e-14)


def test_an_equation_of_sympy_is_a_constraint() -> None:
    s = System("point")
    s.coordinates("x y")
    s.constrain(sympy.Eq(sympy.Symbol("x") ** 2, sympy.Symbol("y")), "parabola")
    assert to_sympy(s.constraints[0].expression) == sympy.Symbol("x", real=True) ** 2 - sympy.Symbol("y", real=True)


def test_a_rotation_has_the_angular_velocity_of_its_matrix() -> None:
    s = System("top")
    angles = s.coordinates("psi theta phi", "rad")
    turned = s.rotation("zxy", angles)
    skew = turned.matrix.T @ ca.reshape(s.rate(ca.vec(turned.matrix)), 3, 3)
    f = ca.Function("f", [s.q, s.rates], [ca.vertcat(skew[2, 1], skew[0, 2], skew[1, 0]) - turned.omega])
    assert np.abs(np.array(f([0.3, -0.7, 1.1], [0.5, 0.2, -0.9]))).max() < 1e-15


def test_units_that_fit_are_accepted_and_numbers_fit_everywhere() -> None:
    s = System("spring")
    x, k = s.coordinate("x", "m"), s.parameter("k", 3.0, "N/m")
    s.add_potential(k * x**2 / 2)
    s.add_potential(0.5 * 4.0 * x**2, "second")
    s.add_generalized_force("push", x, 3.0)
    assert set(s.potential) == {"potential energy 1", "second"}


def bad_quasi_velocities() -> None:
    s = System("plate")
    x, y = s.coordinates("x y", "m")
    s.add_particle("m", 1.0, (x, y))
    s.speed("u", s.rate(x) + s.rate(y))
    s.speed("w", 2 * s.rate(x) + 2 * s.rate(y))
    da.symbolic.kane(s)


def too_many_speeds() -> None:
    s = System("plate")
    x = s.coordinate("x", "m")
    s.add_particle("m", 1.0, (x, 0))
    s.speed("u", s.rate(x))
    s.speed("w", 2 * s.rate(x))
    da.symbolic.kane(s)


def too_few_speeds() -> None:
    s = System("plate")
    x, y, z = s.coordinates("x y z", "m")
    s.add_particle("m", 1.0, (x, y, z))
    s.constrain(x - y, "row")
    s.speed("u", s.rate(x) + s.rate(y) + s.rate(z))
    da.symbolic.kane(s)


def constrained_pair() -> System:
    s = System("pair")
    x, y = s.coordinates("x y", "m")
    s.add_particle("m", 1.0, (x, y))
    s.constrain(x**2 + y**2 - 1, "circle")
    return s


def contradiction() -> None:
    s = constrained_pair()
    s.constrain(s.q[0] ** 2 + s.q[1] ** 2 - 4, "larger")
    derive(s)


def massless() -> None:
    s = System("free")
    x, y = s.coordinates("x y")
    s.add_particle("m", 1.0, (x, 0))
    s.add_potential(y**2)
    derive(s)


def cubic() -> None:
    s = System("strange")
    x = s.coordinate("x")
    s.add_kinetic(s.rate(x) ** 4)
    derive(s)


def no_value() -> None:
    s = System("pendulum")
    x = s.coordinate("x")
    s.add_particle("m", s.parameter("m"), (x, 0))
    da.equations(s)


def divided_by_zero() -> None:
    s = System("pole")
    x = s.coordinate("x")
    s.add_particle("m", 1.0, (x, 0))
    s.add_potential(1 / x)
    da.equations(s)


def gimbal_lock() -> None:
    s = System("top")
    turned = s.rotation("zxz", s.coordinates("psi theta phi", "rad"))
    s.add_body("top", 1.0, (1.0, 1.0, 2.0), turned.matrix[:, 2], rotation=turned)
    da.equations(s)  # as drawn, all angles are zero: the first and the last turn about one axis


def foreign() -> None:
    other = pendulum()
    s = System("mine")
    s.coordinate("theta")
    s.add_potential(da.cos(other.q[0]))


MISTAKES: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "unknown symbol": (lambda: pendulum().add_potential(SX.sym("w")), "unknown-name", "w"),
    "symbol of another system": (foreign, "wrong-owner", "theta"),
    "doubled symbol": (lambda: pendulum().parameter("theta"), "taken-name", "theta"),
    "doubled name of a rate": (lambda: pendulum().input("theta.rate"), "taken-name", "theta.rate"),
    "empty name": (lambda: System("s").coordinate(""), "bad-name", None),
    "speed without a coordinate": (lambda: pendulum().speed("u", 3.0), "no-coordinate", "u"),
    "speed that is not affine": (
        lambda: (s := pendulum()).speed("u", s.rate(s.q[0]) ** 2), "not-affine", "u"
    ),
    "quasi-velocities that are not independent": (bad_quasi_velocities, "rank-deficient", ["w"]),
    "too many speeds": (too_many_speeds, "wrong-shape", ["w"]),
    "too few speeds": (too_few_speeds, "wrong-shape", ["u"]),
    "constraint that holds nothing": (
        lambda: pendulum().constrain(1.0, "nothing"), "independent-constraint", "nothing"
    ),
    "constraints that contradict each other": (contradiction, "conflicting-arguments", ["circle", "larger"]),
    "constraint with a name that is taken": (
        lambda: constrained_pair().constrain(SX(0), "circle"), "taken-name", "circle"
    ),
    "energy that is not scalar": (
        lambda: (s := pendulum()).add_potential([s.q[0], s.q[0]]), "wrong-shape", None
    ),
    "kinetic energy that is not quadratic": (cubic, "not-supported", "x.rate"),
    "potential of a rate": (lambda: (s := pendulum()).add_potential(s.rate(s.q[0])), "foreign-symbol", "theta.rate"),
    "units of a sum": (
        lambda: (s := pendulum()).add_potential(s.symbols["m"] + s.symbols["l"]), "unit-mismatch", ["m", "l"]
    ),
    "unit of an energy": (
        lambda: (s := pendulum()).add_potential(s.symbols["m"] * s.symbols["l"]), "unit-mismatch", None
    ),
    "function of a length": (
        lambda: (s := pendulum()).constrain(da.sin(s.symbols["l"]) - s.q[0]), "unit-mismatch", ["l"]
    ),
    "unknown unit": (lambda: System("s").coordinate("x", "furlong"), "unit-mismatch", "'x'"),
    "unit that is not SI": (lambda: System("s").coordinate("x", "mm"), "unit-mismatch", "'x'"),
    "parameter without a value": (no_value, "missing-argument", "m"),
    "parameter that is no number": (lambda: System("s").parameter("m", "1"), "not-a-number", None),
    "parameter that is not finite": (lambda: System("s").parameter("m", float("nan")), "not-finite", None),
    "division by zero in the pose as drawn": (divided_by_zero, "not-finite", "x.rate"),
    "angles that lose rank in the pose as drawn": (gimbal_lock, "singular-matrix", "phi.rate"),
    "text": (lambda: pendulum().add_potential("m*g"), "wrong-type", None),
    "function that cannot be converted": (
        lambda: pendulum().add_potential(sympy.gamma(sympy.Symbol("theta"))), "not-supported", "gamma"
    ),
    "singular mass without enough rows": (massless, "massless-body", "y.rate"),
    "force on an unknown body": (lambda: pendulum().add_force("F", (1, 0), "bib"), "unknown-name", None),
    "torque on a particle": (lambda: pendulum().add_torque("T", 1.0, "bob"), "wrong-type", None),
    "force along an unknown coordinate": (
        lambda: pendulum().add_generalized_force("F", "phi", 1.0), "unknown-name", "F"
    ),
    "negative mass": (lambda: pendulum().add_particle("b", -1.0, (0, 0)), "negative", "the mass of body 'b'"),
    "place of four coordinates": (lambda: pendulum().add_particle("b", 1.0, (0, 0, 0, 0)), "wrong-shape", None),
    "body without orientation": (lambda: pendulum().add_body("b", 1.0, 1.0, (0, 0)), "missing-argument", "b"),
    "value of an unknown parameter": (lambda: pendulum().replace_values(g=1.0), "unknown-name", None),
    "line between unknown points": (lambda: pendulum().add_line("A", "B"), "unknown-name", None),
    "system without coordinates": (lambda: derive(System("empty")), "no-coordinate", None),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_an_error_that_names_its_symbol_or_row(name: str) -> None:
    make, code, place = MISTAKES[name]
    with pytest.raises(ModelError) as caught:
        make()
    assert caught.value.code == code
    if place is not None:
        assert place in dict(caught.value.where).values()
