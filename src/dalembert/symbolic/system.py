"""A mechanical system in symbols: coordinates, speeds, parameters, inputs, bodies or energies, forces, constraints.

Symbols are scalars of the expression graph (CasADi SX): ``+ - * /`` and the functions of `da.math` work on them, and a
SymPy expression of symbols with the same names is accepted wherever an expression is. A system only collects and
checks; the formalisms (`da.symbolic.lagrange`, `da.symbolic.kane`, ...) derive equations from it.

    q      coordinates "theta", with rates q̇ "theta.rate" and accelerations q̈ "theta.acceleration"
    u      speeds, where any are declared: quasi-velocities u = Y(q,t) q̇ + y₀(q,t)
    r, R   place and orientation of a body; ω in body axes with skew(ω) = Rᵀ Ṙ
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from dalembert.core.arguments import one_of, real_number, whole_number
from dalembert.core.declare import mapping, number
from dalembert.core.errors import ModelError, require_new_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import ACCELERATION, HOLONOMIC, VELOCITY
from dalembert.equations.equations_of_motion import EquationsOfMotion, equations
from dalembert.mechanics.rotations import rate_matrix, rotation
from dalembert.record.units import per_second
from dalembert.symbolic.dimensions import (
    ENERGY,
    FORCE,
    LENGTH,
    POWER,
    Unchecked,
    dimension_of,
    dimension_of_unit,
    require_dimension,
)
from dalembert.symbolic.parts import (
    Constraint,
    Orientation,
    SystemBody,
    SystemForce,
    SystemTorque,
    rotation_about,
)
from dalembert.symbolic.symbols import SymbolTable
from dalembert.symbolic.text.convert import is_sympy
from dalembert.symbolic.text.read import require_affine, require_shape

SX = ca.SX
GRAVITY_NONE = (0.0, 0.0, 0.0)


@dataclass(eq=False)
class System:
    """A mechanical system in symbols.

    Parameters
    ----------
    name : of the system.
    gravity : (2,) or (3,) acceleration in world axes [m/s²] on every body with mass; `set_gravity` takes parameters.
    check_units : whether sums and energies are checked against the units of their symbols.

    Examples
    --------
    >>> import dalembert as da
    >>> s = System("pendulum", gravity=(0, -9.81))
    >>> theta, m, l = s.coordinate("theta", unit="rad"), s.parameter("m", 1.2, "kg"), s.parameter("l", 0.7, "m")
    >>> s.add_particle("bob", m, (l * da.sin(theta), -l * da.cos(theta)))
    >>> s
    System('pendulum': 1 coordinates, 0 speeds, 2 parameters, 0 inputs, 1 bodies, 0 constraint rows)
    """

    name: str = "system"
    gravity: Sequence[Any] = GRAVITY_NONE
    check_units: bool = True
    bodies: dict[str, SystemBody] = field(default_factory=dict, init=False)
    forces: dict[str, SystemForce] = field(default_factory=dict, init=False)
    torques: dict[str, SystemTorque] = field(default_factory=dict, init=False)
    generalized: dict[str, tuple[str, Any]] = field(default_factory=dict, init=False)  # name -> coordinate, force
    kinetic: dict[str, Any] = field(default_factory=dict, init=False)
    potential: dict[str, Any] = field(default_factory=dict, init=False)
    dissipation: dict[str, Any] = field(default_factory=dict, init=False)
    constraints: list[Constraint] = field(default_factory=list, init=False)
    outputs: dict[str, Any] = field(default_factory=dict, init=False)
    points: dict[str, Any] = field(default_factory=dict, init=False)
    lines: list[tuple[str, ...]] = field(default_factory=list, init=False)
    drawn: dict[str, float] = field(default_factory=dict, init=False)
    table: SymbolTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_new_name("system", self.name, (), "", error=ModelError)
        self.table = SymbolTable(self.name)
        if not self.check_units:
            self.table.dimensions = Unchecked(self.table.dimensions)
        self.set_gravity(self.gravity)

    def __repr__(self) -> str:
        return (
            f"System({self.name!r}: {len(self.coordinate_names)} coordinates, {len(self.definitions)} speeds, "
            f"{len(self.parameter_values)} parameters, {len(self.input_names)} inputs, {len(self.bodies)} bodies, "
            f"{len(self.constraints)} constraint rows)"
        )

    # -- the table of symbols ----------------------------------------------------------------------------------------
    @property
    def t(self) -> Any:
        """Time."""
        return self.table.t

    @property
    def symbols(self) -> dict[str, Any]:
        """Every symbol by name."""
        return self.table.symbols

    @property
    def units(self) -> dict[str, str]:
        return self.table.units

    @property
    def coordinate_names(self) -> list[str]:
        return self.table.coordinates

    @property
    def input_names(self) -> list[str]:
        return self.table.inputs

    @property
    def parameter_values(self) -> dict[str, float | None]:
        """Values of parameters; None where one is not known."""
        return self.table.parameters

    @property
    def definitions(self) -> dict[str, Any]:
        """Declared speeds as expressions of (q, q̇, t)."""
        return self.table.speeds

    def expression(self, given: Any, what: str) -> Any:
        """An expression of this system in the graph: numbers, SX, SymPy; an unknown symbol is an error."""
        return self.table.expression(given, what)

    # -- symbols -----------------------------------------------------------------------------------------------------
    def coordinate(self, name: str, unit: str = "", drawn: float = 0.0) -> Any:
        """A generalized coordinate; ``drawn`` is its value in the pose as drawn, where a run starts by default."""
        symbol = self.table.declare(name, unit)
        self.table.declare(f"{name}.rate", per_second(unit))
        self.table.declare(f"{name}.acceleration", per_second(unit, 2))
        self.coordinate_names.append(name)
        self.drawn[name] = real_number(f"the drawn value of {name!r}", drawn, ModelError)
        return symbol

    def coordinates(self, names: str | Iterable[str], unit: str = "") -> tuple[Any, ...]:
        """Several coordinates with one unit: ``x, y = s.coordinates("x y", "m")``."""
        return tuple(self.coordinate(name, unit) for name in (names.split() if isinstance(names, str) else names))

    def parameter(self, name: str, value: float | None = None, unit: str = "") -> Any:
        """A constant of the system; its value may be set later (`replace_values`), before any computation."""
        symbol = self.table.declare(name, unit)
        self.parameter_values[name] = None if value is None else real_number(f"parameter {name!r}", value, ModelError)
        return symbol

    def input(self, name: str, unit: str = "") -> Any:
        """A force, torque or other quantity given over time."""
        symbol = self.table.declare(name, unit)
        self.input_names.append(name)
        return symbol

    def speed(self, name: str, definition: Any, unit: str = "") -> Any:
        """A quasi-velocity u, defined by an expression that is affine in the rates: u = Y(q,t) q̇ + y₀(q,t).

        Coordinates whose rates are in no definition keep their rates as speeds. All speeds together are as many as
        coordinates or, with constraints, as many as freedoms.
        """
        value = self.table.expression(definition, f"the definition of speed {name!r}")
        rates = self.rates
        if not ca.depends_on(value, rates):
            raise ModelError(
                "no-coordinate", f"speed {name!r} does not depend on the rate of any coordinate.",
                Advice("Take rates with {}.", Call("s.rate")), where={"speed": name},
            )  # fmt: skip
        require_affine(value, rates, f"speed {name!r}", "the rates of the coordinates", speed=name)
        what = f"the definition of speed {name!r}"
        self.table.allow_only(value, what, (*self.coordinate_names, *self._rate_names, "t"))
        if (dimension := dimension_of_unit(unit, repr(name))) is not None:
            require_dimension(value, dimension, self.table.dimensions, what)
        symbol = self.table.declare(name, unit)
        self.table.declare(f"{name}.rate", per_second(unit))
        self.definitions[name] = value
        return symbol

    def rate(self, expression: Any, times: int = 1) -> Any:
        """Time derivative of an expression along the motion, by the chain rule.

        Derivatives of a coordinate are the symbols of its rate, its acceleration and, from the third on, further
        derivatives; the derivative of a speed is the symbol of its rate.
        """
        value = self.table.expression(expression, "an expression to differentiate")
        for _ in range(whole_number("times", times, 0, 20)):  # the size of an expression may double with each
            value = self.table.differentiate(value)
        return value

    @property
    def q(self) -> Any:
        """Coordinates, a column."""
        return self.table.column(self.coordinate_names)

    @property
    def rates(self) -> Any:
        """Rates of the coordinates, a column."""
        return self.table.column(self._rate_names)

    @property
    def accelerations(self) -> Any:
        """Accelerations of the coordinates, a column."""
        return self.table.column([f"{name}.acceleration" for name in self.coordinate_names])

    @property
    def speeds(self) -> Any:
        """Declared speeds, a column."""
        return self.table.column(self.definitions)

    @property
    def u(self) -> Any:
        """Inputs, a column."""
        return self.table.column(self.input_names)

    @property
    def p(self) -> Any:
        """Parameters, a column."""
        return self.table.column(self.parameter_values)

    # -- bodies and energies -----------------------------------------------------------------------------------------
    def add_particle(self, name: str, mass: Any, position: Any, *, velocity: Any = None) -> None:
        """A point with mass; ``position`` has two or three coordinates in world axes."""
        self._add_body(name, mass, None, position, velocity, None, None)

    def add_body(
        self,
        name: str,
        mass: Any,
        inertia: Any,
        position: Any,
        *,
        angle: Any = None,
        rotation: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
    ) -> None:
        """A rigid body.

        mass : [kg].  inertia : about the mass centre, body axes: one number in the plane, three or a matrix in space.
        position : of the mass centre, two or three coordinates in world axes.
        angle : in the plane.  rotation : in space, a (3, 3) matrix body to world, or what `rotation` makes.
        velocity, angular_velocity : where a shorter expression is known, of rates or speeds; ω in body axes. Components
            in moving axes are for formalisms that start from the kinetic energy; the others refuse them.
        """  # fmt: skip
        if (angle is None) == (rotation is None):
            problem = f"body {name!r} needs an angle (in the plane) or a rotation (in space)."
            raise ModelError("missing-argument", problem, where={"body": name})
        self._add_body(
            name, mass, inertia, position, velocity, angle if rotation is None else rotation, angular_velocity
        )

    def rotation(self, axes: str, angles: Any, *, base: Orientation | None = None) -> Orientation:
        """Rotations about axes of the turned body, one after the other: ``s.rotation("zxz", (psi, theta, phi))``.

        base : the orientation that is turned; that of the world where left out.
        """
        turns = ca.vertsplit(self.table.column_of(angles, f"the angles of rotation {axes!r}"))
        if len(turns) != len(axes) or not set(axes) <= set("xyz"):
            problem = f"rotation {axes!r} needs one angle for each of its axes x, y, z; got {len(turns)} angles."
            raise ModelError("wrong-shape", problem)
        matrix, omega = (SX.eye(3), SX.zeros(3)) if base is None else (base.matrix, base.omega)
        for axis, turn in zip(axes, turns, strict=True):
            step = rotation_about(axis, turn)
            unit = SX([float(axis == letter) for letter in "xyz"])
            omega = step.T @ omega + unit * self.table.differentiate(turn)
            matrix = matrix @ step
        return Orientation(matrix, omega)

    def euler_parameters(self, name: str) -> Orientation:
        """An orientation in space without singular poses: four coordinates, three speeds ω in body axes, one row.

        Coordinates are ``name.e0`` to ``name.e3`` (scalar first), speeds ``name.wx``, ``name.wy``, ``name.wz``; the row
        ``name.norm`` is fulfilled by the choice of speeds.
        """
        first, rank = len(self.coordinate_names), len(self.definitions)
        p = ca.vertcat(*(self.coordinate(f"{name}.e{k}", drawn=float(k == 0)) for k in range(4)))
        omega = 4 * rate_matrix(p).T @ self.table.differentiate(p)
        spin = [self.speed(f"{name}.w{axis}", omega[k], "rad/s") for k, axis in enumerate("xyz")]
        row = Constraint(f"{name}.norm", (ca.dot(p, p) - 1) / 2, HOLONOMIC, unit_norm=(first, rank))
        self.constraints.append(row)
        return Orientation(rotation(p), ca.vertcat(*spin))

    def set_gravity(self, acceleration: Any) -> None:
        """Gravity on every body with mass, (2,) or (3,) in world axes [m/s²], also of parameters."""
        self.gravity = tuple(ca.vertsplit(self.table.vector(acceleration, "gravity", time=True)))

    def add_kinetic(self, energy: Any, name: str = "") -> None:
        """Kinetic energy of (q, q̇ or u, t) in addition to that of the bodies."""
        self._add_energy("kinetic energy", self.kinetic, energy, name, ENERGY)

    def add_potential(self, energy: Any, name: str = "") -> None:
        """Potential energy of (q, t); gravity on bodies is already included."""
        value = self.table.scalar(energy, "the potential energy")
        self.table.allow_only(value, "a potential energy", (*self.coordinate_names, *self.input_names, "t"))
        self._add_energy("potential energy", self.potential, energy, name, ENERGY)

    def add_dissipation(self, function: Any, name: str = "") -> None:
        """Rayleigh's dissipation function of (q, q̇ or u): forces -∂D/∂q̇."""
        self._add_energy("dissipation function", self.dissipation, function, name, POWER)

    # -- forces ------------------------------------------------------------------------------------------------------
    def add_force(self, name: str, vector: Any, at: Any, *, body: str = "") -> None:
        """A force in world axes, at the mass centre of a body (its name) or at a place (two or three coordinates).

        body : the body it acts on, where ``at`` is a place; the Newton-Euler equations need it.
        """
        self.table.require_new("force", name, self.forces)
        force = self.table.vector(vector, f"force {name!r}")
        self.table.require_unit(force, FORCE, f"force {name!r}")
        if isinstance(at, str):
            target = self._body(at, f"force {name!r}")
            self.forces[name] = SystemForce(name, force, target.velocity, at, target.position)
            return
        place = self.table.vector(at, f"the place of force {name!r}", time=True, coordinates=True)
        if body:
            self._body(body, f"force {name!r}")
        self.forces[name] = SystemForce(name, force, self.table.differentiate(place), body, place)

    def add_torque(self, name: str, vector: Any, body: str, *, reaction: str = "", axes: str = "body") -> None:
        """A torque on a body, and the opposite one on the body ``reaction``, if any.

        vector : one number about z, or three components in axes of the ``body`` or of the ``world``.
        """
        what = f"torque {name!r}"
        self.table.require_new("torque", name, self.torques)
        rotation, _ = (self._body(target, what, turning=True).rotation for target in (body, reaction or body))
        column = self.table.column_of(vector, what)
        require_shape(column, what, (1, 1), (3, 1))
        column = ca.vertcat(0, 0, column) if column.shape[0] == 1 else column
        self.table.require_unit(column, ENERGY, what)
        one_of(f"axes of {what}", axes, ("body", "world"), ModelError)
        self.torques[name] = SystemTorque(name, rotation.T @ column if axes == "world" else column, body, reaction)

    def add_generalized_force(self, name: str, coordinate: Any, force: Any) -> None:
        """A force along a coordinate (its name or symbol): the work is force times change of the coordinate."""
        along = coordinate if isinstance(coordinate, str) else SX(coordinate).name()
        self.table.require_name("coordinate", along, self.coordinate_names, force=name)
        self.table.require_new("force", name, self.generalized)
        value = self.table.scalar(force, f"generalized force {name!r}")
        dimension = self.table.dimensions[along]
        if dimension is not None:
            wanted = tuple(a - b for a, b in zip(ENERGY, dimension, strict=True))
            require_dimension(value, wanted, self.table.dimensions, f"generalized force {name!r}")
        self.generalized[name] = (along, value)

    # -- constraints -------------------------------------------------------------------------------------------------
    def constrain(self, expression: Any, name: str = "") -> None:
        """A constraint: one expression, or a column of them, that is zero on every motion.

        Its level follows from its symbols: coordinates alone are a holonomic row, rates or speeds one at velocity
        level, accelerations one at acceleration level. An equation of SymPy (``Eq``) is left minus right.
        """
        owners = {row.name for row in self.constraints}
        owner = name or f"constraint {len(owners) + 1}"
        self.table.require_new("constraint", owner, owners)
        if is_sympy(expression) and type(expression).__name__ == "Equality":
            expression = expression.lhs - expression.rhs
        column = self.table.column_of(expression, f"constraint {owner!r}")
        self.constraints += [self._row(value, owner, k) for k, value in enumerate(ca.vertsplit(column))]

    # -- results and picture -------------------------------------------------------------------------------------------
    def add_output(self, name: str, expression: Any, unit: str = "") -> None:
        """A quantity that runs, filters and linear models compute, of (q, q̇ or u, q̈, inputs, t)."""
        self.table.require_new("output", name, self.outputs)
        self.outputs[name] = self.table.scalar(expression, f"output {name!r}")
        self.units[name] = unit

    def add_point(self, name: str, place: Any) -> None:
        """A point to draw, two or three coordinates in world axes."""
        self.table.require_new("point", name, self.points)
        self.points[name] = self.table.column_of(place, f"point {name!r}")

    def add_line(self, *points: str) -> None:
        """A line through points that are drawn."""
        for name in points:
            self.table.require_name("point", name, self.points)
        self.lines.append(tuple(points))

    def replace_values(self, **values: float) -> None:
        """Set values of parameters."""
        for name, value in values.items():
            self.table.require_name("parameter", name, self.parameter_values)
            self.parameter_values[name] = real_number(f"parameter {name!r}", value, ModelError)

    # -- expressions ---------------------------------------------------------------------------------------------------
    def values(self, given: Mapping[str, float] | None = None) -> dict[str, float]:
        """The value of every parameter, some of them replaced."""
        values = dict(self.parameter_values) | mapping("parameter", number)("values of parameters", given)
        for name, value in values.items():
            self.table.require_name("parameter", name, self.parameter_values)
            if value is None:
                raise ModelError(
                    "missing-argument", f"parameter {name!r} of system {self.name!r} has no value.",
                    Advice("Declare it with {}.", Call("s.parameter", Argument("value"))), where={"parameter": name},
                )  # fmt: skip
        return {name: float(value) for name, value in values.items() if value is not None}

    # -- inside --------------------------------------------------------------------------------------------------------
    @property
    def _rate_names(self) -> list[str]:
        return [f"{name}.rate" for name in self.coordinate_names]

    def _body(self, name: str, what: str, *, turning: bool = False) -> SystemBody:
        self.table.require_name("body", name, self.bodies, what)
        if turning and self.bodies[name].rotation is None:
            raise ModelError("wrong-type", f"{what} acts on {name!r}, a particle, which has no orientation.")
        return self.bodies[name]

    def _add_body(
        self, name: str, mass: Any, inertia: Any, position: Any, velocity: Any, turn: Any, omega: Any
    ) -> None:
        self.table.require_new("body", name, self.bodies)
        what = f"body {name!r}"
        place = self.table.vector(position, f"the position of {what}", time=True, coordinates=True)
        self.table.require_unit(place, LENGTH, f"the position of {what}")
        m = self.table.scalar(mass, f"the mass of {what}")
        self._constant(m, f"the mass of {what}")
        require_dimension(m, (1.0, 0.0, 0.0, 0.0), self.table.dimensions, f"the mass of {what}")
        rate = self.table.differentiate(place)
        moving = rate if velocity is None else self.table.vector(velocity, f"the velocity of {what}")
        if turn is None:
            self.bodies[name] = SystemBody(name, m, SX(3, 3), place, moving, given=velocity is not None)
            return
        orientation = self._orientation(turn, what)
        J = self._inertia(inertia, what)
        spin = orientation.omega if omega is None else self.table.vector(omega, f"the angular velocity of {what}")
        derived = velocity is None and omega is None
        self.bodies[name] = SystemBody(name, m, J, place, moving, orientation.matrix, spin, not derived)

    def _orientation(self, turn: Any, what: str) -> Orientation:
        if isinstance(turn, Orientation):
            return turn
        value = self.table.expression(turn, f"the orientation of {what}")
        if value.shape == (1, 1):
            return Orientation(rotation_about("z", value), ca.vertcat(0, 0, self.table.differentiate(value)))
        require_shape(value, f"the rotation of {what}", (3, 3))
        turning = value.T @ ca.reshape(self.table.differentiate(ca.vec(value)), 3, 3)
        return Orientation(value, ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0]))

    def _inertia(self, inertia: Any, what: str) -> Any:
        if isinstance(inertia, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in inertia):
            rows = [self.table.expression(row, f"the inertia of {what}") for row in inertia]
            if len({row.shape for row in rows}) != 1:
                raise ModelError("wrong-shape", f"the rows of the inertia of {what} have different lengths.")
            inertia = ca.horzcat(*map(ca.vec, rows)).T
        value = self.table.expression(inertia, f"the inertia of {what}")
        self._constant(value, f"the inertia of {what}")
        for entry in ca.vertsplit(ca.vec(value)):
            require_dimension(entry, (1.0, 2.0, 0.0, 0.0), self.table.dimensions, f"the inertia of {what}")
        if value.shape == (1, 1):
            return ca.diag(ca.vertcat(0, 0, value))
        if 1 in value.shape and value.numel() == 3:
            return ca.diag(ca.vec(value))
        require_shape(value, f"the inertia of {what}", (1, 1), (3, 1), (3, 3))
        if not ca.is_equal(ca.densify(value), ca.densify(value.T), 2):
            raise ModelError("not-symmetric", f"the inertia of {what} is not symmetric.")
        return value

    def _constant(self, value: Any, what: str) -> None:
        self.table.allow_only(value, what, ())
        if value.is_constant() and float(ca.mmin(ca.diag(ca.densify(value)) if value.is_square() else value)) < 0:
            raise ModelError("negative", f"{what} is negative.", where={"name": what})

    def _add_energy(self, kind: str, group: dict[str, Any], given: Any, name: str, wanted: Any) -> None:
        label = name or f"{kind} {len(group) + 1}"
        self.table.require_new(kind, label, group)
        value = self.table.scalar(given, f"{kind} {label!r}" if name else f"the {kind}")
        require_dimension(value, wanted, self.table.dimensions, f"{kind} {label!r}")
        group[label] = value

    def _row(self, value: Any, owner: str, k: int) -> Constraint:
        if value.is_op(ca.OP_LT) or value.is_op(ca.OP_LE):
            problem = f"constraint {owner!r} is an inequality; a row is an expression that is zero."
            raise ModelError("not-supported", problem, where={"row": owner})
        dimension_of(value, self.table.dimensions, f"constraint {owner!r}")
        accelerations = ca.vertcat(self.accelerations, self.table.column([f"{name}.rate" for name in self.definitions]))
        moving = ca.vertcat(self.rates, self.speeds)
        if ca.depends_on(value, accelerations):
            return Constraint(owner, value, ACCELERATION, k)
        if ca.depends_on(value, moving):
            return Constraint(owner, value, VELOCITY, k)
        if not self.coordinate_names or not ca.depends_on(value, self.q):
            problem = f"constraint {owner!r} does not depend on any coordinate."
            raise ModelError("independent-constraint", problem, where={"row": owner})
        return Constraint(owner, value, HOLONOMIC, k)


@equations.register
def _equations_of_system(system: System, **options: Any) -> EquationsOfMotion:
    """Equations of a system in symbols, by Lagrange's method where it fits, else in its speeds by Kane's."""
    from dalembert.symbolic.derivation import derive

    return equations(derive(system), **options)
