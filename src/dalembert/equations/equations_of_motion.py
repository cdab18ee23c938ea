"""Equations of motion: the one type every formulation makes and every solver takes.

    q̇ = N(q,t) v + n(q,t)
    M v̇ = f(q,v,z,u,t,λ) + Aᵀ λ ,   A v̇ = b
    φ(q,t) = 0 ,  c(q,v,t) = 0 ,   ż = g(q,v,z,u,t,λ) ,   y = h(q,v,v̇,λ,z,u,t)

Every row of A is tagged: holonomic (φ), velocity (c) or acceleration level. ``A' λ`` is what the joints do to the
bodies. Parameters p stay symbolic in all of it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.equations.placement import Placement
from dalembert.expressions import Array, Kernel
from dalembert.expressions.quantities import is_real

HOLONOMIC, VELOCITY, ACCELERATION = "holonomic", "velocity", "acceleration"
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
class Row:
    """One constraint row: the joint (or driver, gear, constraint) it belongs to, its level, its number there."""

    owner: str
    level: str
    number: int


@dataclass(frozen=True)
class JointInfo:
    """What solvers and reports need to know of a joint: its rows, and where its reaction stands."""

    name: str
    kind: str
    rows: tuple[int, ...]
    bodies: tuple[str, str]
    reaction: int  # first index in the reactions function, -1 if it has none


@dataclass(frozen=True)
class DryFriction:
    """A joint coordinate with Coulomb friction (or a contact, which has none: measure -1).

    speed : of the regularised law; None where a run has exact stick and slip.
    row, sliding : in the equations of stick and slip, its row and the name of the parameter that says where it slides:
        +1, -1, or 0 where it sticks.
    """

    name: str
    coordinate: str
    measure: int
    unit: str
    speed: float | None
    row: int = -1
    sliding: str = ""


@dataclass(frozen=True)
class QuaternionBlock:
    """Four coordinates that are Euler parameters (scalar first), and three speeds: ω of their owner in its own axes."""

    owner: str
    coordinate: int  # the first of four in q
    speed: int  # the first of three in v

    @property
    def part(self) -> slice:
        """Their part of q."""
        return slice(self.coordinate, self.coordinate + 4)

    @property
    def columns(self) -> tuple[int, int, int]:
        """The places of ω in v."""
        return self.speed, self.speed + 1, self.speed + 2


@dataclass(frozen=True)
class TurnCounter:
    """A coordinate that repeats an angle, so that its whole turns are known where an expression has it up to one."""

    coordinate: int
    measure: int


@dataclass(frozen=True)
class Symbols:
    """Fresh symbols of every argument."""

    q: Any
    v: Any
    z: Any
    u: Any
    p: Any
    t: Any
    lam: Any
    a: Any


class Channels:
    """Names with units, in order."""

    def __init__(self, names: Iterable[str], units: Iterable[str]) -> None:
        self.names = tuple(names)
        self.units = tuple(units)
        self.index = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        most = 12
        each = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.names[:most], self.units, strict=False)]
        return f"Channels({len(self)}: {', '.join(each)}{', ...' if len(self) > most else ''})"


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """Checked, numbered expressions of one machine. Frozen; picklable; made by `da.equations`.

    ``functions`` holds one CasADi function per line of the module's equations:

    kinematics (q,p,t) -> N, n;  inertia (q,p,t) -> M;  forces (q,v,z,u,p,t,λ) -> f;  position (q,p,t) -> φ;
    rates (q,v,p,t) -> φ̇ and c, one entry per holonomic or velocity row;  rows (q,v,z,u,p,t) -> A, b;
    internal (q,v,z,u,p,t,λ) -> g;  outputs (q,v,v̇,λ,z,u,p,t) -> y;  energy (q,v,z,p,t) -> T, V;
    power (q,v,z,u,p,t,λ) -> power of everything that V does not hold;  measures (q,v,p,t) -> s, ṡ, S, bias
    (named coordinates with ṡ = S v + ..., s̈ = S v̇ + bias);  reactions (q,v,λ,p,t) -> forces and torques of joints;
    joint_axes (q,p,t) -> world axes of the joints, side by side;  remainder (q,v,u,p,t) -> what a linear model leaves
    out, of equations made about one;  friction (q,v,p,t,λ) -> rate, limit at rest, limit in motion, of Coulomb friction
    in joints;  spins (q,p,t), where there are any -> E with E v the speeds of idle spins, Z with the speeds of a unit
    spin each.

    ``stick_slip`` are the same equations for runs with exact friction: every coordinate of ``dry`` has a row ṡ = 0, at
    work while its parameter ``sliding`` is 0, and a friction effort in the direction of that parameter while it is not.
    """

    name: str
    coordinates: Channels
    speeds: Channels
    internal: Channels
    inputs: Channels
    parameters: Channels
    parameter_values: tuple[float, ...]
    measures: Channels
    measure_rates: Channels
    outputs: Channels
    rows: tuple[Row, ...]
    joints: tuple[JointInfo, ...]
    functions: Mapping[str, ca.Function]
    placement: Placement
    quaternions: tuple[QuaternionBlock, ...] = ()
    counters: tuple[TurnCounter, ...] = ()
    unrecorded: frozenset[str] = frozenset()  # coordinates and internal states that no record holds: counters, seeds
    shorthands: Mapping[str, str] = field(default_factory=dict)  # "A" -> "A.angle"
    reaction_channels: Channels = field(default_factory=lambda: Channels((), ()))
    recorded_measures: tuple[int, ...] = ()
    friction_joints: tuple[str, ...] = ()
    dry: tuple[DryFriction, ...] = ()
    stick_slip: EquationsOfMotion | None = None
    drivers: tuple[str, ...] = ()  # owners of rows that prescribe motion
    scene: Mapping[str, Any] | None = None
    use_c: bool = False
    spins: tuple[str, ...] = ()  # idle freedoms that the joints leave, in words: see `mechanics.absolute.idle`
    resting_inputs: Mapping[str, float] = field(default_factory=dict)  # what is left out is this, not zero

    # -- sizes ---------------------------------------------------------------------------------------------------
    @property
    def nq(self) -> int:
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        return len(self.speeds)

    @property
    def nz(self) -> int:
        return len(self.internal)

    @property
    def nu(self) -> int:
        return len(self.inputs)

    @property
    def ny(self) -> int:
        return len(self.outputs)

    @cached_property
    def holonomic_rows(self) -> list[int]:
        return [k for k, row in enumerate(self.rows) if row.level == HOLONOMIC]

    @cached_property
    def rate_rows(self) -> list[int]:
        """Rows with a residual at velocity level (holonomic and velocity rows)."""
        return [k for k, row in enumerate(self.rows) if row.level != ACCELERATION]

    @cached_property
    def counted_angles(self) -> dict[str, str]:
        """Names of the counters of turns, with the angle that each repeats."""
        return {self.coordinates.names[c.coordinate]: self.measures.names[c.measure] for c in self.counters}

    @property
    def is_holonomic(self) -> bool:
        return all(row.level == HOLONOMIC for row in self.rows)

    @cached_property
    def p(self) -> Array:
        return np.array(self.parameter_values, dtype=float)

    @property
    def content_hash(self) -> str:
        """SHA-256 of names, units, expressions, parameter values and the pose drawn: what tells this model from others.

        The same description gives the same hash, in any process; the name of the machine and its shapes do not count.
        It holds for one version of CasADi, whose form of the expressions is hashed.
        """
        if "content" not in self._kernels:  # shared by copies with other parameter values
            groups = (self.coordinates, self.speeds, self.internal, self.inputs, self.parameters, self.measures)
            named = [repr((group.names, group.units)) for group in (*groups, self.outputs)] + [repr(self.rows)]
            texts = [*named, *(f"{name} {f.serialize()}" for name, f in sorted(self.functions.items()))]
            if self.stick_slip is not None:  # exact friction has a smooth law for those who need one, as others do
                texts.append(self.stick_slip.content_hash)
            self._kernels["content"] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        own = f"{self._kernels['content']} {self.parameter_values!r} {(self.placement.q, self.placement.z)!r}"
        own += repr(sorted(self.resting_inputs.items())) if self.resting_inputs else ""
        return hashlib.sha256(own.encode()).hexdigest()

    def __repr__(self) -> str:
        c = "compiled" if self.use_c else "interpreted"
        return (
            f"EquationsOfMotion({self.name!r}: {self.nq} coordinates, {self.nv} speeds, {len(self.rows)} constraint "
            f"rows, {self.nz} internal states, {self.nu} inputs, {self.ny} outputs, {c})"
        )

    # -- change by copy --------------------------------------------------------------------------------------------
    def replace(self, **values: float) -> EquationsOfMotion:
        """The same equations with other parameter values: ``eqs.replace(rod__mass=1.2)`` sets ``rod.mass``."""
        numbers = list(self.parameter_values)
        for key, value in values.items():
            name = key if key in self.parameters.index else key.replace("__", ".")
            if name not in self.parameters.index:
                raise ModelError(
                    unknown_name("parameter", name, self.parameters.names, f"equations {self.name!r}")
                    + " Declare it with m.parameter(name, value) before da.equations(m)."
                )
            if not is_real(value) or not np.isfinite(value):
                raise ModelError(f"parameter {name!r}: expected a finite number, got {value!r}.")
            if self.parameters.index[name] not in self._parameters_in_use:
                raise ModelError(
                    f"parameter {name!r} has no effect: nothing in equations {self.name!r} depends on it. "
                    "(math.sin(parameter) makes it a plain number; da.sin keeps it.)"
                )
            numbers[self.parameters.index[name]] = float(value)
        copy = replace(self, parameter_values=tuple(numbers))
        object.__setattr__(copy, "_kernels", self._kernels)  # parameters are inputs: the native code is the same
        copy._check_inertia(values)
        return copy

    @property
    def _parameters_in_use(self) -> frozenset[int]:
        def find() -> frozenset[int]:
            used: set[int] = set()
            for name, function in self.functions.items():
                where = ARGUMENTS[name].split().index("p")
                for k in range(function.n_out()):
                    used.update(function.jac_sparsity(k, where).get_col())
            return frozenset(used)

        return self.cached("parameters in use", find)  # type: ignore[no-any-return]

    def _check_inertia(self, changed: Mapping[str, Any]) -> None:
        """A changed parameter may not make a mass negative."""

        def find() -> tuple[list[int], list[int]]:
            rows, columns = self.functions["inertia"].sparsity_out(0).get_triplet()
            places = [k for k, (i, j) in enumerate(zip(rows, columns, strict=True)) if i == j]
            return places, [rows[k] for k in places]

        places, speeds = self.cached("diagonal of the inertia", find)
        masses = self.kernel("inertia").raw(self.placement.q, self.p, 0.0)[0][places]
        if not (masses >= 0).all():
            k = int(np.flatnonzero(~(masses >= 0))[0])
            shown = ", ".join(f"{key}={value:g}" for key, value in changed.items())
            name = self.speeds.names[speeds[k]]
            raise ModelError(f"{shown} makes the inertia of {name!r} {masses[k]:g}; it must not be negative.")

    def compiled(self) -> EquationsOfMotion:
        """The same equations, evaluated by C built with the system's compiler (cached by content)."""
        return self if self.use_c else replace(self, use_c=True)

    # -- native functions --------------------------------------------------------------------------------------------
    @cached_property
    def _kernels(self) -> dict[Any, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_kernels", None)
        return state

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """Something built from these expressions, built once (kernels, step functions)."""
        key = (threading.get_ident(), key)  # a kernel has buffers of its own: one per thread
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]

    def cached_family(self, kind: str, key: Any, make: Callable[[], Any], most: int = 8) -> Any:
        """One of the things of a kind (a closed loop), kept for its next use; only the newest are kept."""
        family: dict[Any, Any] = self.cached(("family", kind), dict)
        if key not in family:
            while len(family) >= most:
                family.pop(next(iter(family)))
            family[key] = make()
        return family[key]

    def kernel(self, name: str) -> Kernel:
        """The named function, evaluated natively on arrays."""
        if name not in self.functions:
            raise DataError(unknown_name("function", name, self.functions, f"equations {self.name!r}"))
        return self.cached(name, lambda: Kernel(self.functions[name], compiled=self.use_c))  # type: ignore[no-any-return]

    def symbols(self) -> Symbols:
        sym = ca.SX.sym
        return Symbols(
            sym("q", self.nq),
            sym("v", self.nv),
            sym("z", self.nz),
            sym("u", self.nu),
            sym("p", len(self.parameters)),
            sym("t"),
            sym("lam", len(self.rows)),
            sym("a", self.nv),
        )

    # -- states ----------------------------------------------------------------------------------------------------
    def state(self, q: Any = None, v: Any = None, z: Any = None, t: float = 0.0, *, lam: Any = None) -> State:
        """A state from arrays (zeros or the drawing's pose where left out); not checked against the joints."""
        parts = []
        for label, given, size, default in (
            ("q", q, self.nq, self.placement.q),
            ("v", v, self.nv, np.zeros(self.nv)),
            ("z", z, self.nz, self.placement.z),
            ("lam", lam, len(self.rows), np.zeros(len(self.rows))),
        ):
            try:
                array = np.array(default if given is None else given, dtype=float).reshape(-1)
            except (TypeError, ValueError):
                raise DataError(f"{label} must be {size} numbers, got {given!r}.") from None
            if array.size != size:
                raise DataError(f"{label} has {array.size} entries, equations {self.name!r} need {size}.")
            if not np.all(np.isfinite(array)):
                raise DataError(f"{label} holds a value that is not finite.")
            array.flags.writeable = False
            parts.append(array)
        if not is_real(t) or not np.isfinite(float(t)):
            raise DataError(f"t must be a finite number of seconds, got {t!r}.")
        return State(self, parts[0], parts[1], parts[2], float(t), parts[3])

    def full_name(self, name: str) -> str:
        return self.shorthands.get(name, name)


