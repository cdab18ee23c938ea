"""Edges of thresholds: masters that do not move in the kept modes."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.structures.assembly import stiffness_factor
from dalembert.structures.reduction.methods.serep import serep
from tests.helpers.findings import raises


@pytest.mark.parametrize(("energy", "refused"), [(0.9e-12, True), (1.1e-12, False)])
def test_a_master_with_1e_12_of_the_energy_of_the_highest_mode_does_not_move(energy, refused, monkeypatch):
    system = SecondOrder(np.eye(2), np.eye(2), coordinates=["a", "b"])
    shape = np.array([[np.sqrt(energy)], [1.0]])  # of unit stiffness and frequency: the energy of a is its square
    monkeypatch.setattr(stiffness_factor, "lowest", lambda M, K, count: (np.ones(1), shape))
    with raises(DataError, "rank-deficient") if refused else nullcontext():
        serep(system, ["a"])
