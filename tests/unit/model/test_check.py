"""User mistakes in describing a machine: the right error, and a message that names the culprit.

Every entry is one mistake made on a sound arm: a rod 'rod' on a hinge 'hinge'. The description is checked, and built
into equations and run where the mistake has not been found before; nothing may pass.
"""

# ruff: noqa: E501 (one mistake, one line)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises

Case = tuple[str, Callable[[Any, Any], Any], tuple[str, ...]]
NAN = math.nan


def plane() -> tuple[da.Mechanism, Any]:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    return m, rod


def space() -> tuple[da.Mechanism, Any]:
    m = da.Mechanism("arm")
    rod = m.add_body("rod", mass=1.0, inertia=da.box(1.0, 0.1, 0.1))
    m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    return m, rod


def hung(m: da.Mechanism, **inertia: Any) -> Any:
    """A second body, 'link', on a hinge at the end of the rod."""
    body = m.add_body("link", **inertia)
    m.add_revolute("elbow", m.bodies[0].at(0.5, 0), body.at(0, 0))
    return body


def ball(m: da.Mechanism, rod: Any) -> None:
    m.add_spherical("ball", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0))


BODIES: list[Case] = [
    ("mass is a text", lambda m, r: m.add_body("b", mass="2", inertia=1), ("several-problems", "'b'", "mass", "'2'")),
    (
        "mass is a text beside a shape",
        lambda m, r: m.add_body("b", mass="2", inertia=da.rod(1)),
        ("not-a-number", "'b'", "mass"),
    ),
    ("mass is negative", lambda m, r: m.add_body("b", mass=-2, inertia=1), ("several-problems", "'b'", "-2")),
    ("mass is NaN", lambda m, r: m.add_body("b", mass=NAN, inertia=1), ("several-problems", "'b'", "mass", "nan")),
    ("mass is forgotten", lambda m, r: m.add_body("b", inertia=1), ("missing-argument", "'b'")),
    (
        "mass is a truth value",
        lambda m, r: m.add_body("b", mass=True, inertia=1),
        ("several-problems", "'b'", "mass", "True"),
    ),
    ("mass is a list", lambda m, r: m.add_body("b", mass=[1.0], inertia=1), ("several-problems", "'b'", "mass")),
    ("inertia is negative", lambda m, r: m.add_body("b", mass=1, inertia=-1), ("several-problems", "'b'")),
    (
        "inertia is infinite",
        lambda m, r: m.add_body("b", mass=1, inertia=math.inf),
        ("several-problems", "'b'", "inertia", "inf"),
    ),
    (
        "inertia is a text",
        lambda m, r: m.add_body("b", mass=1, inertia="3"),
        ("several-problems", "'b'", "inertia", "'3'"),
    ),
    (
        "planar inertia is a matrix",
        lambda m, r: m.add_body("b", mass=1, inertia=np.eye(3)),
        ("several-problems", "'b'", "inertia"),
    ),
    (
        "a rod of negative length",
        lambda m, r: m.add_body("b", mass=1, inertia=da.rod(-1)),
        ("negative", "rod", "length", "-1"),
    ),
    ("a box with a text", lambda m, r: da.box(1, "2"), ("not-a-number", "box", "'2'")),
    ("a cylinder with a NaN", lambda m, r: da.cylinder(NAN), ("not-finite", "cylinder", "radius", "nan")),
    ("a rod along no axis", lambda m, r: da.rod(1, axis="u"), ("unknown-choice", "axis", "'u'")),
    ("a composite of nothing", lambda m, r: da.composite(), ("empty", "composite")),
    ("a composite without mass", lambda m, r: da.composite((da.rod(1), 0, (0, 0))), ("zero", "composite", "mass")),
    ("a part that is no triple", lambda m, r: da.composite(3), ("wrong-type", "composite", "3")),
    (
        "a part without a place",
        lambda m, r: da.composite((da.rod(1), 1, None)),
        ("wrong-shape", "composite", "position", "None"),
    ),
    (
        "a part with a text for mass",
        lambda m, r: da.composite((da.rod(1), "1", (0, 0))),
        ("not-a-number", "composite", "mass", "'1'"),
    ),
    (
        "a mass beside a composite",
        lambda m, r: m.add_body("b", mass=3, inertia=da.composite((da.rod(1), 1, (0, 0)))),
        ("conflicting-arguments", "'b'", "3 kg", "composite"),
    ),
    (
        "position of the wrong length",
        lambda m, r: m.add_body("b", mass=1, position=(0, 0, 0)),
        ("wrong-shape", "'b'", "position"),
    ),
    (
        "position is a text",
        lambda m, r: m.add_body("b", mass=1, position="12"),
        ("wrong-shape", "'b'", "position", "'12'"),
    ),
    (
        "angle is a text",
        lambda m, r: m.add_body("b", mass=1, inertia=1, angle="30"),
        ("not-a-number", "'b'", "angle", "'30'"),
    ),
    ("rotation in the plane", lambda m, r: m.add_body("b", mass=1, rotation=(1, 0, 0, 0)), ("not-supported", "'b'")),
    ("center of the wrong length", lambda m, r: m.add_body("b", mass=1, center=(0,)), ("wrong-shape", "'b'", "center")),
    ("body without a name", lambda m, r: m.add_body("", mass=1, inertia=1), ("several-problems", "''")),
    ("name of outer blanks", lambda m, r: m.add_body(" b", mass=1, inertia=1), ("several-problems", "' b'")),
    ("name over two lines", lambda m, r: m.add_body("a\nb", mass=1, inertia=1), ("several-problems", "'a\\nb'")),
    ("name is a number", lambda m, r: m.add_body(3, mass=1, inertia=1), ("bad-name", "3")),
    ("name is a list", lambda m, r: m.add_body(["b"], mass=1, inertia=1), ("bad-name", "['b']")),
    ("body called ground", lambda m, r: m.add_body("ground", mass=1, inertia=1), ("several-problems", "'ground'")),
    ("a name twice", lambda m, r: m.add_body("rod", mass=1, inertia=1), ("several-problems", "'rod'")),
    (
        "a name of two kinds",
        lambda m, r: m.add_actuator("hinge", joint="hinge", effort=1.0),
        ("taken-name", "'hinge'"),
    ),
    ("a body tied to nothing", lambda m, r: m.add_body("b", mass=1, inertia=1), ("loose-body", "'b'")),
    ("a massless body pinned", lambda m, r: hung(m, mass=0), ("massless-body", "'link.rate'")),
    ("a point mass pinned at itself", lambda m, r: hung(m, mass=1), ("massless-body", "'link.rate'")),
    ("an unheld variable", lambda m, r: m.add_variable("w"), ("massless-body", "'w.rate'")),
    ("a point that is None", lambda m, r: r.at(None), ("wrong-shape", "'rod'", "2", "None")),
    ("a point without coordinates", lambda m, r: r.at(), ("wrong-shape", "'rod'", "2", "()")),
    ("a point with a NaN", lambda m, r: r.at(NAN, 0), ("not-a-number", "'rod'", "nan")),
    ("a point of texts", lambda m, r: r.at("1", "2"), ("not-a-number", "'rod'", "'1'")),
    ("a point of three in the plane", lambda m, r: r.at(1, 2, 3), ("wrong-shape", "'rod'", "2", "(1, 2, 3)")),
    (
        "a frame with a text for its angle",
        lambda m, r: r.frame(0, 0, angle="x"),
        ("not-a-number", "'rod'", "angle", "'x'"),
    ),
    (
        "a frame with an axis in the plane",
        lambda m, r: r.frame(0, 0, axis=(0, 0, 1)),
        ("ineffective-argument", "'rod'", "angle"),
    ),
    ("a parameter that is a text", lambda m, r: m.parameter("k", "a"), ("not-a-number", "'k'", "'a'")),
    ("a parameter without a name", lambda m, r: m.parameter("", 1.0), ("bad-name", "parameter", "''")),
    ("a parameter of two values", lambda m, r: (m.parameter("k", 1), m.parameter("k", 2)), ("taken-name", "'k'")),
    ("a parameter with a joint's name", lambda m, r: m.parameter("hinge", 1.0), ("taken-name", "parameter", "'hinge'")),
    (
        "a parameter of another mechanism",
        lambda m, r: m.add_spring("s", joint="hinge", stiffness=da.Mechanism("o").parameter("k", 1.0)),
        ("wrong-owner", "spring 's'", "'k'", "'arm'"),
    ),
    (
        "a division by a parameter that is zero",
        lambda m, r: m.add_spring("s", joint="hinge", stiffness=1 / m.parameter("k", 0.0)),
        ("not-finite", "(1 / k)"),
    ),
    ("a parameter compared", lambda m, r: m.parameter("k", 0.0) > 1, ("branch-on-symbol", "k", "da.where")),
    ("a parameter times a text", lambda m, r: m.parameter("k", 0.0) * "x", ("not-a-number", "k", "'x'")),
    ("a parameter times a list", lambda m, r: m.parameter("k", 0.0) * [1, 2], ("wrong-shape", "k")),
]

