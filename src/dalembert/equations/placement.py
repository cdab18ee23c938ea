"""Placement: the pose in which a producer draws its machine, and its first guess for an assembly.

`da.assemble` is independent of bodies and joints: it takes the guess of the producer and closes the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dalembert.core.errors import ModelError
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

    q, z : coordinates and internal states as drawn; zero (of Euler parameters: no rotation) where left out.
    first_guess : from named coordinates and measures to q; it can be pickled. Without it, q as drawn.
    """

    q: tuple[float, ...] = ()
    z: tuple[float, ...] = ()
    first_guess: Callable[[Mapping[str, float]], Array] | None = None
    followers: tuple[Follower, ...] = ()

    def fill(self, nq: int, nz: int, quaternions: Sequence[int]) -> Placement:
        """The same with all coordinates; `quaternions` are the places of the first of four Euler parameters."""
        q = list(self.q) or [0.0] * nq
        if not self.q:
            for first in quaternions:
                q[first] = 1.0
        z = self.z or (0.0,) * nz
        problem = f"a placement has {len(q)} coordinates and {len(z)} internal states, expected {nq} and {nz}."
        ModelError.when((len(q), len(z)) != (nq, nz), "wrong-shape", problem)
        return replace(self, q=tuple(q), z=z)
