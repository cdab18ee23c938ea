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
    ("mass is a text", lambda m, r: m.add_body("b", mass="2", inertia=1), ("'b'", "mass", "'2'")),
    ("mass is a text beside a shape", lambda m, r: m.add_body("b", mass="2", inertia=da.rod(1)), ("'b'", "mass")),
    ("mass is negative", lambda m, r: m.add_body("b", mass=-2, inertia=1), ("'b'", "mass is negative", "-2")),
    ("mass is NaN", lambda m, r: m.add_body("b", mass=NAN, inertia=1), ("'b'", "mass", "nan")),
    ("mass is forgotten", lambda m, r: m.add_body("b", inertia=1), ("'b'", "needs a mass")),
    ("mass is a truth value", lambda m, r: m.add_body("b", mass=True, inertia=1), ("'b'", "mass", "True")),
    ("mass is a list", lambda m, r: m.add_body("b", mass=[1.0], inertia=1), ("'b'", "mass")),
    ("inertia is negative", lambda m, r: m.add_body("b", mass=1, inertia=-1), ("'b'", "inertia is negative")),
    ("inertia is infinite", lambda m, r: m.add_body("b", mass=1, inertia=math.inf), ("'b'", "inertia", "inf")),
    ("inertia is a text", lambda m, r: m.add_body("b", mass=1, inertia="3"), ("'b'", "inertia", "'3'")),
    ("planar inertia is a matrix", lambda m, r: m.add_body("b", mass=1, inertia=np.eye(3)), ("'b'", "inertia")),
    ("a rod of negative length", lambda m, r: m.add_body("b", mass=1, inertia=da.rod(-1)), ("rod", "length", "-1")),
    ("a box with a text", lambda m, r: da.box(1, "2"), ("box", "'2'")),
    ("a cylinder with a NaN", lambda m, r: da.cylinder(NAN), ("cylinder", "radius", "nan")),
    ("a rod along no axis", lambda m, r: da.rod(1, axis="u"), ("axis", "'u'")),
    ("a composite of nothing", lambda m, r: da.composite(), ("composite", "part")),
    ("a composite without mass", lambda m, r: da.composite((da.rod(1), 0, (0, 0))), ("composite", "mass")),
    ("a part that is no triple", lambda m, r: da.composite(3), ("composite", "shape, mass, position", "3")),
    ("a part without a place", lambda m, r: da.composite((da.rod(1), 1, None)), ("composite", "position", "None")),
    ("a part with a text for mass", lambda m, r: da.composite((da.rod(1), "1", (0, 0))), ("composite", "mass", "'1'")),
    (
        "a mass beside a composite",
        lambda m, r: m.add_body("b", mass=3, inertia=da.composite((da.rod(1), 1, (0, 0)))),
        ("'b'", "3 kg", "composite"),
    ),
    ("position of the wrong length", lambda m, r: m.add_body("b", mass=1, position=(0, 0, 0)), ("'b'", "position")),
    ("position is a text", lambda m, r: m.add_body("b", mass=1, position="12"), ("'b'", "position", "'12'")),
    ("angle is a text", lambda m, r: m.add_body("b", mass=1, inertia=1, angle="30"), ("'b'", "angle", "'30'")),
    ("rotation in the plane", lambda m, r: m.add_body("b", mass=1, rotation=(1, 0, 0, 0)), ("'b'", "angle=")),
    ("center of the wrong length", lambda m, r: m.add_body("b", mass=1, center=(0,)), ("'b'", "center")),
    ("body without a name", lambda m, r: m.add_body("", mass=1, inertia=1), ("body name", "''")),
    ("name of outer blanks", lambda m, r: m.add_body(" b", mass=1, inertia=1), ("body name", "' b'")),
    ("name over two lines", lambda m, r: m.add_body("a\nb", mass=1, inertia=1), ("body name", "'a\\nb'")),
    ("name is a number", lambda m, r: m.add_body(3, mass=1, inertia=1), ("body name", "3")),
    ("name is a list", lambda m, r: m.add_body(["b"], mass=1, inertia=1), ("body name", "['b']")),
    ("body called ground", lambda m, r: m.add_body("ground", mass=1, inertia=1), ("'ground'", "m.ground")),
    ("a name twice", lambda m, r: m.add_body("rod", mass=1, inertia=1), ("'rod'", "2 times", "body and body")),
    (
        "a name of two kinds",
        lambda m, r: m.add_actuator("hinge", joint="hinge", effort=1.0),
        ("'hinge'", "2 times", "joint and force"),
    ),
    ("a body tied to nothing", lambda m, r: m.add_body("b", mass=1, inertia=1), ("'b'", "connected to nothing")),
    ("a massless body pinned", lambda m, r: hung(m, mass=0), ("'link.rate'", "no mass or inertia")),
    ("a point mass pinned at itself", lambda m, r: hung(m, mass=1), ("'link.rate'", "no mass or inertia")),
    ("an unheld variable", lambda m, r: m.add_variable("w"), ("'w.rate'", "no mass or inertia")),
    ("a point that is None", lambda m, r: r.at(None), ("'rod'", "2", "None")),
    ("a point without coordinates", lambda m, r: r.at(), ("'rod'", "2", "()")),
    ("a point with a NaN", lambda m, r: r.at(NAN, 0), ("'rod'", "nan")),
    ("a point of texts", lambda m, r: r.at("1", "2"), ("'rod'", "'1'")),
    ("a point of three in the plane", lambda m, r: r.at(1, 2, 3), ("'rod'", "2", "(1, 2, 3)")),
    ("a frame with a text for its angle", lambda m, r: r.frame(0, 0, angle="x"), ("'rod'", "angle", "'x'")),
    ("a frame with an axis in the plane", lambda m, r: r.frame(0, 0, axis=(0, 0, 1)), ("'rod'", "angle")),
    ("a parameter that is a text", lambda m, r: m.parameter("k", "a"), ("'k'", "'a'")),
    ("a parameter without a name", lambda m, r: m.parameter("", 1.0), ("parameter", "''")),
    ("a parameter of two values", lambda m, r: (m.parameter("k", 1), m.parameter("k", 2)), ("'k'", "already")),
    ("a parameter with a joint's name", lambda m, r: m.parameter("hinge", 1.0), ("parameter", "'hinge'")),
    (
        "a parameter of another mechanism",
        lambda m, r: m.add_spring("s", joint="hinge", stiffness=da.Mechanism("o").parameter("k", 1.0)),
        ("spring 's'", "'k'", "'arm'"),
    ),
    (
        "a division by a parameter that is zero",
        lambda m, r: m.add_spring("s", joint="hinge", stiffness=1 / m.parameter("k", 0.0)),
        ("(1 / k)", "zero"),
    ),
    ("a parameter compared", lambda m, r: m.parameter("k", 0.0) > 1, ("k", "da.where")),
    ("a parameter times a text", lambda m, r: m.parameter("k", 0.0) * "x", ("k", "'x'")),
    ("a parameter times a list", lambda m, r: m.parameter("k", 0.0) * [1, 2], ("k", "list")),
]

