"""A planar model as a system in symbols, for every formalism: bodies, forces and rows in coordinates of the nodes.

A system has a coordinate for every speed. A quasi-velocity of the user that is no rate of a coordinate gets one, called
``<speed>.integral``; nothing depends on its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from dalembert.expressions import Expr
from dalembert.symbolic.planar.model import PlanarModel
from dalembert.symbolic.planar.producer import PlanarEquations
from dalembert.symbolic.system import System

SX = ca.SX


def to_system(model: PlanarModel) -> System:
    """The system of a planar model: ``da.symbolic.kane(da.symbolic.to_system(m))`` shows its equations.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.symbolic.PlanarModel("pendulum")
    >>> m.add_ground((0, 0))
    >>> m.add_bar(1, (0, 0), (0.6, 0), mass=2.0)
    >>> m.add_revolute("0.1-1.1")
    >>> da.symbolic.to_system(m)
    System('pendulum': 3 coordinates, 0 speeds, 0 parameters, 0 inputs, 1 bodies, 2 constraint rows)
    """
    e = PlanarEquations(model)
    s = System(model.name)
    old, new = [model.time], [s.t]
    for name, (symbol, _) in model.inputs.items():
        old.append(symbol)
        new.append(s.input(name))
    for name, (symbol, value) in model.parameters.items():
        old.append(symbol)
        new.append(s.parameter(name, value))
    user_rates = _own_rates(e)
    for k, name in enumerate(e.coordinates.names):
        symbol = s.coordinate(name, "", float(e.q_drawn[k]))
        old.append(e.q[k])
        new.append(symbol)
        if k < len(e.reduction.variables) or name in user_rates:
            old.append(user_rates[name] if name in user_rates else e.v[k])
            new.append(s.symbols[f"{name}.rate"])
    hashes = {x.element_hash() for x in user_rates.values()}
    for name, speed in model.own_speeds.items():
        if speed.symbol.element_hash() not in hashes:
            s.coordinate(f"{name}.integral")
            old.append(speed.symbol)
            new.append(s.symbols[f"{name}.integral.rate"])

    def convert(value: Expr, what: str) -> Any:
        return ca.substitute(e.reduce(value, what), ca.vertcat(*old), ca.vertcat(*new))

    for body in list(model.bodies.values())[1:]:
        what = f"body {body.name!r}"
        mass, place = convert(body.mass, what), ca.vertsplit(convert(e.center(body), what))
        if e.reduction.has_angle(body.name) and not body.is_particle:
            s.add_body(body.name, mass, convert(body.inertia, what), place, angle=convert(body.angle, what))
        else:
            s.add_particle(body.name, mass, place)
    s.add_potential(convert(e.potential, "gravity"), "gravity")
    for name, speed in model.own_speeds.items():
        if not speed.inertia.is_zero():
            s.add_kinetic(convert(0.5 * speed.inertia * speed.symbol**2, name), name)
    _add_forces(s, e, convert)
    for name, value in (*e.holonomic.items(), *e.nonholonomic.items()):
        s.constrain(convert(value, name), name)
    for name, coordinate in model.own_coordinates.items():
        if name not in user_rates:
            s.constrain(s.symbols[f"{name}.rate"] - convert(coordinate.rate, name), f"rate of {name}")
    for name, (value, unit) in model.sensors.items():
        s.add_output(name, convert(value, name), unit)
    # lengths and masses of a planar model are plain numbers, so units serve as labels only
    units = dict(zip(e.coordinates.names, e.coordinates.units, strict=True))
    s.units.update(units)
    s.units.update({f"{name}.rate": f"{unit or 1}/s" for name, unit in units.items()})
    s.units.update({name: unit for name, (_, unit) in model.inputs.items()})
    return s


def _own_rates(e: PlanarEquations) -> dict[str, Any]:
    """Coordinates of the user whose rate is a quasi-velocity of the user, with it; each speed once."""
    speeds = {x.symbol.element_hash(): x.symbol for x in e.m.own_speeds.values()}
    user_rates = {}
    for name, coordinate in e.m.own_coordinates.items():
        rate = e.reduction(coordinate.rate)
        if rate.is_symbolic() and rate.element_hash() in speeds:
            user_rates[name] = speeds.pop(rate.element_hash())
    return user_rates


def _add_forces(s: System, e: PlanarEquations, convert: Callable[[Expr, str], Any]) -> None:
    """Forces of the model as generalized forces along the coordinates of its speeds."""
    f = e.f - e.weight
    values = ca.vertsplit(convert(f, "the forces"))
    for k, variable in enumerate(e.reduction.variables):
        if not values[k].is_zero():
            s.add_generalized_force(f"along {variable.name}", variable.name, values[k])
    for value, (name, speed) in zip(values[len(e.reduction.variables) :], e.m.own_speeds.items(), strict=True):
        if not value.is_zero():
            owner = convert(speed.symbol, name).name().removesuffix(".rate")
            s.add_generalized_force(f"along {owner}", owner, value)
