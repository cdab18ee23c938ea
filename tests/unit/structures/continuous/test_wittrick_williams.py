"""Edges of thresholds: eigenvalues that are one, counts between neighbours, poles of joints."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.continuous import beam_modes
from dalembert.structures.continuous.wittrick_williams import HeldBeam

PINNED = HeldBeam(0.0, 0.0, (np.inf, np.inf), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))  # b = n π


@pytest.mark.parametrize(("apart", "together"), [(3e-10, 2), (3e-9, 1)])
def test_modes_within_a_billionth_are_made_orthogonal_together(apart, together, monkeypatch):
    sizes = []

    def amplitudes(lam, count, held):
        sizes.append(count)
        return np.zeros((4, count))

    class Wave:
        lam = 1.0

    monkeypatch.setattr(beam_modes.spectrum, "amplitudes", amplitudes)
    monkeypatch.setattr(beam_modes, "_orthogonal", lambda wave, chosen, held: chosen)
    beam_modes._amplitudes(np.array([1.0, 1.0 + apart]), (Wave, Wave), PINNED)
    assert sizes[0] == together
