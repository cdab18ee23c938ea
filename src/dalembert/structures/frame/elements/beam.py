"""Beams of a frame: their description, its checks, and the way to their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import DalembertError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import Vector
from dalembert.structures.frame.beam_arrays import end_places, make_group, material_of, orient
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement, FrameModel

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame

THEORIES = ("timoshenko", "euler-bernoulli")
# Elements computed at a time: their matrices stay in the cache.
CHUNK = 1024


def shortest_length(size: float, share: float = 1e-12) -> float:
    """Length of a beam in a frame of this size; coordinates of that size are rounded to 1e-16 of it."""
    return share * size


def _is_along(flat: Any, height: Any, angle: float = 1e-6) -> Any:
    """Whether the height points along the beam: below this sine it has no sure direction."""
    return flat <= angle * height


@dataclass(frozen=True)
class BeamProperties:
    """What the beams of one call have in common."""

    section: Section | str
    material: Material | str
    elements: int = 1
    end_section: Section | str | None = None
    offsets: tuple[Vector, Vector] | None = None
    releases: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    theory: str = "timoshenko"
    rotary: bool = True
    lumped: bool = False
    loss_factor: float | None = None


@dataclass
class Beams(FrameElement):
    """Beams with the same properties."""

    kind: ClassVar[str] = "beam"
    takes_loads: ClassVar[bool] = True
    bends: ClassVar[bool] = True
    properties: BeamProperties
    names: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    ups: list[Vector | None] = field(default_factory=list)

    def own_names(self) -> Sequence[str]:
        return self.names

    @property
    def attached(self) -> Iterable[str]:
        return (*self.starts, *self.ends)

    @property
    def rotated(self) -> Iterable[str]:
        return (*self.starts, *self.ends, *self.inner_points())

    def references(self) -> Iterable[tuple[str, Iterable[str]]]:
        rows = zip(self.names, self.starts, self.ends)
        return ((f"{self.kind} {name!r}", (start, end)) for name, start, end in rows)

    def inner_points(self) -> list[str]:
        count = self.properties.elements
        return [f"{name}[{k}]" for name in self.names for k in range(1, count)] if count > 1 else []

    def chain(self, index: Mapping[str, int]) -> IntArray:
        """(n, elements + 1) points along each beam."""
        n, m = len(self.names), self.properties.elements
        start, end = (np.array([index[name] for name in ends], dtype=np.int64) for ends in (self.starts, self.ends))
        first = index[f"{self.names[0]}[1]"] if m > 1 and n else 0
        return np.column_stack([start, first + np.arange(n * (m - 1)).reshape(n, m - 1), end])

    def place_inner(self, index: Mapping[str, int], positions: FloatArray) -> bool:
        m = self.properties.elements
        if m == 1 or not self.names:
            return False
        chain = self.chain(index)
        known = ~np.isnan(positions[chain[:, [0, -1]], 0]).any(axis=1)
        ready = np.flatnonzero(known & np.isnan(positions[chain[:, 1], 0]))
        first, last = end_places(self, positions[chain[ready, 0]], positions[chain[ready, -1]])
        t = (np.arange(1, m) / m)[:, None]
        positions[chain[ready, 1:-1]] = first[:, None] * (1 - t) + last[:, None] * t
        return bool(len(ready))

    # -- checks ------------------------------------------------------------------------------------------------------

    def find_problems(self, frame: Frame) -> list[Finding]:
        """Sections and materials: known, and with the numbers the theory needs."""
        problems: list[Finding] = []
        p = self.properties
        what = f"{self.kind} {self.names[0]!r}" if self.names else self.kind
        try:
            material_of(frame, p.material)
        except DalembertError as error:
            found = error.finding
            problems.append(Finding(found.code, f"{what}: {found.problem}", found.where, found.evidence, found.advice))
        for given in (p.section, p.end_section):
            if given is not None:
                problems += self._section_problems(frame, what, given)
        return problems

    def _section_problems(self, frame: Frame, what: str, given: Any) -> list[Finding]:
        if isinstance(given, str):
            if given not in frame.sections:
                problem = f"{what}: {unknown_name('section', given, frame.sections, f'frame {frame.name!r}')}"
                return [Finding("unknown-name", problem, {"section": given})]
            given = frame.sections[given]
        if not isinstance(given, Section):
            return [Finding("wrong-type", f"{what}: section must be a Section, got {type(given).__name__}.")]
        needed = (("I_z",) if frame.planar else ("I_y", "I_z", "J")) if self.bends else ()
        space = "a plane" if frame.planar else "space"
        advice = Advice("{} makes a member that is stiff along its axis only.", Call("frame.add_bar"))
        return [
            Finding("not-positive", f"{what}: its section has {name} = 0; a beam in {space} needs {name} > 0.",
                    advice=(advice,))
            for name in needed
            if not getattr(given, name) > 0
        ]  # fmt: skip

    def find_geometry_problems(
        self, frame: Frame, positions: FloatArray, index: Mapping[str, int], size: float
    ) -> list[Finding]:
        start, end = (positions[[index[name] for name in names]] for names in (self.starts, self.ends))
        axes = orient(frame, self, start, end)
        shortest = shortest_length(size)
        problems = [
            Finding("zero-length", f"{self.kind} {self.names[k]!r} has no length: {self.starts[k]!r} and "
                    f"{self.ends[k]!r} are at one place.", {self.kind: self.names[k]})
            for k in np.flatnonzero(axes.length <= shortest)
        ]  # fmt: skip
        if not frame.planar and any(self.ups):
            ups = np.array([up or (np.nan,) * 3 for up in self.ups])
            flat = np.linalg.norm(np.cross(axes.R[:, 0], ups), axis=1)
            along = _is_along(flat, np.linalg.norm(ups, axis=1))
            advice = (Advice("Give a direction across it: {}.", Argument("up")),)
            for k in np.flatnonzero(along & (axes.length > shortest)):
                problem = f"{self.kind} {self.names[k]!r}: the direction of its height points along the beam."
                problems.append(Finding("parallel", problem, {self.kind: self.names[k]}, advice=advice))
        return problems + self._release_problems()

    def _release_problems(self) -> list[Finding]:
        first, last = self.properties.releases
        what = f"beam {self.names[0]!r}" if self.names else "beam"
        problems = []
        for way in ("x", "rx"):
            if way in first and way in last:
                problem = f"{what} releases {way} at both ends: nothing holds it in that direction."
                problems.append(Finding("not-held", problem))
        for turn, push in (("rz", "y"), ("ry", "z")):
            total = [way in first for way in (turn, push)] + [way in last for way in (turn, push)]
            if sum(total) > 2 or (push in first and push in last):
                problem = f"{what} releases too much of {push} and {turn} at its ends: it could move by itself."
                problems.append(Finding("not-held", problem))
        return problems

    # -- assembly ----------------------------------------------------------------------------------------------------

    @classmethod
    def family(cls) -> type[FrameElement]:
        return Beams

    @classmethod
    def assemble(cls, elements: Sequence[Beams], model: FrameModel) -> None:
        group = make_group(model.frame, elements, model.numbering, model.keep)
        kinds, same = group.different()
        M, K = _matrices(kinds)
        model.blocks["K"].append(assembly.blocks(group.points, K, same))
        model.blocks["M"].append(assembly.blocks(group.points, M, same))
        if group.loss.any():
            model.blocks["K_loss"].append(assembly.blocks(group.points, kinds.loss[:, None, None] * K, same))
        model.touched[group.points[~group.is_bar].ravel()] = True
        if group.released is not None:
            model.released = np.unique(group.points[group.released.any(axis=1)])
        model.groups.append(group)


def _matrices(group: BeamGroup) -> tuple[FloatArray, FloatArray]:
    """Mass and stiffness (ne, 2d, 2d) on the coordinates of the points, so many elements at a time as fit the cache."""
    ne, size = len(group.points), 2 * len(group.keep)
    M, K = np.empty((ne, size, size)), np.empty((ne, size, size))
    for start in range(0, ne, CHUNK):
        some = group if ne <= CHUNK else group.pick(np.arange(start, min(start + CHUNK, ne)))
        local = some.stiffness()
        T = some.transform(local)
        K[start : start + CHUNK] = assembly.congruent(T, local)
        M[start : start + CHUNK] = assembly.congruent(T, some.mass())
    return M, K


class BeamMethods:
    """The part of a `Frame` that takes beams."""

    planar: bool
    elements: list[FrameElement]

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
        what = f"beam {arguments.first_name(names)}"
        properties = BeamProperties(
            section=section, material=material, elements=arguments.element_count(elements, what),
            end_section=end_section,
            offsets=arguments.end_offsets(offsets, what, self.planar),
            releases=arguments.end_releases(releases, what, self.planar),
            theory=arguments.choose(f"theory of {what}", theory, THEORIES), rotary=bool(rotary),
            lumped=arguments.is_lumped(mass, what),
            loss_factor=arguments.loss_of(loss_factor, what),
        )  # fmt: skip
        add_members(self.elements, Beams, properties, names, starts, ends, up)


def add_members(
    elements: list[FrameElement],
    kind: type[Beams],
    properties: BeamProperties,
    names: str | Iterable[str],
    starts: Sequence[str],
    ends: Sequence[str],
    up: Any = None,
) -> None:
    """Add beams or bars to the elements of a frame; those of equal properties, added one by one, share one record."""
    what = f"{kind.kind} {arguments.first_name(names)}"
    if isinstance(starts, str) or isinstance(ends, str):
        problem = f"{what}: starts and ends must be lists of names, got {starts!r} and {ends!r}."
        raise ModelError("wrong-type", problem)
    starts, ends = list(starts), list(ends)
    if len(starts) != len(ends):
        raise ModelError("wrong-shape", f"{what}: {len(starts)} starts but {len(ends)} ends.")
    for point in (*starts, *ends):
        arguments.text(point, what)
    named = arguments.names_of(f"{kind.kind}s", names, len(starts))
    ups = arguments.height_directions(up, len(starts), what)
    last = next((one for one in reversed(elements) if isinstance(one, Beams)), None)
    if last is None or type(last) is not kind or last.properties != properties:
        last = kind(properties)
        elements.append(last)
    last.names.extend(named)
    last.starts.extend(starts)
    last.ends.extend(ends)
    last.ups.extend(ups)


FRAME_ELEMENTS.register("beam", Beams)