SPATIAL_BODIES: list[Case] = [
    (
        "inertias that break the triangle inequality",
        lambda m, r: m.add_body("b", mass=1, inertia=(1, 1, 3)),
        ("'b'", "triangle", "1, 1, 3"),
    ),
    (
        "an inertia matrix that is not symmetric",
        lambda m, r: m.add_body("b", mass=1, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        ("'b'", "not symmetric"),
    ),
    ("a negative principal inertia", lambda m, r: m.add_body("b", mass=1, inertia=(-1, 1, 1)), ("'b'", "negative")),
    ("an inertia with a NaN", lambda m, r: m.add_body("b", mass=1, inertia=(1, 1, NAN)), ("'b'", "inertia", "nan")),
    ("two principal inertias", lambda m, r: m.add_body("b", mass=1, inertia=(1, 1)), ("'b'", "inertia", "(1, 1)")),
    ("an inertia of None", lambda m, r: m.add_body("b", mass=1, inertia=None), ("'b'", "inertia", "None")),
    ("an inertia of 3x2", lambda m, r: m.add_body("b", mass=1, inertia=np.ones((3, 2))), ("'b'", "inertia", "3x3")),
    ("a quaternion of zeros", lambda m, r: m.add_body("b", mass=1, rotation=(0, 0, 0, 0)), ("'b'", "quaternion")),
    ("a rotation of three", lambda m, r: m.add_body("b", mass=1, rotation=(1, 2, 3)), ("'b'", "quaternion")),
    ("a rotation that is a number", lambda m, r: m.add_body("b", mass=1, rotation=0.3), ("'b'", "quaternion")),
    (
        "a matrix that does not turn",
        lambda m, r: m.add_body("b", mass=1, rotation=np.ones((3, 3))),
        ("'b'", "rotation"),
    ),
    ("a mirror for a rotation", lambda m, r: m.add_body("b", mass=1, rotation=np.diag([1, 1, -1])), ("'b'", "right")),
    ("an angle in space", lambda m, r: m.add_body("b", mass=1, angle=0.3), ("'b'", "rotation=")),
    ("a frame with an angle in space", lambda m, r: r.frame(0, 0, 0, angle=0.3), ("'rod'", "axis=")),
    ("a frame along nothing", lambda m, r: r.frame(0, 0, 0, axis=(0, 0, 0)), ("'rod'", "axis", "zero length")),
]

JOINTS: list[Case] = [
    ("a joint to None", lambda m, r: m.add_revolute("B", None, r.at(0, 0)), ("'B'", "None")),
    ("a joint to a text", lambda m, r: m.add_revolute("B", "rod", r.at(0, 0)), ("'B'", "'rod'", "body.at")),
    ("a joint of bodies nowhere", lambda m, r: m.add_revolute("B", m.ground, r), ("'B'", "at=")),
    ("a joint at a wrong place", lambda m, r: m.add_revolute("B", m.ground, r, at=(1, 2, 3)), ("'B'", "3)")),
    ("a body joined to itself", lambda m, r: m.add_revolute("B", r.at(0, 0), r.at(1, 0)), ("'B'", "'rod'", "itself")),
    (
        "a body of another mechanism",
        lambda m, r: m.add_revolute("B", plane()[1].at(0, 0), r.at(0, 0)),
        ("'B'", "'rod'", "another mechanism"),
    ),
    (
        "an axis of a planar hinge",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0), r.at(0, 0), axis=1),
        ("'B'", "z"),
    ),
    (
        "a planar slide along nothing",
        lambda m, r: m.add_prismatic("B", m.ground.at(0, 0), r.at(0, 0), axis=(0, 0)),
        ("'B'", "axis", "zero length"),
    ),
    (
        "a planar slide along a number",
        lambda m, r: m.add_prismatic("B", m.ground.at(0, 0), r.at(0, 0), axis=3),
        ("'B'", "axis", "3"),
    ),
    *(
        (
            f"a {kind} joint in the plane",
            lambda m, r, kind=kind: getattr(m, f"add_{kind}")("B", m.ground.at(0, 0), r.at(0, 0)),
            ("'B'", "planar mechanism"),
        )
        for kind in ("spherical", "universal", "cylindrical", "planar", "point_on_plane")
    ),
    (
        "a screw in the plane",
        lambda m, r: m.add_screw("B", m.ground, r, at=(0, 0), lead=1),
        ("'B'", "planar mechanism"),
    ),
    ("a rolling sphere in the plane", lambda m, r: m.add_rolling_sphere("B", m.ground, r, radius=1), ("'B'", "planar")),
    (
        "a rod of no length",
        lambda m, r: m.add_massless_rod("B", m.ground.at(0, 0), r.at(0, 0), length=0),
        ("'B'", "length", "0"),
    ),
    (
        "a rod of text",
        lambda m, r: m.add_massless_rod("B", m.ground.at(0, 0), r.at(0, 0), length="1"),
        ("'B'", "length", "'1'"),
    ),
    ("a wheel of no radius", lambda m, r: m.add_rolling_wheel("B", m.ground, r, radius=0), ("'B'", "radius", "0")),
    (
        "a disc that fills its ring",
        lambda m, r: m.add_rolling_discs("B", m.ground, r, radius=1, second_radius=1, inside=True),
        ("'B'", "inside"),
    ),
    ("a gear of ratio 0", lambda m, r: m.add_gear("g", "hinge", "rod.x", ratio=0), ("gear 'g'", "ratio", "0")),
    (
        "a gear to itself",
        lambda m, r: m.add_gear("g", "hinge", "hinge.angle", ratio=1),
        ("'g'", "'hinge.angle'", "itself"),
    ),
    (
        "a gear of an unknown joint",
        lambda m, r: m.add_gear("g", "hnge", "rod.x", ratio=1),
        ("'g'", "'hnge'", "'hinge'"),
    ),
    (
        "a gear with a text",
        lambda m, r: m.add_gear("g", "hinge", "rod.x", ratio=1, offset="a"),
        ("'g'", "offset", "'a'"),
    ),
    ("a rack of radius 0", lambda m, r: m.add_rack_and_pinion("k", "hinge", "rod.x", radius=0), ("'k'", "radius")),
    (
        "a curve that is no function",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=3),
        ("'c'", "3"),
    ),
    (
        "a curve of one value",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=lambda s: (s,)),
        ("'c'", "2 values", "1"),
    ),
    (
        "a curve of math functions",
        lambda m, r: m.add_point_on_curve("c", m.ground, r.at(0, 0), curve=lambda s: (s, math.sin(s))),
        ("'c'", "da.sin"),
    ),
    (
        "a driver of an unknown joint",
        lambda m, r: m.add_driver("d", "hing", 0),
        ("'d'", "'hing'", "Did you mean 'hinge'"),
    ),
    ("a driver of a number", lambda m, r: m.add_driver("d", 3, 0), ("'d'", "3")),
    ("a driver without a motion", lambda m, r: m.add_driver("d", "hinge", None), ("'d'", "None")),
    (
        "two drivers of one coordinate",
        lambda m, r: (m.add_driver("d", "hinge", 0), m.add_driver("e", "hinge.angle", 0)),
        ("'d'", "'e'", "'hinge.angle'"),
    ),
]

