"""Edges of thresholds: stations at the joint of two elements."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.structures.beams.beam_stresses import along_beam


class FoundError(Exception):
    """Ends the evaluation once the elements are known."""


@pytest.mark.parametrize(("before", "element"), [(0.8e-14, 1), (1.2e-14, 0)])
def test_a_station_1e_14_before_the_end_of_an_element_is_on_the_next(before: float, element: int) -> None:
    elements = []

    def deflections(e: np.ndarray, local: np.ndarray) -> None:
        elements.extend(e.tolist())
        raise FoundError

    group = SimpleNamespace(beams=("a",), first=np.array([0, 2]), length=np.ones(2))
    with pytest.raises(FoundError):
        along_beam(SimpleNamespace(group=group, deflections=deflections), "a", [1.0 - before])
    assert elements == [element]
