"""DeclaredArgument arguments: a kind reads a value, refuses a wrong one with its code, and documents itself.

    Share = Annotated[float, between(0.0, 0.5), "share of the data kept for validation"]

    @checked
    def split(record: Record, share: Share = 1 / 3, names: Names = None): ...

`checked` reads every argument whose annotation has a kind, defaults included, before the function runs: the function
gets numbers, tuples and arrays, never what a user typed. An error has the code of the kind, the name of the argument in
``where``, and the words of the declaration. Sizes are tied by letters: ``matrix("n", "n")`` of one argument sets n for
the others; a kind may also give names to the scope (`control.plant`: a model gives its states). An error type in an
annotation replaces `DataError`. Kernels behind the door are bare.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints, overload

import numpy as np

from dalembert.core import arguments
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError, require_name
from dalembert.core.findings import Advice, Argument

F = TypeVar("F", bound=Callable[..., Any])
Scope = dict[str, Any]  # sizes (numbers) and names (tuples) that arguments gave, by letter or word
Reader = Callable[[str, Any, Scope], Any]  # name of the argument, its value, scope


@dataclass(frozen=True)
class ArgumentKind:
    """What a value must be.

    expected : in words, "a number above zero".  read : the value to use, or an error.
    needs, gives : words of the scope that other arguments must give first, or that this one gives.
    """

    expected: str
    read: Reader
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any, **scope: Any) -> Any:
        """The value, read outside of a declared function: an entry of a mapping, a line of a file."""
        return self.read(name, value, scope)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _number(accepts: Callable[[float], bool], expected: str, code: str) -> ArgumentKind:
    def read(name: str, value: Any, scope: Scope) -> float:
        number = arguments.real_number(name, value)
        DataError.when(not accepts(number), code, f"{name} must be {expected}, got {value!r}.")
        return number

    return ArgumentKind(expected, read)


number = _number(lambda x: True, "a finite number", "not-finite")
positive = _number(lambda x: x > 0.0, "a number above zero", "not-positive")
not_negative = _number(lambda x: x >= 0.0, "a number from zero on", "negative")


def between(low: float, high: float) -> ArgumentKind:
    """A number from ``low`` to ``high``."""
    return _number(lambda x: low <= x <= high, f"a number from {low:g} to {high:g}", "out-of-range")


def at_least(low: float, below: float = float("inf")) -> ArgumentKind:
    """A number from ``low`` on, and ``below`` another."""
    expected = f"a number from {low:g} on" + (f" and below {below:g}" if below < float("inf") else "")
    return _number(lambda x: low <= x < below, expected, "out-of-range")


def above_and_below(low: float, high: float) -> ArgumentKind:
    """A number between ``low`` and ``high``, the ends left out."""
    return _number(lambda x: low < x < high, f"a number above {low:g} and below {high:g}", "out-of-range")


def interval(unit: str) -> ArgumentKind:
    """Two numbers (low, high), 0 ≤ low < high."""
    expected = f"(low, high) with 0 ≤ low < high [{unit}]"

    def read(name: str, value: Any, scope: Scope) -> tuple[float, float]:
        with suppress(TypeError, ValueError):
            low, high = (float(end) for end in value)
            if 0.0 <= low < high < np.inf:
                return low, high
        raise DataError("out-of-range", f"{name} must be {expected}, got {value!r}.")

    return ArgumentKind(expected, read)


def count(least: int = 0, most: int | None = None) -> ArgumentKind:
    """A whole number."""
    expected = f"a whole number from {least}" + (f" to {most}" if most is not None else "")
    return ArgumentKind(expected, lambda name, value, scope: arguments.whole_number(name, value, least, most))


def refused_as(code: str, kind: ArgumentKind) -> ArgumentKind:
    """The kind with one code for every refusal."""

    def read(name: str, value: Any, scope: Scope) -> Any:
        try:
            return kind.read(name, value, scope)
        except DataError as error:
            raise DataError.of(replace(error.finding, code=code)) from None

    return replace(kind, read=read)


# -- words and names ---------------------------------------------------------------------------------------------------


def one_of(*choices: str) -> ArgumentKind:
    """One of these words."""
    shown = " or ".join(filter(None, [", ".join(map(repr, choices[:-1])), repr(choices[-1])]))
    return ArgumentKind(shown, lambda name, value, scope: arguments.one_of(name, value, choices))


def names(noun: str, of: str, *, gives: str = "", least: int = 0, left_out: str = "all") -> ArgumentKind:
    """Names among those that the scope knows as ``of``, each once; None: "all" of them, or "none"."""

    def read(name: str, value: Any, scope: Scope) -> tuple[str, ...]:
        choices = scope[of]
        chosen = arguments.take_names(noun, value) if value is not None else tuple(choices) if left_out == "all" else ()
        for each in chosen:
            require_name(noun, each, choices)
        DataError.when(len(set(chosen)) < len(chosen), "duplicate", f"{name} has a name twice: {', '.join(chosen)}.")
        problem = f"{name} must have at least {least} {noun}; there is none, or none was chosen."
        DataError.when(len(chosen) < least, "empty", problem)
        if gives:
            scope[gives] = chosen
        return chosen

    return ArgumentKind(
        f"names of {noun}s" + ("; all where left out" if left_out == "all" else ""), read, (of,), (gives,)
    )


def known_as(word: str, expected: str) -> ArgumentKind:
    """A value as it is, which the scope knows by this word."""

    def read(name: str, value: Any, scope: Scope) -> Any:
        scope[word] = value
        return value

    return ArgumentKind(expected, read, gives=(word,))


def _text(name: str, value: Any, scope: Scope) -> str:
    DataError.when(not isinstance(value, str), "wrong-type", f"{name} must be a text, got {value!r:.80}.")
    return str(value)


text = ArgumentKind("a text", _text)
anything = ArgumentKind("any value", lambda name, value, scope: value)


# -- arrays ------------------------------------------------------------------------------------------------------------


def _size(letter: str, scope: Scope) -> int | None:
    size = int(letter) if letter.isdigit() else scope.get(letter)
    return len(size) if isinstance(size, tuple) else size


def _tie(letter: str, size: int, scope: Scope) -> None:
    if letter != "*":
        scope.setdefault(letter, size)


def matrix(rows: str, columns: str, *, vector: str = "") -> ArgumentKind:
    """A finite real matrix; its sizes are letters, shared by all arguments of a call, words of the scope, or numbers.

    ``"*"`` is any size.  vector : "row" or "column", to accept one dimension as such; "either" by the columns.
    """
    words = tuple(word for word in (rows, columns) if len(word) > 1)

    def read(name: str, value: Any, scope: Scope) -> Any:
        sizes = _size(rows, scope), _size(columns, scope)
        as_ = vector if vector != "either" else "column" if sizes[1] == 1 else "row"
        array = arguments.matrix(name, value, *sizes, f"({rows}, {columns})", vector=as_)
        problem = f"{name} has shape {array.shape}; it must be square."
        DataError.when(rows == columns and array.shape[0] != array.shape[1], "wrong-shape", problem)
        for letter, size in zip((rows, columns), array.shape, strict=True):
            _tie(letter, size, scope)
        return array

    return ArgumentKind(f"a matrix ({rows}, {columns})", read, words)


def vector(size: str) -> ArgumentKind:
    """Finite real numbers, (size,); one number is one entry."""

    def read(name: str, value: Any, scope: Scope) -> Any:
        array = arguments.matrix(name, value, _size(size, scope), 1, f"({size},)", vector="column")[:, 0]
        _tie(size, len(array), scope)
        return array

    return ArgumentKind(f"numbers ({size},)", read)


def symmetric_part(name: str, value: FloatArray, rounding: float = 1e-9) -> FloatArray:
    """The symmetric part; a skew part above ``rounding`` of the largest entry, files have nine digits, is an error."""
    apart = np.abs(value - value.T)
    if apart.max(initial=0.0) > rounding * np.abs(value).max(initial=0.0):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        entries = f"{name}[{i}, {j}] = {value[i, j]:g}, {name}[{j}, {i}] = {value[j, i]:g}"
        raise DataError("not-symmetric", f"{name} must be symmetric: {entries}.")
    half: FloatArray = 0.5 * (value + value.T)
    return half


def symmetric(size: str, *, definite: bool = False, zero: float = 1e-14) -> ArgumentKind:
    """A symmetric matrix, made exactly so; ``definite``: positive, no eigenvalue below ``zero`` (50 roundings)."""
    square = matrix(size, size)

    def read(name: str, value: Any, scope: Scope) -> Any:
        array = square.read(name, value, scope)
        array = symmetric_part(name, array)
        if definite:
            values = np.linalg.eigvalsh(array)
            if not values[0] > zero * abs(values[-1]):
                smallest = f"its smallest eigenvalue is {values[0]:.3g}"
                raise DataError("not-positive-definite", f"{name} must be positive definite; {smallest}.")
        return array

    return ArgumentKind(f"a symmetric{' positive definite' if definite else ''} matrix ({size}, {size})", read)


def indices(size: str) -> ArgumentKind:
    """Whole numbers from 0 on, below the size."""

    def read(name: str, value: Any, scope: Scope) -> tuple[int, ...]:
        places, most = tuple(value), scope[size]
        if any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k < most for k in places):
            raise DataError("out-of-range", f"{name} must be whole numbers from 0 to {most - 1}, got {places!r}.")
        return tuple(map(int, places))

    return ArgumentKind(f"whole numbers below {size}", read)


# -- objects -----------------------------------------------------------------------------------------------------------


def instance(*types_: type, advice: Iterable[Advice] = ()) -> ArgumentKind:
    """An object of one of these types."""
    shown = " or ".join(kind.__name__ for kind in types_)

    def read(name: str, value: Any, scope: Scope) -> Any:
        if not isinstance(value, types_):
            raise DataError("wrong-type", f"{name} must be a {shown}, got {type(value).__name__}.", *advice)
        return value

    return ArgumentKind(f"a {shown}", read)


def _callable(name: str, value: Any, scope: Scope) -> Any:
    if not callable(value):  # the text of one may be that of a whole machine
        raise DataError("wrong-type", f"{name} must be a function, got {value!r:.80}.")
    return value


function = ArgumentKind("a function", _callable)


def mapping(noun: str, values: ArgumentKind, of: str = "") -> ArgumentKind:
    """{name: value}; ``of``: names that the scope knows. None is empty."""

    def read(name: str, value: Any, scope: Scope) -> dict[str, Any]:
        if value is not None and not isinstance(value, Mapping):  # the text of one may be that of whole records
            raise DataError("wrong-type", f"{name} must be a mapping of {noun}s to values, got {value!r:.80}.")
        for key in value or {} if of else ():
            require_name(noun, key, scope[of], argument=name)
        return {str(key): values.read(f"{name}[{key!r}]", entry, scope) for key, entry in (value or {}).items()}

    return ArgumentKind(f"a mapping of {noun}s to {values.expected}", read, (of,) if of else ())


# -- relations between arguments ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArgumentRelation:
    """A law about which arguments are given together; ``check`` gets {argument: whether it is given}."""

    check: Callable[[Mapping[str, bool]], None]


def requires(argument: str, other: str, why: str) -> ArgumentRelation:
    """``argument`` means nothing without ``other``."""

    def check(given: Mapping[str, bool]) -> None:
        if given[argument] and not given[other]:
            advice = Advice("Give {} as well.", Argument(other))
            raise DataError("missing-argument", f"{why}.", advice, where={"argument": other})

    return ArgumentRelation(check)


def either(*either_of: str, why: str) -> ArgumentRelation:
    """At least one of the arguments is needed."""

    def check(given: Mapping[str, bool]) -> None:
        if not any(given[name] for name in either_of):
            raise DataError("missing-argument", f"{why}.", Advice("Give {}.", *map(Argument, either_of)))

    return ArgumentRelation(check)


def excludes(argument: str, *others: str, why: str) -> ArgumentRelation:
    """``argument`` cannot be given together with any of the others."""

    def check(given: Mapping[str, bool]) -> None:
        both = [name for name in others if given[name]]
        if given[argument] and both:
            problem = f"{why}: leave out {both[0]} or {argument}."
            raise DataError("conflicting-arguments", problem, where={"argument": both[0]})

    return ArgumentRelation(check)


# -- the door ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeclaredArgument:
    """An argument as it is declared: its kind, meaning, default, and the type of its errors."""

    name: str
    kind: ArgumentKind
    meaning: str
    optional: bool
    default: Any
    error: type[DalembertError]

    def read(self, value: Any, scope: Scope) -> Any:
        if value is None and self.optional:
            return None
        try:
            return self.kind.read(self.name, value, scope)
        except DataError as error:
            where = {"argument": self.name, **error.where}
            kind = (
                self.error if where["argument"] == self.name else DataError
            )  # of an entry: a number that does not fit
            raise kind.of(replace(error.finding, where=where)) from None

    def text(self) -> str:
        """Meaning and expectation in one sentence: a line of the docstring, the help of a command's option."""
        words = "; ".join(filter(None, [self.meaning, self.kind.expected]))
        return words + (", optional" if self.optional else "")


