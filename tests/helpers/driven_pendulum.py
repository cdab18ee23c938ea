"""A pendulum with a torque, for noise of processes."""

from __future__ import annotations

import dalembert as da


def pendulum() -> da.estimate.UserModel:
    return da.estimate.UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) + da.cos(x[0]) * u[0]], lambda x: [x[0]],
        states=["angle", "speed"], inputs=["torque"], outputs=["encoder"],
    )  # fmt: skip
