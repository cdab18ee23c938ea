"""Edges of thresholds: directions without mass, and the size of a full matrix."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import scipy.sparse as sp

from dalembert.core.errors import DataError
from dalembert.structures.assembly import damping
from tests.helpers.findings import raises


@pytest.mark.parametrize(("size", "refused"), [(400, False), (4000, True)])
def test_modal_damping_of_more_than_3000_coordinates_is_refused(size, refused, monkeypatch):
    monkeypatch.setattr(damping, "_modal", lambda ratios, M, K: sp.csc_array(M.shape))
    one = sp.eye_array(size, format="csc")
    with raises(DataError, "too-large") if refused else nullcontext():
        damping.damping_matrix(damping.ModalDamping(0.01), one, one, sp.csc_array((size, size)))
