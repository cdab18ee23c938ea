"""Control: state feedback, optimal regulators, and laws for nonlinear machines; each fits ``da.simulate``."""

from dalembert.control.control_forces import control_forces
from dalembert.control.custom_law import custom_law
from dalembert.control.gaussian_regulator import lqg
from dalembert.control.loop_margins import ChannelMargins, Margins, complementary, margins, sensitivity
from dalembert.control.motion_plan import plan_motion
from dalembert.control.observer import LinearObserver, kalman_gain, observer_gain
from dalembert.control.output_feedback import OutputFeedback
from dalembert.control.placement import place
from dalembert.control.reach import Reach, controllability, observability
from dalembert.control.realizability import Realizability
from dalembert.control.regulator import lqr
from dalembert.control.state_feedback import StateFeedback
from dalembert.control.udwadia_kalaba import ServoConstraints, computed_torque, udwadia_kalaba
from dalembert.control.vibration_reduction import reduction
from dalembert.control.virtual_constraints import VirtualConstraint
from dalembert.solve.closing import close_loop

__all__ = [
    "ChannelMargins",
    "LinearObserver",
    "Margins",
    "OutputFeedback",
    "Reach",
    "StateFeedback",
    "close_loop",
    "complementary",
    "controllability",
    "custom_law",
    "kalman_gain",
    "lqg",
    "lqr",
    "margins",
    "observability",
    "observer_gain",
    "place",
    "plan_motion",
    "reduction",
    "sensitivity",
    "Realizability",
    "ServoConstraints",
    "VirtualConstraint",
    "computed_torque",
    "control_forces",
    "udwadia_kalaba",
]
