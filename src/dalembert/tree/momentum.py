"""Centre of mass and momentum of a whole tree."""

from __future__ import annotations

from typing import Any

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.tree.evaluation import States, evaluate
from dalembert.tree.payload import Payload


def total_mass(eqs: EquationsOfMotion, *, payload: Payload | None = None) -> float:
    """Of all bodies that can move [kg]."""
    return float(evaluate(eqs, eqs.state(), "total_mass", payload=payload)[0][0])


def center_of_mass(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """Of all bodies that can move, world coordinates [m]."""
    return evaluate(eqs, state, "center_of_mass", payload=payload)[0]


def center_of_mass_jacobian(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """J with velocity of the centre of mass = J v, (3, nv); in the plane (2, nv)."""
    return evaluate(eqs, state, "center_of_mass_jacobian", payload=payload)[0]


def centroidal_momentum(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Any:
    """Linear momentum, then angular momentum about the centre of mass, world axes; (6,), in the plane (3,)."""
    return evaluate(eqs, state, "centroidal_momentum", payload=payload)[0]


def centroidal_momentum_matrix(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """A with centroidal momentum = A v, (6, nv); in the plane (3, nv)."""
    return evaluate(eqs, state, "centroidal_momentum_matrix", payload=payload)[0]


def centroidal_momentum_matrix_rate(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """Derivative in time of A: momentum' = A v̇ + A' v."""
    return evaluate(eqs, state, "centroidal_momentum_matrix_rate", payload=payload)[0]
