"""The base parameters of a tree: the smallest set of combinations on which its efforts depend (Gautier 1991).

Columns of the regressor over random states are linearly dependent. In the order of the bodies, from the root outwards,
a column is kept if it is independent of those kept before; the others are combinations of these:

    W = [W₁ W₂ W₀] ,   W₂ = W₁ β ,   W₀ = 0 :       τ = W₁ (π₁ + β π₂) ,     base = K π ,   K = [1 β 0]

The parameters of a body are thus grouped with those of the bodies before it, as is usual for arms (Khalil and Dombre
2002). The rank is that of the singular values of W with columns of length 1, and both decisions must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import ConvergenceError, DataError, require_name
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record.checks import numbers
from dalembert.tree.regressor import Names, dynamic_parameters, regressor

SPEED, ACCELERATION = 3.0, 10.0  # of the random states: centrifugal effects v² then count as much as v̇ and as gravity
ROWS = 3  # rows of W per column: more rows do not change the rank


@frozen
class BaseParameters:
    """The combinations of dynamic parameters that motion and efforts determine.

    Attributes
    ----------
    names : texts such as ``"upper.Jzz + 0.25 lower.mass"``
    kept : (n,) the column of the regressor for each combination;  units : of the combinations
    grouping : (n, parameters) K of ``base = K @ parameters``
    parameters : names of the dynamic parameters
    without_effect : parameters on which no effort depends
    singular_values : of the regressor with columns of length 1
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    units: tuple[str, ...]
    grouping: FloatArray
    parameters: tuple[str, ...]
    without_effect: tuple[str, ...]
    singular_values: FloatArray

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """Short names: the first parameter of each combination, and the number of its others."""
        labels = []
        for row, k in zip(self.grouping, self.kept, strict=True):
            others = int(np.count_nonzero(row)) - 1
            labels.append(self.parameters[k] + (f" + {others} other{'s' * (others > 1)}" if others else ""))
        return tuple(labels)

    def from_parameters(self, values: Sequence[float] | Array) -> FloatArray:
        """Base parameters of values of all dynamic parameters, in their order; also of many in rows."""
        given = numbers(values, "values")
        if given.shape[-1:] != (len(self.parameters),):
            raise DataError(
                "wrong-shape", f"expected {len(self.parameters)} dynamic parameters, got the shape {given.shape}."
            )
        return np.asarray(given @ self.grouping.T)

    def grouping_of(self, parameter: str) -> dict[str, float]:
        """Base parameters that contain a parameter, with its coefficients."""
        require_name("parameter", parameter, self.parameters, "these base parameters")
        column = self.grouping[:, self.parameters.index(parameter)]
        return {n: float(c) for n, c in zip(self.names, column, strict=True) if not is_rounding(c)}

    def table(self) -> str:
        """One line per combination."""
        return align_columns(("base parameter", "unit"), list(zip(self.names, self.units, strict=True)))

    def __repr__(self) -> str:
        return f"{self.count} base parameters of {len(self.parameters)}\n{self.table()}"


def base_parameters(
    eqs: EquationsOfMotion, *, friction: Names = (), rotors: bool = False, joints: Names | None = None, seed: int = 0
) -> BaseParameters:
    """The identifiable combinations of the dynamic parameters, for motions that excite everything.

    Parameters
    ----------
    friction, rotors, joints : columns of joints, as for `da.tree.regressor`.
    seed : of the random states.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> upper, lower = (m.add_body(name, mass=1.0, inertia=da.rod(0.5)) for name in ("upper", "lower"))
    >>> joint = m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.25, 0))
    >>> joint = m.add_revolute("B", upper.at(0.25, 0), lower.at(-0.25, 0))
    >>> base_parameters(da.equations(m, coordinates="joint")).names[:2]
    ('upper.hx + 0.5 lower.mass', 'upper.hy')
    """
    found = dynamic_parameters(eqs, friction=friction, rotors=rotors, joints=joints)
    Y = _random_regressor(eqs, len(found.names), whole_number("seed", seed), friction, rotors, joints)
    length = np.linalg.norm(Y, axis=0)
    longest = {unit: max(x for x, u in zip(length, found.units, strict=True) if u == unit) for unit in set(found.units)}
    active = [k for k, unit in enumerate(found.units) if is_excited(length[k], longest[unit])]
    R = np.asarray(np.linalg.qr(Y[:, active] / length[active], mode="r"))
    values = np.linalg.svd(R, compute_uv=False)
    chosen = first_independent(R)
    check_rank(eqs.name, values, len(chosen))
    kept = [active[k] for k in chosen]
    beta = np.linalg.lstsq(R[:, chosen], R, rcond=None)[0]
    beta[is_rounding(beta)] = 0.0
    K = np.zeros((len(kept), len(found.names)))
    K[:, active] = beta * length[active] / length[kept][:, None]
    K[:, kept] = np.eye(len(kept))
    quiet = tuple(name for k, name in enumerate(found.names) if k not in set(active))
    return BaseParameters(
        names=tuple(_combine(row, k, found.names) for row, k in zip(K, kept, strict=True)), kept=tuple(kept),
        units=tuple(found.units[k] for k in kept), grouping=K, parameters=found.names, without_effect=quiet,
        singular_values=values,
    )  # fmt: skip


