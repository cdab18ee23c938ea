"""Forces inside beams before a further load acts, and the stiffness they give the elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.structures.beams import geometric_stiffness as geometric
from dalembert.structures.beams.beam_group import BeamGroup

if TYPE_CHECKING:
    from dalembert.structures.beams.internal_forces import Loaded


@dataclass(frozen=True)
class InternalForces:
    """Forces inside the elements of a `BeamGroup`.

    start, end : (ne, 6), N, V_y, V_z, T, M_y, M_z on the face that looks along +x [N, N m].
    bulge : (ne,) tension at the middle beyond the mean of the ends [N].
    couple : (ne, 3) mean moment per length on the element [N m/m].
    """

    start: FloatArray
    end: FloatArray
    bulge: FloatArray
    couple: FloatArray


def from_ends(group: BeamGroup, forces: FloatArray, axial_load: FloatArray, couple: FloatArray) -> InternalForces:
    """Internal forces from forces on the ends (ne, 12), load along the axis (ne, 2) [N/m] and mean couples (ne, 3)."""
    bulge = (axial_load[:, 1] - axial_load[:, 0]) * group.length / 8
    return InternalForces(-forces[:, :6], forces[:, 6:], bulge, couple)


def element_stiffness(group: BeamGroup, forces: InternalForces) -> FloatArray:
    """(ne, 12, 12) geometric stiffness of beams and bars in local axes."""
    each = (forces.start, forces.end, forces.bulge, forces.couple)
    K_g = geometric.geometric_stiffness(group.numbers, *each)
    if group.tapered is not None:
        some = (values[group.tapered_index] for values in each)
        K_g[group.tapered_index] = geometric.tapered_geometric_stiffness(group.tapered, *some)
    bars = group.is_bar
    if bars.any():
        mean = 0.5 * (forces.start[bars, 0] + forces.end[bars, 0])
        K_g[bars] = geometric.bar_geometric_stiffness(group.length[bars], mean)
    return K_g


class InitialForces:
    """The sum of static states and of constant tensions (ne,) [N], in one group of beams."""

    def __init__(self, states: tuple[Loaded, ...], tension: FloatArray) -> None:
        self.states, self.tension = states, tension

    def forces(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) N, V_y, V_z, T, M_y, M_z in elements e (k,) at x (k,) [m]."""
        total = np.zeros((len(e), 6))
        total[:, 0] = self.tension[e]
        for state in self.states:
            total += state.forces(e, x)
        return total

    def internal(self) -> InternalForces:
        """What the geometric stiffness is made of."""
        ends = np.zeros((len(self.tension), 6))
        ends[:, 0] = self.tension
        constant = InternalForces(ends, ends, np.zeros(len(ends)), np.zeros((len(ends), 3)))
        given = [constant, *(state.internal() for state in self.states)]
        return InternalForces(
            *(np.sum([getattr(one, name) for one in given], axis=0) for name in ("start", "end", "bulge", "couple"))
        )

    def places(self, e: IntArray) -> list[float]:
        """Where forces jump inside elements e [m]."""
        return [float(x) for state in self.states for x in state.at_place[np.isin(state.at_element, e)]]
