"""Computed torque: servo-constraints that let coordinates follow given functions of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from dalembert.control.servo.udwadia_kalaba import LawInterval, ServoConstraints
from dalembert.control.servo.virtual_constraints import (
    Damping,
    VirtualConstraint,
    prescribe,
    read_constraints,
)
from dalembert.core.declare import checked, instance, positive, refused_as
from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.model.recorded import interpolate_motion
from dalembert.record import Record


@checked
def computed_torque(
    eqs: EquationsOfMotion,
    motion: Annotated[Mapping[str, Any] | Record, instance(Mapping, Record), ModelError],
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: Annotated[float, refused_as("not-positive", positive), "ω [rad/s]", ModelError],
    damping: Damping = 1.0,
    dt: LawInterval | None = None,
) -> ServoConstraints:
    """Inverse-dynamics control: coordinates follow given functions of time, errors decay with ω and ζ.

    motion : coordinate -> function of time, number or Record; or a Record of joint coordinates, from `da.tree.quintic`
        for example.  frequency, damping : of ë + 2 ζ ω ė + ω² e = 0.
    Other arguments as for :func:`udwadia_kalaba`, which this is with one constraint per coordinate.
    """
    require_equations(eqs)
    if isinstance(motion, Record):
        measured = {eqs.measures.names[k] for k in eqs.recorded_measures}
        motion = dict.fromkeys((name for name in motion.names if eqs.full_name(name) in measured), motion)
    wanted: dict[str, Any] = {}
    for name, value in motion.items():
        if isinstance(value, Record):
            value = interpolate_motion(value, name, f"motion of {name!r}")
        wanted[name] = VirtualConstraint(prescribe(name, value), frequency=frequency, damping=damping)
    return ServoConstraints(eqs, read_constraints(wanted, frequency, damping), actuated, dt)
