"""Weights above a family, and magnitudes as systems."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import cover
from dalembert.control.uncertainty.fit_magnitude import fit_magnitude
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from tests.helpers.findings import raises


def gains(system: StateSpace, frequencies) -> np.ndarray:
    return np.array([abs((system.C @ np.linalg.solve(1j * w * np.eye(system.nx) - system.A, system.B) + system.D)[0, 0])
                     for w in frequencies])  # fmt: skip


def test_a_magnitude_gives_its_minimum_phase_system():
    w = np.geomspace(1e-3, 1e3, 60)
    G = da.control.tf([1.0, -0.2, 1.0], [1.0, 1.0, 4.0])  # zeros in the right half-plane
    W, factor = fit_magnitude(w, gains(G, w), 2)
    assert factor < 1.0 + 1e-4
    assert np.allclose(gains(W, w), gains(G, w), rtol=2e-4)
    assert sorted(W.zeros().values, key=lambda z: z.imag)[0] == pytest.approx(-0.1 - 0.99499j, abs=1e-3)
    assert W.is_stable
    upper, _ = fit_magnitude(w, gains(G, w), 1, above=True)
    assert np.all(gains(upper, w) >= gains(G, w) * (1.0 - 1e-9))


@pytest.mark.spec("001-C53")
def test_a_cover_is_above_every_member_between_its_frequencies_too():
    family = [StateSpace([[0, 1], [-k, -0.3]], [[0], [1]], [[1, 0], [0, 1]]) for k in (3.0, 3.6, 4.0, 4.4, 5.0)]
    covered = cover(family, order=4)
    assert covered.weight.is_stable and covered.weight.zeros().values.real.max() < 0.0
    assert covered.largest <= 1.0
    for w in np.geomspace(0.02, 50.0, 301):

        def at(s, w=w):
            return s.C @ np.linalg.solve(1j * w * np.eye(s.nx) - s.A, s.B) + s.D

        G0, W = at(covered.nominal), at(covered.weight)
        for member in family:
            Delta = np.linalg.solve(W, (at(member) - G0) @ np.linalg.pinv(G0))
            assert np.linalg.norm(Delta, 2) <= 1.0 + 1e-3  # 0.1 % between the frequencies of the check
    assert covered.uncertain.outputs == family[0].outputs
    assert np.allclose(covered.uncertain.nominal.dc_gain(), covered.nominal.dc_gain())


def test_a_family_that_cannot_be_covered_is_refused():
    wide = StateSpace(-1.0, [[1.0, 1.0]], 1.0)
    for models, code in (([wide, wide], "wrong-shape"), ([], "empty"), ([1.0], "wrong-type"),
                         ([StateSpace(-1.0, 1.0, 1.0), StateSpace(0.5, 1.0, 1.0, dt=0.1)], "wrong-shape"),
                         ([StateSpace(1.0, 1.0, 1.0)], "unstable")):  # fmt: skip
        with raises(DataError, code):
            cover(models)
