"""Arguments of a frame at their limits."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import ModelError
from dalembert.structures import Frame
from dalembert.structures.frame import arguments
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