SPATIAL_BODIES: list[Case] = [
    (
        "inertias that break the triangle inequality",
        lambda m, r: m.add_body("b", mass=1, inertia=(1, 1, 3)),
        ("several-problems", "'b'", "1, 1, 3"),
    ),
    (
        "an inertia matrix that is not symmetric",
        lambda m, r: m.add_body("b", mass=1, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        ("several-problems", "'b'"),
    ),
    (
        "a negative principal inertia",
        lambda m, r: m.add_body("b", mass=1, inertia=(-1, 1, 1)),
        ("several-problems", "'b'"),
    ),
    (
        "an inertia with a NaN",
        lambda m, r: m.add_body("b", mass=1, inertia=(1, 1, NAN)),
        ("wrong-type", "'b'", "inertia", "nan"),
    ),
    (
        "two principal inertias",
        lambda m, r: m.add_body("b", mass=1, inertia=(1, 1)),
        ("wrong-type", "'b'", "inertia", "(1, 1)"),
    ),
    (
        "an inertia of None",
        lambda m, r: m.add_body("b", mass=1, inertia=None),
        ("wrong-type", "'b'", "inertia", "None"),
    ),
    (
        "an inertia of 3x2",
        lambda m, r: m.add_body("b", mass=1, inertia=np.ones((3, 2))),
        ("wrong-type", "'b'", "inertia", "3x3"),
    ),
    (
        "a quaternion of zeros",
        lambda m, r: m.add_body("b", mass=1, rotation=(0, 0, 0, 0)),
        ("zero-length", "'b'", "quaternion"),
    ),
    (
        "a rotation of three",
        lambda m, r: m.add_body("b", mass=1, rotation=(1, 2, 3)),
        ("wrong-type", "'b'", "quaternion"),
    ),
    (
        "a rotation that is a number",
        lambda m, r: m.add_body("b", mass=1, rotation=0.3),
        ("wrong-type", "'b'", "quaternion"),
    ),
    (
        "a matrix that does not turn",
        lambda m, r: m.add_body("b", mass=1, rotation=np.ones((3, 3))),
        ("not-orthonormal", "'b'", "rotation"),
    ),
    (
        "a mirror for a rotation",
        lambda m, r: m.add_body("b", mass=1, rotation=np.diag([1, 1, -1])),
        ("not-orthonormal", "'b'"),
    ),
    ("an angle in space", lambda m, r: m.add_body("b", mass=1, angle=0.3), ("not-supported", "'b'")),
    ("a frame with an angle in space", lambda m, r: r.frame(0, 0, 0, angle=0.3), ("ineffective-argument", "'rod'")),
    ("a frame along nothing", lambda m, r: r.frame(0, 0, 0, axis=(0, 0, 0)), ("zero-length", "'rod'", "axis")),
]

JOINTS: list[Case] = [
    ("a joint to None", lambda m, r: m.add_revolute("B", None, r.at(0, 0)), ("wrong-type", "'B'", "None")),
    (
        "a joint to a text",
        lambda m, r: m.add_revolute("B", "rod", r.at(0, 0)),
        ("wrong-type", "'B'", "'rod'", "body.at"),
    ),
    ("a joint of bodies nowhere", lambda m, r: m.add_revolute("B", m.ground, r), ("missing-argument", "'B'")),
    (
        "a joint at a wrong place",
        lambda m, r: m.add_revolute("B", m.ground, r, at=(1, 2, 3)),
        ("wrong-shape", "'B'", "3)"),
    ),
    (
        "a body joined to itself",
        lambda m, r: m.add_revolute("B", r.at(0, 0), r.at(1, 0)),
        ("same-body", "'B'", "'rod'"),
    ),
    (
        "a body of another mechanism",
        lambda m, r: m.add_revolute("B", plane()[1].at(0, 0), r.at(0, 0)),
        ("wrong-owner", "'B'", "'rod'"),
    ),
    (
        "an axis of a planar hinge",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0), r.at(0, 0), axis=1),
        ("ineffective-argument", "'B'"),
    ),
    (
        "a planar slide along nothing",
        lambda m, r: m.add_prismatic("B", m.ground.at(0, 0), r.at(0, 0), axis=(0, 0)),
        ("zero-length", "'B'", "axis"),
    ),
    (
        "a planar slide along a number",
        lambda m, r: m.add_prismatic("B", m.ground.at(0, 0), r.at(0, 0), axis=3),
        ("wrong-shape", "'B'", "axis", "3"),
    ),
    *(
        (
            f"a {kind} joint in the plane",
            lambda m, r, kind=kind: getattr(m, f"add_{kind}")("B", m.ground.at(0, 0), r.at(0, 0)),
            ("not-supported", "'B'"),
        )
        for kind in ("spherical", "universal", "cylindrical", "point_on_plane")
    ),
    (
        "a screw in the plane",
        lambda m, r: m.add_screw("B", m.ground, r, at=(0, 0), lead=1),
        ("not-supported", "'B'"),
    ),
    (
        "a rolling sphere in the plane",
        lambda m, r: m.add_rolling_sphere("B", m.ground, r, radius=1),
        ("not-supported", "'B'"),
    ),
    (
        "a rod of no length",
        lambda m, r: m.add_massless_rod("B", m.ground.at(0, 0), r.at(0, 0), length=0),
        ("not-positive", "'B'", "length", "0"),
    ),
    (
        "a rod of text",
        lambda m, r: m.add_massless_rod("B", m.ground.at(0, 0), r.at(0, 0), length="1"),
        ("not-a-number", "'B'", "length", "'1'"),
    ),
    (
        "a wheel of no radius",
        lambda m, r: m.add_rolling_wheel("B", m.ground, r, radius=0),
        ("not-positive", "'B'", "radius", "0"),
    ),
    (
        "a disc that fills its ring",
        lambda m, r: m.add_rolling_discs("B", m.ground, r, radius=1, second_radius=1, inside=True),
        ("not-supported", "'B'"),
    ),
    ("a gear of ratio 0", lambda m, r: m.add_gear("g", "hinge", "rod.x", ratio=0), ("zero", "gear 'g'", "ratio", "0")),
    (
        "a gear to itself",
        lambda m, r: m.add_gear("g", "hinge", "hinge.angle", ratio=1),
        ("same-coordinate", "'g'", "'hinge.angle'"),
    ),
    (
        "a gear of an unknown joint",
        lambda m, r: m.add_gear("g", "hnge", "rod.x", ratio=1),
        ("unknown-name", "'g'", "'hnge'", "'hinge'"),
    ),
    (
        "a gear with a text",
        lambda m, r: m.add_gear("g", "hinge", "rod.x", ratio=1, offset="a"),
        ("not-a-number", "'g'", "offset", "'a'"),
    ),
    (
        "a rack of radius 0",
        lambda m, r: m.add_rack_and_pinion("k", "hinge", "rod.x", radius=0),
        ("zero", "'k'", "radius"),
    ),
    (
        "a curve that is no function",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=3),
        ("wrong-type", "'c'", "3"),
    ),
    (
        "a curve of one value",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=lambda s: (s,)),
        ("wrong-shape", "'c'", "1"),
    ),
    (
        "a curve of math functions",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=lambda s: (s, math.sin(s))),
        ("value-of-symbol", "'c'", "da.sin"),
    ),
    (
        "a driver of an unknown joint",
        lambda m, r: m.add_driver("d", "hing", 0),
        ("unknown-name", "'d'", "'hing'", "Did you mean 'hinge'"),
    ),
    ("a driver of a number", lambda m, r: m.add_driver("d", 3, 0), ("bad-name", "'d'", "3")),
    ("a driver without a motion", lambda m, r: m.add_driver("d", "hinge", None), ("missing-argument", "'d'", "input")),
    (
        "two drivers of one coordinate",
        lambda m, r: (m.add_driver("d", "hinge", 0), m.add_driver("e", "hinge.angle", 0)),
        ("duplicate", "'d'", "'e'", "'hinge.angle'"),
    ),
]