SPATIAL_JOINTS: list[Case] = [
    (
        "a hinge about nothing",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(0, 0, 0)),
        ("'B'", "axis", "zero length"),
    ),
    (
        "an axis of two numbers",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(0, 1)),
        ("'B'", "axis", "3", "(0, 1)"),
    ),
    (
        "an axis called z",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis="z"),
        ("'B'", "axis", "'z'"),
    ),
    (
        "an x direction along the axis",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(1, 0, 0), x=(1, 0, 0)),
        ("'B'", "x direction", "parallel"),
    ),
    (
        "an axis that is a parameter",
        lambda m, r: m.add_revolute("B", m.ground.at(0, 0, 0), r.at(0, 0, 0), axis=(m.parameter("n", 1.0), 0, 0)),
        ("'B'", "axis", "parameter"),
    ),
    (
        "a pin in a slot in space",
        lambda m, r: m.add_pin_in_slot("B", m.ground, r, at=(0, 0, 0)),
        ("'B'", "spatial", "add_point_on_line"),
    ),
    (
        "rolling discs in space",
        lambda m, r: m.add_rolling_discs("B", m.ground, r, radius=1, second_radius=1),
        ("'B'", "spatial"),
    ),
    ("a screw of no lead", lambda m, r: m.add_screw("B", m.ground, r, at=(0, 0, 0), lead=0), ("'B'", "lead", "0")),
    (
        "a Cardan cross that is not square",
        lambda m, r: m.add_universal("B", m.ground, r, at=(0, 0, 0), axis=(0, 0, 1), second_axis=(0, 0, 1)),
        ("'B'", "square"),
    ),
    (
        "a driver of a ball joint",
        lambda m, r: (ball(m, r), m.add_driver("d", "ball", 1)),
        ("'d'", "'ball'", "spherical"),
    ),
    (
        "friction in a ball joint",
        lambda m, r: (ball(m, r), m.add_friction("f", "ball", coulomb=1)),
        ("'f'", "'ball'", "prismatic or revolute"),
    ),
    (
        "a planar body in space",
        lambda m, r: m.add_revolute("B", plane()[1].at(0, 0), r.at(0, 0, 0)),
        ("'B'", "another"),
    ),
]

