"""Plants that the tests of robust control share."""

from __future__ import annotations

import numpy as np

from dalembert.linear import StateSpace


def spring_chain(count: int) -> StateSpace:
    """Unit masses between unit springs, free ends, C = 0.02 K; the control force acts on the first mass.

    Disturbance force, position sensor with noise 0.05 and the controlled position on the last; penalty 0.3 of the push.
    """
    K = np.diag([1.0, *[2.0] * (count - 2), 1.0]) - np.eye(count, k=1) - np.eye(count, k=-1)
    A = np.block([[np.zeros((count, count)), np.eye(count)], [-K, -0.02 * K]])
    B, C, D = np.zeros((2 * count, 3)), np.zeros((3, 2 * count)), np.zeros((3, 3))
    B[-1, 0] = B[count, 2] = C[0, count - 1] = C[2, count - 1] = 1.0
    D[1, 2], D[2, 1] = 0.3, 0.05
    return StateSpace(A, B, C, D, inputs=["force", "noise", "push"], outputs=["place", "effort", "reading"])


def feedthrough_plant(D22: float, seed: int = 3) -> StateSpace:
    """Three states, two of each channel but one command and one reading; every block has a direct term."""
    rng = np.random.default_rng(seed)
    A, B, C = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    D = 0.3 * rng.normal(size=(3, 3))
    D[2, 2] = D22
    return StateSpace(A, B, C, D, inputs=["w1", "w2", "u"], outputs=["z1", "z2", "y"])
