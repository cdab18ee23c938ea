"""Places along a beam, on both sides of its ends."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.structures import Beam
from tests.helpers.findings import raises


def test_a_place_beyond_the_end_of_a_continuous_beam_is_refused() -> None:
    modes = Beam(2.0, EI=1.0, rhoA=1.0, left="clamped", right="free").modes(1)
    end = modes.shape(2.0 * (1.0 + 0.5e-9))
    np.testing.assert_array_equal(end, modes.shape(2.0))
    with raises(DataError, "out-of-range", "2 m"):
        modes.shape(2.0 * (1.0 + 2e-9))
