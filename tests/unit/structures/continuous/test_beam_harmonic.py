"""Edge of the threshold at the cut-off frequency, where two of the waves are one."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.continuous import beam_harmonic
from dalembert.structures.continuous.wittrick_williams import HeldBeam

HELD = HeldBeam(0.1, 0.2, (np.inf, np.inf), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
CUT = 1.0 / (HELD.r2 * HELD.s2)


class Taken(Exception):
    pass


@pytest.mark.parametrize(("distance", "moved"), [(0.0, True), (3e-10, True), (3e-9, False)])
def test_a_frequency_within_a_billionth_of_the_cut_off_is_moved_off_it(distance, moved, monkeypatch):
    def waves(lam, *rest):
        raise Taken(lam[0])

    monkeypatch.setattr(beam_harmonic, "_waves", waves)
    lam = np.array([CUT * (1.0 + distance)], dtype=complex)
    with pytest.raises(Taken) as caught:
        beam_harmonic.response(lam, np.ones(1, complex), HELD, "force", 0.3, np.array([0.5]))
    (taken,) = caught.value.args
    assert (taken != lam[0]) == moved
    if moved:
        assert abs(taken / lam[0] - 1.0) == pytest.approx(1e-9, rel=1e-6)


def test_the_response_at_the_cut_off_is_that_beside_it():
    at, beside = (
        beam_harmonic.response(np.array([lam], complex), np.ones(1, complex), HELD, "force", 0.3, np.array([0.5]))
        for lam in (CUT, CUT * (1.0 + 1e-6))
    )
    # two waves that are one to 1e-9 leave half of the digits; the response itself changes by 1e-6
    np.testing.assert_allclose(at, beside, rtol=2e-5, atol=1e-7)
