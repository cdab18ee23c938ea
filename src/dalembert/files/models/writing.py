"""A `Mechanism` as a document: tables of plain values that `read_model` turns back into the same machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import replace_file, write_text
from dalembert.core.errors import DataError, FileFormatError, ModelError
from dalembert.expressions import Quantity
from dalembert.expressions.quantities import PiecewiseLinear
from dalembert.files.bodies.bodies import write_flexible_body
from dalembert.files.models.text import arithmetic as ar
from dalembert.files.models.text.toml_text import json_text, toml_text
from dalembert.files.models.values.laws import TIME, Curve, InputLaw, SpringLaw, StateLaw, TimeLaw
from dalembert.files.models.values.mesh_mass import binary_stl
from dalembert.model import Body, BodyFrame, Mechanism, Point
from dalembert.model.bodies import IDENTITY, read_inertia
from dalembert.model.couplings import COUPLERS, Coupler
from dalembert.model.inertia import Shape, box, cylinder, rod, sphere
from dalembert.model.joints import Joint
from dalembert.model.joints.joint import PLACEMENT, Z
from dalembert.model.joints.limits import KEYS
from dalembert.model.options import Declared, Option
from dalembert.model.orientation import as_rotation, split_pose

DEFAULTS = ("loops", "start", "starts", "simulate")  # not written where they are empty
_NAMES = {"absolute": "abs", "minimum": "min", "maximum": "max"}


def write_model(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write a machine to a model file (``.toml`` or ``.json``), whole or not at all.

    Nothing of the machine is lost: reading it gives the same equations, names, parameters and expressions of them,
    named points, description, start and simulation. A file has more, which is not written again: comments, units (all
    numbers are SI), constants, expressions in drawn positions and angles of bodies (the numbers they give are), and
    which file a part was included from (its name shows it: ``leg.foot``).

    A machine that holds Python functions (laws, constraints) is refused with the names of the parts; laws that came
    from a file are written as they were read. Meshes that show bodies go into STL files beside it, data of flexible
    bodies into .npz files.
    """
    suffix = take_path("path", path).suffix.lower()
    problem = "a model file ends in .toml or .json."
    FileFormatError.when(suffix not in (".toml", ".json"), "unknown-suffix", problem, path=str(path))
    document = model_document(mechanism)
    shown = [body for body in (*mechanism.bodies, mechanism.ground) if body.mesh is not None]
    for k, body in enumerate(shown):
        name = f"{Path(path).stem}-{k + 1}.stl"  # numbered: names of bodies need not be names of files
        with replace_file(Path(path).with_name(name)) as temporary:
            temporary.write_bytes(binary_stl(body.mesh + np.array([*map(float, body.center), 0.0, 0.0, 0.0][:3])))
        table = document.setdefault("ground", {}) if body.is_ground else document["bodies"][body.name]
        table["picture"] = {"mesh": name, "scale": 1.0}
        if body.colors:
            colors = [{"first": first, "count": n, "color": f"#{color:06x}"} for first, n, color in body.colors]
            table["picture"]["colors"] = colors
    written: dict[int, str] = {}
    for body in mechanism.bodies:
        if body.flexible is not None:
            if id(body.flexible) not in written:  # bodies of the same data share a file
                written[id(body.flexible)] = f"{Path(path).stem}-{len(written) + 1}.npz"
                write_flexible_body(body.flexible, Path(path).with_name(written[id(body.flexible)]))
            table = document["bodies"][body.name]
            document["bodies"][body.name] = {"flexible": written[id(body.flexible)], **table}
    write_text(path, json_text(document) if suffix == ".json" else toml_text(document))


def model_document(mechanism: Mechanism) -> dict[str, Any]:
    """The tables of a model file; `ModelError` names every part that cannot be written."""
    problem = f"expected a Mechanism, got {type(mechanism).__name__}."
    ModelError.when(not isinstance(mechanism, Mechanism), "wrong-type", problem)
    mechanism.validate()
    return Document(mechanism).tables()


