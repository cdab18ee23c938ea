"""Edge of the threshold at the cut-off frequency, where two of the waves are one."""

from __future__ import annotations

import numpy as np

from dalembert.structures.continuous import beam_harmonic
from dalembert.structures.continuous.wittrick_williams import HeldBeam

HELD = HeldBeam(0.1, 0.2, (np.inf, np.inf), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
CUT = 1.0 / (HELD.r2 * HELD.s2)


def test_the_response_at_the_cut_off_is_that_beside_it():
    at, beside = (
        beam_harmonic.response(np.array([lam], complex), np.ones(1, complex), HELD, "force", 0.3, np.array([0.5]))
        for lam in (CUT, CUT * (1.0 + 1e-6))
    )
    # two waves that are one to 1e-9 leave half of the digits; the response itself changes by 1e-6
    np.testing.assert_allclose(at, beside, rtol=2e-5, atol=1e-7)
