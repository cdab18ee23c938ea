"""What a planar model takes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.core.errors import AssemblyError, ConvergenceError, ModelError
from dalembert.symbolic import PlanarModel
from tests.helpers.findings import raises
from tests.helpers.planar_four_bar import four_bar

MISTAKES: list[tuple[Callable[[PlanarModel], Any], str, str]] = [
    (lambda m: m.add_revolute("0.1-lever.1"), "unknown-name", "'lever'"),
    (lambda m: m.add_revolute("0.3-crank.1"), "unknown-name", "0.3"),
    (lambda m: m.add_revolute("0.1-crank.1", name="again"), "duplicate", "'A'"),
    (lambda m: m.add_revolute("crank.1-0.1", name="again"), "duplicate", "'A'"),
    (lambda m: m.add_revolute("crank.1-crank.2"), "same-body", "'crank'"),
    (lambda m: m.add_revolute("0.1-rocker.1", name="B"), "taken-name", "'B'"),
    (lambda m: m.add_revolute("crank.1"), "bad-name", "'crank.1'"),
    (lambda m: m.add_bar("crank", (0, 0), (1, 0), mass=1), "taken-name", "'crank'"),
    (lambda m: m.add_bar("x", (0, 0), (0, 0), mass=1), "zero-length", "'x'"),
    (lambda m: m.add_bar("x", (0, 0), (1,), mass=1), "wrong-shape", "two coordinates"),
    (lambda m: m.add_bar("x", (0, 0), "lever.1", mass=1), "unknown-name", "'lever'"),
    (lambda m: m.add_bar("x", (0, 0), (1, 0), mass=-1), "negative", "mass"),
    (lambda m: m.add_bar("x", (0, 0), (1, 0), mass=1, inertia=-1), "negative", "inertia"),
    (lambda m: m.add_bar("x", (0, 0), (1, 0), mass=float("nan")), "not-finite", "mass"),
    (lambda m: m.add_bar("x", (0, 0), (1, 0), mass=1, length=0), "not-positive", "length"),
    (lambda m: m.add_bar("x", (0, 0), (1, 0), mass="crank.angle"), "foreign-symbol", "crank.angle"),
    (lambda m: m.add_body("x", [], mass=1), "empty", "'x'"),
    (lambda m: m.add_body("x", [(0, 0)], mass=1, center=(0.5, 0)), "missing-argument", "one node"),
    (lambda m: m.add_body("x", [(0, 0), (1, 0)], mass=1, center=0.5), "wrong-shape", "center"),
    (lambda m: m.add_body("x", [(0, 0), (1, 0)], mass=1, between=(1, 3)), "out-of-range", "(1, 3)"),
    (lambda m: m.add_body("x", [(0, 0), (1, 0)], mass=1, between=3), "out-of-range", "2 nodes"),
    (lambda m: m.add_body("x", [(0, 0)], mass=1, radius=-0.1), "negative", "radius"),
    (lambda m: m.add_body("x", [(0, 0)], mass=1, radius="wide"), "unknown-name", "wide"),
    (lambda m: m.add_body("x", [(0, 0)], mass=None), "wrong-type", "mass"),
    (lambda m: m.add_ground((5, 5)), "duplicate", "ground"),
    (lambda m: m.add_prismatic("0.1-crank.2", "coupler.2"), "wrong-owner", "one body"),
    (lambda m: m.add_prismatic("0.1-0.1", "coupler.2"), "zero-length", "0.1-0.1"),
    (lambda m: (m.add_slot("0.1-0.2", "coupler.2"), m.add_slot("0.1-0.2", "coupler.2", name="s")), "duplicate", "0-c"),
    (lambda m: m.add_prismatic("0.1-0.2", "rocker.3"), "unknown-name", "rocker.3"),
    (lambda m: m.add_coordinate("A.angle", "crank.rate"), "taken-name", "A.angle"),
    (lambda m: m.add_coordinate("s", "lever.rate"), "unknown-name", "lever.rate"),
    (lambda m: m.add_coordinate("", "crank.rate"), "bad-name", "''"),
    (lambda m: m.add_speed("w", inertia=-1.0), "negative", "'w'"),
    (lambda m: m.add_constraint(ca.SX.sym("w") - 1), "foreign-symbol", "'w'"),
    (lambda m: m.add_constraint(3.0), "independent-constraint", "constraint 1"),
    (lambda m: m.add_constraint(ca.vertcat(m["crank.rate"], 1)), "wrong-shape", "(2, 1)"),
    (lambda m: m.add_constraint([1, "x"]), "wrong-type", "constraint 1"),
    (lambda m: m.add_constraint(sympy.Symbol("lever.angle")), "unknown-name", "lever.angle"),
    (lambda m: m.add_driver("d", "lever.angle", 0.0), "unknown-name", "lever.angle"),
    (lambda m: m.add_driver("d", "A.angle", lambda t: 1 if t > 0 else 0), "branch-on-symbol", "'d'"),
    (lambda m: [m.add_driver(n, "crank.angle", 0.0) for n in "de"], "duplicate", "'d'"),
    (lambda m: m.add_force("F", "coupler.3", (0, 1)), "unknown-name", "coupler.3"),
    (lambda m: m.add_force("F", "coupler.2", 3.0), "wrong-shape", "'F'"),
    (lambda m: m.add_force("F", "coupler.2", ("push", 0)), "unknown-name", "push"),
    (lambda m: m.add_force("F", "lever", (0, 1)), "unknown-name", "lever"),
    (lambda m: m.add_torque("T", "lever", 1.0), "unknown-name", "lever"),
    (lambda m: m.add_torque("T", "crank", 1.0, against="lever"), "unknown-name", "lever"),
    (lambda m: m.add_slot("0.1-0.2", "coupler.2", input="torque"), "unit-mismatch", "N m"),
    (lambda m: m.add_sensor("torque", "crank.angle"), "taken-name", "torque"),
    (lambda m: m.add_input("torque"), "taken-name", "torque"),
    (lambda m: m.parameter("L", float("inf")), "not-finite", "'L'"),
    (lambda m: setattr(m, "gravity", (1, 2, 3)), "wrong-shape", "gravity"),
    (lambda m: m["lever.angle"], "unknown-name", "lever.angle"),
]


@pytest.mark.parametrize(("mistake", "code", "shown"), MISTAKES, ids=[f"{k}-{x[1]}" for k, x in enumerate(MISTAKES)])
def test_a_mistake_is_refused_where_it_is_made(mistake: Any, code: str, shown: str) -> None:
    with raises(ModelError, code, shown):
        mistake(four_bar())


LATE: list[tuple[Callable[[PlanarModel], Any], str, str]] = [
    (lambda m: m.add_revolute("rocker.1-0.1", name="E"), "same-body", "'E'"),
    (lambda m: (m.add_bar("x", (0, 0.2), (1, 1), mass=1), m.add_revolute("crank.2-x.1"),
                m.add_revolute("coupler.1-x.1")), "duplicate", "coupler-x"),
    (lambda m: (m.add_bar("x", (0, 0.21), (1, 1), mass=1), m.add_revolute("crank.2-x.1")), "joint-open", "0.01 m"),
    (lambda m: m.add_slot("0.1-0.2", "coupler.2"), "joint-open", "0.45 m"),
    (lambda m: m.add_coordinate("s", m["crank.rate"] ** 2), "not-linear", "'s'"),
    (lambda m: m.add_coordinate("s", m["torque"]), "foreign-symbol", "'s'"),
    (lambda m: (m.add_speed("s.rate"), m.add_coordinate("s", "crank.rate")), "taken-name", "s.rate"),
    (lambda m: m.add_constraint(m["0.1.x"] - m["crank.1.x"]), "independent-constraint", "constraint 1"),
    (lambda m: m.add_constraint(m["torque"] * m["crank.rate"]), "foreign-symbol", "constraint 1"),
    (lambda m: m.add_driver("d", "crank.rate", 1.0), "wrong-level", "'d'"),
    (lambda m: (m.add_body("bob", [(1, 1)], mass=1), m.add_constraint(m["bob.rate"])), "massless-body", "bob.rate"),
    (lambda m: (m.add_body("bob", [(1, 1)], mass=1), m.add_torque("T", "bob", 1.0)), "massless-body", "'T'"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "code", "shown"), LATE, ids=[f"{k}-{x[1]}" for k, x in enumerate(LATE)])
def test_a_model_that_cannot_be_is_refused_when_equations_are_made(mistake: Any, code: str, shown: str) -> None:
    m = four_bar()
    mistake(m)
    with raises(ModelError, code, shown):
        da.equations(m)


def test_a_model_without_bodies_is_refused() -> None:
    with raises(ModelError, "no-bodies", "'empty'"):
        da.equations(da.symbolic.PlanarModel("empty"))


def test_too_few_or_too_many_motions_are_refused() -> None:
    eqs = da.equations(four_bar())
    with raises(ModelError, "free-to-move", "A.angle"):
        da.inverse_dynamics(eqs, {}, times=[0.0, 0.1])
    motion = {"A.angle": lambda t: np.pi / 2 + t, "D.angle": lambda t: 1.8 + 0.5 * t}
    with pytest.raises((ModelError, ConvergenceError)) as caught:
        da.inverse_dynamics(eqs, motion, times=[0.0, 0.1])
    assert caught.value.code in ("joint-open", "inconsistent-motion") and "A.angle, D.angle" in str(caught.value)


def test_a_drawing_that_cannot_close_is_refused_by_assembly() -> None:
    m = da.symbolic.PlanarModel("too short")
    m.add_ground((0, 0), (3, 0))
    m.add_bar(1, "0.1", (1, 1), mass=1, length=1)
    m.add_bar(2, "0.2", "1.2", mass=1, length=1)
    for joint in ("0.1-1.1", "0.2-2.1", "1.2-2.2"):
        m.add_revolute(joint)
    with raises(AssemblyError, "joint-open", "body"):
        da.assemble(da.equations(m))


def test_a_bar_with_a_length_is_drawn_as_a_first_guess() -> None:
    m = da.symbolic.PlanarModel("guessed")
    length = m.parameter("L", 0.5)
    m.add_ground((0, 0))
    m.add_bar(1, "0.1", (0.3, 0.1), mass=2.0, length=length)
    m.add_revolute("0.1-1.1")
    eqs = da.equations(m)
    for value in (0.5, 0.8):
        own = eqs.replace(L=value)
        start = da.assemble(own, {"1.angle": -1.0})
        assert np.hypot(start["1.2.x"], start["1.2.y"]) == pytest.approx(value, abs=1e-12)
        # a uniform rod about its end: α = -(3 g / 2 L) cos θ
        sol = da.forward_dynamics(own, start)
        assert sol["1.rate"] == pytest.approx(-1.5 * 9.81 / value * np.cos(1.0), rel=1e-12)


def test_constraints_of_sympy_are_those_of_the_graph() -> None:
    found = []
    for sine, angle in ((ca.sin, None), (sympy.sin, sympy.Symbol("crank.angle"))):
        m = four_bar()
        m.add_coordinate("s", "crank.rate")
        m.add_sensor("height", 0.2 * sine(m["crank.angle"] if angle is None else angle), "m")
        eqs = da.equations(m)
        found.append(eqs.kernel("outputs")(np.array(eqs.placement.q), *(np.zeros(k) for k in
                     (eqs.nv, eqs.nv, len(eqs.rows), 0, 1, 0)), 0.0)[0])  # fmt: skip
    assert found[0] == pytest.approx([0.2], abs=1e-15) and found[0] == pytest.approx(found[1], abs=1e-16)


def test_gravity_and_inertia_may_be_parameters() -> None:
    m = da.symbolic.PlanarModel("tilted")
    slope, mass = m.parameter("slope", 0.3), m.parameter("mass", 2.0)
    m.gravity = (9.81 * da.sin(slope), -9.81 * da.cos(slope))
    m.add_ground((0, 0), (1, 0))
    m.add_body("block", ["0.1"], mass=mass)
    m.add_prismatic("0.1-0.2", "block.1", name="ramp", input="push")
    eqs = da.equations(m)
    for value in (0.3, 1.1):
        sol = da.forward_dynamics(eqs.replace(slope=value), inputs={"push": 3.0})
        assert sol["block.1.vx"] == pytest.approx(9.81 * np.sin(value) + 3.0 / 2.0, rel=1e-12)
        assert sol["ramp.force.y"] == pytest.approx(2.0 * 9.81 * np.cos(value), rel=1e-12)  # the normal force
        assert sol["ramp.force.x"] == pytest.approx(3.0, rel=1e-12)  # along the guide only the input acts
