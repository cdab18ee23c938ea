"""Static condensation and static substructuring, exact in statics with any load.

    q2 = -K22⁻¹ K21 q1 + K22⁻¹ f2,   Kc = K11 - K12 K22⁻¹ K21,   fc = f1 - K12 K22⁻¹ f2

Masters 1, slaves 2; exact in dynamics too where the slaves have no mass and no damping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.text import list_names
from dalembert.linear import storage
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.master_coordinates import Indices, find, load_vector
from dalembert.structures.reduction.partition import HOLD, Names, Partition, block, make_reduction
from dalembert.structures.reduction.reduction import Reduction


def condense_static(system: SecondOrder, masters: Names, *, loads: Mapping[str, Any] | None = None) -> Reduction:
    """Static condensation, exact in statics for any loads.

    The part of the inputs that acts on slaves is kept: as forces on the masters, as direct feedthrough to the
    outputs, and in ``Reduction.expand(x, inputs=u)``. Where the slaves have neither mass nor damping the result
    is exact in dynamics too and removes the singularity of M.

    Parameters
    ----------
    system : SecondOrder
        May have circulatory forces H, as long as the slaves have no mass or damping.
    masters : coordinates, points or patterns
    loads : mapping of a name to a load, optional
        (n,) vectors or mappings of coordinate names to forces; each becomes an input of the reduced system.

    Examples
    --------
    >>> chain = SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]], coordinates=["a", "b", "c"])
    >>> reduced = condense_static(chain, "c", loads={"push": {"b": 1.0}})
    >>> reduced.static({"push": 1.0}).round(6).tolist()
    [1.0, 2.0, 2.0]
    """
    split = Partition(system, masters)
    cases, forces = _read_loads(system, loads)
    if storage.nonzero(system.H):
        return _circulatory(split, cases, forces)
    factor = split.factor()
    T = split.basis(split.constraint_modes(factor))
    R = np.zeros((system.nq, forces.shape[1]))
    R[split.second] = factor.solve(forces[split.second])
    return make_reduction(split, T, "static condensation", residual=R, loads=cases)


def _read_loads(system: SecondOrder, loads: Mapping[str, Any] | None) -> tuple[dict[str, FloatArray], FloatArray]:
    """Load cases (n,) by name, and all forces (n, nu + cases): those of the inputs first."""
    cases = {name: load_vector(system, load, name) for name, load in (loads or {}).items()}
    return cases, np.column_stack([storage.dense(system.B), *cases.values()])


def _circulatory(split: Partition, cases: Mapping[str, FloatArray], forces: FloatArray) -> Reduction:
    """K + H is not symmetric: rows and columns are condensed each by their own solution."""
    system, second = split.system, split.second
    for symbol in ("M", "C", "G", "K_loss"):
        if any(storage.nonzero(split.part(getattr(system, symbol), i, j)) for i, j in ((2, 1), (2, 2))):
            raise DataError(
                "circulatory-forces",
                f"with circulatory forces (H) the slaves must have no mass or damping; {symbol} is not zero on them.",
                Advice("Keep those coordinates as masters."),
                Advice("Or use {}, which projects H on the static shapes of K.", Call("da.structures.guyan")),
            )
    K = split.part(system.K_full, 2, 2)
    factor = factors.factor_regular(K, split.slaves, "K + H of the slaves with the masters held", HOLD, symmetric=False)
    T = split.basis(-factor.solve(storage.dense(split.part(system.K_full, 2, 1))))
    turned = factors.StiffnessFactor(K.T.tocsc() if scipy.sparse.issparse(K) else K.T, symmetric=False)
    W = split.basis(-turned.solve(storage.dense(split.part(system.K_full, 1, 2)).T))
    R = np.zeros((system.nq, forces.shape[1]))
    R[second] = factor.solve(forces[second])
    return make_reduction(split, T, "static condensation", residual=R, loads=cases, left=W)


def find_substructures(system: SecondOrder, masters: Names) -> tuple[tuple[str, ...], ...]:
    """Groups of slaves that meet each other only through the masters, by the pattern of all matrices.

    Examples
    --------
    >>> chain = SecondOrder(np.eye(5), 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1))
    >>> find_substructures(chain, "x3")
    (('x1', 'x2'), ('x4', 'x5'))
    """
    split = Partition(system, masters)
    return tuple(tuple(system.coordinates[i] for i in inside) for inside in _groups(split, None).values())


def condense_substructures(
    system: SecondOrder,
    masters: Names,
    groups: Mapping[str, Names] | Sequence[Names] | None = None,
    *,
    loads: Mapping[str, Any] | None = None,
) -> Reduction:
    """Static substructuring: a frame of masters and parts that touch only it, one after the other.

        Kc = K00 - Σ K0i Kii⁻¹ Ki0,   fc = f0 - Σ K0i Kii⁻¹ f_i,   q_i = -Kii⁻¹ Ki0 q0 + Kii⁻¹ f_i

    The same result as :func:`condense_static` with one factorization per part instead of one for all.

    Parameters
    ----------
    system, masters, loads : as for :func:`condense_static`; without circulatory forces
    groups : coordinates, points or patterns of every part, optional
        Found by themselves (:func:`find_substructures`) when left out. Together with the masters they must cover the
        system, and no two may be coupled.
    """
    split = Partition(system, masters)
    cases, forces = _read_loads(system, loads)
    if storage.nonzero(system.H):
        raise DataError(
            "circulatory-forces",
            "static substructuring is for systems without circulatory forces (H).",
            Advice("Use {}.", Call("da.structures.condense_static")),
        )
    parts = _groups(split, groups)
    T, R = split.basis(np.zeros((len(split.second), len(split.first)))), np.zeros((system.nq, forces.shape[1]))
    for name, inside in parts.items():
        names = [system.coordinates[i] for i in inside]
        what = f"the stiffness of part {name!r} with the frame held"
        factor = factors.factor_regular(block(system.K, inside, inside), names, what, HOLD)
        T[inside, : len(split.first)] = -factor.solve(storage.dense(block(system.K, inside, split.first)))
        R[inside] = factor.solve(forces[inside])
    return make_reduction(split, T, f"static substructuring of {len(parts)} parts", residual=R, loads=cases)


def _groups(split: Partition, groups: Mapping[str, Names] | Sequence[Names] | None) -> dict[str, Indices]:
    system = split.system
    if groups is None:
        pattern: Any = scipy.sparse.csr_array((len(split.second), len(split.second)))
        for symbol in reduction.SQUARE:
            pattern = pattern + abs(scipy.sparse.csr_array(split.part(getattr(system, symbol), 2, 2)))
        _, labels = scipy.sparse.csgraph.connected_components(pattern, directed=False)
        return {str(k + 1): split.second[labels == k] for k in range(int(labels.max(initial=-1)) + 1)}
    named = groups if isinstance(groups, Mapping) else {str(k + 1): group for k, group in enumerate(groups)}
    parts = {name: find(system.coordinates, group, f"part {name!r}") for name, group in named.items()}
    owner = np.full(system.nq, -1)
    owner[split.first] = -2
    for k, (name, inside) in enumerate(parts.items()):
        taken = inside[owner[inside] != -1]
        if len(taken):
            other = "a master" if owner[taken[0]] == -2 else f"in part {list(parts)[owner[taken[0]]]!r} too"
            raise DataError("duplicate", f"{system.coordinates[taken[0]]!r} of part {name!r} is {other}.")
        owner[inside] = k
    if (owner == -1).any():
        left = [system.coordinates[i] for i in np.flatnonzero(owner == -1)]
        raise DataError("missing-coordinates", f"neither masters nor in any part: {list_names(left, {})}.")
    entries = scipy.sparse.coo_array(system.K)  # coupling in M alone leaves statics exact
    i, j = entries.coords
    wrong = (owner[i] >= 0) & (owner[j] >= 0) & (owner[i] != owner[j]) & (entries.data != 0.0)
    if wrong.any():
        k = int(np.argmax(wrong))
        a, b = system.coordinates[i[k]], system.coordinates[j[k]]
        raise DataError(
            "coupled-parts",
            f"{a!r} and {b!r} are in different parts but coupled in K: only masters may lie between parts.",
            Advice("Make one of them a master."),
            where={"coordinates": (a, b)},
        )
    return parts
