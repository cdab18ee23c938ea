"""Bodies, and the points and frames fixed to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Union

from dalembert.core.arguments import real_number
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.expressions.quantities import Quantity, is_real, is_symbolic
from dalembert.expressions.quantities import Scalar as Scalar
from dalembert.model.flexible import FlexibleBodyData
from dalembert.model.inertia import Composite, Matrix, Shape
from dalembert.record.units import in_si

Vector = Iterable[Scalar]
Place = Union["Body", "Point", "BodyFrame"]
_ROTATION = Advice("Give {}, a quaternion (four numbers, scalar first) or a 3x3 matrix.", Call("da.rotation"))


IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def is_number(x: Any) -> bool:
    """A finite real number or a parameter expression (truth values and texts excluded)."""
    if isinstance(x, Quantity):
        return math.isfinite(x.value)
    return is_real(x) and math.isfinite(float(x))


def number(x: Any, what: str, *kinds: str) -> Scalar:
    """Checked finite number: a float, or an unchanged parameter expression; "20 mm" where kinds are given ("": any)."""
    x = in_si(x, *kinds, what=what, error=ModelError) if kinds else x
    if isinstance(x, Quantity):
        real_number(what, x.value, ModelError)
        return x
    return real_number(what, float(x) if is_real(x) else x, ModelError)


def require_number(x: Any, what: str) -> None:
    """Refuse what is no finite number or parameter expression."""
    if not is_number(x):
        raise ModelError("not-a-number", f"{what} must be a finite number, got {x!r}.", where={"argument": what})


def require_type(value: object, kind: Any, expectation: str, *advice: Advice) -> None:
    """Refuse a value of another type; the expectation says what and where."""
    if not isinstance(value, kind):
        raise ModelError("wrong-type", f"{expectation}, got {value!r:.80}.", *advice)


def not_negative(x: Any, what: str) -> Scalar:
    """Checked finite number, zero or more."""
    if float(number(x, what)) < 0:
        raise ModelError("negative", f"{what} is negative ({float(x):g}).", where={"argument": what})
    return number(x, what)


def positive(x: Any, what: str, *advice: Advice) -> Scalar:
    """Checked finite number above zero."""
    if not float(number(x, what)) > 0:
        problem = f"{what} must be a positive number, got {x!r}."
        raise ModelError("not-positive", problem, *advice, where={"argument": what})
    return number(x, what)


def nonzero(x: Any, what: str, *kinds: str) -> Scalar:
    """Checked finite number other than zero."""
    value = number(x, what, *kinds)
    if float(value) == 0:
        raise ModelError("zero", f"{what} must be a number other than zero, got {x!r}.", where={"argument": what})
    return value


def name_of(given: object, what: str) -> str:
    """The name of a joint or coordinate, given as a text or as the joint itself."""
    name = getattr(given, "name", given)
    if not isinstance(name, str):
        raise ModelError("bad-name", f"{what} must be a name such as 'A' or 'A.angle', got {given!r}.")
    return name


def format_vector(values: Sequence[Any]) -> str:
    """Numbers as a short text: (-0.1, 0); a parameter expression by its own name."""
    return f"({', '.join(repr(x) if isinstance(x, Quantity) else f'{x:g}' for x in values)})"


def vector(values: Any, size: int, what: str, *kinds: str) -> tuple[Any, ...]:
    """Checked tuple of `size` finite numbers; texts such as "20 mm" where kinds of number are given."""
    values = in_si(values, *kinds, what=what, error=ModelError) if kinds else values
    try:
        items = () if isinstance(values, (str, bytes)) else tuple(values)
    except TypeError:
        items = ()
    if len(items) != size or not all(is_number(x) for x in items):
        code = "wrong-shape" if len(items) != size else "not-a-number"
        raise ModelError(code, f"{what} must be {size} finite numbers, got {values!r}.", where={"argument": what})
    return tuple(x if isinstance(x, Quantity) else float(x) for x in items)


def length_of(direction: Iterable[Any], what: str, shortest: float = 1e-12) -> float:
    """Length of a direction or a quaternion that is not zero: lengths are of order one, rounding 1e-16."""
    length = math.hypot(*map(float, direction))
    if length < shortest:
        raise ModelError("zero-length", f"{what} has zero length.", where={"argument": what})
    return length


def unit(direction: object, what: str) -> tuple[float, float, float]:
    """Unit vector along a direction given by three numbers."""
    x, y, z = vector(direction, 3, what)
    if any(isinstance(c, Quantity) for c in (x, y, z)):
        problem = f"{what} may not depend on a parameter, got {direction!r}."
        raise ModelError("not-supported", problem, where={"argument": what})
    length = length_of((x, y, z), what)
    return (x / length, y / length, z / length)


def cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def axes_from(z: object, x: object = None, what: str = "axis", parallel: float = 1e-9) -> Matrix:
    """Rotation whose third column is z; the first column is x made square to it, or a fixed choice.

    parallel : least sine of the angle between them, numbers of nine digits.
    """
    e3 = unit(z, what)
    if x is None:
        smallest = min(range(3), key=lambda k: (round(abs(e3[k]), 9), k))
        x = tuple(1.0 if k == smallest else 0.0 for k in range(3))
    e1 = unit(x, f"x direction for {what}")
    along = sum(a * b for a, b in zip(e1, e3, strict=True))
    across = tuple(a - along * b for a, b in zip(e1, e3, strict=True))
    if math.hypot(*across) < parallel:
        raise ModelError("parallel", f"{what}: the x direction is parallel to it.", where={"argument": what})
    e1 = unit(across, what)
    e2 = cross(e3, e1)
    return ((e1[0], e2[0], e3[0]), (e1[1], e2[1], e3[1]), (e1[2], e2[2], e3[2]))


def matmul(a: Matrix, b: Matrix) -> Matrix:
    return tuple(tuple(sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)) for i in range(3))  # type: ignore[return-value]


def transpose(a: Matrix) -> Matrix:
    return tuple(tuple(a[j][i] for j in range(3)) for i in range(3))  # type: ignore[return-value]


def apply(a: Matrix, v: Sequence[Any]) -> tuple[Any, Any, Any]:
    return tuple(sum(a[i][k] * v[k] for k in range(3)) for i in range(3))


def entries(p: Any) -> Any:
    """The nine entries of the matrix of a unit quaternion, row by row."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def rotation_matrix(rotation: Any, what: str, orthonormal: float = 1e-9) -> Matrix:
    """Rotation given as None, by `da.rotation`, a quaternion (scalar first) or a 3x3 matrix.

    orthonormal : largest error of R Rᵀ = I, of a matrix written with nine digits.
    """
    if rotation is None:
        return IDENTITY
    if hasattr(rotation, "quaternion"):  # a Rotation of `model.orientation`
        if any(is_symbolic(c) or getattr(c, "ndim", 0) for c in rotation.quaternion):
            problem = f"{what} must be one fixed orientation, not one per sample or a function of time."
            raise ModelError("wrong-type", problem)
        rotation = [float(c) for c in rotation.quaternion]
    try:
        items = list(rotation)
    except TypeError:
        items = []
    if len(items) == 4:
        w, x, y, z = (float(c) for c in vector(items, 4, what))
        n = length_of((w, x, y, z), f"{what}: the quaternion")
        matrix: Matrix = entries((w / n, x / n, y / n, z / n))
        return matrix
    if len(items) == 3 and not any(is_number(c) for c in items):
        rows = tuple(tuple(float(c) for c in vector(row, 3, what)) for row in items)
        product = matmul(rows, transpose(rows))  # type: ignore[arg-type]
        error = max(abs(product[i][j] - (i == j)) for i in range(3) for j in range(3))
        handed = cross([r[0] for r in rows], [r[1] for r in rows])
        if error > orthonormal or sum(h * r[2] for h, r in zip(handed, rows, strict=True)) < 0:
            problem = f"{what} is not a rotation matrix (orthonormal, right-handed)."
            raise ModelError("not-orthonormal", problem, evidence={"error": error})
        return rows  # type: ignore[return-value]
    raise ModelError("wrong-type", f"{what} is no orientation: {rotation!r}.", _ROTATION)


