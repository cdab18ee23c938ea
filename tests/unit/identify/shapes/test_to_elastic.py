"""Total displacements of mode shapes as elastic and rigid coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.linear import Modes
from tests.helpers.findings import raises

COORDINATES = ("A.x", "A.y", "B.x", "B.y", "C.y")
S = np.random.default_rng(3).standard_normal((5, 2))


@pytest.mark.spec("004-C44")
def test_elastic_and_rigid_motion_together_are_the_measured_one() -> None:
    """b = u + S dq with u = 0 at the zeroed coordinates, back to what the shapes were made of."""
    random = np.random.default_rng(4)
    u, dq = random.standard_normal((5, 3)) + 1j * random.standard_normal((5, 3)), random.standard_normal((2, 3))
    u[[1, 4]] = 0.0
    modes = Modes([1j, 2j, 3j], u + S @ dq, COORDINATES)
    elastic = da.identify.to_elastic(modes, S, ["A.y", "C.y"], ["crank", "rocker"])
    assert elastic.coordinates == ("A.x", "B.x", "B.y", "crank", "rocker")
    np.testing.assert_allclose(elastic.shapes, np.concatenate([u[[0, 2, 3]], dq]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "zeroed", "code"),
    [
        (S, ["A.y"], "wrong-shape"),
        (S[:4], ["A.y", "C.y"], "wrong-shape"),
        (S, ["A.y", "A.y", "C.y"], "wrong-shape"),
        (S, ["A.y", "D.y"], "unknown-name"),
        (np.outer(S[:, 0], [1.0, 2.0]), ["A.y", "C.y"], "singular-matrix"),
    ],
)
def test_mistakes_have_their_codes(matrix: np.ndarray, zeroed: list[str], code: str) -> None:
    modes = Modes([1j], np.ones((5, 1)), COORDINATES)
    with raises(DataError, code):
        da.identify.to_elastic(modes, matrix, zeroed, ["crank", "rocker"])
