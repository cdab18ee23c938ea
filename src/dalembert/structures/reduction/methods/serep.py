"""System equivalent reduction expansion process (O'Callahan, Avitabile, Riemer 1989).

    T = Φ Φ₁⁻¹,   M = WᵀW,   K = WᵀΩ²W,   W = Φ₁⁻¹

Exact for as many modes as there are masters, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import list_names
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.reduction.partition import Names, Partition, judge_rounding, make_reduction
from dalembert.structures.reduction.reduction import Reduction

# Elastic energy of a master's motion over that of the highest kept mode, below which its motion is rounding: next to a
# clamp it is 4e-3 with 200 elements and falls with their number, of bending along the axis of a beam 1e-22.
AT_REST = 1e-12


def serep(system: SecondOrder, masters: Names, *, modes: Sequence[int] | None = None) -> Reduction:
    """System equivalent reduction expansion: the undamped modes it keeps, as many as masters, are those of the system.

    Exact but for rounding, which grows with the square of the condition number of the mode shapes at the masters: a
    warning names errors of frequencies above 1e-6, an error those above 1e-2. A few masters that lie
    close together are enough (the last four points of a cantilever of forty: condition 9e5, first frequency off by
    some 1e-4).

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns; :func:`choose_masters` proposes some that move differently
    modes : numbers of the modes to keep, from 1, as many as masters, optional; the lowest when left out
    """
    split = Partition(system, masters)
    m = len(split.first)
    numbers = tuple(range(1, m + 1)) if modes is None else tuple(int(i) for i in modes)
    if len(set(numbers)) != m or min(numbers) < 1:
        raise DataError(
            "duplicate", f"SEREP keeps as many modes as masters: {m} different numbers from 1, got {numbers}."
        )
    squares, shapes = factors.lowest(system.M, system.K, max(numbers))
    if shapes.shape[1] < max(numbers):
        raise DataError(
            "too-few-modes", f"the system has {shapes.shape[1]} modes with mass, mode {max(numbers)} was requested."
        )
    kept = np.array(numbers) - 1
    squares, Phi = squares[kept], shapes[:, kept]
    sizes = np.linalg.norm(Phi[split.first], axis=1)
    top = float(squares.max())
    weight = (system.K.diagonal() / top if top > 0.0 else system.M.diagonal())[split.first]
    still = [name for name, energy in zip(split.names, weight * sizes**2) if energy <= AT_REST]
    if still:
        raise DataError(
            "rank-deficient",
            f"SEREP: {list_names(still, {})} do not move in the kept modes {', '.join(map(str, numbers))}.",
            Advice("Choose masters that move in them: {}.", Call("da.structures.choose_masters")),
            Advice("Or choose other modes: {}.", Argument("modes")),
        )
    at_masters = Phi[split.first] / sizes[:, None]
    if np.linalg.svd(at_masters, compute_uv=False)[-1] <= m * factors.EPS:
        judge_rounding(split, "SEREP", np.zeros((m, m)), np.zeros((m, m)), squares[:0], at_masters)
    W = np.linalg.inv(at_masters)
    scale = np.linalg.norm(W, axis=0)
    scaled = W / scale
    M, K = scaled.T @ scaled, scaled.T @ (squares[:, None] * scaled)
    judge_rounding(split, "SEREP", M, K, squares, at_masters * scale[:, None])
    back = np.outer(scale / sizes, scale / sizes)
    return make_reduction(split, np.asarray(Phi @ (W / sizes)), "SEREP", M=M * back, K=0.5 * (K + K.T) * back)
