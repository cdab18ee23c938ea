"""Forms of bodies as the page draws them.

A body in space of which only mass and inertia are known is drawn as the uniform solid that has them: with principal
radii of gyration k₁² ≤ k₂² ≤ k₃² a cylinder where two of them are equal,

    r² = 2 k_axis² ,   l² = 12 k_across² - 3 r²

else a box with sides a_i² = 6 (k_j² + k_k² - k_i²).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.equations.scene import Scene, SceneJoint
from dalembert.model.joints import JOINTS, Glyph
from dalembert.record import Array


def points3(points: Any) -> Array:
    """(n, 3) from points of two or three coordinates."""
    rows = [[*map(float, point), 0.0][:3] for point in points]
    return np.asarray(rows, dtype=np.float64).reshape(-1, 3)


def rolls(joint: SceneJoint) -> bool:
    """Whether this joint is a wheel or a ball on a plane."""
    return joint.radius > 0.0


def glyph_of(joint: SceneJoint) -> Glyph:
    """The symbol of a joint: that of the scene, else that of its kind."""
    if joint.glyph:
        return Glyph(joint.glyph, joint.legend)
    kind = JOINTS.get(joint.type)
    return Glyph() if kind is None else kind.glyph


def wheels(scene: Scene) -> dict[str | None, dict[str, Any]]:
    """Shapes of bodies that have none and roll: a wheel, or a ball."""
    axles = {}
    for joint in filter(rolls, scene.joints):
        ball, size = glyph_of(joint).shape == "sphere", [joint.radius, 0.1 * joint.radius]
        disc = {"kind": "cylinder", "size": size, "axis": joint.axis or "z", "tyre": True}
        axles[joint.body] = {"kind": "sphere", "size": size[:1]} if ball else disc
    return axles


def shape_of(
    shape: Mapping[str, Any] | None,
    planar: bool,
    # |cos| of the angle between the axis of a cylinder and the view of a planar machine, below which the cylinder
    # is seen from its side: nearer to 90° than to 0° (60° divides the two).
    side: float = 0.5,
) -> dict[str, Any] | None:
    """A shape as the page wants it: box with size, cylinder with radius, length, axis, sphere, rod with its ends, mesh
    with its triangles."""
    if not shape:
        return None
    kind, axis = str(shape.get("kind")), shape.get("axis") or "z"
    if kind == "mesh":
        triangles = np.asarray(shape["triangles"], dtype=np.float64)  # (n, 3, 3) in body axes [m]
        return {"kind": "mesh", "triangles": triangles.reshape(-1, 9), "colors": list(map(list, shape["colors"]))}
    size = [float(v) for v in shape.get("size", [])]
    if kind == "sphere":
        return {"kind": kind, "radius": float(shape.get("radius", size[0] if size else 0.0))}
    along = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.asarray(axis, dtype=np.float64)
    along = along / (np.linalg.norm(along) or 1.0)
    if kind == "rod":
        end = along * float(shape.get("length", size[0] if size else 0.0)) / 2
        return {"kind": kind, "ends": [(-end).tolist(), end.tolist()]}
    if kind == "cylinder":
        radius = float(shape.get("radius", size[0] if size else 0.0))
        length = float(shape.get("length", size[1] if len(size) > 1 else 0.0))
        if planar and abs(along[2]) < side:  # seen from its side
            return {"kind": "box", "size": [*(np.abs(along[:2]) * (length - 2 * radius) + 2 * radius), 2 * radius]}
        tyre = {"tyre": True} if shape.get("tyre") else {}
        return {"kind": kind, "radius": radius, "length": length, "axis": along.tolist(), **tyre}
    if kind == "box":
        return {"kind": kind, "size": [*size, 0.0, 0.0, 0.0][:3]}
    return None


def solid_of(
    gyration: object,
    # Relative difference of principal inertias that pass for equal: 1 % of a radius, which is not visible.
    equal: float = 0.02,
    thin: float = 0.04,  # least side as part of the largest: a rod or a plate without thickness stays visible.
) -> dict[str, Any] | None:
    """The uniform solid with this gyration matrix (3, 3) [m²]; None where there is nothing to draw."""
    matrix = np.asarray(gyration, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        return None
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    if values[2] <= 0.0 or values[0] < 0.0:
        return None
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0
    gaps = np.diff(values) / values[2]
    if gaps.max() < equal:
        return {"kind": "sphere", "radius": float(np.sqrt(2.5 * values.mean())), "guess": True}
    if gaps.min() < equal:
        along = 2 if gaps[0] <= gaps[1] else 0
        across = float(values.sum() - values[along]) / 2
        radius = float(np.sqrt(2.0 * values[along]))
        length = float(np.sqrt(max(12.0 * across - 3.0 * radius**2, 0.0)))
        radius, length = max(radius, thin * length / 2), max(length, thin * 2 * radius)
        return {"kind": "cylinder", "radius": radius, "length": length, "axis": axes[:, along].tolist(), "guess": True}
    sides = np.sqrt(np.maximum(6.0 * (values.sum() - 2.0 * values), 0.0))
    sides = np.maximum(sides, thin * sides.max())
    return {"kind": "box", "size": sides.tolist(), "axes": axes.T.tolist(), "guess": True}


def corners(body: Mapping[str, Any]) -> Array:
    """Points that enclose a body, its origin and its shape (n, 3), body axes."""
    points = [*points3(body.get("points", [])), np.zeros(3)]
    shape = body.get("shape") or {}
    if shape.get("kind") == "rod":
        points += [*points3(shape["ends"])]
    elif shape.get("kind") == "mesh":
        every = np.asarray(shape["triangles"]).reshape(-1, 3)
        points += [every.min(axis=0), every.max(axis=0)]
    elif "axes" in shape:
        ways = np.array(shape["axes"]) * np.array(shape["size"])[:, None] / 2
        points += [a * ways[0] + b * ways[1] + c * ways[2] for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    elif shape:
        half = np.array(shape["size"]) / 2 if "size" in shape else np.full(3, shape["radius"])
        if "axis" in shape:  # a cylinder: its rims reach r sin(angle to its axis) + l/2 cos
            along = np.abs(shape["axis"])
            half = half * np.sqrt(np.maximum(1.0 - along**2, 0.0)) + along * shape.get("length", 0.0) / 2
        points += [half, -half]
    return np.array(points)