SPATIAL_JOINTS: list[Case] = [
    (
        "a hinge about nothing",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(0, 0, 0)),
        ("zero-length", "'B'", "axis"),
    ),
    (
        "an axis of two numbers",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(0, 1)),
        ("wrong-shape", "'B'", "axis", "3", "(0, 1)"),
    ),
    (
        "an axis called z",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis="z"),
        ("wrong-shape", "'B'", "axis", "'z'"),
    ),
    (
        "an x direction along the axis",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(1, 0, 0), x=(1, 0, 0)),
        ("parallel", "'B'"),
    ),
    (
        "an axis that is a parameter",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(m.parameter("n", 1.0), 0, 0)),
        ("not-supported", "'B'", "axis", "parameter"),
    ),
    (
        "a pin in a slot in space",
        lambda m, r: m.add_pin_in_slot("B", m.ground, r, at=(0, 0, 0)),
        ("not-supported", "'B'", "add_point_on_line"),
    ),
    (
        "rolling discs in space",
        lambda m, r: m.add_rolling_discs("B", m.ground, r, radius=1, second_radius=1),
        ("not-supported", "'B'"),
    ),
    (
        "a screw of no lead",
        lambda m, r: m.add_screw("B", m.ground, r, at=(0, 0, 0), lead=0),
        ("zero", "'B'", "lead", "0"),
    ),
    (
        "a Cardan cross that is not square",
        lambda m, r: m.add_universal("B", m.ground, r, at=(0, 0, 0), axis=(0, 0, 1), second_axis=(0, 0, 1)),
        ("not-perpendicular", "'B'"),
    ),
    (
        "a driver of a ball joint",
        lambda m, r: (ball(m, r), m.add_driver("d", "ball", 1)),
        ("no-coordinate", "'d'", "'ball'", "spherical"),
    ),
    (
        "friction in a ball joint",
        lambda m, r: (ball(m, r), m.add_friction("f", "ball", coulomb=1)),
        ("not-supported", "'f'", "'ball'"),
    ),
    (
        "a planar body in space",
        lambda m, r: m.add_revolute("B", plane()[1].at(0, 0), r.at(0, 0, 0)),
        ("wrong-owner", "'B'"),
    ),
]

