"""A flexible body from matrices that another program has reduced (Craig-Bampton, Rubin, ...).

With reduced coordinates x (r,), mass M, stiffness K, and the motion B x of n points (6 rows each, the modal matrix at
these points), the rigid motions ρ of the body are those with B ρ = R, the rigid motions of the points. Then

    mass, first moment, inertia = ρᵀMρ        translation, rotation = ρᵀMΦ        modal_mass = ΦᵀMΦ = 1

are exact for modes x = Φ η in which the node of the frame rests (or without momentum, for a mean axis). Integrals that
reduced matrices no longer hold, `moments` and `products`, are sums over masses at the points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.model.flexible import FiniteElementValues, FlexibleBodyData, FlexibleNode
from dalembert.structures.assembly.damping import damping_of
from dalembert.structures.assembly.structure import DIRECTIONS, rigid_motions
from dalembert.structures.flexible_body.inertia_integrals import clean, sum_bodies

RANK = 1e-9  # of singular values that count as zero


@dataclass(frozen=True)
class ReducedModel:
    """M, K (r, r), D (r, r) or None, shapes (6 n, r), masses (n,) [kg] of points at places (n, 3) [m]."""

    name: str
    points: Sequence[str]
    places: FloatArray
    M: FloatArray
    K: FloatArray
    D: FloatArray | None
    shapes: FloatArray
    masses: FloatArray
    source: str = "reduced matrices"

    def fail_if(self, wrong: object, code: str, problem: str, *advice: Advice, **evidence: Any) -> None:
        if wrong:
            raise self.fail(code, problem, *advice, **evidence)

    def fail(self, code: str, problem: str, *advice: Advice, **evidence: Any) -> ModelError:
        return ModelError(code, f"flexible body {self.name!r}: {problem}", *advice, where={"body": self.name},
                          evidence=evidence)  # fmt: skip


def reduced_body(
    model: ReducedModel, *, modes: int | None = None, reference: str | None = None, nodes: Any = None,
    damping: Any = None, point: float = 1e-6,
) -> FlexibleBodyData:  # fmt: skip
    """Data of all modes of a reduced model, or of the lowest ones.

    point : part of the largest principal inertia below which the body is a line or a point.
    """
    for what in ("M", "K", "D", "shapes", "masses"):
        values = getattr(model, what)
        problem = f"numbers of its {what} are NaN or infinite."
        model.fail_if(values is not None and not np.isfinite(values).all(), "not-finite", problem)
    rigid = _rigid_coordinates(model)
    total = rigid.T @ model.M @ rigid
    _check_masses(model, total)
    chosen = _nodes(model, nodes)
    if reference is None:  # as for bodies that are reduced here
        size = np.sqrt(np.maximum(np.diagonal(total), 0.0))
        is_solid = size.all() and np.linalg.eigvalsh(total / size / size[:, None])[0] > point
        reference = "mean axis" if len(chosen) > 1 and is_solid else next(iter(chosen))
    attached = None if reference == "mean axis" else reference
    if attached is not None and attached not in chosen:
        problem = unknown_name("node", attached, list(chosen))
        raise model.fail("unknown-name", problem)
    still = rigid.T @ model.M if attached is None else _rows(model, chosen[attached])
    basis = null_space(still, rcond=RANK)
    count = basis.shape[1]
    problem = f"{modes} modes are requested, but only {count} coordinates deform it."
    model.fail_if(modes is not None and modes > count, "too-many-modes", problem, modes=modes, coordinates=count)
    mass, stiffness = basis.T @ model.M @ basis, basis.T @ model.K @ basis
    problem = "the mass and stiffness of its modes overflow."
    model.fail_if(not (np.isfinite(mass).all() and np.isfinite(stiffness).all()), "not-finite", problem)
    problem = "the mass matrix of its modes is not positive definite."
    model.fail_if(np.linalg.eigvalsh(mass)[0] <= 0.0, "not-positive-definite", problem)
    squares, turned = eigh(stiffness, mass)
    shapes = basis @ turned[:, :modes]
    squares = squares[:modes]
    moved = (model.shapes @ shapes).reshape(len(model.points), 6, -1)
    lumped = sum_bodies(model.masses, model.places, np.zeros((len(model.masses), 3, 3)), moved[:, :3], moved[:, 3:])
    coupling = rigid.T @ model.M @ shapes
    unit, stiffness = np.eye(len(squares)), np.diag(squares)
    damped = damping_of(model.name, damping, unit, stiffness)
    if model.D is not None:
        damped = damped + shapes.T @ model.D @ shapes
    total_mass, first_moment, inertia = _rigid_values(total)
    return FlexibleBodyData(
        name=model.name, mass=total_mass, first_moment=first_moment, inertia=inertia, translation=clean(coupling[:3]),
        rotation=clean(coupling[3:]), modal_mass=unit, moments=clean(lumped.moments), products=clean(lumped.products),
        stiffness=stiffness, damping=clean(0.5 * (damped + damped.T)),
        nodes=tuple(_node(model, label, k, moved) for label, k in chosen.items()),
        reference="mean axis" if attached is None else "attached",
        finite_elements=FiniteElementValues(
            mass=total_mass, center=first_moment / total_mass, inertia=inertia, rigid_modes=6,
            coordinates=len(model.M), source=model.source,
        ),
    )  # fmt: skip


def _rigid_coordinates(model: ReducedModel, rigid_miss: float = 1e-6, resistance: float = 1e-6) -> FloatArray:
    """ρ (r, 6): reduced coordinates of the rigid motions.

    rigid_miss : of the motion of a point, and ``resistance`` of the largest stiffness: files carry some 7 digits.
    """
    motions = rigid_motions(model.places, DIRECTIONS)
    rigid = np.linalg.lstsq(model.shapes, motions, rcond=RANK)[0]
    miss = float(np.abs(model.shapes @ rigid - motions).max() / np.abs(motions).max())
    if miss > rigid_miss:
        problem = f"its coordinates do not contain the six rigid motions: points of one are off by {miss:.1e} of it."
        raise model.fail("few-rigid-modes", problem, Advice("Check the rows of the shapes: x, y, z, rx, ry, rz of "
                         "every point."), miss=miss)  # fmt: skip
    K = model.K / max(np.abs(model.K).max(), 1e-300)  # sums of large numbers overflow
    energy = np.diagonal(rigid.T @ K @ rigid) / np.maximum((rigid**2).sum(axis=0), 1e-300)
    stiff = float(np.abs(energy).max() / max(np.abs(np.linalg.eigvalsh(K)).max(), 1e-300))
    if stiff > resistance:
        held = DIRECTIONS[int(np.argmax(np.abs(energy)))]
        problem = f"its stiffness resists the rigid motion {held}, by {stiff:.1e} of its largest eigenvalue."
        raise model.fail("few-rigid-modes", problem, Advice("Reduce the free body, without supports."), part=stiff)
    return np.asarray(rigid)


def _check_masses(model: ReducedModel, total: FloatArray, tolerance: float = 0.01) -> None:
    """Refuse masses at the points that miss more than ``tolerance``: a coarse choice of points leaves some out."""
    mass, there = float(np.trace(total[:3, :3]) / 3), float(model.masses.sum())
    if not abs(there - mass) <= tolerance * abs(mass):
        problem = f"the masses at its points sum to {there:.6g} kg, its mass matrix holds {mass:.6g} kg."
        advice = Advice("Give the masses of all points of the mesh, and the shapes at all of them.")
        raise model.fail("conflicting-arguments", problem, advice, points=there, matrix=mass)


def _rigid_values(total: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    static = 0.5 * (total[3:, :3] - total[3:, :3].T)
    first = np.array([static[2, 1], static[0, 2], static[1, 0]])
    return float(np.trace(total[:3, :3]) / 3), clean(first), clean(0.5 * (total[3:, 3:] + total[3:, 3:].T))


def _nodes(model: ReducedModel, given: Any) -> dict[str, int]:
    """Names of nodes, each with its point."""
    wanted = {name: name for name in model.points} if given is None else given
    wanted = wanted if isinstance(wanted, Mapping) else {name: name for name in wanted}
    at = {name: k for k, name in enumerate(model.points)}
    for name, point in wanted.items():
        if not isinstance(point, str) or point not in at:
            problem = f"node {name!r}: {unknown_name('point', str(point), model.points)}"
            raise model.fail("unknown-name", problem)
    return {name: at[point] for name, point in wanted.items()}


def _rows(model: ReducedModel, k: int) -> FloatArray:
    return model.shapes[6 * k : 6 * k + 6]


def _node(model: ReducedModel, name: str, k: int, moved: FloatArray, rounding: float = 1e-12) -> FlexibleNode:
    """A node; motions below ``rounding`` of the largest of their mode are zero."""
    both = np.array(moved[k])
    size = np.abs(moved).max(axis=(0, 1), initial=0.0)
    both[np.abs(both) <= rounding * size] = 0.0
    return FlexibleNode(name=name, place=np.array(model.places[k]), translation=both[:3], rotation=both[3:])