@dataclass(frozen=True, repr=False)
class Point:
    """A point fixed to a body, in body axes from the body's origin [m].

    The origin is the centre of mass of a rigid body and the frame of a flexible one, whose points are its nodes.
    """

    body: Body
    coordinates: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"Point({self.body.name!r}, {format_vector(self.coordinates)})"

    def frame(self, *, axis: Any = None, x: Any = None, rotation: Any = None, angle: Any = 0.0) -> BodyFrame:
        """A frame with its origin here; see `Body.frame`."""
        what = f"a frame of body {self.body.name!r}"
        if self.body.planar:
            if axis is not None or x is not None or rotation is not None:
                advice = Advice("Leave out axis, x and rotation.")
                raise ModelError("ineffective-argument", f"{what}: a planar frame has an angle.", advice)
            return BodyFrame(self.body, self.coordinates, IDENTITY, number(angle, f"angle of {what}", "angle"))
        if not (is_number(angle) and float(angle) == 0):
            advice = Advice("Leave out the angle; give {}.", Argument("axis"), Argument("x"), Argument("rotation"))
            raise ModelError("ineffective-argument", f"{what}: a spatial frame has no angle.", advice)
        if rotation is not None:
            if axis is not None or x is not None:
                problem = f"{what}: give either the rotation, or the axis and the x direction."
                raise ModelError("conflicting-arguments", problem)
            axes = rotation_matrix(rotation, f"rotation of {what}")
        else:
            axes = axes_from((0, 0, 1) if axis is None else axis, x, f"axis of {what}")
        return BodyFrame(self.body, self.coordinates, axes)


