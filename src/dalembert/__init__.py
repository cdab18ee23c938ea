"""Machines of rigid and flexible bodies: motion, identification, estimation and control from one description.

``import dalembert as da`` and every public name is there, loaded on first use; the import itself loads no
third-party module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

__version__ = "0.1.0"


if TYPE_CHECKING:
    from dalembert import control as control
    from dalembert import errors as errors
    from dalembert import estimate as estimate
    from dalembert import identify as identify
    from dalembert import linear as linear
    from dalembert import linkages as linkages
    from dalembert import math as math
    from dalembert import structures as structures
    from dalembert import sweeps as sweeps
    from dalembert import symbolic as symbolic
    from dalembert import tree as tree
    from dalembert.app.live.serve import view as view
    from dalembert.equations import EquationsOfMotion as EquationsOfMotion
    from dalembert.expressions import cos as cos
    from dalembert.expressions import doctor as doctor
    from dalembert.expressions import sin as sin
    from dalembert.expressions import where as where
    from dalembert.files import read_flexible_body as read_flexible_body
    from dalembert.files import read_mjcf as read_mjcf
    from dalembert.files import read_modes as read_modes
    from dalembert.files import read_record as read_record
    from dalembert.files import read_urdf as read_urdf
    from dalembert.files import write_flexible_body as write_flexible_body
    from dalembert.files import write_modes as write_modes
    from dalembert.files import write_record as write_record
    from dalembert.files import write_urdf as write_urdf
    from dalembert.files.export.c_export import export_c as export_c
    from dalembert.files.export.object_export import export_object as export_object
    from dalembert.files.export.python_export import export_python as export_python
    from dalembert.files.models import read_model as read_model
    from dalembert.files.models import write_model as write_model
    from dalembert.linear import SecondOrder as SecondOrder
    from dalembert.linear import StateSpace as StateSpace
    from dalembert.loop.actuators import ActuatorLimits as ActuatorLimits
    from dalembert.loop.noise import Noise as Noise
    from dalembert.loop.simulate import simulate as simulate
    from dalembert.model.actuators.dc_motor import DCMotor as DCMotor
    from dalembert.model.actuators.first_order_lag import FirstOrderLag as FirstOrderLag
    from dalembert.model.inertia import box as box
    from dalembert.model.inertia import composite as composite
    from dalembert.model.inertia import cylinder as cylinder
    from dalembert.model.inertia import rod as rod
    from dalembert.model.inertia import sphere as sphere
    from dalembert.model.mechanism import Mechanism as Mechanism
    from dalembert.model.orientation import rotation as rotation
    from dalembert.model.sensors.coordinate import angle as angle
    from dalembert.model.sensors.coordinate import displacement as displacement
    from dalembert.model.sensors.coordinate import joint_acceleration as joint_acceleration
    from dalembert.model.sensors.coordinate import rate as rate
    from dalembert.model.sensors.coordinate import speed as speed
    from dalembert.model.sensors.deformation import curvature as curvature
    from dalembert.model.sensors.deformation import deflection as deflection
    from dalembert.model.sensors.deformation import strain as strain
    from dalembert.model.sensors.distance import distance as distance
    from dalembert.model.sensors.energy import energy as energy
    from dalembert.model.sensors.expression import expression as expression
    from dalembert.model.sensors.inertial import accelerometer as accelerometer
    from dalembert.model.sensors.inertial import gyroscope as gyroscope
    from dalembert.model.sensors.orientation import orientation as orientation
    from dalembert.model.sensors.point import acceleration as acceleration
    from dalembert.model.sensors.point import position as position
    from dalembert.model.sensors.point import velocity as velocity
    from dalembert.model.sensors.reaction import reaction as reaction
    from dalembert.model.sensors.spring_force import spring_force as spring_force
    from dalembert.record import Record as Record
    from dalembert.solve.integrate.events import Event as Event
    from dalembert.solve.integrate.events import Switch as Switch
    from dalembert.solve.integrate.methods.dormand_prince import DormandPrince as DormandPrince
    from dalembert.solve.integrate.methods.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
    from dalembert.solve.integrate.methods.rk4 import RK4 as RK4
    from dalembert.solve.integrate.methods.rosenbrock import Rosenbrock as Rosenbrock
    from dalembert.solve.integrate.methods.sundials import Sundials as Sundials
    from dalembert.solve.motion.forward import forward_dynamics as forward_dynamics
    from dalembert.solve.motion.inverse import inverse_dynamics as inverse_dynamics
    from dalembert.solve.motion.kinematics import kinematics as kinematics
    from dalembert.solve.motion.minimum_coordinates import equations as equations
    from dalembert.solve.position.assemble import assemble as assemble
    from dalembert.solve.position.check import check as check
    from dalembert.solve.position.mobility import mobility as mobility
    from dalembert.solve.rest.equilibrium import equilibrium as equilibrium
    from dalembert.solve.rest.linearize import linearize as linearize
    from dalembert.solve.scales.two_time_scale import separate_scales as separate_scales
    from dalembert.sweeps import sweep as sweep
    from dalembert.view import animate as animate
    from dalembert.view import plot as plot
    from dalembert.view import report as report

__all__ = ["__version__", *attach(__name__)]
