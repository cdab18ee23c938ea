"""The end of a search for the likelihood, at the edges of its thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.likelihood.likelihood_search import _move
from dalembert.identify.likelihood.modal_likelihood import ModalModel


def test_a_pole_keeps_a_tenth_of_its_decay_and_of_its_distances_in_frequency() -> None:
    poles = np.array([-0.5 + 1.0j, -0.5 + 1.0j])
    model = ModalModel(
        poles=poles, real=np.zeros(2, bool), weights=np.ones((2, 1), complex), C=np.ones((1, 2), complex),
        D=np.zeros((1, 1)), direct=np.zeros(1, bool),
    )  # fmt: skip
    step = np.zeros((2, 2, 2))
    step[:, -1] = [[10.0, -10.0], [10.0, 10.0]]
    applied = _move(model, step)[1][:, -1]
    after = np.column_stack([poles.real, poles.imag]) + applied
    assert after == pytest.approx(np.array([[-0.05, 0.1], [-0.05, np.pi - 0.1 * (np.pi - 1.0)]]))
