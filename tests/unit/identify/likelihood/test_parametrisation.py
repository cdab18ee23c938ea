"""Modal parameters that a search of the likelihood begins with."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood.parametrisation import modal_model


def model(A: FloatArray) -> tuple[object, tuple[str, ...]]:
    n = len(A)
    return modal_model(A, np.ones((n, 1)), np.ones((1, n)), np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), 1)


@pytest.mark.parametrize(
    ("decay", "kept"),
    [
        (1.1 * 1e-09, 1.1 * 1e-09),
        (0.9 * 1e-09, 1e-09),
        (-0.5, 0.5),  # a growing pole is mirrored
        (0.99 * 3.0, 0.99 * 3.0),
        (1.01 * 3.0, 3.0),
    ],
)
def test_poles_stay_between_the_least_and_the_largest_decay(decay: float, kept: float) -> None:
    found, changes = model(np.array([[np.exp(-decay)]]))
    # ln of a number near one is known to the unit roundoff, 1e-16 of 1e-9
    assert -found.poles.real[0] == pytest.approx(kept, rel=1e-6)  # type: ignore[attr-defined]
    assert bool(changes) is (decay < -1e-09)