FORCES: list[Case] = [
    ("a spring between nothing", lambda m, r: m.add_spring("s", stiffness=1), ("missing-argument", "'s'", "None")),
    ("a spring of one body", lambda m, r: m.add_spring("s", r.at(0, 0), r.at(1, 0), stiffness=1), ("same-body", "'s'")),
    (
        "a spring of points and a joint",
        lambda m, r: m.add_spring("s", m.ground, r, joint="hinge", stiffness=1),
        ("conflicting-arguments", "'s'"),
    ),
    ("a stiffness that is a text", lambda m, r: m.add_spring("s", joint="hinge", stiffness="1"), ("not-a-number", "'s'", "stiffness")),
    ("a negative damping", lambda m, r: m.add_damper("s", joint="hinge", damping=-1), ("negative", "'s'", "damping", "-1")),
    ("a spring of an unknown joint", lambda m, r: m.add_spring("s", joint="hing", stiffness=1), ("unknown-name", "spring 's'", "'hinge'")),
    ("a law that is a number", lambda m, r: m.add_spring("s", joint="hinge", law=3), ("wrong-type", "'s'", "law", "3")),
    ("a law of math functions", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x: math.exp(x)), ("value-of-symbol", "'s'", "da.math.exp")),
    ("a law with an if", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x, v: x if x > 0 else 0), ("branch-on-symbol", "'s'", "da.where")),
    ("a law of three arguments", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x, y, z: x), ("wrong-signature", "'s'")),
    ("a law of two values", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x: (x, x)), ("wrong-shape", "'s'")),
    ("a table out of order", lambda m, r: m.add_spring("s", joint="hinge", law=da.expressions.table([1, 0], [0, 1])), ("not-increasing",)),
    ("a bushing of three stiffnesses", lambda m, r: m.add_bushing("b", m.ground, r, stiffness=(1, 2, 3)), ("wrong-shape", "'b'", "stiffness")),
    ("a bushing that pushes", lambda m, r: m.add_bushing("b", m.ground, r, stiffness=-1), ("negative", "'b'", "stiffness")),
    ("a force that is forgotten", lambda m, r: m.add_force("f", r), ("missing-argument", "'f'")),
    ("a force of three in the plane", lambda m, r: m.add_force("f", r, (1, 2, 3)), ("wrong-shape", "'f'", "2", "(1, 2, 3)")),
    ("a force function of one value", lambda m, r: m.add_force("f", r, lambda s: 1.0), ("wrong-shape", "'f'", "1")),
    ("a force in unknown axes", lambda m, r: m.add_force("f", r, (1, 2), axes="rod"), ("unknown-choice", "'f'", "'rod'", "'world'")),
    ("a force on a text", lambda m, r: m.add_force("f", "rod", (1, 2)), ("wrong-type", "'f'", "'rod'", "body.at")),
    ("an input that is a number", lambda m, r: m.add_force("f", r, (1, 2), input=3), ("bad-name", "'f'", "input", "3")),
    ("an input without a name", lambda m, r: m.add_force("f", r, (1, 2), input=""), ("bad-name", "''")),
    ("an input called like a coordinate", lambda m, r: m.add_force("f", r, (1, 2), input="rod.vx"), ("taken-name", "'rod.vx'", "input")),
    ("a torque on a joint's name", lambda m, r: m.add_torque("T", "hinge", 1.0), ("wrong-type", "'T'", "joint='hinge'")),
    ("a torque on a point", lambda m, r: m.add_torque("T", r.at(0, 0), 1.0), ("wrong-type", "'T'", "body")),
    ("a torque on nothing", lambda m, r: m.add_torque("T", torque=1.0), ("missing-argument", "'T'")),
    ("a torque of no size", lambda m, r: m.add_torque("T", r), ("missing-argument", "'T'")),
    ("a torque vector in the plane", lambda m, r: m.add_torque("T", r, (0, 0, 1)), ("not-a-number", "'T'", "(0, 0, 1)")),
    ("a torque on an unknown joint", lambda m, r: m.add_actuator("T", joint="hnge", effort=1.0), ("unknown-name", "'T'", "'hnge'", "'hinge'")),
    ("a force that returns NaN", lambda m, r: m.add_torque("T", r, lambda s: NAN), ("not-finite", "'T'")),
    ("a force with a NaN inside", lambda m, r: m.add_torque("T", r, lambda s: s["hinge"] * NAN), ("not-finite", "'T'")),
    ("a force of unknown names", lambda m, r: m.add_torque("T", r, lambda s: s["hing.rate"]), ("unknown-name", "'T'", "'hing.rate'", "'hinge.rate'")),
    ("a force that returns None", lambda m, r: m.add_torque("T", r, lambda s: None), ("wrong-type", "'T'", "NoneType")),
    ("a force that fails", lambda m, r: m.add_torque("T", r, lambda s: undefined), ("user-function-failed", "'T'", "NameError")),  # noqa: F821
    ("a force that compares a value", lambda m, r: m.add_torque("T", r, lambda s: 1.0 if math.sin(s.t) > 0 else -1.0), ("value-of-symbol", "'T'", "da.sin")),
    ("a force with numpy", lambda m, r: m.add_torque("T", r, lambda s: np.sin(s.t)), ("value-of-symbol", "'T'", "da.sin")),
    ("hinge friction without a radius", lambda m, r: m.add_friction("f", "hinge", coulomb=0.1), ("missing-argument", "'f'", "'hinge'", "radius")),
    ("a negative friction", lambda m, r: m.add_friction("f", "hinge", coulomb=-0.1), ("negative", "'f'", "coulomb", "-0.1")),
    ("friction without a speed", lambda m, r: m.add_friction("f", "hinge", viscous=1, speed=0), ("not-positive", "'f'", "speed", "0")),
    ("friction in an unknown joint", lambda m, r: m.add_friction("f", "hing", viscous=1), ("unknown-name", "'f'", "'hing'", "'hinge'")),
    ("a stop with nothing between", lambda m, r: m.add_stop("s", "hinge", lower=1, upper=0, stiffness=1), ("not-increasing", "'s'", "lower", "upper")),
    ("a stop without limits", lambda m, r: m.add_stop("s", "hinge", stiffness=1), ("missing-argument", "'s'")),
    ("a contact with no normal", lambda m, r: m.add_contact("c", m.ground, r, normal=(0, 0), stiffness=1), ("zero-length", "'c'", "normal")),
    ("a contact of exponent 0", lambda m, r: m.add_contact("c", m.ground, r, stiffness=1, exponent=0), ("not-positive", "'c'", "exponent")),
    ("contact friction without a speed", lambda m, r: m.add_contact("c", m.ground, r, stiffness=1, speed=0), ("not-positive", "'c'", "speed")),
    ("an actuator without an input", lambda m, r: m.add_actuator("a", "hinge", input=None), ("missing-argument", "'a'", "input", "None")),
    ("an actuator model by its name", lambda m, r: m.add_actuator("a", "hinge", input="u", model="dc"), ("wrong-type", "'a'", "'dc'", "da.DCMotor")),
    ("an actuator model as a class", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor), ("wrong-type", "'a'", "da.DCMotor(...)")),
    ("a lag of no time", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.FirstOrderLag(0)), ("not-positive", "'a'", "time_constant")),
    ("an effort of NaN", lambda m, r: m.add_actuator("a", "hinge", input="u", effort=NAN), ("not-finite", "'a'", "effort", "nan")),
    ("a motor of text", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor("k", 1)), ("not-a-number", "'a'", "torque_constant")),
    ("a motor of no resistance", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor(1, 0)), ("not-positive", "'a'", "resistance")),
]  # fmt: skip

