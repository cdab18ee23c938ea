"""The functions of equations of motion: their arguments and shapes, and those that follow from others.

A producer gives inertia and forces, and of the rest what its machine has. What it leaves out is derived:

    q̇ = v (as many speeds as coordinates) ,   φ̇ = φ_q q̇ + φ_t ,   A = ∂φ̇/∂v ,   b = -(φ̇_q q̇ + φ̇_t) ,
    s = q ,   ṡ = s_q q̇ + s_t ,   T = ½ vᵀ M v ,   V = 0 ,   P = E_q q̇ + E_t + E_z ż + vᵀ (f + Aᵀ λ)   with E = T + V

P is the power of everything that V does not hold; with M(q) its term E_q q̇ cancels the Coriolis forces in f.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.errors import ModelError, unknown_name
from dalembert.equations.channels import ACCELERATION, HOLONOMIC, Channels

if TYPE_CHECKING:
    from dalembert.equations.equations_of_motion import EquationsOfMotion

SX = ca.SX
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
    "reactions": "q v lam p t",
    "joint_axes": "q p t",
    "remainder": "q v u p t",
    "friction": "q v p t lam",
    "spins": "q p t",
}


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
        return [getattr(self, part) for part in ARGUMENTS[name].split()]


def complete(eqs: EquationsOfMotion) -> dict[str, ca.Function]:
    """Every function of the equations: those of the producer, checked, and those that follow from them."""
    given = dict(eqs.functions)
    for name in given:
        if name not in ARGUMENTS:
            raise ModelError("unknown-name", unknown_name("function", name, ARGUMENTS, f"equations {eqs.name!r}"))
    _check_arguments(eqs, given)
    missing = [name for name in _NEEDED if name not in given]
    if missing:
        s = eqs.symbols()
        for name in missing:
            parts = _NEEDED[name](eqs, given, s)
            given[name] = ca.Function(name, s.arguments(name), parts, {"cse": True})
    if given["measures"].n_out() == 1:
        given["measures"] = _derive_measures(given)
    _check_shapes(eqs, given)
    return given


def _derive_measures(given: Mapping[str, ca.Function]) -> ca.Function:
    """s, ṡ, S and bias of measures given by their values alone."""
    q, v, p, t = (SX.sym(name, given["measures"].numel_in(k)) for k, name in enumerate("qvpt"))
    value = given["measures"](q, v, p, t)
    N, n = given["kinematics"](q, p, t)
    rate = ca.jtimes(value, q, N @ v + n) + ca.jacobian(value, t)
    bias = ca.jtimes(rate, q, N @ v + n) + ca.jacobian(rate, t)
    return ca.Function("measures", [q, v, p, t], [value, rate, ca.jacobian(value, q) @ N, bias], {"cse": True})


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
            k: own[0] for k, own in columns.items()
            if len(own) == 1 and ca.is_equal(values[0][k, own[0]], SX(1)) and values[1][k].is_zero()
        }  # fmt: skip
    else:
        single = {k: k for k in places}
    names, units = eqs.coordinates.names, eqs.coordinates.units
    measures = Channels([names[k] for k in places], [units[k] for k in places])
    rates = Channels(
        [eqs.speeds.names[single[k]] if k in single else f"{names[k]}.rate" for k in places],
        [eqs.speeds.units[single[k]] if k in single else f"{units[k] or 1}/s" for k in places],
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


def _rate(given: Mapping[str, ca.Function], s: Symbols, value: object) -> Any:
    """Time derivative of an expression of (q, v, t) at v̇ = 0."""
    N, n = given["kinematics"](s.q, s.p, s.t)
    return ca.jtimes(value, s.q, N @ s.v + n) + ca.jacobian(value, s.t)


def _kinematics(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.nq != eqs.nv:
        raise _require(eqs, "kinematics", f"{eqs.nq} coordinates and {eqs.nv} speeds")
    return [SX.eye(eqs.nq), SX.zeros(eqs.nq)]


def _inertia(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.nv:
        raise _require(eqs, "inertia", f"{eqs.nv} speeds")
    return [SX(0, 0)]


def _forces(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.nv:
        raise _require(eqs, "forces", f"{eqs.nv} speeds")
    return [SX(0, 1)]


def _position(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.holonomic_rows:
        raise _require(eqs, "position", f"{len(eqs.holonomic_rows)} holonomic rows")
    return [SX(0, 1)]


def _rates(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if any(row.level not in (HOLONOMIC, ACCELERATION) for row in eqs.rows):
        raise _require(eqs, "rates", "rows at velocity level")
    return [_rate(given, s, given["position"](s.q, s.p, s.t))]


def _rows(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if any(row.level == ACCELERATION for row in eqs.rows):
        raise _require(eqs, "rows", "rows at acceleration level")
    rates = given["rates"](s.q, s.v, s.p, s.t)
    return [ca.jacobian(rates, s.v), -_rate(given, s, rates)]


def _internal(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.nz:
        raise _require(eqs, "internal", f"{eqs.nz} internal states")
    return [SX(0, 1)]


def _outputs(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    if eqs.ny:
        raise _require(eqs, "outputs", f"{eqs.ny} outputs")
    return [SX(0, 1)]


def _measures(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    places = measured_coordinates(eqs)
    N, n = given["kinematics"](s.q, s.p, s.t)
    rates = (N @ s.v + n)[places]
    return [s.q[places], rates, N[places, :], _rate(given, s, rates)]


def _energy(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    return [0.5 * ca.dot(s.v, given["inertia"](s.q, s.p, s.t) @ s.v), SX(0)]


def _power(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    energy = sum(given["energy"](s.q, s.v, s.z, s.p, s.t), SX(0))
    A, _ = given["rows"](*s.arguments("rows"))
    efforts = given["forces"](*s.arguments("forces")) + A.T @ s.lam
    inner = ca.jtimes(energy, s.z, given["internal"](*s.arguments("internal"))) if eqs.nz else 0
    return [_rate(given, s, energy) + ca.dot(s.v, efforts) + inner]


def _nothing(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    return [SX(0, 1)]


def _no_axes(eqs: EquationsOfMotion, given: Mapping[str, ca.Function], s: Symbols) -> list[Any]:
    return [SX(3, 0)]


_NEEDED = {  # in the order in which each may stand on those before it
    "kinematics": _kinematics, "inertia": _inertia, "forces": _forces, "position": _position, "rates": _rates,
    "rows": _rows, "internal": _internal, "outputs": _outputs, "energy": _energy, "power": _power,
    "measures": _measures, "reactions": _nothing, "joint_axes": _no_axes,
}  # fmt: skip


def _check_arguments(eqs: EquationsOfMotion, given: Mapping[str, ca.Function]) -> None:
    """Every argument has the size that the names of the equations give."""
    sizes = {"q": eqs.nq, "v": eqs.nv, "a": eqs.nv, "z": eqs.nz, "u": eqs.nu, "p": len(eqs.parameters), "t": 1}
    sizes["lam"] = len(eqs.rows)
    for name, function in given.items():
        taken = [function.numel_in(k) for k in range(function.n_in())]
        wanted = [sizes[part] for part in ARGUMENTS[name].split()]
        if taken != wanted:
            raise ModelError(
                "wrong-shape", f"function {name!r} of equations {eqs.name!r} takes {taken} numbers; "
                f"({ARGUMENTS[name]}) have {wanted}.", where={"function": name},
            )  # fmt: skip


def _check_shapes(eqs: EquationsOfMotion, given: Mapping[str, ca.Function]) -> None:
    """Every result has the shape that the names of the equations give."""
    nv, rows = eqs.nv, len(eqs.rows)
    measured = len(eqs.measures)
    shapes: dict[str, tuple[tuple[int, int], ...]] = {
        "kinematics": ((eqs.nq, nv), (eqs.nq, 1)), "inertia": ((nv, nv),), "forces": ((nv, 1),),
        "position": ((len(eqs.holonomic_rows), 1),), "rates": ((len(eqs.rate_rows), 1),),
        "rows": ((rows, nv), (rows, 1)), "internal": ((eqs.nz, 1),), "outputs": ((eqs.ny, 1),),
        "energy": ((1, 1), (1, 1)), "power": ((1, 1),),
        "measures": ((measured, 1), (measured, 1), (measured, nv), (measured, 1)),
        "reactions": ((len(eqs.reaction_channels), 1),),
    }  # fmt: skip
    for name, function in given.items():
        found = tuple(function.size_out(k) for k in range(function.n_out()))
        expected = shapes.get(name, found)
        if len(found) != len(expected) or any(
            a != b and a[0] * a[1] + b[0] * b[1] > 0 for a, b in zip(found, expected, strict=True)
        ):
            raise ModelError(
                "wrong-shape", f"function {name!r} of equations {eqs.name!r} gives {list(found)}, expected "
                f"{list(expected)}.", where={"function": name},
            )  # fmt: skip
