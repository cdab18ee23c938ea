"""Options of a kind of joint, force, sensor or actuator: each is declared once.

The declaration serves the method of the mechanism, the check of the value, the key of the model file with its schema
and unit, reading, writing, and the reference page. Options of forces, sensors and actuators are fields of the class of
the kind:

    stiffness: Scalar = option("stiffness", "of the spring", default=0.0, check=not_negative)

An option has a form. Numbers: a kind of number of `record.units.KINDS` ("length", "stiffness", ...), or "" for a number
of any dimension. Directions and places: "position", "direction" (2 numbers in the plane, 3 in space), "axis" (3
numbers). Parts of the mechanism: "point", "frame" or "place" of a body, "body", and by name "coordinate", "joint",
"named force", "input"; "coordinates" (numbers by coordinate). Functions: "law" (a number or a function of the state),
"laws" (one for each axis), "law or laws" (one in the plane, three in space), "function" (of the state), "law of
extension" (of extension and speed, or a table), "curve" (of a parameter s). Others: "choice", "text",
"flag", "model" (of an actuator).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, TypeVar

from dalembert.core.arguments import one_of
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.core.registry import Registry
from dalembert.model.bodies import Body, BodyFrame, Point, name_of, number, vector
from dalembert.record.units import KINDS

Given = Mapping[str, Any]
EFFORTS = ("force", "torque")  # kinds of numbers of laws
REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Option:
    """One option of a kind.

    form : of its value, see above.  doc : its meaning, for the reference page and the schema.
    default : REQUIRED where a value is needed.
    check : called with the value and a text that names it; returns the value to keep, or raises.
    spatial : it has no meaning in the plane.  choices : the texts that it may be.
    about : kind of number where the coordinate it acts along is an angle.  many : one number for all axes, or one each.
    refine : a more exact kind of number, from all values of the table in a file.
    """

    name: str
    form: str
    doc: str
    default: Any = REQUIRED
    check: Callable[[Any, str], Any] | None = None
    spatial: bool = False
    choices: tuple[str, ...] = ()
    about: str = ""
    many: bool = False
    refine: Callable[[Given], str] | None = None

    def kind_along(self, unit: str) -> str:
        """Its kind of number where it acts along a coordinate of this unit."""
        return {"m": self.form, "rad": self.about}.get(unit, "") if self.about else self.form


def option(
    form: str,
    doc: str,
    *,
    default: Any = REQUIRED,
    check: Callable[[Any, str], Any] | None = None,
    choices: tuple[str, ...] = (),
    about: str = "",
    many: bool = False,
    refine: Callable[[Given], str] | None = None,
) -> Any:
    """Declare a field of a kind; see `Option`."""
    declared = Option("", form, doc, default, check, False, choices, about, many, refine)
    return field(default=MISSING if default is REQUIRED else default, metadata={"option": declared})


@cache
def _options(part: Any) -> dict[str, Option]:
    """Options of a class by name, kept because they are read many times."""
    declared = {field_.name: field_.metadata["option"] for field_ in fields(part) if "option" in field_.metadata}
    return {name: replace(field_, name=name) for name, field_ in declared.items()}


@dataclass(frozen=True)
class Declared:
    """A part whose fields are options."""

    kind: ClassVar[str] = ""

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Its options by name, in the order of their declaration."""
        kind: Any = cls  # a class is hashable, which type checkers deny where its instances are not
        return dict(_options(kind))

    @classmethod
    def summary(cls) -> str:
        """First paragraph of its documentation, in one line."""
        return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())

    def values_of(self, *forms: str) -> list[Any]:
        """Values of the options of these forms, without those left out."""
        kind: Any = type(self)
        values = [getattr(self, name) for name, declared in _options(kind).items() if declared.form in forms]
        return [value for value in values if value is not None]

    def places(self) -> list[Point | BodyFrame]:
        """Points and frames it acts on, or is measured at."""
        return [place for place in self.values_of("point", "frame", "place") if isinstance(place, (Point, BodyFrame))]

    def bodies(self) -> list[Body]:
        """Bodies it acts on, or is measured at."""
        sides = self.values_of("point", "frame", "place", "body")
        return [side if isinstance(side, Body) else side.body for side in sides]

    @property
    def dimension(self) -> int:
        """Of the space in which its bodies move: 2 or 3."""
        return self.bodies()[0].dimension

    def settle(self, what: str) -> None:
        """Check every option and replace its value by the checked one."""
        for name, option_ in self.options().items():
            value = getattr(self, name)
            if value is None and option_.default is None:
                continue
            checked = _CHECKS.get(option_.form, _check_number)(value, f"{what}: {name}", option_, self)
            object.__setattr__(
                self, name, checked if option_.check is None else option_.check(checked, f"{what}: {name}")
            )


