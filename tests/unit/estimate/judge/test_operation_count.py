"""Operations of the prediction on a reduced model."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.core.errors import DataError
from tests.helpers.findings import raises


@pytest.mark.spec("004-C66")
@pytest.mark.spec("004-T12")
def test_the_manipulator_saves_two_thirds() -> None:
    count = da.estimate.operation_count(30, masters=9, modes=4)
    assert (count.reduced, count.full, count.pays) == (38461, 108000, True)
    assert count.saving == pytest.approx(0.644, abs=5e-4)


@pytest.mark.spec("004-C66")
def test_the_count_is_that_of_the_products_and_the_inequality_of_the_rule() -> None:
    for n in (12, 30, 50):
        for m in range(0, n + 1, 4):
            for tau in range(0, n - m + 1, 3):
                s, count = n - m, da.estimate.operation_count(n, m, tau)
                # K_ss⁻¹; B; products with B of the inertia, the damping and the stiffness of masters and slaves
                assert count.reduced == n**3 + 2 * n * m**2 - 3 * m**3 + 4 * (m + tau) ** 3
                assert count.pays is (3 * n**3 > 4 * (m + tau) ** 3 + 2 * n * m**2 - 3 * m**3)
                assert s**3 + 3 * s**2 * m + 5 * s * m**2 == count.reduced - 4 * (m + tau) ** 3


def test_more_kept_coordinates_than_there_are_is_refused() -> None:
    with raises(DataError, "out-of-range"):
        da.estimate.operation_count(10, 8, 3)
