"""The study of the flexible manipulator gives the published figures and those recomputed from its data."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.manipulator import flexible_manipulator


@pytest.mark.slow
@pytest.mark.spec("004-T5")
@pytest.mark.spec("004-T10")
@pytest.mark.spec("004-C61")
def test_the_study_of_the_manipulator_gives_its_figures() -> None:
    found = runner.plain(flexible_manipulator.study().results)
    assert (found["nodes"], found["elastic"], found["coordinates"]) == (14, 27, 30)
    # as many digits as were recomputed
    assert found["frequencies_hz"] == pytest.approx(
        [12.95, 45.30, 61.84, 126.80, 155.08, 174.21, 199.33, 300.28], abs=6e-3
    )
    # the published values belong to parameters that are not printed: same order, within 13 %
    assert np.all(np.diff(found["frequencies_hz"]) > 0)
    assert found["frequencies_hz"] == pytest.approx(found["published_hz"], rel=0.13)
    assert np.abs(found["rigid_hz"]).max() < 1e-3
    SMS = [[1.8276, -0.0121, 0.0246], [-0.0121, 4.3492, -0.0164], [0.0246, -0.0164, 0.0102]]
    assert np.array(found["SMS"]) == pytest.approx(np.array(SMS), abs=1e-4)
    assert found["largest_difference_from_elements"] < 1e-10
    assert found["KS"] < 1e-12 and found["convective_of_translations"] < 1e-12
    reduction = found["reduction"]
    assert reduction["order"] == [1, 2, 4, 7, 6, 10, 15]
    left = [34.09, 17.42, 1.13, 0.760, 0.419, 0.198, 0.052]
    assert reduction["left_out_percent"] == pytest.approx(left, rel=3e-3, abs=5e-4)
    assert reduction["errors_percent"] == pytest.approx([0.012, 0.001, 0.025, 0.051, 1.033, 0.026], abs=6e-4)
    assert reduction["grid_errors_percent"] == pytest.approx([3.79, 0.023, 0.123, 0.367, 1.04, 0.133], abs=5e-3)
    other = reduction["grid_errors_other_link_percent"]
    assert (other[3], other[5]) == pytest.approx((0.286, 0.157), abs=6e-4)
    assert reduction["grid_nco"] > 0.9965
    assert reduction["transposed_nco"] < 0.42
    assert reduction["aligned"]["monitor"] == pytest.approx(0.002, abs=5e-4)
    assert reduction["aligned"]["error_of_its_basis_percent"] == pytest.approx(0.017, abs=5e-4)
    two, three = reduction["greedy"]
    assert (two["poses"], two["coordinates"]) == (2, 13)
    assert two["largest_error_percent"] == pytest.approx(1.04, abs=5e-3)
    assert (three["poses"], three["coordinates"]) == (3, 14)
    assert three["largest_error_percent"] == pytest.approx(0.46, abs=6e-3)
