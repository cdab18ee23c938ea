"""The study of the flexible manipulator gives the published figures and those recomputed from its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.studies import runner
from dalembert.studies.manipulator import flexible_manipulator
from dalembert.studies.manipulator.manipulator_model import MASTERS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results() -> Any:
    return runner.plain(flexible_manipulator.study().results)


@pytest.mark.spec("004-T5")
def test_the_model_has_the_recomputed_frequencies_and_those_of_finite_elements(results: Any) -> None:
    assert (results["nodes"], results["elastic"], results["coordinates"]) == (14, 27, 30)
    # as many digits as were recomputed
    assert results["frequencies_hz"] == pytest.approx(
        [12.95, 45.30, 61.84, 126.80, 155.08, 174.21, 199.33, 300.28], abs=6e-3
    )
    # the published values belong to parameters that are not printed: same order, within 13 %
    assert np.all(np.diff(results["frequencies_hz"]) > 0)
    assert results["frequencies_hz"] == pytest.approx(results["published_hz"], rel=0.13)
    assert np.abs(results["rigid_hz"]).max() < 1e-3
    SMS = [[1.8276, -0.0121, 0.0246], [-0.0121, 4.3492, -0.0164], [0.0246, -0.0164, 0.0102]]
    assert np.array(results["SMS"]) == pytest.approx(np.array(SMS), abs=1e-4)
    assert results["largest_difference_from_elements"] < 1e-10
    assert results["KS"] < 1e-12 and results["convective_of_translations"] < 1e-12


@pytest.mark.spec("004-T6")
def test_updating_recovers_the_parameters(results: Any) -> None:
    updating = results["updating"]
    assert updating["table"] == pytest.approx({"nominal_percent": 7.45, "updated_percent": 3.97}, abs=0.006)
    assert updating["exact"]["largest_error"] < 1e-8 and updating["exact"]["printed_sign_error"] < 1e-8
    assert updating["measured"]["updated_percent"] < 0.5 * updating["measured"]["nominal_percent"]
    assert max(map(abs, updating["hammer"]["errors_in_deviations"].values())) < 3.0


@pytest.mark.spec("004-T10", "004-C59")
def test_the_reduction_has_the_recomputed_errors(results: Any) -> None:
    reduction = results["reduction"]
    assert reduction["order"] == [1, 2, 4, 7, 6, 10, 15]
    left = [34.09, 17.42, 1.13, 0.760, 0.419, 0.198, 0.052]
    assert reduction["left_out_percent"] == pytest.approx(left, rel=3e-3, abs=5e-4)
    assert reduction["errors_percent"] == pytest.approx([0.012, 0.001, 0.025, 0.051, 1.033, 0.026], abs=6e-4)
    assert reduction["grid_errors_percent"] == pytest.approx([3.79, 0.023, 0.123, 0.367, 1.04, 0.133], abs=5e-3)
    other = reduction["grid_errors_other_link_percent"]
    assert (other[3], other[5]) == pytest.approx((0.286, 0.157), abs=6e-4)
    assert reduction["grid_nco"] > 0.9965
    assert reduction["transposed_nco"] < 0.42


@pytest.mark.spec("004-T10", "004-C61")
def test_bases_at_several_poses_keep_the_errors_small(results: Any) -> None:
    reduction = results["reduction"]
    assert reduction["aligned"]["monitor"] == pytest.approx(0.002, abs=5e-4)
    assert reduction["aligned"]["error_of_its_basis_percent"] == pytest.approx(0.017, abs=5e-4)
    two, three = reduction["greedy"]
    assert (two["poses"], two["coordinates"]) == (2, 13)
    assert two["largest_error_percent"] == pytest.approx(1.04, abs=5e-3)
    assert (three["poses"], three["coordinates"]) == (3, 14)
    assert three["largest_error_percent"] == pytest.approx(0.46, abs=6e-3)
    # modes that keep their numbers exchange their places: one of six is lost; by their shapes none is
    variants = reduction["variants"]
    assert min(variants["anew_by_number"]["nco"]) < 0.1
    for name in ("anew_by_shape", "interpolated"):
        assert min(variants[name]["nco"]) > 0.99 and max(variants[name]["errors_percent"]) < 5.0
    # to and fro across the border, four times
    assert reduction["changes_of_basis"] == {"without": 8, "with": 0}


@pytest.mark.spec("004-T11", "004-C62", "004-C63", "004-C64", "004-C67")
def test_the_observer_follows_the_bending_of_the_whole_model(results: Any) -> None:
    observer = results["observer"]
    ekf = observer["filter"]
    for name in MASTERS:
        assert observer["open_loop"]["elastic"][name] < 0.02
        assert ekf["elastic"][name] < 0.02
        # recomputed in the same way: 2 to 11 %
        assert ekf["rates"][f"{name}.rate"] < 0.11
    assert set(ekf["spectra"]) == {"8", "10", "11", "12.95"}
    for truth, estimate in ekf["spectra"].values():
        assert estimate == pytest.approx(truth, rel=0.05)
    # innovations as large as expected, and an unmeasured gauge within the deviation that is reported
    assert 0.9 < ekf["nis_per_output"] < 1.1
    assert ekf["unmeasured"]["error"] < 0.1 and ekf["unmeasured"]["error_over_deviation"] < 2.0
    both = observer["beside"]
    for name in MASTERS:
        assert both["sigma_points"]["elastic"][name] == pytest.approx(both["extended"]["elastic"][name], rel=0.05)
    limits = observer["explicit"]
    assert {each["code"] for each in limits.values()} == {"unstable-step"}
    assert limits["with_damping"]["longest"] < limits["without_damping"]["longest"] < 1e-4


@pytest.mark.spec("004-T12", "004-C66")
def test_the_reduction_saves_operations_of_the_filter(results: Any) -> None:
    count = results["observer"]["operations"]
    assert (count["reduced"], count["full"], count["pays"]) == (38461, 108000, True)
    assert count["saving"] == pytest.approx(0.644, abs=5e-4)
    assert count["measured_saving"] > 0.6
    code = results["observer"]["code"]
    # 31 numbers of the state, 351 of the covariance
    assert code["state_bytes"] == 8 * (31 + 26 * 27 // 2) and code["operations"] < 500_000