def declarations(target: Callable[..., Any]) -> dict[str, DeclaredArgument]:
    """DeclaredArgument arguments of a function or class, by name, in the order of the signature."""
    declared_ = getattr(target, "__declared__", None)
    if declared_ is not None:
        return dict(declared_)
    function_: Any = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    parameters = inspect.signature(function_).parameters
    hints = {name: _resolve(function_, name, parameter.annotation) for name, parameter in parameters.items()}
    pairs = ((name, _declare(name, hints[name], parameter.default)) for name, parameter in parameters.items())
    return {name: declared for name, declared in pairs if declared is not None}


def _resolve(function_: Any, name: str, annotation: Any) -> Any:
    """The type that an annotation names; None where it names a class that is still being made."""
    with suppress(NameError):
        names_ = inspect.unwrap(function_).__globals__
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        return get_type_hints(holder, names_, include_extras=True)[name]
    return None


def _declare(name: str, hint: Any, default: Any) -> DeclaredArgument | None:
    optional = get_origin(hint) in (types.UnionType, typing.Union) and type(None) in get_args(hint)
    if optional:
        inner = [each for each in get_args(hint) if each is not type(None)]
        hint = inner[0] if len(inner) == 1 else None
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    kind = next((x for x in extras if isinstance(x, ArgumentKind)), None)
    if kind is None:
        return None
    meaning = next((x for x in extras if isinstance(x, str)), "")
    error = next((x for x in extras if isinstance(x, type) and issubclass(x, DalembertError)), DataError)
    return DeclaredArgument(name, kind, meaning, optional, default, error)