class Document:
    """Collects the tables, and every reason why a part cannot be written."""

    def __init__(self, m: Mechanism) -> None:
        self.m = m
        self.refused: list[str] = []

    def tables(self) -> dict[str, Any]:
        m = self.m
        document: dict[str, Any] = {"name": m.name, "planar": m.planar, "gravity": self.values(m.gravity, "gravity")}
        if m.description:
            document = {"name": m.name, "description": m.description, **document}
        wrong = [name for name in m.parameters if name in (TIME, *ar.CONSTANTS)]
        self.refused += [f"parameter {name!r}: in a file this name means something else." for name in wrong]
        if m.parameters:
            document["parameters"] = dict(m.parameters)
        ground = {"points": self.points(m.ground), "shapes": self.collisions(m.ground)}
        if any(ground.values()):
            document["ground"] = {key: value for key, value in ground.items() if value}
        sections: list[tuple[str, Any, Callable[..., dict[str, Any]]]] = [
            ("bodies", m.bodies, self.body),
            ("joints", m.joints, self.joint),
            ("couplers", m.couplers, self.coupler),
            ("drivers", m.drivers, self.driver),
            ("variables", m.variables, lambda v: {"start": v.start}),
            ("constraints", m.constraints, self.constraint),
            ("forces", m.forces, lambda f: options_table(self, f, f.what)),
            ("sensors", m.sensors, lambda s: options_table(self, s.measure, f"sensor {s.name!r}")),
        ]
        for title, parts, table in sections:
            if parts:
                document[title] = {item.name: table(item) for item in parts}
        states = {}
        for name, start in m.starts.items():
            parts = {"position": start.position, "velocity": start.velocity, "inputs": start.inputs}
            states[name] = {key: _targets(item) for key, item in parts.items() if item}
        document["loops"] = list(m.loops)
        document["start"], document["starts"] = start_table(self, m.start), states
        document["simulate"] = simulation_table(self, m.simulation)
        document = {title: table for title, table in document.items() if table or title not in DEFAULTS}
        if self.refused:
            title = f"mechanism {m.name!r} cannot be written to a file:"
            raise ModelError("not-writable", "\n  - ".join([title, *self.refused]))
        return document

    # -- values -----------------------------------------------------------------------------------------------------
    def number(self, x: Any, what: str) -> Any:
        """A float, or an expression of parameters as a text."""
        if not isinstance(x, Quantity):
            return float(x)
        try:
            text = ar.render(quantity_tree(x))
            ar.parse(text)
            return text
        except DataError as error:
            self.refused.append(f"{what}: {error}")
            return 0.0

    def values(self, xs: Any, what: str) -> list[Any]:
        return [self.values(x, what) if isinstance(x, (tuple, list)) else self.number(x, what) for x in xs]

    def law(self, given: object, kind: type, what: str) -> list[str]:
        """Expressions of a law that came from a file; a Python function has none."""
        if isinstance(given, kind):
            return given.texts()  # type: ignore[no-any-return, attr-defined]
        self.refused.append(f"{what} is a Python function; give it as an expression in a model file.")
        return [""]

    # -- places -----------------------------------------------------------------------------------------------------
    def place(self, place: Body | Point | BodyFrame, what: str, *, own_axes: bool = False) -> Any:
        """``"crank(0.1, 0.0)"`` where that is enough, else a table."""
        body = place if isinstance(place, Body) else place.body
        if isinstance(place, Body):
            coordinates: tuple[Any, ...] = (0.0,) * body.dimension
        else:
            coordinates = place.coordinates
        local = self.values(coordinates, what)
        turned = isinstance(place, BodyFrame) and (own_axes or place.axes != IDENTITY or not _is_zero(place.angle))
        named = next((n for n, at in body.points.items() if _same(body.at(*at).coordinates, coordinates)), None)
        if named is not None and not turned and self.plain_point(body, named):
            return f"{body.name}.{named}"
        if not turned and not body.center and self.readable(body.name):
            if all(x == 0.0 for x in local) and isinstance(body.name, str):
                return body.name
            shown = [x if isinstance(x, str) else ar.number_text(x) for x in local]
            return f"{body.name}({', '.join(shown)})"
        where = {"offset": local} if named is None else {"point": named}
        table: dict[str, Any] = {"body": body.name, **where}
        if turned and isinstance(place, BodyFrame):
            if body.planar:
                table["angle"] = self.number(place.angle, what)
            else:
                table["axes"] = self.values(place.axes, what)
        return table

    def points(self, body: Body) -> dict[str, Any]:
        return {name: self.values(at, f"point {name!r} of body {body.name!r}") for name, at in body.points.items()}

    def plain_point(self, body: Body, point: str) -> bool:
        """Whether ``body.point`` can only be read as this point."""
        text = f"{body.name}.{point}"
        return self.readable(text) and "." not in point and all(body_.name != text for body_ in self.m.bodies)

    def readable(self, name: str) -> bool:
        """Whether a name can be written before a bracket."""
        return ar.PLAIN_NAME.match(name) is not None

    # -- bodies and joints ------------------------------------------------------------------------------------------
    def body(self, body: Body) -> dict[str, Any]:
        what = f"body {body.name!r}"
        if body.flexible is None:
            table: dict[str, Any] = {"mass": self.number(body.mass, what), "inertia": self.inertia(body, what)}
        else:  # the data have mass, inertia and points
            factors = {"stiffness": body.stiffness, "damping": body.damping}
            table = {key: self.number(x, what) for key, x in factors.items() if not _same(x, 1.0)}
        if body.position:
            table["position"] = self.values(body.position, what)
        if body.angle != 0:
            table["angle"] = body.angle
        if body.rotation != IDENTITY:
            table["rotation"] = self.values(body.rotation, what)
        if body.center:
            table["center"] = self.values(body.center, what)
        if body.points and body.flexible is None:
            table["points"] = self.points(body)
        if body.shapes:
            table["shapes"] = self.collisions(body)
        if body.as_given:
            table["as_given"] = True
        return table

    def collisions(self, body: Body) -> list[dict[str, Any]]:
        return [
            {"type": shape.kind, "size": list(shape.size), "position": list(shape.place)}
            | ({} if shape.axes == IDENTITY else {"rotation": [list(row) for row in shape.axes]})
            for shape in body.shapes
        ]

    def inertia(self, body: Body, what: str) -> Any:
        if body.shape is not None:
            for shape, table in self.shapes(body.shape, what):
                again = read_inertia(body.name, body.mass, shape, body.planar)[1]
                if shape.gyration == body.shape.gyration or _same(again, body.inertia):
                    return table
        if body.planar:
            return self.number(body.inertia, what)
        return self.values(body.inertia, what)

    def shapes(self, shape: Shape, what: str) -> list[tuple[Shape, dict[str, Any]]]:
        """Shapes of the same size, with their tables: only the inertia distinguishes a shell from a ball."""
        size, axis = self.values(shape.size, what), shape.axis
        if shape.kind == "rod":
            return [(rod(*shape.size, axis=axis), {"rod": size[0], "axis": axis})]
        if shape.kind == "box":
            return [(box(*shape.size), {"box": size})]
        if shape.kind == "cylinder":
            return [(cylinder(*shape.size, axis=axis), {"cylinder": size, "axis": axis})]
        if shape.kind == "sphere":
            ball: dict[str, Any] = {"sphere": size[0]}
            return [(sphere(*shape.size), ball), (sphere(*shape.size, hollow=True), {**ball, "hollow": True})]
        return []

    def joint(self, joint: Joint) -> dict[str, Any]:
        what, kind = f"joint {joint.name!r}", joint.declaration
        # axes of the frames are written where leaving them out would mean others than z on both sides
        unaxed = not self.m.planar and any(default not in (None, Z) for _, default in kind.directions)
        table: dict[str, Any] = {
            "type": joint.kind,
            "a": self.place(joint.a, what, own_axes=unaxed),
            "b": self.place(joint.b, what, own_axes=unaxed),
        }
        own_options = [option for option in kind.options if option.form not in (*PLACEMENT, "limits")]
        options = {option.name: write_option(self, option, joint.options[option.name], what) for option in own_options}
        limits = {
            name: {k: x for k in KEYS if (x := getattr(limits, k)) is not None} for name, limits in joint.limits.items()
        }
        if limits:
            options["limits"] = limits[joint.coordinates[0].name] if len(joint.coordinates) == 1 else limits
        return {**table, **options}

    def coupler(self, coupler: Coupler) -> dict[str, Any]:
        what, kind = f"{coupler.kind} {coupler.name!r}", COUPLERS[coupler.kind]
        return {
            "type": coupler.kind,
            kind.first[0]: coupler.first,
            kind.second[0]: coupler.second,
            kind.ratio[0]: self.number(coupler.ratio, what),
            kind.offset[0]: self.number(coupler.offset, what),
        }

    def driver(self, driver: Any) -> dict[str, Any]:
        if driver.input:
            return {"coordinate": driver.coordinate, "input": driver.input}
        what = f"the motion of driver {driver.name!r}"
        motion = driver.motion
        shown: Any
        if callable(motion):
            texts = self.law(motion, TimeLaw, what)
            shown = texts if len(texts) > 1 else texts[0]
        elif driver.coordinate.endswith(".pose"):
            place, turned = split_pose(motion, what)
            shown = [float(c) for c in (*place, *turned.quaternion)]
        elif driver.coordinate.endswith(".rotation"):
            shown = [float(c) for c in as_rotation(motion, what).quaternion]
        else:
            shown = self.number(motion, what)
        return {"coordinate": driver.coordinate, "motion": shown}

    def constraint(self, constraint: Any) -> dict[str, Any]:
        what = f"constraint {constraint.name!r}"
        return {"level": constraint.level, "residual": self.law(constraint.function, StateLaw, what)}


