"""Everything wrong with the description of a frame, at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DalembertError, unknown_name
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.frame import numbering as frame_elements
from dalembert.structures.frame.parts import DIRECTIONS, BeamPointLoad, Beams, InitialStrain, LineLoad, PointLoad

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame

# Length of a beam, relative to the size of the frame, below which its ends count as one place.
SHORT = 1e-12


def find_problems(frame: Frame) -> list[str]:
    """What is wrong with a frame, one sentence each."""
    known = set(frame.point_names)
    problems = [*_name_problems(frame), *_reference_problems(frame, known), *_property_problems(frame)]
    problems += _link_problems(frame)
    if not problems:  # geometry can only be judged when every name is known
        problems = [*_geometry_problems(frame), *_lonely(frame), *_idle_loads(frame)]
    return problems


def _where(frame: Frame) -> str:
    return f"frame {frame.name!r}"


def _name_problems(frame: Frame) -> list[str]:
    problems = []
    if not frame.point_names:
        problems.append(f"{_where(frame)} has no points.")
    if not (frame.beams or frame.springs or frame.masses):
        problems.append(f"{_where(frame)} has no beams, bars, springs or masses.")
    beams = [name for group in frame.beams for name in group.names]
    named: list[Any] = [*frame.masses, *frame.springs, *frame.rigids]
    parts = [part.name for part in named]
    for kind, names in (
        ("point", frame.point_names + _inner(frame)),
        ("beam, bar, mass, spring or rigid link", beams + parts),
    ):
        if len(set(names)) != len(names):
            twice = [name for name, count in Counter(names).items() if count > 1]
            problems += [f"name {name!r} is used more than once for a {kind} in {_where(frame)}." for name in twice]
    problems += [
        f"a name must be a non-empty text without outer blanks, got {name!r} in {_where(frame)}."
        for name in [*frame.point_names, *beams, *parts]
        if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable()
    ]
    points = set(frame.point_names)
    for kind, names in (("point", frame.point_names), ("load case", frame.cases)):
        for name in names:
            stem, _, way = name.rpartition(".") if isinstance(name, str) else ("", "", "")
            if stem in points and way in DIRECTIONS:
                problems.append(f"{kind} {name!r} is called like a coordinate of point {stem!r}; give it another name.")
    if "base" in frame.point_names:
        problems.append("a point may not be called 'base': base.x is the name of a base excitation.")
    return problems


def _inner(frame: Frame) -> list[str]:
    """Names of the points between the elements of beams."""
    return [
        f"{name}[{k}]" for group in frame.beams if group.properties.elements > 1
        for name in group.names for k in range(1, group.properties.elements)
    ]  # fmt: skip


def _reference_problems(frame: Frame, ends: set[str]) -> list[str]:
    problems: list[str] = []
    known = ends | set(_inner(frame))

    def missing(what: str, names: Iterable[Any]) -> None:
        for name in names:
            if name not in known:
                problems.append(f"{what}: {unknown_name('point', name, known, _where(frame))}")

    for group in frame.beams:
        if not known.issuperset(group.starts) or not known.issuperset(group.ends):
            for name, start, end in zip(group.names, group.starts, group.ends):
                missing(f"{group.properties.kind} {name!r}", (start, end))
    for mass in frame.masses:
        missing(f"mass {mass.name!r}", (mass.point,))
    for spring in frame.springs:
        missing(f"spring {spring.name!r}", (spring.a,) if spring.b is None else (spring.a, spring.b))
    for rigid in frame.rigids:
        missing(f"rigid link {rigid.name!r}", (rigid.master, *rigid.slaves))
    for support in frame.supports:
        missing("support", (support.point,))
    beams = {name for group in frame.beams for name in group.names} if frame.loads else set()
    for load in frame.loads:
        if isinstance(load, PointLoad):
            missing(f"load case {load.case!r}", (load.point,))
        elif isinstance(load, (LineLoad, BeamPointLoad, InitialStrain)) and load.beam not in beams:
            problems.append(f"load case {load.case!r}: {unknown_name('beam or bar', load.beam, beams, _where(frame))}")
    return problems


def _property_problems(frame: Frame) -> list[str]:
    """Sections and materials: known, and with the numbers the theory needs."""
    problems: list[str] = []
    for group in frame.beams:
        p = group.properties
        what = f"{p.kind} {group.names[0]!r}" if group.names else p.kind
        try:
            frame_elements.material_of(frame, p.material)
        except DalembertError as error:
            problems.append(f"{what}: {error}")
        for given in (p.section, p.end_section):
            if given is not None:
                problems += _section_problems(frame, what, p.kind, given)
    problems += [
        f"{m!r} of {_where(frame)} is not a Material." for m in frame.materials.values() if not isinstance(m, Material)
    ]
    return problems


def _section_problems(frame: Frame, what: str, kind: str, given: Any) -> list[str]:
    if isinstance(given, str):
        if given not in frame.sections:
            return [f"{what}: {unknown_name('section', given, frame.sections, _where(frame))}"]
        given = frame.sections[given]
    if not isinstance(given, Section):
        return [f"{what}: section must be a Section, got {type(given).__name__}."]
    if kind == "bar":
        return []
    needed = ("I_z",) if frame.planar else ("I_y", "I_z", "J")
    return [
        f"{what}: its section has {name} = 0; a beam in {'a plane' if frame.planar else 'space'} needs {name} > 0 "
        "(add_bar makes a member that is stiff along its axis only)."
        for name in needed
        if not getattr(given, name) > 0
    ]


def _geometry_problems(frame: Frame) -> list[str]:
    problems: list[str] = []
    numbering = frame_elements.number_points(frame)
    positions, index = numbering.positions, numbering.index
    lost = [
        repr(name) for group, chain in zip(frame.beams, numbering.chains)
        for name, place in zip(group.names, positions[chain[:, 1], 0]) if np.isnan(place)
    ]  # fmt: skip
    if lost:
        return [f"beams {', '.join(lost)} start or end inside each other, so that none of them has a place."]
    size = float(np.ptp(positions, axis=0).max()) if len(positions) else 0.0
    for group in frame.beams:
        start, end = (positions[[index[name] for name in names]] for names in (group.starts, group.ends))
        axes = frame_elements.orient(frame, group, start, end)
        kind = group.properties.kind
        for k in np.flatnonzero(axes.length <= SHORT * size):
            problems.append(
                f"{kind} {group.names[k]!r} has no length: {group.starts[k]!r} and {group.ends[k]!r} are at one place."
            )
        if not frame.planar and any(group.ups):
            given = np.array([up or (np.nan,) * 3 for up in group.ups])
            flat = np.linalg.norm(np.cross(axes.R[:, 0], given), axis=1)
            short = flat <= 1e-6 * np.linalg.norm(given, axis=1)
            for k in np.flatnonzero(short & (axes.length > SHORT * size)):
                problems.append(f"{kind} {group.names[k]!r}: up= points along the beam; give a direction across it.")
        problems += _release_problems(frame, group)
    for spring in frame.springs:
        if spring.line is not None and spring.b is not None:
            gap = positions[index[spring.b]] - positions[index[spring.a]]
            if float(np.linalg.norm(gap)) <= SHORT * size:
                problems.append(
                    f"spring {spring.name!r} joins points at one place and has no line to act along: say direction=."
                )
    return problems


def _release_problems(frame: Frame, group: Beams) -> list[str]:
    first, last = group.properties.releases
    what = f"beam {group.names[0]!r}" if group.names else "beam"
    problems = []
    for way in ("x", "rx"):
        if way in first and way in last:
            problems.append(f"{what} releases {way} at both ends: nothing holds it in that direction.")
    turns = (("rz", "y"), ("ry", "z"))
    for turn, push in turns:
        total = [way in first for way in (turn, push)] + [way in last for way in (turn, push)]
        if sum(total) > 2 or (push in first and push in last):
            problems.append(f"{what} releases too much of {push} and {turn} at its ends: it could move by itself.")
    return problems


def _link_problems(frame: Frame) -> list[str]:
    problems: list[str] = []
    used: dict[tuple[str, str], str] = {}
    leader: dict[str, set[str]] = {}
    for rigid in frame.rigids:
        if not rigid.slaves:
            problems.append(f"rigid link {rigid.name!r} has no slaves.")
        for slave in rigid.slaves:
            leader.setdefault(slave, set()).add(rigid.master)
            if slave == rigid.master:
                problems.append(f"rigid link {rigid.name!r}: {slave!r} is both master and slave.")
                continue
            for way in rigid.directions:
                other = used.setdefault((slave, way), rigid.name)
                if other != rigid.name:
                    problems.append(f"point {slave!r} is a slave of {other!r} and of {rigid.name!r} in {way}.")
                    break
    problems += _circles(leader)
    for support in frame.supports:
        both = [way for way in support.directions if (support.point, way) in used]
        if both:
            link = used[support.point, both[0]]
            problems.append(
                f"support of {support.point!r} holds {' '.join(both)}, but the point follows rigid link {link!r}: "
                "hold its master instead."
            )
    seen: dict[tuple[str, str], float] = {}
    for support in frame.supports:
        for way, value in zip(support.directions, support.values):
            if seen.setdefault((support.point, way), value) != value:
                problems.append(f"support of {support.point!r} in {way} is given two different values.")
    return problems


def _circles(leader: dict[str, set[str]]) -> list[str]:
    """Points that follow themselves through a chain of rigid links."""
    for start in leader:
        reached, front = set(), set(leader[start])
        while front:
            if start in front and start not in leader[start]:
                return [f"rigid links run in a circle through point {start!r}."]
            reached |= front
            front = {m for point in front for m in leader.get(point, ())} - reached
    return []


def _lonely(frame: Frame) -> list[str]:
    """Points that nothing is joined to."""
    joined: set[Any] = set()
    for group in frame.beams:
        joined.update(group.starts)
        joined.update(group.ends)
    joined.update(mass.point for mass in frame.masses)
    for spring in frame.springs:
        joined.update((spring.a, spring.b))
    for rigid in frame.rigids:
        joined.update((rigid.master, *rigid.slaves))
    lonely = [name for name in frame.point_names if name not in joined]
    if not lonely:
        return []
    more = f" and {len(lonely) - 8} more" if len(lonely) > 8 else ""
    return [f"points not connected to anything in {_where(frame)}: {', '.join(lonely[:8])}{more}."]


def _idle_loads(frame: Frame) -> list[str]:
    """Moments on points of bars only and curvatures of bars: there is nothing they could turn."""
    turning: set[str] = set()
    for group in frame.beams:
        if group.properties.kind == "beam":
            turning.update(group.starts)
            turning.update(group.ends)
    turning.update(_inner(frame))
    for rigid in frame.rigids:
        turning.update((rigid.master, *rigid.slaves))
    for spring in frame.springs:
        if spring.line is None:
            turning.update(point for point in (spring.a, spring.b) if point is not None)
    bars = {name for group in frame.beams if group.properties.kind == "bar" for name in group.names}
    problems = [
        f"load case {load.case!r}: a curvature of {load.beam!r} does nothing: bars do not bend."
        for load in frame.loads
        if isinstance(load, InitialStrain) and any(load.strain[1:]) and load.beam in bars
    ]
    return problems + [
        f"load case {load.case!r}: a moment acts on point {load.point!r}, which has no rotation (bars and masses only)."
        for load in frame.loads
        if isinstance(load, PointLoad) and any(load.moment) and load.point not in turning
    ]
