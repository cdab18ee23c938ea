"""Computed torque: servo-constraints that let coordinates follow given functions of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from dalembert.control.servo.udwadia_kalaba import LawInterval, ServoConstraints
from dalembert.control.servo.virtual_constraints import VirtualConstraint, prescribe, read_constraints
from dalembert.core.declare import ArgumentKind, Scope, checked, instance, mapping, not_negative, positive, refused_as
from dalembert.core.errors import ModelError, require_name
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.model.recorded import interpolate_motion
from dalembert.record import Record


def by_coordinate(number: ArgumentKind) -> ArgumentKind:
    """A number for all coordinates, or {coordinate: number}."""

    def read(name: str, value: Any, scope: Scope) -> Any:
        kind = mapping("coordinate", number) if isinstance(value, Mapping) else number
        return kind.read(name, value, scope)

    return ArgumentKind(f"{number.expected}, or one for each coordinate by name", read)


Frequencies = Annotated[Any, by_coordinate(refused_as("not-positive", positive)), "ω [rad/s]", ModelError]
Dampings = Annotated[Any, by_coordinate(refused_as("negative", not_negative)), "ζ of the decay", ModelError]


@checked
def computed_torque(
    eqs: EquationsOfMotion,
    motion: Annotated[Mapping[str, Any] | Record, instance(Mapping, Record), ModelError],
    *,
    actuated: str | Iterable[str] | None = None,
    frequency: Frequencies,
    damping: Dampings = 1.0,
    dt: LawInterval | None = None,
) -> ServoConstraints:
    """Inverse-dynamics control: coordinates follow given functions of time, errors decay with ω and ζ.

    motion : coordinate -> function of time, number or Record; or a Record of joint coordinates, from `da.tree.quintic`
        for example.
    frequency, damping : of ë + 2 ζ ω ė + ω² e = 0; one for all, or ``{"shoulder.angle": 12.0, "elbow.angle": 16.0}``.
    Other arguments as for :func:`udwadia_kalaba`, which this is with one constraint per coordinate.
    """
    require_equations(eqs)
    targets = read_motion(eqs, motion)
    names = [eqs.full_name(name) for name in targets]
    values = [read_by_coordinate(eqs, names, each) for each in (frequency, damping)]
    constraints: dict[str, Any] = {}
    for name, value in targets.items():
        omega, zeta = (each[eqs.full_name(name)] for each in values)
        constraints[name] = VirtualConstraint(prescribe(name, value), frequency=omega, damping=zeta)
    return ServoConstraints(eqs, read_constraints(constraints, 0.0, 1.0), actuated, dt)


def read_motion(eqs: EquationsOfMotion, motion: Mapping[str, Any] | Record) -> dict[str, Any]:
    """Coordinate -> number or function of time."""
    if isinstance(motion, Record):
        measured = {eqs.measures.names[k] for k in eqs.recorded_measures}
        motion = dict.fromkeys((name for name in motion.names if eqs.full_name(name) in measured), motion)
    targets = {}
    for name, value in motion.items():
        full = eqs.full_name(name)
        channel = full if isinstance(value, Record) and full in value.names else name
        is_record = isinstance(value, Record)
        targets[name] = interpolate_motion(value, channel, f"motion of {name!r}") if is_record else value
    return targets


def read_by_coordinate(eqs: EquationsOfMotion, names: Sequence[str], value: Any) -> dict[str, float]:
    """A number for each coordinate."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, float(value))
    numbers = {eqs.full_name(name): float(number) for name, number in value.items()}
    for name in numbers:
        require_name("coordinate", name, names, "the motion", error=ModelError)
    missing = [name for name in names if name not in numbers]
    ModelError.when(bool(missing), "missing-argument", f"{(missing or [''])[0]!r} has no value of its own.")
    return numbers
