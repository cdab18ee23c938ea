"""Everything wrong with a description, at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dalembert.errors import unknown_name
from dalembert.model.bodies import Body, inertia_problems

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism


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
    where = f"mechanism {m.name!r}"
    problems: list[str] = []
    if not m.bodies:
        problems.append(f"{where} has no bodies.")
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
    for kind, name in named:
        if not isinstance(name, str) or not name or name != name.strip():
            problems.append(f"{kind} name must be a non-empty text without outer blanks, got {name!r}.")
    counts = Counter(name for _, name in named)
    for name, count in counts.items():
        if count > 1:
            kinds = " and ".join(kind for kind, other in named if other == name)
            problems.append(f"name {name!r} is used {count} times in {where} ({kinds}); names must differ.")
    if "ground" in {b.name for b in m.bodies}:
        problems.append("a body may not be called 'ground'; the ground is m.ground.")

    for body in m.bodies:
        problems.extend(inertia_problems(body.name, body.mass, body.inertia, m.planar))

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
        for side in ("a", "b", "point", "plane"):
            place = getattr(force, side, None)
            if place is not None:
                owned(f"force {force.name!r}", place.body)
        owned(f"force {force.name!r}", getattr(force, "body", None))

    problems.extend(_reference_problems(m, where))
    problems.extend(_disconnected(m))
    return problems


def _reference_problems(m: Mechanism, where: str) -> list[str]:
    problems: list[str] = []
    coordinates = coordinate_names(m)
    joints = {j.name: j for j in m.joints}

    def coordinate(what: str, name: str) -> None:
        if name not in coordinates:
            joint = joints.get(name)
            if joint is not None:
                problems.append(f"{what}: {joint.kind} joint {name!r} has no coordinate of its own.")
            else:
                problems.append(f"{what}: {unknown_name('joint or coordinate', name, coordinates, where)}")

    for coupler in m.couplers:
        coordinate(f"{coupler.kind} {coupler.name!r}", coupler.first)
        coordinate(f"{coupler.kind} {coupler.name!r}", coupler.second)
    driven: dict[str, str] = {}
    for driver in m.drivers:
        coordinate(f"driver {driver.name!r}", driver.coordinate)
        full = coordinates.get(driver.coordinate, driver.coordinate)
        if full in driven:
            problems.append(f"drivers {driven[full]!r} and {driver.name!r} both prescribe {full!r}.")
        driven[full] = driver.name
    for force in m.forces:
        what = f"{type(force).__name__.lower()} {force.name!r}"
        target = getattr(force, "coordinate", None)
        if target is not None:
            coordinate(what, target)
        joint_name = getattr(force, "joint", None)
        if joint_name is not None:
            if joint_name not in joints:
                problems.append(f"{what}: {unknown_name('joint', joint_name, joints, where)}")
            elif joints[joint_name].kind not in ("revolute", "prismatic", "cylindrical"):
                problems.append(f"{what}: friction needs a revolute, prismatic or cylindrical joint, not {joint_name!r}.")
            elif joints[joint_name].kind == "revolute" and float(force.coulomb) > 0 and force.radius is None:
                problems.append(f"{what}: Coulomb friction in hinge {joint_name!r} needs the bearing's radius.")
    inputs = m.inputs()
    for channel in inputs:
        if channel in coordinates or channel in {s.name for s in m.sensors}:
            problems.append(f"input {channel!r} has the name of another channel.")
    springs = {f.name for f in m.forces if type(f).__name__ in ("Spring", "JointSpring")}
    for sensor in m.sensors:
        what = f"sensor {sensor.name!r}"
        measure = sensor.measure
        if measure.kind.startswith("coordinate"):
            coordinate(what, measure.target)
        elif measure.kind == "reaction" and measure.target not in joints:
            problems.append(f"{what}: {unknown_name('joint', measure.target, joints, where)}")
        elif measure.kind == "reaction" and measure.axes not in ("world", "joint"):
            problems.append(f"{what}: axes must be 'world' or 'joint', not {measure.axes!r}.")
        elif measure.kind == "spring force" and measure.target not in springs:
            problems.append(f"{what}: {unknown_name('spring', measure.target, springs, where)}")
    return problems


def _disconnected(m: Mechanism) -> list[str]:
    """A body that nothing ties to the ground while other bodies are tied is most likely a slip of the pen."""
    links: dict[int, set[int]] = {id(b): set() for b in [m.ground, *m.bodies]}

    def tie(a: Body | None, b: Body | None) -> None:
        if a is not None and b is not None and id(a) in links and id(b) in links:
            links[id(a)].add(id(b))
            links[id(b)].add(id(a))

    for joint in m.joints:
        tie(joint.a.body, joint.b.body)
    for force in m.forces:
        sides = [getattr(force, s, None) for s in ("a", "b", "point", "plane")]
        bodies = [s.body for s in sides if s is not None]
        if len(bodies) == 2:
            tie(bodies[0], bodies[1])
        elif bodies:
            tie(m.ground, bodies[0])
        if getattr(force, "body", None) is not None:
            tie(m.ground, force.body)
    if m.constraints or not m.joints or len(m.bodies) < 2:
        return []  # a user constraint may tie anything; a lone body may be meant to fly
    seen = {id(m.ground)}
    todo = [id(m.ground)]
    while todo:
        for other in links[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    if len(seen) == 1:
        return []  # nothing at all is tied to the ground: a free-flying machine
    loose = [b.name for b in m.bodies if id(b) not in seen and not links[id(b)]]
    return [f"body {name!r} is connected to nothing." for name in loose]