@overload
def checked(target: F, /) -> F: ...
@overload
def checked(*relations: ArgumentRelation) -> Callable[[F], F]: ...
def checked(*targets: Any) -> Any:
    """Read the declared arguments of a public function or class: ``@checked``, ``@checked(requires(...), ...)``.

    Examples
    --------
    >>> Share = Annotated[float, between(0.0, 0.5), "share of the data kept for validation"]
    >>> @checked
    ... def split(share: Share = 1 / 3) -> float:
    ...     return share
    >>> split("half")
    Traceback (most recent call last):
    dalembert.core.errors.DataError: share must be a number, got 'half'.
    >>> declarations(split)["share"].text()
    'share of the data kept for validation; a number from 0 to 0.5'
    """
    if len(targets) == 1 and not isinstance(targets[0], ArgumentRelation):
        return _check(targets[0], ())
    return lambda target: _check(target, targets)


def _check(target: Any, relations: tuple[ArgumentRelation, ...]) -> Any:
    declared = declarations(target)
    if isinstance(target, type):
        target.__init__ = _door(target.__init__, declared, relations)  # type: ignore[misc]
        target.__declared__ = declared  # type: ignore[attr-defined]
        wrapped = target
    else:
        wrapped = _door(target, declared, relations)
        wrapped.__declared__ = declared
    wrapped.__doc__ = _document(target.__doc__ or "", declared.values())
    return wrapped


