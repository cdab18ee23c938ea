"""The largest deflection of a mode, at the edges of its thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.structures.continuous.beam_modes import _first_peak, _largest


def wave(deflection) -> SimpleNamespace:
    """Fields of one solution: this deflection, and a rotation of 1."""

    def fields(z):
        u = deflection(z)
        return np.stack([u, np.ones_like(u), np.zeros_like(u), np.zeros_like(u)])[:, None]

    return SimpleNamespace(fields=fields, longest=1.0, lam=0.0, s2=0.0)


@pytest.mark.parametrize(("excess", "sign"), [(3e-10, 1.0), (3e-9, -1.0)])
def test_of_peaks_that_are_equal_to_a_billionth_the_first_has_the_sign(excess, sign):
    value = np.array([1.0, -1.0 - excess])
    assert np.sign(_first_peak(np.abs(value), value)) == sign


@pytest.mark.parametrize(("size", "found"), [(3e-10, 1.0), (3e-9, 3e-9)])
def test_a_mode_that_deflects_by_a_billionth_of_its_rotation_only_turns(size, found):
    assert _largest(wave(lambda z: size * np.ones_like(z)), np.ones(1)) == found
