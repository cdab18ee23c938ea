"""Measured mode shapes as elastic and rigid coordinates of an equivalent rigid-link system (Palomba 2016, ch. 4).

Nodes move by the elastic displacements u and with the rigid mechanism, b = u + S dq. Some elastic coordinates are zero
by definition, so that the rigid motion is unique:

    b_0 = S_0 dq,    u = b - S dq      rows 0: zeroed coordinates
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dalembert.core.declare import checked, instance, matrix, positive
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.linear.modes import Modes

__all__ = ["to_elastic"]


@checked
def to_elastic(
    modes: Annotated[Modes, instance(Modes), "of total displacements"],
    S: Annotated[Any, matrix("n", "m"), "motion of the coordinates of the modes with the rigid coordinates"],
    zeroed: tuple[str, ...] | list[str],
    rigid: tuple[str, ...] | list[str],
    *,
    least: Annotated[float, positive, "singular value of S_0 over the largest; six digits are left there"] = 1e-10,
) -> Modes:
    """Elastic displacements and rigid coordinates of mode shapes given by total displacements.

    Parameters
    ----------
    zeroed : coordinates without elastic displacement, as many as rigid coordinates
    rigid : names of the m rigid coordinates, columns of ``S``

    Returns
    -------
    Modes with the other coordinates, then the rigid ones.

    Examples
    --------
    >>> measured = Modes([2.0j], [[1.0], [2.5]], ["A.y", "B.y"])
    >>> to_elastic(measured, [[0.5], [1.0]], ["A.y"], ["angle"]).shapes[:, 0].real.tolist()
    [0.5, 2.0]
    """
    for name in zeroed:
        require_name("coordinate", name, modes.coordinates, "the modes", argument="zeroed")
    n, m, count = len(modes.coordinates), len(rigid), len(set(zeroed))
    if not m or S.shape != (n, m) or count != m or len(zeroed) != m:
        raise DataError(
            "wrong-shape",
            f"S has shape {S.shape} with {count} zeroed coordinates; expected ({n}, {m}) and {m}, each once: as many "
            "as rigid coordinates, one at least.",
        )
    at = [modes.coordinates.index(name) for name in zeroed]
    sizes = np.linalg.svd(S[at], compute_uv=False)
    if sizes[-1] <= least * sizes[0]:
        raise DataError(
            "singular-matrix", f"the rigid coordinates do not move {', '.join(zeroed)} independently "
            f"(smallest over largest singular value {sizes[-1] / max(sizes[0], np.finfo(float).tiny):.1e}).",
            Advice("Choose other {}.", Argument("zeroed")), evidence={"singular_values": sizes.tolist()},
        )  # fmt: skip
    dq = np.linalg.solve(S[at], modes.shapes[at])
    others = [k for k in range(len(modes.coordinates)) if k not in set(at)]
    elastic = modes.shapes[others] - S[others] @ dq
    names = [*(modes.coordinates[k] for k in others), *rigid]
    deviations = {key: getattr(modes, key) for key in ("frequency_deviations_hz", "damping_deviations")}
    return Modes(modes.eigenvalues, np.concatenate([elastic, dq]), names, **deviations)
