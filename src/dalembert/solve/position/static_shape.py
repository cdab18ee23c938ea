"""Elastic coordinates of a machine at static rest, with its joints held where they are.

With the rows A of the joints and rows H of as many independent joint coordinates as the machine has rigid freedoms,
Z spans the deformations that A and H allow. At rest Zᵀ f = 0; Newton's method with the producer's stiffness K,

    (Zᵀ K Z) y = Zᵀ f ,    dξ = Z y ,

corrects what K leaves out (the turning of weights with the deformation) in a few passes, each closed by an assembly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.numerics import ties
from dalembert.solve.constrained.matrices import complement, rank_of


def find_static_shape(
    eqs: EquationsOfMotion,
    q: Array,
    named: Sequence[str],
    close: Callable[[Mapping[str, float], Array], Array],
    t: float,
    tolerance: float = 1e-10,
    passes: int = 40,
) -> Array:
    """q with its elastic coordinates at rest.

    named : coordinates with given values.  close : from values of coordinates and a pose to the closed pose.

    tolerance : last change over 1 + the largest elastic coordinate: rounding is 1e-16.
    passes : what the stiffness leaves out is below a half of it in any machine that does not buckle: 34 passes reach
    1e-10.
    """
    if "tangent" not in eqs.functions:
        problem = f"{eqs.name!r} has no elastic coordinates whose static rest could be found."
        raise ModelError("ineffective-argument", problem, where={"argument": "elastic"})
    rest = np.zeros(eqs.nv), eqs.state().z, np.zeros(eqs.nu)
    held = choose_held(eqs, q, named, t)
    values = eqs.kernel("measures")(q, rest[0], eqs.p, t)[0][[eqs.measures.index[name] for name in held]]
    places = [eqs.measures.index[eqs.motor_sides.get(name, name)] for name in held]  # where efforts may act
    change = np.inf
    for _ in range(passes):
        A = eqs.kernel("rows")(q, *rest, eqs.p, t)[0]
        H = eqs.kernel("measures")(q, rest[0], eqs.p, t)[2][places]
        Z = complement(np.vstack((A, H)))
        f = eqs.kernel("forces")(q, *rest, eqs.p, t, np.zeros(len(eqs.rows)))[0]
        K = eqs.kernel("tangent")(q, *rest, eqs.p, t)[0]
        step = Z @ np.linalg.lstsq(Z.T @ K @ Z, Z.T @ f, rcond=None)[0]
        q = q + eqs.kernel("kinematics")(q, eqs.p, t)[0] @ step
        elastic = {name: float(q[eqs.coordinates.index[name]]) for name in eqs.elastic}
        q = close({**dict(zip(held, values, strict=True)), **elastic}, q)
        size = 1 + max((abs(x) for x in elastic.values()), default=0.0)
        change = float(np.abs(step).max(initial=0.0)) / size
        if change <= tolerance:
            return q
    problem = f"the static deformation of {eqs.name!r} was not found in {passes} passes (last change {change:.1e})."
    raise ConvergenceError("no-convergence", problem, evidence={"change": change})


def choose_held(eqs: EquationsOfMotion, q: Array, named: Sequence[str], t: float) -> list[str]:
    """As many independent joint coordinates as the machine has rigid freedoms, those with given values first."""
    zero = np.zeros(eqs.nv)
    A = eqs.kernel("rows")(q, zero, eqs.state().z, np.zeros(eqs.nu), eqs.p, t)[0]
    S = eqs.kernel("measures")(q, zero, eqs.p, t)[2]
    elastic = S[[eqs.measures.index[name] for name in eqs.elastic]]
    Z = complement(np.vstack((A, elastic)))
    given = [name for name in named if name in eqs.measures.index and name not in eqs.elastic]
    joints = [eqs.measures.names[k] for k in eqs.recorded_measures]
    others = [name for name in eqs.measures.names if name not in eqs.elastic]
    held: list[str] = []
    for candidates in (given, joints, others):
        free = Z if not held else Z @ complement(S[[eqs.measures.index[name] for name in held]] @ Z)
        new = [name for name in candidates if name not in held]
        if not free.shape[1] or not new:
            continue
        sizes, order = ties.pivot_columns((S[[eqs.measures.index[name] for name in new]] @ free).T)
        held += [new[int(k)] for k in order[: rank_of(sizes)]]
    return held
