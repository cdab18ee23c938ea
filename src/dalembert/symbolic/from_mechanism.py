"""Symbolic equations of a Mechanism: names kept, parameters as symbols.

As `da.equations` makes them, in absolute coordinates,

    q̇ = N v ,   M v̇ = f + Aᵀ λ ,   A v̇ = b ,   φ(q,t) = 0 ,

or derived by a formalism of `da.symbolic` in the coordinates of the joints or of the bodies.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError, require_name
from dalembert.equations import HOLONOMIC, VELOCITY, EquationsOfMotion, Row, equations
from dalembert.mechanics.equations_of_mechanism import equations_of_mechanism
from dalembert.model import Mechanism
from dalembert.symbolic.derivation import Conserved, Derivation, Step
from dalembert.symbolic.machine_system import system_of_mechanism
from dalembert.symbolic.motion import SystemMotion
from dalembert.symbolic.parts import Constraint
from dalembert.symbolic.system import System

SX = ca.SX
AS_BUILT = "Newton-Euler equations in absolute coordinates"
FORMALISMS = {  # names, and their files
    "boltzmann_hamel": "boltzmann_hamel", "gauss": "gauss", "gibbs_appell": "gibbs_appell", "hamilton": "hamilton",
    "kane": "kane", "lagrange": "lagrange", "lagrange_multipliers": "lagrange", "maggi": "maggi",
    "newton_euler": "newton_euler", "nielsen": "nielsen", "penalty": "penalty", "udwadia_kalaba": "udwadia_kalaba",
    "virtual_work": "virtual_work",
}  # fmt: skip


def from_mechanism(m: Mechanism, formalism: str | None = None, *, coordinates: str | None = None) -> Derivation:
    """Symbolic equations of a machine.

    Parameters
    ----------
    m : the machine; names of bodies, joints, inputs and parameters are kept.
    formalism : "lagrange", "kane", "newton_euler", ..., a function of `da.symbolic`; where left out, the equations are
        those of `da.equations`, in absolute coordinates with all joints as rows.
    coordinates : "joint" (with rows for the joints that close loops; the default of a formalism) or "absolute".

    Examples
    --------
    >>> import dalembert as da
    >>> d = from_mechanism(da.read_model("pendulum"))
    >>> d
    Derivation('pendulum' by Newton-Euler equations in absolute coordinates: 3 speeds, 2 constraint rows, ...)
    >>> from_mechanism(da.read_model("pendulum"), "lagrange").M
    SX(...)
    """
    if not isinstance(m, Mechanism):
        raise ModelError("wrong-type", f"expected a Mechanism, got {type(m).__name__} {m!r:.80}.")
    if formalism is None and coordinates in (None, "absolute"):
        return derivation_of_equations(equations_of_mechanism(m))
    derive = _function(formalism or "lagrange_multipliers")
    return derive(system_of_mechanism(m, coordinates or "joint"))


def _function(name: str) -> Callable[[System], Derivation]:
    plain = name.replace("-", "_").replace(" ", "_")
    require_name("formalism", plain, FORMALISMS, error=ModelError)
    module = importlib.import_module(f"dalembert.symbolic.formalisms.{FORMALISMS[plain]}")
    function: Callable[[System], Derivation] = getattr(module, plain)
    return function


# -- equations that exist already --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EquationsMotion(SystemMotion):
    """The motion that equations of motion describe; expressions are those of the equations."""

    eqs: EquationsOfMotion | None = None
    arguments: Any = None  # a column of symbols per argument of the functions of the equations

    def evaluate(self, function: str) -> list[Any]:
        """Results of a function of the equations, in the symbols of the system."""
        from dalembert.equations import ARGUMENTS

        assert self.eqs is not None
        symbols = [self.arguments[name] for name in ARGUMENTS[function].split()]
        compiled = self.eqs.functions[function]
        return list(
            (compiled if compiled.class_name() == "SXFunction" else compiled.expand()).call(symbols, True, False)
        )

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        assert self.eqs is not None
        return self.eqs.rows

    @cached_property
    def rates_of_rows(self) -> Any:
        return self.evaluate("rates")[0]

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        A, b = self.evaluate("rows")
        return ca.sparsify(A), ca.densify(b)

    @cached_property
    def kinetic(self) -> Any:
        return self.evaluate("energy")[0]

    @cached_property
    def potential(self) -> Any:
        return self.evaluate("energy")[1]


@dataclass(frozen=True, eq=False, repr=False)
class EquationsDerivation(Derivation):
    """Equations of motion that exist, as a derivation to read: symbols, formulas, text."""

    eqs: EquationsOfMotion | None = None

    def __post_init__(self) -> None:
        """The equations were checked when they were made."""

    @cached_property
    def multipliers(self) -> Any:
        assert isinstance(self.motion, EquationsMotion)
        return self.motion.arguments["lam"]

    @cached_property
    def conserved(self) -> tuple[Conserved, ...]:
        """The energy, where nothing else does work."""
        motion = self.motion
        assert isinstance(motion, EquationsMotion)
        energy = motion.kinetic + motion.potential
        if not motion.evaluate("power")[0].is_zero() or ca.depends_on(energy, self.system.t):
            return ()
        return (Conserved("E", energy, "Energies do not depend on time, and no force or row does work"),)


@equations.register
def equations_of_presentation(derivation: EquationsDerivation) -> EquationsOfMotion:
    """The equations that the derivation shows."""
    assert derivation.eqs is not None
    return derivation.eqs


def derivation_of_equations(eqs: EquationsOfMotion) -> Derivation:
    """Equations of motion as a derivation: the same expressions, in symbols with names."""
    s = System(eqs.name, check_units=False)
    for name, value in zip(eqs.parameters.names, eqs.parameter_values, strict=True):
        s.parameter(name, value)
    drawn = zip(eqs.coordinates.names, eqs.coordinates.units, eqs.state().q, strict=True)
    for name, unit, value in drawn:
        s.coordinate(name, drawn=float(value))
        rate = f"{unit or 1}/s"
        s.units.update({name: unit, f"{name}.rate": rate, f"{name}.acceleration": f"{rate}²"})
    inputs = [_input(s, name, unit) for name, unit in _pairs(eqs.inputs)]
    # internal states and multipliers are symbols to read; their values come from the equations
    internal = [_input(s, name, unit) for name, unit in _pairs(eqs.internal)]
    lam = [SX.sym(f"lambda_{k + 1}") for k in range(len(eqs.rows))]
    if eqs.functions["forces"].jac_sparsity(0, 6).nnz():
        lam = [_input(s, entry.name(), "") for entry in lam]
    q = s.q
    N, n = (ca.sparsify(entry) for entry in eqs.functions["kinematics"](q, s.p, s.t))
    v, vdot, of_rates = _speeds(eqs, s, N)
    arguments = {
        "q": q, "v": v, "z": _column(internal), "u": _column(inputs), "p": s.p, "t": s.t, "lam": _column(lam),
        "a": vdot,
    }  # fmt: skip
    names = tuple(entry.name() for entry in ca.vertsplit(v))
    motion = EquationsMotion(
        s, names, v, vdot, N, ca.densify(n), (), (), (SX(0, 1), SX(0, 1)), of_rates, (), eqs, arguments
    )
    positions, rates = motion.evaluate("position")[0], motion.rates_of_rows
    constraints, holonomic, moving = [], 0, 0
    for row in eqs.rows:
        if row.level == HOLONOMIC:
            constraints.append(Constraint(row.owner, positions[holonomic], HOLONOMIC, row.number))
        elif row.level == VELOCITY:
            constraints.append(Constraint(row.owner, rates[moving], VELOCITY, row.number))
        holonomic += row.level == HOLONOMIC
        moving += row.level in (HOLONOMIC, VELOCITY)
    s.constraints += constraints
    object.__setattr__(motion, "constraints", tuple(constraints))
    (M,), (f,) = motion.evaluate("inertia"), motion.evaluate("forces")
    return EquationsDerivation(AS_BUILT, motion, M, ca.densify(f), _steps(eqs, motion), eqs=eqs)


def _input(s: System, name: str, unit: str) -> Any:
    symbol = s.input(name)
    s.units[name] = unit
    return symbol


def _pairs(channels: Any) -> list[tuple[str, str]]:
    return list(zip(channels.names, channels.units, strict=True))


def _column(symbols: list[Any]) -> Any:
    return ca.vertcat(SX(0, 1), *symbols)


def _speeds(eqs: EquationsOfMotion, s: System, N: Any) -> tuple[Any, Any, Any]:
    """Symbols of v and v̇, and v as an expression of the rates.

    A speed that is the rate of a coordinate is its symbol; components of an angular velocity ω = 4 Nᵀ ė are symbols of
    their own.
    """
    turning = {column: block for block in eqs.quaternions for column in block.columns}
    pattern = N.sparsity()
    owners: dict[int, list[int]] = {}
    for row, column in zip(pattern.row(), pattern.get_col(), strict=True):
        if ca.is_equal(N[row, column], SX(1)) and N[row, :].nnz() == 1:
            owners.setdefault(column, []).append(row)
    v, vdot, of_rates = [], [], []
    for k, (name, unit) in enumerate(_pairs(eqs.speeds)):
        if k in owners:
            coordinate = s.coordinate_names[owners[k][0]]
            v.append(s.symbols[f"{coordinate}.rate"])
            vdot.append(s.symbols[f"{coordinate}.acceleration"])
            of_rates.append(v[-1])
            continue
        block = turning.get(k)
        if block is None:
            raise ModelError("not-supported", f"speed {name!r} is the rate of no coordinate.", where={"speed": name})
        value = 4 * ca.dot(N[block.part, k], s.rates[block.part])
        v.append(s.speed(name, value))
        s.units.update({name: unit, f"{name}.rate": f"{unit}²"})
        vdot.append(s.symbols[f"{name}.rate"])
        of_rates.append(value)
    return _column(v), _column(vdot), _column(of_rates)


def _steps(eqs: EquationsOfMotion, motion: EquationsMotion) -> tuple[Step, ...]:
    steps = [
        Step("Kinetic energy", "Of all bodies.", terms=(("T", motion.kinetic),)),
        Step("Potential energy", "Of weight and everything elastic.", terms=(("V", motion.potential),)),
    ]
    if not (motion.N.is_eye() and motion.n.is_zero()):
        steps.append(
            Step("Kinematics", "Rates of the coordinates from the speeds.", "\\dot{q} = N v", (("N", motion.N),))
        )
    if len(eqs.holonomic_rows):
        phi = motion.evaluate("position")[0]
        sentence = f"Of {_owners(eqs, HOLONOMIC)}; zero where the joints are closed."
        steps.append(Step("Constraints", sentence, "\\varphi(q, t) = 0", (("\\varphi", phi),)))
    if any(row.level == VELOCITY for row in eqs.rows):
        places = [k for k, row in enumerate(eqs.rows[j] for j in eqs.rate_rows) if row.level == VELOCITY]
        sentence = f"Of {_owners(eqs, VELOCITY)}."
        steps.append(
            Step("Constraints of velocities", sentence, "c(q, v, t) = 0", (("c", motion.rates_of_rows[places]),))
        )
    if eqs.nz:
        states = ", ".join(eqs.internal.names)
        steps.append(
            Step("Internal states", f"Rates of {states}.", "\\dot{z} = g", (("g", motion.evaluate("internal")[0]),))
        )
    return tuple(steps)


def _owners(eqs: EquationsOfMotion, level: str) -> str:
    return ", ".join(dict.fromkeys(row.owner for row in eqs.rows if row.level == level))
