"""The spanning tree of a mechanism: which joint carries which body, and which joints rows must close.

The search for the tree is breadth first from the ground, with the joints of few freedoms first at each body. The joints
that are cut then have many freedoms and few rows. A body that no joint of the tree reaches is free: it has
coordinates of its own, and rows for its joints. Chosen bodies come first, then those that are on the first side of
all their joints, as the base of a robot is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model import Body, Mechanism
from dalembert.model.joints import Joint

# Pairs of a body and a joint that moves it, the entries of M: a chain of 200 bodies, whose first run takes some 5 s of
# preparation in joint coordinates and 0.5 s in absolute ones.
LONG = 20_000


@dataclass(frozen=True)
class Branch:
    """A body, the joint that carries it (None: it is free) and whether the body is on the joint's first side."""

    body: Body
    joint: Joint | None = None
    reversed: bool = False

    @property
    def parent(self) -> Body | None:
        """The body that carries it; None for a free body."""
        if self.joint is None:
            return None
        return (self.joint.b if self.reversed else self.joint.a).body


def span(
    m: Mechanism, *, absolute: Iterable[str] = (), cut: Iterable[str] = (), rows: Collection[str] = ()
) -> list[Branch]:
    """Bodies in an order in which parents come first. `rows`: joints that need multipliers of their own."""
    free, closed = (
        _check_names(absolute, [b.name for b in m.bodies], "body", m),
        _check_names(cut, [j.name for j in m.joints], "joint", m),
    )
    closed |= {*m.loops}
    of_body: dict[int, list[Joint]] = {}
    for joint in m.joints:
        unfit = JOINT_EQUATIONS[joint.kind].motion is None or joint.a.body is joint.b.body
        if unfit or joint.name in closed or joint.name in rows:
            continue
        for frame in (joint.a, joint.b):
            of_body.setdefault(id(frame.body), []).append(joint)
    made: list[Branch] = []
    reached = {id(m.ground)}

    def follow(start: Body) -> None:
        front = [start]
        while front:
            near, front = front, []
            for body in near:
                for joint in sorted(of_body.get(id(body), ()), key=freedoms):
                    backwards = joint.b.body is body
                    other = (joint.a if backwards else joint.b).body
                    if id(other) in reached or other.name in free:
                        continue
                    reached.add(id(other))
                    made.append(Branch(other, joint, backwards))
                    front.append(other)

    follow(m.ground)
    second = {id(joint.b.body) for joint in m.joints}
    for body in sorted(m.bodies, key=lambda b: (b.name not in free, id(b) in second)):
        if id(body) not in reached:
            reached.add(id(body))
            made.append(Branch(body))
            follow(body)
    return made


def freedoms(joint: Joint) -> int:
    """Number of motions that the joint leaves to a rigid body."""
    rows = joint.declaration.rows[joint.a.body.planar]
    return (3 if joint.a.body.planar else 6) - (rows or 0)


def describe_tree(
    m: Mechanism, branches: Sequence[Branch], bearing: Mapping[str, str], absolute: Collection[str]
) -> list[Finding]:
    """Joints that are closed by rows because of friction, bodies that no tree can reach, and chains that are long.

    bearing : joints whose reaction a force reads, with its name.  absolute : bodies chosen by the user.
    """
    found = []
    for joint, force in bearing.items():
        problem = f"Joint {joint!r} is closed by rows: force {force!r} depends on its reaction, a multiplier."
        advice = Advice("Friction that no reaction changes ({}) leaves it to the tree.", Argument("effort"))
        found.append(Finding("joint-by-rows", problem, {"joint": joint, "force": force}, advice=(advice,)))
    movable = [joint for joint in m.joints if JOINT_EQUATIONS[joint.kind].motion is not None]
    joined = {id(frame.body) for joint in movable for frame in (joint.a, joint.b)}
    for body in (branch.body for branch in branches if branch.joint is None):
        if id(body) in joined or body.name in absolute or not m.joints:
            continue
        held = [joint.name for joint in m.joints if body in (joint.a.body, joint.b.body)]
        held += [driver.name for driver in m.drivers if driver.coordinate.startswith(f"{body.name}.")]
        rows = f"; rows of {', '.join(map(repr, held))} hold it" if held else ""
        problem = f"Body {body.name!r} has coordinates of its own: no joint of the tree reaches it{rows}."
        remedies = (
            Advice("Join it with {}.", Call("m.add_planar" if m.planar else "m.add_free")),
            Advice("If that is meant, name it in {}.", Argument("absolute", [body.name])),
        )
        found.append(Finding("body-by-itself", problem, {"body": body.name, "rows": held}, advice=remedies))
    depths = {id(m.ground): 0}
    for branch in branches:  # parents come first
        depths[id(branch.body)] = depths.get(id(branch.parent), 0) + 1
    entries = sum(depths.values())
    if entries > LONG:
        problem = (
            f"Joint coordinates of {m.name!r}: every body moves with the {max(depths.values())} joints below it at "
            "most, and the equations, which grow with the square of that, take long to build."
        )
        advice = Advice("Absolute coordinates grow with the number of bodies: {}.", Argument("coordinates", "absolute"))
        found.append(Finding("slow-coordinates", problem, {"mechanism": m.name}, {"entries": entries}, (advice,)))
    return found


def _check_names(names: Iterable[str], known: list[str], what: str, m: Mechanism) -> set[str]:
    given = list(names)
    names = set(given)
    option = {"body": "absolute", "joint": "cut"}[what]
    for name in names:
        if given.count(name) > 1:
            problem = f"{option} names {what} {name!r} {given.count(name)} times."
            advice = Advice("Name it once in {}.", Argument(option, sorted(names)))
            raise ModelError("duplicate", problem, advice, where={what: name})
    for name in sorted(names - set(known)):
        raise ModelError(
            "unknown-name", unknown_name(what, name, known, f"mechanism {m.name!r}"),
            Advice("Name one of them in {}.", Argument(option, known[:1])), where={what: name},
        )  # fmt: skip
    return names
