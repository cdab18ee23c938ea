"""The machine as its user said it: shapes, points, frames, names, and the check."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.model.bodies import THRESHOLDS, axes_from, rotation_matrix
from tests.helpers.findings import raises


@pytest.mark.parametrize(("mass", "inertia"), [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_a_free_body_without_mass_or_inertia_is_refused(mass: float, inertia: float) -> None:
    m = da.Mechanism("lone", planar=True)
    m.add_body("dust", mass=mass, inertia=inertia)
    with raises(da.errors.ModelError, "massless-body", "'dust'"):
        da.equations(m)


def test_numbers_of_every_kind_are_taken() -> None:
    """Ints, NumPy numbers and arrays, lists and tuples mean the same machine."""
    results = []
    for number, pair in ((float, tuple), (np.float64, list), (np.int64, np.array), (int, tuple), (np.array, np.array)):
        m = da.Mechanism("arm", planar=True, gravity=pair([0, -10]))
        rod = m.add_body("rod", mass=number(2), inertia=number(1), position=pair([1, 0]))
        m.add_revolute("hinge", m.ground.at(pair([0, 0])), rod.at(number(-1), number(0)))
        m.add_spring("coil", joint=m.joints[0], stiffness=number(3))
        run = da.simulate(da.equations(m), number(1), method=da.RK4(1e-2), every=0.5)
        results.append(run["hinge.angle"])
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


# --- shapes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "expected"),
    [  # per unit of mass, about x, y, z
        (da.rod(0.6), (0, 0.03, 0.03)),
        (da.rod(0.6, axis="z"), (0.03, 0.03, 0)),
        (da.box(1, 2, 3), (13 / 12, 10 / 12, 5 / 12)),
        (da.cylinder(0.2), (0.01, 0.01, 0.02)),
        (da.cylinder(0.2, 0.6, axis="x"), (0.02, 0.04, 0.04)),
        (da.sphere(0.5), (0.1, 0.1, 0.1)),
        (da.sphere(0.3, hollow=True), (0.06, 0.06, 0.06)),
    ],
)
def test_shapes_have_the_textbook_inertia(shape: Any, expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(np.array(shape.gyration), np.diag(expected), rtol=1e-15)


def test_two_half_boxes_make_the_whole_box() -> None:
    """Steiner's terms: a box of 2 kg cut in two along x."""
    halves = da.composite((da.box(0.5, 0.3, 0.2), 1.0, (-0.25, 0, 0)), (da.box(0.5, 0.3, 0.2), 1.0, (0.25, 0, 0)))
    whole = 2.0 * np.array(da.box(1.0, 0.3, 0.2).gyration)
    assert (halves.mass, halves.center) == (2.0, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(np.array(halves.inertia), whole, rtol=1e-14, atol=1e-17)


def test_points_of_a_composite_are_measured_from_the_origin_of_its_parts() -> None:
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", inertia=da.composite((da.sphere(0.0), 1.0, (-1, 0)), (da.sphere(0.0), 3.0, (1, 0))))
    assert body.mass == 4.0
    assert body.inertia == 3.0
    assert body.at(0.5, 0).coordinates == (0.0, 0.0)
    assert body.at(1.5, 2.0).coordinates == (1.0, 2.0)


def test_inertia_may_be_a_number_principal_values_or_a_matrix() -> None:
    m = da.Mechanism("m")
    for k, inertia in enumerate((2.0, (2, 2, 2), 2 * np.eye(3), [[2, 0, 0], [0, 2, 0], [0, 0, 2]])):
        body = m.add_body(f"b{k}", mass=1.0, inertia=inertia)
        np.testing.assert_array_equal(np.array(body.inertia, dtype=float), 2 * np.eye(3))


def test_equality_in_the_triangle_is_legal() -> None:
    m = da.Mechanism("m")
    m.add_body("plate", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.check()


def test_zero_inertia_is_legal_where_a_joint_holds_it() -> None:
    m = da.Mechanism("m", planar=True)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("pin", m.ground.at(0, 0), bob.at(0, 1.0))
    run = da.simulate(da.equations(m), 0.5, start=da.assemble(da.equations(m), {"pin": 0.1}), method=da.RK4(1e-3))
    assert np.isfinite(run.data).all()


# --- points, frames, drawings ------------------------------------------------------------------------------------


def test_a_joint_at_a_place_of_the_drawing_equals_the_same_joint_by_points() -> None:
    by_place = da.Mechanism("m", planar=True)
    body = by_place.add_body("b", mass=1.0, inertia=1.0, position=(1.0, 2.0), angle=math.pi / 2)
    joint = by_place.add_revolute("A", by_place.ground, body, at=(1.0, 3.0))
    np.testing.assert_allclose(joint.b.coordinates, (1.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(joint.a.coordinates, (1.0, 3.0), atol=1e-15)


def test_axes_of_a_frame_are_a_rotation_about_the_given_direction() -> None:
    for z in ((0, 0, 1), (1, 0, 0), (1, -2, 0.5), (0, 0, -3)):
        R = np.array(axes_from(z))
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1.0)
        np.testing.assert_allclose(R[:, 2], np.array(z) / np.linalg.norm(z), atol=1e-15)


def test_a_rotation_may_be_a_quaternion_or_a_matrix() -> None:
    half = math.sqrt(0.5)
    expected = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(rotation_matrix((half, 0, 0, half), "r"), expected, atol=1e-15)
    np.testing.assert_allclose(rotation_matrix((2, 0, 0, 2), "r"), expected, atol=1e-15)
    np.testing.assert_allclose(rotation_matrix(np.array(expected, dtype=float), "r"), expected)


def test_a_joint_stands_for_its_name() -> None:
    m = da.Mechanism("m", planar=True)
    first, second = (m.add_body(n, mass=1.0, inertia=1.0) for n in ("first", "second"))
    A = m.add_revolute("A", m.ground.at(0, 0), first.at(0, 0))
    B = m.add_revolute("B", m.ground.at(1, 0), second.at(0, 0))
    m.add_gear("teeth", A, B, ratio=-2.0)
    spring = m.add_spring("coil", joint=A, stiffness=1.0)
    m.add_damper("oil", joint=B, damping=1.0)
    m.add_stop("end", A, upper=1.0, stiffness=1.0)
    m.add_friction("rub", A, viscous=0.1)
    m.add_actuator("load", joint=B, effort=1.0)
    m.add_actuator("motor", A, input="u")
    m.add_driver("drive", B, lambda t: t)
    for k, measure in enumerate((da.angle(A), da.rate(A), da.reaction(B), da.spring_force(spring))):
        m.add_sensor(f"y{k}", measure)
    assert m.problems() == []
    assert m.inputs() == ["u"]


def test_an_input_may_drive_several_forces() -> None:
    m = da.Mechanism("m", planar=True)
    body = m.add_body("b", mass=1.0, inertia=1.0)
    m.add_force("push", body, (1, 0), input="u")
    m.add_torque("turn", body, 2.0, input="u")
    m.add_force("lift", body, (0, 1), input="w")
    assert m.inputs() == ["u", "w"]
    assert da.equations(m).inputs.names == ("u", "w")


def test_a_body_held_by_drivers_alone_is_not_disconnected() -> None:
    m = da.Mechanism("m", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, 0.5))
    m.add_body("shaker", mass=1.0, inertia=1.0)
    for part in ("x", "y", "angle"):
        m.add_driver(f"move {part}", f"shaker.{part}", 0.0)
    assert m.problems() == []


def test_a_machine_tied_to_no_ground_may_fly() -> None:
    m = da.Mechanism("satellite")
    hub, panel = (m.add_body(n, mass=1.0, inertia=1.0) for n in ("hub", "panel"))
    m.add_revolute("hinge", hub.at(0.5, 0, 0), panel.at(-0.5, 0, 0))
    m.check()


def test_energy_may_be_a_sensor_by_its_own_name() -> None:
    m = da.Mechanism("m", planar=True)
    m.add_body("b", mass=1.0, inertia=1.0)
    m.add_sensor("energy", da.energy())
    assert "energy" in da.simulate(da.equations(m), 0.1)


def test_a_planar_axis_may_depend_on_a_parameter() -> None:
    m = da.Mechanism("incline", planar=True, gravity=(0, -10))
    slope = m.parameter("slope", 0.0)
    block = m.add_body("block", mass=1.0, inertia=1.0)
    m.add_prismatic("plane", m.ground.at(0, 0), block.at(0, 0), axis=(da.cos(slope), da.sin(slope)))
    eqs = da.equations(m).replace(slope=-math.pi / 6)
    run = da.simulate(eqs, 1.0, method=da.RK4(1e-2))
    # constant acceleration g sin 30° is integrated exactly by Runge-Kutta 4: only rounding and projection remain
    assert run["plane.displacement"][-1] == pytest.approx(0.5 * 10 * 0.5, rel=1e-10)


def test_a_part_is_found_by_its_name():
    m = da.read_model("four-bar")
    assert m["crank"] is m.bodies[0]
    assert m["ground"] is m.ground
    assert m["encoder"] is m.sensors[0]
    with raises(da.errors.ModelError, "unknown-name", "'krank'", "'crank'"):
        m["krank"]


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_mechanism_named_by_blanks_is_refused(name: str) -> None:
    with raises(da.errors.ModelError, "bad-name", repr(name)):
        da.Mechanism(name)


def test_outer_blanks_are_no_part_of_a_name() -> None:
    assert da.Mechanism(" arm ").name == "arm"


def turned(error: float) -> None:
    rotation_matrix([[1.0, error, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "R")


def inertia(*rows: Sequence[float]) -> None:
    m = da.Mechanism("m")
    m.add_body("b", mass=1.0, inertia=rows)
    m.check()


def universal(cosine: float) -> None:
    m = da.Mechanism("m")
    m.add_universal("U", m.ground, m.add_body("b", mass=1.0), at=(0, 0, 0), second_axis=(1.0, 0.0, cosine))


@pytest.mark.parametrize(
    ("code", "threshold", "make"),
    [
        ("zero-length", THRESHOLDS.length, lambda x: axes_from((0.0, 0.0, x))),
        ("parallel", THRESHOLDS.parallel, lambda x: axes_from((0.0, 0.0, 1.0), (x, 0.0, 1.0))),
        ("not-orthonormal", THRESHOLDS.orthonormal, turned),
        ("not-perpendicular", THRESHOLDS.perpendicular, universal),
        ("not-symmetric", THRESHOLDS.symmetric, lambda x: inertia((1.0, x, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
        ("not-physical", THRESHOLDS.triangle, lambda x: inertia((1.0, 0, 0), (0, 1.0, 0), (0, 0, 2.0 / (1.0 - x)))),
        (
            "conflicting-arguments", THRESHOLDS.same_mass,
            lambda x: da.Mechanism("m").add_body("b", mass=1 + x, inertia=da.composite((da.rod(1), 1.0, (0, 0, 0)))),
        ),
    ],
)  # fmt: skip
def test_rounding_is_accepted_up_to_its_threshold(code: str, threshold: float, make: Callable[[float], Any]) -> None:
    below, above = (0.9, 1.1) if code not in ("zero-length", "parallel") else (1.1, 0.9)
    make(below * threshold)
    with raises(da.errors.ModelError, code):
        make(above * threshold)
