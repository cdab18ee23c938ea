"""Equations of motion: the one type every formulation makes and every solver takes.

    q̇ = N(q,t) v + n(q,t)
    M v̇ = f(q,v,z,u,t,λ) + Aᵀ λ ,   A v̇ = b
    φ(q,t) = 0 ,  c(q,v,t) = 0 ,   ż = g(q,v,z,u,t,λ) ,   y = h(q,v,v̇,λ,z,u,t)

Every row of A is tagged: holonomic (φ), velocity (c) or acceleration level. ``A' λ`` are the forces of the joints on
the bodies. Parameters p stay symbolic in all of it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, singledispatch
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.declare import anything, instance
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice, Call, Finding
from dalembert.core.tables import display_latex
from dalembert.equations.channels import (
    ACCELERATION,
    HOLONOMIC,
    CarriedOrientation,
    Channels,
    CoordinateLimits,
    DryFriction,
    JointInfo,
    QuaternionBlock,
    Row,
    TurnCounter,
)
from dalembert.equations.functions import ARGUMENTS, FunctionSource, Symbols, complete, default_measures
from dalembert.equations.placement import Placement
from dalembert.equations.scene import Scene
from dalembert.equations.state import State
from dalembert.expressions import Array, Kernel
from dalembert.record.units import in_si, per_second

NONE = Channels()
# results that are matrices, also of a machine with one speed
MATRICES = {"kinematics": (0,), "inertia": (0,), "rows": (0,), "measures": (2,), "spins": (0, 1), "tangent": (0, 1),
            "matrices": (0, 1)}  # fmt: skip


_FORMS = defaultdict(
    lambda: anything,
    {"Channels": instance(Channels), "Placement": instance(Placement), "Mapping": instance(Mapping),
     "tuple": instance(Collection)},
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class EquationsOfMotion:
    """Checked, numbered expressions of one machine. Frozen; picklable; made by `da.equations`.

    A producer fills in the names of coordinates and speeds and the functions of inertia and forces; everything else has
    a default. ``functions`` has one CasADi function per line of the module's equations:

    kinematics (q,p,t) -> N, n;  inertia (q,p,t) -> M;  forces (q,v,z,u,p,t,λ) -> f;  position (q,p,t) -> φ; rates
    (q,v,p,t) -> φ̇ and c, one entry per holonomic or velocity row;  rows (q,v,z,u,p,t) -> A, b; internal
    (q,v,z,u,p,t,λ) -> g;  outputs (q,v,v̇,λ,z,u,p,t) -> y;  energy (q,v,z,p,t) -> T, V; power (q,v,z,u,p,t,λ) ->
    power of everything that V does not hold;  measures (q,v,p,t) -> s, ṡ, S, bias (named coordinates with ṡ = S v +
    ..., s̈ = S v̇ + bias);  reactions (q,v,v̇,λ,z,u,p,t) -> forces and torques of joints;  joint_axes (q,p,t) ->
    world axes of the joints, side by side;  remainder (q,v,u,p,t) -> forces that a linear model leaves out, of
    equations made about one;  friction (q,v,p,t,λ) -> rate, limit at rest, limit in motion, of Coulomb friction in
    joints;  spins (q,p,t), where there are any -> E with E v the speeds of idle spins, Z with the speeds of a unit
    spin each;  tangent (q,v,z,u,p,t) -> K, D of stiff forces;  assumptions (q,v,p,t) -> one value for each of
    ``assumptions``, which does not hold where the value is above one;  load_assumptions (q,v,reactions,z,u,p,t) -> the
    same of ``load_assumptions``;  mass_solve (q,p,t,x) -> M⁻¹ x, where the
    producer knows a shorter way than a factor of M.

    `equations.functions` derives those that are left out, and ṡ, S and bias of measures given by s alone. The mass
    matrix may depend on q and t; Coriolis and centrifugal forces are then part of f.

    ``placement`` is the pose as drawn and the first guess of an assembly, ``scene`` the picture; only `da.assemble` and
    the views look at them; others take `state` or `sample_pose`. ``tree`` builds functions that `da.tree` asks for, of
    machines in joint coordinates.

    ``stick_slip`` are the same equations for runs with exact friction: every coordinate of ``dry`` has a row ṡ = 0,
    active while its parameter ``sliding`` is 0, and a friction effort in the direction of that parameter while it is
    not.
    """

    name: str
    functions: Mapping[str, ca.Function]
    # arguments and results of the functions, in their order
    coordinates: Channels
    speeds: Channels
    internal: Channels = NONE
    inputs: Channels = NONE
    parameters: Channels = NONE
    parameter_values: tuple[float, ...] = ()
    outputs: Channels = NONE
    measures: Channels = NONE
    measure_rates: Channels = NONE
    recorded_measures: tuple[int, ...] = ()
    carried_measures: tuple[int, ...] = ()  # recorded too: poses of bodies that are no coordinates
    drawn_measures: tuple[int, ...] = ()  # recorded by runs for their picture; no filter reports them
    # constraint rows and their owners
    rows: tuple[Row, ...] = ()
    drivers: tuple[str, ...] = ()  # owners of rows that prescribe motion
    joints: tuple[JointInfo, ...] = ()
    reaction_channels: Channels = NONE
    # coordinates of special kinds
    quaternions: tuple[QuaternionBlock, ...] = ()
    carried_orientations: tuple[CarriedOrientation, ...] = ()
    counters: tuple[TurnCounter, ...] = ()
    # coordinate of a joint with an elastic gear -> measure of its rotor, which is held where the joint is
    motor_sides: Mapping[str, str] = field(default_factory=dict)
    elastic: tuple[str, ...] = ()  # close no joint: an assembly keeps their values; measures too, with speeds as rates
    unrecorded: frozenset[str] = frozenset()  # coordinates, states, measures that no record holds: counters, seeds
    assumptions: tuple[Finding, ...] = ()  # warnings of a run that leaves the range of the model
    load_assumptions: tuple[Finding, ...] = ()  # those that need the reactions of the joints
    findings: tuple[Finding, ...] = ()  # about the way in which the equations were made
    spins: tuple[str, ...] = ()  # idle freedoms that the joints leave, in words: see `mechanics.absolute.idle`
    # names and values for users
    shorthands: Mapping[str, str] = field(default_factory=dict)  # "A" -> "A.angle"
    resting_inputs: Mapping[str, float] = field(default_factory=dict)  # values of inputs that are not given, if not 0
    limits: Mapping[str, CoordinateLimits] = field(default_factory=dict)  # of joint coordinates; nothing stops there
    # dry friction
    friction_joints: tuple[str, ...] = ()
    dry: tuple[DryFriction, ...] = ()
    stick_slip: EquationsOfMotion | None = None
    # assembly, picture and evaluation
    placement: Placement = field(default_factory=Placement)
    scene: Scene | None = None
    tree: FunctionSource | None = None  # further functions of a machine in joint coordinates

    def __post_init__(self) -> None:
        def fill(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        for each in fields(self):
            _FORMS[str(each.type).partition("[")[0]](each.name, getattr(self, each.name))

        if not len(self.measures) and "measures" not in self.functions:
            measures, rates = default_measures(self)
            fill("measures", measures)
            fill("measure_rates", rates)
            fill("recorded_measures", tuple(range(len(measures))))
        elif len(self.measures) and not len(self.measure_rates):
            units = [per_second(unit or "1") for unit in self.measures.units]
            fill("measure_rates", Channels([f"{name}.rate" for name in self.measures.names], units))
            fill("recorded_measures", self.recorded_measures or tuple(range(len(self.measures))))
        fill("functions", complete(self))
        fill("placement", self.placement.fill(self.nq, self.nz, [block.coordinate for block in self.quaternions]))
        if len(self.parameter_values) != len(self.parameters):
            raise ModelError(
                "wrong-shape",
                f"equations {self.name!r} have {len(self.parameters)} parameters and {len(self.parameter_values)} "
                "values of them.",
            )

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
    def known_rows(self) -> list[int]:
        """Rows whose right side b does not depend on inputs and internal states."""
        changed = {row for argument in (2, 3) for row in self.functions["rows"].jac_sparsity(1, argument).row()}
        return [k for k in range(len(self.rows)) if k not in changed]

    @cached_property
    def turning_bodies(self) -> tuple[str, ...]:
        """What has an orientation in space: owners of Euler parameters, and bodies that joints carry."""
        return (*(block.owner for block in self.quaternions), *(body.owner for body in self.carried_orientations))

    @cached_property
    def elastic_speeds(self) -> dict[str, int]:
        """The places in v of the rates of elastic coordinates."""
        rates = self.measure_rates.names
        return {name: self.speeds.index[rates[self.measures.index[name]]] for name in self.elastic}

    @cached_property
    def positions(self) -> list[int]:
        """Measures that are positions: all but those of orientations."""
        turned = {k for body in self.carried_orientations for first, n in ((body.parameters, 4), (body.turns, 3))
                  for k in range(first, first + n)}  # fmt: skip
        return [k for k in range(len(self.measures)) if k not in turned]

    @cached_property
    def counted_angles(self) -> dict[str, str]:
        """Names of the counters of turns, with the angle that each repeats."""
        return {self.coordinates.names[c.coordinate]: self.measures.names[c.measure] for c in self.counters}

    @property
    def scene_data(self) -> dict[str, Any] | None:
        """The scene as a record keeps it; the same for all parameter values."""
        return None if self.scene is None else self.cache("scene", self.scene.to_json)

    @property
    def is_holonomic(self) -> bool:
        return all(row.level == HOLONOMIC for row in self.rows)

    @cached_property
    def p(self) -> Array:
        return np.array(self.parameter_values, dtype=float)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of names, units, expressions, parameter values and the pose drawn: the identity of the model.

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
        key = f"{self._kernels['content']} {self.parameter_values!r} {(self.placement.q, self.placement.z)!r}"
        key += repr(sorted(self.resting_inputs.items())) if self.resting_inputs else ""
        return hashlib.sha256(key.encode()).hexdigest()

    def _repr_latex_(self) -> str:
        """The form of the equations; those of a machine in symbols are shown by ``da.symbolic``."""
        rows = " + A^{T} \\lambda, \\qquad A \\dot{v} = b" if self.rows else ""
        sizes = f"q \\in \\mathbb{{R}}^{{{self.nq}}}, \\quad v \\in \\mathbb{{R}}^{{{self.nv}}}"
        sizes += f", \\quad \\lambda \\in \\mathbb{{R}}^{{{len(self.rows)}}}" if self.rows else ""
        return display_latex([f"M(q) \\dot{{v}} = f(q, v, u, t){rows}, \\qquad \\dot{{q}} = N v + n", sizes])

    def __repr__(self) -> str:
        findings = "".join(f" {finding.text()}" for finding in self.findings[:3])
        slow = "".join(f", {name} on the interpreter ({reason})" for name, reason in self.interpreted.items())
        return (
            f"EquationsOfMotion({self.name!r}: {self.nq} coordinates, {self.nv} speeds, {len(self.rows)} constraint "
            f"rows, {self.nz} internal states, {self.nu} inputs, {self.ny} outputs{slow}){findings}"
        )

    @property
    def interpreted(self) -> dict[str, str]:
        """Functions made of these equations that have no native code, and why; found out when they are used a lot."""
        kernels = [
            kernel for entry in self._kernels.values() for kernel in (entry if isinstance(entry, tuple) else (entry,))
        ]
        return {
            kernel.function.name(): kernel.obstacle
            for kernel in kernels
            if isinstance(kernel, Kernel) and kernel.obstacle
        }

    # -- change by copy --------------------------------------------------------------------------------------------
    def replace(self, **values: float | str) -> EquationsOfMotion:
        """The same equations with other parameter values: ``eqs.replace(rod__mass=1.2)`` sets ``rod.mass``."""
        numbers = list(self.parameter_values)
        for key, value in values.items():
            name = key if key in self.parameters.index else key.replace("__", ".")
            require_name(
                "parameter",
                name,
                self.parameters.names,
                f"equations {self.name!r}",
                Advice("Declare it on the mechanism, with {}, before the equations are made.", Call("m.parameter")),
                error=ModelError,
            )
            number = real_number(f"parameter {name!r}", in_si(value, what=f"parameter {name!r}"))
            if self.parameters.index[name] not in self._parameters_in_use:
                raise ModelError(
                    "ineffective-argument",
                    f"parameter {name!r} has no effect: nothing in equations {self.name!r} depends on it.",
                    Advice("Functions of the math module make a plain number of it; use those of {}.", Call("da.sin")),
                )
            numbers[self.parameters.index[name]] = number
        copy = replace(self, parameter_values=tuple(numbers))
        object.__setattr__(copy, "_kernels", self._kernels)  # parameters are inputs: the native code is the same
        copy._check_inertia(values)
        return copy

    @property
    def _parameters_in_use(self) -> frozenset[int]:
        def find() -> frozenset[int]:
            used: set[int] = set()
            for name in self.functions:
                if len(used) == len(self.parameters):  # functions that are built when they are read come last
                    break
                function = self.functions[name]
                where = ARGUMENTS[name].split().index("p")
                for k in range(function.n_out()):
                    used.update(function.jac_sparsity(k, where).get_col())
            return frozenset(used)

        return self.cache("parameters in use", find)  # type: ignore[no-any-return]

    def has_inertia(self, p: Array) -> Any:
        """For every row of parameters, whether no mass or inertia is negative."""
        M = self.kernel("inertia").many(np.asarray(self.placement.q), p, 0.0)[0]
        return (np.diagonal(M, axis1=1, axis2=2) >= 0).all(axis=1)

    def _check_inertia(self, changed: Mapping[str, Any]) -> None:
        """A changed parameter may not make a mass negative."""
        masses = self.kernel("inertia").sparse(0, self.placement.q, self.p, 0.0).diagonal()
        if not (masses >= 0).all():
            k = int(np.flatnonzero(~(masses >= 0))[0])
            shown = ", ".join(f"{key}={value:g}" for key, value in changed.items())
            name = self.speeds.names[k]
            raise ModelError(
                "negative", f"{shown} makes the inertia of {name!r} {masses[k]:g}; it must not be negative.",
                where={"speed": name}, evidence={"inertia": float(masses[k])},
            )  # fmt: skip

    # -- native functions --------------------------------------------------------------------------------------------
    @cached_property
    def _kernels(self) -> dict[Any, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_kernels", None)
        state.pop("content_hash", None)  # of this version of CasADi
        return state

    def cache(self, key: object, make: Callable[[], Any]) -> Any:
        """Something built from these expressions, built once (kernels, step functions)."""
        key = (threading.get_ident(), key)  # a kernel has buffers of its own: one per thread
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]

    def cache_family(self, kind: str, key: object, make: Callable[[], Any]) -> Any:
        """One of the things of a kind (a closed loop), kept for its next use; only the newest eight are kept."""
        family: dict[Any, Any] = self.cache(("family", kind), dict)
        if key not in family:
            while len(family) >= 8:
                family.pop(next(iter(family)))
            family[key] = make()
        return family[key]

    def kernel(self, name: str) -> Kernel:
        """The named function, evaluated natively on arrays."""
        require_name("function", name, self.functions, f"equations {self.name!r}")
        return self.cache(name, lambda: Kernel(self.functions[name], MATRICES.get(name, ())))  # type: ignore[no-any-return]

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
    def state(
        self, q: object = None, v: object = None, z: object = None, t: float = 0.0, *, lam: object = None
    ) -> State:
        """A state from arrays (zeros or the drawing's pose where left out); not checked against the joints."""
        parts = []
        for label, values, size, default in (
            ("q", q, self.nq, self.placement.q),
            ("v", v, self.nv, np.zeros(self.nv)),
            ("z", z, self.nz, self.placement.z),
            ("lam", lam, len(self.rows), np.zeros(len(self.rows))),
        ):
            try:
                array = np.array(default if values is None else values, dtype=float).reshape(-1)
            except (TypeError, ValueError):
                raise DataError("not-a-number", f"{label} must be {size} numbers, got {values!r}.") from None
            problem = f"{label} has {array.size} entries, equations {self.name!r} need {size}."
            DataError.when(array.size != size, "wrong-shape", problem)
            DataError.when(not np.all(np.isfinite(array)), "not-finite", f"{label} has a value that is not finite.")
            array.flags.writeable = False
            parts.append(array)
        return State(self, parts[0], parts[1], parts[2], real_number("t", t), parts[3])

    def sample_pose(self, random: np.random.Generator, spread: float) -> Array:
        """Coordinates about the pose as drawn, which close no joint: for what holds at almost every pose."""
        return np.array(self.placement.q) + real_number("spread", spread) * random.normal(size=self.nq)

    def placement_with(self, z: Iterable[float]) -> Placement:
        """The same placement with other internal states, for equations that are made of these."""
        return replace(self.placement, z=tuple(map(float, z)))

    def full_name(self, name: str) -> str:
        return self.shorthands.get(name, name) if isinstance(name, str) else name


def require_equations(given: object) -> EquationsOfMotion:
    """The argument of a solver, if it is equations; else an error with the way to get them."""
    if not isinstance(given, EquationsOfMotion):
        kind = type(given).__name__
        advice = [Advice("Make equations of the mechanism: {}.", Call("da.equations"))] * (kind == "Mechanism")
        raise ModelError("wrong-type", f"expected equations of motion, got {kind} {given!r}.", *advice)
    return given


@singledispatch
def equations(model: object, **options: Any) -> EquationsOfMotion:
    """Equations of motion of a machine: ``da.equations(mechanism)``.

    Equations themselves give others with the constraints eliminated (``da.equations(eqs, coordinates=[...])``), or in
    modal coordinates (``da.equations(eqs, about=da.linearize(eqs), modes=3)``).
    A new formulation registers its own input type: ``@equations.register``.
    """
    raise ModelError(
        "wrong-type", f"cannot make equations of motion from {type(model).__name__}; expected a Mechanism."
    )
