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
    from dalembert import estimate as estimate
    from dalembert import identify as identify
    from dalembert import linear as linear
    from dalembert import structures as structures
    from dalembert.app.live.serve import view as view
    from dalembert.core.errors import AssemblyError as AssemblyError
    from dalembert.core.errors import ConvergenceError as ConvergenceError
    from dalembert.core.errors import DalembertError as DalembertError
    from dalembert.core.errors import DataError as DataError
    from dalembert.core.errors import FileFormatError as FileFormatError
    from dalembert.core.errors import Interrupted as Interrupted
    from dalembert.core.errors import MissingExtraError as MissingExtraError
    from dalembert.core.errors import ModelError as ModelError
    from dalembert.core.errors import ModelWarning as ModelWarning
    from dalembert.core.errors import SimulationWarning as SimulationWarning
    from dalembert.equations import EquationsOfMotion as EquationsOfMotion
    from dalembert.equations import State as State
    from dalembert.expressions import absolute as absolute
    from dalembert.expressions import acos as acos
    from dalembert.expressions import asin as asin
    from dalembert.expressions import atan as atan
    from dalembert.expressions import atan2 as atan2
    from dalembert.expressions import cos as cos
    from dalembert.expressions import cosh as cosh
    from dalembert.expressions import doctor as doctor
    from dalembert.expressions import exp as exp
    from dalembert.expressions import log as log
    from dalembert.expressions import maximum as maximum
    from dalembert.expressions import minimum as minimum
    from dalembert.expressions import pi as pi
    from dalembert.expressions import sign as sign
    from dalembert.expressions import sin as sin
    from dalembert.expressions import sinh as sinh
    from dalembert.expressions import sqrt as sqrt
    from dalembert.expressions import table as table
    from dalembert.expressions import tan as tan
    from dalembert.expressions import tanh as tanh
    from dalembert.expressions import where as where
    from dalembert.files import read_record as read_record
    from dalembert.files import write_record as write_record
    from dalembert.files.export.c_export import export_c as export_c
    from dalembert.files.models import library as library
    from dalembert.files.models import model_schema as model_schema
    from dalembert.files.models import read_model as read_model
    from dalembert.files.models import write_model as write_model
    from dalembert.linear import FrequencyResponse as FrequencyResponse
    from dalembert.linear import Modes as Modes
    from dalembert.linear import SecondOrder as SecondOrder
    from dalembert.linear import StateSpace as StateSpace
    from dalembert.loop.actuators import ActuatorLimits as ActuatorLimits
    from dalembert.loop.noise import Noise as Noise
    from dalembert.loop.noise import SensorFaults as SensorFaults
    from dalembert.loop.simulate import simulate as simulate
    from dalembert.model.actuators import DCMotor as DCMotor
    from dalembert.model.actuators import FirstOrderLag as FirstOrderLag
    from dalembert.model.inertia import box as box
    from dalembert.model.inertia import composite as composite
    from dalembert.model.inertia import cylinder as cylinder
    from dalembert.model.inertia import rod as rod
    from dalembert.model.inertia import sphere as sphere
    from dalembert.model.measures import acceleration as acceleration
    from dalembert.model.measures import accelerometer as accelerometer
    from dalembert.model.measures import angle as angle
    from dalembert.model.measures import displacement as displacement
    from dalembert.model.measures import distance as distance
    from dalembert.model.measures import energy as energy
    from dalembert.model.measures import expression as expression
    from dalembert.model.measures import gyroscope as gyroscope
    from dalembert.model.measures import joint_acceleration as joint_acceleration
    from dalembert.model.measures import orientation as orientation
    from dalembert.model.measures import position as position
    from dalembert.model.measures import rate as rate
    from dalembert.model.measures import reaction as reaction
    from dalembert.model.measures import speed as speed
    from dalembert.model.measures import spring_force as spring_force
    from dalembert.model.measures import velocity as velocity
    from dalembert.model.mechanism import Mechanism as Mechanism
    from dalembert.model.orientation import rotation as rotation
    from dalembert.record import Record as Record
    from dalembert.solve.constrained.solve import Baumgarte as Baumgarte
    from dalembert.solve.integrate.events import Event as Event
    from dalembert.solve.integrate.events import Switch as Switch
    from dalembert.solve.integrate.methods import RK4 as RK4
    from dalembert.solve.integrate.methods import DormandPrince as DormandPrince
    from dalembert.solve.integrate.methods import GeneralizedAlpha as GeneralizedAlpha
    from dalembert.solve.integrate.methods import Rosenbrock as Rosenbrock
    from dalembert.solve.integrate.methods import Sundials as Sundials
    from dalembert.solve.motion.forward import forward_dynamics as forward_dynamics
    from dalembert.solve.motion.inverse import inverse_dynamics as inverse_dynamics
    from dalembert.solve.motion.kinematics import kinematics as kinematics
    from dalembert.solve.motion.minimum_coordinates import equations as equations
    from dalembert.solve.position.assemble import assemble as assemble
    from dalembert.solve.position.mobility import check as check
    from dalembert.solve.position.mobility import mobility as mobility
    from dalembert.solve.position.mobility import rank_report as rank_report
    from dalembert.solve.rest.equilibrium import equilibrium as equilibrium
    from dalembert.solve.rest.linearize import linearize as linearize
    from dalembert.structures import Frame as Frame
    from dalembert.structures import Material as Material
    from dalembert.structures import Section as Section
    from dalembert.structures import Solid as Solid
    from dalembert.structures import Structure as Structure
    from dalembert.structures import read_mesh as read_mesh
    from dalembert.sweeps import Grid as Grid
    from dalembert.sweeps import LatinHypercube as LatinHypercube
    from dalembert.sweeps import Normal as Normal
    from dalembert.sweeps import Points as Points
    from dalembert.sweeps import Sobol as Sobol
    from dalembert.sweeps import read_sweep as read_sweep
    from dalembert.sweeps import simulated as simulated
    from dalembert.sweeps import sweep as sweep
    from dalembert.view import animate as animate
    from dalembert.view import figure_style as figure_style
    from dalembert.view import plot as plot
    from dalembert.view import report as report

__all__ = ["__version__", *attach(__name__)]
