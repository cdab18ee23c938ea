"""Mode shapes at the outputs of a second-order system, beside those at its coordinates.

x = φ e^{st},  y = (Y_position + s Y_velocity + s² Y_acceleration) φ e^{st}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.errors import DataError
from dalembert.linear.modes import LIMITS, Modes

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder


def modes_at_outputs(system: SecondOrder, modes: Modes | None = None) -> Modes:
    """Modes with shapes at coordinates and outputs, to be compared with those that sensors measured.

    Parameters
    ----------
    system : SecondOrder, with outputs
    modes : those of the system; all when left out

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> frame = SecondOrder(1.0, 4.0, coordinates="x", outputs="a", Y_acceleration=1.0)
    >>> modes_at_outputs(frame).shapes.real.tolist()
    [[1.0], [-4.0]]
    """
    own = system.modes() if modes is None else modes
    if own.coordinates != system.coordinates:
        raise DataError("wrong-owner", "modes must be those of the system, with all its coordinates.")
    new = [k for k, name in enumerate(system.outputs) if name not in system.coordinates]
    if not new:
        return own
    s = own.eigenvalues
    rows = np.zeros((len(new), len(own)), dtype=np.complex128)
    for power, matrix in enumerate((system.Y_position, system.Y_velocity, system.Y_acceleration)):
        if matrix is not None:
            rows += (matrix @ own.shapes)[new] * s**power
    rounding = LIMITS.still * np.abs(rows).max(initial=0.0)
    is_real = not np.iscomplexobj(own.shapes) and bool(np.abs(rows.imag).max(initial=0.0) <= rounding)
    return own.replace(
        shapes=np.vstack([own.shapes, rows.real if is_real else rows]), momenta=None, restoring=None,
        coordinates=(*system.coordinates, *(system.outputs[k] for k in new)),
        modal_masses=own.modal_masses if own.has_masses and (own.modal_masses > 0.0).all() else None,
    )  # fmt: skip
