"""Independent coordinates that a filter chooses for a machine."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.estimate.models import coordinates
from tests.helpers.kinematic_machines import slider_crank


def test_an_elastic_arm_is_led_by_its_joints_and_all_its_shapes():
    """In absolute coordinates as in joint coordinates, though two shapes of a plate move the next one alike."""
    m = da.read_model("two-link-plates")
    eqs = da.equations(m, coordinates="absolute")
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["tip.x"], Q=1e-4, R=1e-6, P0=1e-4, start=da.assemble(eqs), dt=1e-4)
    assert ekf.process.errors.names[:10] == ("shoulder.angle", "elbow.angle", *eqs.elastic)


@pytest.mark.parametrize("enough", [True, False])
def test_three_iterations_close_each_pose_of_a_turn(enough):
    eqs = da.equations(slider_crank(2.0, 5.0))
    x = da.assemble(eqs)
    A = eqs.kernel("rows")(x.q, x.v, x.z, np.zeros(eqs.nu), eqs.p, x.t)[0].reshape(len(eqs.rows), eqs.nv)
    poses = coordinates._poses(eqs, SimpleNamespace(x=x, T=SimpleNamespace(A=A)), **({} if enough else {"newton": 2}))
    assert (len(poses) == 1 + 2 * 48) == enough
