"""Edge of the threshold for defects of shape functions that are rounding."""

from __future__ import annotations

import pytest

from dalembert.structures.solid.shape_requirements import ShapeReport


@pytest.mark.parametrize(("defect", "met"), [(3e-13, True), (3e-12, False)])
def test_a_defect_below_1e_12_is_rounding(defect, met):
    report = ShapeReport("it", defect, defect, defect, defect, defect)
    assert [report.complete, report.compatible, report.isotropic] == [met] * 3
