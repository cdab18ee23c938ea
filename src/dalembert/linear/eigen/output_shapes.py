"""Mode shapes at the outputs of a second-order system, beside those at its coordinates.

x = φ e^{st},  y = (Y_position + s Y_velocity + s² Y_acceleration) φ e^{st}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.errors import DataError
from dalembert.linear.modes import Modes, is_still

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
    chosen = system.modes() if modes is None else modes
    if chosen.coordinates != system.coordinates:
        raise DataError("wrong-owner", "modes must be those of the system, with all its coordinates.")
    new = [k for k, name in enumerate(system.outputs) if name not in system.coordinates]
    if not new:
        return chosen
    s = chosen.eigenvalues
    rows = np.zeros((len(new), len(chosen)), dtype=np.complex128)
    for power, matrix in enumerate((system.Y_position, system.Y_velocity, system.Y_acceleration)):
        if matrix is not None:
            rows += (matrix @ chosen.shapes)[new] * s**power
    is_real = not np.iscomplexobj(chosen.shapes) and bool(is_still(rows.imag, np.abs(rows).max(initial=0.0)).all())
    return chosen.replace(
        shapes=np.vstack([chosen.shapes, rows.real if is_real else rows]), momenta=None, restoring=None,
        coordinates=(*system.coordinates, *(system.outputs[k] for k in new)),
        modal_masses=chosen.modal_masses if chosen.has_masses and (chosen.modal_masses > 0.0).all() else None,
    )  # fmt: skip