def quantity_tree(x: Any) -> ar.ExpressionTree:
    """A parameter expression as a tree of the file's grammar."""
    sizes: dict[int, ar.ExpressionTree] = {}

    def tree(value: Any) -> ar.ExpressionTree:
        if not isinstance(value, Quantity):
            try:
                return ar.number(float(value))
            except (TypeError, ValueError, RuntimeError):  # a symbol of CasADi
                raise DataError("not-a-number", f"{value!r} in a parameter expression is not a number.") from None
        if id(value) not in sizes:
            if value.operation == "parameter":
                sizes[id(value)] = ar.name(value.arguments[0])
            else:
                name = _NAMES.get(value.operation, value.operation)
                sizes[id(value)] = ar.node(name, *(tree(a) for a in value.arguments))
        return sizes[id(value)]

    try:
        return tree(x)
    except RecursionError:
        raise DataError("too-large", "the parameter expression is too deep.") from None


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Quantity) and float(x) == 0


def _same(a: Any, b: Any) -> bool:
    """Equal numbers, or parameter expressions that read the same."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Quantity) or isinstance(b, Quantity):
        return isinstance(a, Quantity) and isinstance(b, Quantity) and repr(a) == repr(b)
    return float(a) == float(b)


# -- options ---------------------------------------------------------------------------------------------------------
def options_table(document: Document, part: Declared, what: str) -> dict[str, Any]:
    """The type of a part and its options, without those at their defaults."""
    table: dict[str, Any] = {"type": part.kind}
    for key, option in part.options().items():
        value = getattr(part, key)
        if value is None or (isinstance(value, (bool, float, int, str)) and value == option.default):
            continue
        table[key] = write_option(document, option, value, what)
    return table


def write_option(document: Document, one: Option, value: Any, what: str) -> Any:
    """One value as it is written in a file."""
    return _WRITERS.get(one.form, _write_numbers)(document, value, what)


def _write_numbers(document: Document, value: Any, what: str) -> Any:
    return document.values(value, what) if isinstance(value, (tuple, list)) else document.number(value, what)


def _write_laws(document: Document, value: Any, what: str) -> Any:
    return document.law(value, StateLaw, what) if callable(value) else _write_numbers(document, value, what)


def _write_law(document: Document, value: Any, what: str) -> Any:
    law = _write_laws(document, value, what)
    return law[0] if callable(value) and len(law) == 1 else law


def _write_law_of_extension(document: Document, value: Any, what: str) -> Any:
    if isinstance(value, PiecewiseLinear):
        return {"table": [list(pair) for pair in zip(value.x, value.y, strict=True)]}
    return document.law(value, SpringLaw, f"the law of {what}")[0]


_WRITERS: dict[str, Callable[[Document, Any, str], Any]] = {  # other forms are kinds of numbers
    **dict.fromkeys(("point", "frame"), Document.place),
    # a frame stays one, also where its axes are those of its body
    "place": lambda document, value, what: document.place(value, what, own_axes=isinstance(value, BodyFrame)),
    "body": lambda document, value, what: value.name,
    **dict.fromkeys(
        ("coordinate", "joint", "named force", "input", "choice", "text", "flag"), lambda document, value, what: value
    ),
    "coordinates": lambda document, value, what: {
        key: document.number(c, f"{what}: {key}") for key, c in value.items()
    },
    "law": _write_law,
    "laws": _write_laws,
    "law or laws": _write_law,
    "function": _write_law,
    "law of extension": _write_law_of_extension,
    "curve": lambda document, value, what: document.law(value, Curve, f"the curve of {what}"),
    "model": options_table,
}


# -- defaults of a run -----------------------------------------------------------------------------------------------
def start_table(document: Document, start: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in start.items():
        if key in ("position", "velocity", "guess", "internal") and isinstance(value, Mapping):
            table[key] = _targets(value)
        elif key == "t":
            table[key] = float(value)
        else:
            document.refused.append(f"start[{key!r}] has no place in a file.")
    return table


def _targets(given: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers by name; rotations as quaternions."""
    return {
        name: [float(c) for c in x.quaternion] if hasattr(x, "quaternion") else float(x) for name, x in given.items()
    }


def simulation_table(document: Document, simulation: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in simulation.items():
        if key in ("until", "every") and isinstance(value, (int, float)):
            table[key] = float(value)
        elif key == "inputs" and isinstance(value, Mapping):
            table[key] = {name: _input(document, name, x) for name, x in value.items()}
        elif key == "method" and is_dataclass(value):
            table[key] = _method(document, value)
        else:
            document.refused.append(f"simulation[{key!r}] has no place in a file.")
    return table


def _input(document: Document, name: str, value: object) -> Any:
    if callable(value):
        return document.law(value, InputLaw, f"input {name!r} of the simulation")[0]
    return document.number(value, f"input {name!r} of the simulation")


def _method(document: Document, method: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"type": type(method).__name__}
    for field in fields(method):
        value = getattr(method, field.name)
        if value == (None if field.default is MISSING else field.default):
            continue
        if isinstance(value, (int, float, str)):
            table[field.name] = value
        else:
            document.refused.append(f"{field.name} of the method of integration has no place in a file.")
    return table
