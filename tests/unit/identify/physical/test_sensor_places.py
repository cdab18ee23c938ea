"""Kinds of sensors that have no unit."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify.physical.sensor_places import _infer_kind
from dalembert.linear import StateSpace
from tests.helpers.findings import raises


@pytest.mark.parametrize(("size", "noise", "known"), [(1.1, 0.9, True), (0.9, 0.9, False), (1.1, 1.1, False)])
def test_an_output_that_follows_its_input_at_once_beyond_noise_is_an_acceleration(
    size: float, noise: float, known: bool
) -> None:
    """Markov parameters D, 1, 0.5, ...: the largest is 1."""
    D = size * 0.02
    system, deviation = StateSpace(0.5, 1.0, 1.0, D, dt=0.01, outputs="a"), np.array([[noise * D / 6.0]])
    if known:
        assert _infer_kind(system, "a", deviation)[0] == 2
        return
    with raises(DataError, "missing-argument"):
        _infer_kind(system, "a", deviation)


def test_a_feedthrough_of_unknown_noise_decides_nothing() -> None:
    with raises(DataError, "missing-argument"):
        _infer_kind(StateSpace(0.5, 1.0, 1.0, 1.0, dt=0.01, outputs="a"), "a")


@pytest.mark.parametrize(("unit", "kind"), [("m", 0), ("rad/s", 1), ("m/s^2", 2)])
def test_a_unit_decides_before_the_feedthrough(unit: str, kind: int) -> None:
    assert _infer_kind(StateSpace(0.5, 1.0, 1.0, dt=0.01, outputs="a", units={"a": unit}), "a")[0] == kind
