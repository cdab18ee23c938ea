"""Computed torque: servo-constraints that let coordinates follow given functions of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dalembert.control.servo.udwadia_kalaba import ServoConstraints
from dalembert.control.servo.virtual_constraints import (
    VirtualConstraint,
    prescribe,
    read_constraints,
)
from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.expressions.quantities import is_real
from dalembert.model.recorded import interpolate_motion
from dalembert.record import Record


def computed_torque(
    eqs: EquationsOfMotion,
    motion: Mapping[str, Any] | Record,
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: float,
    damping: float = 1.0,
    dt: float | None = None,
) -> ServoConstraints:
    """Inverse-dynamics control: coordinates follow given functions of time, errors decay with ω and ζ.

    motion : coordinate -> function of time, number or Record; or a Record of joint coordinates, from `da.tree.quintic`
        for example.  frequency, damping : of ë + 2 ζ ω ė + ω² e = 0.
    Other arguments as for :func:`udwadia_kalaba`, which this is with one constraint per coordinate.
    """
    require_equations(eqs)
    if not (is_real(frequency) and frequency > 0.0):
        raise ModelError("not-positive", f"frequency must be positive [rad/s], got {frequency!r}.")
    if isinstance(motion, Record):
        own = {eqs.measures.names[k] for k in eqs.recorded_measures}
        motion = dict.fromkeys((name for name in motion.names if eqs.full_name(name) in own), motion)
    if not isinstance(motion, Mapping):
        raise ModelError("wrong-type", f"motion must be a mapping of coordinates to functions of time; got {motion!r}.")
    wanted: dict[str, Any] = {}
    for name, value in motion.items():
        if isinstance(value, Record):
            value = interpolate_motion(value, name, f"motion of {name!r}")
        wanted[name] = VirtualConstraint(prescribe(name, value), frequency=frequency, damping=damping)
    return ServoConstraints(eqs, read_constraints(wanted, frequency, damping), actuated, dt)
