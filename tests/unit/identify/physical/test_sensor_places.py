"""Kinds of sensors that have no unit."""

from __future__ import annotations

import pytest

from dalembert.core.errors import DataError
from dalembert.identify.physical.sensor_places import FEEDTHROUGH, _infer_kind
from dalembert.linear import StateSpace
from tests.helpers.findings import raises


def test_an_output_that_follows_its_input_within_a_sample_is_an_acceleration() -> None:
    """Markov parameters D, 1, 0.5, ...: the largest is 1."""
    clear = StateSpace(0.5, 1.0, 1.0, 1.1 * FEEDTHROUGH, dt=0.01, outputs="a")
    assert _infer_kind(clear, "a")[0] == 2
    with raises(DataError, "missing-argument"):
        _infer_kind(StateSpace(0.5, 1.0, 1.0, 0.9 * FEEDTHROUGH, dt=0.01, outputs="a"), "a")


@pytest.mark.parametrize(("unit", "kind"), [("m", 0), ("rad/s", 1), ("m/s^2", 2)])
def test_a_unit_decides_before_the_feedthrough(unit: str, kind: int) -> None:
    assert _infer_kind(StateSpace(0.5, 1.0, 1.0, dt=0.01, outputs="a", units={"a": unit}), "a")[0] == kind
