"""Arithmetic in model files: a small grammar of its own, read into a tree and worked out by name, never executed.

    comparison := sum [("<" | ">" | "<=" | ">=") sum]
    sum        := product {("+" | "-") product}
    product    := sign {("*" | "/") sign}
    sign       := {"+" | "-"} power
    power      := atom ["**" sign]                      ("^" means the same)
    atom       := number [unit] | name | function "(" comparison {"," comparison} ")" | "(" comparison ")"

A unit follows its number ("20 mm") and takes every unit that follows ("9.81 m/s^2"): brackets end it early. Names may
hold dots ("A.angle"); any other name is written between backquotes. Comparisons are for `where`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, unknown_name
from dalembert.expressions import quantities as q
from dalembert.files.models.text import limits
from dalembert.record.units import NONE, Dimension, read_unit, unit_text

FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {  # name -> least, most arguments, function
    **{f.__name__: (1, 1, f) for f in (q.sin, q.cos, q.tan, q.asin, q.acos, q.atan, q.sinh, q.cosh, q.tanh,
       q.exp, q.log, q.sqrt, q.sign)},
    "abs": (1, 1, q.absolute),
    "atan2": (2, 2, q.atan2),
    "min": (2, 20, q.minimum),
    "max": (2, 20, q.maximum),
    "where": (3, 3, q.where),
}  # fmt: skip
CONSTANTS = {"pi": math.pi}
ACCELERATION = "acceleration"  # acceleration(crank.vx): the derivative of a speed, in constraints only

_SPACE = re.compile(r"[ \t\r\n]+")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PASTED = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2212": "-"})  # blanks and minus of documents
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*|`[^`\n]+`")
_SYMBOL = re.compile(r"\*\*|<=|>=|[-+*/^()<>,]")
PLAIN_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*\Z")


@dataclass(frozen=True)
class ExpressionTree:
    """An expression: its operation and arguments, with how deep and how large it is."""

    operation: str  # "number", "name", "neg", an operator, or a function
    arguments: tuple[Any, ...]
    depth: int = 1
    size: int = 1
    dimension: Dimension | None = None  # of a number with a unit

    def names(self) -> list[str]:
        """Every name it uses, each once."""
        used: dict[str, None] = {}
        todo = [self]
        while todo:
            tree = todo.pop()
            if tree.operation == "name":
                used[tree.arguments[0]] = None
            elif tree.operation != "number":
                todo.extend(reversed(tree.arguments))
        return list(used)

    def rename(self, rename: Callable[[str], ExpressionTree]) -> ExpressionTree:
        """The same expression with every name replaced by what `rename` gives for it."""
        if self.operation == "name":
            return rename(self.arguments[0])
        if not any(isinstance(a, ExpressionTree) for a in self.arguments):
            return self
        arguments = [a.rename(rename) if isinstance(a, ExpressionTree) else a for a in self.arguments]
        return node(self.operation, *arguments)


def number(value: float, dimension: Dimension | None = None) -> ExpressionTree:
    return ExpressionTree("number", (float(value),), dimension=dimension)


def name(text: str) -> ExpressionTree:
    return ExpressionTree("name", (text,))


def node(operation: str, *arguments: Any) -> ExpressionTree:
    """An operation on trees; refuses trees that are too deep or too large."""
    trees = [a for a in arguments if isinstance(a, ExpressionTree)]
    depth = 1 + max((a.depth for a in trees), default=0)
    size = 1 + sum(a.size for a in trees)
    _check_depth(depth)
    problem = f"the expression has more than {limits.SIZE} operations, with the named ones in it."
    DataError.when(size > limits.SIZE, "too-large", problem)
    return ExpressionTree(operation, arguments, depth, size)


def _check_depth(depth: int) -> None:
    DataError.when(depth > limits.DEPTH, "too-large", f"the expression is more than {limits.DEPTH} levels deep.")


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.level = 0
        self.skip()

    def skip(self) -> None:
        blank = _SPACE.match(self.text, self.at)
        if blank is not None:
            self.at = blank.end()

    def peek(self, *symbols: str) -> str | None:
        symbol = _SYMBOL.match(self.text, self.at)
        return symbol.group() if symbol is not None and symbol.group() in symbols else None

    def take(self, *symbols: str) -> str | None:
        symbol = self.peek(*symbols)
        if symbol is not None:
            self.at += len(symbol)
            self.skip()
        return symbol

    def expect(self, symbol: str) -> None:
        if self.take(symbol) is None:
            raise self.refuse(f"expected {symbol!r}")

    def enter(self) -> None:
        self.level += 1
        _check_depth(self.level)

    def refuse(self, what: str) -> DataError:
        following = self.text[self.at : self.at + 20]
        return DataError("bad-syntax", f"{what} {'before ' + repr(following) if following else 'at the end'}.")

    def comparison(self) -> ExpressionTree:
        self.enter()
        tree = self.sum()
        symbol = self.take("<=", ">=", "<", ">")
        if symbol is not None:
            tree = node(symbol, tree, self.sum())
        self.level -= 1
        return tree

    def sum(self) -> ExpressionTree:
        tree = self.product()
        while (symbol := self.take("+", "-")) is not None:
            tree = node(symbol, tree, self.product())
        return tree

    def product(self) -> ExpressionTree:
        tree = self.sign()
        while (symbol := self.take("*", "/")) is not None:
            tree = node(symbol, tree, self.sign())
        return tree

    def sign(self) -> ExpressionTree:
        negative = False
        while (symbol := self.take("+", "-")) is not None:
            negative ^= symbol == "-"
        value = self.power()
        if not negative:
            return value
        if value.operation == "number":
            return number(-value.arguments[0], value.dimension)
        return node("neg", value)

    def power(self) -> ExpressionTree:
        base = self.atom()
        if self.take("**", "^") is None:
            return base
        self.enter()
        exponent = self.sign()
        self.level -= 1
        return node("**", base, exponent)

    def atom(self) -> ExpressionTree:
        if self.take("(") is not None:
            inner = self.comparison()
            self.expect(")")
            return inner
        digits = _NUMBER.match(self.text, self.at)
        if digits is not None:
            return self.quantity(digits)
        word = _NAME.match(self.text, self.at)
        if word is None:
            raise self.refuse("expected a number, a name or '('")
        self.at = word.end()
        self.skip()
        text = word.group()
        if text.startswith("`"):
            return name(text[1:-1])
        if self.peek("(") is not None:
            return self.call(text)
        return name(text)

    def quantity(self, digits: re.Match[str]) -> ExpressionTree:
        value = float(digits.group())
        if not math.isfinite(value):
            raise DataError("not-finite", f"{digits.group()[:20]} is too large a number.")
        self.at = digits.end()
        self.skip()
        (times, over), dimension, end = read_unit(self.text, self.at)
        if end == self.at:
            return number(value)
        self.at = end
        self.skip()
        scaled = value * times / over
        if not math.isfinite(scaled):
            problem = f"{self.text[digits.start() : end][:40]!r} is too large a number."
            raise DataError("not-finite", problem)
        return number(scaled, dimension)

    def call(self, function: str) -> ExpressionTree:
        if function not in FUNCTIONS and function != ACCELERATION:
            raise DataError("unknown-name", unknown_name("function", function, [*FUNCTIONS, ACCELERATION]))
        self.expect("(")
        arguments = [self.comparison()]
        while self.take(",") is not None:
            arguments.append(self.comparison())
        self.expect(")")
        least, most = (1, 1) if function == ACCELERATION else FUNCTIONS[function][:2]
        if not least <= len(arguments) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            problem = f"{function} takes {count} argument{'s' if most > 1 else ''}, got {len(arguments)}."
            raise DataError("bad-syntax", problem)
        problem = "acceleration(...) takes the name of a speed, such as crank.vx."
        DataError.when(function == ACCELERATION and arguments[0].operation != "name", "bad-syntax", problem)
        if function in ("min", "max"):
            result = arguments[0]
            for operand in arguments[1:]:
                result = node(function, result, operand)
            return result
        return node(function, *arguments)


def _parse(text: str, *, several: bool) -> list[ExpressionTree]:
    problem = f"an expression of {len(text)} characters is too long (at most {limits.EXPRESSION})."
    DataError.when(len(text) > limits.EXPRESSION, "too-large", problem)
    DataError.when(not text.strip(), "empty", "expected a number or an expression, got an empty text.")
    reader = _Reader(text if "`" in text else text.translate(_PASTED))  # a quoted name stays as it is
    trees = [reader.comparison()]
    while several and reader.take(",") is not None:
        trees.append(reader.comparison())
    if reader.at < len(text):
        raise reader.refuse("expected an operator")
    return trees


def parse(text: str) -> ExpressionTree:
    """The tree of an expression; `DataError` where its syntax is wrong.

    Examples
    --------
    >>> value(parse("2*(30 mm + 0.02)"), lambda name: None)
    0.1
    """
    (tree,) = _parse(text, several=False)
    return tree


def parse_list(text: str) -> list[ExpressionTree]:
    """Expressions separated by commas."""
    return _parse(text, several=True)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "neg": operator.neg,
}  # fmt: skip


def evaluate(
    tree: ExpressionTree, lookup: Callable[[str], Any], acceleration: Callable[[str], Any] | None = None
) -> Any:
    """Value of a tree with what `lookup` gives for its names: numbers, parameters or symbols."""
    if tree.operation == "number":
        return tree.arguments[0]
    if tree.operation == "name":
        return lookup(tree.arguments[0])
    if tree.operation == ACCELERATION:
        if acceleration is None:
            problem = "acceleration(...) is known in constraints of level 'acceleration' only."
            raise DataError("wrong-level", problem)
        return acceleration(tree.arguments[0].arguments[0])
    arguments = [evaluate(a, lookup, acceleration) for a in tree.arguments]
    if tree.operation in ("<", ">", "<=", ">=") and any(isinstance(a, q.Quantity) for a in arguments):
        return _compare(tree.operation, *arguments)
    if tree.operation in _OPERATORS:
        return _OPERATORS[tree.operation](*arguments)
    return FUNCTIONS[tree.operation][2](*arguments)


def _compare(operation: str, a: Any, b: Any) -> Any:
    """A comparison as 1 or 0, where parameters take part: they stay symbolic and have no truth value."""
    low, high = (a, b) if operation[0] == "<" else (b, a)
    if operation in ("<", ">"):
        return q.maximum(q.sign(high - low), 0.0)
    return 1.0 - q.maximum(q.sign(low - high), 0.0)


def value(tree: ExpressionTree, lookup: Callable[[str], Any]) -> Any:
    """A finite number, or an expression of parameters with a finite value; `DataError` otherwise."""
    try:
        with np.errstate(all="ignore"):
            result = evaluate(tree, lookup)
            now = result.value if isinstance(result, q.Quantity) else result
            if isinstance(now, complex) or not math.isfinite(now):
                raise ArithmeticError
    except (ArithmeticError, TypeError, ValueError):  # 1/0, 10**400, (-1)**0.5
        raise DataError("not-finite", "the expression has no finite real value.") from None
    return result if isinstance(result, q.Quantity) else float(result)


_LEVEL = {"<": 0, ">": 0, "<=": 0, ">=": 0, "+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}


def render(tree: ExpressionTree, level: int = 0) -> str:
    """The expression as a text that reads back as the same tree, with brackets where it needs them.

    Examples
    --------
    >>> render(parse("(-a)**2/(b*(c + 1))"))
    '(-a)**2/(b*(c + 1))'
    """
    if tree.operation == "number":
        shown = number_text(tree.arguments[0])
        return f"({shown})" if shown.startswith("-") and level > 3 else shown  # -2**2 is not (-2)**2
    if tree.operation == "name":
        return name_text(tree.arguments[0])
    if tree.operation not in _LEVEL:
        return f"{tree.operation}({', '.join(render(a) for a in tree.arguments)})"
    strength = _LEVEL[tree.operation]
    if tree.operation == "neg":
        text = f"-{render(tree.arguments[0], strength + 1)}"
    elif tree.operation == "**":
        text = f"{render(tree.arguments[0], strength + 1)}**{render(tree.arguments[1], strength - 1)}"
    else:
        sides = render(tree.arguments[0], strength + (strength == 0)), render(tree.arguments[1], strength + 1)
        text = (tree.operation if strength == 2 else f" {tree.operation} ").join(sides)
    return f"({text})" if strength < level else text


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return str(int(value)) if value.is_integer() and 0 < abs(value) < 1e15 else "0" if value == 0 else repr(value)


def name_text(text: str) -> str:
    """A name as an expression writes it: between backquotes where it could be read as something else."""
    plain = PLAIN_NAME.match(text) is not None and text not in CONSTANTS
    problem = f"the name {text!r} cannot be written into an expression."
    DataError.when(not plain and ("`" in text or "\n" in text), "bad-name", problem)
    return text if plain else f"`{text}`"


def dimension_of(tree: ExpressionTree, known: Callable[[str], Dimension | None]) -> Dimension | None:
    """Dimension of an expression, None where it is not determined; `DataError` where dimensions do not fit."""
    if tree.operation == "number":
        return tree.dimension
    if tree.operation == "name":
        return known(tree.arguments[0])
    inner = [dimension_of(a, known) for a in tree.arguments]
    operation = tree.operation
    if operation in ("*", "/"):
        plain = [d is None and a.operation == "number" for d, a in zip(inner, tree.arguments, strict=True)]
        a, b = (NONE if p else d for p, d in zip(plain, inner, strict=True))
        if a is None or b is None or all(plain):
            return None
        sign = 1 if operation == "*" else -1
        return tuple(x + sign * y for x, y in zip(a, b, strict=True))  # type: ignore[return-value]
    if operation == "**" or operation == "sqrt":
        exponent = tree.arguments[1] if operation == "**" else number(0.5)
        if inner[0] is None or exponent.operation != "number":
            return None
        return tuple(x * exponent.arguments[0] for x in inner[0])
    if operation in ("+", "-", "min", "max", "<", ">", "<=", ">=", "where", "atan2", "abs", "neg"):
        dimensions = [d for d in (inner[1:] if operation == "where" else inner) if d is not None]
        if len(set(dimensions)) > 1:
            problem = f"{unit_text(dimensions[0])} and {unit_text(dimensions[1])} do not go together in '{operation}'."
            raise DataError("unit-mismatch", problem)
        return None if not dimensions or operation[0] in "<>" else NONE if operation == "atan2" else dimensions[0]
    if inner and inner[0] is not None and inner[0] != NONE and operation in FUNCTIONS and operation != "sign":
        problem = f"{operation} needs a plain number or an angle, got {unit_text(inner[0])}."
        raise DataError("unit-mismatch", problem)
    return None
