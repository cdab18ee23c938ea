"""The scene of a machine: everything that a picture needs besides the motion. Plain data, with a version.

A producer makes it, a record keeps it as JSON (`to_json`), views and reports read it back (`Scene.from_json`), which
checks every value: a record may come from any file. Places are in metres, in axes of their body, or of the world where
the body is None (the ground). `docs/scene.md` lists all fields; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from dalembert.core.errors import Broken, DataError

VERSION = 2  # 1: bodies are rigid
KNOWN_VERSIONS = (1, 2)
PLANAR_POSE = ("x", "y", "angle")
SPATIAL_POSE = ("x", "y", "z", "e0", "e1", "e2", "e3")

Place = tuple[float, float, float]
ORIGIN: Place = (0.0, 0.0, 0.0)
End = tuple[str | None, Place]  # body (None: the ground) and place
Read = Callable[[Any, str], Any]
Part = TypeVar("Part")


# --- readers of plain values: (value, its name in a message) -> checked value -----------------------------------------


def _expect(fits: object, given: object, what: str, expected: str) -> None:
    Broken.when(not fits, f"{what} must be {expected}, not {given!r:.60}" if not fits else "")


def _is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def _text(given: Any, what: str) -> str:
    _expect(isinstance(given, str), given, what, "a text")
    return str(given)


def _flag(given: object, what: str) -> bool:
    _expect(isinstance(given, (bool, int)), given, what, "true or false")
    return bool(given)


def _number(given: Any, what: str) -> float:
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool) and np.isfinite(given)
    _expect(is_number, given, what, "a finite number")
    return float(given)


def _list(read: Read, most: int = 100_000) -> Read:
    def check(given: Any, what: str) -> tuple[Any, ...]:
        _expect(_is_list(given), given, what, "a list")
        Broken.when(len(given) > most, f"{what} has {len(given)} entries, more than {most}")
        return tuple(read(value, f"{what}[{k}]") for k, value in enumerate(given))

    return check


def _place(given: object, what: str) -> Place:
    """Two or three coordinates."""
    values = _list(_number)(given, what)
    _expect(len(values) in (2, 3), given, what, "two or three coordinates")
    return (*values, 0.0)[:3]


def _end(given: Any, what: str) -> End:
    _expect(_is_list(given) and len(given) == 2, given, what, "a body and a place")
    return _optional(_text)(given[0], what), _place(given[1], what)


def _corners(count: int) -> Read:
    """Numbers of points, counted from zero."""

    def check(given: object, what: str) -> tuple[int, ...]:
        values = _list(_number)(given, what)
        fits = len(values) == count and all(value >= 0 and value == int(value) for value in values)
        _expect(fits, given, what, f"{count} numbers of points")
        return tuple(int(value) for value in values)

    return check


def _axis(given: Any, what: str) -> str | Place:
    if not isinstance(given, str):
        return _place(given, what)
    _expect(given in ("x", "y", "z"), given, what, "x, y, z or a direction")
    return given


def _array(given: Any, what: str, expected: str) -> Any:
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise Broken(f"{what} must be {expected}") from None
    Broken.when(not np.isfinite(array).all(), f"{what} must be {expected}, all finite")
    return array


def _triangles(given: Any, what: str, most: int = 60_000) -> tuple[Any, ...]:
    """A mesh of at most ``most`` triangles: more is too much for a page."""
    count = len(given) if _is_list(given) else 0
    problem = f"{what}: a mesh of {count} triangles is too much for a page; at most {most}"
    Broken.when(count > most, problem)
    shape = _array(given, what, "triangles (n, 3, 3)").shape
    Broken.when(len(shape) != 3 or shape[1:] != (3, 3) or not shape[0], f"{what} must be (n, 3, 3), not {shape}")
    return tuple(given)


def _modes(given: object, what: str, most: int = 1_000_000) -> tuple[tuple[float, ...], ...]:
    """Rows of numbers, all of one length: 3 per point and elastic coordinate, ``most`` in all."""
    rows = _list(lambda row, _: row)(given, what)
    width = len(rows[0]) if rows and _is_list(rows[0]) else 0
    for k, row in enumerate(rows):
        _expect(_is_list(row) and len(row) == width, row, f"{what}[{k}]", "a list of numbers, as long as the first")
    Broken.when(len(rows) * width > most, f"{what} has {len(rows) * width} numbers, more than {most}")
    array = _array(rows, what, "lists of numbers")
    Broken.when(rows and array.ndim != 2, f"{what} must be lists of numbers")
    return tuple(tuple(row) for row in array.tolist())


def _optional(read: Read) -> Read:
    return lambda given, what: None if given is None else read(given, what)


def _mapping(read: Read) -> Read:
    def check(given: Any, what: str) -> dict[str, Any]:
        _expect(isinstance(given, Mapping), given, what, "a table of names")
        return {_text(name, what): read(value, f"{what}.{name}") for name, value in given.items()}

    return check


# --- the parts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SceneShape:
    """The form of a body about its origin: box, cylinder (radius, length), sphere (radius), rod (length) or mesh.

    colors : first triangle, number of triangles and 0xRRGGBB; other triangles have the colour of the body.
    """

    kind: str
    size: tuple[float, ...] = ()
    axis: str | Place = "z"
    triangles: tuple[Any, ...] = ()
    colors: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class SceneNode:
    """A place of a flexible body where joints, springs and forces act.

    translation, rotation : displacement [m] and small rotation [rad] per unit of every elastic coordinate, body axes.
    second : displacement of second order, ηᵀ C η [m]: the (m, m) numbers of C for x, for y and for z; empty without.
    """

    name: str
    point: Place = ORIGIN
    translation: tuple[Place, ...] = ()
    rotation: tuple[Place, ...] = ()
    second: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class SceneFlexible:
    """The deformation of a body: its modes displace a point by Σ_k modes_k η_k, in axes of the body.

    coordinates : channels of the elastic coordinates η.  points : of the undeformed body.
    modes : per elastic coordinate one list, x, y, z of the first point, of the second, ... [m].
    lines, triangles : between points, by their numbers from zero.
    nodes : where other parts are attached.
    """

    coordinates: tuple[str, ...] = ()
    points: tuple[Place, ...] = ()
    modes: tuple[tuple[float, ...], ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    triangles: tuple[tuple[int, int, int], ...] = ()
    nodes: tuple[SceneNode, ...] = ()


@dataclass(frozen=True)
class SceneBody:
    """A body: its points joined by lines, its form, and the channels of its pose.

    named : points with names, for trails.
    gyration : matrix of squared radii of gyration [m²]; a body in space without a form is drawn as a solid with it.
    pose : channels of its origin and orientation: x, y, angle in the plane; x, y, z and four Euler parameters in space.
        Without them ``<name>.x`` and so on. They may be coordinates or measures with any names.
    flexible : how it deforms; a rigid body has none.
    pale : drawn as a shadow of another: an estimate beside the truth, without names and joints.
    """

    name: str
    points: tuple[Place, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    named: Mapping[str, Place] = field(default_factory=dict)
    shape: SceneShape | None = None
    gyration: tuple[Place, ...] | None = None
    pose: tuple[str, ...] = ()
    flexible: SceneFlexible | None = None
    pale: bool = False

    def channels(self, planar: bool) -> tuple[str, ...]:
        """The channels of its pose."""
        return self.pose or tuple(f"{self.name}.{c}" for c in (PLANAR_POSE if planar else SPATIAL_POSE))

    @property
    def elastic(self) -> tuple[str, ...]:
        """The channels of its elastic coordinates; none of a rigid body."""
        return () if self.flexible is None else self.flexible.coordinates


@dataclass(frozen=True)
class SceneSide:
    """One side of a joint."""

    body: str | None = None
    point: Place = ORIGIN
    axis: Place | None = None


@dataclass(frozen=True)
class SceneJoint:
    """A joint on its second body; ``other`` is its side on the first.

    type : its kind.  axis : of turning or sliding.  radius : of a wheel or a ball that rolls.
    glyph, legend : its symbol and the words for it; those of its kind where empty.
    lines : of the symbol, about its point, in axes of the first body.
    """

    name: str
    type: str = ""
    body: str | None = None
    point: Place = ORIGIN
    axis: Place | None = None
    radius: float = 0.0
    other: SceneSide | None = None
    glyph: str = ""
    legend: str = ""
    lines: tuple[tuple[Place, ...], ...] = ()


@dataclass(frozen=True)
class SceneSpring:
    """A spring between two places."""

    name: str = ""
    a: End = (None, ORIGIN)
    b: End = (None, ORIGIN)
    damped: bool = False


@dataclass(frozen=True)
class SceneJointSpring:
    """A spring along (or, where it ``turns``, about) the axis of a joint."""

    name: str
    joint: str
    turns: bool = False


@dataclass(frozen=True)
class SceneForce:
    """A force at a place: a vector in axes of the ``world`` or of the ``body``, times the channel ``input``, if any."""

    name: str
    at: End
    vector: Place
    axes: str = "world"
    input: str | None = None


@dataclass(frozen=True)
class SceneTorque:
    """A torque on a body (``vector`` in ``axes``), or an effort along the axis of a joint: a torque where it ``turns``.

    input : the channel that it is multiplied by, if any.
    """

    name: str
    body: str | None = None
    vector: Place = ORIGIN
    axes: str = "world"
    joint: str | None = None
    turns: bool = True
    effort: float = 1.0
    input: str | None = None


@dataclass(frozen=True)
class Scene:
    """A machine as it is drawn.

    planar : motion in the plane z = 0.  ground : points of the ground.  ground_shape : the shape of the parts on it,
    such as the base of a robot.  gravity : [m/s²].
    sensors, inputs : channels that are looked at first.

    Examples
    --------
    >>> scene = Scene(planar=True, bodies=(SceneBody("rod", points=((0, 0, 0), (1, 0, 0)), lines=((0, 1),)),))
    >>> Scene.from_json(scene.to_json()) == scene
    True
    """

    planar: bool = False
    bodies: tuple[SceneBody, ...] = ()
    ground: tuple[Place, ...] = ()
    ground_shape: SceneShape | None = None
    joints: tuple[SceneJoint, ...] = ()
    springs: tuple[SceneSpring, ...] = ()
    joint_springs: tuple[SceneJointSpring, ...] = ()
    forces: tuple[SceneForce, ...] = ()
    torques: tuple[SceneTorque, ...] = ()
    gravity: Place = ORIGIN
    sensors: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain lists, texts, numbers and tables; values that are the default are left out."""
        return {"version": VERSION, **_plain(self)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | None) -> Scene:
        """The scene of a record, checked; an empty one where the record has none."""
        if given is None:
            return cls()
        version = given.get("version", VERSION) if isinstance(given, Mapping) else VERSION
        problem = f"the scene of this record has version {version!r:.40}, expected {VERSION}."
        DataError.when(version not in KNOWN_VERSIONS, "bad-version", problem)
        try:
            scene = _read(cls, given, "scene")
            for body in scene.bodies:
                needed = 3 if scene.planar else 7
                problem = f"the pose of body {body.name!r} has {len(body.pose)} channels, expected {needed}"
                Broken.when(body.pose and len(body.pose) != needed, problem)
                if body.flexible is not None:
                    _check_flexible(body.flexible, f"flexible body {body.name!r}")
        except Broken as error:
            raise DataError("damaged", f"the scene of this record cannot be drawn: {error}.") from None
        return scene


