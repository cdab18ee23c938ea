"""The fastest elastic vibration of a machine at a state: what makes explicit steps short.

With the stiffness K and the inertia M of the producer, and the motions Z that the rows A leave free, A Z = 0,

    Zᵀ K Z x = ω² Zᵀ M Z x .

An explicit step follows the largest ω, also where this vibration is too small to matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.solve.constrained.matrices import complement


@dataclass(frozen=True)
class FastVibration:
    """The fastest and the slowest elastic vibration [rad/s], and the body that takes most part in the fastest."""

    omega: float
    lowest: float
    body: str

    def limits(self, step: float, longest_step: float = 10.0, spread: float = 5.0) -> bool:
        """Whether steps of this length [s] follow the vibration.

        longest_step : step times ω: an explicit method of order five to eight takes up to 6 where stability limits it,
        and down to 0.3 where the vibration itself has to be followed to 1e-8.
        spread : ω over the lowest of the elastic vibrations: below it all of them are of interest.
        """
        return step * self.omega < longest_step and self.omega > spread * self.lowest


def find_fastest_vibration(
    eqs: EquationsOfMotion,
    q: Array,
    v: Array,
    z: Array,
    t: float,
    largest: int = 600,
    massless: float = 1e-12,
    rigid: float = 1e-9,
) -> FastVibration | None:
    """None where the machine has no elastic coordinates, or is too large to look.

    largest : speeds of the machine: dense matrices of this size take a second.
    massless : mass of a direction, of the largest: massless directions follow without vibration. 5000 roundings.
    rigid : ω², of the largest, of an elastic vibration: rounding of rigid motions leaves 1e-15, and ω is 30 000 times
    slower.
    """
    if "tangent" not in eqs.functions or not eqs.elastic or eqs.nv > largest:
        return None
    still = np.zeros(eqs.nu)
    Z = complement(eqs.kernel("rows")(q, v, z, still, eqs.p, t)[0])
    K = eqs.kernel("tangent")(q, v, z, still, eqs.p, t)[0]
    M = eqs.kernel("inertia")(q, eqs.p, t)[0]
    if not Z.shape[1]:
        return None
    mass = Z.T @ M @ Z
    values, vectors = np.linalg.eigh(mass)
    kept = values > massless * values[-1]
    scaled = Z @ (vectors[:, kept] / np.sqrt(values[kept]))
    squares, shapes = np.linalg.eigh(scaled.T @ K @ scaled)
    elastic = squares > rigid * squares[-1]
    if not squares[-1] > 0.0:
        return None
    columns = list(eqs.elastic_speeds.values())
    worst = int(np.argmax(np.abs((scaled @ shapes[:, -1])[columns])))
    body = eqs.coordinates.owners[eqs.coordinates.index[eqs.elastic[worst]]]
    return FastVibration(float(np.sqrt(squares[-1])), float(np.sqrt(squares[elastic][0])), body)
