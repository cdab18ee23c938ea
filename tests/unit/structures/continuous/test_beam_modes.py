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


@pytest.mark.parametrize(("sample", "found"), [(0.94, 1.0), (0.96, 1.2)])
def test_a_peak_is_looked_for_beside_samples_above_0_95_of_the_largest(sample, found):
    # a parabola of height 1.2 a quarter of a step beside the sample at 0.5, on a line that ends at 1
    step = 1.0 / 64.0
    top, curve = 0.5 + 0.25 * step, (1.2 - sample) / (0.25 * step) ** 2

    def fields(z):
        near, off = np.abs(z - 0.5) < 0.9 * step, z - top
        u, slope = np.where(near, 1.2 - curve * off**2, z), np.where(near, -2.0 * curve * off, 1.0)
        return np.stack([u, slope, np.where(near, -2.0 * curve, 0.0), np.zeros_like(u)])[:, None]

    one = SimpleNamespace(fields=fields, longest=1.0, lam=0.0, s2=0.0)
    assert _largest(one, np.ones(1)) == pytest.approx(found, rel=1e-9)
