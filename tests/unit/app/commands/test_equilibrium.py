"""Values of a machine at rest that are written as zero."""

from __future__ import annotations

from dalembert.app.commands.equilibrium import without_rounding


def test_a_coordinate_of_1e_12_is_zero() -> None:
    assert [without_rounding(value) for value in (3e-13, -3e-13, 3e-12)] == [0.0, 0.0, 3e-12]
