"""The functions of equations of motion: their arguments and shapes, and those that follow from others.

A producer gives inertia and forces, and further functions that its machine has. Missing functions are derived:

    q̇ = v (as many speeds as coordinates) ,   φ̇ = φ_q q̇ + φ_t ,   A = ∂φ̇/∂v ,   b = -(φ̇_q q̇ + φ̇_t) ,
    s = q ,   ṡ = s_q q̇ + s_t ,   T = ½ vᵀ M v ,   V = 0 ,   P = E_q q̇ + E_t + E_z ż + vᵀ (f + Aᵀ λ)   with E = T + V

P is the power of everything that V does not hold; with M(q) its term E_q q̇ cancels the Coriolis forces in f.
A producer of large machines may give the ``tangent`` K, D: what matters of -∂f/∂ξ (dq = N dξ) and -∂f/∂v to implicit
steps, whose iteration corrects the rest. Without it they differentiate everything. Where it knows a shorter way than M
and f, it gives the ``balance`` M v̇ - f - Aᵀλ, φ, φ̇, A v̇ - b of these steps; where its functions call others that many
bodies share, their ``matrices`` M, A too, and the steps call as well.
A producer with a faster algorithm than a factor of M gives ``mass_solve``: M⁻¹ a. It is used where there are no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca

from dalembert.core.errors import ModelError, require_name
from dalembert.equations.channels import ACCELERATION, HOLONOMIC, Channels
from dalembert.record.units import per_second

if TYPE_CHECKING:
    from dalembert.equations.equations_of_motion import EquationsOfMotion

SX = ca.SX
Functions = Mapping[str, ca.Function]
ARGUMENTS = {  # of every function of the equations, in order
    "kinematics": "q p t",
    "inertia": "q p t",
    "forces": "q v z u p t lam",
    "position": "q p t",
    "rates": "q v p t",
    "rows": "q v z u p t",
    "internal": "q v z u p t lam",
    "outputs": "q v a lam z u p t",
    "energy": "q v z p t",
    "power": "q v z u p t lam",
    "measures": "q v p t",
    "reactions": "q v a lam z u p t",
    "joint_axes": "q p t",
    "remainder": "q v u p t",
    "friction": "q v p t lam",
    "spins": "q p t",
    "tangent": "q v z u p t",
    "balance": "q v a lam z u p t",
    "matrices": "q v z u p t",
    "assumptions": "q v p t",
    "load_assumptions": "q v reactions z u p t",
    "mass_solve": "q p t a",
}


class LazyFunctions(Mapping[str, ca.Function]):
    """Functions by name; some are built when they are first read."""

    def __init__(self, made: Functions, later: Mapping[str, Callable[[], ca.Function]]) -> None:
        self._made, self._later = dict(made), dict(later)

    def __getitem__(self, name: str) -> ca.Function:
        if name not in self._made:
            self._made[name] = self._later[name]()
            self._later.pop(name, None)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._later

    def __iter__(self) -> Iterator[str]:
        return iter((*self._made, *self._later))

    def __len__(self) -> int:
        return len(self._made) + len(self._later)

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyFunctions, ({name: self[name] for name in list(self)}, {})


class FunctionSource(Protocol):
    """Builds further functions of a machine at their first use; picklable.  bodies : names of those it moves."""

    @property
    def bodies(self) -> tuple[str, ...]: ...

    def load(self, place: Any) -> FunctionSource: ...

    def function(self, name: str, *choices: Any) -> ca.Function: ...


@dataclass(frozen=True)
class Symbols:
    """New symbols of every argument."""

    q: Any
    v: Any
    z: Any
    u: Any
    p: Any
    t: Any
    lam: Any
    a: Any

    def arguments(self, name: str) -> list[Any]:
        """The arguments of a function of the equations, in order."""
        return [getattr(self, name_) for name_ in ARGUMENTS[name].split()]


def complete(eqs: EquationsOfMotion) -> LazyFunctions:
    """Every function of the equations: those of the producer, checked, and those that follow from them."""
    functions = eqs.functions
    declared, later = (
        (functions._made, functions._later) if isinstance(functions, LazyFunctions) else (dict(functions), {})
    )
    declared, later = dict(declared), dict(later)
    for name in (*declared, *later):
        require_name("function", name, ARGUMENTS, f"equations {eqs.name!r}", error=ModelError)
    _check_arguments(eqs, declared)
    missing = [
        name for name in _NEEDED
        if name not in later and (name not in declared or (name == "measures" and declared[name].n_out() == 1))
    ]  # fmt: skip
    if missing:
        s = eqs.symbols()
        for name in missing:
            declared[name] = ca.Function(name, s.arguments(name), _NEEDED[name](eqs, declared, s), {"cse": True})
    _check_shapes(eqs, declared)
    return LazyFunctions(declared, later)


def default_measures(eqs: EquationsOfMotion) -> tuple[Channels, Channels]:
    """Every coordinate but Euler parameters and counters is a measure; its rate is a speed where q̇ = v in its row."""
    places = measured_coordinates(eqs)
    single: dict[int, int] = {}
    if "kinematics" in eqs.functions:
        N = eqs.functions["kinematics"].sparsity_out(0)
        columns: dict[int, list[int]] = {}
        for row, column in zip(N.row(), N.get_col(), strict=True):
            columns.setdefault(row, []).append(column)
        s = eqs.symbols()
        values = eqs.functions["kinematics"](s.q, s.p, s.t)
        single = {
            k: column[0] for k, column in columns.items()
            if len(column) == 1 and ca.is_equal(values[0][k, column[0]], SX(1)) and values[1][k].is_zero()
        }  # fmt: skip
    else:
        single = {k: k for k in places}
    names, units = eqs.coordinates.names, eqs.coordinates.units
    measures = Channels(*([column[k] for k in places] for column in (names, units, eqs.coordinates.owners)))
    rates = Channels(
        [eqs.speeds.names[single[k]] if k in single else f"{names[k]}.rate" for k in places],
        [eqs.speeds.units[single[k]] if k in single else per_second(units[k] or "1") for k in places],
    )
    return measures, rates


def measured_coordinates(eqs: EquationsOfMotion) -> list[int]:
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    inner |= {counter.coordinate for counter in eqs.counters}
    return [k for k, name in enumerate(eqs.coordinates.names) if k not in inner and name not in eqs.unrecorded]


def _require(eqs: EquationsOfMotion, name: str, what: str) -> ModelError:
    return ModelError(
        "missing-argument", f"equations {eqs.name!r} have {what}, but no function {name!r} of ({ARGUMENTS[name]}).",
        where={"function": name},
    )  # fmt: skip


def _rate(given: Functions, s: Symbols, value: object) -> Any:
    """Time derivative of an expression of (q, v, t) at v̇ = 0."""
    N, n = given["kinematics"](s.q, s.p, s.t)
    return ca.jtimes(value, s.q, N @ s.v + n) + ca.jacobian(value, s.t)


def _kinematics(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    if eqs.nq != eqs.nv:
        raise _require(eqs, "kinematics", f"{eqs.nq} coordinates and {eqs.nv} speeds")
    return [SX.eye(eqs.nq), SX.zeros(eqs.nq)]


def _rates(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    if any(row.level not in (HOLONOMIC, ACCELERATION) for row in eqs.rows):
        raise _require(eqs, "rates", "rows at velocity level")
    return [_rate(given, s, given["position"](s.q, s.p, s.t))]


def _rows(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    if any(row.level == ACCELERATION for row in eqs.rows):
        raise _require(eqs, "rows", "rows at acceleration level")
    rates = given["rates"](s.q, s.v, s.p, s.t)
    return [ca.jacobian(rates, s.v), -_rate(given, s, rates)]


def _measures(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    """s, ṡ, S and bias; of measures given by their values alone, or of the coordinates."""
    values = given["measures"](s.q, s.v, s.p, s.t) if "measures" in given else s.q[measured_coordinates(eqs)]
    N, _ = given["kinematics"](s.q, s.p, s.t)
    rates = _rate(given, s, values)
    return [values, rates, ca.jacobian(values, s.q) @ N, _rate(given, s, rates)]


def _energy(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    return [0.5 * ca.dot(s.v, given["inertia"](s.q, s.p, s.t) @ s.v), SX(0)]


def _power(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
    energy = sum(given["energy"](s.q, s.v, s.z, s.p, s.t), SX(0))
    A, _ = given["rows"](*s.arguments("rows"))
    efforts = given["forces"](*s.arguments("forces")) + A.T @ s.lam
    inner = ca.jtimes(energy, s.z, given["internal"](*s.arguments("internal"))) if eqs.nz else 0
    return [_rate(given, s, energy) + ca.dot(s.v, efforts) + inner]


def _make_empty(
    name: str, count: Callable[[EquationsOfMotion], int], what: str, shape: tuple[int, int] = (0, 1)
) -> Any:
    """A function without results, where the equations have none of ``what``; else the producer must give it."""

    def derive(eqs: EquationsOfMotion, given: Functions, s: Symbols) -> list[Any]:
        if count(eqs):
            raise _require(eqs, name, f"{count(eqs)} {what}")
        return [SX(*shape)]

    return derive


_NEEDED: dict[str, Callable[[EquationsOfMotion, Functions, Symbols], list[Any]]] = {
    # in an order in which each may use the previous ones
    "kinematics": _kinematics,
    "inertia": _make_empty("inertia", lambda eqs: eqs.nv, "speeds", (0, 0)),
    "forces": _make_empty("forces", lambda eqs: eqs.nv, "speeds"),
    "position": _make_empty("position", lambda eqs: len(eqs.holonomic_rows), "holonomic rows"),
    "rates": _rates,
    "rows": _rows,
    "internal": _make_empty("internal", lambda eqs: eqs.nz, "internal states"),
    "outputs": _make_empty("outputs", lambda eqs: eqs.ny, "outputs"),
    "energy": _energy,
    "power": _power,
    "measures": _measures,
    "reactions": lambda *_: [SX(0, 1)],
    "joint_axes": lambda *_: [SX(3, 0)],
}


def _check_arguments(eqs: EquationsOfMotion, given: Functions) -> None:
    """Every argument has the size that the names of the equations give."""
    sizes = {"q": eqs.nq, "v": eqs.nv, "a": eqs.nv, "z": eqs.nz, "u": eqs.nu, "p": len(eqs.parameters), "t": 1}
    sizes |= {"lam": len(eqs.rows), "reactions": len(eqs.reaction_channels)}
    for name, function in given.items():
        counts = [function.numel_in(k) for k in range(function.n_in())]
        wanted = [sizes[argument] for argument in ARGUMENTS[name].split()]
        if counts != wanted:
            raise ModelError(
                "wrong-shape", f"function {name!r} of equations {eqs.name!r} takes {counts} numbers; "
                f"({ARGUMENTS[name]}) have {wanted}.", where={"function": name},
            )  # fmt: skip


def _check_shapes(eqs: EquationsOfMotion, given: Functions) -> None:
    """Every result has the shape that the names of the equations give."""
    nv, rows = eqs.nv, len(eqs.rows)
    measured = len(eqs.measures)
    shapes: dict[str, tuple[tuple[int, int], ...]] = {
        "kinematics": ((eqs.nq, nv), (eqs.nq, 1)), "inertia": ((nv, nv),), "forces": ((nv, 1),),
        "position": ((len(eqs.holonomic_rows), 1),), "rates": ((len(eqs.rate_rows), 1),),
        "rows": ((rows, nv), (rows, 1)), "internal": ((eqs.nz, 1),), "outputs": ((eqs.ny, 1),),
        "energy": ((1, 1), (1, 1)), "power": ((1, 1),),
        "measures": ((measured, 1), (measured, 1), (measured, nv), (measured, 1)),
        "reactions": ((len(eqs.reaction_channels), 1),), "tangent": ((nv, nv), (nv, nv)),
        "assumptions": ((len(eqs.assumptions), 1),), "load_assumptions": ((len(eqs.load_assumptions), 1),),
        "mass_solve": ((nv, 1),),
    }  # fmt: skip
    for name, function in given.items():
        shape = tuple(function.size_out(k) for k in range(function.n_out()))
        expected = shapes.get(name, shape)
        if len(shape) != len(expected) or any(
            a != b and a[0] * a[1] + b[0] * b[1] > 0 for a, b in zip(shape, expected, strict=True)
        ):
            raise ModelError(
                "wrong-shape", f"function {name!r} of equations {eqs.name!r} gives {list(shape)}, expected "
                f"{list(expected)}.", where={"function": name},
            )  # fmt: skip
