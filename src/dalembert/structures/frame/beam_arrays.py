"""From the beams and bars of a frame to the arrays of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import ModelError
from dalembert.structures.assembly.materials import Material, material
from dalembert.structures.assembly.places import is_on
from dalembert.structures.assembly.sections import Section
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.beams.beam_group import PointLoads
from dalembert.structures.beams.elements import BeamNumbers, gauss
from dalembert.structures.beams.taper import GAUSS_POINTS, TaperedElements
from dalembert.structures.frame.arguments import DIRECTIONS
from dalembert.structures.frame.loads import BeamPointLoad, InitialStrain, LineLoad

if TYPE_CHECKING:
    from dalembert.structures.frame.elements.beam import Beams
    from dalembert.structures.frame.frame import Frame
    from dalembert.structures.frame.numbering import Numbering

# Angle to the vertical [rad] below which a beam takes global x, not z, as the direction of its height.
VERTICAL = 1e-6
# Distance from the end of an element, relative to its length, below which a load starts or ends right there.
EDGE = 1e-9


@dataclass(frozen=True)
class BeamAxes:
    """Ends and axes of the beams of one set."""

    arms: FloatArray  # (n, 2, 3), global
    length: FloatArray  # (n,) between the ends
    R: FloatArray  # (n, 3, 3)


def end_places(beams: Beams, start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, 3) ends of the beams themselves, offsets added to their points."""
    offsets = beams.properties.offsets
    return (start, end) if offsets is None else (start + np.array(offsets[0]), end + np.array(offsets[1]))


def orient(frame: Frame, beams: Beams, start: FloatArray, end: FloatArray) -> BeamAxes:
    """Axes of beams between points: x along the beam, y the direction of the height, z = x × y."""
    first, last = end_places(beams, start, end)
    along = last - first
    length = np.linalg.norm(along, axis=1)
    x = along / np.where(length > 0, length, 1.0)[:, None]
    if frame.planar:
        y = np.column_stack([-x[:, 1], x[:, 0], np.zeros(len(x))])
    else:
        up = np.array([given or (0.0, 0.0, 1.0) for given in beams.ups]).reshape(-1, 3)
        default = np.array([given is None for given in beams.ups], dtype=bool)
        up[default & (np.hypot(x[:, 0], x[:, 1]) < VERTICAL)] = (1.0, 0.0, 0.0)
        y = up - np.sum(up * x, axis=1)[:, None] * x
        size = np.linalg.norm(y, axis=1)
        y /= np.where(size > 0, size, 1.0)[:, None]
    R = np.stack([x, y, np.cross(x, y)], axis=1)
    return BeamAxes(np.stack([first - start, last - end], axis=1), length, R)


def section_of(frame: Frame, given: Section | str) -> Section:
    """The section itself, or the frame's section of this name."""
    return frame.sections[given] if isinstance(given, str) else given


def material_of(frame: Frame, given: Material | str) -> Material:
    """The material itself, the frame's own, or one of the library."""
    return frame.materials[given] if isinstance(given, str) and given in frame.materials else material(given)


def make_group(frame: Frame, beams_of: Sequence[Beams], numbering: Numbering, keep: tuple[int, ...]) -> BeamElements:
    """Arrays of all elements."""
    sets = [_set_arrays(frame, beams, numbering.positions, beams.chain(numbering.index)) for beams in beams_of]
    joined = {key: np.concatenate([arrays[key] for arrays in sets]) for key in sets[0] if key != "per beam"}
    numbers = BeamNumbers(**{key: joined.pop(key) for key in BeamNumbers.__dataclass_fields__})
    sections: list[Section] = []
    materials: list[Material] = []
    places, made = [], []
    for beams, arrays in zip(beams_of, sets):
        p = beams.properties
        first = section_of(frame, p.section)
        last = first if p.end_section is None else section_of(frame, p.end_section)
        pair = [_place(sections, first), _place(sections, last)]
        places.append(np.tile(pair, (len(arrays["length"]), 1)))
        made.append(np.full(len(arrays["length"]), _place(materials, material_of(frame, p.material))))
    counts = np.concatenate([np.full(len(beams.names), beams.properties.elements) for beams in beams_of])
    first_element = np.concatenate([[0], np.cumsum(counts)])
    released = joined.pop("released")
    arms = joined.pop("arms")
    names = [name for beams in beams_of for name in beams.names]
    tapered, tapered_index = _taper_elements(frame, beams_of, joined["span"], numbers)
    if tapered is not None:
        numbers = _with_means(numbers, tapered, tapered_index)
    place = dict(zip(names, range(len(names))))
    line, point = _element_loads(frame, place, first_element, numbers.length, joined["R"])
    strains = _initial_strains(frame, place, first_element)
    return BeamElements(
        beams=tuple(names), first=first_element, count=len(numbering.names), keep=keep, numbers=numbers,
        arms=arms if arms.any() else None, released=released if released.any() else None,
        sections=tuple(sections), section_of=np.concatenate(places), materials=tuple(materials),
        material_of=np.concatenate(made), tapered=tapered, tapered_index=tapered_index,
        line_loads=line, point_loads=point, strains=strains, gravity=np.array(frame.gravity), **joined,
    )  # fmt: skip