CONSTRAINTS: list[Case] = [
    ("a motion with math", lambda m, r: m.add_driver("d", "hinge", lambda t: math.sin(t)), ("value-of-symbol", "'d'", "da.sin")),
    ("a motion with numpy", lambda m, r: m.add_driver("d", "hinge", lambda t: np.sin(t)), ("value-of-symbol", "'d'", "da.sin")),
    ("a motion with an if", lambda m, r: m.add_driver("d", "hinge", lambda t: t if t > 1 else 1), ("branch-on-symbol", "'d'", "da.where")),
    ("a motion with max", lambda m, r: m.add_driver("d", "hinge", lambda t: max(0, t)), ("branch-on-symbol", "'d'", "da.where")),
    ("a motion of two values", lambda m, r: m.add_driver("d", "hinge", lambda t: (t, t)), ("wrong-shape", "'d'")),
    ("a motion of NaN", lambda m, r: m.add_driver("d", "hinge", lambda t: NAN), ("not-finite", "'d'")),
    ("a motion of text", lambda m, r: m.add_driver("d", "hinge", lambda t: "fast"), ("wrong-type", "'d'", "str")),
    ("a motion without argument", lambda m, r: m.add_driver("d", "hinge", lambda: 0), ("wrong-signature", "'d'")),
    ("velocities in a position constraint", lambda m, r: m.add_constraint("c", lambda s: s["rod.vx"]), ("wrong-level", "'c'", "level='velocity'")),
    ("no velocities in a velocity constraint", lambda m, r: m.add_constraint("c", lambda s: s["rod.x"], level="velocity"), ("wrong-level", "'c'", "level='position'")),
    ("an acceleration squared", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.vx") ** 2, level="acceleration"), ("not-affine", "'c'")),
    ("no acceleration at its level", lambda m, r: m.add_constraint("c", lambda s: s["rod.vx"], level="acceleration"), ("wrong-level", "'c'")),
    ("an unknown acceleration", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.x"), level="acceleration"), ("unknown-name", "'c'", "'rod.x'", "'rod.vx'")),
    ("an acceleration at position level", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.vx")), ("wrong-level", "'c'", "'rod.vx'")),
    ("an unknown level", lambda m, r: m.add_constraint("c", lambda s: s["rod.x"], level="speed"), ("unknown-choice", "'c'", "'speed'")),
    ("a constraint of unknown names", lambda m, r: m.add_constraint("c", lambda s: s["rd.x"]), ("unknown-name", "'c'", "'rd.x'", "'rod.x'")),
    ("a constraint that is a number", lambda m, r: m.add_constraint("c", lambda s: 1.0), ("independent-constraint", "'c'")),
    ("a constraint that is no function", lambda m, r: m.add_constraint("c", 3), ("wrong-type", "'c'", "3")),
    ("a constraint of nothing", lambda m, r: m.add_constraint("c", lambda s: []), ("empty", "'c'")),
    ("a constraint on an input", lambda m, r: (m.add_torque("T", r, 1.0, input="u"), m.add_constraint("c", lambda s: s["rod.x"] - s["u"])), ("not-supported", "'c'")),
    ("a point by its name", lambda m, r: m.add_constraint("c", lambda s: s.position("rod")), ("user-function-failed", "'c'", "str")),
    ("a variable that starts as text", lambda m, r: m.add_variable("w", "a"), ("not-a-number", "'w'", "'a'")),
]  # fmt: skip

SENSORS: list[Case] = [
    ("a sensor of a text", lambda m, r: m.add_sensor("y", "hinge"), ("wrong-type", "'y'", "'hinge'", "da.angle")),
    ("a sensor of an unknown joint", lambda m, r: m.add_sensor("y", da.angle("hing")), ("unknown-name", "'y'", "'hing'", "'hinge'")),
    ("a displacement of a hinge", lambda m, r: m.add_sensor("y", da.displacement("hinge")), ("unit-mismatch", "'y'", "'hinge.angle'", "da.angle")),
    ("a rate of a slide", lambda m, r: m.add_sensor("y", da.rate("rod.x")), ("unit-mismatch", "'y'", "'rod.x'", "da.speed")),
    ("a position of a text", lambda m, r: m.add_sensor("y", da.position("rod")), ("wrong-type", "'y'", "'rod'", "body.at")),
    ("a position in another mechanism", lambda m, r: m.add_sensor("y", da.position(plane()[1].at(0, 0))), ("wrong-owner", "'y'")),
    ("a gyroscope on a text", lambda m, r: m.add_sensor("y", da.gyroscope("rod")), ("wrong-type", "'y'", "'rod'", "body")),
    ("an expression that is a number", lambda m, r: m.add_sensor("y", da.expression(3)), ("wrong-type", "'y'", "3")),
    ("an expression with math", lambda m, r: m.add_sensor("y", da.expression(lambda s: math.sin(s["hinge"]))), ("value-of-symbol", "'y'", "da.sin")),
    ("an expression of unknown names", lambda m, r: m.add_sensor("y", da.expression(lambda s: s["hing"])), ("unknown-name", "'y'", "'hing'")),
    ("a reaction of an unknown joint", lambda m, r: m.add_sensor("y", da.reaction("hing")), ("unknown-name", "'y'", "'hing'", "'hinge'")),
    ("a reaction in unknown axes", lambda m, r: m.add_sensor("y", da.reaction("hinge", axes="x")), ("unknown-choice", "'y'", "'x'", "'world'")),
    ("a force of an unknown spring", lambda m, r: (m.add_spring("coil", joint="hinge", stiffness=1), m.add_sensor("y", da.spring_force("coi"))), ("unknown-name", "'y'", "'coi'", "'coil'")),
    ("a sensor called like a coordinate", lambda m, r: m.add_sensor("rod.x", da.angle("hinge")), ("taken-name", "'rod.x'")),
    ("a sensor called energy", lambda m, r: m.add_sensor("energy", da.angle("hinge")), ("taken-name", "'energy'")),
]  # fmt: skip

PLANAR = [*BODIES, *JOINTS, *FORCES, *CONSTRAINTS, *SENSORS]
SPATIAL = [*SPATIAL_BODIES, *SPATIAL_JOINTS]
MACHINES = [(plane, *case) for case in PLANAR] + [(space, *case) for case in SPATIAL]


@pytest.mark.parametrize(("machine", "mistake", "make", "texts"), MACHINES, ids=[case[1] for case in MACHINES])
def test_a_mistake_in_the_description_is_reported_by_name(
    machine: Callable[[], Any], mistake: str, make: Callable[[Any, Any], Any], texts: tuple[str, ...]
) -> None:
    """Texts: the code, then names and numbers that the message shows."""
    m, rod = machine()
    with raises(da.errors.ModelError, *texts):
        make(m, rod)
        da.simulate(da.equations(m), 1e-3, method=da.RK4(1e-3))


def test_all_mistakes_differ() -> None:
    assert len({case[1] for case in MACHINES}) == len(MACHINES) >= 45


def test_several_mistakes_come_in_one_error() -> None:
    m, _ = plane()
    m.add_body("heavy", mass=-1.0, inertia=1.0)
    m.add_body("rod", mass=1.0, inertia=1.0)
    m.add_driver("drive", "hing", 0.0)
    m.add_friction("rub", "hinge", coulomb=0.1)
    m.add_sensor("encoder", da.angle("elbow"))
    with raises(da.errors.ModelError, "several-problems", "'arm'", "'heavy'", "'rod'", "'hing'", "'rub'", "'encoder'"):
        da.equations(m)
    assert {one.code for one in m.problems()} >= {"negative", "taken-name", "unknown-name", "missing-argument"}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: da.Mechanism(3), "3"),
        (lambda: da.Mechanism("m", planar="yes"), "'yes'"),
        (lambda: da.Mechanism("m", gravity=9.81), "'m'"),
        (lambda: da.Mechanism("m", gravity=(0, -9.81)), "'m'"),
        (lambda: da.Mechanism("m", gravity="down"), "'down'"),
        (lambda: da.equations(da.Mechanism("m")), "'m' has no bodies"),
        (lambda: da.equations("arm"), "str"),
        (lambda: da.equations(None), "NoneType"),
    ],
)
def test_a_mechanism_of_the_wrong_kind_is_reported(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        make()
    assert text in str(caught.value)
