"""Bodies that turn: when they count as round."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.structures.assembly import rotating_bodies
from tests.helpers.findings import raises


def test_a_body_is_round_up_to_its_limit():
    axis = np.array([[0.0, 0.0, 1.0]])
    # the transverse inertias are 1 and 1 + d, compared with their mean: d/2
    rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + rotating_bodies.ROUND, 0.5])[None], axis, "a disc")
    with raises(DataError, "not-round", "a disc"):
        rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + 4 * rotating_bodies.ROUND, 0.5])[None], axis, "a disc")