@dataclass(frozen=True, repr=False)
class BodyFrame:
    """A frame fixed to a body: origin, and axes as the columns of a rotation (spatial) or an angle (planar)."""

    body: Body
    coordinates: tuple[Any, ...]
    axes: Matrix = IDENTITY
    angle: Any = 0.0

    def __repr__(self) -> str:
        if self.body.planar:
            turned = f", angle={format_vector([self.angle])[1:-1]}"
        else:
            x, _, z = zip(*self.axes, strict=True)
            turned = f", axis={format_vector(z)}, x={format_vector(x)}"
        return f"BodyFrame({self.body.name!r}, {format_vector(self.coordinates)}{turned})"


@dataclass(frozen=True)
class CollisionShape:
    """A shape by which a body of a file collides: "sphere", "capsule", "cylinder", "box", or a "plane" of the ground.

    size : radius; radius and length between the ends; three edges [m].  place, axes : in coordinates of ``body.at``.
    """

    kind: str
    size: tuple[float, ...]
    place: tuple[float, ...]
    axes: Matrix = IDENTITY


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """A rigid or flexible body (or the ground). `at` and `frame` name places on it.

    flexible : data of a flexible body, whose places are its nodes.  stiffness, damping : factors of those of the data.
    """

    name: str
    planar: bool
    mass: Any = 0.0
    inertia: Any = 0.0  # planar: about z; spatial: 3x3 about the centre of mass
    center: tuple[Any, ...] = ()
    position: tuple[float, ...] = ()  # of the centre of mass, where the drawing shows the body; () if it does not
    rotation: Matrix = IDENTITY
    angle: float = 0.0
    shape: Shape | None = None
    is_ground: bool = False
    as_given: bool = False  # its inertia is that of its file, though no body can have it
    mesh: Any = None  # triangles (n, 3, 3) from the centre of mass, for pictures [m]
    colors: tuple[tuple[int, int, int], ...] = ()  # of its file: first triangle, number of them, 0xRRGGBB
    points: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # names of places, in the coordinates of `at`
    shapes: tuple[CollisionShape, ...] = ()
    flexible: FlexibleBodyData | None = None
    stiffness: Any = 1.0
    damping: Any = 1.0

    def __repr__(self) -> str:
        return (
            f"Body({self.name!r})" if self.is_ground else f"Body({self.name!r}, {format_vector([self.mass])[1:-1]} kg)"
        )

    @property
    def dimension(self) -> int:
        return 2 if self.planar else 3

    def at(self, *coordinates: Any) -> Point:
        """The point with these coordinates in body axes [m], or the named one: ``crank.at("tip")``."""
        local_values: Any = coordinates
        if len(coordinates) == 1 and isinstance(coordinates[0], str):
            return self.at(*_named_point(self, coordinates[0]))
        if len(coordinates) == 1 and not is_number(coordinates[0]) and coordinates[0] is not None:
            local_values = coordinates[0]
        local = vector(local_values, self.dimension, f"a point of body {self.name!r}", "length")
        if self.flexible is not None:
            self.node_at(local)
            return Point(self, local)
        if self.center:
            local = tuple(x - c for x, c in zip(local, self.center, strict=True))
        return Point(self, local)

    def node_at(self, place: tuple[Any, ...]) -> str:
        """The node of a flexible body at these coordinates."""
        if any(isinstance(x, Quantity) for x in place):
            problem = f"a point of the flexible body {self.name!r} must be one of its nodes, not an expression."
            raise ModelError("not-supported", problem, where={"body": self.name})
        return str(_nearest_node(self.name, self.points, place))

    def frame(
        self, *coordinates: Any, axis: object = None, x: object = None, rotation: object = None, angle: object = 0.0
    ) -> BodyFrame:
        """A frame at these coordinates; spatial: `axis` its z, `x` its x direction, or `rotation`; planar: `angle`."""
        place = self.at(*(coordinates or (0.0,) * self.dimension))
        return place.frame(axis=axis, x=x, rotation=rotation, angle=angle)

    def turn(self, direction: Vector) -> tuple[Any, ...]:
        """A direction in body axes as the drawing shows it (world axes)."""
        components = vector(direction, self.dimension, "a direction")
        if self.planar:
            c, s = math.cos(self.angle), math.sin(self.angle)
            return (c * components[0] - s * components[1], s * components[0] + c * components[1])
        return apply(self.rotation, components)

    def local(self, place: Vector, what: str = "a place of the drawing") -> tuple[Any, ...]:
        """Body coordinates of a place of the drawing (world axes)."""
        drawn = vector(place, self.dimension, what)
        base = self.position or (0.0,) * self.dimension
        d = tuple(p - b for p, b in zip(drawn, base, strict=True))
        if self.planar:
            c, s = math.cos(self.angle), math.sin(self.angle)
            return (c * d[0] + s * d[1], -s * d[0] + c * d[1])
        return apply(transpose(self.rotation), d)


