"""Numbering of the points of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame


@dataclass(frozen=True)
class Numbering:
    """Points in their order: those of the user, then those that elements add between their ends."""

    names: list[str]
    positions: FloatArray
    index: dict[str, int]


def number_points(frame: Frame) -> Numbering:
    """Number the points; those inside beams lie on the line between the ends (offsets included).

    Beams may end inside other beams, so places are found in rounds; those of a beam that ends inside itself stay NaN.
    """
    names = list(frame.point_names)
    for element in frame.elements:
        names += element.inner_points()
    index = {name: i for i, name in enumerate(names)}
    positions = np.full((len(names), 3), np.nan)
    positions[: len(frame.point_names)] = np.array(frame.positions, dtype=np.float64).reshape(-1, 3)
    while sum([element.place_inner(index, positions) for element in frame.elements]):
        pass
    return Numbering(names, positions, index)
