"""Everything wrong with a description, at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import unknown_name
from dalembert.expressions.quantities import Quantity
from dalembert.model.bodies import Body, inertia_problems
from dalembert.model.couplings import ROTATION_VECTOR

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism
    from dalembert.model.options import Declared


def coordinate_names(m: Mechanism) -> dict[str, str]:
    """Every name a coordinate can be called by -> its full name (``"A"`` -> ``"A.angle"`` where it has only one)."""
    names: dict[str, str] = {}
    for joint in m.joints:
        full = [f"{joint.name}.{c[0]}" for c in joint.coordinates]
        names.update({f: f for f in full})
        if full:
            names.setdefault(joint.name, full[0])
    parts = ("x", "y", "angle") if m.planar else ("x", "y", "z")
    for body in m.bodies:
        names.update({f"{body.name}.{p}": f"{body.name}.{p}" for p in parts})
    for variable in m.variables:
        names[variable.name] = variable.name
    return names


def find_problems(m: Mechanism) -> list[str]:
    """What is wrong with a mechanism, one sentence each."""
    names = _name_problems(m)
    if not all(isinstance(part.name, str) for part in m.parts()):
        return names  # nothing else can be told apart
    return [
        *names,
        *(problem for body in m.bodies for problem in inertia_problems(body.name, body.mass, body.inertia, m.planar)),
        *_body_problems(m),
        *_coordinate_problems(m),
        *_force_problems(m),
        *_sensor_problems(m),
        *_channel_problems(m),
        *_parameter_problems(m),
        *_disconnected(m),
    ]


def _where(m: Mechanism) -> str:
    return f"mechanism {m.name!r}"


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != "" and name == name.strip() and name.isprintable()


def _name_problems(m: Mechanism) -> list[str]:
    problems: list[str] = []
    if not m.bodies:
        problems.append(f"{_where(m)} has no bodies.")
    named: list[tuple[str, Any]] = [
        *(("body", b.name) for b in m.bodies),
        *(("joint", j.name) for j in m.joints),
        *(("gear", c.name) for c in m.couplers),
        *(("driver", d.name) for d in m.drivers),
        *(("constraint", c.name) for c in m.constraints),
        *(("variable", v.name) for v in m.variables),
        *(("force", f.name) for f in m.forces),
        *(("sensor", s.name) for s in m.sensors),
    ]
    for kind, name in [*named, *(("input", channel) for channel in m.inputs())]:
        if not _is_name(name):
            problems.append(f"{kind} name must be a non-empty line of text without outer blanks, got {name!r}.")
    for name, count in Counter(name for _, name in named if isinstance(name, str)).items():
        if count > 1:
            kinds = " and ".join(kind for kind, other in named if other == name)
            problems.append(f"name {name!r} is used {count} times in {_where(m)} ({kinds}); names must differ.")
    if any(b.name == "ground" for b in m.bodies):
        problems.append("a body may not be called 'ground'; the ground is m.ground.")
    return problems


def _body_problems(m: Mechanism) -> list[str]:
    """Bodies of other mechanisms, and parts that join a body to itself."""
    problems: list[str] = []
    own = {id(b) for b in m.bodies} | {id(m.ground)}

    def owned(what: str, *bodies: Body | None) -> None:
        for body in bodies:
            if body is not None and id(body) not in own:
                problems.append(f"{what} uses body {body.name!r} of another mechanism.")

    for joint in m.joints:
        owned(f"joint {joint.name!r}", joint.a.body, joint.b.body)
        if joint.a.body is joint.b.body:
            problems.append(f"joint {joint.name!r} joins body {joint.a.body.name!r} to itself.")
    for force in m.forces:
        bodies = force.bodies()
        owned(force.what, *bodies)
        if len(bodies) == 2 and bodies[0] is bodies[1]:
            problems.append(f"{force.what} joins body {bodies[0].name!r} to itself.")
    for sensor in m.sensors:
        owned(f"sensor {sensor.name!r}", *sensor.measure.bodies())
    return problems


class _Coordinates:
    """The coordinates of a mechanism by all their names, and the complaint about one that does not exist."""

    def __init__(self, m: Mechanism) -> None:
        self.names = coordinate_names(m)
        self.joints = {j.name: j for j in m.joints}
        self.where = _where(m)

    def complaint(self, what: str, name: str) -> list[str]:
        if name in self.names:
            return []
        joint = self.joints.get(name)
        if joint is not None:
            return [f"{what}: {joint.kind} joint {name!r} has no coordinate of its own."]
        return [f"{what}: {unknown_name('joint or coordinate', name, self.names, self.where)}"]

    def joint_complaint(self, what: str, name: str) -> list[str]:
        return [] if name in self.joints else [f"{what}: {unknown_name('joint', name, self.joints, self.where)}"]

    def complaints(self, what: str, part: Declared) -> list[str]:
        """Coordinates and joints that a force or a sensor names and that do not exist."""
        wrong = [text for name in part.given("coordinate") for text in self.complaint(what, name)]
        return [*wrong, *(text for name in part.given("joint") for text in self.joint_complaint(what, name))]

    def unit(self, name: str) -> str:
        """Unit of a coordinate; nothing for variables and curve parameters."""
        owner, _, part = self.names[name].rpartition(".")
        joint = self.joints.get(owner)
        if joint is not None:
            return next((u for c, _, u in joint.coordinates if c == part), "")
        return "" if not owner else "rad" if part == "angle" else "m"


def _coordinate_problems(m: Mechanism) -> list[str]:
    """Couplers and drivers."""
    coordinates = _Coordinates(m)
    problems: list[str] = []
    for coupler in m.couplers:
        what = f"{coupler.kind} {coupler.name!r}"
        first, second = coupler.first, coupler.second
        problems += coordinates.complaint(what, first) + coordinates.complaint(what, second)
        full = coordinates.names.get(first)
        if full is not None and full == coordinates.names.get(second):
            problems.append(f"{what} couples {full!r} to itself.")
    driven: dict[str, str] = {}
    turning = [] if m.planar else [body.name for body in m.bodies]
    whole = {f"{body}.{part}" for body in turning for part in ("rotation", "pose")}
    given = {driver.coordinate for driver in m.drivers}
    for body in turning:
        parts = [body + end for end in ROTATION_VECTOR]
        whole.update(parts)
        found = [part for part in parts if part in given]
        if 0 < len(found) < 3:
            problems.append(
                f"drivers of {', '.join(found)} alone are no orientation: drive {', '.join(parts)}, or "
                f"'{body}.rotation'."
            )
        ways = [f"{body}.rotation", f"{body}.pose", *found[:1]]
        if len(twice := [way for way in ways if way in given]) > 1:
            problems.append(f"drivers prescribe the orientation of {body!r} twice: {' and '.join(twice)}.")
    for driver in m.drivers:
        if driver.coordinate not in whole:
            problems += coordinates.complaint(f"driver {driver.name!r}", driver.coordinate)
        full = coordinates.names.get(driver.coordinate, driver.coordinate)
        if full in driven:
            problems.append(f"drivers {driven[full]!r} and {driver.name!r} both prescribe {full!r}.")
        driven[full] = driver.name
    return problems


def _force_problems(m: Mechanism) -> list[str]:
    coordinates = _Coordinates(m)
    problems: list[str] = []
    for force in m.forces:
        problems += coordinates.complaints(force.what, force)
        problems += force.problems(coordinates.joints)
    return problems


def _sensor_problems(m: Mechanism) -> list[str]:
    coordinates = _Coordinates(m)
    problems: list[str] = []
    known = {name: (full, coordinates.unit(name)) for name, full in coordinates.names.items()}
    forces = {force.name: force for force in m.forces}
    for sensor in m.sensors:
        what = f"sensor {sensor.name!r}"
        found = coordinates.complaints(what, sensor.measure)
        problems += found or [f"{what}: {text}" for text in sensor.measure.problems(known, forces)]
    return problems


def _channel_problems(m: Mechanism) -> list[str]:
    """Inputs and sensors that a record could not tell from its other channels."""
    taken = set(coordinate_names(m)) | {"energy", "energy.kinetic", "energy.potential", "energy.balance"}
    taken |= {"residual.position", "residual.velocity", "time"}
    speeds = ("vx", "vy", "rate") if m.planar else ("vx", "vy", "vz", "wx", "wy", "wz", "e0", "e1", "e2", "e3")
    taken |= {f"{body.name}.{part}" for body in m.bodies for part in speeds}
    taken |= {f"{joint.name}.{rate}" for joint in m.joints for _, rate, _ in joint.coordinates}
    inputs = m.inputs()
    sensors = [s for s in m.sensors if not s.name == s.measure.kind == "energy"]  # the channel of this name
    problems = [f"input {channel!r} has the name of another channel." for channel in inputs if channel in taken]
    problems += [f"parameter {name!r} has the name of another channel." for name in m.parameters if name in taken]
    taken |= set(inputs)
    problems += [f"sensor {s.name!r} has the name of another channel." for s in sensors if s.name in taken]
    return problems


def _parameter_problems(m: Mechanism) -> list[str]:
    """Parameters that this mechanism does not know."""
    problems: list[str] = []

    def look(what: str, value: Any) -> None:
        if isinstance(value, Quantity):
            for name, number in value.parameters().items():
                if m.parameters.get(name) != number:
                    problems.append(f"{what} uses {name!r}, which is not a parameter of {_where(m)}.")
        elif isinstance(value, Mapping):
            for entry in value.values():
                look(what, entry)
        elif isinstance(value, (tuple, list)):
            for entry in value:
                look(what, entry)
        elif is_dataclass(value) and not isinstance(value, (Body, type)):
            for field in fields(value):
                look(what, getattr(value, field.name))

    for body in m.bodies:
        look(f"body {body.name!r}", (body.mass, body.inertia, body.center, body.points))
    for joint in m.joints:
        look(f"joint {joint.name!r}", (joint.a, joint.b, joint.options))
    for coupler in m.couplers:
        look(f"{coupler.kind} {coupler.name!r}", coupler)
    for driver in m.drivers:
        look(f"driver {driver.name!r}", driver)
    for force in m.forces:
        look(force.what, force)
    return list(dict.fromkeys(problems))


def _disconnected(m: Mechanism) -> list[str]:
    """A body that nothing ties to the ground while other bodies are tied is most likely a slip of the pen."""
    links: dict[int, set[int]] = {id(b): set() for b in [m.ground, *m.bodies]}

    def tie(a: Body | None, b: Body | None) -> None:
        if a is not None and b is not None and id(a) in links and id(b) in links:
            links[id(a)].add(id(b))
            links[id(b)].add(id(a))

    for joint in m.joints:
        tie(joint.a.body, joint.b.body)
    held = {id(place.body) for joint in m.joints for place in (joint.a, joint.b)}
    for name in [*(d.coordinate for d in m.drivers), *(n for c in m.couplers for n in (c.first, c.second))]:
        for body in m.bodies:
            if name.rpartition(".")[0] == body.name:
                tie(m.ground, body)
                held.add(id(body))
    for force in m.forces:
        bodies = force.bodies()
        for first, second in pairwise(bodies if len(bodies) > 1 else [m.ground, *bodies]):
            tie(first, second)
    if m.constraints:
        return []  # a user constraint may tie anything
    weightless = {b.name: _weightless(b) for b in m.bodies if id(b) not in held}
    problems = [text for text in weightless.values() if text]
    if not m.joints or len(m.bodies) < 2:
        return problems  # a lone body may be meant to fly
    seen = {id(m.ground)}
    todo = [id(m.ground)]
    while todo:
        for other in links[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    if len(seen) == 1:
        return problems  # nothing at all is tied to the ground: a free-flying machine
    loose = [b.name for b in m.bodies if id(b) not in seen and not links[id(b)]]
    problems = [text for name, text in weightless.items() if text and name not in loose]
    return [*problems, *(f"body {name!r} is connected to nothing." for name in loose)]


def _weightless(body: Body) -> str:
    """A body that no joint holds needs mass and inertia of its own."""
    if not inertia_problems(body.name, body.mass, body.inertia, body.planar):
        if float(body.mass) == 0:
            return f"body {body.name!r} has no mass and no joint holds it."
        turning = [body.inertia] if body.planar else [body.inertia[k][k] for k in range(3)]
        if any(float(value) == 0 for value in turning):
            return f"body {body.name!r} has no inertia against turning and no joint holds it; give inertia=."
    return ""


def input_unit(m: Mechanism, name: str) -> str:
    """Unit of an input channel, from what it drives; "" where that differs."""
    names = coordinate_names(m)
    turning = {f"{j.name}.{c[0]}" for j in m.joints for c in j.coordinates if c[2] == "rad"}
    turning |= {f"{b.name}.angle" for b in m.bodies if m.planar}
    units = set()
    for force in m.forces:
        if name in force.inputs():
            target = next(iter(force.given("coordinate")), None)
            units.add(force.input_unit(None if target is None else names.get(target, target) in turning))
    return units.pop() if len(units) == 1 else ""
