"""Control: state feedback, optimal regulators, and laws for nonlinear machines; each fits ``da.simulate``."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.control.judge.law_loop import open_loop as open_loop
    from dalembert.control.judge.margins import ChannelMargins as ChannelMargins
    from dalembert.control.judge.margins import Margins as Margins
    from dalembert.control.judge.margins import complementary as complementary
    from dalembert.control.judge.margins import margins as margins
    from dalembert.control.judge.margins import sensitivity as sensitivity
    from dalembert.control.judge.reach import Reach as Reach
    from dalembert.control.judge.reach import controllability as controllability
    from dalembert.control.judge.reach import observability as observability
    from dalembert.control.judge.step_info import StepInfo as StepInfo
    from dalembert.control.judge.step_info import step_info as step_info
    from dalembert.control.judge.vibration_reduction import reduction as reduction
    from dalembert.control.robust.dk import RobustSynthesis as RobustSynthesis
    from dalembert.control.robust.dk import dk as dk
    from dalembert.control.robust.h2 import h2 as h2
    from dalembert.control.robust.hinf import hinf as hinf
    from dalembert.control.robust.lmi import lmi_output_feedback as lmi_output_feedback
    from dalembert.control.robust.lmi import lmi_state_feedback as lmi_state_feedback
    from dalembert.control.robust.loop_shaping import loop_shaping as loop_shaping
    from dalembert.control.robust.mixed_sensitivity import mixed_sensitivity as mixed_sensitivity
    from dalembert.control.robust.pole_region import PoleRegion as PoleRegion
    from dalembert.control.robust.synthesis import GoalValue as GoalValue
    from dalembert.control.robust.synthesis import Synthesis as Synthesis
    from dalembert.control.servo.cascade import cascade as cascade
    from dalembert.control.servo.computed_torque import computed_torque as computed_torque
    from dalembert.control.servo.custom_law import custom_law as custom_law
    from dalembert.control.servo.joint_pid import JointPID as JointPID
    from dalembert.control.servo.joint_pid import joint_pid as joint_pid
    from dalembert.control.servo.pid import PID as PID
    from dalembert.control.servo.pid import pid as pid
    from dalembert.control.servo.realizability import Realizability as Realizability
    from dalembert.control.servo.udwadia_kalaba import ServoConstraints as ServoConstraints
    from dalembert.control.servo.udwadia_kalaba import control_forces as control_forces
    from dalembert.control.servo.udwadia_kalaba import udwadia_kalaba as udwadia_kalaba
    from dalembert.control.servo.virtual_constraints import VirtualConstraint as VirtualConstraint
    from dalembert.control.state_feedback.kalman_gain import kalman_gain as kalman_gain
    from dalembert.control.state_feedback.lqr import lqr as lqr
    from dalembert.control.state_feedback.observer import LinearObserver as LinearObserver
    from dalembert.control.state_feedback.observer import observer_gain as observer_gain
    from dalembert.control.state_feedback.output_feedback import OutputFeedback as OutputFeedback
    from dalembert.control.state_feedback.place import place as place
    from dalembert.control.state_feedback.plan_motion import plan_motion as plan_motion
    from dalembert.control.state_feedback.state_feedback import StateFeedback as StateFeedback
    from dalembert.control.structured.goals.margin_goals import CrossoverGoal as CrossoverGoal
    from dalembert.control.structured.goals.margin_goals import DiskMarginGoal as DiskMarginGoal
    from dalembert.control.structured.goals.margin_goals import PhaseMarginGoal as PhaseMarginGoal
    from dalembert.control.structured.goals.norm_goals import H2Goal as H2Goal
    from dalembert.control.structured.goals.norm_goals import HinfGoal as HinfGoal
    from dalembert.control.structured.goals.norm_goals import TrackingGoal as TrackingGoal
    from dalembert.control.structured.goals.pole_goals import DampingGoal as DampingGoal
    from dalembert.control.structured.goals.pole_goals import DecayGoal as DecayGoal
    from dalembert.control.structured.structured import ScheduledSynthesis as ScheduledSynthesis
    from dalembert.control.structured.structured import structured as structured
    from dalembert.control.structured.structures import Decentralised as Decentralised
    from dalembert.control.structured.structures import FixedOrder as FixedOrder
    from dalembert.control.structured.structures import ObserverForm as ObserverForm
    from dalembert.control.structured.structures import PIDLoops as PIDLoops
    from dalembert.control.structured.structures import StaticGain as StaticGain
    from dalembert.control.transfer_function import tf as tf
    from dalembert.control.two_time_scale.composite import CompositeLaw as CompositeLaw
    from dalembert.control.two_time_scale.composite import WorkspaceLoop as WorkspaceLoop
    from dalembert.control.two_time_scale.composite import composite as composite
    from dalembert.control.uncertainty.cover import FamilyCover as FamilyCover
    from dalembert.control.uncertainty.cover import cover as cover
    from dalembert.control.uncertainty.linearize_uncertain import linearize_uncertain as linearize_uncertain
    from dalembert.control.uncertainty.mu import StructuredGain as StructuredGain
    from dalembert.control.uncertainty.mu import mu as mu
    from dalembert.control.uncertainty.worst_gain import WorstGain as WorstGain
    from dalembert.control.uncertainty.worst_gain import worst_gain as worst_gain
    from dalembert.loop.continuous import close_loop as close_loop
    from dalembert.view.plots.linear.loops import bode as bode
    from dalembert.view.plots.linear.loops import nyquist as nyquist

__all__ = attach(__name__, lqg="OutputFeedback")
