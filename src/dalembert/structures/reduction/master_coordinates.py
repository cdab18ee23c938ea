"""Which coordinates a reduction keeps: by name, by point, by pattern, or chosen by a rule.

    ratio    keep the smallest K_ii / M_ii: the coordinates that cannot follow the others statically
    greedy   drop the largest K_ii / M_ii of the *condensed* matrices, one at a time (n ≤ 1000); the choice after
             each elimination follows from the matrices that the earlier ones left

The quality of Guyan's reduction depends on the masters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear.second_order import SecondOrder
from dalembert.numerics import ties
from dalembert.structures.assembly import stiffness_factor as factors

Indices = NDArray[np.intp]
# The greedy rule updates a dense matrix per eliminated coordinate.
GREEDY_LIMIT = 1000


def find(coordinates: Sequence[str], wanted: str | Iterable[str], where: str) -> Indices:
    """Places of the wanted coordinates, in the given order, each once.

    A name is a coordinate (``"A.x"``), a point, which means all its coordinates (``"A"`` for
    ``"A.x"``, ``"A.y"``, ...), or a pattern with ``*``, ``?`` or ``[...]`` as in file names (``"*.x"``); a name
    that exists is never read as a pattern, so ``"beam[1]"`` is a point.
    """
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    at = {name: i for i, name in enumerate(coordinates)}
    points: dict[str, list[int]] | None = None
    result: dict[int, None] = {}
    for name in names:
        if not isinstance(name, str):
            raise DataError("bad-name", f"coordinates are named by strings, got {name!r} in {where}.")
        if name in at:
            result[at[name]] = None
            continue
        points = points if points is not None else by_point(coordinates)
        hits = points.get(name)
        if hits is None and any(sign in name for sign in "*?["):
            hits = [i for i, coordinate in enumerate(coordinates) if fnmatchcase(coordinate, name)]
        if not hits:
            raise DataError("unknown-name", unknown_name("coordinate or point", name, [*coordinates, *points], where))
        result.update(dict.fromkeys(hits))
    return np.fromiter(result, dtype=np.intp, count=len(result))


def by_point(coordinates: Sequence[str]) -> dict[str, list[int]]:
    """Places of the coordinates of every point; a coordinate without a dot belongs to none."""
    points: dict[str, list[int]] = {}
    for i, name in enumerate(coordinates):
        point, dot, _ = name.rpartition(".")
        if dot:
            points.setdefault(point, []).append(i)
    return points


def choose_masters(
    system: SecondOrder,
    count: int,
    *,
    rule: Literal["ratio", "greedy"] = "ratio",
    keep: str | Iterable[str] = (),
) -> tuple[str, ...]:
    """The best masters of a Guyan reduction, the best first.

    Parameters
    ----------
    system : SecondOrder
    count : number of masters, ``keep`` included
    rule : "ratio" looks at K_ii / M_ii once; "greedy" eliminates one coordinate after the other (n ≤ 1000).
    keep : coordinates or points that are masters in any case (loads, sensors, dampers, interfaces)

    Examples
    --------
    >>> chain = SecondOrder(np.diag([1, 1, 9]), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]], coordinates=["a", "b", "c"])
    >>> choose_masters(chain, 1)
    ('c',)
    """
    system = check_system(system)
    kept = find(system.coordinates, keep, "keep")
    if (
        isinstance(count, bool)
        or not isinstance(count, int | np.integer)
        or not max(1, len(kept)) <= count <= system.nq
    ):
        raise DataError("out-of-range", f"count must be from {max(1, len(kept))} to {system.nq}, got {count!r}.")
    if rule == "ratio":
        order = np.argsort(ties.ranks(ratio(system.M.diagonal(), system.K.diagonal())), kind="stable")
    elif rule == "greedy":
        if system.nq > GREEDY_LIMIT:
            raise DataError(
                "too-large",
                f"the rule 'greedy' is for up to {GREEDY_LIMIT} coordinates, here are {system.nq}.",
                Advice("Use {}.", Argument("rule", "ratio")),
            )
        dense = system.dense()
        order = _elimination_order(dense.M, dense.K, set(kept.tolist()))[::-1]
    else:
        raise DataError("unknown-name", unknown_name("rule", rule, ["ratio", "greedy"]))
    free = [int(i) for i in order if i not in set(kept.tolist())]
    return tuple(system.coordinates[i] for i in [*kept.tolist(), *free[: count - len(kept)]])


def ratio(mass: FloatArray, stiffness: FloatArray) -> FloatArray:
    """K_ii / M_ii; infinite where there is no mass, so that massless coordinates are the first to go."""
    return np.asarray(np.divide(stiffness, mass, out=np.full(len(mass), np.inf), where=mass > 0.0))


def _elimination_order(M: FloatArray, K: FloatArray, kept: set[int]) -> Indices:
    """All places but ``kept`` in the order in which Guyan's reduction would drop them one by one."""
    M, K = M.copy(), K.copy()
    left = np.array([i not in kept for i in range(len(M))])
    dropped = []
    for _ in range(int(left.sum())):
        score = np.where(left & (np.diag(K) > 0.0), ratio(np.diag(M), np.diag(K)), -1.0)
        i = int(ties.largest_first(score)[0])
        if not left[i]:
            i = int(np.flatnonzero(left)[0])
        left[i] = False
        dropped.append(i)
        if K[i, i] <= factors.EPS * np.abs(K).max():
            continue  # meets no stiffness any more: it stays in the matrices and is dropped last
        t = -K[i] / K[i, i]
        t[i] = 0.0
        # Tᵀ X T for the elimination of one coordinate: x_i = tᵀ x
        for X in (M, K):
            column = X[:, i].copy()
            X += np.outer(column, t) + np.outer(t, column) + column[i] * np.outer(t, t)
            X[i], X[:, i] = 0.0, 0.0
    return np.array(dropped, dtype=np.intp)


def check_system(system: object) -> SecondOrder:
    """The system itself, or an error with advice how to get one."""
    if isinstance(system, SecondOrder):
        return system
    advice = [Advice("Give it {}.", Call("structure.system"))] if hasattr(system, "system") else []
    raise DataError("wrong-type", f"a reduction needs a SecondOrder, got {type(system).__name__}.", *advice)


def load_vector(system: SecondOrder, load: object, name: str) -> FloatArray:
    """A load as (n,): a vector, or a mapping of coordinate names to force."""
    if isinstance(load, Mapping):
        vector = np.zeros(system.nq)
        for coordinate, value in load.items():
            place = find(system.coordinates, coordinate, f"load {name!r}")
            if len(place) != 1:
                raise DataError(
                    "not-unique",
                    f"load {name!r}: {coordinate!r} means {len(place)} coordinates.",
                    Advice("Name one of them."),
                )
            vector[place[0]] += float(value)
        return vector
    vector = np.asarray(load, dtype=np.float64)
    if vector.shape != (system.nq,) or not np.isfinite(vector).all():
        raise DataError(
            "wrong-shape",
            f"load {name!r} has shape {vector.shape}; expected ({system.nq},), one finite force per coordinate.",
        )
    return vector
