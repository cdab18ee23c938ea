"""Independent coordinates that a filter chooses for a machine."""

from __future__ import annotations

import dalembert as da


def test_an_elastic_arm_is_led_by_its_joints_and_all_its_shapes():
    """In absolute coordinates as in joint coordinates, though two shapes of a plate move the next one alike."""
    m = da.read_model("two-link-plates")
    eqs = da.equations(m, coordinates="absolute")
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["tip.x"], Q=1e-4, R=1e-6, P0=1e-4, start=da.assemble(eqs), dt=1e-4)
    assert ekf.process.errors.names[:10] == ("shoulder.angle", "elbow.angle", *eqs.elastic)
