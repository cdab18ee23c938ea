"""Frames of beams and bars as their user says them: names and plain data, no mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.errors import ModelError
from dalembert.structures.assembly.damping import Damping, ModalDamping, Rayleigh
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.frame import parts
from dalembert.structures.frame.loads import LoadMethods
from dalembert.structures.frame.parts import BeamProperties, Beams, PointMass, Rigid, Spring, Support


class Frame(LoadMethods):
    """Points, beams, bars, masses, springs, rigid links, supports and loads; made a model by ``structure(frame)``.

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
            raise ModelError(f"the name of a frame must be a text, got {name!r}.")
        if not isinstance(planar, bool):
            raise ModelError(f"frame {name!r}: planar must be True or False, got {planar!r}.")
        self.name = name
        self.planar = planar
        if gravity is None:
            self.gravity: parts.Vector = (0.0, -9.81, 0.0) if planar else (0.0, 0.0, -9.81)
        elif np.isscalar(gravity) and gravity == 0:
            self.gravity = (0.0, 0.0, 0.0)
        else:
            self.gravity = parts.vector(gravity, f"gravity of frame {name!r}", planar)
        self.point_names: list[str] = []
        self.positions: list[Any] = []
        self.beams: list[Beams] = []
        self.masses: list[PointMass] = []
        self.springs: list[Spring] = []
        self.rigids: list[Rigid] = []
        self.supports: list[Support] = []
        self.loads: list[Any] = []
        self.cases: list[str] = []
        self.sections: dict[str, Section] = {}
        self.materials: dict[str, Material] = {}
        self.damping: Damping | None = None

    def __repr__(self) -> str:
        kind = "planar" if self.planar else "spatial"
        count = sum(len(beams.names) for beams in self.beams)
        return (
            f"Frame({self.name!r}, {kind}, {len(self.point_names)} points, {count} beams and bars, "
            f"{len(self.masses)} masses, {len(self.springs)} springs, {len(self.supports)} supports, "
            f"{len(self.cases)} load cases)"
        )

    # -- points, beams, bars -----------------------------------------------------------------------------------------

    def add_point(self, name: str, *position: Any) -> str:
        """A point at ``x, y`` (planar) or ``x, y, z`` [m], given as numbers or as one sequence; returns its name."""
        place = position[0] if len(position) == 1 else position
        self.positions.append(parts.vector(place, f"position of point {name!r}", self.planar))
        self.point_names.append(name)
        return name

    def add_points(self, names: str | Iterable[str], positions: ArrayLike) -> None:
        """Many points at once.

        Parameters
        ----------
        names : one per point, or a prefix: ``"p"`` makes ``p1, p2, ...``.
        positions : (n, 3) [m], or (n, 2) for a planar frame.
        """
        array = parts.numbers(positions, f"positions of points {parts.shown(names)} must be numbers, (n, 2) or (n, 3).")
        sizes = (2, 3) if self.planar else (3,)
        if array.ndim != 2 or array.shape[1] not in sizes or not np.all(np.isfinite(array)):
            raise ModelError(f"positions must be finite, of shape (n, {sizes[0]}), got shape {array.shape}.")
        if array.shape[1] == 2:
            array = np.column_stack([array, np.zeros(len(array))])
        elif self.planar and np.any(array[:, 2]):
            raise ModelError(f"frame {self.name!r} is planar: z of every point must be 0.")
        self.point_names.extend(parts.names_of("points", names, len(array)))
        self.positions.extend(map(tuple, array.tolist()))

    def add_beam(
        self,
        name: str,
        start: str,
        end: str,
        *,
        section: Section | str,
        material: Material | str,
        elements: int = 1,
        up: Sequence[float] | None = None,
        end_section: Section | str | None = None,
        offsets: tuple[Sequence[float] | None, Sequence[float] | None] | None = None,
        releases: Mapping[str, Any] | None = None,
        theory: str = "timoshenko",
        rotary: bool = True,
        mass: str = "consistent",
        loss_factor: float | None = None,
    ) -> None:
        """A beam from point ``start`` to point ``end``.

        Parameters
        ----------
        start, end : points, also those between the elements of another beam (``"column[2]"``).
        section : at its start, and everywhere unless ``end_section`` makes it a taper.  material : or its name.
        elements : number of elements it is cut into; the points between are ``"name[1]"``, ``"name[2]"``, ...
        up : global direction of the section's height (local y, made normal to the beam). When left out: global z, or
            global x for a beam within 1e-6 rad of vertical; planar frames always have local z = global z.
        offsets : arms from the two points to the ends of the beam, in global axes [m]; rigid.
        releases : ``{"start": "rz", "end": "ry rz"}``: local directions in which the end is not held by its point.
        theory : "timoshenko" or "euler-bernoulli".  rotary : False leaves out rotary inertia of bending.
        mass : "consistent" or "lumped" (half at each end).
        loss_factor : instead of the one of the material.
        """
        self.add_beams(
            [name], [start], [end], section=section, material=material, elements=elements, up=up,
            end_section=end_section, offsets=offsets, releases=releases, theory=theory, rotary=rotary, mass=mass,
            loss_factor=loss_factor,
        )  # fmt: skip

    def add_beams(
        self,
        names: str | Iterable[str],
        starts: Sequence[str],
        ends: Sequence[str],
        *,
        section: Section | str,
        material: Material | str,
        elements: int = 1,
        up: ArrayLike | None = None,
        end_section: Section | str | None = None,
        offsets: tuple[Sequence[float] | None, Sequence[float] | None] | None = None,
        releases: Mapping[str, Any] | None = None,
        theory: str = "timoshenko",
        rotary: bool = True,
        mass: str = "consistent",
        loss_factor: float | None = None,
    ) -> None:
        """Many beams with the same properties (see :meth:`add_beam`); a prefix names them ``prefix1, prefix2, ...``.

        ``up`` may also be of shape (n, 3): a direction for each beam.
        """
        what = f"beam {parts.shown(names)}"
        if theory not in parts.THEORIES:
            raise ModelError(f"{what}: theory must be one of {', '.join(parts.THEORIES)}, got {theory!r}.")
        properties = BeamProperties(
            kind="beam", section=section, material=material, elements=parts.element_count(elements, what),
            end_section=end_section,
            offsets=parts.end_offsets(offsets, what, self.planar),
            releases=parts.end_releases(releases, what, self.planar),
            theory=theory, rotary=bool(rotary), lumped=parts.is_lumped(mass, what),
            loss_factor=parts.loss_of(loss_factor, what),
        )  # fmt: skip
        self._add(properties, names, starts, ends, up)

    def add_bar(self, name: str, start: str, end: str, **properties: Any) -> None:
        """A bar: stiff along its axis only, free to turn at both ends.

        Keywords ``section`` (of which the area counts), ``material``, ``mass`` ("consistent" or "lumped") and
        ``loss_factor``.
        """
        self.add_bars([name], [start], [end], **properties)

    def add_bars(
        self,
        names: str | Iterable[str],
        starts: Sequence[str],
        ends: Sequence[str],
        *,
        section: Section | str,
        material: Material | str,
        mass: str = "consistent",
        loss_factor: float | None = None,
    ) -> None:
        """Many bars with the same properties; see :meth:`add_bar`."""
        what = f"bar {parts.shown(names)}"
        properties = BeamProperties(
            "bar", section, material, lumped=parts.is_lumped(mass, what), loss_factor=parts.loss_of(loss_factor, what)
        )
        self._add(properties, names, starts, ends)

    def add_section(self, name: str, section: Any) -> str:
        """A section that beams can call by name."""
        if not isinstance(section, Section):
            raise ModelError(f"section {name!r} must be a Section, got {type(section).__name__}.")
        if self.sections.setdefault(name, section) != section:
            raise ModelError(f"section {name!r} is there already, with other numbers.")
        return name

    def add_material(self, material: Any) -> str:
        """A material that beams can call by its name, beside those of the library."""
        if not isinstance(material, Material):
            kind = type(material).__name__
            raise ModelError(f"a material must be a Material, got {kind}; those of the library need no adding.")
        if self.materials.setdefault(material.name, material) != material:
            raise ModelError(f"material {material.name!r} is there already, with other numbers.")
        return material.name

    # -- masses, springs, links --------------------------------------------------------------------------------------

    def add_mass(
        self, name: str, point: str, mass: Any = 0.0, *, inertia: Any = None, offset: Sequence[float] | None = None
    ) -> None:
        """A rigid lump at a point.

        Parameters
        ----------
        mass : [kg]; three numbers for a different mass in each global direction.
        inertia : about its own centre [kg m²], in global axes: a number (planar), three numbers or a 3 x 3 matrix.
        offset : of its centre from the point, in global axes [m].
        """
        what = f"mass {name!r}"
        parts.text(point, what)
        three = np.broadcast_to(np.asarray(mass, dtype=object), (3,)) if np.ndim(mass) == 0 else list(mass)
        if len(three) != 3:
            raise ModelError(f"{what} must be one number or three, got {mass!r}.")
        masses = tuple(parts.number(m, what, not_negative=True) for m in three)
        expected = f"inertia of {what} must be a number, three numbers or a symmetric 3 x 3 matrix."
        J = np.zeros((3, 3)) if inertia is None else parts.numbers(inertia, expected)
        if J.ndim == 0:
            J = np.diag([0.0, 0.0, float(J)]) if self.planar else float(J) * np.eye(3)
        elif J.shape == (3,):
            J = np.diag(J)
        if J.shape != (3, 3) or not np.all(np.isfinite(J)) or np.abs(J - J.T).max() > 1e-9 * np.abs(J).max():
            raise ModelError(expected)
        if np.linalg.eigvalsh(J)[0] < -1e-9 * np.abs(J).max():
            raise ModelError(f"inertia of {what} must not have negative eigenvalues.")
        rows = tuple((row[0], row[1], row[2]) for row in J.tolist())
        place = (0.0, 0.0, 0.0) if offset is None else parts.vector(offset, f"offset of {what}", self.planar)
        self.masses.append(
            PointMass(name, point, (masses[0], masses[1], masses[2]), (rows[0], rows[1], rows[2]), place)
        )

    def add_spring(
        self,
        name: str,
        a: str,
        b: str | None = None,
        stiffness: Any = None,
        *,
        direction: Any = None,
        damping: Any = None,
        loss_factor: float = 0.0,
    ) -> None:
        """A spring, with a damper in parallel if ``damping`` is given, between two points or a point and the ground.

        Parameters
        ----------
        a, b : points; ``b=None`` is the ground.
        stiffness : [N/m, N m/rad]. A number acts in ``direction`` (``"y"``, ``"rz"`` or a vector), or along the line
            from a to b when no direction is given; a mapping ``{"x": 1e5, "rz": 1e3}``, six numbers (x y z rx ry rz;
            three for a planar frame) or a full symmetric matrix act on the relative displacements.
        damping : the same for the rates [N s/m, N m s/rad].

        A spring in a direction across the line between two points that are not at one place feels a rigid turn of
        both as stretch: model such a link by a beam, or by a rigid link to a point at the same place.
        """
        what = f"spring {name!r}"
        for point in (a,) if b is None else (a, b):
            parts.text(point, what)
        loss = parts.number(loss_factor, f"loss factor of {what}", not_negative=True)
        scalars = all(
            value is None or (np.ndim(value) == 0 and not isinstance(value, dict)) for value in (stiffness, damping)
        )
        if b is not None and direction is None and scalars:
            k, c = (
                0.0 if value is None else parts.number(value, f"{word} of {what}", not_negative=True)
                for word, value in (("stiffness", stiffness), ("damping", damping))
            )
            if not k and not c:
                raise ModelError(f"{what} has neither stiffness nor damping.")
            self.springs.append(Spring(name, a, b, None, None, (k, c), loss))
            return
        for word, value in (("stiffness", stiffness), ("damping", damping)):
            if value is not None and direction is None and np.ndim(value) == 0 and not isinstance(value, dict):
                raise ModelError(
                    f"{word} of {what}: say direction='x' (y, z, rx, ry, rz or a vector), or give a mapping."
                )
        K, C = (
            parts.matrix_of(value, direction, f"{word} of {what}", self.planar)
            for word, value in (("stiffness", stiffness), ("damping", damping))
        )
        if K is None and C is None:
            raise ModelError(f"{what} has neither stiffness nor damping.")
        self.springs.append(Spring(name, a, b, K, C, None, loss))

    def add_damper(
        self, name: str, a: str, b: str | None = None, damping: Any = None, *, direction: Any = None
    ) -> None:
        """A viscous damper; as :meth:`add_spring` without stiffness."""
        self.add_spring(name, a, b, None, direction=direction, damping=damping)

    def add_rigid(self, name: str, master: str, slaves: str | Iterable[str], directions: Any = "fixed") -> None:
        """Slaves that move with ``master`` as one rigid body (small rotations), in all or in some directions.

        ``directions="x y rz"`` makes a floor that is rigid in its own plane. Slaves lose those coordinates.
        """
        ways = parts.directions(directions, f"rigid link {name!r}", self.planar)
        followers = (slaves,) if isinstance(slaves, str) or not np.iterable(slaves) else tuple(slaves)
        for point in (master, *followers):
            parts.text(point, f"rigid link {name!r}")
        self.rigids.append(Rigid(name, master, followers, ways))

    def add_support(self, points: str | Iterable[str], directions: Any = "fixed", *, values: Any = None) -> None:
        """Hold points.

        Parameters
        ----------
        points : one name or several.
        directions : ``"fixed"`` (all), ``"pinned"`` (translations) or some of x y z rx ry rz, as in ``"xy rz"``.
        values : prescribed displacement [m, rad]: a number for all directions or ``{"y": -0.01}``; 0 when left out.
        """
        for point in (points,) if isinstance(points, str) or not np.iterable(points) else tuple(points):
            what = f"support of {parts.text(point, 'support')!r}"
            ways = parts.directions(directions, what, self.planar)
            given = values if isinstance(values, Mapping) else dict.fromkeys(ways, 0.0 if values is None else values)
            strange = [key for key in given if key not in ways]
            if strange:
                raise ModelError(f"{what}: a value is given for {strange[0]!r}, which is not held ({' '.join(ways)}).")
            numbers = tuple(parts.number(given.get(way, 0.0), f"{what} in {way}") for way in ways)
            self.supports.append(Support(point, ways, numbers))

    def set_damping(
        self, *, alpha: float = 0.0, beta: float = 0.0, ratios: float | Iterable[float] | None = None
    ) -> None:
        """Rayleigh damping ``alpha M + beta K``, or damping ratios of the modes (one number for all of them)."""
        if ratios is None:
            self.damping = Rayleigh(parts.number(alpha, "alpha"), parts.number(beta, "beta"))
            return
        if alpha or beta:
            raise ModelError("give alpha and beta (Rayleigh) or ratios (modal), not both.")
        self.damping = ModalDamping(ratios if np.isscalar(ratios) else tuple(ratios))  # type: ignore[arg-type]

    def problems(self) -> list[str]:
        """Everything wrong with the description; empty when it is sound."""
        from dalembert.structures.frame.check import find_problems

        return find_problems(self)

    def check(self) -> None:
        """Raise one `ModelError` that lists every problem of the description."""
        found = self.problems()
        if found:
            title = f"{len(found)} problems in frame {self.name!r}:"
            raise ModelError(found[0] if len(found) == 1 else "\n  - ".join([title, *found]))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _add(
        self,
        properties: BeamProperties,
        names: str | Iterable[str],
        starts: Sequence[str],
        ends: Sequence[str],
        up: Any = None,
    ) -> None:
        what = f"{properties.kind} {parts.shown(names)}"
        if isinstance(starts, str) or isinstance(ends, str):
            raise ModelError(f"{what}: starts and ends must be lists of names, got {starts!r} and {ends!r}.")
        starts, ends = list(starts), list(ends)
        if len(starts) != len(ends):
            raise ModelError(f"{what}: {len(starts)} starts but {len(ends)} ends.")
        for point in (*starts, *ends):
            parts.text(point, what)
        named = parts.names_of(f"{properties.kind}s", names, len(starts))
        ups = parts.height_directions(up, len(starts), what)
        if not self.beams or self.beams[-1].properties != properties:  # beams added one by one share one record
            self.beams.append(Beams(properties))
        last = self.beams[-1]
        last.names.extend(named)
        last.starts.extend(starts)
        last.ends.extend(ends)
        last.ups.extend(ups)