@dataclass(frozen=True, eq=False, repr=False)
class BodyPieces:
    """A flexible body in welded pieces; `at` and `frame` name places of the whole, each on the piece that has it.

    bodies : the pieces.  places : of their frames, in the axes of the whole.  points : named places of the whole.
    """

    name: str
    bodies: tuple[Body, ...]
    places: tuple[tuple[float, ...], ...]
    points: dict[str, tuple[float, ...]]

    def __repr__(self) -> str:
        return f"BodyPieces({self.name!r}, {len(self.bodies)} pieces)"

    @property
    def planar(self) -> bool:
        return self.bodies[0].planar

    @property
    def dimension(self) -> int:
        return self.bodies[0].dimension

    def at(self, *coordinates: Any) -> Point:
        """The named point, or the end of a piece at these coordinates in the axes of the whole [m]."""
        if len(coordinates) == 1 and isinstance(coordinates[0], str):
            return self.at(*_named_point(self, coordinates[0]))
        place = tuple(float(x) for x in vector(coordinates, self.dimension, f"a point of body {self.name!r}", "length"))
        nodes = {
            (k, name): tuple(map(sum, zip(base, node, strict=True)))
            for k, (body, base) in enumerate(zip(self.bodies, self.places, strict=True))
            for name, node in body.points.items()
        }
        k, name = _nearest_node(self.name, nodes, place)
        point: Point = self.bodies[k].at(name)
        return point

    def frame(self, *coordinates: Any, **axes: Any) -> BodyFrame:
        """A frame at a place of the whole; see `Body.frame`."""
        return self.at(*coordinates).frame(**axes)

    def piece(self, gauge: str) -> Body:
        """The piece that has a gauge; the first one where none has it."""
        pieces = [body for body in self.bodies if body.flexible and any(g.name == gauge for g in body.flexible.gauges)]
        return (pieces or list(self.bodies))[0]


