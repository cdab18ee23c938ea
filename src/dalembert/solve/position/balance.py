"""Whether forces balance: what is left of them along each coordinate, by the scale of that coordinate itself.

With R = f + Aᵀλ - M a the force left, and α the accelerations that it causes, coordinate k is in balance to ε where

    max(|R_k|, √(⟨|R_k| - ρ_k⟩ M_kk |α_k|)) ≤ ε max(F_k, M_kk a₀) + ρ_k ,     F = |f| + |Aᵀ| |λ| + |M a| + |∂f/∂v| |v|

F_k are the forces at play along k (the components of a vector share the largest). a₀ is 1 m/s² or 1 rad/s², less where
nothing in the machine is accelerated as much. Of accelerations those of the material count: R_k α_k are the parts of
αᵀ M α, the squares of the accelerations of all mass. Turning and bending that cancel each other move nothing, and where
modes nearly contain a rigid motion such pairs are rounding over a small eigenvalue of M. ρ = δ |K| x is the rounding of
the coordinates, of size x, of which a stiffness K makes a force, and that of levers. Nothing compares with the largest
force or stiffness of the machine: beside a mode of 1e12 N/m every other force of it would be rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.numerics import ties
from dalembert.solve.position.tangent import Candidate, Instant, Terms, unit_changes

ACCELERATION = 1.0  # a₀ [m/s² or rad/s²]: a tenth of a weight
ROUNDING = 100 * float(np.finfo(float).eps)  # δ: a sum of some hundred terms, in a joint that is closed to as much


@dataclass(frozen=True)
class Scales:
    """Along every coordinate: forces at play, at least those of a₀, and the force of the coordinates' rounding."""

    forces: Array
    rounding: Array

    def shares(self, left: Array, M: Any, acceleration: Array, accepted: float) -> Array:
        """Forces left over the forces at play, `accepted` where they are at the limit."""
        force = np.maximum(np.abs(left), np.abs(M @ acceleration))
        caused = np.maximum(force - self.rounding, 0.0) * M.diagonal() * np.abs(acceleration)
        force = np.maximum(force, np.sqrt(caused))
        limit = self.forces + self.rounding / accepted
        return np.where(limit > 0.0, force / np.where(limit > 0.0, limit, 1.0), np.where(force > 0.0, np.inf, 0.0))


def measure_scales(forces: Array, mass: Array, rounded: Array, precision: float = ROUNDING) -> Scales:
    """Scales of forces F beside inertia and rounding.  mass : diagonal of M.  rounded : see `rounded_forces`."""
    heavy = mass > 0.0
    largest = float(((forces + rounded)[heavy] / mass[heavy]).max(initial=0.0))
    return Scales(np.maximum(forces, mass * min(ACCELERATION, largest)), precision * rounded)


def forces_at_play(eqs: EquationsOfMotion, f: Array, A: Any, lam: Array, inertia: Array | float = 0.0) -> Array:
    """F: the forces and reactions along every speed, components of one vector by the largest of them."""
    F = np.asarray(np.abs(f) + abs(A).T @ np.abs(lam) + np.abs(inertia))
    return _largest_of(eqs.cache("vectors", lambda: _number(zip(eqs.speeds.owners, eqs.speeds.units, strict=True))), F)


def rounded_forces(eqs: EquationsOfMotion, K: Any, A: Any, F: Array, x: Array, mass: Array) -> Array:
    """Forces whose rounding is left in a sum: those of the stiffness K at the size x of the coordinates, and those of a
    body along its other coordinates, for a lever of nothing is rounding too, or of a body joined to it, for a reaction
    is known as well as the larger of the forces on its two sides. A coordinate without mass has those of the bodies
    around it.
    """
    owners = eqs.cache("owners", lambda: _number(eqs.speeds.owners))
    work = _largest_of(owners, F * x)
    rows, columns = A.nonzero()
    reactions, joined = np.zeros(A.shape[0]), work.copy()
    np.maximum.at(reactions, rows, work[columns])
    np.maximum.at(joined, columns, reactions[rows])
    work = _largest_of(owners, joined)
    return np.asarray(abs(K) @ x + np.where(mass > 0.0, work, work.max(initial=0.0)) / x)


def _number(labels: Iterable[object]) -> NDArray[np.intp]:
    """For every label the number of its kind."""
    labels = list(labels)
    numbers = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.intp)


def _largest_of(groups: NDArray[np.intp], values: Array) -> Array:
    """For every value the largest of its group."""
    largest = np.zeros(len(values))
    np.maximum.at(largest, groups, values)
    return np.asarray(largest[groups])


def sizes(eqs: EquationsOfMotion, q: Array, t: float, mass: Array) -> Array:
    """Sizes of the coordinates: 1 rad, lengths that of the machine, elastic coordinates as much as moves the body so
    far.  mass : diagonal of M.

    The size of the machine is the farthest place of a body or stroke of a joint. Where that is nothing but rounding,
    all is drawn at the origin, and it is 1 m.
    """
    s = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, t)[0]
    farthest = max((abs(float(s[k])) for k, unit in enumerate(eqs.measures.units) if unit == "m"), default=0.0)
    elastic = set(eqs.elastic_speeds.values())
    lengths = [k for k, unit in enumerate(eqs.speeds.units) if unit == "m/s" or k in elastic]
    result = unit_changes(eqs, mass)
    result[lengths] *= farthest if farthest > ROUNDING else 1.0
    return result


def find_unsteady(
    eqs: EquationsOfMotion,
    T: Terms,
    x: Instant,
    speeds: Sequence[Candidate],
    W: Array,
    accepted: float,
    precision: float = ROUNDING,
) -> tuple[str, float] | None:
    """Of independent speeds that should be constant, with A W = 0, the name and change of the one that is least so.

    The balance is that of the work of all forces along the motions W; None where it holds to `accepted`, in a state
    that is known to `precision`.
    """
    change = np.array([c.rows(T, x)[5] for c in speeds])
    M, along = W.T @ T.M @ W, np.abs(W.T)
    inertia = np.abs(T.M @ x.a) + np.abs(T.R1_v) @ np.abs(x.v)  # what turning makes of speeds may cancel inside f
    F = forces_at_play(eqs, T.f, T.A, x.lam, inertia)
    mass = T.M.diagonal()
    rounded = along @ rounded_forces(eqs, T.R1_x, T.A, F, sizes(eqs, x.q, x.t, mass), mass)
    scales = measure_scales(along @ F, M.diagonal(), rounded, precision)
    shares = scales.shares(M @ change, M, change, accepted)
    if not shares.max(initial=0.0) > accepted:
        return None
    worst = int(ties.first_largest(np.minimum(shares, 1.0 / accepted)))
    return speeds[worst].rate_name, float(change[worst])