@dataclass(frozen=True, eq=False)
class State:
    """Where a machine is and how it moves; ``state["A.angle"]`` reads any coordinate or speed by name.

    friction : of an equilibrium, the coordinates that dry friction holds, with their share of its limit (0 to 1).
    free : of an equilibrium, the coordinates whose value does not matter: the machine would rest at any other as well
        (a cart on a level rail). Hold them (``hold={...}``) to choose one place of many.
    """

    eqs: EquationsOfMotion
    q: Array
    v: Array
    z: Array
    t: float
    lam: Array
    friction: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        eqs = self.eqs
        name = eqs.full_name(name) if isinstance(name, str) else repr(name)
        for channels, values in ((eqs.coordinates, self.q), (eqs.speeds, self.v), (eqs.internal, self.z)):
            if name in channels.index:
                return float(values[channels.index[name]])
        if name in eqs.measures.index or name in eqs.measure_rates.index:
            s, rate, _, _ = eqs.kernel("measures")(self.q, self.v, eqs.p, self.t)
            if name in eqs.measures.index:
                return float(s[eqs.measures.index[name]])
            return float(rate[eqs.measure_rates.index[name]])
        known = (*eqs.measures.names, *eqs.measure_rates.names, *eqs.speeds.names, *eqs.coordinates.names)
        raise DataError(unknown_name("coordinate or speed", name, known, f"a state of {eqs.name!r}"))

    def __repr__(self) -> str:
        eqs = self.eqs
        shown = [eqs.measures.names[k] for k in eqs.recorded_measures][:8] or list(eqs.coordinates.names[:8])
        values = ", ".join(f"{name}={self[name]:.6g}" for name in shown)
        held = "".join(f", {name} sticks with {share:.1%} of its limit" for name, share in self.friction.items())
        free = f"; at rest at any {', '.join(self.free)}" if self.free else ""
        return f"State({eqs.name!r}, t={self.t:g}, {values}{held}{free})"


def require_equations(given: Any) -> EquationsOfMotion:
    """What a solver was handed, if it is equations; else the sentence that says how to get them."""
    if not isinstance(given, EquationsOfMotion):
        kind = type(given).__name__
        hint = " Write da.equations(m)." if kind == "Mechanism" else ""
        raise ModelError(f"expected equations of motion, got {kind} {given!r}.{hint}")
    return given


@singledispatch
def equations(model: Any, **options: Any) -> EquationsOfMotion:
    """Equations of motion of a machine: ``da.equations(mechanism)``.

    Equations themselves give others with the constraints eliminated (``da.equations(eqs, coordinates=[...])``), or in
    modal coordinates (``da.equations(eqs, about=da.linearize(eqs), modes=3)``).
    A new formulation registers its own input type: ``@equations.register``.
    """
    raise ModelError(f"cannot make equations of motion from {type(model).__name__}; expected a da.Mechanism.")
