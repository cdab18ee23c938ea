"""Equations of motion from expressions: one constructor for everything that is written by hand or derived.

    q̇ = N v + n ,   M v̇ = f + Aᵀ λ ,   φ(q,t) = 0 ,   c(q,v,t) = 0 ,   h(q,v,v̇,z,u,t) = D v̇ - d = 0 ,   ż = g

The symbols are CasADi scalars (SX) and their names are the names of the channels. A and b follow from φ, c and h:

    A = [φ_q N ; c_v ; h_v̇] ,   b = [-d(φ̇)/dt ; -dc/dt ; -h]   at v̇ = 0

and `equations.functions` derives rates, measures, energy and power. A model that names points has a scene: its points
and the lines between them are drawn as one body whose places are channels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError, require_name
from dalembert.equations.channels import ACCELERATION, HOLONOMIC, VELOCITY, Channels, Row
from dalembert.equations.equations_of_motion import EquationsOfMotion
from dalembert.equations.functions import ARGUMENTS
from dalembert.equations.placement import Placement
from dalembert.equations.scene import ORIGIN, Scene, SceneBody, SceneFlexible

SX = ca.SX
DRAWING = "drawing"  # the body that carries the points and lines of a picture


def equations_from_expressions(
    name: str,
    *,
    q: Any = (),
    v: Any = (),
    M: Any = None,
    f: Any = None,
    z: Any = (),
    u: Any = (),
    p: Any = (),
    t: Any = None,
    a: Any = (),
    lam: Any = (),
    N: Any = None,
    n: Any = None,
    phi: Mapping[str, Any] | None = None,
    c: Mapping[str, Any] | None = None,
    h: Mapping[str, Any] | None = None,
    g: Any = None,
    outputs: Mapping[str, Any] | None = None,
    kinetic: Any = None,
    potential: Any = None,
    power: Any = None,
    measures: Mapping[str, Any] | None = None,
    points: Mapping[str, Sequence[Any]] | None = None,
    lines: Iterable[Sequence[str]] = (),
    parameter_values: Mapping[str, float] | None = None,
    units: Mapping[str, str] | None = None,
    drawn: Mapping[str, float] | None = None,
    **fields: Any,
) -> EquationsOfMotion:
    """Equations of motion of expressions of (q, v, z, u, p, t).

    Parameters
    ----------
    name : of the model.
    q, v, z, u, p : symbols, a column or a list of SX scalars; their names are those of the channels.
    t : symbol of time.
    a, lam : symbols of v̇ and λ, where outputs, forces or rows ``h`` depend on them.
    M, f : (nv, nv) mass matrix of (q,p,t); (nv,) forces of (q,v,z,u,p,t,λ). M may be full, and singular where rows hold
        what it leaves free.
    N, n : of q̇ = N v + n; q̇ = v where left out.
    phi, c, h : rows by name: position level of (q,p,t), velocity level of (q,v,p,t), acceleration level of
        (q,v,a,z,u,p,t), affine in a. Each is zero on the motion; a column is as many rows with one name.
        Their order in λ: all of phi, then of c, then of h.
    g : (nz,) ż of (q,v,z,u,p,t,λ).
    outputs : by name, of (q,v,a,λ,z,u,p,t).
    kinetic, potential : energies of (q,v,z,p,t); ½ vᵀ M v and 0 where left out.
    power : of everything that ``potential`` does not hold, of (q,v,z,u,p,t,λ); derived where left out, for a kinetic
        energy with ∂T/∂v = M v.
    measures : named quantities of (q,p,t), recorded with their rates; every coordinate where left out.
    points, lines : places to draw, two or three coordinates of (q,p,t) each, and pairs (or longer chains) of points.
    parameter_values : value of every parameter.
    units : unit of any name.
    drawn : values of coordinates and internal states in the pose as drawn; zero where left out.
    fields : further fields of `EquationsOfMotion`.

    Examples
    --------
    >>> q, v, t = ca.SX.sym("angle"), ca.SX.sym("rate"), ca.SX.sym("t")
    >>> equations_from_expressions("pendulum", q=[q], v=[v], t=t, M=1.0, f=-9.81 * ca.sin(q), units={"angle": "rad"})
    EquationsOfMotion('pendulum': 1 coordinates, 1 speeds, 0 constraint rows, 0 internal states, 0 inputs, 0 outputs)
    """
    units = dict(units or {})
    s = {key: _symbols(key, column) for key, column in (("q", q), ("v", v), ("z", z), ("u", u), ("p", p))}
    s["t"] = SX.sym("t") if t is None else t
    nv = s["v"].shape[0]
    s["a"] = _symbols("a", a) if _count(a) else SX.sym("a", nv)
    _refuse_repeated(s, name)
    if s["a"].shape[0] != nv:
        raise ModelError("wrong-shape", f"{s['a'].shape[0]} symbols of accelerations for {nv} speeds.")

    rows, blocks = _rows(phi or {}, c or {}, h or {})
    s["lam"] = _symbols("lam", lam) if _count(lam) else SX.sym("lam", len(rows))
    if s["lam"].shape[0] != len(rows):
        raise ModelError("wrong-shape", f"{s['lam'].shape[0]} symbols of multipliers for {len(rows)} constraint rows.")

    places, picture = _picture(points or {}, lines)
    quantities = dict(measures or {})
    if places and not quantities:
        quantities = {symbol.name(): symbol for symbol in ca.vertsplit(s["q"])} if s["q"].shape[0] else {}
    quantities |= places
    units = {**{label: "m" for label in places if label[-2:] in (".x", ".y", ".z")}, **units}

    make = _Maker(name, s)
    entries: dict[str, list[Any]] = {}
    if N is not None or n is not None:
        entries["kinematics"] = [SX.eye(nv) if N is None else N, SX.zeros(s["q"].shape[0]) if n is None else n]
    if M is not None:
        entries["inertia"] = [M]
    if f is not None:
        entries["forces"] = [ca.densify(_column(f))]
    if blocks[HOLONOMIC].shape[0]:
        entries["position"] = [blocks[HOLONOMIC]]
    if blocks[VELOCITY].shape[0] or blocks[ACCELERATION].shape[0]:
        rate = make.rates(entries.get("kinematics"))
        rates = ca.vertcat(rate(blocks[HOLONOMIC]), blocks[VELOCITY])
        entries["rates"] = [rates]
        accelerations = blocks[ACCELERATION]
        D = ca.jacobian(accelerations, s["a"])
        _refuse_nonlinear(D, s["a"], rows, name)
        at_rest = ca.substitute(accelerations, s["a"], SX.zeros(nv))
        entries["rows"] = [ca.vertcat(ca.jacobian(rates, s["v"]), D), ca.vertcat(-rate(rates), -at_rest)]
    if g is not None:
        entries["internal"] = [ca.densify(_column(g))]
    if outputs:
        entries["outputs"] = [ca.vertcat(*map(SX, outputs.values()))]
    if kinetic is not None or potential is not None:
        moving = 0.5 * ca.bilin(SX(M), s["v"], s["v"]) if kinetic is None and SX(M).shape == (nv, nv) else kinetic
        entries["energy"] = [SX(0 if moving is None else moving), SX(0 if potential is None else potential)]
    if power is not None:
        entries["power"] = [SX(power)]
    if quantities:
        entries["measures"] = [ca.vertcat(*map(SX, quantities.values()))]
    nq, nz = s["q"].shape[0], s["z"].shape[0]
    expected = {"kinematics": [(nq, nv), (nq, 1)], "inertia": [(nv, nv)], "forces": [(nv, 1)], "internal": [(nz, 1)],
                "energy": [(1, 1), (1, 1)], "power": [(1, 1)]}  # fmt: skip
    for key, shapes in expected.items():
        shapes_ = [SX(value).shape for value in entries.get(key, ())]
        problem = f"{key!r} of equations {name!r} has the shape {shapes_}, expected {shapes}."
        ModelError.when(shapes_ and shapes_ != shapes, "wrong-shape", problem, where={"function": key})
    functions = {key: make.function(key, values) for key, values in entries.items()}

    def channels(names: Iterable[str]) -> Channels:
        listed = list(names)
        return Channels(listed, [units.get(name_, "") for name_ in listed])

    columns = {key: channels(_names(s[key])) for key in ("q", "v", "z", "u", "p")}
    fields.setdefault("placement", _placement(drawn or {}, columns, name))
    if picture is not None:
        fields.setdefault("scene", picture)
    return EquationsOfMotion(
        name=name, functions=functions, coordinates=columns["q"], speeds=columns["v"], internal=columns["z"],
        inputs=columns["u"], parameters=columns["p"], rows=rows, outputs=channels(outputs or ()),
        parameter_values=_values(columns["p"].names, parameter_values or {}, name),
        measures=channels(quantities), **fields,
    )  # fmt: skip


@dataclass(frozen=True)
class _Maker:
    """Functions of the equations in given symbols."""

    name: str
    s: Mapping[str, Any]

    def function(self, key: str, values: Sequence[Any]) -> ca.Function:
        """One function of `equations.functions`; a symbol that is none of its arguments is an error with its name."""
        parts = ARGUMENTS[key].split()
        arguments = [self.s[item] for item in parts]
        results = [SX(value) for value in values]
        allowed = {symbol.element_hash() for item in arguments for symbol in ca.vertsplit(item)}
        for value in results:
            for symbol in ca.symvar(value):
                if symbol.element_hash() not in allowed:
                    self._refuse(key, parts, symbol)
        return ca.Function(key, arguments, results, {"cse": True})

    def _refuse(self, key: str, parts: Sequence[str], symbol: Any) -> None:
        name_ = symbol.name()
        groups = [
            group for group, column in self.s.items() if any(ca.is_equal(symbol, x) for x in ca.vertsplit(column))
        ]
        same = any(name_ in _names(self.s[group]) for group in parts)
        reason = f"; it is one of {groups[0]}" if groups else "; another symbol has this name" if same else ""
        raise ModelError(
            "foreign-symbol",
            f"{key!r} of equations {self.name!r} depends on {name_!r}, which is none of ({', '.join(parts)}){reason}.",
            where={"function": key, "symbol": name_},
        )

    def rates(self, kinematics: Sequence[Any] | None) -> Any:
        """Time derivative of an expression of (q, v, t) at v̇ = 0, as a function."""
        q, v, t = self.s["q"], self.s["v"], self.s["t"]
        if kinematics is None and q.shape[0] != v.shape[0]:
            problem = (
                f"equations {self.name!r} have {q.shape[0]} coordinates and {v.shape[0]} speeds, but no N of q̇ = N v."
            )
            raise ModelError("missing-argument", problem)
        qdot = v if kinematics is None else SX(kinematics[0]) @ v + SX(kinematics[1])
        return lambda value: ca.jtimes(value, q, qdot) + ca.jacobian(value, t)


def _rows(phi: Mapping[str, Any], c: Mapping[str, Any], h: Mapping[str, Any]) -> tuple[tuple[Row, ...], dict[str, Any]]:
    rows: list[Row] = []
    blocks: dict[str, Any] = {}
    for level, named in ((HOLONOMIC, phi), (VELOCITY, c), (ACCELERATION, h)):
        columns = [_column(value) for value in named.values()]
        for owner, column in zip(named, columns, strict=True):
            rows += [Row(owner, level, k) for k in range(column.shape[0])]
        blocks[level] = ca.vertcat(SX(0, 1), *columns)
    return tuple(rows), blocks


def _refuse_nonlinear(D: Any, a: Any, rows: Sequence[Row], name: str) -> None:
    rows_ = [row for row in rows if row.level == ACCELERATION]
    for k, row in enumerate(rows_):
        problem = f"row {row.owner!r} of equations {name!r} is not affine in the accelerations."
        ModelError.when(ca.depends_on(D[k, :], a), "not-affine", problem, where={"row": row.owner})


def _symbols(key: str, given: Any) -> Any:
    """A column of symbols."""
    column = SX(0, 1) if _count(given) == 0 else _column(given)
    for k, symbol in enumerate(ca.vertsplit(column)):
        problem = f"{key}[{k}] is {symbol}; it must be a symbol."
        ModelError.when(not symbol.is_symbolic(), "wrong-type", problem, where={"argument": key})
    return column


def _count(given: Any) -> int:
    return int(given.numel()) if isinstance(given, (SX, ca.DM)) else len(given)


def _names(column: Any) -> list[str]:
    return [symbol.name() for symbol in ca.vertsplit(column)] if column.shape[0] else []


def _column(value: Any) -> Any:
    """A column of expressions, from one, a list or a column."""
    if isinstance(value, (list, tuple)):
        return ca.vertcat(SX(0, 1), *map(SX, value))
    matrix = SX(value)
    return ca.vec(matrix) if 1 in matrix.shape else matrix


def _refuse_repeated(groups: Mapping[str, Any], name: str) -> None:
    """Names are unique in their group, symbols in all."""
    for column in groups.values():
        for hash_, count in Counter(_names(column)).items():
            problem = f"two symbols of equations {name!r} have the name {hash_!r}."
            ModelError.when(count > 1, "taken-name", problem, where={"symbol": hash_})
    every = ca.vertsplit(ca.vertcat(*groups.values()))
    for hash_, count in Counter(symbol.element_hash() for symbol in every).items():
        if count > 1:
            twice = next(symbol.name() for symbol in every if symbol.element_hash() == hash_)
            problem = f"symbol {twice!r} of equations {name!r} is given in two places."
            raise ModelError("taken-name", problem, where={"symbol": twice})


def _values(names: Sequence[str], given: Mapping[str, float], name: str) -> tuple[float, ...]:
    for label in given:
        require_name("parameter", label, names, f"equations {name!r}", error=ModelError)
    missing = [label for label in names if label not in given]
    if missing:
        raise ModelError(
            "missing-argument", f"parameter {missing[0]!r} of equations {name!r} has no value.",
            where={"parameter": missing[0]},
        )  # fmt: skip
    return tuple(float(given[label]) for label in names)


def _placement(drawn: Mapping[str, float], columns: Mapping[str, Channels], name: str) -> Placement:
    names = (*columns["q"].names, *columns["z"].names)
    for target in drawn:
        require_name("coordinate or internal state", target, names, f"equations {name!r}", error=ModelError)
    q, z = (tuple(float(drawn.get(label, 0.0)) for label in columns[key].names) for key in ("q", "z"))
    return Placement(q=q if any(label in drawn for label in columns["q"].names) else (), z=z)


def _picture(
    points: Mapping[str, Sequence[Any]], lines: Iterable[Sequence[str]]
) -> tuple[dict[str, Any], Scene | None]:
    """Channels of the places of all points, and the scene that draws them."""
    chains = [tuple(chain) for chain in lines]
    for chain in chains:
        for point in chain:
            require_name("point", point, points, "the lines to draw", error=ModelError)
    if not points:
        return {}, None
    sizes = {point: len(_entries(place)) for point, place in points.items()}
    planar = max(sizes.values()) == 2
    for point, size in sizes.items():
        if size not in (2, 3) or (size == 2) != planar:
            expected = "two" if planar else "three"
            raise ModelError("wrong-shape", f"point {point!r} has {size} coordinates, expected {expected}.")
    axes = "xy" if planar else "xyz"
    places = {f"{point}.{axis}": x for point, place in points.items() for axis, x in zip(axes, _entries(place))}
    order = {point: k for k, point in enumerate(points)}
    modes = [
        [float(i == 3 * order[point] + j) for i in range(3 * len(points))] for point in points for j in range(len(axes))
    ]
    still = [
        f"{DRAWING}.{label}" for label in (("x", "y", "angle") if planar else ("x", "y", "z", "e0", "e1", "e2", "e3"))
    ]
    body = SceneBody(
        DRAWING, pose=tuple(still),
        flexible=SceneFlexible(
            coordinates=tuple(places), points=(ORIGIN,) * len(points), modes=tuple(map(tuple, modes)),
            lines=tuple((order[start], order[two]) for chain in chains for start, two in pairwise(chain)),
        ),
    )  # fmt: skip
    places |= {label: SX(float(label.endswith("e0"))) for label in still}
    return places, Scene(planar=planar, bodies=(body,))


def _entries(place: Any) -> list[Any]:
    return list(ca.vertsplit(place)) if isinstance(place, (SX, ca.DM)) else list(place)
