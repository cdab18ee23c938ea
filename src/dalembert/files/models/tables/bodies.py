"""Bodies of a model file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalembert.core.findings import Advice
from dalembert.files.models.tables.flexible_bodies import body_data, factors, refuse_keys
from dalembert.files.models.text import limits
from dalembert.files.models.values.mesh_mass import mesh_mass, mesh_triangles
from dalembert.files.models.values.places import own_point, plain
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.bodies import CollisionShape, read_mesh, rotation_matrix, unit
from dalembert.model.inertia import Composite, Shape, box, composite, cylinder, rod, sphere

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "plane": 1}  # least number of lengths of a shape
_SHAPES = ("rod", "box", "cylinder", "sphere")


def add_bodies(scope: Scope) -> None:
    from dalembert.files.models.values.remaining_checks import check_part  # loads pydantic

    points, picture = scope.model.ground.points, scope.model.ground.picture
    if picture is not None and scope.ground.is_ground and not scope.prefix:
        where: Where = ("ground", "picture")
        with scope.part(where):
            path, scale = _mesh_file(scope, picture, where)
            mesh = read_mesh("ground", mesh_triangles(path, picture.mesh, scale), ())
            scope.ground = scope.m.ground = replace(scope.m.ground, mesh=mesh, colors=_colors(picture))
    if scope.model.ground.shapes and scope.ground.is_ground and not scope.prefix:
        with scope.part(("ground", "shapes")):
            shapes = _read_shapes(scope, scope.model.ground, ("ground",))
            scope.ground = scope.m.ground = replace(scope.m.ground, shapes=shapes)
    add_points(scope, scope.ground, points, ("ground", "points"))
    for name, table in scope.model.bodies.items():
        where = ("bodies", name)
        with check_part(scope, where, scope.full(name), table):
            if table.flexible is not None or table.beam is not None:
                data = body_data(scope, scope.full(name), table, where)
                options = {**read_drawn_pose(scope, table, where), **factors(scope, table, where)}
                add = scope.m.add_flexible_pieces if table.beam and table.beam.pieces else scope.m.add_flexible_body
                body: Any = add(scope.full(name), data, **options)
            else:
                refuse_keys(scope, table, ("stiffness", "damping"), "a flexible body", where)
                body = scope.m.add_body(scope.full(name), **_arguments(scope, table, where))
                colors = () if table.picture is None else _colors(table.picture)
                shapes = _read_shapes(scope, table, where)
                if colors or shapes or table.as_given:
                    body = scope.m.bodies[-1] = replace(body, colors=colors, shapes=shapes, as_given=table.as_given)
            scope.parts.bodies[body.name] = body
            add_points(scope, body, table.points, (*where, "points"))


def add_points(scope: Scope, body: Any, points: dict[str, Any], where: Where) -> None:
    for name, raw in points.items():
        with scope.part((*where, name), f"{body.name}.{name}"):
            place = scope.numbers(raw, "length", (*where, name))
            body.at(*place)  # raises if it is wrong
            body.points[own_point(scope, body, name)] = tuple(place)


def _arguments(scope: Scope, table: Any, where: Where) -> dict[str, Any]:
    arguments: dict[str, Any] = {"inertia": _inertia(scope, table, where)}
    for key in ("mass", "center"):
        value = scope.get(table, key, where)
        if value is not None:
            arguments[key] = value
    arguments |= read_drawn_pose(scope, table, where)
    if isinstance(arguments["inertia"], _Mesh):
        arguments = _with_mesh(scope, arguments, where)
    if table.picture is not None:
        path, scale = _mesh_file(scope, table.picture, (*where, "picture"))
        arguments["mesh"] = mesh_triangles(path, table.picture.mesh, scale)
    return arguments


def _colors(picture: Any) -> tuple[tuple[int, int, int], ...]:
    return tuple((colour.first, colour.count, int(colour.color[1:], 16)) for colour in picture.colors)


def _read_shapes(scope: Scope, table: Any, where: Where) -> tuple[CollisionShape, ...]:
    """Shapes of contact with the ground."""
    shapes = []
    for k, shape in enumerate(table.shapes):
        here: Where = (*where, "shapes", k)
        size, place = (tuple(plain(scope.get(shape, key, here), scope, here)) for key in ("size", "position"))
        problem = f"a {shape.type} has {SIZES[shape.type]} lengths that are not negative, got {list(size)}."
        scope.refuse_if(len(size) < SIZES[shape.type] or min(size) < 0.0, (*here, "size"), "out-of-range", problem)
        turned = None if shape.rotation is None else _rotation(scope, shape.rotation, (*here, "rotation"))
        axes = rotation_matrix(turned, "the rotation of a shape")
        shapes.append(CollisionShape(shape.type, size, place, axes))
    return tuple(shapes)


def read_drawn_pose(scope: Scope, table: Any, where: Where) -> dict[str, Any]:
    """Where the drawing shows a body."""
    pose: dict[str, Any] = {}
    for key in ("position", "angle"):
        if getattr(table, key) is not None:
            pose[key] = plain(scope.get(table, key, where), scope, where)
    if table.rotation is not None:
        pose["rotation"] = _rotation(scope, table.rotation, (*where, "rotation"))
    return pose


def _mesh_file(scope: Scope, table: Any, where: Where) -> tuple[Path, float]:
    """Path of a mesh, and one unit of it in metres."""
    from dalembert.files.models.values.includes import inside

    scale = scope.get(table, "scale", where)
    return inside(scope, table.mesh, (*where, "mesh"), (".stl",)), 1e-3 if scale is None else float(scale)


def _rotation(scope: Scope, given: object, where: Where) -> list[Any]:
    """A quaternion or a matrix of numbers."""
    if isinstance(given, list):
        return plain(scope.numbers(given, "number", where), scope, where)  # type: ignore[no-any-return]
    axis = unit(plain(scope.get(given, "axis", where), scope, where), "the axis of a rotation")
    half = float(scope.get(given, "angle", where)) / 2
    return [math.cos(half), *(math.sin(half) * c for c in axis)]


def _inertia(scope: Scope, table: Any, where: Where) -> Any:
    inertia, where = table.inertia, (*where, "inertia")
    if isinstance(inertia, (int, float, str, list)):
        return scope.numbers(inertia, "inertia", where)
    forms = [key for key in (*_SHAPES, "composite", "mesh") if getattr(inertia, key) is not None]
    if len(forms) != 1:
        what = "one of rod, box, cylinder, sphere, composite, mesh"
        problem = f"expected {what}, got {' and '.join(forms) or 'none'}."
        raise scope.refuse(where, "conflicting-arguments" if forms else "missing-argument", problem)
    if forms[0] != "mesh":
        refuse_keys(scope, inertia, ("density", "scale"), "a mesh", where)
    if forms[0] == "composite":
        refuse_keys(scope, inertia, ("axis", "hollow"), "a shape", where)
        return _composite(scope, inertia.composite, (*where, "composite"))
    if forms[0] == "mesh":
        refuse_keys(scope, inertia, ("axis", "hollow"), "a shape", where)
        return _Mesh(scope, inertia, where)
    return _shape(scope, inertia, where)


def _shape(scope: Scope, table: Any, where: Where) -> Shape:
    kinds = [key for key in _SHAPES if getattr(table, key) is not None]
    problem = f"expected one of {', '.join(_SHAPES)}, got {' and '.join(kinds) or 'none'}."
    scope.refuse_if(len(kinds) != 1, where, "conflicting-arguments" if kinds else "missing-argument", problem)
    kind = kinds[0]
    size = scope.get(table, kind, where)
    if kind != "sphere":
        refuse_keys(scope, table, ("hollow",), "a sphere", where)
    if kind in ("box", "sphere"):
        refuse_keys(scope, table, ("axis",), "a rod or a cylinder", where)
    if kind == "rod":
        return rod(size, axis=table.axis or "x")
    if kind == "box":
        return box(*size)
    if kind == "cylinder":
        return cylinder(*size, axis=table.axis or "z")
    return sphere(size, hollow=bool(table.hollow))


def _composite(scope: Scope, parts: list[Any], where: Where) -> Composite:
    solids = []
    symbolic = 0
    for k, solid in enumerate(parts):
        here = (*where, k)
        mass, position = scope.get(solid, "mass", here), scope.get(solid, "position", here)
        symbolic += any(not isinstance(x, float) for x in (mass, *position))
        solids.append((_shape(scope, solid, here), mass, position))
    if symbolic and len(parts) > limits.SYMBOLIC_PARTS:
        problem = f"more than {limits.SYMBOLIC_PARTS} parts with parameters."
        raise scope.refuse(where, "too-large", problem, Advice("Give the others as numbers."))
    return composite(*solids)


class _Mesh:
    """Volume, centre and inertia of a mesh file, per unit of density."""

    def __init__(self, scope: Scope, table: Any, where: Where) -> None:
        path, scale = _mesh_file(scope, table, where)
        self.mass = mesh_mass(path, table.mesh, scale)
        self.density = scope.get(table, "density", where)


def _with_mesh(scope: Scope, given: dict[str, Any], where: Where) -> dict[str, Any]:
    mesh, mass = given["inertia"], given.get("mass")
    if (mass is None) == (mesh.density is None):
        code = "missing-argument" if mass is None else "conflicting-arguments"
        raise scope.refuse((*where, "inertia"), code, "a mesh needs either its density or the mass of the body.")
    volume = mesh.mass
    density = mesh.density if mass is None else mass / volume.volume
    if scope.m.planar:
        inertia: Any = density * volume.inertia[2][2]
        center = volume.center[:2]
    else:
        inertia = [[density * c for c in row] for row in volume.inertia]
        center = volume.center
    derived = {"mass": density * volume.volume, "inertia": inertia, "center": given.get("center", center)}
    return {**given, **derived, "mesh": volume.triangles}
