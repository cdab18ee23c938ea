"""Ability of a machine to move a place in all directions: singular values of its Jacobian (Yoshikawa 1985).

    J Z = U Σ Vᵀ ,     w = Π σ_i = √det (J Jᵀ) ,     condition σ_max/σ_min ,    ellipsoid: axes u_i of length σ_i

Z gives all speeds from those of the driving joints: 1 for a tree, with closed loops [A; S] Z = [0; 1]. A place can move
with the velocity σ_i along u_i for speeds of these joints of length one; σ_min is the distance to a singular pose: the
smallest change of J that loses a direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import one_of, positive_number, take_names
from dalembert.core.errors import ModelError, require_name
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.position.mobility import mobility
from dalembert.tree.evaluation import States, evaluate, read_states
from dalembert.tree.places import Place, dimension

PARTS = ("position", "rotation", "pose")


@dataclass(frozen=True, eq=False)
class Manipulability:
    """Measures of a place at one state, or at many (first axis).

    part : of the motion: "position", "rotation" or "pose".  joints : the driving ones, by their coordinates or speeds.
    values : singular values, largest first [m/rad for angles of joints].  axes : directions of the ellipsoid, its
        columns, in world axes.  speeds : of the driving joints, which move the place by the value along the axis.
    """

    place: str
    part: str
    joints: tuple[str, ...]
    values: Array
    axes: Array
    speeds: Array

    @property
    def measure(self) -> Array:
        """Yoshikawa's measure: proportional to the volume of the ellipsoid."""
        return np.asarray(np.prod(self.values, axis=-1))

    @property
    def condition(self) -> Array:
        """Largest over smallest singular value: 1 where all directions are equal, infinite at a singular pose."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.values[..., 0] / self.values[..., -1])

    @property
    def distance(self) -> Array:
        """Distance to a singular pose: the smallest singular value."""
        return np.asarray(self.values[..., -1])

    def __repr__(self) -> str:
        if self.values.ndim > 1:
            k = int(np.argmin(self.distance))
            return (
                f"Manipulability of {self.place!r} ({self.part}) at {len(self.values)} states: measure "
                f"{self.measure.min():.4g} to {self.measure.max():.4g}, smallest distance {self.distance[k]:.4g}"
            )
        shown = ", ".join(f"{x:.4g}" for x in self.values)
        return (
            f"Manipulability of {self.place!r} ({self.part}): measure {float(self.measure):.4g}, condition "
            f"{float(self.condition):.4g}, singular values {shown}"
        )


def manipulability(
    eqs: EquationsOfMotion,
    state: States,
    place: Place,
    *,
    part: str = "position",
    joints: Sequence[str] | None = None,
    length: float = 1.0,
) -> Manipulability:
    """Measure, condition and ellipsoid of the velocities of a place.

    Parameters
    ----------
    state : a state, several, a record, or arrays (q, v).
    place : as for `da.tree.forward_kinematics`.
    part : "position", the velocity of the place; "rotation", the angular velocity; "pose", both.
    joints : coordinates that drive a machine with loops, as many as its degrees of freedom; None: those that determine
        the others best.
    length : factor of angular velocities in a pose [m].

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> upper, fore = (m.add_body(name, mass=1.0, inertia=da.rod(1.0), points={"tip": (0.5, 0)}) for name in "ab")
    >>> shoulder = m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    >>> elbow = m.add_revolute("elbow", upper.at(0.5, 0), fore.at(-0.5, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> found = da.tree.manipulability(eqs, da.assemble(eqs, {"elbow": 0.5}), "b.tip")
    >>> round(float(found.measure), 6)  # of two links: length * length * sin(elbow)
    0.479426
    """
    one_of("part", part, PARTS)
    positive_number("length", length)
    dim = dimension(eqs, place)
    J = evaluate(eqs, state, "jacobian", place, "local_world_aligned")[0]
    rows = slice(0, dim) if part == "position" else slice(dim, None) if part == "rotation" else slice(None)
    J = np.array(J[..., rows, :])
    if part == "pose":
        J[..., dim:, :] *= length
    names, Z = driven_speeds(eqs, state, joints)
    U, values, Vt = np.linalg.svd(J @ Z, full_matrices=False)
    speeds = np.swapaxes(Vt, -1, -2)
    short = J.shape[-2] - values.shape[-1]  # fewer joints than directions: the others cannot be moved at all
    if short > 0:
        U = np.linalg.svd(J @ Z)[0]
        values = np.concatenate((values, np.zeros((*values.shape[:-1], short))), axis=-1)
        speeds = np.concatenate((speeds, np.zeros((*speeds.shape[:-1], short))), axis=-1)
    return Manipulability(place if isinstance(place, str) else repr(place), part, names, values, U, speeds)


def driven_speeds(eqs: EquationsOfMotion, state: States, joints: Sequence[str] | None) -> tuple[tuple[str, ...], Array]:
    """Names of the driving joints, and all speeds for their unit speeds: (nv, n), or (states, nv, n)."""
    if not eqs.rows and joints is None:
        driven = [k for k in range(eqs.nv) if k not in eqs.elastic_speeds.values()]
        return tuple(eqs.speeds.names[k] for k in driven), np.eye(eqs.nv)[:, driven]
    at = read_states(eqs, state)
    q, v, t = (np.atleast_2d(x) for x in (at.q, at.v, at.t))
    count = len(q)
    v, t = np.broadcast_to(v, (count, eqs.nv)), np.broadcast_to(t, (count, 1))
    names = driving_coordinates(eqs, eqs.state(q[0], t=float(t[0, 0])), joints)
    every = eqs.kernel("measures").many(q, v, eqs.p, t)[2].reshape(count, -1, eqs.nv)
    unit = np.broadcast_to(np.eye(eqs.nv), (count, eqs.nv, eqs.nv))
    S = np.stack(
        [every[:, eqs.measures.index[n]] if n in eqs.measures.index else unit[:, eqs.speeds.index[n]] for n in names], 1
    )
    A = np.zeros((count, 0, eqs.nv))
    if eqs.rows:
        rest = (np.zeros((count, eqs.nz)), np.zeros((count, eqs.nu)), eqs.p, t)
        A = eqs.kernel("rows").many(q, v, *rest)[0].reshape(count, -1, eqs.nv)
    Z = np.linalg.pinv(np.concatenate((A, S), axis=1), rcond=1e-10)[:, :, A.shape[1] :]
    return names, np.asarray(Z if at.count is not None else Z[0])


def driving_coordinates(eqs: EquationsOfMotion, state: State, joints: Sequence[str] | None) -> tuple[str, ...]:
    """Coordinates, or speeds that are rates of none, that determine the motion: those given, or a good choice."""
    freedom = mobility(eqs, state)
    if joints is None:
        by_rate = dict(zip(eqs.measure_rates.names, eqs.measures.names, strict=True))
        return tuple(by_rate.get(rate, rate) for rate in freedom.independent)
    names = tuple(eqs.full_name(name) for name in take_names("joint", joints))
    for name in names:
        require_name(
            "coordinate", name, eqs.measures.names, f"equations {eqs.name!r}", error=ModelError, argument="joints"
        )
    if len(names) != freedom.dof - len(freedom.idle):
        raise ModelError(
            "dependent-coordinates",
            f"{eqs.name!r} has {freedom.dof - len(freedom.idle)} degrees of freedom, got {len(names)} driving joints.",
            where={"argument": "joints"},
        )  # fmt: skip
    return names
