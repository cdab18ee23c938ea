"""Operations of the prediction of a filter on a reduced model whose static part follows the pose (Palomba 2016, ch. 6).

A product of sizes a x b x c counts a b c, an inverse n³. With m masters, s = n - m slaves and τ kept interior modes a
step of the reduced model takes

    s³ + 3 s² m + 5 s m² + 4 (m + τ)³        K_ss⁻¹, B, reduced matrices, their inverse and products

against 4 n³ of the full one. All that does not depend on B is taken as computed beforehand.
"""

from __future__ import annotations

from typing import Annotated

from dalembert.core.declare import checked, count
from dalembert.core.errors import DataError
from dalembert.core.results import column, result

__all__ = ["OperationCount", "operation_count"]


@result
class OperationCount:
    """Multiplications per step, and what a reduction saves of those of the full model."""

    reduced: int = column("reduced model, per step")
    full: int = column("full model, per step")
    saving: float = column("saved share")
    pays: bool = column("the reduction pays")


@checked
def operation_count(
    n: Annotated[int, count(1), "coordinates of the full model"],
    masters: Annotated[int, count(0), "coordinates that are kept"],
    modes: Annotated[int, count(0), "interior modes that are kept"],
) -> OperationCount:
    """Operations of one prediction with a reduced and with the full model: a guideline by the cubes of the sizes.

    Examples
    --------
    >>> operations = operation_count(30, masters=9, modes=4)
    >>> operations.reduced, operations.full, round(operations.saving, 3), operations.pays
    (38461, 108000, 0.644, True)
    """
    if masters + modes > n:
        raise DataError(
            "out-of-range", f"{masters} masters and {modes} modes are more than the {n} coordinates of the full model."
        )
    slaves, kept = n - masters, masters + modes
    reduced = slaves**3 + 3 * slaves**2 * masters + 5 * slaves * masters**2 + 4 * kept**3
    full = 4 * n**3
    return OperationCount(reduced, full, 1.0 - reduced / full, reduced < full)
