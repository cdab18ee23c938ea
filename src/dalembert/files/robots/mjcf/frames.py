"""Frames of MJCF: a place and an orientation in one of five forms.

quat        four numbers, scalar first
axisangle   an axis and an angle about it
euler       three angles about the axes of eulerseq: x, y, z turned with the frame, X, Y, Z fixed
xyaxes      direction of x, and of y, which is made square to x
zaxis       direction of z; the turn from the old z to it is the shortest one
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots.mjcf.defaults import ORIENTATIONS
from dalembert.files.robots.mjcf.document import MjcfReader
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode
from dalembert.model.orientation import rotation

FORMS = dict(zip(ORIENTATIONS, (4, 4, 3, 6, 3), strict=True))  # and their counts of numbers
POSE = ("pos", *FORMS)
SMALL = 1e-14  # a smaller direction or sine is zero, as in MuJoCo


def read_origin(reader: MjcfReader, node: XmlNode) -> Origin:
    """Pose of an element in the frame around it."""
    return Origin(reader.place(node, "pos"), read_axes(reader, node))


def read_axes(reader: MjcfReader, node: XmlNode) -> FloatArray:
    forms = [form for form in FORMS if form in node.attributes]
    if len(forms) > 1:
        problem = f"<{node.tag}> has {' and '.join(forms)}; give one orientation only."
        reader.problem(node, "conflicting-arguments", problem)
    if not forms:
        return np.eye(3)
    form = forms[0]
    values = reader.numbers(node, form, FORMS[form])
    if form == "euler":
        return _euler(reader, values)
    directions = {"quat": values, "axisangle": values[:3], "xyaxes": values[:3], "zaxis": values}[form]
    if not np.linalg.norm(directions) > SMALL:
        reader.problem(node, "zero-length", f"{form} of <{node.tag}> has no direction.")
        return np.eye(3)
    if form == "quat":
        return np.array(rotation(quaternion=tuple(values)).matrix)
    if form == "axisangle":
        return np.array(rotation(axis=tuple(values[:3]), angle=reader.settings.angle(float(values[3]))).matrix)
    if form == "zaxis":
        return axes_along(values)
    x = values[:3] / np.linalg.norm(values[:3])
    y = values[3:] - x * (x @ values[3:])
    if not np.linalg.norm(y) > SMALL:
        reader.problem(node, "parallel", f"xyaxes of <{node.tag}>: the two directions are parallel.")
        return np.eye(3)
    y = y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def _euler(reader: MjcfReader, values: FloatArray) -> FloatArray:
    axes = np.eye(3)
    for letter, value in zip(reader.settings.euler, values, strict=True):
        axis = tuple(np.eye(3)["xyz".index(letter.lower())])
        turn = np.array(rotation(axis=axis, angle=reader.settings.angle(float(value))).matrix)
        axes = axes @ turn if letter.islower() else turn @ axes
    return axes


def axes_along(direction: FloatArray) -> FloatArray:
    """Axes whose z has this direction, by the shortest turn."""
    z = direction / np.linalg.norm(direction)
    axis = np.cross([0.0, 0.0, 1.0], z)
    sine = float(np.linalg.norm(axis))
    if sine < SMALL:
        return np.eye(3) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return np.array(rotation(axis=tuple(axis / sine), angle=float(np.arctan2(sine, z[2]))).matrix)
