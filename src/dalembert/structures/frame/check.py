"""Everything wrong with the description of a frame, at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import unknown_name
from dalembert.core.findings import Advice, Finding
from dalembert.structures.assembly.materials import Material
from dalembert.structures.frame.arguments import DIRECTIONS
from dalembert.structures.frame.loads import BeamPointLoad, InitialStrain, LineLoad, PointLoad
from dalembert.structures.frame.numbering import number_points

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame

SHOWN = 8  # points named in one message


def find_problems(frame: Frame) -> list[Finding]:
    """What is wrong with a frame."""
    problems = [*_name_problems(frame), *_reference_problems(frame)]
    for element in frame.elements:
        problems += element.find_problems(frame)
    problems += [
        Finding("wrong-type", f"{m!r} of {_where(frame)} is not a Material.")
        for m in frame.materials.values()
        if not isinstance(m, Material)
    ]
    for kind, elements in frame.families().items():
        problems += kind.find_common_problems(elements, frame)
    problems += _support_problems(frame)
    if not problems:  # geometry can only be judged when every name is known
        problems = [*_geometry_problems(frame), *_isolated_points(frame), *_ineffective_loads(frame)]
    return problems


def _where(frame: Frame) -> str:
    return f"frame {frame.name!r}"


def _name_problems(frame: Frame) -> list[Finding]:
    problems: list[Finding] = []
    where = _where(frame)
    if not frame.point_names:
        problems.append(Finding("empty", f"{where} has no points."))
    if not any(element.carries for element in frame.elements):
        problems.append(Finding("empty", f"{where} has no beams, bars, springs or masses."))
    inner = [name for element in frame.elements for name in element.inner_points()]
    named = [name for element in frame.elements for name in element.own_names()]
    for kind, names in (("point", frame.point_names + inner), ("beam, bar, mass, spring or rigid link", named)):
        if len(set(names)) != len(names):
            twice = [name for name, count in Counter(names).items() if count > 1]
            problems += [
                Finding("taken-name", f"name {name!r} is used more than once for a {kind} in {where}.", {"name": name})
                for name in twice
            ]
    problems += [
        Finding("bad-name", f"a name must be a non-empty text without outer blanks, got {name!r} in {where}.")
        for name in [*frame.point_names, *named]
        if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable()
    ]
    points = set(frame.point_names)
    rename = (Advice("Give it another name."),)
    for kind, names in (("point", frame.point_names), ("load case", frame.cases)):
        for name in names:
            stem, _, way = name.rpartition(".") if isinstance(name, str) else ("", "", "")
            if stem in points and way in DIRECTIONS:
                problem = f"{kind} {name!r} is called like a coordinate of point {stem!r}."
                problems.append(Finding("taken-name", problem, {"name": name}, advice=rename))
    if "base" in frame.point_names:
        problem = "a point may not be called 'base': base.x is the name of a base excitation."
        problems.append(Finding("taken-name", problem, {"name": "base"}))
    return problems


def _reference_problems(frame: Frame) -> list[Finding]:
    problems: list[Finding] = []
    known = {*frame.point_names, *(name for element in frame.elements for name in element.inner_points())}

    def missing(what: str, names: Iterable[Any]) -> None:
        for name in names:
            if name not in known:
                problem = f"{what}: {unknown_name('point', name, known, _where(frame))}"
                problems.append(Finding("unknown-name", problem, {"point": name}))

    for element in frame.elements:
        if not known.issuperset(element.attached):
            for what, points in element.references():
                missing(what, points)
    for support in frame.supports:
        missing("support", (support.point,))
    loaded = {name for element in frame.elements if element.takes_loads for name in element.own_names()}
    for load in frame.loads:
        if isinstance(load, PointLoad):
            missing(f"load case {load.case!r}", (load.point,))
        elif isinstance(load, (LineLoad, BeamPointLoad, InitialStrain)) and load.beam not in loaded:
            problem = f"load case {load.case!r}: {unknown_name('beam or bar', load.beam, loaded, _where(frame))}"
            problems.append(Finding("unknown-name", problem, {"beam": load.beam}))
    return problems


def _support_problems(frame: Frame) -> list[Finding]:
    problems: list[Finding] = []
    seen: dict[tuple[str, str], float] = {}
    for support in frame.supports:
        for way, value in zip(support.directions, support.values):
            if seen.setdefault((support.point, way), value) != value:
                problem = f"support of {support.point!r} in {way} is given two different values."
                problems.append(Finding("conflicting-arguments", problem, {"point": support.point}))
    return problems


def _geometry_problems(frame: Frame) -> list[Finding]:
    problems: list[Finding] = []
    numbering = number_points(frame)
    positions, index = numbering.positions, numbering.index
    lost = [
        repr(name.rpartition("[")[0]) for element in frame.elements for name in element.inner_points()
        if name.endswith("[1]") and np.isnan(positions[index[name], 0])
    ]  # fmt: skip
    if lost:
        problem = f"beams {', '.join(lost)} start or end inside each other, so that none of them has a place."
        return [Finding("no-solution", problem)]
    size = float(np.ptp(positions, axis=0).max()) if len(positions) else 0.0
    for element in frame.elements:
        problems += element.find_geometry_problems(frame, positions, index, size)
    return problems


def _isolated_points(frame: Frame) -> list[Finding]:
    """Points that nothing is joined to."""
    joined = {name for element in frame.elements for name in element.attached}
    isolated = [name for name in frame.point_names if name not in joined]
    if not isolated:
        return []
    more = f" and {len(isolated) - SHOWN} more" if len(isolated) > SHOWN else ""
    problem = f"points not connected to anything in {_where(frame)}: {', '.join(isolated[:SHOWN])}{more}."
    return [Finding("not-connected", problem, {"points": isolated})]


def _ineffective_loads(frame: Frame) -> list[Finding]:
    """Moments on points that nothing turns, and curvatures of elements that do not bend."""
    rotated = {name for element in frame.elements for name in element.rotated}
    straight = {name for element in frame.elements if not element.bends for name in element.own_names()}
    problems = [
        Finding("ineffective-load", f"load case {load.case!r}: a curvature of {load.beam!r} does nothing: bars do not "
                "bend.", {"case": load.case, "beam": load.beam})
        for load in frame.loads
        if isinstance(load, InitialStrain) and any(load.strain[1:]) and load.beam in straight
    ]  # fmt: skip
    return problems + [
        Finding("ineffective-load", f"load case {load.case!r}: a moment acts on point {load.point!r}, which has no "
                "rotation (bars and masses only).", {"case": load.case, "point": load.point})
        for load in frame.loads
        if isinstance(load, PointLoad) and any(load.moment) and load.point not in rotated
    ]  # fmt: skip