def _door(
    function_: Callable[..., Any], declared: Mapping[str, DeclaredArgument], relations: tuple[ArgumentRelation, ...]
) -> Any:
    signature, of_class = inspect.signature(function_), function_.__name__ == "__init__"
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    ordered = tuple(_in_order(list(declared.values())))

    @wraps(function_)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError:
            return function_(*args, **keywords)  # Python's own words
        if not of_class:  # defaults of fields are ready values
            bound.apply_defaults()
        values = bound.arguments
        if relations:
            set_ = {name: not _same(values.get(name, default), default) for name, default in defaults.items()}
            for relation in relations:
                relation.check(set_)
        scope: Scope = {}
        for each in ordered:
            if each.name in values:
                values[each.name] = each.read(values[each.name], scope)
        return function_(*bound.args, **bound.kwargs)

    return call


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, (int, float, str)) and value == default)


def _in_order(declared: list[DeclaredArgument]) -> Iterator[DeclaredArgument]:
    """Arguments that give a word of the scope before those that need it, else as in the signature."""
    waiting = list(declared)
    while waiting:
        to_come = {word for each in waiting for word in each.kind.gives if word}
        ready = [each for each in waiting if not to_come.intersection(each.kind.needs)]
        if not ready:
            raise TypeError(f"arguments need each other: {', '.join(each.name for each in waiting)}")
        yield from ready
        waiting = [each for each in waiting if each not in ready]


_HEADER = re.compile(r"^([ \t]*)(\w[\w ]*)\n\1-{3,}[ \t]*$", re.MULTILINE)


def _document(text: str, declared: Iterable[DeclaredArgument]) -> str:
    """The docstring with a line for every declared argument that its section of parameters does not have."""
    headers = list(_HEADER.finditer(text))
    section = next((header for header in headers if header[2] == "Parameters"), None)
    after = [header.start() for header in headers if section is not None and header.start() > section.start()]
    end = after[0] if after else headers[0].start() if section is None and headers else len(text.rstrip())
    named = set(re.findall(r"\w+", " ".join(re.findall(r"^[ \t]*([\w, ]+) : ", text, re.MULTILINE))))
    missing = [each for each in declared if each.meaning and each.name not in named]
    if not missing:
        return text
    indent = headers[0][1] if headers else (re.findall(r"\n([ \t]+)\S", text) or [""])[-1]
    lines = [f"{indent}{each.name} : {each.text()}." for each in missing]
    if section is None:
        lines = ["", f"{indent}Parameters", f"{indent}----------", *lines]
    before = text[:end].rstrip()
    return "\n".join([before, *lines]) + "\n\n" + text[end:]
