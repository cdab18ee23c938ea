"""The planar model: bodies with nodes, joints between nodes, and additions of the user, as described by the user.

Every node and body has its own symbols. `reduction` replaces the symbols that joints make equal; `producer` makes
equations of motion in the remaining ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name, require_new_name
from dalembert.core.findings import Advice, Argument
from dalembert.expressions import Expr, call_user
from dalembert.symbolic.planar.element import locate_center
from dalembert.symbolic.planar.node_names import GROUND, body_name, join_node, split_node, split_pair
from dalembert.symbolic.planar.parts import Node, OwnCoordinate, OwnSpeed, PlanarBody, PlanarEffort, PlanarJoint
from dalembert.symbolic.text.read import read_scalar, require_symbols

SX = ca.SX
Value: TypeAlias = "Expr | float | str"  # an expression of the variables, a number, or the name of a variable
Place: TypeAlias = "Sequence[Value] | Expr | str"  # two coordinates, or the name of a node

REVOLUTE, PRISMATIC, SLOT = "revolute", "prismatic", "pin in slot"


class PlanarModel:
    """A planar linkage, described by the nodes of its bodies.

    Bodies are numbered or named; ``"4.2"`` is the second node of body 4, body 0 is the ground. A revolute joint makes
    two nodes one; a slider moves along the line through two nodes. `da.equations` makes equations of motion of it.

    gravity : [m/s²] along -y, or a vector (x, y); ``m.gravity = ...`` sets it later, with parameters perhaps.

    Every variable has the name of its channel, and ``m["4.rate"]`` is its symbol, for forces and constraints of your
    own: ``2.1.x, 2.1.y, 2.1.vx, 2.1.vy`` of a node, ``4.angle, 4.rate`` of a body, ``<joint>.angle, <joint>.rate`` of
    a revolute joint, ``<joint>.displacement, <joint>.speed`` of a slider. A joint without a name is called by its
    bodies: ``0-4``.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.symbolic.PlanarModel("pendulum")
    >>> m.add_ground((0, 0))
    >>> m.add_bar(1, (0, 0), (0.6, 0), mass=2.0)
    >>> m.add_revolute("0.1-1.1", input="torque")
    >>> eqs = da.equations(m)
    >>> eqs.speeds.names
    ('1.2.vx', '1.2.vy', '1.rate', '0-1.rate')
    >>> run = da.inverse_dynamics(eqs, {"1.angle": lambda t: t**2}, times=[0.0])
    >>> float(run["torque"][0].round(12))  # weight and inertia: 2·9.81·0.3 + 2·0.6²/3 · 2
    6.366
    """

    def __init__(self, name: str = "linkage", *, gravity: Value | Place = 9.81) -> None:
        self.name = name
        self.time = SX.sym("t")
        self.bodies: dict[str, PlanarBody] = {}
        self.joints: dict[str, PlanarJoint] = {}
        self.inputs: dict[str, tuple[Any, str]] = {}
        self.parameters: dict[str, tuple[Any, float]] = {}
        self.own_coordinates: dict[str, OwnCoordinate] = {}
        self.own_speeds: dict[str, OwnSpeed] = {}
        self.efforts: list[PlanarEffort] = []
        self.constraints: dict[str, Any] = {}
        self.drivers: dict[str, tuple[Any, Any]] = {}
        self.sensors: dict[str, tuple[Any, str]] = {}
        self._named: dict[str, Any] = {"t": self.time}
        self._known: set[int] = {self.time.element_hash()}
        self._ground_given = False
        self.gravity = gravity
        self._add_body(GROUND, (), 0.0, 0.0, (1, 1), (0.0, 0.0), None, 0.0)

    # -- symbols ---------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> Any:
        """The symbol or expression of a channel."""
        require_name("variable", name, self._named, f"model {self.name!r}", error=ModelError)
        return self._named[name]

    @property
    def gravity(self) -> Any:
        """(2,) [m/s²], an expression of the parameters."""
        return self._gravity

    @gravity.setter
    def gravity(self, given: Value | Place) -> None:
        vector = isinstance(given, (Sequence, np.ndarray)) or (isinstance(given, SX) and given.shape[0] == 2)
        self._gravity = self._place(given if vector else (0.0, -1.0 * self.constant(given, "gravity")), "gravity")

    def parameter(self, name: str, value: float) -> Any:
        """A number that stays symbolic, so that ``eqs.replace(name=...)`` changes it without rebuilding."""
        number = self.number(value, f"parameter {name!r}")
        symbol = self._new(name)
        self.parameters[name] = (symbol, number)
        return symbol

    def add_input(self, name: str, unit: str = "") -> Any:
        """An input of your own, for `add_force`, `add_torque` and expressions; its symbol."""
        symbol = self._new(name)
        self.inputs[name] = (symbol, unit)
        return symbol

    def _new(self, name: str) -> Any:
        require_new_name("variable", name, self._named, f"model {self.name!r}", error=ModelError)
        self._named[name] = symbol = SX.sym(name)
        self._known.add(symbol.element_hash())
        return symbol

    # -- reading of arguments ----------------------------------------------------------------------------------------
    def expression(self, given: object, what: str) -> Any:
        """One expression of the model's symbols, of CasADi or SymPy; or a number, or the name of a variable."""
        if isinstance(given, str):
            return self[given]
        value = read_scalar(given, what, self._named)
        require_symbols(value, what, self._known, f"which is no variable of model {self.name!r}")
        return value

    def constant(self, given: object, what: str) -> Any:
        """An expression of parameters alone."""
        value = self.expression(given, what)
        require_symbols(value, what, self.parameters, "but may depend on parameters only", by_name=True)
        return value

    def number(self, given: object, what: str) -> float:
        """The value of an expression of parameters, with their own values."""
        return float(self.numbers([self.constant(given, what)], what)[0])

    def numbers(self, values: Sequence[Any], what: str = "a value") -> Any:
        """(n,) values of expressions of parameters, with their own values."""
        symbols = ca.vertcat(SX(0, 1), *(symbol for symbol, _ in self.parameters.values()))
        function = ca.Function("numbers", [symbols], [ca.densify(ca.vertcat(*values))])
        result = np.array(function(ca.DM([value for _, value in self.parameters.values()])), dtype=float).ravel()
        if not np.isfinite(result).all():
            raise ModelError("not-finite", f"{what} must be finite, got {result}.")
        return result

    def _place(self, given: object, what: str) -> Any:
        """(2,) of a place: coordinates, or the name of a node at the same place."""
        if isinstance(given, str):
            body, k = self.node(given, what)
            return self.bodies[body].places[k - 1]
        return ca.vertcat(*(self.constant(x, what) for x in _pair(given, what)))

    def node(self, given: object, what: str) -> Node:
        """A node that exists, by its name or as body and number."""
        body, k = given if isinstance(given, tuple) else split_node(given, what)
        nodes = [join_node((body, n + 1)) for n in range(len(self._body(body, what).places))]
        name = join_node((body, k))
        require_name("node", name, nodes, argument=what, error=ModelError, where={"node": name})
        return body, k

    # -- bodies ------------------------------------------------------------------------------------------------------
    def add_ground(self, *places: Place) -> None:
        """Nodes of the ground, which is body 0: ``0.1``, ``0.2``, ..."""
        if self._ground_given:
            raise ModelError("duplicate", f"model {self.name!r} has its ground already.", where={"body": GROUND})
        drawn = tuple(self._place(place, f"node 0.{k + 1}") for k, place in enumerate(places))
        positions, velocities = self._new_nodes(GROUND, len(drawn))
        self.bodies[GROUND] = replace(self.bodies[GROUND], places=drawn, positions=positions, velocities=velocities)
        self._ground_given = True

    def add_bar(
        self, name: object, first: Place, second: Place, *, mass: Value, inertia: Value | None = None,
        center: Value = 0.5, length: Value | None = None,
    ) -> None:  # fmt: skip
        """A body with two nodes.

        Parameters
        ----------
        first, second : places of its nodes as drawn, (x, y) [m] or the name of a node at the same place.
        mass : [kg].  inertia : about the centre of mass [kg m²]; of a uniform rod when left out.
        center : centre of mass, as a share of the way from the first node to the second.
        length : [m] where the drawing is only a first guess; the distance of the drawn nodes when left out.
        """
        label = body_name(name)
        what = f"body {label!r}"
        places = tuple(self._place(place, f"{what}, node {k}") for k, place in ((1, first), (2, second)))
        size = None if length is None else self.constant(length, f"{what}: length")
        if size is not None:
            self._require_from_zero(size, f"{what}: length", above=True)
        if inertia is None:
            squared = ca.dot(places[1] - places[0], places[1] - places[0]) if size is None else size**2
            inertia = self.constant(mass, f"{what}: mass") * squared / 12
        self._add_body(label, places, mass, inertia, (1, 2), (center, 0.0), size, 0.0)

    def add_body(
        self, name: object, places: Sequence[Place], *, mass: Value, inertia: Value = 0.0,
        center: Sequence[Value] = (0.0, 0.0), between: tuple[int, int] = (1, 2), radius: float = 0.0,
    ) -> None:  # fmt: skip
        """A rigid body with one node or more.

        Parameters
        ----------
        places : of its nodes as drawn, each (x, y) [m] or the name of a node at the same place.
        mass : [kg].  inertia : about the centre of mass [kg m²]. A body of one node without inertia is a particle.
        center : two numbers a₁, a₂ that place the centre of mass from the nodes i, j of ``between``: a₁ times the way
            from i to j, and a₂ times this way turned to the left by 90°. At the first node when left out.
        radius : [m] of the disc that pictures show of a body with one node.
        """
        label = body_name(name)
        if isinstance(places, str) or not isinstance(places, (Sequence, np.ndarray)) or not len(places):
            raise ModelError("empty", f"body {label!r} needs a list of at least one node, got {places!r}.")
        drawn = tuple(self._place(place, f"body {label!r}, node {k + 1}") for k, place in enumerate(places))
        size = self._require_from_zero(radius, f"body {label!r}: radius")
        pair = tuple(between) if isinstance(between, (Sequence, np.ndarray)) else ()
        self._add_body(label, drawn, mass, inertia, pair, center, None, size)

    def _require_from_zero(self, given: object, what: str, *, above: bool = False) -> float:
        """The value of an expression of parameters that is not negative, or ``above`` zero."""
        value = self.number(given, what)
        if value < 0 or (above and value == 0):
            code, limit = ("not-positive", "above zero") if above else ("negative", "zero or more")
            raise ModelError(code, f"{what} must be {limit}, got {value:g}.")
        return value

    def _add_body(
        self, name: str, places: tuple[Any, ...], mass: Value, inertia: Value, between: tuple[int, ...],
        center: Sequence[Value], length: Expr | None, radius: float,
    ) -> None:  # fmt: skip
        what = f"body {name!r}"
        require_new_name("body", name, self.bodies, f"model {self.name!r}", error=ModelError)
        values = {
            key: self.constant(number, f"{what}: {key}") for key, number in (("mass", mass), ("inertia", inertia))
        }
        for key, value in values.items():
            self._require_from_zero(value, f"{what}: {key}")
        a = tuple(self.constant(x, f"{what}: center") for x in _pair(center, f"{what}: center"))
        if len(places) < 2:
            if not all(x.is_zero() for x in a):
                raise ModelError(
                    "missing-argument", f"{what} has one node; a centre of mass beside it needs a second one.",
                    Advice("Give a second place to {}.", Argument("places")), where={"body": name},
                )  # fmt: skip
            between = (1, 1)
        elif len(between) != 2 or between[0] == between[1] or not all(k in range(1, len(places) + 1) for k in between):
            problem = f"{what}: the centre of mass lies between two of its {len(places)} nodes, got {between!r}."
            raise ModelError("out-of-range", problem, where={"body": name})
        positions, velocities = self._new_nodes(name, len(places))
        angle, rate = (self._new(f"{name}.{c}") for c in ("angle", "rate"))
        self.bodies[name] = PlanarBody(
            name, places, values["mass"], values["inertia"], (between[0], between[1]), (a[0], a[1]), length, radius,
            positions, velocities, angle, rate,
        )  # fmt: skip
        if len(places) > 1:
            drawn = self.numbers([places[1] - places[0]], f"{what}: the way from its first node to its second")
            if not np.linalg.norm(drawn) > 0:
                problem = f"the first two nodes of {what} are drawn at one place, so its angle is not defined."
                raise ModelError("zero-length", problem, where={"body": name})

    def _new_nodes(self, name: str, count: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Symbols of places and velocities of nodes."""
        positions, velocities = (
            tuple(ca.vertcat(*(self._new(f"{name}.{k}.{kind}{c}") for c in "xy")) for k in range(1, count + 1))
            for kind in ("", "v")
        )
        return positions, velocities

    # -- joints ------------------------------------------------------------------------------------------------------
    def add_revolute(self, nodes: str, *, name: str = "", input: str = "", reaction: bool = False) -> None:
        """A revolute joint of two nodes, such as ``"0.1-3.1"``.

        Parameters
        ----------
        name : the bodies, ``0-3``, when left out.
        input : channel of a torque on the second body, against the first [N m].
        reaction : True keeps both nodes and records the force on the second body, ``<joint>.force.x``, ``.force.y``;
            else the two become one node with fewer variables.
        """
        a, b = (self.node(node, f"joint {nodes!r}") for node in split_pair(nodes, "add_revolute"))
        for joint in self.joints.values():
            if joint.kind == REVOLUTE and {joint.a, joint.b} == {a, b}:
                problem = f"the revolute joint {nodes!r} already exists; its name is {joint.name!r}."
                raise ModelError("duplicate", problem, where={"joint": joint.name})
        self._add_joint(name, REVOLUTE, a, b, None, input, reaction, ("angle", "rate"), "N m")

    def add_prismatic(self, guide: str, node: str, *, name: str = "", input: str = "") -> None:
        """A slider: the node moves on the line through two nodes of another body, and both bodies turn together.

        guide : two nodes of one body, ``"0.3-0.4"``; the displacement counts from the first to the second.
        name : the bodies, ``0-1``, when left out.  input : channel of a force on the second body along the guide [N].
        """
        self._add_slider(PRISMATIC, guide, node, name, input)

    def add_slot(self, guide: str, node: str, *, name: str = "", input: str = "") -> None:
        """A pin in a slot: as `add_prismatic`, but the bodies turn on their own."""
        self._add_slider(SLOT, guide, node, name, input)

    def _add_slider(self, kind: str, guide: str, node: str, name: str, input: str) -> None:
        what = f"guide {guide!r}"
        a, end = (self.node(node, what) for node in split_pair(guide, "guide"))
        b = self.node(node, f"slider on {what}")
        if a[0] != end[0]:
            raise ModelError("wrong-owner", f"{what}: both nodes must belong to one body.", where={"guide": guide})
        places = self.bodies[a[0]].places
        if a == end or not np.linalg.norm(self.numbers([places[end[1] - 1] - places[a[1] - 1]])) > 0:
            problem = f"{what} has no direction: its two nodes are drawn at one place."
            raise ModelError("zero-length", problem, where={"guide": guide})
        for joint in self.joints.values():
            if joint.end is not None and (joint.a[0], joint.b) == (a[0], b):
                problem = f"node {node!r} slides on body {a[0]!r} already, by joint {joint.name!r}."
                raise ModelError("duplicate", problem, where={"joint": joint.name})
        self._add_joint(name, kind, a, b, end, input, False, ("displacement", "speed"), "N")

    def _add_joint(
        self, name: str, kind: str, a: Node, b: Node, end: Node | None, input: str, apart: bool,
        channels: tuple[str, str], unit: str,
    ) -> None:  # fmt: skip
        name = name or f"{a[0]}-{b[0]}"
        if a[0] == b[0]:
            problem = f"joint {name!r} is between body {a[0]!r} and itself."
            raise ModelError("same-body", problem, where={"joint": name})
        self._require_new("joint", name)
        if input and self.inputs.get(input, (None, unit))[1] != unit:
            problem = f"joint {name!r}: input {input!r} already exists, in {self.inputs[input][1] or 'no unit'}."
            raise ModelError("unit-mismatch", problem, where={"joint": name, "input": input})
        if input and input not in self.inputs:
            self.add_input(input, unit)
        coordinate, rate = (self._new(f"{name}.{c}") for c in channels)
        self.joints[name] = PlanarJoint(name, kind, a, b, end, input, apart, coordinate, rate)

    def _require_new(self, kind: str, name: str) -> None:
        owners = (*self.joints, *self.constraints, *self.drivers, *(effort.name for effort in self.efforts))
        advice = Advice("Give another {}.", Argument("name"))
        require_new_name(kind, name, owners, f"model {self.name!r}", advice, error=ModelError)

    # -- additions of the user ---------------------------------------------------------------------------------------
    def add_coordinate(self, name: str, rate: Value, *, start: float = 0.0, unit: str = "rad") -> Any:
        """A coordinate of your own, by its rate (an expression affine in the speeds); its symbol.

        ``m.add_coordinate("q1", m["4.rate"])`` counts the angle of body 4 from ``start``.
        """
        value = self.expression(rate, f"rate of coordinate {name!r}")
        symbol = self._new(name)
        self.own_coordinates[name] = OwnCoordinate(symbol, value, self.number(start, f"start of {name!r}"), unit)
        return symbol

    def add_speed(self, name: str, *, inertia: Value = 0.0, force: Value = 0.0, unit: str = "rad/s") -> Any:
        """A quasi-velocity of your own; its symbol. Constraints, or an inertia, must determine it.

        inertia : of this speed itself.  force : generalized force on it.
        """
        own_inertia = self.constant(inertia, f"inertia of {name!r}")
        self._require_from_zero(own_inertia, f"inertia of {name!r}")
        effort = self.expression(force, f"force on {name!r}")
        symbol = self._new(name)
        self.own_speeds[name] = OwnSpeed(symbol, own_inertia, effort, unit)
        return symbol

    def add_constraint(self, expression: Value, *, name: str = "") -> None:
        """An equation ``expression = 0`` between variables: at position level, or with speeds in it."""
        name = name or f"constraint {len(self.constraints) + 1}"
        self._require_new("constraint", name)
        value = self.expression(expression, f"constraint {name!r}")
        if not ca.symvar(value):
            problem = f"constraint {name!r} does not depend on any variable."
            raise ModelError("independent-constraint", problem, where={"constraint": name})
        self.constraints[name] = value

    def add_driver(self, name: str, coordinate: Value, motion: Callable[[Any], Any] | float) -> None:
        """A prescribed motion: the coordinate (its name, or an expression) follows a function of time.

        The effort that it needs is recorded as ``<driver>.effort``.
        """
        self._require_new("driver", name)
        value = self.expression(coordinate, f"driver {name!r}")
        for driver, (driven, _) in self.drivers.items():
            if ca.is_equal(driven, value, 4):
                problem = f"driver {name!r} prescribes what driver {driver!r} prescribes."
                raise ModelError("duplicate", problem, where={"driver": name})
        what = f"motion of driver {name!r}"
        wanted = call_user(motion, what, self.time) if callable(motion) else motion
        self.drivers[name] = (value, self.expression(wanted, what))

    def add_force(self, name: str, at: object, force: Sequence[Value]) -> None:
        """A force in axes of the world [N]: two numbers, expressions or names of inputs.

        at : a node, ``"2.1"``, or a body: its centre of mass.
        """
        self._require_new("force", name)
        value = ca.vertcat(*(self.expression(x, f"force {name!r}") for x in _pair(force, f"force {name!r}")))
        if isinstance(at, str) and "." in at:
            body, k = self.node(at, f"force {name!r}")
            velocity = self.bodies[body].velocities[k - 1]
        else:
            target = self._body(at, f"force {name!r}")
            i, j = target.between
            velocity = locate_center(target.velocities[i - 1], target.velocities[j - 1], *target.center)
        self.efforts.append(PlanarEffort(name, velocity, value))

    def add_torque(self, name: str, body: object, torque: Value, *, against: object = GROUND) -> None:
        """A torque on a body, against another [N m]: a number, an expression or the name of an input."""
        self._require_new("torque", name)
        driven, reacting = (self._body(target, f"torque {name!r}") for target in (body, against))
        self.efforts.append(
            PlanarEffort(name, driven.rate - reacting.rate, self.expression(torque, f"torque {name!r}"))
        )

    def _body(self, given: object, what: str) -> PlanarBody:
        name, place = body_name(given), f"model {self.name!r}"
        require_name("body", name, self.bodies, place, argument=what, error=ModelError, where={"body": name})
        return self.bodies[name]

    def add_sensor(self, name: str, expression: Value, unit: str = "") -> None:
        """An output: an expression of variables, inputs and time."""
        require_new_name("variable", name, (*self._named, *self.sensors), f"model {self.name!r}", error=ModelError)
        self.sensors[name] = (self.expression(expression, f"sensor {name!r}"), unit)

    def __repr__(self) -> str:
        moving = len(self.bodies) - 1
        return f"PlanarModel({self.name!r}: {moving} bodies, {len(self.joints)} joints, {len(self.inputs)} inputs)"


def _pair(given: object, what: str) -> Any:
    """The two entries of a place or a force."""
    values: Any = ca.vertsplit(given) if isinstance(given, SX) else given
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or len(values) != 2:
        raise ModelError("wrong-shape", f"{what} must be two coordinates x, y, got {given!r}.")
    return values
