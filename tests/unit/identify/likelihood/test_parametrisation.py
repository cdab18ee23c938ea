"""Modal parameters that a search of the likelihood begins with."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood.parametrisation import LIMITS, modal_model


def model(A: FloatArray) -> tuple[object, tuple[str, ...]]:
    n = len(A)
    return modal_model(A, np.ones((n, 1)), np.ones((1, n)), np.zeros((1, 1)), np.zeros((1, 1), dtype=bool), 1)


@pytest.mark.parametrize(
    ("decay", "kept"),
    [
        (1.1 * LIMITS.least_decay, 1.1 * LIMITS.least_decay),
        (0.9 * LIMITS.least_decay, LIMITS.least_decay),
        (-0.5, 0.5),  # a growing pole is mirrored
        (0.99 * LIMITS.most_decay, 0.99 * LIMITS.most_decay),
        (1.01 * LIMITS.most_decay, LIMITS.most_decay),
    ],
)
def test_poles_stay_between_the_least_and_the_largest_decay(decay: float, kept: float) -> None:
    found, changes = model(np.array([[np.exp(-decay)]]))
    # ln of a number near one is known to the unit roundoff, 1e-16 of 1e-9
    assert -found.poles.real[0] == pytest.approx(kept, rel=1e-6)  # type: ignore[attr-defined]
    assert bool(changes) is (decay < -LIMITS.least_decay)


def test_coinciding_poles_are_separated_by_the_root_of_the_perturbation() -> None:
    found, changes = model(np.array([[0.5, 1.0], [0.0, 0.5]]))
    assert changes == ("coinciding poles of the initial model separated",)
    apart = np.abs(np.exp(found.poles) - 0.5)  # type: ignore[attr-defined]
    assert 0.1 * np.sqrt(LIMITS.separation) < apart.max() < 2.0 * np.sqrt(LIMITS.separation)
    assert 10.0 / np.sqrt(LIMITS.separation) < 1e7  # eigenvectors are defective