FORCES: list[Case] = [
    ("a spring between nothing", lambda m, r: m.add_spring("s", stiffness=1), ("'s'", "None")),
    ("a spring of one body", lambda m, r: m.add_spring("s", r.at(0, 0), r.at(1, 0), stiffness=1), ("'s'", "itself")),
    (
        "a spring of points and a joint",
        lambda m, r: m.add_spring("s", m.ground, r, joint="hinge", stiffness=1),
        ("'s'", "either"),
    ),
    ("a stiffness that is a text", lambda m, r: m.add_spring("s", joint="hinge", stiffness="1"), ("'s'", "stiffness")),
    ("a negative damping", lambda m, r: m.add_damper("s", joint="hinge", damping=-1), ("'s'", "damping", "-1")),
    ("a spring of an unknown joint", lambda m, r: m.add_spring("s", joint="hing", stiffness=1), ("spring 's'", "'hinge'")),
    ("a law that is a number", lambda m, r: m.add_spring("s", joint="hinge", law=3), ("'s'", "law", "3")),
    ("a law of math functions", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x: math.exp(x)), ("'s'", "da.math.exp")),
    ("a law with an if", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x, v: x if x > 0 else 0), ("'s'", "da.where")),
    ("a law of three arguments", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x, y, z: x), ("'s'", "argument")),
    ("a law of two values", lambda m, r: m.add_spring("s", joint="hinge", law=lambda x: (x, x)), ("'s'", "one value")),
    ("a table out of order", lambda m, r: m.add_spring("s", joint="hinge", law=da.expressions.table([1, 0], [0, 1])), ("table",)),
    ("a bushing of three stiffnesses", lambda m, r: m.add_bushing("b", m.ground, r, stiffness=(1, 2, 3)), ("'b'", "stiffness")),
    ("a bushing that pushes", lambda m, r: m.add_bushing("b", m.ground, r, stiffness=-1), ("'b'", "stiffness", "negative")),
    ("a force that is forgotten", lambda m, r: m.add_force("f", r), ("'f'", "vector")),
    ("a force of three in the plane", lambda m, r: m.add_force("f", r, (1, 2, 3)), ("'f'", "2", "(1, 2, 3)")),
    ("a force function of one value", lambda m, r: m.add_force("f", r, lambda s: 1.0), ("'f'", "2 values", "1")),
    ("a force in unknown axes", lambda m, r: m.add_force("f", r, (1, 2), axes="rod"), ("'f'", "'rod'", "'world'")),
    ("a force on a text", lambda m, r: m.add_force("f", "rod", (1, 2)), ("'f'", "'rod'", "body.at")),
    ("an input that is a number", lambda m, r: m.add_force("f", r, (1, 2), input=3), ("'f'", "input", "3")),
    ("an input without a name", lambda m, r: m.add_force("f", r, (1, 2), input=""), ("input name", "''")),
    ("an input called like a coordinate", lambda m, r: m.add_force("f", r, (1, 2), input="rod.vx"), ("'rod.vx'", "input")),
    ("a torque on a joint's name", lambda m, r: m.add_torque("T", "hinge", 1.0), ("'T'", "joint='hinge'")),
    ("a torque on a point", lambda m, r: m.add_torque("T", r.at(0, 0), 1.0), ("'T'", "body")),
    ("a torque on nothing", lambda m, r: m.add_torque("T", torque=1.0), ("'T'", "needs body")),
    ("a torque of no size", lambda m, r: m.add_torque("T", r), ("'T'", "torque=")),
    ("a torque vector in the plane", lambda m, r: m.add_torque("T", r, (0, 0, 1)), ("'T'", "(0, 0, 1)")),
    ("a torque on an unknown joint", lambda m, r: m.add_actuator("T", joint="hnge", effort=1.0), ("'T'", "'hnge'", "'hinge'")),
    ("a force that returns NaN", lambda m, r: m.add_torque("T", r, lambda s: NAN), ("'T'", "NaN")),
    ("a force with a NaN inside", lambda m, r: m.add_torque("T", r, lambda s: s["hinge"] * NAN), ("'T'", "NaN")),
    ("a force of unknown names", lambda m, r: m.add_torque("T", r, lambda s: s["hing.rate"]), ("'T'", "'hing.rate'", "'hinge.rate'")),
    ("a force that returns None", lambda m, r: m.add_torque("T", r, lambda s: None), ("'T'", "NoneType")),
    ("a force that fails", lambda m, r: m.add_torque("T", r, lambda s: undefined), ("'T'", "NameError", "undefined")),  # noqa: F821
    ("a force that compares a value", lambda m, r: m.add_torque("T", r, lambda s: 1.0 if math.sin(s.t) > 0 else -1.0), ("'T'", "da.sin")),
    ("a force with numpy", lambda m, r: m.add_torque("T", r, lambda s: np.sin(s.t)), ("'T'", "da.sin")),
    ("hinge friction without a radius", lambda m, r: m.add_friction("f", "hinge", coulomb=0.1), ("'f'", "'hinge'", "radius")),
    ("a negative friction", lambda m, r: m.add_friction("f", "hinge", coulomb=-0.1), ("'f'", "coulomb", "-0.1")),
    ("friction without a speed", lambda m, r: m.add_friction("f", "hinge", viscous=1, speed=0), ("'f'", "speed", "0")),
    ("friction in an unknown joint", lambda m, r: m.add_friction("f", "hing", viscous=1), ("'f'", "'hing'", "'hinge'")),
    ("a stop with nothing between", lambda m, r: m.add_stop("s", "hinge", lower=1, upper=0, stiffness=1), ("'s'", "lower", "upper")),
    ("a stop without limits", lambda m, r: m.add_stop("s", "hinge", stiffness=1), ("'s'", "lower=")),
    ("a contact with no normal", lambda m, r: m.add_contact("c", m.ground, r, normal=(0, 0), stiffness=1), ("'c'", "normal")),
    ("a contact of exponent 0", lambda m, r: m.add_contact("c", m.ground, r, stiffness=1, exponent=0), ("'c'", "exponent")),
    ("contact friction without a speed", lambda m, r: m.add_contact("c", m.ground, r, stiffness=1, speed=0), ("'c'", "speed")),
    ("an actuator without an input", lambda m, r: m.add_actuator("a", "hinge", input=None), ("'a'", "input", "None")),
    ("an actuator model by its name", lambda m, r: m.add_actuator("a", "hinge", input="u", model="dc"), ("'a'", "'dc'", "da.DCMotor")),
    ("an actuator model as a class", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor), ("'a'", "da.DCMotor(...)")),
    ("a lag of no time", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.FirstOrderLag(0)), ("'a'", "time_constant")),
    ("an effort of NaN", lambda m, r: m.add_actuator("a", "hinge", input="u", effort=NAN), ("'a'", "effort", "nan")),
    ("a motor of text", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor("k", 1)), ("'a'", "torque_constant")),
    ("a motor of no resistance", lambda m, r: m.add_actuator("a", "hinge", input="u", model=da.DCMotor(1, 0)), ("'a'", "resistance")),
]  # fmt: skip

