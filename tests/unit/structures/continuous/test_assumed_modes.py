"""Assumed modes: bodies at the ends, axial force, steps, own functions, mistakes."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Beam, End, Trial, assumed_modes
from tests.helpers.findings import raises


def unit(left="clamped", right="free", **rest):
    return Beam(1.0, EI=1.0, rhoA=1.0, left=left, right=right, **rest)


def test_assumed_modes_with_a_tip_mass_and_a_spring_agree_with_the_exact_beam():
    right = End(mass=0.7, inertia=0.1, spring=2.0, rotational_spring=0.5)
    exact = unit(right=right).frequencies(4)
    by_end = assumed_modes(1.0, 1.0, 1.0, 14, right=right).system.modes().frequencies[:4]
    assert by_end == pytest.approx(exact, rel=1e-7)


def test_assumed_modes_take_rotary_inertia():
    exact = unit(theory="rayleigh", rhoI=0.01).frequencies(3)
    assert assumed_modes(1.0, 1.0, 1.0, 14, rhoI=0.01).system.modes().frequencies[:3] == pytest.approx(exact, rel=1e-7)


def test_a_compressed_beam_buckles_at_eulers_load():
    # supported: N = -π² EI/l²; just below and above, the lowest ω² changes sign
    for load, sign in ((0.9999, 1.0), (1.0001, -1.0)):
        system = assumed_modes(1.0, 1.0, 1.0, 12, left="supported", right="supported", tension=-load * np.pi**2).system
        assert np.sign(np.linalg.eigvalsh(system.K)[0]) == sign


def test_a_stepped_beam_needs_its_break():
    def step(z):
        return np.where(z < 0.5, 8.0, 1.0)

    one = assumed_modes(1.0, step, 1.0, 10, breaks=[0.5]).system.modes().frequencies[0]
    fine = assumed_modes(1.0, step, 1.0, 16, breaks=[0.5]).system.modes().frequencies[0]
    assert unit().frequencies(1)[0] < fine <= one < math.sqrt(8.0) * unit().frequencies(1)[0]


def test_assumed_functions_give_the_deflection_under_a_force():
    beam = assumed_modes(1.0, 1.0, 1.0, 8)
    q = np.linalg.solve(beam.system.K, beam.shape([1.0])[:, 0])
    assert q @ beam.shape([1.0])[:, 0] == pytest.approx(1 / 3, rel=1e-9)
    assert q @ beam.shape([0.5])[:, 0] == pytest.approx(5 / 48, rel=1e-9)
    assert q @ beam.slope([1.0])[:, 0] == pytest.approx(0.5, rel=1e-9)
    assert q @ beam.curvature([0.0])[:, 0] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: assumed_modes(0.0, 1.0, 1.0), DataError),
        (lambda: assumed_modes(1.0, lambda z: z - 0.5, 1.0), DataError),
        (lambda: assumed_modes(1.0, 1.0, math.nan), DataError),
        (lambda: assumed_modes(1.0, 1.0, 1.0, []), DataError),
        (lambda: assumed_modes(1.0, 1.0, 1.0, 41), ModelError),
        (lambda: assumed_modes(1.0, 1.0, 1.0, 4, breaks=[2.0]), DataError),
        (lambda: assumed_modes(1.0, 1.0, 1.0, [Trial(lambda z: z, lambda z: 1.0, lambda z: 0.0)] * 2), ModelError),
    ],
)
def test_mistakes_in_assumed_modes_are_reported(make, error):
    with pytest.raises(error):
        make()


# ---- edges of thresholds


@pytest.mark.parametrize(("count", "refused"), [(40, False), (41, True)])
def test_forty_polynomials_are_independent_and_more_are_refused(count, refused):
    with raises(ModelError, "ill-conditioned") if refused else nullcontext():
        found = assumed_modes(1.0, 1.0, 1.0, functions=count, left="pinned", right="pinned")
        # the lowest modes of a pinned beam stay exact with the largest number of functions
        np.testing.assert_allclose(found.system.modes().frequencies[:3], (np.arange(1, 4) * np.pi) ** 2, rtol=1e-9)
