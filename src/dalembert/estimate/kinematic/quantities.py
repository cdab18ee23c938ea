"""Quantities that a kinematics-based model may measure, and its view of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalembert.core.errors import ModelError
from dalembert.equations import Channels, State
from dalembert.expressions import Array, Expr

LEVEL = ("position", "velocity", "acceleration")


@dataclass(frozen=True)
class Measurable:
    """Something that may be measured: its unit and the highest derivative of z it depends on (0, 1 or 2)."""

    unit: str
    order: int


class Relations(Protocol):
    """Quantities of a machine as functions of its independent coordinates and their derivatives."""

    name: str
    coordinates: Channels  # z
    rates: Channels
    accelerations: Channels
    pose: Channels  # part of the state beside z; empty where Φ is a formula
    parameters: Channels
    parameter_values: tuple[float, ...]
    known: Mapping[str, Measurable]
    further: tuple[str, ...]  # channels of an estimate besides z and its derivatives

    def names(self, given: object, what: str) -> list[str]:
        """Full names of quantities, in order; refuses unknown ones."""

    def close(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        """The pose at z, from one nearby (expressions)."""

    def gap(self, pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        """How far the pose is from closed [m or rad]."""

    def values(self, names: Sequence[str], pose: Expr, z: Expr, zd: Expr, zdd: Expr, p: Expr, t: Expr) -> Expr:
        """The named quantities (SX column)."""

    def slopes(self, names: Sequence[str], pose: Expr, z: Expr, p: Expr, t: Expr) -> Expr:
        """∂h/∂z of quantities of position level (SX matrix)."""

    def start(self, values: Mapping[str, float], begin: Array | None = None) -> tuple[Array, Array]:
        """Initial z and pose with the given coordinates, reached from the pose `begin`, or from that of the drawing."""

    def follow(self, z: Array, times: Array, begin: Array | None = None) -> tuple[Array, Array]:
        """Poses at coordinates z (K, n) one after another, and the largest gap of each."""

    def read(self, state: State) -> dict[str, float]:
        """z and ż of a state of the machine, by name."""


def name_list(given: Any, what: str) -> list[str]:
    """Names as a list; a single name may be given without a list."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for name in names:
        if not isinstance(name, str):
            raise ModelError("bad-name", f"{what} must be names of sensors or coordinates, got {given!r}.")
    return names
