"""From the free coordinates of a structure to one beam and its elements, by Boolean matrices.

    q_elementⱼ = B_cⱼ q_beam,     q_beam = B_e q_free of the beam,     q_free of the beam = B_f q_free

B_c shares points among the elements of the beam, B_e drops the held coordinates, B_f shares coordinates among beams.
Rows of B_e that follow a rigid link carry its coefficients instead of a one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.structures.beams.beam_group import BeamGroup

if TYPE_CHECKING:
    from dalembert.structures.assembly.structure import Structure


@dataclass(frozen=True, eq=False)
class Connectivity:
    """How one beam takes part in a structure; made by :meth:`Structure.connectivity`.

    Attributes
    ----------
    coordinates : names of the n coordinates of the beam's points, held ones too.
    free : names of the n_f free coordinates of the structure that move it.
    B_c : (ne, 2 d, n), the coordinates of every element from those of the beam.
    B_e : (n, n_f), those of the beam from its free ones.
    B_f : (n_f, N_f), its free ones from all free ones of the structure.
    """

    beam: str
    coordinates: tuple[str, ...]
    free: tuple[str, ...]
    B_c: FloatArray
    B_e: FloatArray
    B_f: FloatArray

    def __repr__(self) -> str:
        elements, each, n = self.B_c.shape
        return (
            f"Connectivity of beam {self.beam!r}: {elements} elements with {each} coordinates each, {n} of its points, "
            f"{len(self.free)} free, of {self.B_f.shape[1]} of the structure"
        )


def connectivity(structure: Structure, beam: str) -> Connectivity:
    """Maps of one beam or bar."""
    groups = [group for group in structure.groups if isinstance(group, BeamGroup)]
    for group in groups:
        if beam not in group.beams:
            continue
        k = group.beams.index(beam)
        places = group.coordinates()[group.first[k] : group.first[k + 1]]
        own = np.array(list(dict.fromkeys(places.ravel().tolist())))  # in order along the beam
        rows = structure.T.tocsr()[own, :].toarray()
        used = np.flatnonzero(rows.any(axis=0))
        return Connectivity(
            beam=beam, coordinates=tuple(structure.coordinates[i] for i in own),
            free=tuple(structure.free[i] for i in used),
            B_c=(places[:, :, None] == own).astype(np.float64), B_e=rows[:, used],
            B_f=(used[:, None] == np.arange(len(structure.free))).astype(np.float64),
        )  # fmt: skip
    known = [name for group in groups for name in group.beams]
    raise DataError("unknown-name", unknown_name("beam or bar", beam, known, f"structure {structure.name!r}"))