def _place(known: list[Any], item: Any) -> int:
    for k, other in enumerate(known):
        if other is item or other == item:
            return k
    known.append(item)
    return len(known) - 1


def _set_arrays(frame: Frame, beams: Beams, positions: FloatArray, chain: IntArray) -> dict[str, Any]:
    """Per-element arrays of one set of beams."""
    p, n, m = beams.properties, len(beams.names), beams.properties.elements
    ne = n * m
    axes = orient(frame, beams, positions[chain[:, 0]], positions[chain[:, -1]])
    R = np.repeat(axes.R, m, axis=0)
    length = np.repeat(axes.length / m, m)
    arms = np.zeros((n, m, 2, 3))
    arms[:, 0, 0], arms[:, -1, 1] = (np.einsum("nij,nj->ni", axes.R, axes.arms[:, end]) for end in (0, 1))
    released = np.zeros((n, m, 12), bool)
    released[:, 0, [DIRECTIONS.index(way) for way in p.releases[0]]] = True
    released[:, -1, [6 + DIRECTIONS.index(way) for way in p.releases[1]]] = True
    s, mat = section_of(frame, p.section), material_of(frame, p.material)
    shear = p.theory == "timoshenko"
    loss = mat.loss_factor if p.loss_factor is None else p.loss_factor
    t = np.arange(m) / m
    constants = {
        "EA": mat.E * s.area, "EI_y": mat.E * s.I_y, "EI_z": mat.E * s.I_z, "GJ": mat.G * s.J,
        "rhoA": mat.density * s.area, "rhoI_y": mat.density * s.I_y * p.rotary,
        "rhoI_z": mat.density * s.I_z * p.rotary, "rhoI_p": mat.density * s.I_p,
    }  # fmt: skip
    stiff = mat.G * s.area * length**2
    return {
        **{key: np.full(ne, value) for key, value in constants.items()},
        "length": length,
        "phi_y": 12 * mat.E * s.I_z * s.shear_y / stiff * shear,
        "phi_z": 12 * mat.E * s.I_y * s.shear_z / stiff * shear,
        "points": np.stack([chain[:, :-1], chain[:, 1:]], axis=2).reshape(ne, 2),
        "R": R, "arms": arms.reshape(ne, 2, 3), "released": released.reshape(ne, 12),
        "is_bar": np.full(ne, not beams.bends), "lumped": np.full(ne, p.lumped), "loss": np.full(ne, loss),
        "shear": np.full(ne, shear), "span": np.tile(np.stack([t, t + 1 / m], axis=1), (n, 1)),
    }  # fmt: skip


def _taper_elements(
    frame: Frame, beams_of: Sequence[Beams], span: FloatArray, numbers: BeamNumbers
) -> tuple[TaperedElements | None, IntArray]:
    """The elements with an end section: their numbers at the Gauss points, from ``Section.between``."""
    xi, _ = gauss(GAUSS_POINTS)
    index: list[int] = []
    rows: list[dict[str, list[float]]] = []
    start = 0
    for beams in beams_of:
        p = beams.properties
        size = len(beams.names) * p.elements
        if p.end_section is not None:
            first, last, mat = (
                section_of(frame, p.section),
                section_of(frame, p.end_section),
                material_of(frame, p.material),
            )
            pieces = [_at_gauss(first, last, mat, p, span[start + k], xi) for k in range(p.elements)]
            index += range(start, start + size)
            rows += pieces * len(beams.names)
        start += size
    if not index:
        return None, np.zeros(0, dtype=np.int64)
    places = np.array(index)
    at = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return TaperedElements(numbers.length[places], at), places


def _at_gauss(
    first: Section, last: Section, mat: Material, p: Any, span: FloatArray, xi: FloatArray
) -> dict[str, list[float]]:
    cut = [first.between(last, float(t)) for t in span[0] + (span[1] - span[0]) * xi]
    shear = 1.0 if p.theory == "timoshenko" else 0.0
    spin = 1.0 if p.rotary else 0.0
    return {
        "EA": [mat.E * s.area for s in cut],
        "GJ": [mat.G * (s.J or s.I_p) for s in cut],  # J = 0 only in planar frames, where torsion is left out
        "EI_y": [mat.E * (s.I_y or s.I_z) for s in cut],
        "EI_z": [mat.E * s.I_z for s in cut],
        "shear_y": [shear * s.shear_y / (mat.G * s.area) for s in cut],
        "shear_z": [shear * s.shear_z / (mat.G * s.area) for s in cut],
        "rhoA": [mat.density * s.area for s in cut],
        "rhoI_y": [spin * mat.density * s.I_y for s in cut],
        "rhoI_z": [spin * mat.density * s.I_z for s in cut],
        "rhoI_p": [mat.density * s.I_p for s in cut],
    }


