"""Mode shapes known at sensors only: places that move along the directions of their channels, lines between them.

A channel at a place is the displacement of that place along one direction, nᵀd = y; d is the smallest one that has all
channels of the place, so unmeasured directions stay still. The places of a rigid floor move as t + θ × r, by least
squares over the channels on it, with as little rotation θ as they allow. A place that follows others has a weighted
sum of their displacements. Lines between places are straight, or bent like a leaf whose ends do not turn,
s² (3 - 2 s). They only guide the eye.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.files.modal.geometry import DIRECTIONS, Direction, Geometry, direction_vector
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.linear.modes import Modes, turns
from dalembert.numerics import ties
from dalembert.view.animation.animate import Animation
from dalembert.view.animation.mode_playback import mode_clock, scene_box

REACH = 0.16  # largest displacement as it is first drawn, as part of the size of the scene
SAMPLES = 13  # along a bent line
# Length of a rotation in the least norm of a rigid motion, relative to a translation: where channels leave it open, a
# floor does not turn.
TURN = 1e-3
FLAT = 1e-4  # directions of sensors that differ by less, as sine of their angle, do not determine a motion between them


@dataclass(frozen=True)
class Spot:
    """A place [m], and the channels that move it: ``{"a1": "x"}``, ``{"a1": "-x", "a2": (0, 0.6, 0.8)}``; none: it is
    fixed, unless it is part of a floor or follows others.

    to : spots to which lines go; None where no lines are given.
    floor : name of the rigid plate it belongs to
    others : weights of other spots whose motion it has
    """

    position: tuple[float, ...]
    follows: Mapping[str, Direction] = field(default_factory=dict)
    to: tuple[str, ...] | None = None
    floor: str | None = None
    others: Mapping[str, float] = field(default_factory=dict)


def read_places(given: Mapping[str, Any], channels: Sequence[str]) -> dict[str, Spot]:
    """Spots from the places of a user: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}``.

    A channel is named with a position and a direction, "x", "-x", ..., "-z" or a vector; another name is a fixed place.
    Channels at one position move one spot. A `Geometry` of a file has lines, floors and places that follow others;
    sensors in it that are no channel, and channels that it does not place, are warned of.

    Examples
    --------
    >>> read_places({"ground": (0, 0), "a1": (0, 1, "x"), "a2": (0, 1, "-y")}, ["a1", "a2"])["a1"].follows
    {'a1': 'x', 'a2': '-y'}
    """
    spots: dict[str, Spot] = {}
    at: dict[tuple[float, ...], str] = {}
    geometry = Geometry({})
    filed = isinstance(given, Geometry)
    if isinstance(given, Geometry):
        geometry, findings = given.match(channels)
        given = geometry
        IdentificationWarning.report(findings, stacklevel=2)
    for name, words in given.items():
        position, way = _place(name, words)
        if way is not None and name not in channels:
            raise DataError("unknown-name", unknown_name("channel", name, channels, "places"))
        if way is None and name in channels and not filed:
            raise DataError(
                "missing-argument",
                f"place {name!r}: the direction of its channel is missing, as in {(*position, 'x')!r}.",
            )
        holder = at.setdefault(position, name)
        before = dict(spots[holder].follows) if holder in spots else {}
        spots[holder] = Spot(position, before | ({} if way is None else {name: way}))
    if not any(spot.follows for spot in spots.values()):
        raise DataError(
            "unknown-name", "no place belongs to a channel of the model: name channels, as in {'a1': (0, 0, 0.2, 'x')}."
        )
    spot_of = {name: at[_place(name, words)[0]] for name, words in given.items()}
    for floor, names in geometry.floors.items():
        for place in {spot_of[name] for name in names}:
            spots[place] = replace(spots[place], floor=floor)
    for name, others in geometry.follows.items():
        spot = spots[spot_of[name]]
        if not spot.follows and spot.floor is None:
            spots[spot_of[name]] = replace(
                spot, others={spot_of[neighbour]: weight for neighbour, weight in others.items()}
            )
    if not geometry.lines:
        return spots
    to: dict[str, list[str]] = {name: [] for name in spots}
    for a, b in geometry.lines:
        if spot_of[a] != spot_of[b]:
            to[spot_of[a]].append(spot_of[b])
    return {name: replace(spot, to=tuple(dict.fromkeys(to[name]))) for name, spot in spots.items()}


def join_spots(spots: Mapping[str, Spot]) -> list[tuple[str, str]]:
    """Lines between spots: their own, else from each to the next."""
    edges = [(name, neighbour) for name, spot in spots.items() for neighbour in spot.to or ()]
    return edges or list(pairwise(spots))


def _place(name: str, words: Any) -> tuple[tuple[float, ...], Direction | None]:
    parts = list(words) if isinstance(words, list | tuple) else [words]
    way = parts.pop() if parts and isinstance(parts[-1], str | list | tuple) else None
    if not (way is None or way in DIRECTIONS if isinstance(way, str | None) else _is_vector(way)):
        raise DataError(
            "unknown-choice",
            f"place {name!r}: a direction is x, y, z, -x, -y, -z or a vector such as (0.6, 0.8, 0), not {way!r}.",
        )
    way = direction_vector(tuple(map(float, way))) if isinstance(way, list | tuple) else way  # type: ignore[arg-type]
    numbers = [number for number in parts if isinstance(number, int | float) and np.isfinite(number)]
    if len(numbers) != len(parts) or len(parts) not in (2, 3):
        raise DataError(
            "wrong-shape", f"place {name!r}: give two or three coordinates [m] and a direction, not {words!r}."
        )
    return (*map(float, numbers), *([0.0] if len(numbers) == 2 else [])), way


def _is_vector(way: Sequence[Any]) -> bool:
    numbers = [number for number in way if isinstance(number, int | float) and np.isfinite(number)]
    return len(way) == len(numbers) == 3 and any(numbers)


def find_motion(spots: Mapping[str, Spot], channels: Sequence[str]) -> FloatArray:
    """(spots, 3, channels) displacement of every spot for a unit of every channel."""
    number = {name: k for k, name in enumerate(spots)}
    column = {name: k for k, name in enumerate(channels)}
    found = np.zeros((len(spots), 3, len(channels)))
    floors: dict[str, list[str]] = {}
    for name, spot in spots.items():
        if spot.floor is not None:
            floors.setdefault(spot.floor, []).append(name)
        elif spot.follows:
            ways = np.array([direction_vector(way) for way in spot.follows.values()])
            found[number[name]][:, [column[channel] for channel in spot.follows]] = np.linalg.pinv(ways, rcond=FLAT)
    for names in floors.values():
        relative = np.array([spots[name].position for name in names])
        relative = relative - relative.mean(axis=0)
        scale = TURN / max(float(np.abs(relative).max()), 1e-300)
        sensors = [(k, channel, direction_vector(way)) for k, name in enumerate(names)
                   for channel, way in spots[name].follows.items()]  # fmt: skip
        if not sensors:
            continue
        rows = np.array([[*way, *(scale * np.cross(relative[k], way))] for k, _, way in sensors])
        motion = np.linalg.pinv(rows, rcond=TURN * FLAT)  # (6, sensors): translation, scaled rotation
        for k, name in enumerate(names):
            turned = np.cross(scale * motion[3:].T, relative[k]).T
            found[number[name]][:, [column[channel] for _, channel, _ in sensors]] = motion[:3] + turned
    for name in TopologicalSorter({name: spot.others for name, spot in spots.items()}).static_order():
        for neighbour, weight in spots[name].others.items():
            found[number[name]] += weight * found[number[neighbour]]
    return found


def shape_animation(
    modes: Modes,
    spots: Mapping[str, Spot],
    lines: Iterable[tuple[str, str]] | None = None,
    *,
    bent: Iterable[tuple[str, str]] = (),
    name: str = "mode shapes",
) -> Animation:
    """Animation of mode shapes at places.

    Parameters
    ----------
    modes : with one coordinate per channel
    spots : by name; one with brackets, ``floor[right]``, is not labelled
    lines : pairs of names; those of the spots when left out, else from each spot to the next
    bent : pairs whose ends do not turn
    """
    if not len(modes):
        raise DataError("empty", "there are no modes to show.")
    names = list(spots)
    chosen = join_spots(spots) if lines is None else list(lines)
    resting = np.array([spots[spot].position for spot in names])
    motion = find_motion(spots, modes.coordinates)
    moves = motion @ modes.shapes.astype(np.complex128)  # (spots, 3, modes)
    still = np.flatnonzero(~motion.any(axis=(1, 2)))
    pairs = [(a, b, np.linspace(0.0, 1.0, 2)) for a, b in chosen]
    pairs += [(a, b, np.linspace(0.0, 1.0, SAMPLES)) for a, b in bent]
    places, shapes, beams = [resting], [moves], []
    first = len(names)
    for a, b, s in pairs:
        i, j = names.index(a), names.index(b)
        w = (s * s * (3.0 - 2.0 * s))[:, None]
        places.append(resting[i] + s[:, None] * (resting[j] - resting[i]))
        shapes.append((1.0 - w[:, :, None]) * moves[i] + w[:, :, None] * moves[j])
        beams.append({"first": first, "count": 1, "samples": len(s), "is_bar": np.zeros(1, dtype=np.int32)})
        first += len(s)
    return Animation(_data(modes, names, still, np.concatenate(places), np.concatenate(shapes), beams, name))


def _data(
    modes: Modes, names: list[str], still: Any, places: FloatArray, shapes: Any, beams: list[dict[str, Any]], name: str
) -> dict[str, Any]:
    size = float(np.linalg.norm(np.ptp(places, axis=0))) or 1.0
    moved = np.moveaxis(shapes, 2, 0)  # (modes, places, 3)
    flat = moved.reshape(len(moved), -1)
    turn = flat[np.arange(len(flat)), ties.first_largest(flat.T)]
    moved = moved / np.where(np.abs(turn) > 0.0, turn, 1.0)[:, None, None]
    moved = moved / np.maximum(np.sqrt((np.abs(moved) ** 2).sum(axis=2)).max(axis=1), 1e-300)[:, None, None]
    turning = bool(turns(np.abs(moved.imag).max()))
    planar = bool(np.ptp(places[:, 2]) == 0.0 and np.abs(moved[:, :, 2]).max() == 0.0)
    reach = REACH * size
    none = np.zeros((0, 2), dtype=np.int64)
    return {
        "kind": "structure", "name": name, **scene_box(places, reach, planar),
        "places": places, "beams": beams, "triangles": np.zeros((0, 3), dtype=np.int64), "edges": none,
        "springs": none, "links": none, "marks": {"fixed": still.astype(np.int64)} if len(still) else {},
        "names": [{"name": spot, "at": k} for k, spot in enumerate(names) if "[" not in spot][:60],
        "modes": [
            {"title": f"{hertz:.4g} Hz", "note": f"damping {100.0 * zeta:.3g} %"}
            for hertz, zeta in zip(modes.frequencies_hz, modes.damping_ratios, strict=True)
        ],
        "shapes": np.ascontiguousarray(moved.real, dtype=np.float32),
        "turned": np.ascontiguousarray(moved.imag, dtype=np.float32) if turning else None,
        "unit": reach, **mode_clock(),
    }  # fmt: skip
