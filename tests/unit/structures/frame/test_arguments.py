"""Arguments of a frame at their limits."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import _full_matrix
from tests.helpers.findings import raises


@pytest.mark.parametrize(("share", "fits"), [(0.5, True), (2.0, False)])
def test_a_spring_matrix_is_symmetric_up_to_its_limit(share: float, fits: bool):
    K = np.eye(3)
    K[0, 1] = share * arguments.ROUNDING
    f = Frame("spring", planar=True)
    f.add_point("A", 0, 0)
    if fits:
        f.add_spring("s", "A", None, K)
    else:
        with raises(ModelError, "not-symmetric"):
            f.add_spring("s", "A", None, K)


@pytest.mark.parametrize(("factor", "refused"), [(0.9, False), (1.1, True)])
@pytest.mark.parametrize("code", ["not-symmetric", "not-positive-definite"])
def test_a_stiffness_matrix_is_symmetric_and_gives_no_energy_up_to_rounding(
    factor: float, refused: bool, code: str
) -> None:
    K = np.diag([2.0, 1.0, 1.0])
    if code == "not-symmetric":
        K[0, 1] = 2.0 * factor * 1e-9
    else:
        K[2, 2] = -2.0 * factor * 1e-9
    with raises(ModelError, code) if refused else nullcontext():
        _full_matrix(K.tolist(), "the stiffness", planar=True)
