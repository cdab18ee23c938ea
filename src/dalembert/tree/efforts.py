"""Efforts along the coordinates of a tree, and motions beyond the limits of joints."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call, Finding
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.limits import ROUNDING, find_exceeded
from dalembert.solve.position.prescribed_motion import acceleration_name
from dalembert.tree.evaluation import accelerations, read_states


def required_efforts(eqs: EquationsOfMotion, q: Array, v: Array, a: Array) -> Array:
    """(n, nv) efforts along the speeds that produce a motion: M v̇ - f with all inputs zero."""
    count = len(q)
    u = np.array([eqs.resting_inputs.get(name, 0.0) for name in eqs.inputs.names])
    M = eqs.kernel("inertia").many(q, eqs.p, 0.0)[0].reshape(count, eqs.nv, eqs.nv)
    rest = (np.zeros((count, eqs.nz)), np.tile(u, (count, 1)), eqs.p, 0.0, np.zeros((count, len(eqs.rows))))
    f = eqs.kernel("forces").many(q, v, *rest)[0].reshape(count, eqs.nv)
    return np.asarray(np.einsum("kij,kj->ki", M, a) - f)


def check_limits(eqs: EquationsOfMotion, motion: State | Record) -> tuple[Finding, ...]:
    """Limits of joints that a state or a motion exceeds: one finding for each, at the place of its largest excess.

    motion : positions and speeds are compared where the record has them; efforts where it has all coordinates, speeds
        and accelerations (of a machine without loops): those that the motion needs, from any source.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True, gravity=0)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0), limits={"upper": 1.0, "effort": 1.0})
    >>> eqs = da.equations(m, coordinates="joint")
    >>> [found.where["channel"] for found in da.tree.check_limits(eqs, da.tree.quintic(eqs, {"hinge": [0, 1]}, 0.5))]
    ['hinge.angle.effort']
    """
    require_equations(eqs)
    if not isinstance(motion, (State, Record)):
        raise ModelError(
            "wrong-type", f"limits are checked along a State or a Record, got {type(motion).__name__}.",
            Advice("Make one with {}.", Call("da.tree.follow_path")),
        )  # fmt: skip
    found = find_exceeded(eqs, motion)
    limits = {
        name: own.effort for name, own in eqs.limits.items() if own.effort is not None and name in eqs.coordinates.index
    }
    if isinstance(motion, State) or not limits or eqs.rows or eqs.nz or not _needs_efforts(eqs, motion):
        return tuple(found)
    at = read_states(eqs, motion)
    efforts = required_efforts(eqs, at.q, at.v, accelerations(eqs, None, motion))
    for name, limit in limits.items():
        column = eqs.speeds.index[eqs.measure_rates.names[eqs.measures.index[name]]]
        k = int(np.argmax(np.abs(efforts[:, column])))
        value, t = float(efforts[k, column]), float(motion.time[k])
        if abs(value) > limit * (1 + ROUNDING):
            problem = (
                f"the effort along {name!r} is {value:.6g}, beyond its limit of {limit:.6g} (most at t = {t:.4g} s)."
            )
            advice = (Advice("Give the motion more time: {}.", Call("da.tree.scale_time")),)
            where = {"channel": f"{name}.effort", "time": t}
            found.append(Finding("out-of-range", problem, where, {"limit": limit, "value": value}, advice))
    return tuple(found)


def _needs_efforts(eqs: EquationsOfMotion, motion: Record) -> bool:
    """Whether a record has every coordinate, speed and acceleration, but no inputs, whose limits are compared above."""
    if any(name in motion.names for name in eqs.inputs.names):
        return False
    positions = [eqs.counted_angles.get(name, name) for name in eqs.coordinates.names]
    seconds = [acceleration_name(name, eqs.speeds.index) for name in eqs.speeds.names]
    return {*positions, *eqs.speeds.names, *seconds} <= {*motion.names}