def is_excited(length: float, longest: float, zero: float = 1e-12) -> bool:
    """Whether a column has a length beside the longest of its unit: rounding is 1e-16 in sums of some hundred."""
    return bool(length > zero * longest)


def is_rounding(coefficient: Any, shown: float = 1e-8) -> Any:
    """Whether coefficients of a grouping, between columns of length 1, are rounding."""
    return np.abs(coefficient) <= shown


def first_independent(R: Array, distance: float = 1e-9) -> list[int]:
    """Columns of length 1 that are independent of those kept before them (Gram-Schmidt, each twice).

    distance : distance of a column of length 1 from the span of others. In arms, a quadruped, a humanoid of 35 speeds
    and chains of up to 50 joints, independent columns had 0.09 and more, dependent ones 2e-15: the limit is far from
    both.
    """
    Q = np.zeros((len(R), 0))
    kept: list[int] = []
    for k in range(R.shape[1]):
        rest = R[:, k]
        for _ in range(2):
            rest = rest - Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > distance:
            Q = np.column_stack([Q, rest / size])
            kept.append(k)
    return kept


def _random_regressor(
    eqs: EquationsOfMotion, count: int, seed: int, friction: Names, rotors: bool, joints: Names | None
) -> Array:
    rng = np.random.default_rng(seed)
    states = max(2, -(-ROWS * count // eqs.nv) + 10)
    q = rng.normal(size=(states, eqs.nq))
    for block in eqs.quaternions:
        q[:, block.part] /= np.linalg.norm(q[:, block.part], axis=1, keepdims=True)
    v, a = SPEED * rng.normal(size=(states, eqs.nv)), ACCELERATION * rng.normal(size=(states, eqs.nv))
    Y = regressor(eqs, (q, v), a, friction=friction, rotors=rotors, joints=joints)
    return Y.reshape(-1, count)


def check_rank(name: str, values: Array, rank: int, gap: float = 1e3) -> None:
    """Refuse a choice of columns that disagrees with the singular values, or without a clear gap between these.

    gap : ratio of the smallest singular value kept to the largest left out: below this ratio, the rank is uncertain.
    """
    below = float(values[rank]) if rank < len(values) else 0.0
    if not (rank == 0 or values[rank - 1] > gap * below):
        raise ConvergenceError(
            "ill-conditioned",
            f"the number of base parameters of {name!r} is not clear: {rank} columns of the regressor are "
            f"independent, but its singular values {values[rank - 1]:.1e} and {below:.1e} have no gap between them. "
            "Lengths of the bodies differ too much.",
            evidence={"rank": rank, "kept": float(values[rank - 1]), "left out": below},
        )  # fmt: skip


def _combine(row: Array, own: int, names: Sequence[str]) -> str:
    text = names[own]
    for k in map(int, np.flatnonzero(row)):
        if k == own:
            continue
        size = f"{abs(row[k]):.4g} " if not is_rounding(abs(row[k]) - 1.0) else ""
        text += f" {'-' if row[k] < 0 else '+'} {size}{names[k]}"
    return text