CONSTRAINTS: list[Case] = [
    ("a motion with math", lambda m, r: m.add_driver("d", "hinge", lambda t: math.sin(t)), ("'d'", "da.sin")),
    ("a motion with numpy", lambda m, r: m.add_driver("d", "hinge", lambda t: np.sin(t)), ("'d'", "da.sin")),
    ("a motion with an if", lambda m, r: m.add_driver("d", "hinge", lambda t: t if t > 1 else 1), ("'d'", "da.where")),
    ("a motion with max", lambda m, r: m.add_driver("d", "hinge", lambda t: max(0, t)), ("'d'", "da.where")),
    ("a motion of two values", lambda m, r: m.add_driver("d", "hinge", lambda t: (t, t)), ("'d'", "one value")),
    ("a motion of NaN", lambda m, r: m.add_driver("d", "hinge", lambda t: NAN), ("'d'", "NaN")),
    ("a motion of text", lambda m, r: m.add_driver("d", "hinge", lambda t: "fast"), ("'d'", "str")),
    ("a motion without argument", lambda m, r: m.add_driver("d", "hinge", lambda: 0), ("'d'", "1 argument")),
    ("velocities in a position constraint", lambda m, r: m.add_constraint("c", lambda s: s["rod.vx"]), ("'c'", "level='velocity'")),
    ("no velocities in a velocity constraint", lambda m, r: m.add_constraint("c", lambda s: s["rod.x"], level="velocity"), ("'c'", "level='position'")),
    ("an acceleration squared", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.vx") ** 2, level="acceleration"), ("'c'", "affine")),
    ("no acceleration at its level", lambda m, r: m.add_constraint("c", lambda s: s["rod.vx"], level="acceleration"), ("'c'", "acceleration_of")),
    ("an unknown acceleration", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.x"), level="acceleration"), ("'c'", "'rod.x'", "'rod.vx'")),
    ("an acceleration at position level", lambda m, r: m.add_constraint("c", lambda s: s.acceleration_of("rod.vx")), ("'c'", "'rod.vx'")),
    ("an unknown level", lambda m, r: m.add_constraint("c", lambda s: s["rod.x"], level="speed"), ("'c'", "'speed'")),
    ("a constraint of unknown names", lambda m, r: m.add_constraint("c", lambda s: s["rd.x"]), ("'c'", "'rd.x'", "'rod.x'")),
    ("a constraint that is a number", lambda m, r: m.add_constraint("c", lambda s: 1.0), ("'c'",)),
    ("a constraint that is no function", lambda m, r: m.add_constraint("c", 3), ("'c'", "3")),
    ("a constraint of nothing", lambda m, r: m.add_constraint("c", lambda s: []), ("'c'", "nothing")),
    ("a constraint on an input", lambda m, r: (m.add_torque("T", r, 1.0, input="u"), m.add_constraint("c", lambda s: s["rod.x"] - s["u"])), ("'c'", "inputs")),
    ("a point by its name", lambda m, r: m.add_constraint("c", lambda s: s.position("rod")), ("'c'", "str")),
    ("a variable that starts as text", lambda m, r: m.add_variable("w", "a"), ("'w'", "'a'")),
]  # fmt: skip

SENSORS: list[Case] = [
    ("a sensor of a text", lambda m, r: m.add_sensor("y", "hinge"), ("'y'", "'hinge'", "da.angle")),
    ("a sensor of an unknown joint", lambda m, r: m.add_sensor("y", da.angle("hing")), ("'y'", "'hing'", "'hinge'")),
    ("a displacement of a hinge", lambda m, r: m.add_sensor("y", da.displacement("hinge")), ("'y'", "'hinge.angle'", "da.angle")),
    ("a rate of a slide", lambda m, r: m.add_sensor("y", da.rate("rod.x")), ("'y'", "'rod.x'", "da.speed")),
    ("a position of a text", lambda m, r: m.add_sensor("y", da.position("rod")), ("'y'", "'rod'", "body.at")),
    ("a position in another mechanism", lambda m, r: m.add_sensor("y", da.position(plane()[1].at(0, 0))), ("'y'", "another")),
    ("a gyroscope on a text", lambda m, r: m.add_sensor("y", da.gyroscope("rod")), ("'y'", "'rod'", "body")),
    ("an expression that is a number", lambda m, r: m.add_sensor("y", da.expression(3)), ("'y'", "3")),
    ("an expression with math", lambda m, r: m.add_sensor("y", da.expression(lambda s: math.sin(s["hinge"]))), ("'y'", "da.sin")),
    ("an expression of unknown names", lambda m, r: m.add_sensor("y", da.expression(lambda s: s["hing"])), ("'y'", "'hing'")),
    ("a reaction of an unknown joint", lambda m, r: m.add_sensor("y", da.reaction("hing")), ("'y'", "'hing'", "'hinge'")),
    ("a reaction in unknown axes", lambda m, r: m.add_sensor("y", da.reaction("hinge", axes="x")), ("'y'", "'x'", "'world'")),
    ("a force of an unknown spring", lambda m, r: (m.add_spring("coil", joint="hinge", stiffness=1), m.add_sensor("y", da.spring_force("coi"))), ("'y'", "'coi'", "'coil'")),
    ("a sensor called like a coordinate", lambda m, r: m.add_sensor("rod.x", da.angle("hinge")), ("'rod.x'", "sensor")),
    ("a sensor called energy", lambda m, r: m.add_sensor("energy", da.angle("hinge")), ("'energy'", "sensor")),
]  # fmt: skip

PLANAR = [*BODIES, *JOINTS, *FORCES, *CONSTRAINTS, *SENSORS]
SPATIAL = [*SPATIAL_BODIES, *SPATIAL_JOINTS]
MACHINES = [(plane, *case) for case in PLANAR] + [(space, *case) for case in SPATIAL]


@pytest.mark.parametrize(("machine", "mistake", "make", "texts"), MACHINES, ids=[case[1] for case in MACHINES])
def test_a_mistake_in_the_description_is_told_by_name(
    machine: Callable[[], Any], mistake: str, make: Callable[[Any, Any], Any], texts: tuple[str, ...]
) -> None:
    m, rod = machine()
    with pytest.raises(da.errors.ModelError) as caught:
        make(m, rod)
        da.simulate(da.equations(m), 1e-3, method=da.RK4(1e-3))
    for text in texts:
        assert text in str(caught.value)


def test_all_mistakes_differ() -> None:
    assert len({case[1] for case in MACHINES}) == len(MACHINES) >= 45


def test_several_mistakes_come_in_one_error() -> None:
    m, _ = plane()
    m.add_body("heavy", mass=-1.0, inertia=1.0)
    m.add_body("rod", mass=1.0, inertia=1.0)
    m.add_driver("drive", "hing", 0.0)
    m.add_friction("rub", "hinge", coulomb=0.1)
    m.add_sensor("encoder", da.angle("elbow"))
    with pytest.raises(da.errors.ModelError) as caught:
        da.equations(m)
    message = str(caught.value)
    for text in ("problems in mechanism 'arm'", "'heavy'", "'rod' is used 2 times", "'hing'", "'rub'", "'encoder'"):
        assert text in message
    assert message.count("\n  - ") == len(m.problems())


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
def test_a_mechanism_of_the_wrong_kind_is_told(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        make()
    assert text in str(caught.value)
