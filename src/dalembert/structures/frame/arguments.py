"""Arguments of the methods of a frame, checked where its user gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arguments import one_of, real_number, take_names, whole_number
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.structures.assembly.structure import DIRECTIONS as DIRECTIONS

Vector = tuple[float, float, float]
Matrix6 = tuple[tuple[float, ...], ...]
# A matrix counts as symmetric, and its eigenvalues as not negative, up to this share of its largest entry: far above
# rounding, far below an asymmetry that is meant.
ROUNDING = 1e-9


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
            problem = f"{what}: {word!r} is no direction; expected some of {' '.join(known)}, fixed or pinned."
            raise ModelError("unknown-choice", problem)
    if not found:
        raise ModelError("empty", f"{what} needs at least one direction of {' '.join(known)}.")
    return tuple(way for way in known if way in found)


def _check(rule: Callable[..., Any], *given: Any) -> Any:
    """Value of an argument by a rule of `core.arguments`; its errors are errors of the model."""
    try:
        return rule(*given)
    except DataError as error:
        raise ModelError.of(error.finding) from None


def number(value: Any, what: str, *, not_negative: bool = False) -> float:
    """Checked finite float."""
    result: float = _check(real_number, what, value)
    if not_negative and result < 0:
        raise ModelError("negative", f"{what} must not be negative, got {result:g}.", evidence={"value": result})
    return result


def numbers(given: Any, message: str) -> Any:
    """Array of numbers; ``message`` where it is none."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError("not-a-number", message) from None


def text(name: Any, what: str, kind: str = "point") -> str:
    """The name given, a text."""
    if not isinstance(name, str):
        raise ModelError("bad-name", f"{what}: the name of a {kind} must be a text, got {name!r}.")
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
        raise ModelError("wrong-shape", f"{what} must be {size} numbers, got {given!r}.")
    numbers = tuple(number(item, what) for item in items)
    return (numbers[0], numbers[1], 0.0 if planar else numbers[2])


def read_moment(given: Any, what: str, planar: bool) -> Vector:
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
            problem = f"{what}: one direction goes with one number, got {way!r}."
            raise ModelError("wrong-shape", problem, Advice("Give a mapping of directions to numbers."))
        axis[DIRECTIONS.index(found[0])] = 1.0
        return axis
    axis[:3] = vector(way, f"direction of {what}", planar)
    size = float(np.linalg.norm(axis))
    if size == 0:
        raise ModelError("zero-length", f"direction of {what} has no length.")
    return axis / size


def _full_matrix(given: Sequence[Any], what: str, planar: bool) -> Any:
    keep = [0, 1, 5] if planar else list(range(6))
    size = len(keep)
    expected = f"{what} must be a number, a mapping, {size} numbers or a {size} x {size} matrix."
    array = numbers(given, expected)
    if array.shape == (size,):
        array = np.diag(array)
    if array.shape != (size, size) or not np.all(np.isfinite(array)):
        raise ModelError("wrong-shape", expected)
    if np.abs(array - array.T).max() > ROUNDING * np.abs(array).max():
        raise ModelError("not-symmetric", f"{what} must be symmetric.")
    if np.linalg.eigvalsh(array)[0] < -ROUNDING * np.abs(array).max():
        raise ModelError(
            "not-positive-definite", f"{what} must not have negative eigenvalues: it would release energy."
        )
    full = np.zeros((6, 6))
    full[np.ix_(keep, keep)] = 0.5 * (array + array.T)
    return full


def names_of(kind: str, given: str | Iterable[str], count: int) -> list[str]:
    """Names given, or made from a prefix."""
    if isinstance(given, str):
        return [f"{given}{i}" for i in range(1, count + 1)]
    names = list(take_names("point", given))
    if len(names) != count:
        raise ModelError("wrong-shape", f"{len(names)} names for {count} {kind}.")
    return names


def first_name(names: Any) -> str:
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
        problem = f"up of {what} must be 3 numbers or of shape ({count}, 3), got shape {np.shape(given)}."
        raise ModelError("wrong-shape", problem)
    found = [vector(row, f"up of {what}", planar=False) for row in rows]
    if not all(map(any, found)):
        raise ModelError("zero-length", f"up of {what} has no length.")
    return [*found] if len(found) == count else [*found] * count


def end_offsets(given: Any, what: str, planar: bool) -> tuple[Vector, Vector] | None:
    """Arms at both ends of a beam; None where there are none."""
    if given is None:
        return None
    if not np.iterable(given) or len(list(given)) != 2:
        problem = f"offsets of {what} must be two vectors, (at the start, at the end), got {given!r}."
        raise ModelError("wrong-shape", problem)
    zero = (0.0,) * (2 if planar else 3)
    first, last = (vector(zero if v is None else v, f"offsets of {what}", planar) for v in given)
    return (first, last) if any(first) or any(last) else None


def end_releases(given: Any, what: str, planar: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Released directions at both ends of a beam."""
    if given is not None and not isinstance(given, Mapping):
        problem = f"releases of {what} must be a mapping of ends to directions, got {given!r}."
        raise ModelError("wrong-type", problem, Advice("Give {}.", Argument("releases", {"start": "rz"})))
    strange = [key for key in given or {} if key not in ("start", "end")]
    if strange:
        raise ModelError("unknown-choice", f"releases of {what}: expected 'start' and 'end', got {strange[0]!r}.")
    first, last = (
        directions(given[side], f"releases of {what} at its {side}", planar) if given and given.get(side) else ()
        for side in ("start", "end")
    )
    return first, last


def element_count(elements: Any, what: str) -> int:
    """Checked number of elements."""
    count: int = _check(whole_number, f"the number of elements of {what}", elements, 1)
    return count


def choose(what: str, given: Any, choices: Sequence[str]) -> str:
    """One of some words."""
    word: str = _check(one_of, what, given, choices)
    return word


def is_lumped(mass: Any, what: str) -> bool:
    """Checked kind of mass."""
    return choose(f"mass of {what}", mass, ("consistent", "lumped")) == "lumped"


def loss_of(loss_factor: Any, what: str) -> float | None:
    """Checked loss factor, or None."""
    return None if loss_factor is None else number(loss_factor, f"loss factor of {what}", not_negative=True)
