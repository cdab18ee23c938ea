"""Machines of rigid and flexible bodies: motion, identification, estimation and control from one description.

``import dalembert as da`` and every public name is there, loaded on first use; the import itself loads no
third-party module.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"


def _from(module: str, names: str) -> dict[str, tuple[str, str]]:
    return {name: (f"dalembert.{module}", name) for name in names.split()}


def _rooms(names: str) -> dict[str, tuple[str, str]]:
    """Folders that are public as they are: ``da.structures.guyan``."""
    return {name: ("dalembert", name) for name in names.split()}


# The public names: name -> (module, attribute). Edit here, and in the block below that shows them to type checkers;
# tests/api/test_public_names.py says where the two differ.
_PUBLIC: dict[str, tuple[str, str]] = {
    # describing a machine
    **_from("model.mechanism", "Mechanism"),
    **_from("model.inertia", "rod box cylinder sphere composite"),
    **_from("model.measures", "angle rate displacement speed joint_acceleration"),
    **_from("model.measures", "position velocity acceleration distance accelerometer gyroscope orientation"),
    **_from("model.measures", "reaction spring_force energy expression"),
    **_from("model.orientation", "rotation"),
    **_from("model.actuators", "Ideal FirstOrderLag DCMotor"),
    **_from("expressions", "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt absolute table"),
    **_from("expressions", "where minimum maximum sign pi"),
    # its equations
    **_from("solve.minimum_coordinates", "equations"),
    **_from("equations", "EquationsOfMotion State"),
    # solving them
    **_from("solve.assemble", "assemble"),
    **_from("solve.kinematics", "kinematics"),
    **_from("solve.forward", "forward_dynamics"),
    **_from("solve.mobility", "check mobility rank_report"),
    **_from("solve.inverse", "inverse_dynamics"),
    **_from("solve.equilibrium", "equilibrium"),
    **_from("solve.linearize", "linearize"),
    **_from("solve.integrate", "simulate"),
    **_from("solve.methods", "RK4 DormandPrince Rosenbrock GeneralizedAlpha Sundials"),
    **_from("solve.constrained", "Baumgarte"),
    **_from("solve.events", "Event Switch"),
    **_from("solve.noise", "Noise SensorFaults"),
    **_from("solve.actuators", "Actuator"),
    # linear models and structures here; what is done with them, with data and with machines, in rooms of their own
    **_from("linear", "SecondOrder StateSpace Modes FrequencyResponse"),
    **_from("structures", "Frame Solid Section Material Structure read_mesh"),
    **_rooms("linear structures identify estimate control"),
    # many runs
    **_from("sweeps", "sweep simulated read_sweep Grid LatinHypercube Sobol Points Normal"),
    # data, files, pictures
    **_from("record", "Record"),
    **_from("files", "read_record write_record"),
    **_from("files.c_export", "export_c"),
    **_from("files.models", "read_model write_model library model_schema"),
    **_from("view", "plot animate report figure_style"),
    **_from("app.serve", "view"),
    # this installation, and what can go wrong
    **_from("expressions", "doctor"),
    **_from("errors", "DalembertError ModelError AssemblyError ConvergenceError DataError"),
    **_from("errors", "FileFormatError MissingExtraError Interrupted ModelWarning SimulationWarning"),
}

if TYPE_CHECKING:
    from dalembert import control as control
    from dalembert import estimate as estimate
    from dalembert import identify as identify
    from dalembert import linear as linear
    from dalembert import structures as structures
    from dalembert.app.serve import view as view
    from dalembert.equations import EquationsOfMotion as EquationsOfMotion
    from dalembert.equations import State as State
    from dalembert.errors import AssemblyError as AssemblyError
    from dalembert.errors import ConvergenceError as ConvergenceError
    from dalembert.errors import DalembertError as DalembertError
    from dalembert.errors import DataError as DataError
    from dalembert.errors import FileFormatError as FileFormatError
    from dalembert.errors import Interrupted as Interrupted
    from dalembert.errors import MissingExtraError as MissingExtraError
    from dalembert.errors import ModelError as ModelError
    from dalembert.errors import ModelWarning as ModelWarning
    from dalembert.errors import SimulationWarning as SimulationWarning
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
    from dalembert.files.c_export import export_c as export_c
    from dalembert.files.models import library as library
    from dalembert.files.models import model_schema as model_schema
    from dalembert.files.models import read_model as read_model
    from dalembert.files.models import write_model as write_model
    from dalembert.linear import FrequencyResponse as FrequencyResponse
    from dalembert.linear import Modes as Modes
    from dalembert.linear import SecondOrder as SecondOrder
    from dalembert.linear import StateSpace as StateSpace
    from dalembert.model.actuators import DCMotor as DCMotor
    from dalembert.model.actuators import FirstOrderLag as FirstOrderLag
    from dalembert.model.actuators import Ideal as Ideal
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
    from dalembert.solve.actuators import Actuator as Actuator
    from dalembert.solve.assemble import assemble as assemble
    from dalembert.solve.constrained import Baumgarte as Baumgarte
    from dalembert.solve.equilibrium import equilibrium as equilibrium
    from dalembert.solve.events import Event as Event
    from dalembert.solve.events import Switch as Switch
    from dalembert.solve.forward import forward_dynamics as forward_dynamics
    from dalembert.solve.integrate import simulate as simulate
    from dalembert.solve.inverse import inverse_dynamics as inverse_dynamics
    from dalembert.solve.kinematics import kinematics as kinematics
    from dalembert.solve.linearize import linearize as linearize
    from dalembert.solve.methods import RK4 as RK4
    from dalembert.solve.methods import DormandPrince as DormandPrince
    from dalembert.solve.methods import GeneralizedAlpha as GeneralizedAlpha
    from dalembert.solve.methods import Rosenbrock as Rosenbrock
    from dalembert.solve.methods import Sundials as Sundials
    from dalembert.solve.minimum_coordinates import equations as equations
    from dalembert.solve.mobility import check as check
    from dalembert.solve.mobility import mobility as mobility
    from dalembert.solve.mobility import rank_report as rank_report
    from dalembert.solve.noise import Noise as Noise
    from dalembert.solve.noise import SensorFaults as SensorFaults
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

__all__ = ["__version__", *_PUBLIC]


def _load(name: str) -> Any:
    try:
        module, attribute = _PUBLIC[name]
    except KeyError:
        from dalembert.errors import unknown_name

        raise AttributeError(unknown_name("public name", name, _PUBLIC, "dalembert")) from None
    if module == __name__:
        value: Any = importlib.import_module(f"{module}.{attribute}")
    else:
        value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a checker that saw it would take every misspelt name for a public one
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package itself: `da.equations` stays the function although `dalembert/equations.py` is a module too.

    Importing a submodule binds it as an attribute of its package; for a name that is public that would hide
    the public object, depending on what was imported first.
    """

    def __setattr__(self, name: str, value: object) -> None:
        hidden = name in _PUBLIC and _PUBLIC[name][0] != __name__
        if not (hidden and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
