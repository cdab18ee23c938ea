"""Places in a model file: ``"crank"``, ``"crank.tip"``, ``"crank(0.1, 0)"``, or a table with body and coordinates."""

from __future__ import annotations

from typing import Any

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice
from dalembert.files.models.text import arithmetic as ar
from dalembert.files.models.values.scopes import Scope, Skip, Where, describe_unknown
from dalembert.model import Body, BodyFrame, Point
from dalembert.model.bodies import IDENTITY, rotation_matrix, vector


def body_or_place(scope: Scope, given: object, where: Where) -> Body | Point | BodyFrame:
    """A bare name of a body stays the body, for joints placed in the drawing."""
    if isinstance(given, str):
        body = scope.find_body(given)
        if body is not None:
            return body
    return place(scope, given, where)


def place(scope: Scope, given: object, where: Where) -> Point | BodyFrame:
    """A point or frame of a body."""
    return _text_place(scope, given, where) if isinstance(given, str) else _table_place(scope, given, where)


def _text_place(scope: Scope, text: str, where: Where) -> Point:
    body = scope.find_body(text)
    if body is not None:
        return body.at(*(0.0,) * body.dimension)
    if text.rstrip().endswith(")") and "(" in text:
        text = text.rstrip()
        name, _, inside = text.partition("(")
        owner = scope.body(name.strip(), where)
        try:
            trees = ar.parse_list(inside[:-1])
        except DataError as error:
            raise scope.refuse(where, error.code, f"{text!r}: {error}") from None
        coordinates = []
        for tree in trees:
            dimension = scope.dimension(tree, where)
            problem = f"{text!r}: coordinates are lengths."
            scope.refuse_if(
                dimension is not None and dimension != (0.0, 1.0, 0.0, 0.0), where, "unit-mismatch", problem
            )
            try:
                coordinates.append(ar.value(scope.resolve(tree, where), scope.lookup))
            except DataError as error:
                raise scope.refuse(where, error.code, f"{text!r}: {error}") from None
        return owner.at(*vector(coordinates, owner.dimension, f"a point of body {owner.name!r}"))
    if "(" in text or text.endswith(")"):
        count = text.count("(") - text.count(")")
        what = "')' is missing" if count > 0 else "'(' is missing" if count < 0 else "expected nothing after the ')'"
        advice = Advice("A place is written like 'crank(0.1, 0)'.")
        raise scope.refuse(where, "bad-syntax", f"{text!r}: {what}.", advice)
    name, dot, point = text.rpartition(".")
    if dot and scope.find_body(name) is not None:
        return _find_point(scope, scope.body(name, where), point, where)
    return Point(scope.body(text, where), ())  # raises: there is no such body


def _find_point(scope: Scope, body: Body, point: str, where: Where) -> Point:
    label = own_point(scope, body, point)
    if label not in body.points:
        if f"{body.name}.{point}" in scope.parts.failed:
            raise Skip
        start = scope.prefix if body is scope.ground else ""
        names = [name.removeprefix(start) for name in body.points if name.startswith(start)]
        raise scope.refuse(where, "unknown-name", describe_unknown("point", point, names, f"body {body.name!r}"))
    return body.at(*body.points[label])


def own_point(scope: Scope, body: Body, name: str) -> str:
    """Name of a point in the mechanism: what an included file calls its ground is a body of another one."""
    return scope.full(name) if body is scope.ground else name


def _table_place(scope: Scope, table: Any, where: Where) -> Point | BodyFrame:
    body = scope.body(table.body, (*where, "body"))
    keys = [key for key in ("point", "at", "offset") if getattr(table, key) is not None]
    scope.refuse_if(len(keys) > 1, where, "conflicting-arguments", f"give one of {' and '.join(keys)}, not both.")
    if table.point is not None:
        point = _find_point(scope, body, table.point, (*where, "point"))
    elif table.offset is not None:
        what = f"offset of a point of body {body.name!r}"
        point = Point(body, vector(scope.get(table, "offset", where), body.dimension, what))
    else:
        at = scope.get(table, "at", where)
        point = body.at(*((0.0,) * body.dimension if at is None else at))
    if table.axes is not None:
        if body.planar or any(v is not None for v in (table.axis, table.x, table.angle)):
            problem = "axes is for spatial frames, without axis, x and angle."
            raise scope.refuse(where, "conflicting-arguments", problem)
        axes = plain(scope.get(table, "axes", where), scope, (*where, "axes"))
        return BodyFrame(body, point.coordinates, rotation_matrix(axes, f"axes of a frame of body {body.name!r}"))
    axis, x, angle = (scope.get(table, key, where) for key in ("axis", "x", "angle"))
    if axis is None and x is None and angle is None:
        return point
    if body.planar and axis is None and x is None:
        return BodyFrame(body, point.coordinates, IDENTITY, angle)
    return point.frame(axis=axis, x=x, angle=0.0 if angle is None else angle)


def plain(values: Any, scope: Scope, where: Where) -> Any:
    """Numbers that may not stay symbolic, at their values now."""
    if isinstance(values, (list, tuple)):
        return [plain(x, scope, where) for x in values]
    return None if values is None else float(values)
