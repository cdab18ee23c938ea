"""The judgement whether a motion determines forces, at the edge of its threshold."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.estimate.forces.check import FORMS, ForceCheck
from dalembert.estimate.forces.model import ForceModel
from dalembert.record import Record
from tests.helpers.findings import raises


@pytest.mark.parametrize(("share", "well"), [(0.999, True), (1.0, False)])
@pytest.mark.parametrize("which", ["condition", "seen"])
def test_forces_are_determined_below_a_condition_number(which: str, share: float, well: bool) -> None:
    values = {"condition": np.ones(3), "seen": np.ones(3)}
    values[which] = np.array([1.0, share * 100.0, 1.0])
    found = ForceCheck(known=("F1",), unknown=("F2",), form=FORMS[0], time=np.arange(3.0), map=np.eye(3), **values)
    assert found.well_posed is well
    assert ("everywhere" in found.verdict) is well


# ---- edges of thresholds of a machine's forces


@pytest.mark.parametrize(("gap", "refused"), [(9e-7, False), (1.1e-6, True)])
def test_a_pose_of_a_record_may_be_open_by_a_micrometre(gap: float, refused: bool) -> None:
    relations = SimpleNamespace(
        coordinates=SimpleNamespace(names=("q",)), follow=lambda z, t, q: (np.zeros((2, 1)), np.array([0.0, gap]))
    )
    motion = Record([0.0, 1.0], np.zeros((2, 3)), ["q", "v", "a"])
    one = SimpleNamespace(
        eqs=SimpleNamespace(name="it"), motion=SimpleNamespace(names=("q", "v", "a")),
        balance=SimpleNamespace(n=1, relations=relations), _begins=lambda *parts: np.zeros(1),
        _terms=lambda *parts: (None, None),
    )  # fmt: skip
    with raises(ModelError, "inconsistent-motion") if refused else nullcontext():
        ForceModel._along(one, motion)
