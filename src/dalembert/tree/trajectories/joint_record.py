"""Samples of all coordinates of a machine as a motion: rates and accelerations by splines through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.orientations import align_signs, turn_along
from dalembert.solve.position.prescribed_motion import spline
from dalembert.tree.trajectories.waypoints import Waypoints, make_column


def joint_record(eqs: EquationsOfMotion, time: Array, q: Array, method: str, **statistics: Any) -> Record:
    """Record of coordinates (n, nq) at times, with rates and accelerations; orientations with ω and ω̇."""
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    places = [k for k, name in enumerate(eqs.coordinates.names) if k not in inner and name not in eqs.unrecorded]
    p = np.stack([align_signs(q[:, block.part]) for block in eqs.quaternions] or [np.zeros((len(time), 4))], axis=1)
    p = p[:, : len(eqs.quaternions)]

    def curves(values: Array) -> list[Array]:
        curve = spline(time, values)
        return [values, *(np.asarray(curve.derivative(k)(time)) if curve.k >= k else 0 * values for k in (1, 2))]

    columns = tuple(make_column(eqs, eqs.coordinates.names[k]) for k in places)
    turned = [turn_along(*curves(p[:, k])) for k in range(len(eqs.quaternions))]
    way = Waypoints(eqs, columns, q[:, places], tuple(block.owner for block in eqs.quaternions), p)
    parts = [np.stack(x, axis=1) for x in zip(*turned, strict=True)] if turned else []
    return way.record(time, curves(q[:, places]), parts, method, **statistics)
