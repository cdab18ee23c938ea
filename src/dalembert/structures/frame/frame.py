"""Frames of beams, bars and other elements as their user describes them: names and plain data, no mathematics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.structures.assembly.damping import Damping, ModalDamping, Rayleigh
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.frame import arguments
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement
from dalembert.structures.frame.elements.bar import BarMethods
from dalembert.structures.frame.elements.beam import BeamMethods
from dalembert.structures.frame.elements.point_mass import MassMethods
from dalembert.structures.frame.elements.rigid_link import RigidLinkMethods
from dalembert.structures.frame.elements.spring import SpringMethods
from dalembert.structures.frame.loads import BeamPointLoad, InitialStrain, LineLoad, LoadMethods, PointLoad
from dalembert.structures.frame.numbering import number_points

SHOWN = 8  # points named in one message


@dataclass(frozen=True)
class Support:
    """Held directions of a point and their prescribed displacements [m, rad]."""

    point: str
    directions: tuple[str, ...]
    values: tuple[float, ...]


class Frame(BeamMethods, BarMethods, MassMethods, SpringMethods, RigidLinkMethods, LoadMethods):
    """Points, elements between them, supports and loads; made a model by ``assemble_structure(frame)``.

    Elements are beams, bars, masses, springs and rigid links, and further kinds of :data:`FRAME_ELEMENTS`.

    Parameters
    ----------
    name : shown in messages and figures.
    planar : True for motion in the x-y plane (coordinates x, y, rz; gravity along −y), False for space (x, y, z, rx,
        ry, rz; gravity along −z).
    gravity : vector of the gravity field [m/s²]; None for 9.81 downwards, 0 for none.

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, solve_static, assemble_structure
    >>> f = Frame("cantilever", planar=True)
    >>> f.add_points(["root", "tip"], [[0, 0], [1, 0]])
    >>> f.add_beam("beam", "root", "tip", section=Section.rectangle(0.02, 0.02), material="steel", elements=8)
    >>> f.add_support("root", "fixed")
    >>> f.add_force("tip load", "tip", (0, -10))
    >>> s = assemble_structure(f)
    >>> s.modes(3).frequencies_hz.round(2).tolist()
    [16.71, 104.5, 291.95]
    >>> print(f"{solve_static(s, 'tip load').displacement['tip.y']:.4e} m")
    -1.1908e-03 m
    """

    def __init__(self, name: str = "", *, planar: bool = False, gravity: Any = None) -> None:
        if not isinstance(name, str):
            raise ModelError("bad-name", f"the name of a frame must be a text, got {name!r}.")
        if not isinstance(planar, bool):
            raise ModelError("wrong-type", f"frame {name!r}: planar must be True or False, got {planar!r}.")
        self.name = name
        self.planar = planar
        if gravity is None:
            self.gravity: arguments.Vector = (0.0, -9.81, 0.0) if planar else (0.0, 0.0, -9.81)
        elif np.isscalar(gravity) and gravity == 0:
            self.gravity = (0.0, 0.0, 0.0)
        else:
            self.gravity = arguments.vector(gravity, f"gravity of frame {name!r}", planar)
        self.point_names: list[str] = []
        self.positions: list[Any] = []
        self.elements: list[FrameElement] = []
        self.supports: list[Support] = []
        self.loads: list[Any] = []
        self.cases: list[str] = []
        self.sections: dict[str, Section] = {}
        self.materials: dict[str, Material] = {}
        self.damping: Damping | None = None

    def __repr__(self) -> str:
        kind = "planar" if self.planar else "spatial"
        counts = Counter(word for element in self.elements for word in [element.kind] * len(element.own_names()))
        parts = [f"{len(self.point_names)} points", *(f"{count} x {word}" for word, count in counts.items())]
        parts += [f"{len(self.supports)} supports", f"{len(self.cases)} load cases"]
        return f"Frame({self.name!r}, {kind}, {', '.join(parts)})"

    # -- points and elements -------------------------------------------------------------------------------------------

    def add_point(self, name: str, *position: Any) -> str:
        """A point at ``x, y`` (planar) or ``x, y, z`` [m], given as numbers or as one sequence; returns its name."""
        place = position[0] if len(position) == 1 else position
        self.positions.append(arguments.vector(place, f"position of point {name!r}", self.planar))
        self.point_names.append(name)
        return name

    def add_points(self, names: str | Iterable[str], positions: ArrayLike) -> None:
        """Many points at once.

        Parameters
        ----------
        names : one per point, or a prefix: ``"p"`` makes ``p1, p2, ...``.
        positions : (n, 3) [m], or (n, 2) for a planar frame.
        """
        array = arguments.numbers(
            positions, f"positions of points {arguments.first_name(names)} must be numbers, (n, 2) or (n, 3)."
        )
        sizes = (2, 3) if self.planar else (3,)
        if array.ndim != 2 or array.shape[1] not in sizes or not np.all(np.isfinite(array)):
            problem = f"positions must be finite, of shape (n, {sizes[0]}), got shape {array.shape}."
            raise ModelError("wrong-shape", problem)
        if array.shape[1] == 2:
            array = np.column_stack([array, np.zeros(len(array))])
        elif self.planar and np.any(array[:, 2]):
            raise ModelError("not-planar", f"frame {self.name!r} is planar: z of every point must be 0.")
        self.point_names.extend(arguments.names_of("points", names, len(array)))
        self.positions.extend(map(tuple, array.tolist()))

    def add_element(self, kind: str, name: str, *values: Any, **named: Any) -> None:
        """An element of any kind of :data:`FRAME_ELEMENTS`; ``add_<kind>(name, ...)`` does the same.

        The arguments are those of ``add_beam`` and its likes, or of the class of another kind.
        """
        made = FRAME_ELEMENTS[kind]
        own = getattr(type(self), f"add_{kind}", None)
        if own is not None:
            own(self, name, *values, **named)
            return
        try:
            self.elements.append(made(name, *values, **named))  # type: ignore[call-arg]
        except TypeError as error:
            problem = f"{kind} {name!r}: {error}."
            raise ModelError("unknown-argument", problem, where={"kind": kind, "name": name}) from error

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("add_")
        if kind == name or kind not in FRAME_ELEMENTS:
            heir = " Use f.validate()." if name == "check" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.{heir}")
        return partial(self.add_element, kind)

    def families(self) -> dict[type[FrameElement], list[FrameElement]]:
        """The elements by the class that assembles them."""
        families: dict[type[FrameElement], list[FrameElement]] = {}
        for element in self.elements:
            families.setdefault(element.family(), []).append(element)
        return families

    def add_section(self, name: str, section: Any) -> str:
        """A section that beams can call by name."""
        if not isinstance(section, Section):
            raise ModelError("wrong-type", f"section {name!r} must be a Section, got {type(section).__name__}.")
        if self.sections.setdefault(name, section) != section:
            raise ModelError("taken-name", f"section {name!r} is there already, with other numbers.")
        return name

    def add_material(self, material: Any) -> str:
        """A material that beams can call by its name, beside those of the library."""
        if not isinstance(material, Material):
            kind = type(material).__name__
            advice = Advice("Materials of the library need no adding.")
            raise ModelError("wrong-type", f"a material must be a Material, got {kind}.", advice)
        if self.materials.setdefault(material.name, material) != material:
            raise ModelError("taken-name", f"material {material.name!r} is there already, with other numbers.")
        return material.name

    def add_support(self, points: str | Iterable[str], directions: Any = "fixed", *, values: Any = None) -> None:
        """Hold points.

        Parameters
        ----------
        points : one name or several.
        directions : ``"fixed"`` (all), ``"pinned"`` (translations) or some of x y z rx ry rz, as in ``"xy rz"``.
        values : prescribed displacement [m, rad]: a number for all directions or ``{"y": -0.01}``; 0 when left out.
        """
        for point in (points,) if isinstance(points, str) or not np.iterable(points) else tuple(points):
            what = f"support of {arguments.text(point, 'support')!r}"
            ways = arguments.directions(directions, what, self.planar)
            given = values if isinstance(values, Mapping) else dict.fromkeys(ways, 0.0 if values is None else values)
            strange = [key for key in given if key not in ways]
            if strange:
                problem = f"{what}: a value is given for {strange[0]!r}, which is not held ({' '.join(ways)})."
                raise ModelError("not-held", problem)
            numbers = tuple(arguments.number(given.get(way, 0.0), f"{what} in {way}") for way in ways)
            self.supports.append(Support(point, ways, numbers))

    def set_damping(
        self, *, alpha: float = 0.0, beta: float = 0.0, ratios: float | Iterable[float] | None = None
    ) -> None:
        """Rayleigh damping ``alpha M + beta K``, or damping ratios of the modes (one number for all of them)."""
        if ratios is None:
            self.damping = Rayleigh(arguments.number(alpha, "alpha"), arguments.number(beta, "beta"))
            return
        if alpha or beta:
            problem = "Rayleigh damping and damping ratios of the modes exclude each other."
            advice = Advice("Give {}.", Argument("alpha"), Argument("beta"), Argument("ratios"))
            raise ModelError("conflicting-arguments", problem, advice)
        self.damping = ModalDamping(ratios if np.isscalar(ratios) else tuple(ratios))  # type: ignore[arg-type]

    def problems(self) -> list[Finding]:
        """All findings about the description; empty when it is sound."""
        return find_problems(self)

    def validate(self) -> None:
        """Raise one `ModelError` that lists every problem of the description."""
        ModelError.refuse(self.problems(), f"problems in frame {self.name!r}", {"frame": self.name})


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
            if stem in points and way in arguments.DIRECTIONS:
                problem = f"{kind} {name!r} is called like a coordinate of point {stem!r}."
                problems.append(Finding("taken-name", problem, {"name": name}, advice=rename))
    if "base" in frame.point_names:
        problem = "a point may not be called 'base': base.x is the name of a base excitation."
        problems.append(Finding("taken-name", problem, {"name": "base"}))
    return problems


def _reference_problems(frame: Frame) -> list[Finding]:
    problems: list[Finding] = []
    known = {*frame.point_names, *(name for element in frame.elements for name in element.inner_points())}

    def note_missing(what: str, names: Iterable[Any]) -> None:
        for name in names:
            if name not in known:
                problem = f"{what}: {unknown_name('point', name, known, _where(frame))}"
                problems.append(Finding("unknown-name", problem, {"point": name}))

    for element in frame.elements:
        if not known.issuperset(element.attached):
            for what, points in element.references():
                note_missing(what, points)
    for support in frame.supports:
        note_missing("support", (support.point,))
    loaded = {name for element in frame.elements if element.takes_loads for name in element.own_names()}
    for load in frame.loads:
        if isinstance(load, PointLoad):
            note_missing(f"load case {load.case!r}", (load.point,))
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
