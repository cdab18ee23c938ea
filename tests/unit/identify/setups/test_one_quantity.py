"""Shapes of sensors that measure different quantities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.core.errors import DataError
from dalembert.identify.setups.one_quantity import find_conversion
from dalembert.linear.modes import Modes
from tests.helpers.findings import raises

# number of derivatives, and units of a metre
UNITS = {
    "m": (0, 1.0), "mm": (0, 1e3), "m/s": (1, 1.0), "mm/s": (1, 1e3), "m/s²": (2, 1.0), "m/s^2": (2, 1.0),
    "mm/s²": (2, 1e3), "g": (2, 1.0 / 9.80665), "gal": (2, 100.0),
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(UNITS)), min_size=2, max_size=5), st.integers(0, 10_000))
def test_displacements_velocities_and_accelerations_in_any_unit_give_the_shape_of_the_first(
    units: list[str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    poles = rng.uniform(1.0, 100.0, 2) * (-rng.uniform(0.001, 0.2, 2) + 1j)
    motion = rng.uniform(0.1, 1.0, (len(units), 2)) * np.exp(2j * np.pi * rng.uniform(size=(len(units), 2)))
    names = [f"s{k}" for k in range(len(units))]
    measured = np.array([poles ** UNITS[unit][0] * UNITS[unit][1] for unit in units]) * motion
    conversion = find_conversion(names, dict(zip(names, units)))
    found = conversion.apply(Modes(poles, measured, names)).shapes
    assert found / found[0] == pytest.approx(motion / motion[0], rel=1e-12)
    assert bool(conversion.note()) is (len({unit.replace("^2", "²") for unit in units}) > 1)


@pytest.mark.parametrize(
    ("units", "words"),
    [
        (("m/s²", "rad/s²"), ("b", "rad/s")),  # an angle is no length
        (("m/s²", "V"), ("b", "V")),
        (("V", "m/s²"), ("b", "V")),
        (("m/s²", "kg"), ("b", "kg")),
        (("m/s²", "m/s", ""), ("c",)),  # of which of the two is it?
    ],
)
def test_quantities_of_which_one_does_not_follow_from_the_other_are_refused(
    units: Sequence[str], words: Sequence[str]
) -> None:
    names = "abc"[: len(units)]
    with raises(DataError, "unit-mismatch", *words):
        find_conversion(names, dict(zip(names, units)))


def test_sensors_without_a_unit_are_taken_as_the_others_with_a_finding() -> None:
    conversion = find_conversion("abc", {"a": "m/s²", "b": "m/s^2"})
    assert conversion.unit == "m/s²" and [one.code for one in conversion.findings] == ["missing-unit"]
    assert find_conversion("abc", {}).findings == ()
    assert find_conversion("ab", {"a": "V", "b": "V"}).unit == "V"  # one quantity, whatever it is
