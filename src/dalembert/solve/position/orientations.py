"""Prescribed orientations of bodies in space: as functions of time, as samples, and the difference of a pose from them.

An orientation p*(t) gives three rows, whose rates are the angular velocity in body axes:

    2 vec(p*⁻¹ p) = 0 ,   ω = ω* = 2 Ē(p*) ṗ* ,   ω̇ = ω̇* = 2 Ē(p*) p̈*

with ṗ = ½ Ēᵀ ω. A rotation vector may replace p*; whole turns and the sign of the quaternion do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.mechanics.rotations import exponential, rate_matrix, turn_between
from dalembert.model.orientation import Rotation, as_rotation, logarithm, normalise, rotation, split_pose

SX = ca.SX
AXES = ("rx", "ry", "rz")


def pose_names(eqs: EquationsOfMotion) -> set[str]:
    """Names under which whole orientations are given: ``plate.rotation``, ``plate.pose``."""
    return {f"{body}.{kind}" for body in eqs.turning_bodies for kind in ("rotation", "pose")}


def take_poses(
    eqs: EquationsOfMotion, given: Mapping[str, Any], what: str
) -> tuple[dict[str, Any], dict[str, Rotation]]:
    """Orientations among named values: (the rest, with x, y, z of poses, body -> orientation).

    ``plate.rotation`` and ``plate.pose``, or ``plate.rx``, ``plate.ry`` and ``plate.rz`` of a rotation vector.
    """
    rest = dict(given)
    turned: dict[str, Rotation] = {}

    def put(body: str, value: object, label: str) -> None:
        if body in turned:
            raise ModelError("duplicate", f"{what}: the orientation of {body!r} is given twice.")
        turned[body] = as_rotation(value, f"{what}: {label!r}")

    for body in eqs.turning_bodies:
        if f"{body}.rotation" in rest:
            put(body, rest.pop(f"{body}.rotation"), f"{body}.rotation")
        if f"{body}.pose" in rest:
            place, value = split_pose(rest.pop(f"{body}.pose"), f"{what}: '{body}.pose'")
            put(body, value, f"{body}.pose")
            for axis, x in zip("xyz", place, strict=True):
                if f"{body}.{axis}" in rest:
                    raise ModelError("duplicate", f"{what}: '{body}.{axis}' is given twice.")
                rest[f"{body}.{axis}"] = x
        parts = [name for name in (f"{body}.{axis}" for axis in AXES) if name in rest]
        if 0 < len(parts) < 3:
            raise ModelError(
                "incomplete-orientation",
                f"{what}: {', '.join(parts)} alone are no orientation: give {body}.rx, {body}.ry and {body}.rz, or "
                f"'{body}.rotation'.",
                Advice("A single angle can be prescribed as a sensor: {}.", Call("da.orientation")),
            )
        if parts:
            put(body, tuple(rest.pop(name) for name in parts), f"{body}.rx")
    return rest, turned


def turn_gap(s: object, p: object) -> Any:
    """How far Euler parameters p are from the rotation vector s: a turn in body axes."""
    return turn_between(exponential(s), p)


def rates_of_time(turned: Rotation, t: object, what: str) -> tuple[Any, Any, Any]:
    """Rotation vector, ω and ω̇ (body axes) of an orientation that is an expression of time."""
    try:
        p = ca.vertcat(*(SX(c) for c in normalise(tuple(turned.quaternion))))
    except NotImplementedError:
        raise ModelError("wrong-type", f"{what} must be made of expressions or numbers.") from None
    omega = 4 * rate_matrix(p).T @ ca.jacobian(p, t)  # the rate matrix is ½ Ēᵀ
    return ca.vertcat(*logarithm([p[k] for k in range(4)])), omega, ca.jacobian(omega, t)


# --- samples ----------------------------------------------------------------------------------------------------------


def to_omega(p: Array, rates: Array) -> Array:
    """2 Ē(p) x of samples (n, 4): the angular velocity in body axes of quaternion rates."""
    w, x, y, z = p.T
    E = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    return np.asarray(2 * np.einsum("kin,ni->nk", E, rates))


def to_rates(p: Array, omega: Array) -> Array:
    """½ Ēᵀ(p) ω of samples."""
    w, x, y, z = p.T
    E = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    return np.asarray(0.5 * np.einsum("kin,nk->ni", E, omega))


def interpolate_orientations(
    times: Array, p: Array, omega: Array, alpha: Array, wanted: Array
) -> tuple[Array, Array, Array]:
    """Rotation vector, ω and ω̇ between samples: quintic through quaternions and their two derivatives."""
    from scipy.interpolate import BPoly

    first = to_rates(p, omega)
    second = to_rates(first, omega) + to_rates(p, alpha)
    through = BPoly.from_derivatives(times, np.stack((p, first, second), axis=1))
    p, w, a = turn_along(*(through.derivative(k)(wanted) if k else through(wanted) for k in range(3)))
    return rotation(quaternion=p).vector, w, a


def align_signs(p: Array) -> Array:
    """Euler parameters (n, ..., 4) of successive samples without jumps of sign: p and -p are one orientation."""
    along = np.where((p[1:] * p[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
    return np.concatenate((p[:1], p[1:] * np.cumprod(along, axis=0)[..., None]))


def turn_along(q: Array, rates: Array, second: Array) -> tuple[Array, Array, Array]:
    """Unit quaternion, ω and ω̇ of samples (n, 4) of a curve with its derivatives, for values of any length."""
    square = (q * q).sum(axis=1)[:, None]
    w = to_omega(q, rates) / square
    a = to_omega(q, second) / square - w * 2 * (q * rates).sum(axis=1)[:, None] / square
    return q / np.sqrt(square), w, a