def _with_means(numbers: BeamNumbers, tapered: TaperedElements, index: IntArray) -> BeamNumbers:
    """Tapered elements with the means of their own sections, for formulas of constant sections."""
    mean = {key: value @ tapered.weights for key, value in tapered.at_gauss.items()}
    square = tapered.length**2
    mean["phi_y"] = 12 * mean["EI_z"] * mean.pop("shear_y") / square
    mean["phi_z"] = 12 * mean["EI_y"] * mean.pop("shear_z") / square
    changed = {key: getattr(numbers, key).copy() for key in mean}
    for key, value in mean.items():
        changed[key][index] = value
    return replace(numbers, **changed)


def _initial_strains(frame: Frame, beam: dict[str, int], first: IntArray) -> dict[str, FloatArray]:
    """(ne, 3) by case: strain, curvature about y, about z."""
    initial_strains: dict[str, FloatArray] = {}
    for load in frame.loads:
        if isinstance(load, InitialStrain):
            k = beam[load.beam]
            initial_strains.setdefault(load.case, np.zeros((int(first[-1]), 3)))[first[k] : first[k + 1]] += load.strain
    return initial_strains


def _element_loads(
    frame: Frame, beam: dict[str, int], first: IntArray, length: FloatArray, R: FloatArray
) -> tuple[dict[str, FloatArray], dict[str, PointLoads]]:
    """Loads on beams, cut to their elements and turned to local axes."""
    line: dict[str, FloatArray] = {}
    collected: dict[str, list[tuple[int, float, FloatArray]]] = {}
    for load in frame.loads:
        if not isinstance(load, (LineLoad, BeamPointLoad)):
            continue
        k = beam[load.beam]
        e = np.arange(first[k], first[k + 1])
        each = float(length[e[0]])
        turn = np.eye(6) if load.local else np.kron(np.eye(2), R[e[0]])
        if isinstance(load, LineLoad):
            low, high = load.part[0], load.part[1] if load.part[1] is not None else each * len(e)
            _refuse_beyond(load.beam, high if low < high else low, each * len(e))
            into = line.setdefault(load.case, np.zeros((len(length), 2, 6)))
            jumps = _cut(low / each, high / each, turn @ load.start, turn @ load.end, into[e[0] : e[-1] + 1], each)
            collected.setdefault(load.case, []).extend((int(e[i]), x, jump) for i, x, jump in jumps)
        else:
            _refuse_beyond(load.beam, load.at, each * len(e))
            k = min(int(load.at / each), len(e) - 1)
            jump = np.stack([turn @ load.load, np.zeros(6), np.zeros(6)])
            collected.setdefault(load.case, []).append((int(e[k]), min(load.at - k * each, each), jump))
    point = {
        case: (np.array([f[0] for f in found]), np.array([f[1] for f in found]), np.array([f[2] for f in found]))
        for case, found in collected.items()
        if found
    }
    return line, point


def _refuse_beyond(beam: str, place: float, total: float) -> None:
    if not is_on(place, total):
        problem = f"load on beam {beam!r} at {place:g} m is beyond its end ({total:g} m)."
        raise ModelError("out-of-range", problem, where={"beam": beam}, evidence={"place": place, "length": total})


def _cut(
    low: float, high: float, first: FloatArray, last: FloatArray, into: FloatArray, each: float
) -> list[tuple[int, float, FloatArray]]:
    """A load that is linear from ``low`` to ``high``, counted in elements of length ``each``.

    Elements it covers take it as a linear load ``into`` (m, 2, 6); where it starts or ends inside an element, that
    element takes jumps: (element, place [m], (3, 6) jump of force, of density and of its slope).
    """
    low, high = (round(edge) if abs(edge - round(edge)) < EDGE else edge for edge in (low, high))
    slope = (last - first) / (high - low)  # per element
    jumps = []
    for i in range(int(low), min(int(np.ceil(high)), len(into))):
        a, b = max(low, i), min(high, i + 1)
        q_a, q_b = first + slope * (a - low), first + slope * (b - low)
        if a == i and b == i + 1:
            into[i] += [q_a, q_b]
            continue
        for edge, q, sign in ((a, q_a, 1.0), (b, q_b, -1.0)):
            if edge < i + 1:
                jumps.append((i, (edge - i) * each, sign * np.stack([np.zeros(6), q, slope / each])))
    return jumps