def replace_places(value: Any, move: Callable[[Any], Any]) -> Any:
    """A part with all its bodies, points and frames replaced by `move`; the same object where none changes."""
    if isinstance(value, (Body, Point, BodyFrame)):
        return move(value)
    if type(value) in (list, tuple):
        parts = [replace_places(entry, move) for entry in value]
        return value if all(x is y for x, y in zip(parts, value, strict=True)) else type(value)(parts)
    if isinstance(value, Mapping):
        named = {key: replace_places(entry, move) for key, entry in value.items()}
        return value if all(named[key] is value[key] for key in value) else named
    if is_dataclass(value) and not isinstance(value, type):
        values = {f.name: getattr(value, f.name) for f in fields(value)}
        changed = {key: new for key, old in values.items() if (new := replace_places(old, move)) is not old}
        return replace(value, **changed) if changed else value
    return value


def _named_point(body: Body | BodyPieces, name: str) -> tuple[Any, ...]:
    where = {"body": body.name, "point": name}
    require_name("point", name, body.points, f"body {body.name!r}", error=ModelError, where=where)
    return body.points[name]


def _nearest_node(name: str, nodes: Mapping[Any, tuple[Any, ...]], place: tuple[Any, ...], digits: float = 1e-9) -> Any:
    """The node at a place; digits : distance from it, of the size of the body, as coordinates have nine digits."""
    nearest = min(nodes, key=lambda key: math.dist(nodes[key], place))
    gap, size = math.dist(nodes[nearest], place), max(math.hypot(*map(float, node)) for node in nodes.values())
    if gap > digits * max(size, gap):
        problem = f"body {name!r} has no node at {format_vector(place)}; the nearest is {nearest!r}, {gap:.3g} m away, "
        advice = Advice("Make it a node of the data, or use one by its name.")
        where, evidence = {"body": name}, {"distance": gap}
        raise ModelError(
            "no-node", f"{problem}at {format_vector(nodes[nearest])}.", advice, where=where, evidence=evidence
        )
    return nearest


def inertia_problems(
    name: str,
    mass: Any,
    inertia: Any,
    planar: bool,
    symmetric: float = 1e-12,  # of the largest entry: turning it has rounding of some 1e-15
    triangle: float = 1e-9,  # relative: principal inertias written with nine digits
) -> list[Finding]:
    """Masses and inertias that are not physical (zero is legal, equality in the triangle too)."""
    problems: list[Finding] = []
    where = {"body": name}
    if not is_number(mass):
        return [Finding("not-a-number", f"body {name!r}: mass must be a finite number, got {mass!r}.", where)]
    if float(mass) < 0:
        problems.append(Finding("negative", f"body {name!r}: mass is negative ({float(mass):g} kg).", where))
    if planar:
        if not is_number(inertia):
            problem = f"body {name!r}: inertia must be a finite number or a shape, got {inertia!r}."
            problems.append(Finding("not-a-number", problem, where))
        elif float(inertia) < 0:
            problem = f"body {name!r}: inertia is negative ({float(inertia):g} kg m²)."
            problems.append(Finding("negative", problem, where))
        return problems
    import numpy as np

    values = np.array([[float(c) for c in row] for row in inertia])
    if not np.all(np.isfinite(values)):  # also a product of finite numbers that overflows
        problem = f"body {name!r}: inertia must be finite numbers, got {values.tolist()}."
        return [*problems, Finding("not-finite", problem, where)]
    scale = max(float(np.abs(values).max()), 1e-300)
    if np.abs(values / scale - values.T / scale).max() > symmetric:
        return [*problems, Finding("not-symmetric", f"body {name!r}: the inertia matrix is not symmetric.", where)]
    principal = np.linalg.eigvalsh(values)
    ratio = principal / scale  # sums of them do not overflow
    if principal[0] < -symmetric * scale:
        problem = f"body {name!r}: the inertia matrix has a negative principal value ({principal[0]:g} kg m²)."
        problems.append(Finding("negative", problem, where))
    elif ratio[0] + ratio[1] < ratio[2] * (1 - triangle):
        shown = ", ".join(f"{p:g}" for p in principal)
        problem = f"body {name!r}: principal inertias {shown} kg m² break the triangle inequality"
        problems.append(Finding("not-physical", f"{problem} (no distribution of mass has them).", where))
    return problems


