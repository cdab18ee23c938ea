"""Modal truncation: the lowest undamped modes, the rest of the flexibility as direct feedthrough."""

from __future__ import annotations

from dalembert.core.errors import DataError
from dalembert.linear import storage
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.kept_modes import ModesKept, choose_modes, residual_flexibility
from dalembert.structures.reduction.master_coordinates import check_system
from dalembert.structures.reduction.reduction import Reduction


def truncate_modal(
    system: SecondOrder,
    modes: ModesKept = 20,
    *,
    correction: bool = True,
) -> Reduction:
    """The lowest undamped modes as coordinates, the rest of the flexibility as direct feedthrough.

    Parameters
    ----------
    system : SecondOrder
        Damping that the undamped modes do not uncouple stays coupled: C_red = Φᵀ C Φ.
    modes : as for :func:`craig_bampton`
    correction : add the static motion per input that the kept modes leave out (``residual``) to positions; outputs
        of velocity and acceleration get none. A system free to move must keep its rigid-body modes.
    """
    system = check_system(system)
    found = choose_modes(system.M, system.K, modes)
    if not found.numbers:
        raise DataError("empty", "modal truncation needs at least one mode.")
    T = found.shapes[:, found.at]
    R = residual_flexibility(system, found, storage.dense(system.B))[1] if correction and system.nu else None
    names, method = reduction.modal_names((), found.numbers), "modal truncation"
    if R is not None:
        method += " with static correction"
    reduced = reduction.project(system, T, names, residual=R, rates=False, method=method)
    return Reduction(reduced, T, method=method, masters=(), full=system, residual=R)
