"""Names of everything that equations have: channels with units, constraint rows, joints, blocks of coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dalembert.core.errors import ModelError

HOLONOMIC, VELOCITY, ACCELERATION = "holonomic", "velocity", "acceleration"


class Channels:
    """Names with units, in order: ``Channels({"angle": "rad"})``, or names and units apart.

    owners : the body, joint or actuator that each belongs to; where they are left out, what stands before the last
        point of the name (nothing of a name without one). Only here is a name taken apart.

    Examples
    --------
    >>> Channels({"angle": "rad", "count": ""})
    Channels(2: angle [rad], count)
    >>> Channels({"rod.x": "m", "count": ""}).owners
    ('rod', '')
    """

    def __init__(
        self, names: Iterable[str] = (), units: Iterable[str] | None = None, owners: Iterable[str] | None = None
    ) -> None:
        self.names = tuple(names)
        if units is None:
            units = names.values() if isinstance(names, Mapping) else ("",) * len(self.names)
        self.units: tuple[str, ...] = tuple(units)
        self.index = {name: k for k, name in enumerate(self.names)}
        problem = f"{len(self.names)} names of channels have {len(self.units)} units."
        ModelError.when(len(self.units) != len(self.names), "wrong-shape", problem)
        if owners is not None:
            self.owners = tuple(owners)
            problem = f"{len(self.names)} names of channels have {len(self.owners)} owners."
            ModelError.when(len(self.owners) != len(self.names), "wrong-shape", problem)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        return tuple(name.rpartition(".")[0] for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        most = 12
        each = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.names[:most], self.units, strict=False)]
        return f"Channels({len(self)}: {', '.join(each)}{', ...' if len(self) > most else ''})"


@dataclass(frozen=True)
class Row:
    """One constraint row: the joint (or driver, gear, constraint) it belongs to, its level, its number there."""

    owner: str
    level: str = HOLONOMIC
    number: int = 0


@dataclass(frozen=True)
class JointInfo:
    """A joint for solvers and reports: its rows, and the place of its reaction."""

    name: str
    kind: str
    rows: tuple[int, ...]
    bodies: tuple[str, str]
    reaction: int  # first index in the reactions function, -1 if it has none


@dataclass(frozen=True)
class CoordinateLimits:
    """Limits of a joint coordinate, of its speed and of the effort along it; None where there is none.

    They are data: nothing in the equations stops there. Checks, inverse kinematics and stops read them.
    """

    lower: float | None = None
    upper: float | None = None
    speed: float | None = None
    effort: float | None = None
    stopped: bool = False  # a compliant stop acts at the limits, which gives way a little

    @property
    def range(self) -> tuple[float, float]:
        """Lower and upper limit, infinite where there is none."""
        return (-math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper)


@dataclass(frozen=True)
class DryFriction:
    """A joint coordinate with Coulomb friction (or a contact, which has none: measure -1).

    speed : of the regularised law; None where a run has exact stick and slip.
    row, sliding : in the equations of stick and slip, its row and the name of the parameter for its direction of
        sliding: +1, -1, or 0 where it sticks.
    """

    name: str
    coordinate: str
    measure: int
    unit: str
    speed: float | None
    row: int = -1
    sliding: str = ""


@dataclass(frozen=True)
class QuaternionBlock:
    """Four coordinates that are Euler parameters (scalar first), and three speeds: ω of their owner in its own axes."""

    owner: str
    coordinate: int  # the first of four in q
    speed: int  # the first of three in v

    @property
    def part(self) -> slice:
        """Their part of q."""
        return slice(self.coordinate, self.coordinate + 4)

    @property
    def columns(self) -> tuple[int, int, int]:
        """The places of ω in v."""
        return self.speed, self.speed + 1, self.speed + 2


@dataclass(frozen=True)
class CarriedOrientation:
    """The orientation of a body that has no coordinates of its own, by measures.

    parameters : the first of four measures, its Euler parameters.  turns : the first of three measures; their values
    are its rotation vector, their rates ω in its own axes (no derivatives of a rotation vector).
    """

    owner: str
    parameters: int
    turns: int


@dataclass(frozen=True)
class TurnCounter:
    """A coordinate that repeats an angle, so that its whole turns are known where an expression has it up to one."""

    coordinate: int
    measure: int
