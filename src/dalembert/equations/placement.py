"""Placement: the pose in which a producer draws its machine, and its first guess for an assembly.

`da.assemble` knows nothing of bodies or joints: it takes the guess of the producer and closes the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dalembert.expressions import Array


@dataclass(frozen=True)
class Follower:
    """A coordinate that starts at ``ratio`` times a measure: the rotor of a geared motor."""

    coordinate: int
    measure: int
    ratio: float


@dataclass(frozen=True)
class Placement:
    """Where an assembly starts.

    q, z : coordinates and internal states as drawn.
    first_guess : from named coordinates and measures to q; it can be pickled. Without it, q as drawn.
    """

    q: tuple[float, ...]
    z: tuple[float, ...] = ()
    first_guess: Callable[[Mapping[str, float]], Array] | None = None
    followers: tuple[Follower, ...] = ()