def _check_flexible(flexible: SceneFlexible, what: str) -> None:
    """Sizes that belong together."""
    count, points = len(flexible.coordinates), len(flexible.points)
    Broken.when(len(flexible.modes) != count, f"{what} has {len(flexible.modes)} modes and {count} elastic coordinates")
    width = len(flexible.modes[0]) if count else 3 * points
    Broken.when(width != 3 * points, f"a mode of {what} has {width} numbers, expected {3 * points}: 3 per point")
    for corners in (*flexible.lines, *flexible.triangles):
        problem = f"{what} has a line or triangle at point {max(corners)}, and only {points} points"
        Broken.when(max(corners) >= points, problem)
    for node in flexible.nodes:
        problem = f"node {node.name!r} of {what} must have {count} translations and rotations"
        Broken.when(len(node.translation) != count or len(node.rotation) != count, problem)
        problem = f"node {node.name!r} of {what} must have {count**2} numbers of second order for each axis"
        Broken.when(node.second and [len(row) for row in node.second] != [count**2] * 3, problem)


def _as(kind: type[Any]) -> Read:
    return lambda given, what: _read(kind, given, what)


_READERS: dict[str, Read] = {  # by the annotation of a field
    "str": _text, "str | None": _optional(_text), "bool": _flag, "float": _number, "Place": _place,
    "Place | None": _optional(_place), "End": _end, "str | Place": _axis, "tuple[str, ...]": _list(_text),
    "tuple[float, ...]": _list(_number), "tuple[Place, ...]": _list(_place),
    "tuple[Place, ...] | None": _optional(_list(_place)), "tuple[tuple[Place, ...], ...]": _list(_list(_place)),
    "tuple[tuple[int, int], ...]": _list(_corners(2)), "tuple[tuple[int, int, int], ...]": _list(_corners(3)),
    "tuple[tuple[float, ...], ...]": _modes, "Mapping[str, Place]": _mapping(_place), "tuple[Any, ...]": _triangles,
    "SceneShape | None": _optional(_as(SceneShape)), "SceneSide | None": _optional(_as(SceneSide)),
    "SceneFlexible | None": _optional(_as(SceneFlexible)),
    **{f"tuple[{kind.__name__}, ...]": _list(_as(kind)) for kind in (
        SceneBody, SceneNode, SceneJoint, SceneSpring, SceneJointSpring, SceneForce, SceneTorque)},
}  # fmt: skip


