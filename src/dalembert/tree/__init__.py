"""Trees and robots: functions of equations in joint coordinates and a state, or of many states at once."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.tree.base_parameters import BaseParameters as BaseParameters
    from dalembert.tree.base_parameters import base_parameters as base_parameters
    from dalembert.tree.closed_form import ClosedForm as ClosedForm
    from dalembert.tree.closed_form import closed_form as closed_form
    from dalembert.tree.derivatives import ForwardDerivatives as ForwardDerivatives
    from dalembert.tree.derivatives import InverseDerivatives as InverseDerivatives
    from dalembert.tree.derivatives import forward_dynamics_derivatives as forward_dynamics_derivatives
    from dalembert.tree.derivatives import inverse_dynamics_derivatives as inverse_dynamics_derivatives
    from dalembert.tree.dynamics import center_of_mass as center_of_mass
    from dalembert.tree.dynamics import center_of_mass_jacobian as center_of_mass_jacobian
    from dalembert.tree.dynamics import centroidal_momentum as centroidal_momentum
    from dalembert.tree.dynamics import centroidal_momentum_matrix as centroidal_momentum_matrix
    from dalembert.tree.dynamics import centroidal_momentum_matrix_rate as centroidal_momentum_matrix_rate
    from dalembert.tree.dynamics import coriolis_matrix as coriolis_matrix
    from dalembert.tree.dynamics import energies as energies
    from dalembert.tree.dynamics import forward_dynamics as forward_dynamics
    from dalembert.tree.dynamics import gravity as gravity
    from dalembert.tree.dynamics import inverse_dynamics as inverse_dynamics
    from dalembert.tree.dynamics import mass_matrix as mass_matrix
    from dalembert.tree.dynamics import total_mass as total_mass
    from dalembert.tree.dynamics import wrench_efforts as wrench_efforts
    from dalembert.tree.efforts import check_limits as check_limits
    from dalembert.tree.evaluation import kernel as kernel
    from dalembert.tree.kinematics import forward_kinematics as forward_kinematics
    from dalembert.tree.kinematics import jacobian as jacobian
    from dalembert.tree.kinematics import jacobian_rate as jacobian_rate
    from dalembert.tree.payload import Payload as Payload
    from dalembert.tree.reach.compliance import compliance as compliance
    from dalembert.tree.reach.follow_path import follow_path as follow_path
    from dalembert.tree.reach.inverse_kinematics import OutOfReachError as OutOfReachError
    from dalembert.tree.reach.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from dalembert.tree.reach.manipulability import Manipulability as Manipulability
    from dalembert.tree.reach.manipulability import manipulability as manipulability
    from dalembert.tree.reach.workspace import Workspace as Workspace
    from dalembert.tree.reach.workspace import workspace as workspace
    from dalembert.tree.regressor import DynamicParameters as DynamicParameters
    from dalembert.tree.regressor import dynamic_parameters as dynamic_parameters
    from dalembert.tree.regressor import regressor as regressor
    from dalembert.tree.screws import Screw as Screw
    from dalembert.tree.screws import screw_of_twist as screw_of_twist
    from dalembert.tree.screws import screw_of_wrench as screw_of_wrench
    from dalembert.tree.screws import spatial_inertia as spatial_inertia
    from dalembert.tree.screws import twist as twist
    from dalembert.tree.screws import twist_transform as twist_transform
    from dalembert.tree.screws import wrench_cross as wrench_cross
    from dalembert.tree.screws import wrench_transform as wrench_transform
    from dalembert.tree.trajectories.polynomial import polynomial as polynomial
    from dalembert.tree.trajectories.polynomial import quintic as quintic
    from dalembert.tree.trajectories.shape_input import shape_input as shape_input
    from dalembert.tree.trajectories.spline import spline as spline
    from dalembert.tree.trajectories.time_scaling import scale_time as scale_time
    from dalembert.tree.trajectories.trapezoid import trapezoid as trapezoid

__all__ = attach(__name__)
