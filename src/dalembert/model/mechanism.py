"""The machine as its user describes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import anything, mapping
from dalembert.core.errors import ModelError, ModelWarning, require_name, require_new_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.tables import small_table
from dalembert.equations import CoordinateLimits
from dalembert.expressions import Quantity
from dalembert.model.bodies import (
    IDENTITY,
    Body,
    BodyFrame,
    BodyPieces,
    Place,
    Point,
    Scalar,
    is_number,
    matmul,
    not_negative,
    read_inertia,
    read_mesh,
    replace_places,
    require_number,
    require_type,
    rotation_matrix,
    transpose,
    vector,
)
from dalembert.model.couplings import Coupler, CouplingMethods, Driver, UserConstraint, Variable
from dalembert.model.flexible import FlexibleBodyData, FlexibleNode, FlexiblePieces
from dalembert.model.flexible_comparison import compare_rigid
from dalembert.model.forces import FORCES, Force
from dalembert.model.forces.contact import DAMPING, Contact, add_ground
from dalembert.model.forces.force import ForceMethods
from dalembert.model.forces.point_force import PointForce
from dalembert.model.forces.torque import Torque
from dalembert.model.joints import JOINTS, Joint
from dalembert.model.joints.joint import JointMethods
from dalembert.model.sensors import Measure, Sensor
from dalembert.record.units import in_si

for kinds in (FORCES, JOINTS):
    kinds.load_package()  # each kind adds its method to `ForceMethods` or `JointMethods`


@dataclass(frozen=True)
class NamedStart:
    """An initial state by name, such as the home pose of a robot, and the inputs that belong to it.

    ``home = m.starts["home"]``: ``da.assemble(eqs, home.position, velocity=home.velocity)``, ``inputs=home.inputs``.
    """

    position: Mapping[str, Any]
    velocity: Mapping[str, float]
    inputs: Mapping[str, float]


class Mechanism(JointMethods, CouplingMethods, ForceMethods):
    """Bodies, joints, forces, inputs and sensors of one machine.

    Parameters
    ----------
    name : shown in messages, figures and files.
    planar : True for motion in the x-y plane (gravity along -y), False for space (gravity along -z).
    gravity : vector of the gravity field [m/s²]; None for 9.81 downwards, 0 for none.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> m
    Mechanism('pendulum', planar, 1 bodies, 1 joints, 0 forces, 0 sensors)
    """

    def __init__(self, name: str, *, planar: bool = False, gravity: Any = None) -> None:
        if not isinstance(name, str) or not name.strip():
            problem = f"the name of a mechanism must be a text with at least one visible letter, got {name!r}."
            raise ModelError("bad-name", problem)
        require_type(planar, bool, f"mechanism {name!r}: planar must be True or False")
        self.name = name.strip()
        self.planar = planar
        self.description = ""  # in words, for files and reports
        size = 2 if planar else 3
        down = (0.0,) * (size - 1) + (-9.81,)
        if gravity is None:
            self.gravity = down
        elif is_number(gravity) and float(gravity) == 0:
            self.gravity = (0.0,) * size
        else:
            if is_number(gravity):
                form = Argument("gravity", (*(0,) * (size - 1), -abs(float(gravity))))
                problem = f"gravity of mechanism {name!r} must be a vector, got {gravity!r}."
                raise ModelError(
                    "wrong-shape", problem, Advice("Downwards it is {}.", form), where={"argument": "gravity"}
                )
            self.gravity = vector(gravity, size, f"gravity of mechanism {name!r}", "acceleration")
        self.ground = Body("ground", planar, position=(0.0,) * size, is_ground=True)
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.couplers: list[Coupler] = []
        self.drivers: list[Driver] = []
        self.constraints: list[UserConstraint] = []
        self.variables: list[Variable] = []
        self.forces: list[Force] = []
        self.sensors: list[Sensor] = []
        self.parameters: dict[str, float] = {}
        self.start: dict[str, Any] = {}  # initial condition of its motion: arguments of `assemble`
        self.starts: dict[str, NamedStart] = {}  # initial states by name, from its file
        self.loops: list[str] = []  # joints at which joint coordinates cut its loops, from its file
        self.simulation: dict[str, Any] = {}  # default arguments of `simulate`
        self.left_out: list[Finding] = []  # parts of its file that are not in the mechanism

    if not TYPE_CHECKING:  # a misspelt method is an error for type checkers

        def __getattr__(self, name: str) -> Any:
            """``add_<kind>`` of a kind of joint or force that another package declares."""
            kind = name.removeprefix("add_").replace("_", " ")
            if name.startswith("add_") and (kind in FORCES or kind in JOINTS):  # the registry has now loaded it
                return object.__getattribute__(self, name)
            if name == "check":
                raise AttributeError("a mechanism has no check(): m.validate() raises, da.check(m) reports")
            if name.startswith("_"):
                raise AttributeError(f"a mechanism has no attribute {name!r}", name=name, obj=self)
            known = [one for one in dir(self) if not one.startswith("_")]
            raise AttributeError(unknown_name("attribute", name, known, "a mechanism"))

        def __dir__(self) -> list[str]:
            list(FORCES), list(JOINTS)  # loads those of other packages
            return list(super().__dir__())

    def __repr__(self) -> str:
        kind = "planar" if self.planar else "spatial"
        return (
            f"Mechanism({self.name!r}, {kind}, {len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.forces)} forces, {len(self.sensors)} sensors)"
        )

    def _repr_html_(self) -> str:
        rows = [
            (element.name, word, str(getattr(element, "kind", "") or type(element).__name__.lower()))
            for word, group in (("body", self.bodies), ("joint", self.joints), ("force", self.forces),
                                ("sensor", self.sensors), ("driver", self.drivers))
            for element in group
        ]  # fmt: skip
        return small_table(repr(self), ("name", "part", "kind"), rows[:40], max(len(rows) - 40, 0))

    def named_parts(self) -> list[tuple[str, Any]]:
        """Every part that has a name, with the word for its kind."""
        groups: dict[str, list[Any]] = {
            "body": self.bodies, "joint": self.joints, "gear": self.couplers, "driver": self.drivers,
            "constraint": self.constraints, "variable": self.variables, "force": self.forces, "sensor": self.sensors,
        }  # fmt: skip
        return [(word, element) for word, group in groups.items() for element in group]

    def parts(self) -> list[Any]:
        """Everything that has a name: bodies, joints, gears, drivers, constraints, variables, forces, sensors."""
        return [element for _, element in self.named_parts()]

    def __getitem__(self, name: str) -> Any:
        """The part of this name, of a mechanism read from a file for instance: ``m["crank"].at(0.1, 0)``."""
        if name == "ground":
            return self.ground
        parts = {element.name: element for element in reversed(self.parts())}  # the first of two parts of one name
        require_name("part", name, parts, f"mechanism {self.name!r}", error=ModelError, where={"name": name})
        return parts[name]

    def parameter(self, name: str, value: float | str) -> Quantity:
        """A number that stays symbolic, so that ``eqs.replace(name=...)`` changes it without rebuilding.

        Use it wherever a number goes, also in arithmetic: ``crank.at(-length / 2, 0)``. The value may have a unit:
        "20 N/m".
        """
        require_new_name("parameter", name, (), "", error=ModelError)
        value = in_si(value, what=f"parameter {name!r}", error=ModelError)
        require_number(value, f"parameter {name!r}")
        if name in self.parameters and self.parameters[name] != float(value):
            problem = f"parameter {name!r} already has the value {self.parameters[name]:g}."
            raise ModelError("taken-name", problem, where={"parameter": name})
        self.parameters[name] = float(value)
        return Quantity.parameter(name, float(value))

    def add_body(
        self,
        name: str,
        *,
        mass: object = None,
        inertia: object = 0.0,
        position: Sequence[float] | None = None,
        rotation: object = None,
        angle: float = 0.0,
        center: Sequence[Any] | None = None,
        mesh: object = None,
        points: Mapping[str, Sequence[Any]] | None = None,
    ) -> Body:
        """A rigid body.

        Parameters
        ----------
        mass : [kg].  inertia : about the centre of mass [kg m²]: a number, three principal values, a 3x3 matrix
            in body axes, or a shape (`rod`, `box`, `cylinder`, `sphere`, `composite`).
        position, rotation (spatial: `da.rotation`, quaternion or matrix), angle (planar) : where the drawing shows the
            centre of mass; the first guess of `assemble`, and what ``at=`` of a joint refers to.
        center : centre of mass in the coordinates used by ``body.at``, when their origin is elsewhere.
        mesh : corners of triangles (n, 3, 3) in the same coordinates [m], by which pictures show the body.
        points : names of places in the same coordinates, for ``body.at("tip")`` and for files.
        """
        size = 2 if self.planar else 3
        angle = in_si(angle, "angle", what=f"angle of body {name!r}", error=ModelError)
        if self.planar and rotation is not None:
            advice = Advice("Use {}.", Argument("angle"))
            raise ModelError("not-supported", f"body {name!r}: a planar body has no rotation.", advice)
        if not self.planar and not (is_number(angle) and float(angle) == 0):
            advice = Advice("Use {}.", Argument("rotation"))
            raise ModelError("not-supported", f"body {name!r}: a spatial body has no angle.", advice)
        mass, inertia, origin, shape = read_inertia(name, mass, inertia, self.planar)
        if center is not None:
            origin = vector(center, size, f"center of body {name!r}", "length")
        place = () if position is None else vector(position, size, f"position of body {name!r}", "length")
        require_number(angle, f"angle of body {name!r}")
        body = Body(
            name,
            self.planar,
            mass,
            inertia,
            origin,
            tuple(float(p) for p in place),
            rotation_matrix(rotation, f"rotation of body {name!r}"),
            float(angle),
            shape,
            mesh=read_mesh(name, mesh, origin),
        )
        for key, named in mapping("point", anything)(f"points of body {name!r}", points).items():
            body.points[key] = vector(named, size, f"point {key!r} of body {name!r}", "length")
        self.bodies.append(body)
        return body

    def add_flexible_body(
        self,
        name: str,
        body_data: FlexibleBodyData | Any,
        *,
        position: Sequence[float] | None = None,
        rotation: object = None,
        angle: float = 0.0,
        stiffness: Any = 1.0,
        damping: Any = 1.0,
        cutoff_hz: float | None = None,
    ) -> Body:
        """A flexible body: its frame moves as a rigid body does, its modes deform it.

        Its places are the nodes of the data: ``rod.at("tip")``, ``rod.frame("tip", axis=(0, 0, 1))``. Its elastic
        coordinates are ``rod.mode1``, ``rod.mode2``, ...; ``rod.x`` is the place of its frame, not of a centre of mass.

        Parameters
        ----------
        body_data : from `da.structures.flexible_body` or `da.read_flexible_body`.
        position, rotation, angle : where the drawing shows its frame, as for `add_body`.
        stiffness, damping : factors of the stiffness and damping of the data, as numbers or parameters.
        cutoff_hz : no deformation oscillates above this frequency; faster ones follow their loads without delay.
        """
        advice = Advice("Make the data with {}.", Call("da.structures.flexible_body"))
        require_type(body_data, FlexibleBodyData, f"flexible body {name!r}: expected data", advice)
        data = body_data if cutoff_hz is None else body_data.limit_frequencies(cutoff_hz)
        leaving = data.out_of_plane_modes() if self.planar else []
        if leaving:
            shown = ", ".join(str(k) for k in leaving[:8]) + (", ..." if len(leaving) > 8 else "")
            problem = f"flexible body {name!r} in a planar machine: its modes {shown} leave the plane of x and y."
            advice = Advice("Keep the modes in the plane when the data are made.")
            raise ModelError("out-of-plane", problem, advice, where={"body": name}, evidence={"modes": leaving})
        c = data.center
        about_center = data.inertia - data.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
        body = self.add_body(
            name,
            mass=data.mass,
            inertia=float(about_center[2, 2]) if self.planar else about_center.tolist(),
            position=position,
            rotation=rotation,
            angle=angle,
            points={node.name: node.place[: 2 if self.planar else 3].tolist() for node in data.nodes},
        )
        stiffness = not_negative(stiffness, f"stiffness of body {name!r}")
        damping = not_negative(damping, f"damping of body {name!r}")
        self.bodies[-1] = replace(body, flexible=data, stiffness=stiffness, damping=damping)
        return self.bodies[-1]

    def make_flexible(
        self,
        body: str | Body,
        body_data: FlexibleBodyData | Any,
        *,
        nodes: Mapping[str, str],
        rotation: object = None,
        angle: float = 0.0,
        largest: float = 0.5,
        **factors: Any,
    ) -> Body:
        """Replace a rigid body by a flexible one, also in a machine from a file; returns the new body.

        Joints, forces and sensors on the body go to nodes of the data, with the directions that they had. The first
        entry of `nodes` places the data in the body. A warning reports every difference of mass, inertia or places.
        Coordinates of the body itself, such as ``rod.x`` and ``rod.angle``, become those of the frame of the data.

        Parameters
        ----------
        body_data : from `da.structures.flexible_body` or `da.read_flexible_body`.
        nodes : joint, force or sensor on the body, or a named point of it -> name of a node. What is not named goes to
            the node at its place.
        rotation, angle : of the axes of the data against those of the body, as for `add_body`.
        largest : difference from the rigid body, relative to its mass, inertia and size, above which the data are
            refused: they belong to another body, have other units or other axes.
        factors : ``stiffness``, ``damping`` and ``cutoff_hz``, as for `add_flexible_body`.

        Examples
        --------
        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", planar=True)
        >>> rod = m.add_body("rod", mass=0.47, inertia=0.0098, points={"end": (0.25, 0)})
        >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.25, 0))
        >>> frame = da.structures.Frame("strip", planar=True)
        >>> frame.add_points(["root", "tip"], [[0, 0], [0.5, 0]])
        >>> steel = {"section": da.structures.Section.rectangle(0.004, 0.03), "material": "steel"}
        >>> frame.add_beam("strip", "root", "tip", **steel, elements=4)
        >>> data = da.structures.flexible_body(frame, basis="clamped", fixed="root", modes=2)
        >>> m.make_flexible("rod", data, nodes={"hinge": "root", "end": "tip"}).points
        {'root': (0.0, 0.0), 'tip': (0.5, 0.0)}
        """
        positive_number("largest", largest, error=ModelError)
        name = body.name if isinstance(body, Body) else body
        rigid = {b.name: k for k, b in enumerate(self.bodies) if b.flexible is None}
        require_name("rigid body", name, rigid, f"mechanism {self.name!r}", error=ModelError, argument="body")
        kept, old = [*self.bodies], self.bodies[rigid[name]]
        position = (0.0,) * len(self.gravity) if old.position else None
        try:
            made = self.add_flexible_body(name, body_data, position=position, rotation=rotation, angle=angle, **factors)
        finally:
            self.bodies[:] = kept
        moved = BodyReplacement(self, old, made, nodes)
        parts = {key: [moved.relocate(part) for part in getattr(self, key)] for key in ("joints", "forces", "sensors")}
        ModelWarning.report(moved.compare(largest))
        self.bodies[rigid[name]] = moved.new
        for key, group in parts.items():
            setattr(self, key, group)
        return moved.new

    def add_flexible_pieces(
        self,
        name: str,
        pieces: FlexiblePieces | Any,
        *,
        position: Sequence[float] | None = None,
        rotation: object = None,
        angle: float = 0.0,
        **factors: Any,
    ) -> BodyPieces:
        """A flexible body in welded pieces, which may bend far: bodies ``blade1``, ... and welds ``blade_weld1``, ...

        Places of the whole are those of the piece that has them: ``blade.at("tip")``, ``blade.at(0.25, 0)``.

        Parameters
        ----------
        pieces : from `da.structures.flexible_pieces`.
        position, rotation, angle : where the drawing shows the origin of the whole.
        factors : ``stiffness``, ``damping`` and ``cutoff_hz`` of every piece, as for `add_flexible_body`.
        """
        advice = Advice("Make them with {}.", Call("da.structures.flexible_pieces"))
        require_type(pieces, FlexiblePieces, f"body {name!r}: expected pieces", advice)
        size = 2 if self.planar else 3
        angle = in_si(angle, "angle", what=f"angle of body {name!r}", error=ModelError)
        require_number(angle, f"angle of body {name!r}")
        if position is not None:
            position = vector(position, size, f"position of body {name!r}", "length")
        drawn = Body(name, self.planar, angle=angle, rotation=rotation_matrix(rotation, f"rotation of body {name!r}"))
        places = [tuple(place[:size].tolist()) for place in pieces.places]
        bodies = []
        for k, (data, place) in enumerate(zip(pieces.pieces, places, strict=True)):
            here = None if position is None else [p + d for p, d in zip(position, drawn.turn(place), strict=True)]
            bodies.append(
                self.add_flexible_body(f"{name}{k + 1}", data, position=here, rotation=rotation, angle=angle, **factors)
            )
        for k, (i, start, j, end) in enumerate(pieces.welds):
            self.add_fixed(f"{name}_weld{k + 1}", bodies[i].at(start), bodies[j].at(end))
        points = {key: tuple(place[:size].tolist()) for key, place in pieces.points.items()}
        return BodyPieces(name, tuple(bodies), tuple(places), points)

    def add_sensor(self, name: str, measure: Measure | Any) -> Sensor:
        """A named output: ``m.add_sensor("encoder", da.angle("A"))``."""
        advice = Advice("Measures are made by {}.", Call("da.angle"), Call("da.position"))
        require_type(measure, Measure, f"sensor {name!r}: expected a measure", advice)
        sensor = Sensor(name, measure.validate(f"sensor {name!r}"))
        self.sensors.append(sensor)
        return sensor

    def add_ground(
        self,
        height: float | None = None,
        *,
        stiffness: Scalar | None = None,
        damping: Scalar = DAMPING,
        friction: Scalar = 0.8,
        speed: Scalar = 1e-2,
        exponent: Scalar = 1.0,
        bodies: Iterable[str | Body] | None = None,
    ) -> list[Contact]:
        """Contacts of the collision shapes of a robot file with a horizontal plane, ``shin.ground1`` and so on.

        Spheres, the ends of capsules, corners of boxes and eight points of each rim of cylinders touch it; meshes do
        not. `da.spring_force` measures the force of a contact.

        Parameters
        ----------
        height : of the plane [m]; None for that of the file, else of the lowest point of the robot as it is drawn.
        stiffness : of each contact; None for the weight of the machine at a depth of 1 mm.
        damping, friction, speed, exponent : as for `add_contact`.
        bodies : those that touch the ground, such as feet; None for all that have shapes.
        """
        options = {"damping": damping, "friction": friction, "speed": speed, "exponent": exponent}
        return add_ground(self, height, stiffness, bodies, options)

    def limits(self) -> dict[str, CoordinateLimits]:
        """Limits of joint coordinates by their full names, and of inputs that are the efforts along them.

        ``m.limits()["A.angle"].upper`` is the limit of an angle, ``m.limits()["torque"].upper`` that of an input.
        """
        from dalembert.model.check import input_limits

        stops = [stop.coordinate for stop in (force.limits() for force in self.forces) if stop is not None]
        by_name = {
            f"{joint.name}.{name}": replace(limit, stopped=f"{joint.name}.{name}" in stops or joint.name in stops)
            for joint in self.joints
            for name, limit in joint.limits.items()
        }
        return by_name | input_limits(self, by_name)

    def inputs(self) -> list[str]:
        """Names of the input channels, in the order of the forces, then of the drivers that use them."""
        driven = [driver.input for driver in self.drivers if driver.input]
        return list(dict.fromkeys([*(channel for force in self.forces for channel in force.inputs()), *driven]))

    def problems(self) -> list[Finding]:
        """All problems of the description that are found without mathematics; empty where there are none."""
        from dalembert.model.check import find_problems

        return find_problems(self)

    def validate(self) -> None:
        """Raise one `ModelError` that lists every problem of the description."""
        ModelError.refuse(self.problems(), f"problems in mechanism {self.name!r}")


class BodyReplacement:
    """The places of a rigid body become nodes of a flexible one, whose axes and origin the first named pair gives.

    new : the flexible body, in the pose of the rigid one.  gaps : distances of places from their nodes, by name.
    """

    def __init__(self, m: Mechanism, old: Body, made: Body, nodes: Mapping[str, str]) -> None:
        assert made.flexible is not None
        self.old, self.nodes, self.problems, self.gaps = old, nodes, list[Finding](), dict[str, float]()
        self.turn: FloatArray = np.array(made.rotation)
        if old.planar:
            c, s = math.cos(made.angle), math.sin(made.angle)
            self.turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        what, where = f"nodes of body {old.name!r}", {"body": old.name}
        if not isinstance(nodes, Mapping) or not nodes:
            problem = f"{what} must name a node for at least one joint or point, got {nodes!r:.60}."
            raise ModelError("missing-argument", problem, where=where)
        fixed = [key for key, place in old.points.items() if not any(isinstance(x, Quantity) for x in place)]
        self.named = {key: self.read(old.at(key)) for key in fixed}
        parts: list[Any] = [*m.joints, *m.forces, *m.sensors]
        for part in parts:
            for place in self.places_of(part):
                self.named.setdefault(part.name, self.read(place))
        for key, node in nodes.items():
            require_name("place", key, self.named, f"body {old.name!r}", error=ModelError, argument="nodes")
            made.flexible.node(node)
        self.made, self.data = made, made.flexible
        key, node = next(iter(nodes.items()))
        self.origin = self.named[key] - self.turn @ made.flexible.node(node).place
        shift = old.turn(self.origin[: old.dimension].tolist())
        position = old.position and tuple(float(p + d) for p, d in zip(old.position, shift, strict=True))
        turned = matmul(old.rotation, made.rotation)
        self.new = replace(made, position=position, rotation=turned, angle=old.angle + made.angle)

    def places_of(self, part: Any) -> list[Place]:
        """Bodies, points and frames of a part on the body."""
        found: list[Place] = []

        def visit(place: Place) -> Place:
            if (place if isinstance(place, Body) else place.body) is self.old:
                found.append(place)
            return place

        replace_places(part, visit)
        return found

    def read(self, place: Place) -> FloatArray:
        """Coordinates from the centre of mass, in space [m]."""
        given = () if isinstance(place, Body) else place.coordinates
        if any(isinstance(x, Quantity) for x in given):
            problem = f"a place of body {self.old.name!r} depends on a parameter: nodes of flexible bodies do not move."
            raise ModelError("not-supported", problem, where={"body": self.old.name})
        return np.array([*map(float, given), 0.0, 0.0, 0.0][:3])

    def node_at(self, name: str, place: FloatArray) -> FlexibleNode:
        """The node for a place of a part: the one named for it, else the one that is there."""
        size = 1e-9 * (1 + np.linalg.norm(place))  # coordinates written with nine digits
        near = [key for key in self.nodes if np.linalg.norm(self.named[key] - place) <= size]
        key = name if name in self.nodes else near[0] if near else ""
        reached = {
            node.name: float(np.linalg.norm(self.origin + self.turn @ node.place - place)) for node in self.data.nodes
        }
        node = self.nodes[key] if key else min(reached, key=reached.__getitem__)
        if not key and reached[node] > size:
            problem = f"{name!r} is at no node of body {self.old.name!r}: the nearest, {node!r}, is "
            problem += f"{reached[node]:.3g} m away."
            advice = Advice("Name its node with {}.", Argument("nodes", {name: node}))
            where = {"body": self.old.name, "part": name}
            self.problems.append(Finding("no-node", problem, where, {"distance": reached[node]}, (advice,)))
        self.gaps[key or name] = reached[node]
        return self.data.node(node)

    def relocate(self, part: Any) -> Any:
        """The part with its places on the new body."""

        def move(place: Place) -> Place:
            if (place if isinstance(place, Body) else place.body) is not self.old:
                return place
            node = self.node_at(part.name, self.read(place))
            coordinates = tuple(node.place[: self.old.dimension].tolist())
            frame = isinstance(place, BodyFrame)
            if not frame and not (self.is_turned and isinstance(part, Sensor)):  # a sensor may measure in body axes
                return Point(self.new, coordinates)
            axes, angle = (place.axes, place.angle) if isinstance(place, BodyFrame) else (IDENTITY, 0.0)
            axes = matmul(transpose(self.made.rotation), axes)
            return BodyFrame(self.new, coordinates, axes, angle - self.made.angle)

        part = self.turn_vector(part)
        if isinstance(part, Torque) and part.body is self.old:  # it has no place on a rigid body
            node = self.node_at(part.name, self.read(self.old)).name
            del self.gaps[part.name]
            return replace(part, body=self.new, node=node)
        return replace_places(part, move)

    @property
    def is_turned(self) -> bool:
        """Whether the axes of the data are not those of the rigid body."""
        return not np.array_equal(self.turn, np.eye(3))

    def turn_vector(self, part: Any) -> Any:
        """The part with a vector in the axes of the rigid body, where it has one, in those of the data."""
        key, vector = "", None
        if isinstance(part, (PointForce, Torque)) and part.axes == "body" and part.bodies()[0] is self.old:
            key = "force" if isinstance(part, PointForce) else "torque"
            vector = getattr(part, key)
        elif (
            isinstance(part, Contact)
            and part.bodies()[0] is self.old
            and (self.old.planar or not isinstance(part.plane, BodyFrame))
        ):
            key, vector = "normal", part.normal or ((0.0, 1.0) if self.old.planar else (0.0, 0.0, 1.0))
        if not self.is_turned or not key or is_number(vector):  # a torque in the plane has no direction
            return part
        if not isinstance(vector, Sequence) or any(isinstance(x, Quantity) or not is_number(x) for x in vector):
            problem = f"{part.what} is an expression in the axes of body {self.old.name!r}: it cannot be turned."
            advice = Advice("Give data in the axes of the body, without {}.", Argument("rotation"))
            self.problems.append(Finding("not-supported", problem, {"part": part.name}, {}, (advice,)))
            return part
        turned = self.turn.T @ np.array([*map(float, vector), 0.0][:3])
        return replace(part, **{key: tuple(turned[: self.old.dimension].tolist())})

    def compare(self, largest: float) -> list[Finding]:
        """Differences from the rigid body."""
        ModelError.refuse(self.problems, f"places of body {self.old.name!r} without a node", {"body": self.old.name})
        axes = (2,) if self.old.planar else (0, 1, 2)
        inertia = np.zeros((3, 3))
        inertia[np.ix_(axes, axes)] = np.array(self.old.inertia, dtype=np.float64)
        inertia = self.turn.T @ inertia @ self.turn
        center = -self.turn.T @ self.origin
        return compare_rigid(self.data, float(self.old.mass), center, inertia, axes, self.gaps, largest)
