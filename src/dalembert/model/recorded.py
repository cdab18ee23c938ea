"""Recorded coordinates: orientations in their channels, and samples as functions of time for drivers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.expressions import maximum, minimum
from dalembert.model.orientation import rotation
from dalembert.model.sensors.orientation import FORMS
from dalembert.record import Record

DEGREE = 5  # of the splines: accelerations are smooth, their error goes with interval⁴


def read_orientation(record: Record, body: str) -> tuple[tuple[str, ...], FloatArray] | None:
    """Channels of an orientation, and its quaternions (n, 4) of unit length without jumps of sign."""
    for form, parts in (("quaternion", FORMS["quaternion"]), *FORMS.items()):
        names = tuple(f"{body}.{component}" for component in parts)
        if all(name in record.names for name in names):
            values = record[list(names)]
            key = {"quaternion": "quaternion", "rotation vector": "vector", "tait-bryan": "tait_bryan"}[form]
            p = np.column_stack(np.broadcast_arrays(*rotation(**{key: values}).quaternion))
            along = np.sign(np.einsum("ij,ij->i", p[1:], p[:-1]))
            p[1:] *= np.cumprod(np.where(along < 0, -1.0, 1.0))[:, None]
            return names, p
    return None


@dataclass(frozen=True)
class Spline:
    """A function of time through samples, twice differentiable; before and after them it keeps its end values.

    starts : (n,) times at which the pieces begin; end : where the last one ends.
    pieces : (6, n) coefficients of each piece in t - start, highest power first.
    """

    starts: FloatArray
    end: float
    pieces: FloatArray

    @classmethod
    def through(cls, times: FloatArray, values: FloatArray) -> Spline:
        from scipy.interpolate import PPoly, make_interp_spline

        spline = PPoly.from_spline(make_interp_spline(times, values, k=DEGREE))
        is_piece = np.diff(spline.x) > 0.0  # knots at the ends are repeated
        return cls(spline.x[:-1][is_piece], float(spline.x[-1]), spline.c[:, is_piece])

    def __call__(self, t: Any) -> Any:
        t = minimum(maximum(t, float(self.starts[0])), self.end)
        later = [t >= float(start) for start in self.starts[1:]]

        def choose(values: FloatArray) -> Any:
            result = float(values[0])
            for passed, change in zip(later, np.diff(values), strict=True):
                result = result + passed * float(change)
            return result

        s = t - choose(self.starts)
        result: Any = 0.0
        for row in self.pieces:
            result = result * s + choose(row)
        return result


def interpolate_motion(record: Record, coordinate: str, what: str, most: int = 1000) -> Callable[[Any], Any]:
    """The motion of a coordinate, an orientation (``plate.rotation``) or a pose (``plate.pose``) in a record.

    most : samples; the expression of a driver contains all of them.
    """
    if not DEGREE < len(record.time) <= most:
        few = len(record.time) <= DEGREE
        raise ModelError(
            "too-few-samples" if few else "too-many-samples",
            f"{what}: a driver takes {DEGREE + 1} to {most} samples, the record has {len(record.time)}.",
            Advice("Take a part or fewer samples with {}.", Call("record.between"), Call("record.resample")),
            Advice("Records of any length are a motion of {}.", Call("da.kinematics"), Call("da.inverse_dynamics")),
            evidence={"samples": len(record.time)},
        )
    owner, _, kind = coordinate.rpartition(".")
    names, columns = [coordinate], []
    turned = kind in ("rotation", "pose") and coordinate not in record.names
    if turned:
        turn = read_orientation(record, owner)
        if turn is None:
            forms = "; ".join(", ".join(f"{owner}.{component}" for component in parts) for parts in FORMS.values())
            problem = f"{what}: the record has no orientation of {owner!r}. It needs {forms}."
            raise ModelError("unknown-name", problem, where={"body": owner})
        names = [f"{owner}.{axis}" for axis in "xyz"] if kind == "pose" else []
        columns = list(turn[1].T)
    for name in names:
        where = {"channel": name}
        require_name("channel", name, record.names, "the record", argument=what, error=ModelError, where=where)
    columns = [*(record[name] for name in names), *columns]
    if not all(np.isfinite(column).all() for column in columns):
        raise ModelError("not-finite", f"{what}: the record has values that are not finite.")
    splines = [Spline.through(record.time, column) for column in columns]
    places, quaternion = splines[: len(names)], splines[len(names) :]

    def motion(t: object) -> Any:
        if not turned:
            return places[0](t)
        orientation = rotation(quaternion=[spline(t) for spline in quaternion])
        return [*(spline(t) for spline in places), orientation] if places else orientation

    return motion
