"""Linear models at several speeds: real eigenvalues and fits at the edges of their thresholds."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.symbolic.modular.analysis.speed import SpeedModel, speed_model
from tests.helpers.findings import raises


def model(value: float) -> SimpleNamespace:
    return SimpleNamespace(M=np.eye(1), D=np.zeros((1, 1)), K=np.full((1, 1), value), coordinates=("q",))


@pytest.mark.parametrize(("off", "refused"), [(1e-8, False), (6e-8, True)])
def test_a_polynomial_of_degree_two_fits_to_1e_8(off, refused):
    # of a deviation at the second of four equidistant speeds the fit leaves 9/20 there
    models = {v: model(v**2 / 9.0 + (off if v == 1.0 else 0.0)) for v in (0.0, 1.0, 2.0, 3.0)}
    with raises(DataError, "poor-fit") if refused else nullcontext():
        speed_model(models)


@pytest.mark.parametrize(("imaginary", "real"), [(3e-13, True), (3e-12, False)])
def test_an_eigenvalue_with_an_imaginary_part_of_rounding_is_real(imaginary, real, monkeypatch):
    one = SpeedModel(("q",), np.eye(1), np.zeros((1, 1)), np.eye(1), np.zeros((1, 1)))
    monkeypatch.setattr(np.linalg, "eigvals", lambda A: np.array([-1.0 + 1j * imaginary, -1.0 - 1j * imaginary]))
    assert (one.eigenvalues(1.0).imag == 0.0).all() == real
