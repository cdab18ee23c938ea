"""A frame of known modes, and a measured record of it."""

from __future__ import annotations

import numpy as np

import dalembert as da

DT = 0.02


def frame():
    K = 400.0 * np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    return da.SecondOrder(
        np.eye(3), K, C=0.2 * np.eye(3) + 2e-4 * K, B=[1.0, 0.0, 0.0], Y_acceleration=np.eye(3), inputs="force",
        outputs=["a1", "a2", "a3"],
    )  # fmt: skip


def measured(samples=4000, noise=0.05, seed=1, force=None, offset=0.0):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=samples) if force is None else force
    system = frame().state_space().to_discrete(DT)
    run = system.response(da.Record.from_channels(DT * np.arange(samples), {"force": u}))
    y = run[["a1", "a2", "a3"]]
    y = y + noise * y.std(axis=0) * rng.normal(size=y.shape) + offset
    return da.Record(run.time, np.column_stack([u, y]), ["force", "a1", "a2", "a3"], ["N", *["m/s^2"] * 3])