def require_options(what: str, given: Given, options: Mapping[str, Option]) -> None:
    """Refuse arguments that a kind does not have, and the lack of those that it needs."""
    for key in given:
        if key not in options:
            problem = unknown_name("argument", key, options, what)
            raise ModelError("unknown-argument", problem, where={"argument": key})
    for name, option_ in options.items():
        if option_.default is REQUIRED and name not in given:
            raise ModelError("missing-argument", f"{what} needs {name}: {option_.doc}.", where={"argument": name})


Kind = TypeVar("Kind", bound=Declared)


def declare(registry: Registry[Any], kind: str) -> Callable[[type[Kind]], type[Kind]]:
    """Decorator that makes a class a frozen dataclass and registers it as a kind."""

    def register(cls: type[Kind]) -> type[Kind]:
        declared = dataclass(frozen=True)(cls)
        declared.kind = kind
        registry.register(kind, declared, module=declared.__module__)
        return declared

    return register


def _check_number(value: Any, what: str, one: Option, part: Declared) -> Any:
    kinds = ("",) if one.refine else tuple(kind for kind in (one.form, one.about) if kind in KINDS) or ("",)
    if one.many and isinstance(value, Iterable) and not isinstance(value, str):
        items = tuple(value)
        return vector(items, len(items), what, *kinds)
    return number(value, what, *kinds)


def _check_direction(value: Any, what: str, one: Option, part: Declared) -> Any:
    return vector(value, part.dimension, what)


def _check_point(value: Any, what: str, one: Option, part: Declared) -> Point:
    if isinstance(value, Body):
        return value.at(*(0.0,) * value.dimension)
    if isinstance(value, BodyFrame):
        return Point(value.body, value.coordinates)
    place: Point = _check_place(value, what, one, part)
    return place


def _check_frame(value: Any, what: str, one: Option, part: Declared) -> BodyFrame:
    return value if isinstance(value, BodyFrame) else _check_point(value, what, one, part).frame()


def _of_type(kinds: Any, code: str, words: str, *advice: Advice) -> Callable[[Any, str, Option, Declared], Any]:
    """A check that a value is of a type; ``words`` go between its name and the value in the message."""

    def check(value: Any, what: str, one: Option, part: Declared) -> Any:
        if not isinstance(value, kinds):
            raise ModelError(code, f"{what}{words}, got {value!r}.", *advice)
        return value

    return check


_check_place = _of_type(
    (Body, Point, BodyFrame),
    "wrong-type",
    ": expected a point of a body",
    Advice("Points are made by {}.", Call("body.at")),
)


def _check_name(value: Any, what: str, one: Option, part: Declared) -> str:
    return name_of(value, what)


def _check_coordinates(value: Any, what: str, one: Option, part: Declared) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise ModelError("wrong-type", f"{what} must be numbers by joint or coordinate, got {value!r}.")
    return {name_of(name, what): number(c, f"{what}: {name}", "") for name, c in value.items()}


def _check_choice(value: Any, what: str, one: Option, part: Declared) -> str:
    return one_of(what, value, one.choices, ModelError)


def _check_law(value: Any, what: str, one: Option, part: Declared) -> Any:
    return value if callable(value) else number(value, what, *EFFORTS)


def _check_laws(value: Any, what: str, one: Option, part: Declared) -> Any:
    return value if callable(value) else vector(value, part.dimension, what, *EFFORTS)


def _check_law_or_laws(value: Any, what: str, one: Option, part: Declared) -> Any:
    return (_check_law if part.dimension == 2 else _check_laws)(value, what, one, part)


def _keep(value: Any, what: str, one: Option, part: Declared) -> Any:
    return value


_CHECKS: dict[str, Callable[[Any, str, Option, Declared], Any]] = {  # other forms are kinds of numbers
    "direction": _check_direction,
    "point": _check_point,
    "frame": _check_frame,
    "place": _check_place,
    "body": _of_type(Body, "wrong-type", ": expected a body"),
    "coordinate": _check_name,
    "joint": _check_name,
    "named force": _check_name,
    "coordinates": _check_coordinates,
    "input": _of_type(str, "bad-name", " must be the name of a channel"),
    "choice": _check_choice,
    "text": _of_type(str, "wrong-type", " must be a text"),
    "law": _check_law,
    "laws": _check_laws,
    "law or laws": _check_law_or_laws,
    "function": _of_type(Callable, "wrong-type", " must be a function"),
    "law of extension": _of_type(Callable, "wrong-type", " must be a function"),
    "model": _keep,
}
