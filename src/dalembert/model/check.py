"""All problems of a description, found at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import unknown_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.equations import CoordinateLimits
from dalembert.expressions.quantities import Quantity
from dalembert.model.bodies import Body, inertia_problems
from dalembert.model.couplings import ROTATION_VECTOR

if TYPE_CHECKING:
    from dalembert.model.forces.force import Rotor
    from dalembert.model.mechanism import Mechanism
    from dalembert.model.options import Declared


def coordinate_names(m: Mechanism) -> dict[str, str]:
    """Every possible name of a coordinate -> its full name (``"A"`` -> ``"A.angle"`` where it has only one)."""
    names: dict[str, str] = {}
    for joint in m.joints:
        full = [f"{joint.name}.{c[0]}" for c in joint.coordinates]
        names.update({f: f for f in full})
        if full:
            names.setdefault(joint.name, full[0])
    parts = ("x", "y", "angle") if m.planar else ("x", "y", "z")
    for body in m.bodies:
        names.update({f"{body.name}.{p}": f"{body.name}.{p}" for p in parts})
        names.update({name: name for name in mode_names(body)})
    for variable in m.variables:
        names[variable.name] = variable.name
    for gear in elastic_gears(m):
        names |= {gear.name: gear.name, gear.deflection: gear.deflection}
    return names


def elastic_gears(m: Mechanism) -> list[Rotor]:
    """Rotors behind elastic gears."""
    return [rotor for force in m.forces for rotor in force.rotors() if rotor.deflection]


def mode_names(body: Body) -> list[str]:
    """Elastic coordinates of a flexible body; none of a rigid one."""
    return [f"{body.name}.mode{k + 1}" for k in range(body.flexible.modes)] if body.flexible is not None else []


def find_problems(m: Mechanism) -> list[Finding]:
    """Problems of a mechanism. Their ``where`` names the parts concerned."""
    names = _name_problems(m)
    if not all(isinstance(element.name, str) for element in m.parts()):
        return names  # further checks need unique names
    coordinates = _Coordinates(m)
    return [
        *names,
        *(
            problem
            for body in m.bodies
            if not body.as_given
            for problem in inertia_problems(body.name, body.mass, body.inertia, m.planar)
        ),
        *_body_problems(m),
        *_coordinate_problems(m, coordinates),
        *_force_problems(m, coordinates),
        *_sensor_problems(m, coordinates),
        *_channel_problems(m),
        *_parameter_problems(m),
        *_connection_problems(m),
    ]


def _where(m: Mechanism) -> str:
    return f"mechanism {m.name!r}"


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and name == name.strip() and name.isprintable()


def _name_problems(m: Mechanism) -> list[Finding]:
    problems: list[Finding] = []
    if not m.bodies:
        problems.append(Finding("no-bodies", f"{_where(m)} has no bodies."))
    named: list[tuple[str, Any]] = [(kind, element.name) for kind, element in m.named_parts()]
    for kind, name in [*named, *(("input", channel) for channel in m.inputs())]:
        if not _is_name(name):
            problem = f"{kind} name must be a non-empty line of text without outer blanks, got {name!r}."
            problems.append(Finding("bad-name", problem, {kind: name}))
    for name, count in Counter(name for _, name in named if isinstance(name, str)).items():
        if count > 1:
            kinds = " and ".join(kind for kind, user in named if user == name)
            problem = f"name {name!r} is used {count} times in {_where(m)} ({kinds}); names must differ."
            problems.append(Finding("taken-name", problem, {"name": name}, {"count": count}))
    if any(b.name == "ground" for b in m.bodies):
        problem = "a body may not be called 'ground': that is the name of the ground."
        problems.append(Finding("bad-name", problem, {"body": "ground"}))
    return problems


def _body_problems(m: Mechanism) -> list[Finding]:
    """Bodies of other mechanisms, and parts that join a body to itself."""
    problems: list[Finding] = []
    bodies_here = {id(b) for b in m.bodies} | {id(m.ground)}

    def require_own(what: str, part: str, *bodies: Body | None) -> None:
        for body in bodies:
            if body is not None and id(body) not in bodies_here:
                problem = f"{what} uses body {body.name!r} of another mechanism."
                problems.append(Finding("wrong-owner", problem, {"part": part, "body": body.name}))

    for joint in m.joints:
        require_own(f"joint {joint.name!r}", joint.name, joint.a.body, joint.b.body)
        if joint.a.body is joint.b.body:
            problems.append(_to_itself(f"joint {joint.name!r}", joint.name, joint.a.body))
    for force in m.forces:
        bodies = force.bodies()
        require_own(force.what, force.name, *bodies)
        if len(bodies) == 2 and bodies[0] is bodies[1]:
            problems.append(_to_itself(force.what, force.name, bodies[0]))
    for sensor in m.sensors:
        require_own(f"sensor {sensor.name!r}", sensor.name, *sensor.measure.bodies())
    return problems


def _to_itself(what: str, part: str, body: Body) -> Finding:
    problem = f"{what} joins body {body.name!r} to itself."
    return Finding("same-body", problem, {"part": part, "body": body.name})


class _Coordinates:
    """The coordinates of a mechanism by all their names, and the finding about one that does not exist."""

    def __init__(self, m: Mechanism) -> None:
        self.names = coordinate_names(m)
        self.gears = {gear.deflection: gear.coordinate for gear in elastic_gears(m)}
        self.joints = {j.name: j for j in m.joints}
        self.where = _where(m)

    def check_coordinate(self, what: str, part: str, name: str) -> list[Finding]:
        """A finding where a part names a coordinate that does not exist."""
        if name in self.names:
            return []
        joint = self.joints.get(name)
        if joint is not None:
            problem = f"{what}: {joint.kind} joint {name!r} has no coordinate of its own."
            return [Finding("no-coordinate", problem, {"part": part, "joint": name})]
        return [self._report_unknown(what, part, "joint or coordinate", name, self.names)]

    def check_joint(self, what: str, part: str, name: str) -> list[Finding]:
        """A finding where a part names a joint that does not exist."""
        return [] if name in self.joints else [self._report_unknown(what, part, "joint", name, self.joints)]

    def check_names(self, what: str, name: str, part: Declared) -> list[Finding]:
        """Coordinates and joints that a force or a sensor names and that do not exist."""
        targets = [
            *part.values_of("coordinate"),
            *(key for mapping in part.values_of("coordinates") for key in mapping),
        ]
        problems = [problem for target in targets for problem in self.check_coordinate(what, name, target)]
        return [
            *problems,
            *(problem for target in part.values_of("joint") for problem in self.check_joint(what, name, target)),
        ]

    def _report_unknown(self, what: str, part: str, sort: str, name: str, known: Iterable[str]) -> Finding:
        problem = f"{what}: {unknown_name(sort, name, known, self.where)}"
        return Finding("unknown-name", problem, {"part": part, "name": name}, {"sort": sort, "what": what})

    def unit(self, name: str) -> str:
        """Unit of a coordinate; nothing for variables and curve parameters."""
        owner, _, ending = self.names[name].rpartition(".")
        joint = self.joints.get(owner)
        geared = self.names.get(self.gears.get(self.names[name], ""), "")
        if geared:
            return "" if geared in self.gears else self.unit(geared)
        if joint is not None:
            return next((u for c, _, u in joint.coordinates if c == ending), "")
        return "" if not owner else "rad" if ending == "angle" else "m"


def _coordinate_problems(m: Mechanism, coordinates: _Coordinates) -> list[Finding]:
    """Couplers and drivers."""
    problems: list[Finding] = []
    for coupler in m.couplers:
        what = f"{coupler.kind} {coupler.name!r}"
        first, second = coupler.first, coupler.second
        for name in (first, second):
            problems += coordinates.check_coordinate(what, coupler.name, name)
        full = coordinates.names.get(first)
        if full is not None and full == coordinates.names.get(second):
            where = {"part": coupler.name, "coordinate": full}
            problems.append(Finding("same-coordinate", f"{what} couples {full!r} to itself.", where))
    driven: dict[str, str] = {}
    turning = [] if m.planar else [body.name for body in m.bodies]
    orientations = {f"{body}.{component}" for body in turning for component in ("rotation", "pose")}
    driven_names = {driver.coordinate for driver in m.drivers}
    for body in turning:
        parts = [body + end for end in ROTATION_VECTOR]
        orientations.update(parts)
        prescribed = [component for component in parts if component in driven_names]
        if 0 < len(prescribed) < 3:
            problem = f"drivers of {', '.join(prescribed)} alone prescribe no orientation."
            advice = Advice(f"Drive {', '.join(parts)}, or '{body}.rotation'.")
            problems.append(Finding("incomplete-orientation", problem, {"body": body}, advice=(advice,)))
        ways = [f"{body}.rotation", f"{body}.pose", *prescribed[:1]]
        if len(twice := [way for way in ways if way in driven_names]) > 1:
            problem = f"drivers prescribe the orientation of {body!r} twice: {' and '.join(twice)}."
            problems.append(Finding("duplicate", problem, {"body": body}))
    for driver in m.drivers:
        if driver.coordinate not in orientations:
            problems += coordinates.check_coordinate(f"driver {driver.name!r}", driver.name, driver.coordinate)
        full = coordinates.names.get(driver.coordinate, driver.coordinate)
        if full in driven:
            problem = f"drivers {driven[full]!r} and {driver.name!r} both prescribe {full!r}."
            problems.append(Finding("duplicate", problem, {"part": driven[full], "other": driver.name}))
        driven[full] = driver.name
    return problems


def _force_problems(m: Mechanism, coordinates: _Coordinates) -> list[Finding]:
    geared = Counter(coordinates.names.get(gear.coordinate) for gear in elastic_gears(m))
    twice = [
        Finding("duplicate", f"{count} elastic gears at coordinate {name!r}; it can have one.", {"coordinate": name})
        for name, count in geared.items()
        if count > 1 and name is not None
    ]
    itself = [
        Finding("same-coordinate", f"the elastic gear of {gear.name!r} turns with itself.", {"coordinate": gear.name})
        for gear in elastic_gears(m)
        if gear.coordinate in (gear.name, gear.deflection)
    ]
    return [*twice, *itself] + [
        problem
        for force in m.forces
        for problem in (*coordinates.check_names(force.what, force.name, force), *force.problems(coordinates.joints))
    ]


def _sensor_problems(m: Mechanism, coordinates: _Coordinates) -> list[Finding]:
    problems: list[Finding] = []
    units = {name: (full, coordinates.unit(name)) for name, full in coordinates.names.items()}
    forces = {force.name: force for force in m.forces}
    for sensor in m.sensors:
        what = f"sensor {sensor.name!r}"
        findings = coordinates.check_names(what, sensor.name, sensor.measure)
        problems += findings or [
            replace(problem, problem=f"{what}: {problem.problem}", where={"part": sensor.name, **problem.where})
            for problem in sensor.measure.problems(units, forces)
        ]
    return problems


def _channel_problems(m: Mechanism) -> list[Finding]:
    """Inputs, parameters and sensors with the name of another channel of a record."""
    channels = set(coordinate_names(m)) | {"energy", "energy.kinetic", "energy.potential", "energy.balance"}
    channels |= {"residual.position", "residual.velocity", "time"}
    speeds = ("vx", "vy", "rate") if m.planar else ("vx", "vy", "vz", "wx", "wy", "wz", "e0", "e1", "e2", "e3")
    channels |= {f"{body.name}.{ending}" for body in m.bodies for ending in speeds}
    channels |= {f"{joint.name}.{rate}" for joint in m.joints for _, rate, _ in joint.coordinates}
    inputs = m.inputs()
    sensors = [s for s in m.sensors if not s.name == s.measure.kind == "energy"]  # the channel of this name
    named = [("input", name) for name in inputs if name in channels]
    named += [("parameter", name) for name in m.parameters if name in channels]
    channels |= set(inputs)
    named += [("sensor", sensor.name) for sensor in sensors if sensor.name in channels]
    return [Finding("taken-name", f"{kind} {name!r} has the name of another channel.", {kind: name})
            for kind, name in named]  # fmt: skip


def _parameter_problems(m: Mechanism) -> list[Finding]:
    """Parameters that this mechanism does not have."""
    problems: dict[str, Finding] = {}

    def look(what: str, value: object) -> None:
        if isinstance(value, Quantity):
            for name, number in value.parameters().items():
                if m.parameters.get(name) != number:
                    problem = f"{what} uses {name!r}, which is not a parameter of {_where(m)}."
                    problems.setdefault(problem, Finding("wrong-owner", problem, {"parameter": name}))
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
    return list(problems.values())


def _connection_problems(m: Mechanism) -> list[Finding]:
    """A body without a connection to the ground, while other bodies have one, is most likely a mistake."""
    links: dict[int, set[int]] = {id(b): set() for b in [m.ground, *m.bodies]}

    def tie(a: Body | None, b: Body | None) -> None:
        if a is not None and b is not None and id(a) in links and id(b) in links:
            links[id(a)].add(id(b))
            links[id(b)].add(id(a))

    for joint in m.joints:
        tie(joint.a.body, joint.b.body)
    held = {id(place.body) for joint in m.joints if joint.holds for place in (joint.a, joint.b)}
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
        return []  # a user constraint may connect any bodies
    massless = [problem for b in m.bodies if id(b) not in held for problem in _massless(b)]
    if not m.joints or len(m.bodies) < 2:
        return massless  # a single body may be intended to fly
    reached = {id(m.ground)}
    todo = [id(m.ground)]
    while todo:
        for neighbour in links[todo.pop()]:
            if neighbour not in reached:
                reached.add(neighbour)
                todo.append(neighbour)
    if len(reached) == 1:
        return massless  # nothing is connected to the ground: a free-flying machine
    loose = [b.name for b in m.bodies if id(b) not in reached and not links[id(b)]]
    problems = [problem for problem in massless if problem.where["body"] not in loose]
    return problems + [Finding("loose-body", f"body {n!r} is connected to nothing.", {"body": n}) for n in loose]


def _massless(body: Body) -> list[Finding]:
    """A body without a joint needs mass and inertia of its own."""
    if inertia_problems(body.name, body.mass, body.inertia, body.planar):
        return []
    where = {"body": body.name}
    if float(body.mass) == 0:
        return [Finding("massless-body", f"body {body.name!r} has no mass and no joint.", where)]
    turning = [body.inertia] if body.planar else [body.inertia[k][k] for k in range(3)]
    if all(float(value) != 0 for value in turning):
        return []
    problem = f"body {body.name!r} has no inertia and no joint that prevents its rotation."
    return [Finding("massless-body", problem, where, advice=(Advice("Give {}.", Argument("inertia")),))]


def input_unit(m: Mechanism, name: str) -> str:
    """Unit of an input channel, from the coordinates it drives; "" where they differ."""
    names = coordinate_names(m)
    turning = {f"{j.name}.{c.name}" for j in m.joints for c in j.coordinates if c.unit == "rad"}
    turning |= {f"{b.name}.angle" for b in m.bodies if m.planar}
    units = set()
    for force in m.forces:
        if name in force.inputs():
            target = next(iter(force.values_of("coordinate")), None)
            units.add(force.input_unit(None if target is None else names.get(target, target) in turning))
    for driver in m.drivers:
        if name == driver.input:
            units.add("rad/s^2" if names.get(driver.coordinate, driver.coordinate) in turning else "m/s^2")
    return units.pop() if len(units) == 1 else ""


def input_limits(m: Mechanism, limits: Mapping[str, CoordinateLimits]) -> dict[str, CoordinateLimits]:
    """Limits of inputs: their ranges, or those of the largest efforts along the coordinates that they drive."""
    ranges: dict[str, CoordinateLimits] = {}
    names = coordinate_names(m)
    for force in m.forces:
        per_input, (lower, upper) = force.effort_per_input(), force.input_range()
        for channel in force.inputs() if lower > -math.inf or upper < math.inf else ():
            low, high = ranges.get(channel, CoordinateLimits()).range
            least, most = max(lower, low), min(upper, high)
            ranges[channel] = CoordinateLimits(least if least > -math.inf else None, most if most < math.inf else None)
        for coordinate, channel in product(force.values_of("coordinate"), force.inputs()):
            limit = limits.get(names.get(coordinate, coordinate))
            if per_input and limit is not None and limit.effort is not None:
                most = min(limit.effort / abs(per_input), ranges.get(channel, CoordinateLimits()).range[1])
                ranges[channel] = CoordinateLimits(-most, most)
    return ranges
