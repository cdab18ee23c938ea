"""Bodies that turn: when they count as round."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.structures.assembly import rotating_bodies
from dalembert.structures.assembly.rotating_bodies import refuse_not_round
from tests.helpers.findings import raises


def test_a_body_is_round_up_to_its_limit():
    axis = np.array([[0.0, 0.0, 1.0]])
    # the transverse inertias are 1 and 1 + d, compared with their mean: d/2
    rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + rotating_bodies.ROUND, 0.5])[None], axis, "a disc")
    with raises(DataError, "not-round", "a disc"):
        rotating_bodies.refuse_not_round(np.diag([1.0, 1.0 + 4 * rotating_bodies.ROUND, 0.5])[None], axis, "a disc")


@pytest.mark.parametrize(("factor", "refused"), [(0.9, False), (1.1, True)])
def test_a_body_is_round_up_to_a_billionth_of_its_inertia(factor: float, refused: bool) -> None:
    # transverse inertias 1 ± δ differ from their mean by δ; the largest inertia is the polar one, 2
    apart = 2.0 * factor * 1e-9
    inertia = np.diag([1.0 + apart, 1.0 - apart, 2.0])
    with raises(DataError, "not-round") if refused else nullcontext():
        refuse_not_round(inertia, np.array([0.0, 0.0, 1.0]), "the disc")
