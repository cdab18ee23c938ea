"""Edges of thresholds: residual flexibility at the masters."""

from __future__ import annotations

import importlib
from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.structures import rubin
from tests.helpers.findings import raises


@pytest.mark.parametrize(("part", "refused"), [(0.9e-10, True), (1.1e-10, False)])
def test_residual_flexibility_below_1e_10_of_the_whole_is_rounding(part, refused, monkeypatch):
    system = SecondOrder(np.eye(2), np.array([[2.0, -1.0], [-1.0, 2.0]]), coordinates=["a", "b"])
    flexibility = np.array([[4.0], [0.0]])
    module = importlib.import_module("dalembert.structures.reduction.methods.rubin")
    monkeypatch.setattr(module, "residual_flexibility", lambda *given: (flexibility, part * flexibility))
    with raises(DataError, "rank-deficient") if refused else nullcontext():
        rubin(system, ["a"], 1)
