"""Reduction of a linkage onto its rigid coordinates, masters and a few interior modes, at one or several poses.

Reference poses by greedy search: at every pose of a grid the basis with the smallest error of frequency counts; the
worst pose gets a basis of its own, until the largest error on the grid is below the tolerance.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, count, instance, one_of, positive
from dalembert.core.errors import DataError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.linkages.equivalent_rigid_links import EquivalentRigidLinks
from dalembert.linkages.reduction.interior_basis import InteriorBasis, PoseMatrices, make_basis
from dalembert.linkages.reduction.reduced_links import ReducedLinks
from dalembert.structures.ranking.method import RankingMethod
from dalembert.structures.ranking.rank_modes import rank_modes
from dalembert.structures.ranking.ranking import Ranking

FIRST_MODES = 6  # elastic modes of the whole that are judged where the ranking names none


@checked
def reduce_links(
    erls: Annotated[EquivalentRigidLinks, instance(EquivalentRigidLinks), "the whole linkage"],
    masters: str | Iterable[str],
    modes: Any,
    *,
    size: Annotated[int, count(1), "interior modes of a ranking"] | None = None,
    at: Any = None,
    over: Mapping[str, Any] | None = None,
    tolerance: Annotated[float, positive, "largest relative error of a judged frequency on the grid"] = 0.005,
    most: Annotated[int, count(1), "reference poses at most"] = 12,
    judged: Sequence[int] | None = None,
    shared: Annotated[str, one_of("first", "last"), "link that the nodes of a hinge turn with"] = "first",
    rates: bool = False,
) -> ReducedLinks:
    """Reduce a linkage; all rigid coordinates are masters.

    Parameters
    ----------
    masters : elastic displacements where forces act or sensors are; rigid coordinates may stand among them.
    modes : numbers of interior modes from 1, or a `Ranking`, or a method of ranking, with `size` modes of each: poses
        of a search are ranked anew.
    at : reference pose, a state or a mapping of rigid coordinates; several in a list; "greedy" to search them `over`
        a grid, the drawing first.
    over : rigid coordinate -> values on the grid.
    judged : numbers of modes of the whole linkage (rigid ones count) whose frequencies decide; those of the ranking,
        else the first six elastic ones.
    shared : link that the nodes of a hinge turn with, the first or the last of its two links in `beams`.
    rates : whether rates of the basis act; without them a basis that turns fast has no inertia of its turning.

    Examples
    --------
    >>> from dalembert.studies.manipulator.manipulator_model import MASTERS, manipulator
    >>> reduced = reduce_links(manipulator(), MASTERS, modes=[1, 2, 4, 7])
    >>> reduced.size, reduced.validity().errors.round(3).tolist()
    (13, [0.012, 0.001, 0.025, 0.051, 1.033, 0.026])
    """
    L = erls.linkage
    rigid = L.rigid.coordinates.names[: L.nq]
    chosen = [name for name in take_names("displacement", masters) if name not in rigid]
    for name in chosen:
        require_name("displacement", name, L.names, f"linkage {L.name!r}", argument="masters")
    DataError.when(not chosen, "empty", "masters: name at least one elastic displacement.")
    matrices = PoseMatrices(L, [L.names.index(name) for name in chosen], shared)
    method = modes.method if isinstance(modes, Ranking) else modes if isinstance(modes, RankingMethod) else None
    if method is not None and size is None:
        problem = "a ranking needs the number of modes to keep."
        raise DataError("missing-argument", problem, Advice("Give {}.", Argument("size", 4)))
    if judged is None:
        judged = getattr(method, "modes", None) or [L.nq + 1 + k for k in range(min(FIRST_MODES, len(L.names)))]

    def basis(x: FloatArray) -> InteriorBasis:
        if method is None:
            return make_basis(matrices, x, tuple(modes))
        assert size is not None
        ranking = rank_modes(erls.system(x), [*rigid, *chosen], method)
        return make_basis(matrices, x, ranking.first(size))

    greedy = isinstance(at, str) and at == "greedy"
    given = [None] if greedy else list(at) if isinstance(at, (list, tuple)) else [at]
    places = [erls.rigid_state(pose) for pose in given]
    reduced = ReducedLinks(
        erls, tuple(chosen), tuple(basis(x) for x in places), tuple(int(number) for number in judged), rates=rates
    )
    reduced.__dict__["matrices"] = matrices
    return _search(reduced, basis, over, tolerance, most) if greedy else reduced


def _search(reduced: ReducedLinks, basis: Any, over: Any, tolerance: float, most: int) -> ReducedLinks:
    L = reduced.erls.linkage
    if not isinstance(over, Mapping) or not over:
        problem = "a greedy search needs a grid of rigid coordinates."
        raise DataError("missing-argument", problem, Advice("Give {}.", Argument("over", {"A.angle": [0.8, 1.0, 1.2]})))
    rigid = L.rigid.coordinates.names[: L.nq]
    for name in over:
        require_name("rigid coordinate", name, rigid, f"linkage {L.name!r}", argument="over")
    grid = [dict(zip(over, values, strict=True)) for values in itertools.product(*(np.ravel(v) for v in over.values()))]
    places = [reduced.erls.rigid_state(pose) for pose in grid]
    errors: list[FloatArray] = []
    while True:
        newest = reduced.with_basis(len(reduced.bases) - 1)
        errors.append(np.array([newest.compare(x).errors for x in places]))
        largest = np.array([per_basis.max(axis=1) for per_basis in errors])
        best = largest.min(axis=0)
        worst = int(np.argmax(best >= best.max() * (1.0 - 1e-6)))
        taken = any(np.array_equal(places[worst], b.x) for b in reduced.bases)
        if best[worst] <= 100.0 * tolerance or taken or len(reduced.bases) >= most:
            break
        reduced = reduced._copy(bases=(*reduced.bases, basis(places[worst])))
    if best[worst] > 100.0 * tolerance:
        problem = f"{len(reduced.bases)} reference poses leave an error of {best[worst]:.3g} % at {grid[worst]}."
        advice = (
            Advice("Keep more modes: {}.", Argument("size")) if taken else Advice("Allow more: {}.", Argument("most"))
        )
        warnings.warn(
            ModelWarning("too-few-modes", problem, advice, evidence={"error": float(best[worst])}), stacklevel=3
        )
    use = np.argmin(largest, axis=0)
    chosen = np.array([errors[k][j] for j, k in enumerate(use)])
    return reduced._copy(grid=np.array([x[: L.nq] for x in places]), grid_errors=chosen, grid_basis=use)