def read_mesh(name: str, mesh: object, center: tuple[Any, ...]) -> Any:
    """Triangles (n, 3, 3) from the centre of mass, read-only; None stays None."""
    if mesh is None:
        return None
    import numpy as np

    try:
        corners = np.array(mesh, dtype=np.float64)
    except (TypeError, ValueError):
        corners = np.zeros(0)
    if corners.ndim != 3 or corners.shape[1:] != (3, 3) or not len(corners) or not np.isfinite(corners).all():
        problem = f"mesh of body {name!r} must be the corners of triangles, finite numbers (n, 3, 3) [m]."
        raise ModelError("wrong-shape", problem, where={"body": name})
    corners -= np.array([*map(float, center), 0.0, 0.0, 0.0][:3])
    corners.setflags(write=False)
    return corners


def read_inertia(
    name: str, mass: Any, inertia: Any, planar: bool, same: float = 1e-12
) -> tuple[Any, Any, tuple[Any, ...], Shape | None]:
    """(mass, inertia, centre, shape) of a body, from its arguments.

    same : relative difference of a mass given twice: sums of parts have rounding of some 1e-15.
    """
    center: tuple[Any, ...] = ()
    shape: Shape | None = None
    mass = in_si(mass, "mass", what=f"mass of body {name!r}", error=ModelError)
    inertia = in_si(inertia, "inertia", what=f"inertia of body {name!r}", error=ModelError)
    if isinstance(inertia, Composite):
        if mass is not None:
            number(mass, f"mass of body {name!r}")
        if mass is not None and abs(float(mass) - float(inertia.mass)) > same * abs(float(inertia.mass)):
            problem = f"body {name!r}: mass {float(mass):g} kg differs from the composite's {float(inertia.mass):g} kg."
            raise ModelError("conflicting-arguments", problem, Advice("Leave the mass out."), where={"body": name})
        matrix: Any = inertia.inertia
        mass = inertia.mass
        center = inertia.center[:2] if planar else inertia.center
        return mass, matrix[2][2] if planar else matrix, center, None
    if mass is None:
        problem = f"body {name!r} needs a mass (zero is allowed where joints give it the inertia of other bodies)."
        raise ModelError("missing-argument", problem, where={"body": name})
    if isinstance(inertia, Shape):
        number(mass, f"mass of body {name!r}")
        shape = inertia
        matrix = tuple(tuple(mass * c for c in row) for row in inertia.gyration)
        return mass, matrix[2][2] if planar else matrix, center, shape
    if planar:
        return mass, inertia, center, None
    if is_number(inertia):
        return mass, ((inertia, 0.0, 0.0), (0.0, inertia, 0.0), (0.0, 0.0, inertia)), center, None
    try:
        items = list(inertia)
        if len(items) == 3 and all(is_number(x) for x in items):
            return mass, ((items[0], 0.0, 0.0), (0.0, items[1], 0.0), (0.0, 0.0, items[2])), center, None
        rows = tuple(vector(row, 3, "a row") for row in items)
        if len(rows) != 3:
            raise TypeError
    except (TypeError, ModelError):
        problem = f"body {name!r}: inertia must be a number, three principal values, a 3x3 matrix or a shape, "
        raise ModelError("wrong-type", f"{problem}got {inertia!r}.", where={"body": name}) from None
    return mass, rows, center, None
