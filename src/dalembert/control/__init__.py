"""Control: state feedback, optimal regulators, and laws for nonlinear machines; each fits ``da.simulate``."""

from dalembert.control.lqg import lqg
from dalembert.control.lqr import lqr
from dalembert.control.margins import Margins, margins
from dalembert.control.observer import LinearObserver, kalman_gain, observer_gain
from dalembert.control.output_feedback import OutputFeedback
from dalembert.control.placement import place
from dalembert.control.reach import Reach, controllability, observability
from dalembert.control.state_feedback import StateFeedback
from dalembert.control.udwadia_kalaba import (
    Realizability,
    ServoConstraints,
    VirtualConstraint,
    computed_torque,
    control_forces,
    udwadia_kalaba,
)

__all__ = [
    "LinearObserver",
    "Margins",
    "OutputFeedback",
    "Reach",
    "StateFeedback",
    "controllability",
    "kalman_gain",
    "lqg",
    "lqr",
    "margins",
    "observability",
    "observer_gain",
    "place",
    "Realizability",
    "ServoConstraints",
    "VirtualConstraint",
    "computed_torque",
    "control_forces",
    "udwadia_kalaba",
]
