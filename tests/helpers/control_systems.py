"""Small machines that the tests of linear control share."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.control import OutputFeedback, kalman_gain, lqr
from dalembert.linear import SecondOrder, StateSpace

LUMPED_POLES = np.array([-1 + 12j, -1 - 12j, -3 + 35j, -3 - 35j, -4 + 55j, -4 - 55j])
"""Spec 000, section 3.2, test 10."""


def frame() -> SecondOrder:
    """Three storeys, a force at the bottom and one at the top, read by a displacement and with some acceleration."""
    K = np.array([[50.0, -20.0, 0.0], [-20.0, 45.0, -25.0], [0.0, -25.0, 25.0]])
    return SecondOrder(
        np.diag([2.0, 3.0, 1.0]), K, C=0.01 * K, B=np.eye(3)[:, [0, 2]], Y_position=np.eye(3)[[0, 2]],
        Y_acceleration=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.01]]), inputs=["push", "pull"],
        outputs=["base", "top"], coordinates=["q1", "q2", "q3"], units={"base": "m", "push": "N"},
    )  # fmt: skip


def cart() -> StateSpace:
    """A free mass of 1 kg."""
    return StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")


def lumped() -> SecondOrder:
    """The three-storey rig without its pendulum, undamped (spec 000, 3.1): force on floor 1, its acceleration read."""
    k1 = k3 = 24 * 207e9 * (0.035 * 1e-3**3 / 12) / 0.23**3
    k2 = 24 * 207e9 * (0.035 * 1e-3**3 / 12) / 0.28**3
    K = np.array([[k1 + k2, -k2, 0.0], [-k2, k2 + k3, -k3], [0.0, -k3, k3]])
    return SecondOrder(np.diag([1.281, 0.814, 1.380]), K, B=[1, 0, 0], Y_position=np.eye(3)[[0]], outputs="x1")


def lqg(
    system: Any, *, Qn: Any, Rn: Any, Nn: Any = None, known: Any = (), inputs: Any = None, P0: Any = None, **more: Any
) -> OutputFeedback:
    """`lqr` on `kalman_gain`, in predictor form; `known` inputs are measured, not driven."""
    known = [known] if isinstance(known, str) else list(known)
    own = {name: more.pop(name) for name in ("outputs", "noise") if name in more}
    own |= {"form": more.pop("form", "predictor"), "dt": more.get("dt")}
    if P0 is not None:
        own |= {"P0": P0, "horizon": more.get("horizon")}
    inputs = [name for name in system.inputs if name not in known] if inputs is None else inputs
    driven = [inputs] if isinstance(inputs, str) else list(inputs)
    feedback = lqr(system, inputs=driven, **more)
    return OutputFeedback(feedback, kalman_gain(system, Q=Qn, R=Rn, N=Nn, inputs=[*driven, *known], **own))
