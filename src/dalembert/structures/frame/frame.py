"""Frames of beams, bars and other elements as their user describes them: names and plain data, no mathematics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.errors import ModelError
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
from dalembert.structures.frame.loads import LoadMethods


@dataclass(frozen=True)
class Support:
    """Held directions of a point and their prescribed displacements [m, rad]."""

    point: str
    directions: tuple[str, ...]
    values: tuple[float, ...]


class Frame(BeamMethods, BarMethods, MassMethods, SpringMethods, RigidLinkMethods, LoadMethods):
    """Points, elements between them, supports and loads; made a model by ``assemble(frame)``.

    Elements are beams, bars, masses, springs and rigid links, and further kinds of :data:`FRAME_ELEMENTS`.

    Parameters
    ----------
    name : shown in messages and figures.
    planar : True for motion in the x-y plane (coordinates x, y, rz; gravity along −y), False for space (x, y, z, rx,
        ry, rz; gravity along −z).
    gravity : vector of the gravity field [m/s²]; None for 9.81 downwards, 0 for none.

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, solve_static, assemble
    >>> f = Frame("cantilever", planar=True)
    >>> f.add_points(["root", "tip"], [[0, 0], [1, 0]])
    >>> f.add_beam("beam", "root", "tip", section=Section.rectangle(0.02, 0.02), material="steel", elements=8)
    >>> f.add_support("root", "fixed")
    >>> f.add_force("tip load", "tip", (0, -10))
    >>> s = assemble(f)
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
        counts = Counter(word for one in self.elements for word in [one.kind] * len(one.own_names()))
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
            positions, f"positions of points {arguments.shown(names)} must be numbers, (n, 2) or (n, 3)."
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
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(self.add_element, kind)

    def families(self) -> dict[type[FrameElement], list[FrameElement]]:
        """The elements by the class that assembles them."""
        found: dict[type[FrameElement], list[FrameElement]] = {}
        for element in self.elements:
            found.setdefault(element.family(), []).append(element)
        return found

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
        from dalembert.structures.frame.check import find_problems

        return find_problems(self)

    def check(self) -> None:
        """Raise one `ModelError` that lists every problem of the description."""
        found = self.problems()
        if len(found) == 1:
            raise ModelError.of(found[0])
        if found:
            title = f"{len(found)} problems in frame {self.name!r}:"
            problem = "\n  - ".join([title, *(one.text() for one in found)])
            raise ModelError("several-problems", problem, where={"frame": self.name}, evidence={"problems": found})
