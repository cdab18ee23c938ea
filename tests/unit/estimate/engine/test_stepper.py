"""A filter sample by sample."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record


def test_samples_at_any_time_are_stepped_by_their_own_interval():
    model = da.estimate.UserModel(
        lambda x, u: [x[1], -4.0 * x[0]], lambda x: [x[0]], states=["x", "v"], outputs=["seen"]
    )
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.005, 0.05, 400))
    record = Record(t, np.cos(2 * t)[:, None], ["seen"])
    ekf = da.estimate.ExtendedKalman(model, Q=lambda s: 4e-9 * s["dt"], R=1e-8, P0=1.0, start=[0.0, 0.0])
    estimate = ekf.run(record)
    assert estimate["v"][-1] == pytest.approx(-2 * np.sin(2 * t[-1]), abs=1e-3)
    stepper = ekf.stepper(P0=1.0)
    for k, now in enumerate(t):
        stepper.step(record.data[k], t=now)
    assert stepper.x == pytest.approx(estimate.states[-1], rel=1e-12)
