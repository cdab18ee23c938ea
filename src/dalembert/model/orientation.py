"""Orientations: axis and angle, rotation vectors, Tait-Bryan angles, quaternions and matrices, each into each other.

    R = 1 + sin φ ẽ + 2 sin²(φ/2) ẽ² ,   p = (cos φ/2, e sin φ/2)     turn by φ about the unit axis e (Rodrigues)
    R = Rz(yaw) Ry(pitch) Rx(roll)                                     Tait-Bryan angles

R maps body components to world components; quaternions p are scalar first. Formulas take numbers, arrays of samples and
expressions of time alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.expressions.quantities import atan2, cos, is_symbolic, sin, sqrt, where
from dalembert.model.bodies import entries as entries
from dalembert.model.bodies import rotation_matrix, unit
from dalembert.record.units import in_si


def product(p: Any, r: Any) -> tuple[Any, Any, Any, Any]:
    """Quaternion of the turn r followed, in world axes, by the turn p."""
    return (
        p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3],
        p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2],
        p[0] * r[2] - p[1] * r[3] + p[2] * r[0] + p[3] * r[1],
        p[0] * r[3] + p[1] * r[2] - p[2] * r[1] + p[3] * r[0],
    )


def exponential(turn: Any, series_below: float = 1e-4) -> tuple[Any, Any, Any, Any]:
    """Quaternion of a rotation vector; smooth, and its derivatives too.

    series_below : square of a turn; the next terms of the series are below 1e-16.
    """
    square = turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]
    small = square < series_below
    half = sqrt(where(small, 1.0, square)) / 2
    series = 0.5 - square / 48 + square**2 / 3840 - square**3 / 645120
    factor = where(small, series, sin(half) / (2 * half))
    scalar = where(small, 1 - square / 8 + square**2 / 384 - square**3 / 46080, cos(half))
    return (scalar, factor * turn[0], factor * turn[1], factor * turn[2])


def logarithm(p: Any, series_below: float = 1e-4) -> tuple[Any, Any, Any]:
    """Rotation vector of a unit quaternion, its angle between 0 and 2π: continuous as long as the quaternion is."""
    square = p[1] * p[1] + p[2] * p[2] + p[3] * p[3]
    small = (square < series_below) * (p[0] > 0)
    size = sqrt(where(small, 1.0, where(square > 0, square, 1.0)))
    ratio = square / where(small, p[0] * p[0], 1.0)
    series = 2 / where(small, p[0], 1.0) * (1 - ratio / 3 + ratio**2 / 5 - ratio**3 / 7)
    factor = where(small, series, 2 * atan2(size, p[0]) / size)
    return (factor * p[1], factor * p[2], factor * p[3])


def angles(p: object, locked_below: float = 1e-9) -> tuple[Any, Any, Any]:
    """Roll, pitch and yaw of a unit quaternion; where the cosine of the pitch is zero the roll is zero."""
    R = entries(p)
    level = sqrt(R[2][1] ** 2 + R[2][2] ** 2)
    locked = level < locked_below
    roll = where(locked, 0.0, atan2(R[2][1], where(locked, 1.0, R[2][2])))
    yaw = where(locked, atan2(-R[0][1], R[1][1]), atan2(R[1][0], where(locked, 1.0, R[0][0])))
    return roll, atan2(-R[2][0], level), yaw


def from_angles(roll: Any, pitch: Any, yaw: Any) -> tuple[Any, Any, Any, Any]:
    x, y, z = ((cos(a / 2), sin(a / 2)) for a in (roll, pitch, yaw))
    return product((z[0], 0.0, 0.0, z[1]), product((y[0], 0.0, y[1], 0.0), (x[0], x[1], 0.0, 0.0)))


def quaternion_from_matrix(matrix: object) -> Any:
    """Euler parameters of a numeric rotation matrix, scalar part not negative."""
    import numpy as np

    m = np.asarray(matrix, dtype=float)
    candidates = np.array(
        [
            1 + m[0, 0] + m[1, 1] + m[2, 2],
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(np.argmax(candidates))
    root = 2 * np.sqrt(candidates[k])
    d = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    s = (m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2])
    rows = (
        (root / 4, d[0] / root, d[1] / root, d[2] / root),
        (d[0] / root, root / 4, s[0] / root, s[1] / root),
        (d[1] / root, s[0] / root, root / 4, s[2] / root),
        (d[2] / root, s[1] / root, s[2] / root, root / 4),
    )
    p = np.array(rows[k])
    p /= np.linalg.norm(p)
    return p if p[0] >= 0 else -p


@dataclass(frozen=True)
class Rotation:
    """An orientation, or one per sample; made by `rotation`.

    ``quaternion`` holds e0, e1, e2, e3 (scalar first); the other forms follow from it.
    """

    quaternion: tuple[Any, Any, Any, Any]

    @property
    def matrix(self) -> Any:
        """Rotation matrix (..., 3, 3): body components to world components."""
        import numpy as np

        rows = np.array(entries(self.quaternion), dtype=float)
        return np.moveaxis(rows, (0, 1), (-2, -1))

    @property
    def vector(self) -> Any:
        """Rotation vector (..., 3) [rad], its length between 0 and 2π."""
        import numpy as np

        return np.stack(np.broadcast_arrays(*logarithm(self.quaternion)), axis=-1)

    @property
    def angle(self) -> Any:
        """Angle of the turn [rad], between 0 and 2π."""
        import numpy as np

        return np.linalg.norm(self.vector, axis=-1)

    @property
    def tait_bryan(self) -> Any:
        """Roll, pitch and yaw (..., 3) [rad]; the pitch between -90° and 90°."""
        import numpy as np

        return np.stack(np.broadcast_arrays(*angles(self.quaternion)), axis=-1)


def rotation(
    *,
    axis: Any = None,
    angle: Any = None,
    vector: Any = None,
    tait_bryan: Any = None,
    quaternion: Any = None,
    matrix: Any = None,
) -> Rotation:
    """An orientation, given in one of these ways.

    Parameters
    ----------
    axis, angle : a turn by an angle [rad] about an axis of any length.
    vector : rotation vector, axis times angle [rad].
    tait_bryan : roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll).
    quaternion : four numbers, scalar first, of any length; or a list of four channels, such as those of a run.
    matrix : 3x3, body components to world components.

    Angles, rotation vectors and quaternions may be functions of time within a motion or a driver, and arrays.

    Returns
    -------
    Rotation with ``quaternion``, ``matrix``, ``vector``, ``angle``, ``tait_bryan``.

    Examples
    --------
    >>> import math
    >>> import dalembert as da
    >>> turned = da.rotation(axis=(0, 0, 2), angle=math.pi / 2)
    >>> [round(float(x), 12) for x in turned.vector]
    [0.0, 0.0, 1.570796326795]
    >>> m = da.Mechanism("turned")
    >>> body = m.add_body("body", mass=1.0, inertia=1.0, rotation=turned)
    """
    ways = {"axis": axis, "vector": vector, "tait_bryan": tait_bryan, "quaternion": quaternion, "matrix": matrix}
    named = [key for key, value in ways.items() if value is not None]
    if len(named) != 1 or (angle is None) != (axis is None):
        code = "conflicting-arguments" if len(named) > 1 else "missing-argument"
        advice = Advice("Give {}; an axis needs an angle.", *map(Argument, ways))
        raise ModelError(code, f"a rotation is given in one way; got {', '.join(named) or 'none'}.", advice)
    if axis is not None:
        e, angle = unit(axis, "the axis of a rotation"), in_si(angle, "angle", what="angle", error=ModelError)
        if isinstance(angle, (str, Sequence)) or not hasattr(angle, "__truediv__"):
            raise ModelError("not-a-number", f"the angle of a rotation must be a number, got {angle!r}.")
        (angle,) = _parts((angle,), 1, "the angle of a rotation")
        return Rotation((cos(angle / 2), *(c * sin(angle / 2) for c in e)))
    if vector is not None:
        angles = in_si(vector, "angle", what="vector", error=ModelError)
        return Rotation(exponential(_parts(angles, 3, "a rotation vector")))
    if tait_bryan is not None:
        angles = in_si(tait_bryan, "angle", what="tait_bryan", error=ModelError)
        return Rotation(from_angles(*_parts(angles, 3, "Tait-Bryan angles")))
    if quaternion is not None:
        return Rotation(normalise(_parts(quaternion, 4, "a quaternion")))
    w, x, y, z = map(float, quaternion_from_matrix(rotation_matrix(matrix, "the matrix of a rotation")))
    return Rotation((w, x, y, z))


def normalise(p: tuple[Any, ...], shortest: float = 1e-12) -> tuple[Any, Any, Any, Any]:
    """A quaternion of unit length."""
    import numpy as np

    size = sqrt(sum(c * c for c in p))
    if not is_symbolic(size) and not (np.all(np.isfinite(size)) and np.all(size > shortest)):
        raise ModelError("zero-length", "a quaternion must be four finite numbers, not all zero.")
    return (p[0] / size, p[1] / size, p[2] / size, p[3] / size)


def _parts(given: Any, count: int, what: str) -> tuple[Any, ...]:
    """The components of a vector: of a list, an array (samples first), or an expression."""
    if is_symbolic(given):
        parts = tuple(given[k] for k in range(given.shape[0])) if given.shape[1] == 1 else ()
    elif hasattr(given, "ndim") and given.ndim == 2 and given.shape[1] == count:
        parts = tuple(given.T)
    else:
        parts = () if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__") else tuple(given)
    if len(parts) != count:
        raise ModelError("wrong-shape", f"{what} must be {count} values, got {given!r}.")
    for component in parts:
        if isinstance(component, float) and not math.isfinite(component):
            raise ModelError("not-finite", f"{what} must be finite, got {given!r}.")
    return parts


def as_rotation(given: Any, what: str) -> Rotation:
    """A `Rotation`, or three values of a rotation vector, or four of a quaternion."""
    if isinstance(given, Rotation):
        return given
    count = given.shape[0] if is_symbolic(given) else len(given) if hasattr(given, "__len__") else 0
    if count == 3:
        return rotation(vector=given)
    if count == 4:
        return rotation(quaternion=given)
    problem = f"{what} must be an orientation: a rotation vector (3 values) or a quaternion (4), got {given!r}."
    raise ModelError("wrong-type", problem, Advice("Make one by {}.", Call("da.rotation")))


def split_pose(given: Any, what: str) -> tuple[tuple[Any, ...], Rotation]:
    """Position and orientation: x, y, z followed by a `Rotation`, a rotation vector or a quaternion."""
    parts = tuple(given[k] for k in range(given.shape[0])) if is_symbolic(given) else given
    if isinstance(parts, (str, bytes)) or not hasattr(parts, "__len__") or len(parts) not in (4, 6, 7):
        raise ModelError(
            "wrong-type",
            f"{what} must be x, y, z followed by a rotation vector (3 values) or a quaternion (4); got {given!r}.",
            Advice("Make an orientation by {}.", Call("da.rotation")),
        )
    parts = tuple(parts)
    return parts[:3], as_rotation(parts[3] if len(parts) == 4 else parts[3:], what)
