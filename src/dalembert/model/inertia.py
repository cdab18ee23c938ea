"""Inertia of simple shapes per unit of mass, and of bodies made of several shapes.

A shape is turned into numbers by `Body`: planar bodies use the component about z, spatial ones the matrix,
always about the centre of mass, in body axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.errors import ModelError
from dalembert.expressions.quantities import Quantity, Scalar, is_real
from dalembert.record.units import in_si

Triple = tuple[Any, Any, Any]
Matrix = tuple[Triple, Triple, Triple]
_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Shape:
    """Gyration matrix of a shape (inertia per unit mass about its centre of mass) [m²]."""

    kind: str
    gyration: Matrix
    size: tuple[Scalar, ...] = ()
    axis: str = "x"


def _diagonal(a: object, b: object, c: object) -> Matrix:
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


def _check_sizes(shape: str, **sizes: Any) -> list[Any]:
    """Sizes of a shape [m], finite and not negative."""
    sizes = {
        name: in_si(value, "length", what=f"{name} of a {shape}", error=ModelError) for name, value in sizes.items()
    }
    for name, value in sizes.items():
        if not isinstance(value, Quantity) and not is_real(value):
            raise ModelError("not-a-number", f"{name} of a {shape} must be a number, got {value!r}.")
        if not 0 <= float(value) < float("inf"):
            code = "negative" if float(value) < 0 else "not-finite"
            raise ModelError(code, f"{name} of a {shape} must be finite and not negative, got {float(value):g}.")
    return list(sizes.values())


def _along(axis: str, axial: object, transverse: object) -> Matrix:
    one_of("axis", axis, [*_AXES], ModelError)
    values = [transverse, transverse, transverse]
    values[_AXES[axis]] = axial
    return _diagonal(*values)


def rod(length: Scalar, *, axis: str = "x") -> Shape:
    """Thin uniform rod.

    Examples
    --------
    >>> rod(0.6).gyration[2][2]
    0.03
    """
    (length,) = _check_sizes("rod", length=length)
    return Shape("rod", _along(axis, 0.0, length * length / 12), (length,), axis)


def box(x: Scalar, y: Scalar, z: Scalar = 0.0) -> Shape:
    """Uniform box with edges along the body axes."""
    x, y, z = _check_sizes("box", x=x, y=y, z=z)
    return Shape("box", _diagonal((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12), (x, y, z))


def cylinder(radius: Scalar, length: Scalar = 0.0, *, axis: str = "z") -> Shape:
    """Uniform solid cylinder; a thin disc when the length is zero."""
    radius, length = _check_sizes("cylinder", radius=radius, length=length)
    transverse = (3 * radius * radius + length * length) / 12
    return Shape("cylinder", _along(axis, radius * radius / 2, transverse), (radius, length), axis)


def sphere(radius: Scalar, *, hollow: bool = False) -> Shape:
    """Uniform solid sphere, or a thin shell."""
    (radius,) = _check_sizes("sphere", radius=radius)
    value = radius * radius * (2 / 3 if hollow else 2 / 5)
    return Shape("sphere", _diagonal(value, value, value), (radius,))


@dataclass(frozen=True)
class Composite:
    """Several shapes welded together: total mass, centre of mass, inertia about it."""

    mass: Scalar
    center: Triple
    inertia: Matrix


def composite(*parts: Sequence[Any]) -> Composite:
    """Weld parts ``(shape, mass, position)`` together, all with parallel axes.

    Use as ``m.add_body("frame", inertia=da.composite((da.rod(1.0), 2.0, (0.5, 0, 0)), ...))``: mass and centre of
    mass come along, and ``body.at`` is then measured from the origin of the positions.

    Examples
    --------
    >>> dumbbell = composite((sphere(0.0), 1.0, (-1, 0, 0)), (sphere(0.0), 3.0, (1, 0, 0)))
    >>> dumbbell.mass, dumbbell.center, dumbbell.inertia[2][2]
    (4.0, (0.5, 0.0, 0.0), 3.0)
    """
    if not parts:
        raise ModelError("empty", "a composite needs at least one part (shape, mass, position).")
    places: list[tuple[Shape, Any, Triple]] = []
    for component in parts:
        if not isinstance(component, (tuple, list)) or len(component) != 3 or not isinstance(component[0], Shape):
            raise ModelError("wrong-type", f"a part of a composite is (shape, mass, position), not {component!r}.")
        shape, mass, position = component
        _check_sizes("part of a composite", mass=mass)
        wrong = f"position of a part of a composite must be 2 or 3 numbers, got {position!r}."
        if np.ndim(position) != 1 or len(position) not in (2, 3):
            raise ModelError("wrong-shape", wrong)
        x, y, z = (*position, 0.0) if len(position) == 2 else position
        if not all(isinstance(c, Quantity) or is_real(c) for c in (x, y, z)):
            raise ModelError("not-a-number", wrong)
        places.append((shape, mass, (x, y, z)))
    total = sum(mass for _, mass, _ in places)
    if float(total) == 0:
        raise ModelError("zero", "a composite needs a part with mass.")
    center = tuple(sum(mass * p[k] for _, mass, p in places) / total for k in range(3))
    matrix = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    for shape, mass, p in places:
        d = [p[k] - center[k] for k in range(3)]
        square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        for i in range(3):
            for j in range(3):
                steiner = (square if i == j else 0.0) - d[i] * d[j]
                matrix[i][j] = matrix[i][j] + mass * (shape.gyration[i][j] + steiner)
    rows = tuple((row[0], row[1], row[2]) for row in matrix)
    return Composite(total, (center[0], center[1], center[2]), (rows[0], rows[1], rows[2]))
