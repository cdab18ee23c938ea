"""What a frame is made of, as its user said it: plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.sections import Section

Vector = tuple[float, float, float]
Matrix6 = tuple[tuple[float, ...], ...]
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
THEORIES = ("timoshenko", "euler-bernoulli")


@dataclass(frozen=True)
class BeamProperties:
    """What the beams of one call have in common; ``kind`` is "beam" or "bar"."""

    kind: str
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
class Beams:
    """Beams or bars with the same properties."""

    properties: BeamProperties
    names: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    ups: list[Vector | None] = field(default_factory=list)


@dataclass(frozen=True)
class PointMass:
    """Mass per direction [kg] and inertia about its own centre (3 x 3) [kg m²], ``offset`` from the point [m]."""

    name: str
    point: str
    mass: Vector
    inertia: tuple[Vector, Vector, Vector]
    offset: Vector


@dataclass(frozen=True)
class Spring:
    """Stiffness and damping between two points, or a point and the ground.

    Along the line of its ends (numbers in ``line``) or on the six relative displacements (6 x 6 matrices).
    """

    name: str
    a: str
    b: str | None
    stiffness: Matrix6 | None
    damping: Matrix6 | None
    line: tuple[float, float] | None
    loss_factor: float = 0.0


@dataclass(frozen=True)
class Rigid:
    """Slaves that follow a master point as one rigid body, in ``directions``."""

    name: str
    master: str
    slaves: tuple[str, ...]
    directions: tuple[str, ...]


@dataclass(frozen=True)
class Support:
    """Held directions of a point and their prescribed displacements [m, rad]."""

    point: str
    directions: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class PointLoad:
    """Force [N] and moment [N m] on a point."""

    case: str
    point: str
    force: Vector
    moment: Vector


@dataclass(frozen=True)
class LineLoad:
    """Force [N/m] and moment [N m/m] per length, linear over ``part`` of a beam, (from, to) from its start [m]."""

    case: str
    beam: str
    start: tuple[float, ...]
    end: tuple[float, ...]
    local: bool
    part: tuple[float, float | None] = (0.0, None)


@dataclass(frozen=True)
class BeamPointLoad:
    """Force and moment on a place of a beam, ``at`` from its start [m]."""

    case: str
    beam: str
    at: float
    load: tuple[float, ...]
    local: bool


@dataclass(frozen=True)
class InitialStrain:
    """Strain and curvatures about y and z [1/m] that a beam would take on without any force."""

    case: str
    beam: str
    strain: Vector


def directions(given: Any, what: str, planar: bool) -> tuple[str, ...]:
    """``"fixed"``, ``"pinned"``, ``"xyz"``, ``"x rz"`` or a list as a tuple of direction names.

    Examples
    --------
    >>> directions("xy rz", "support", planar=True)
    ('x', 'y', 'rz')
    """
    known = ("x", "y", "rz") if planar else DIRECTIONS
    words: Iterable[Any] = given.replace(",", " ").split() if isinstance(given, str) else given
    found: list[str] = []
    try:
        items = list(words)
    except TypeError:
        items = [given]
    for word in items:
        if word in ("fixed", "pinned"):
            found += [way for way in known if word == "fixed" or len(way) == 1]
        elif isinstance(word, str) and word and (word in known or all(letter in known for letter in word)):
            found += [word] if word in known else list(word)
        else:
            raise ModelError(f"{what}: {word!r} is no direction; expected some of {' '.join(known)}, fixed or pinned.")
    if not found:
        raise ModelError(f"{what} needs at least one direction of {' '.join(known)}.")
    return tuple(way for way in known if way in found)


def number(value: Any, what: str, *, positive: bool = False, not_negative: bool = False) -> float:
    """Checked finite float."""
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not np.isreal(value) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ModelError(f"{what} must be a finite number, got {value!r}.")
    result = float(value)  # type: ignore[arg-type]
    if (positive and result <= 0) or (not_negative and result < 0):
        raise ModelError(f"{what} must {'be positive' if positive else 'not be negative'}, got {result:g}.")
    return result


def numbers(given: Any, message: str) -> Any:
    """Array of numbers; ``message`` where it is none."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(message) from None


def text(name: Any, what: str, kind: str = "point") -> str:
    """The name given, a text."""
    if not isinstance(name, str):
        raise ModelError(f"{what}: the name of a {kind} must be a text, got {name!r}.")
    return name


def vector(given: Any, what: str, planar: bool) -> Vector:
    """Three finite numbers; a planar frame takes two and adds z = 0."""
    size = 2 if planar else 3
    try:
        items = tuple(given)
    except TypeError:
        items = ()
    if len(items) == 3 and planar and items[2] == 0:
        items = items[:2]
    if len(items) != size:
        raise ModelError(f"{what} must be {size} numbers, got {given!r}.")
    numbers = tuple(number(item, what) for item in items)
    return (numbers[0], numbers[1], 0.0 if planar else numbers[2])


def turning(given: Any, what: str, planar: bool) -> Vector:
    """A moment: three numbers, or the one about z of a planar frame."""
    if planar:
        if np.ndim(given) == 1 and len(given) == 3 and given[0] == 0 and given[1] == 0:
            given = given[2]
        return (0.0, 0.0, number(given, what))
    return vector(given, what, False)


