"""What a part of a modular model declares: variables, parameters, inputs, equations, forces and energies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ModularVariable:
    """A variable of a part: its order, unit and symbol."""

    name: str
    order: int
    unit: str
    symbol: Any


@dataclass(frozen=True)
class Parameter:
    """A number of a part that stays a symbol; ``value`` may be missing until the model is evaluated."""

    name: str
    unit: str
    symbol: Any
    value: float | None


@dataclass(frozen=True)
class Input:
    """A force, torque or voltage from outside; ``on`` is the velocity that it acts along, where there is one."""

    name: str
    unit: str
    symbol: Any
    on: str | None


@dataclass(frozen=True)
class NamedEquation:
    """An expression that must be zero, with its name."""

    name: str
    expression: Any


@dataclass(frozen=True)
class ModularForce:
    """An effective force (active and inertia forces) dual to the motion ``along``."""

    along: Any
    value: Any


@dataclass(frozen=True)
class Energy:
    """A scalar that inertia or potential forces follow from, and the rule that derives them."""

    kind: str
    expression: Any


@dataclass
class PartContents:
    variables: dict[str, ModularVariable] = field(default_factory=dict)
    rates: dict[str, Any] = field(default_factory=dict)  # given rates, by the name of the variable
    relations: list[NamedEquation] = field(default_factory=list)
    constraints: list[NamedEquation] = field(default_factory=list)
    forces: list[ModularForce] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    outputs: dict[str, tuple[str, Any]] = field(default_factory=dict)
    independent: tuple[str, ...] | None = None
    placement: dict[str, float] = field(default_factory=dict)
    quaternions: list[tuple[str, str]] = field(default_factory=list)  # first of four coordinates, first of ω
