"""Dynamic parameters of a tree and the regressor in which its efforts are linear: τ = Y π.

Of every body, parents first: mass, first moments h = m c and inertia J, in the frame of the joint that carries the body
(z along a hinge or slide; of a free body its own frame), J about the origin of that frame. In the plane: mass, hx, hy
and J. On request, columns of joints follow: viscous friction, Coulomb friction, a constant offset, and
the inertia of the motor at the joint (ratio² times that of the rotor).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import one_of, real_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError, require_name
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.mechanics.tree.algorithms.regressor import FRICTION_TERMS, INERTIAL, PLANAR_INERTIAL, ROTOR
from dalembert.tree.evaluation import Efforts, States, accelerations, evaluate, require_tree

Names = str | Sequence[str]


@frozen
class DynamicParameters:
    """Names, units and values of the parameters of a regressor."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray

    def __getitem__(self, name: str) -> float:
        require_name("parameter", name, self.names, "these parameters")
        return float(self.values[self.names.index(name)])

    def table(self) -> str:
        """One line per parameter."""
        rows = [(n, f"{x:.6g}", u) for n, x, u in zip(self.names, self.values, self.units, strict=True)]
        return align_columns(("parameter", "value", "unit"), rows)

    def __repr__(self) -> str:
        return self.table()


@dataclass(frozen=True)
class JointColumns:
    """Columns of joints in a regressor.  speeds : which, by number.  labels : their names.  terms : of each."""

    speeds: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    speed: float = 0.0

    @property
    def names(self) -> list[str]:
        return [f"{label}.{term}" for label in self.labels for term in self.terms]

    def units(self, eqs: EquationsOfMotion) -> list[str]:
        found = []
        for k in self.speeds:
            turns = eqs.speeds.units[k].startswith("rad")
            units = ("N m s/rad", "N m", "N m", "kg m^2") if turns else ("N s/m", "N", "N", "kg")
            found += [units[(*FRICTION_TERMS, ROTOR).index(term)] for term in self.terms]
        return found


def regressor(
    eqs: EquationsOfMotion, state: States, a: Efforts = None, *, friction: Names = (), rotors: bool = False,
    joints: Names | None = None, speed: float = 0.0,
) -> Array:  # fmt: skip
    """Y with τ = Y π: efforts on the speeds are linear in the dynamic parameters; (nv, n) or (states, nv, n).

    Parameters
    ----------
    state : a state, several, a record, or arrays (q, v) with states in rows.
    a : derivatives of the speeds, as for `da.tree.inverse_dynamics`.
    friction : terms of joint friction with a column each: "viscous" (v), "coulomb" (its sign), "offset" (1).
    rotors : a column for the inertia of the motor of each joint.
    joints : which joints have such columns; None: all.
    speed : of the smooth law v / √(v² + speed²) in place of the sign [rad/s, m/s].

    The order of the columns is that of `da.tree.dynamic_parameters` with the same options.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=3.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> Y = regressor(eqs, eqs.state(), [2.0])
    >>> parameters = dynamic_parameters(eqs)
    >>> parameters.names
    ('rod.mass', 'rod.hx', 'rod.hy', 'rod.J')
    >>> (Y @ parameters.values).round(12) == da.tree.inverse_dynamics(eqs, eqs.state(), [2.0]).round(12)
    array([ True])
    """
    own = read_joint_columns(eqs, friction, rotors, joints, speed)
    return evaluate(
        eqs, state, "regressor", own.speeds, own.terms, own.speed, a=accelerations(eqs, a, state)
    )[0]  # fmt: skip


def dynamic_parameters(
    eqs: EquationsOfMotion, *, friction: Names = (), rotors: bool = False, joints: Names | None = None
) -> DynamicParameters:
    """Parameters of the `regressor` with the same options, with the values of the drawing.

    A tree has bodies only: friction and rotors of the machine are zero here.
    """
    own = read_joint_columns(eqs, friction, rotors, joints)
    kernel: Kernel = eqs.cache(
        ("tree", "inertial_parameters"), lambda: Kernel(require_tree(eqs).function("inertial_parameters"))
    )
    values = np.ravel(kernel(eqs.p, 0.0)[0])
    kinds = _inertial(eqs)
    bodies = require_tree(eqs).bodies
    return DynamicParameters(
        names=(*(f"{body}.{name}" for body in bodies for name, _ in kinds), *own.names),
        units=(*(unit for _ in bodies for _, unit in kinds), *own.units(eqs)),
        values=np.concatenate([values, np.zeros(len(own.names))]),
    )


def count_inertial(eqs: EquationsOfMotion) -> int:
    """Inertial parameters of each body: 10, in the plane 4."""
    return len(_inertial(eqs))


def _inertial(eqs: EquationsOfMotion) -> tuple[tuple[str, str], ...]:
    shape: tuple[int, int] = require_tree(eqs).function("link_frames").size_out(0)
    return PLANAR_INERTIAL if shape[1] == 3 else INERTIAL


def read_joint_columns(
    eqs: EquationsOfMotion, friction: Names, rotors: bool, joints: Names | None, speed: float = 0.0
) -> JointColumns:
    """The columns of joints that the options choose."""
    wanted = (friction,) if isinstance(friction, str) else tuple(friction)
    for term in wanted:
        one_of("friction", term, FRICTION_TERMS)
    if real_number("speed", speed) < 0:
        raise DataError("negative", f"speed of the friction law must not be negative, got {speed:g}.")
    require_tree(eqs)
    terms = (*(t for t in FRICTION_TERMS if t in wanted), *([ROTOR] * rotors))
    known = joint_speeds(eqs)
    chosen = list(known) if joints is None else [joints] if isinstance(joints, str) else list(joints)
    for name in chosen:
        require_name("joint", name, known, f"equations {eqs.name!r}", argument="joints", where={"joint": name})
    if not terms:
        return JointColumns()
    return JointColumns(tuple(known[name] for name in chosen), tuple(chosen), terms, float(speed))


def joint_speeds(eqs: EquationsOfMotion) -> dict[str, int]:
    """Speeds along the coordinates of joints of the tree, by the joint, or by the coordinate where it has several."""
    owners = {joint.name for joint in eqs.joints}
    found: dict[str, int] = {}
    for measure, rate in zip(eqs.measures.names, eqs.measure_rates.names, strict=True):
        if rate in eqs.speeds.index and measure.rpartition(".")[0] in owners:
            found[measure] = eqs.speeds.index[rate]
    alone = [name.rpartition(".")[0] for name in found]
    return {
        (owner if alone.count(owner) == 1 else name): k for (name, k), owner in zip(found.items(), alone, strict=True)
    }