def matrix_of(given: Any, way: Any, what: str, planar: bool) -> Matrix6 | None:
    """6 x 6 stiffness (or damping) of a number with a direction, a mapping, six numbers or a matrix; None for zero."""
    if given is None or (np.isscalar(given) and given == 0):
        return None
    full = np.zeros((6, 6))
    if isinstance(given, dict):
        for key, value in given.items():
            for one in directions(key, what, planar):
                i = DIRECTIONS.index(one)
                full[i, i] = number(value, f"{what} in {one}", not_negative=True)
    elif np.ndim(given) == 0:
        axis = direction_vector(way, what, planar)
        full = number(given, what, not_negative=True) * np.outer(axis, axis)
    else:
        full = _full_matrix(given, what, planar)
    return tuple(tuple(row) for row in full.tolist()) if full.any() else None


def direction_vector(way: Any, what: str, planar: bool) -> Any:
    """Unit (6,) vector of a direction name or of a translation vector."""
    axis = np.zeros(6)
    if isinstance(way, str):
        found = directions(way, what, planar)
        if len(found) != 1:
            raise ModelError(f"{what}: one direction goes with one number, got {way!r}; give a mapping for several.")
        axis[DIRECTIONS.index(found[0])] = 1.0
        return axis
    axis[:3] = vector(way, f"direction of {what}", planar)
    size = float(np.linalg.norm(axis))
    if size == 0:
        raise ModelError(f"direction of {what} has no length.")
    return axis / size


def _full_matrix(given: Sequence[Any], what: str, planar: bool) -> Any:
    keep = [0, 1, 5] if planar else list(range(6))
    size = len(keep)
    expected = f"{what} must be a number, a mapping, {size} numbers or a {size} x {size} matrix."
    array = numbers(given, expected)
    if array.shape == (size,):
        array = np.diag(array)
    if array.shape != (size, size) or not np.all(np.isfinite(array)):
        raise ModelError(expected)
    if np.abs(array - array.T).max() > 1e-9 * np.abs(array).max():
        raise ModelError(f"{what} must be symmetric.")
    if np.linalg.eigvalsh(array)[0] < -1e-9 * np.abs(array).max():
        raise ModelError(f"{what} must not have negative eigenvalues: it would release energy.")
    full = np.zeros((6, 6))
    full[np.ix_(keep, keep)] = 0.5 * (array + array.T)
    return full


def names_of(kind: str, given: str | Iterable[str], count: int) -> list[str]:
    """Names given, or made from a prefix."""
    if isinstance(given, str):
        return [f"{given}{i}" for i in range(1, count + 1)]
    names = list(given)
    if len(names) != count:
        raise ModelError(f"{len(names)} names for {count} {kind}.")
    return names


def shown(names: Any) -> str:
    """The first name, for messages."""
    if isinstance(names, str):
        return f"'{names}...'"
    return repr(names[0]) if isinstance(names, (list, tuple)) and names else "?"


def height_directions(given: Any, count: int, what: str) -> list[Vector | None]:
    """Height direction of each of ``count`` beams: one for all, or one each (count, 3)."""
    if given is None:
        return [None] * count
    rows = [given] * min(count, 1) if np.ndim(given) < 2 else list(given)
    if np.ndim(given) > 1 and np.shape(given) != (count, 3):
        raise ModelError(f"up of {what} must be 3 numbers or of shape ({count}, 3), got shape {np.shape(given)}.")
    found = [vector(row, f"up of {what}", planar=False) for row in rows]
    if not all(map(any, found)):
        raise ModelError(f"up of {what} has no length.")
    return [*found] if len(found) == count else [*found] * count


def end_offsets(given: Any, what: str, planar: bool) -> tuple[Vector, Vector] | None:
    """Arms at both ends of a beam; None where there are none."""
    if given is None:
        return None
    if not np.iterable(given) or len(list(given)) != 2:
        raise ModelError(f"offsets of {what} must be two vectors, (at the start, at the end), got {given!r}.")
    zero = (0.0,) * (2 if planar else 3)
    first, last = (vector(zero if v is None else v, f"offsets of {what}", planar) for v in given)
    return (first, last) if any(first) or any(last) else None


def end_releases(given: Any, what: str, planar: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Released directions at both ends of a beam."""
    if given is not None and not isinstance(given, Mapping):
        raise ModelError(f"releases of {what} must be a mapping such as {{'start': 'rz'}}, got {given!r}.")
    strange = [key for key in given or {} if key not in ("start", "end")]
    if strange:
        raise ModelError(f"releases of {what}: expected 'start' and 'end', got {strange[0]!r}.")
    first, last = (
        directions(given[side], f"releases of {what} at its {side}", planar) if given and given.get(side) else ()
        for side in ("start", "end")
    )
    return first, last


def element_count(elements: Any, what: str) -> int:
    """Checked number of elements."""
    if isinstance(elements, bool) or not isinstance(elements, (int, np.integer)) or elements < 1:
        raise ModelError(f"{what}: elements must be a whole number, 1 or more, got {elements!r}.")
    return int(elements)


def is_lumped(mass: Any, what: str) -> bool:
    """Checked kind of mass."""
    if mass not in ("consistent", "lumped"):
        raise ModelError(f"mass of {what} must be 'consistent' or 'lumped', got {mass!r}.")
    return bool(mass == "lumped")


def loss_of(loss_factor: Any, what: str) -> float | None:
    """Checked loss factor, or None."""
    return None if loss_factor is None else number(loss_factor, f"loss factor of {what}", not_negative=True)
