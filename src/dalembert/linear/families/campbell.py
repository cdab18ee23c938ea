"""The Campbell diagram: natural frequencies over the spin speed."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from dalembert.linear.families.track_eigenvalues import EigenvalueBranches, track_eigenvalues
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace


def campbell(
    build: Callable[[float], SecondOrder | StateSpace],
    speeds: ArrayLike,
    *,
    orders: ArrayLike = (1.0,),
    count: int | None = None,
) -> EigenvalueBranches:
    """Natural frequencies over the spin speed [rad/s], with critical speeds of the given orders.

    Of systems of `da.structures.spin_rotor` only modes that whirl have critical speeds; where torsion or axial
    motion meets an order is listed in ``coincidences``. Of other systems every frequency counts. Backward whirl on
    bearings that are equally stiff both ways is not excited by unbalance (``CriticalSpeed.whirl``).

    Examples
    --------
    >>> import numpy as np
    >>> def rotor(speed):
    ...     return SecondOrder(np.eye(2), np.diag([4.0, 9.0]), G=[[0, speed], [-speed, 0]])
    >>> round(campbell(rotor, np.linspace(0.0, 4.0, 9)).critical_speeds[0].speed, 9)    # √(36/13)
    1.664100589
    """
    return track_eigenvalues(build, speeds, parameter="speed", unit="rad/s", orders=orders, count=count)
