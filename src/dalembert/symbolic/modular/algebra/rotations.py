"""Orientation in symbols: elementary rotations, Euler angles of any sequence, quaternions with the scalar last.

    R = R_a(α) R_b(β) R_c(γ) maps body components to those of the reference frame
    body axes:   skew(ω) = Rᵀ Ṙ ,    space axes:   skew(ω) = Ṙ Rᵀ
    quaternion (x, y, z, t), t the scalar:  q̇ = ½ E ω ,  with the signs of the cross terms opposite in the two frames

Mobility of a linkage (Chebychev, Grübler, Kutzbach): d (bodies - 1) - Σ_k (d - k) J_k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.expressions import Expr
from dalembert.symbolic.parts import rotation_about

SX = ca.SX
AXES = {"x": 0, "y": 1, "z": 2}


def elementary(axis: str, angle: Any) -> Any:
    """Rotation about one coordinate axis."""
    if axis not in AXES:
        raise ModelError("unknown-choice", f"an axis is x, y or z, got {axis!r}.", where={"axis": axis})
    return rotation_about(axis, angle)


def rotation_matrix(sequence: str, angles: Sequence[Any]) -> Any:
    """Product of elementary rotations: ``rotation_matrix("zxy", [heading, lean, pitch])``."""
    if len(sequence) != len(angles):
        raise ModelError("wrong-shape", f"sequence {sequence!r} has {len(sequence)} axes and {len(angles)} angles.")
    R = SX.eye(3)
    for axis, angle in zip(sequence, angles, strict=True):
        R = R @ elementary(axis, angle)
    return R


def homogeneous_matrix(sequence: str, values: Sequence[Any]) -> Any:
    """Product of elementary transforms (4, 4): x, y, z turn by an angle, X, Y, Z shift by a length.

    ``homogeneous_matrix("zX", [angle, length])`` turns about z and then goes along the turned x axis.
    """
    if len(sequence) != len(values):
        raise ModelError("wrong-shape", f"sequence {sequence!r} has {len(sequence)} letters and {len(values)} values.")
    T = SX.eye(4)
    for letter, value in zip(sequence, values, strict=True):
        step = SX.eye(4)
        if letter.lower() in AXES and letter.isupper():
            step[AXES[letter.lower()], 3] = value
        else:
            step[:3, :3] = elementary(letter, value)
        T = T @ step
    return T


def angular_velocity(sequence: str, angles: Sequence[Any]) -> Any:
    """Matrix W of ω = W (rates of the angles), in axes of the body."""
    columns = []
    for k, axis in enumerate(sequence):
        unit = SX.zeros(3)
        unit[AXES[axis]] = 1
        columns.append(rotation_matrix(sequence[k + 1 :], angles[k + 1 :]).T @ unit)
    return ca.horzcat(*columns)


def quaternion_rotation(q: Expr) -> Any:
    """Rotation matrix, body to frame, of a unit quaternion (x, y, z, scalar)."""
    x, y, z, t = (q[k] for k in range(4))
    return ca.vertcat(
        ca.horzcat(t * t + x * x - y * y - z * z, 2 * (x * y - t * z), 2 * (x * z + t * y)),
        ca.horzcat(2 * (x * y + t * z), t * t - x * x + y * y - z * z, 2 * (y * z - t * x)),
        ca.horzcat(2 * (x * z - t * y), 2 * (y * z + t * x), t * t - x * x - y * y + z * z),
    )


def quaternion_spin(q: Expr, frame: str = "body") -> Any:
    """Matrix G of ω = G q̇ (3 x 4), with q̇ = Gᵀ ω / 4, of a unit quaternion (x, y, z, scalar)."""
    x, y, z, t = (q[k] for k in range(4))
    s = 1 if frame == "body" else -1
    return 2 * ca.vertcat(
        ca.horzcat(t, s * z, -s * y, -x), ca.horzcat(-s * z, t, s * x, -y), ca.horzcat(s * y, -s * x, t, -z)
    )


def skew(a: Expr) -> Any:
    """Matrix with skew(a) b = a × b."""
    return ca.vertcat(ca.horzcat(0, -a[2], a[1]), ca.horzcat(a[2], 0, -a[0]), ca.horzcat(-a[1], a[0], 0))


def unskew(A: Expr) -> Any:
    """The vector of a skew-symmetric matrix."""
    return ca.vertcat(A[2, 1], A[0, 2], A[1, 0])


def count_freedoms(bodies: int, joints: Mapping[int, int], planar: bool = False) -> int:
    """Freedoms of a linkage from counts alone: bodies with the base, and the number of joints by their freedoms.

    Examples
    --------
    >>> count_freedoms(4, {1: 4}, planar=True)  # a four-bar linkage
    1
    """
    d = 3 if planar else 6
    return d * (bodies - 1) - sum((d - freedoms) * count for freedoms, count in joints.items())
