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


# The public names: name -> (module, attribute). Edit here, and in the block below that shows them to type checkers;
# tests/api/test_public_names.py says where the two differ.
_PUBLIC: dict[str, tuple[str, str]] = {
    # describing a machine
    **_from("model.mechanism", "Mechanism"),
    **_from("model.inertia", "rod box cylinder sphere composite"),
    **_from("model.measures", "angle rate displacement speed position velocity acceleration"),
    **_from("model.measures", "accelerometer gyroscope reaction spring_force energy expression"),
    **_from("model.actuators", "Ideal FirstOrderLag DCMotor"),
    **_from("expressions", "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt"),
    **_from("expressions", "where minimum maximum sign pi"),
    # its equations
    **_from("mechanics", "equations"),
    **_from("equations", "EquationsOfMotion State"),
    # solving them
    **_from("solve.assemble", "assemble"),
    **_from("solve.kinematics", "kinematics"),
    **_from("solve.forward", "forward_dynamics"),
    **_from("solve.inverse", "inverse_dynamics"),
    **_from("solve.equilibrium", "equilibrium"),
    **_from("solve.linearize", "linearize"),
    **_from("solve.integrate", "simulate"),
    **_from("solve.methods", "RK4 DormandPrince GeneralizedAlpha Radau Sundials"),
    **_from("solve.events", "Event"),
    # linear models
    **_from("linear", "SecondOrder StateSpace"),
    # data, files, pictures
    **_from("record", "Record"),
    **_from("files", "read_record write_record"),
    **_from("view", "plot animate"),
    # this installation, and what can go wrong
    **_from("expressions", "doctor"),
    **_from("errors", "DalembertError ModelError AssemblyError ConvergenceError DataError"),
    **_from("errors", "FileFormatError MissingExtraError Interrupted"),
}

if TYPE_CHECKING:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.errors import (
        AssemblyError,
        ConvergenceError,
        DalembertError,
        DataError,
        FileFormatError,
        Interrupted,
        MissingExtraError,
        ModelError,
    )
    from dalembert.expressions import (
        acos,
        asin,
        atan,
        atan2,
        cos,
        cosh,
        doctor,
        exp,
        log,
        maximum,
        minimum,
        pi,
        sign,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
        where,
    )
    from dalembert.files import read_record, write_record
    from dalembert.linear import SecondOrder, StateSpace
    from dalembert.mechanics import equations
    from dalembert.model.actuators import DCMotor, FirstOrderLag, Ideal
    from dalembert.model.inertia import box, composite, cylinder, rod, sphere
    from dalembert.model.measures import (
        acceleration,
        accelerometer,
        angle,
        displacement,
        energy,
        expression,
        gyroscope,
        position,
        rate,
        reaction,
        speed,
        spring_force,
        velocity,
    )
    from dalembert.model.mechanism import Mechanism
    from dalembert.record import Record
    from dalembert.solve.assemble import assemble
    from dalembert.solve.equilibrium import equilibrium
    from dalembert.solve.events import Event
    from dalembert.solve.forward import forward_dynamics
    from dalembert.solve.integrate import simulate
    from dalembert.solve.inverse import inverse_dynamics
    from dalembert.solve.kinematics import kinematics
    from dalembert.solve.linearize import linearize
    from dalembert.solve.methods import RK4, DormandPrince, GeneralizedAlpha, Radau, Sundials
    from dalembert.view import animate, plot

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _PUBLIC[name]
    except KeyError:
        from dalembert.errors import unknown_name

        raise AttributeError(unknown_name("public name", name, _PUBLIC, "dalembert")) from None
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package itself: `da.equations` stays the function although `dalembert/equations.py` is a module too.

    Importing a submodule binds it as an attribute of its package; for a name that is public that would hide
    the public object, depending on what was imported first.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
