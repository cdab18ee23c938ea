"""Limits of joint coordinates as data: read where a joint is added."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations.channels import CoordinateLimits
from dalembert.expressions.quantities import is_real
from dalembert.model.options import Option
from dalembert.record.units import in_si, per_second

if TYPE_CHECKING:
    from dalembert.model.joints.joint import Coordinate

GivenLimits = Mapping[str, Any] | CoordinateLimits | None  # of the only coordinate of a joint, or of each by name
KEYS = ("lower", "upper", "speed", "effort")


def limits_option(coordinates: Sequence[Coordinate]) -> Option:
    """The option `limits` of a kind of joint; its choices are the coordinates, where there are several."""
    names = tuple(c.name for c in coordinates) if len(coordinates) > 1 else ()
    whose = f"of {' and '.join(names)}, each " if names else ""
    return Option("limits", "limits", f"{whose}with lower, upper, speed, effort; data, no stops", None, choices=names)


def read_limits(coordinates: Iterable[Coordinate], given: GivenLimits, what: str) -> dict[str, CoordinateLimits]:
    """Limits by the coordinate's name."""
    units = {c.name: c.unit for c in coordinates}
    names = [*units]
    if given is None:
        return {}
    if len(names) == 1 and not (isinstance(given, Mapping) and names[0] in given):
        given = {names[0]: given}
    if not isinstance(given, Mapping):
        raise _refuse("wrong-type", f"limits of {what} must be given by coordinate, got {given!r}.", names)
    for name in given:
        if name not in names:
            raise _refuse("unknown-name", unknown_name("coordinate", name, names, f"limits of {what}"), names)
    return {name: _read_one(limit, units[name], f"limits of {what}") for name, limit in given.items()}


def _read_one(given: Any, unit: str, what: str) -> CoordinateLimits:
    if isinstance(given, CoordinateLimits):
        given = {key: getattr(given, key) for key in KEYS}
    if not isinstance(given, Mapping):
        raise _refuse("wrong-type", f"{what} must be named numbers, got {given!r}.")
    values: dict[str, float] = {}
    units = dict(zip(KEYS, (unit, unit, per_second(unit), {"rad": "N m", "m": "N"}.get(unit, "")), strict=True))
    for key, value in given.items():
        if key not in KEYS:
            raise _refuse("unknown-argument", unknown_name("limit", key, KEYS, what))
        if value is None:
            continue
        value = in_si(value, units[key], what=f"{what}: {key}", error=ModelError)
        if not is_real(value) or not math.isfinite(value):
            raise _refuse("not-a-number", f"{what}: {key} must be a finite number, got {value!r}.")
        values[key] = float(value)
        if key in ("speed", "effort") and values[key] < 0:
            raise _refuse("negative", f"{what}: {key} must not be negative, got {value!r}.")
    lower, upper, speed, effort = (values.get(key) for key in KEYS)
    limits = CoordinateLimits(lower, upper, speed, effort)
    if limits.range[0] > limits.range[1]:
        raise _refuse("not-increasing", f"{what}: lower ({limits.lower:g}) is above upper ({limits.upper:g}).")
    return limits


def _refuse(code: str, problem: str, names: Sequence[str] = ()) -> ModelError:
    example: dict[str, Any] = {"lower": -1.0, "upper": 1.0}
    advice = Advice("Such as {}.", Argument("limits", {names[0]: example} if len(names) > 1 else example))
    return ModelError(code, problem, advice, where={"argument": "limits"})
