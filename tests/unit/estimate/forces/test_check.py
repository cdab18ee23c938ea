"""The judgement whether a motion determines forces, at the edge of its threshold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.estimate.forces.check import FORMS, ForceCheck


@pytest.mark.parametrize(("share", "well"), [(0.999, True), (1.0, False)])
@pytest.mark.parametrize("which", ["condition", "seen"])
def test_forces_are_determined_below_a_condition_number(which: str, share: float, well: bool) -> None:
    values = {"condition": np.ones(3), "seen": np.ones(3)}
    values[which] = np.array([1.0, share * 100.0, 1.0])
    found = ForceCheck(known=("F1",), unknown=("F2",), form=FORMS[0], time=np.arange(3.0), map=np.eye(3), **values)
    assert found.well_posed is well
    assert ("everywhere" in found.verdict) is well


# ---- edges of thresholds of a machine's forces
