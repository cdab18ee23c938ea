"""Mode shapes known at sensors only: places that move along the directions of their channels, lines between them.

A channel at a place is the displacement of that place along one direction; unmeasured directions stay still. Lines
between places are straight, or bent like a leaf whose ends do not turn, s² (3 - 2 s). They only guide the eye.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.files.modal.geometry import Geometry
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.linear.modes import Modes, turns
from dalembert.numerics import ties
from dalembert.view.animation.animate import Animation
from dalembert.view.animation.mode_playback import mode_clock, scene_box

REACH = 0.16  # largest displacement as it is first drawn, as part of the size of the scene
SAMPLES = 13  # along a bent line
AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Spot:
    """A place [m], and the channels that move it: ``{"a1": "x"}``, ``{"a1": "-x", "a2": "z"}``; none: it is fixed.

    to : spots to which lines go; None where no lines are given.
    """

    position: tuple[float, ...]
    follows: Mapping[str, str] = field(default_factory=dict)
    to: tuple[str, ...] | None = None


def read_places(given: Mapping[str, Any], channels: Sequence[str]) -> dict[str, Spot]:
    """Spots from the places of a user: ``{"a1": (0, 0, 0.2, "x"), "ground": (0, 0, 0)}``.

    A channel is named with a position and a direction, "x", "-x", ..., "-z"; another name is a fixed place.
    Channels at one position move one spot. A `Geometry` of a file has lines; sensors in it that are no channel, and
    channels that it does not place, are warned of.

    Examples
    --------
    >>> read_places({"ground": (0, 0), "a1": (0, 1, "x"), "a2": (0, 1, "-y")}, ["a1", "a2"])["a1"].follows
    {'a1': 'x', 'a2': '-y'}
    """
    found: dict[str, Spot] = {}
    at: dict[tuple[float, ...], str] = {}
    lines: Sequence[tuple[str, str]] = ()
    filed = isinstance(given, Geometry)
    if isinstance(given, Geometry):
        given, findings = given.match(channels)
        IdentificationWarning.report(findings, stacklevel=2)
        lines = given.lines or ()
    for name, words in given.items():
        position, way = _place(name, words)
        if way is not None and name not in channels:
            raise DataError("unknown-name", unknown_name("channel", name, channels, "places"))
        if way is None and name in channels and not filed:
            raise DataError(
                "missing-argument",
                f"place {name!r}: the direction of its channel is missing, as in {(*position, 'x')!r}.",
            )
        own = at.setdefault(position, name)
        before = dict(found[own].follows) if own in found else {}
        found[own] = Spot(position, before | ({} if way is None else {name: way}))
    if not any(spot.follows for spot in found.values()):
        raise DataError(
            "unknown-name", "no place belongs to a channel of the model: name channels, as in {'a1': (0, 0, 0.2, 'x')}."
        )
    if not lines:
        return found
    spot_of = {name: at[_place(name, words)[0]] for name, words in given.items()}
    to: dict[str, list[str]] = {name: [] for name in found}
    for a, b in lines:
        if spot_of[a] != spot_of[b]:
            to[spot_of[a]].append(spot_of[b])
    return {name: replace(spot, to=tuple(dict.fromkeys(to[name]))) for name, spot in found.items()}


def _place(name: str, words: Any) -> tuple[tuple[float, ...], str | None]:
    parts = list(words) if isinstance(words, list | tuple) else [words]
    way = parts.pop() if parts and isinstance(parts[-1], str) else None
    if way is not None and way.lstrip("-") not in AXES:
        raise DataError("unknown-choice", f"place {name!r}: a direction is x, y, z, -x, -y or -z, not {way!r}.")
    numbers = [one for one in parts if isinstance(one, int | float) and np.isfinite(one)]
    if len(numbers) != len(parts) or len(parts) not in (2, 3):
        raise DataError(
            "wrong-shape", f"place {name!r}: give two or three coordinates [m] and a direction, not {words!r}."
        )
    return (*map(float, numbers), *([0.0] if len(numbers) == 2 else [])), way


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
    own = [(name, other) for name, spot in spots.items() for other in spot.to or ()]
    chosen = own or list(pairwise(names)) if lines is None else list(lines)
    rest = np.array([spots[one].position for one in names])
    moves = np.stack([_displace(modes, spot) for spot in spots.values()])  # (spots, 3, modes)
    pairs = [(a, b, np.linspace(0.0, 1.0, 2)) for a, b in chosen]
    pairs += [(a, b, np.linspace(0.0, 1.0, SAMPLES)) for a, b in bent]
    places, shapes, beams = [rest], [moves], []
    first = len(names)
    for a, b, s in pairs:
        i, j = names.index(a), names.index(b)
        w = (s * s * (3.0 - 2.0 * s))[:, None]
        places.append(rest[i] + s[:, None] * (rest[j] - rest[i]))
        shapes.append((1.0 - w[:, :, None]) * moves[i] + w[:, :, None] * moves[j])
        beams.append({"first": first, "count": 1, "samples": len(s), "is_bar": np.zeros(1, dtype=np.int32)})
        first += len(s)
    return Animation(_data(modes, names, spots, np.concatenate(places), np.concatenate(shapes), beams, name))


def _displace(modes: Modes, spot: Spot) -> Any:
    """(3, modes) displacement of a spot."""
    found = np.zeros((3, len(modes)), dtype=np.complex128)
    for channel, way in spot.follows.items():
        found[AXES[way.lstrip("-")]] += (-1.0 if way.startswith("-") else 1.0) * modes.shapes[
            modes.coordinates.index(channel)
        ]
    return found


def _data(
    modes: Modes, names: list[str], spots: Mapping[str, Spot], places: FloatArray, shapes: Any,
    beams: list[dict[str, Any]], name: str,
) -> dict[str, Any]:  # fmt: skip
    size = float(np.linalg.norm(np.ptp(places, axis=0))) or 1.0
    moved = np.moveaxis(shapes, 2, 0)  # (modes, places, 3)
    flat = moved.reshape(len(moved), -1)
    turn = flat[np.arange(len(flat)), ties.first_largest(flat.T)]
    moved = moved / np.where(np.abs(turn) > 0.0, turn, 1.0)[:, None, None]
    moved = moved / np.maximum(np.sqrt((np.abs(moved) ** 2).sum(axis=2)).max(axis=1), 1e-300)[:, None, None]
    turning = bool(turns(np.abs(moved.imag).max()))
    planar = bool(np.ptp(places[:, 2]) == 0.0 and np.abs(moved[:, :, 2]).max() == 0.0)
    reach = REACH * size
    still = [k for k, one in enumerate(names) if not spots[one].follows]
    none = np.zeros((0, 2), dtype=np.int64)
    return {
        "kind": "structure", "name": name, **scene_box(places, reach, planar),
        "places": places, "beams": beams, "triangles": np.zeros((0, 3), dtype=np.int64), "edges": none,
        "springs": none, "links": none, "marks": {"fixed": np.array(still, dtype=np.int64)} if still else {},
        "names": [{"name": one, "at": k} for k, one in enumerate(names) if "[" not in one][:60],
        "modes": [
            {"title": f"{hertz:.4g} Hz", "note": f"damping {100.0 * zeta:.3g} %"}
            for hertz, zeta in zip(modes.frequencies_hz, modes.damping_ratios, strict=True)
        ],
        "shapes": np.ascontiguousarray(moved.real, dtype=np.float32),
        "turned": np.ascontiguousarray(moved.imag, dtype=np.float32) if turning else None,
        "unit": reach, **mode_clock(),
    }  # fmt: skip