def _read(kind: type[Part], given: object, what: str) -> Part:
    if not isinstance(given, Mapping):
        raise Broken(f"{what} must be a table, not {given!r:.60}")
    values = {}
    for field_ in fields(kind):  # type: ignore[arg-type]
        if field_.name in given:
            values[field_.name] = _READERS[str(field_.type)](given[field_.name], f"{what}.{field_.name}")
        else:
            needed = field_.default is MISSING and field_.default_factory is MISSING
            Broken.when(needed, f"{what} has no {field_.name}")
    return kind(**values)


def _plain(part: Any) -> Any:
    if hasattr(part, "__dataclass_fields__"):
        values = {field_.name: getattr(part, field_.name) for field_ in fields(part)}
        return {name: _plain(value) for name, value in values.items() if not _is_default(part, name, value)}
    if isinstance(part, Mapping):
        return {name: _plain(value) for name, value in part.items()}
    if isinstance(part, (tuple, list)):
        if part and isinstance(part[0], float):  # long rows of numbers
            return list(part)
        return [_plain(value) for value in part]
    return part


def _is_default(part: Any, name: str, value: Any) -> bool:
    default = type(part).__dataclass_fields__[name].default
    return bool(value == default) if default is not MISSING else isinstance(value, Mapping) and not value
