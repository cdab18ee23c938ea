"""Triangles of the simple shapes of robot files, centred at the origin; cylinders and capsules lie along z."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray

SIDES = 24  # of a circle: its picture differs from a circle by 1 % of the radius


def box(size: FloatArray) -> FloatArray:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(size) / 2
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array(
        [[corners[a], corners[b], corners[c]] for p, q, r, s in faces for a, b, c in ((p, q, r), (p, r, s))]
    )


def turn_profile(radius: FloatArray, height: FloatArray) -> FloatArray:
    """Triangles of the surface that a line of (radius, height) makes about z."""
    angles = np.linspace(0.0, 2 * np.pi, SIDES + 1)
    rings = np.stack(
        [np.outer(radius, np.cos(angles)), np.outer(radius, np.sin(angles)), np.outer(height, np.ones_like(angles))],
        axis=-1,
    )
    a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
    triangles = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    return np.asarray(triangles[area > 0.0])


def cylinder(radius: float, length: float) -> FloatArray:
    return turn_profile(np.array([0.0, radius, radius, 0.0]), np.array([-1.0, -1.0, 1.0, 1.0]) * length / 2)


def capsule(radius: float, length: float) -> FloatArray:
    """A cylinder of this length between two half spheres."""
    polar = np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 2)  # an even number of rings: none at the equator
    cosine = np.cos(polar)
    cosine[[0, -1]] = 0.0
    return turn_profile(radius * cosine, radius * np.sin(polar) + np.sign(polar) * length / 2)


def sphere(radius: float) -> FloatArray:
    return capsule(radius, 0.0)


def ellipsoid(half_axes: FloatArray) -> FloatArray:
    return np.asarray(sphere(1.0) * half_axes)
