"""Expressions in two languages: CasADi's graph (SX), which computes, and SymPy, which shows.

Both directions walk the expression once and replace every operation by the same function of the other language, so a
conversion is exact: nothing is expanded, rounded or simplified beyond what SymPy does to every sum and product it
makes. Numbers are kept to the last bit; a whole number and a short binary fraction are shown as such, and so is a
simple multiple of π, which may come back changed by its last bit.

SymPy has no truth values that are numbers: ``a < b`` is a condition there, and the number 1 or 0 in the graph. A
condition that is used as a number becomes a Piecewise; `da.where(c, a, b)` becomes one Piecewise with both branches.

A symbol is found by its name. ``theta(t)`` and its derivatives, as `sympy.physics.mechanics` writes them, are the
coordinate ``theta``, its rate ``theta.rate`` and its acceleration ``theta.acceleration``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.declare import anything, mapping
from dalembert.core.errors import DataError, ModelError, require_extra, require_name
from dalembert.core.findings import Advice, Call

SX = ca.SX
RATE, ACCELERATION = ".rate", ".acceleration"
SIZE_OF_NAMED = 2  # fewest operations of a subexpression that gets a name of its own


def import_sympy() -> Any:
    """SymPy, or an error that names the extra."""
    return require_extra("sympy", "symbolic")


def is_sympy(given: object) -> bool:
    """Whether something is an object of SymPy; the check does not load SymPy."""
    return type(given).__module__.partition(".")[0] == "sympy"


# -- from the graph to SymPy -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """Expressions with their common subexpressions named: definitions in order, then the results."""

    definitions: tuple[tuple[Any, Any], ...]
    results: tuple[Any, ...]


def to_sympy(expression: Any, symbols: Mapping[str, Any] | None = None) -> Any:
    """An expression of the graph as a SymPy expression; a matrix as a SymPy Matrix.

    symbols : SymPy symbols to use, by name; others are new real symbols.

    Examples
    --------
    >>> x = ca.SX.sym("x")
    >>> to_sympy(ca.sin(x) ** 2 / 2)
    sin(x)**2/2
    """
    return _results([expression], None, symbols).results[0]


def to_sympy_shared(expressions: Sequence[Any], stem: str = "x", symbols: Mapping[str, Any] | None = None) -> Shared:
    """Expressions of the graph as SymPy expressions, with common subexpressions named ``x1``, ``x2``, ...

    Examples
    --------
    >>> x = ca.SX.sym("a")
    >>> y = ca.sin(x) + 1
    >>> to_sympy_shared([y * y, ca.exp(y)])
    Shared(definitions=((x1, sin(a) + 1),), results=(x1**2, exp(x1)))
    """
    return _results(expressions, stem, symbols)


def _as_graph(expression: Any) -> Any:
    try:
        return SX(expression)
    except (NotImplementedError, TypeError):
        problem = f"an expression of CasADi is needed, got {expression!r:.80}."
        raise DataError("wrong-type", problem) from None


def _results(expressions: Sequence[Any], stem: str | None, symbols: Mapping[str, Any] | None) -> Shared:
    sympy = import_sympy()
    graph = [_as_graph(expression) for expression in expressions]
    arguments = ca.symvar(ca.vertcat(*(ca.vec(ca.densify(expression)) for expression in graph))) if graph else []
    function = ca.Function("shown", arguments, [ca.densify(expression) for expression in graph], {"cse": True})
    translate = _FromGraph(sympy, function, arguments, stem, mapping("name", anything)("symbols", symbols))
    values = translate.run()
    results = []
    for expression, entries in zip(graph, values, strict=True):
        rows, columns = expression.shape
        if (rows, columns) == (1, 1):
            results.append(entries[0])
        else:
            results.append(sympy.Matrix(rows, columns, lambda i, j, own=entries, n=rows: own[j * n + i]))
    return Shared(tuple(translate.definitions), tuple(results))


class _FromGraph:
    """One walk over the instructions of a function."""

    def __init__(
        self, sympy: Any, function: ca.Function, arguments: Sequence[Any], stem: str | None, symbols: dict[str, Any]
    ) -> None:
        self.sympy, self.function, self.stem = sympy, function, stem
        names = [argument.name() for argument in arguments]
        self.inputs = [symbols.get(name) or sympy.Symbol(name, real=True) for name in names]
        self.taken = set(names)
        self.definitions: list[tuple[Any, Any]] = []
        self.unary, self.binary = _operations(sympy)

    def run(self) -> list[list[Any]]:
        f, sympy = self.function, self.sympy
        registers: dict[int, Any] = {}
        results: list[list[Any]] = [[sympy.Integer(0)] * f.numel_out(k) for k in range(f.n_out())]
        uses = self._uses() if self.stem is not None else {}
        for k in range(f.n_instructions()):
            code, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if code == ca.OP_CONST:
                registers[o[0]] = number(f.instruction_constant(k))
            elif code == ca.OP_INPUT:
                registers[o[0]] = self.inputs[i[0]]
            elif code == ca.OP_OUTPUT:
                results[o[0]][o[1]] = self._value(registers[i[0]])
            else:
                value = self._apply(code, [registers[j] for j in i])
                registers[o[0]] = self._name_part(value) if uses.get(k, 0) > 1 else value
        return results

    def _uses(self) -> dict[int, int]:
        """How often the result of every instruction is used."""
        f = self.function
        writer: dict[int, int] = {}
        uses: dict[int, int] = {}
        for k in range(f.n_instructions()):
            code = f.instruction_id(k)
            if code not in (ca.OP_CONST, ca.OP_INPUT):
                for j in f.instruction_input(k)[: 1 if code == ca.OP_OUTPUT else None]:
                    uses[writer[j]] = uses.get(writer[j], 0) + 1
            if code != ca.OP_OUTPUT:
                writer[f.instruction_output(k)[0]] = k
        return uses

    def _name_part(self, value: Any) -> Any:
        if isinstance(value, _Gated) or getattr(value, "is_Boolean", False) or value.count_ops() < SIZE_OF_NAMED:
            return value
        number_of = len(self.definitions) + 1
        while f"{self.stem}{number_of}" in self.taken:
            number_of += 1
        self.taken.add(f"{self.stem}{number_of}")
        symbol = self.sympy.Symbol(f"{self.stem}{number_of}", real=True)
        self.definitions.append((symbol, value))
        return symbol

    def _apply(self, code: int, values: list[Any]) -> Any:
        sympy = self.sympy
        if code in self.unary:
            return self.unary[code](self._value(values[0]))
        if code in self.binary:
            return self.binary[code](*map(self._value, values))
        if code == ca.OP_NOT:
            return sympy.Not(self._condition(values[0]))
        if code == ca.OP_AND:
            return sympy.And(*map(self._condition, values))
        if code == ca.OP_OR:
            return sympy.Or(*map(self._condition, values))
        if code == ca.OP_IF_ELSE_ZERO:
            return _Gated(self._condition(values[0]), self._value(values[1]))
        if code == ca.OP_ADD:
            first, two = values
            if isinstance(first, _Gated) and isinstance(two, _Gated) and two.condition == sympy.Not(first.condition):
                return sympy.Piecewise((first.value, first.condition), (two.value, True))
            return self._value(first) + self._value(two)
        raise ModelError(
            "not-supported", f"the operation {_name_of(code)!r} has no counterpart in SymPy.",
            where={"function": _name_of(code)},
        )  # fmt: skip

    def _value(self, given: Any) -> Any:
        """A number: a condition is 1 or 0."""
        if isinstance(given, _Gated):
            return self.sympy.Piecewise((given.value, given.condition), (0, True))
        if getattr(given, "is_Boolean", False) or getattr(given, "is_Relational", False):
            return self.sympy.Piecewise((1, given), (0, True))
        return given

    def _condition(self, given: Any) -> Any:
        if getattr(given, "is_Boolean", False) or getattr(given, "is_Relational", False):
            return given
        return self.sympy.Ne(self._value(given), 0)


@dataclass(frozen=True)
class _Gated:
    """A value where a condition holds, else zero."""

    condition: Any
    value: Any


def number(value: float, denominator: int = 1024, shares_of_pi: int = 24) -> Any:
    """A constant of the graph as a number of SymPy.

    denominator : largest of a binary fraction that is shown as one.  shares_of_pi : largest numerator and denominator
    of a multiple of π: 7.5° is π/24.
    """
    sympy = import_sympy()
    if not math.isfinite(value):
        return sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    if value == int(value) and abs(value) * np.finfo(float).eps < 0.5:  # a whole number that is exact
        return sympy.Integer(int(value))
    exact = Fraction(value)
    if exact.denominator <= denominator:
        return sympy.Rational(exact.numerator, exact.denominator)
    share = Fraction(value / math.pi).limit_denominator(shares_of_pi)
    if 0 < abs(share.numerator) <= shares_of_pi and share.numerator * math.pi / share.denominator == value:
        return sympy.Rational(share.numerator, share.denominator) * sympy.pi
    return sympy.Float(value)


def _operations(sympy: Any) -> tuple[dict[int, Callable[[Any], Any]], dict[int, Callable[[Any, Any], Any]]]:
    unary: dict[str, Callable[[Any], Any]] = {
        "ASSIGN": lambda x: x, "NEG": lambda x: -x, "SQ": lambda x: x**2, "TWICE": lambda x: 2 * x,
        "INV": lambda x: 1 / x, "EXP": sympy.exp, "LOG": sympy.log, "SQRT": sympy.sqrt, "SIN": sympy.sin,
        "COS": sympy.cos, "TAN": sympy.tan, "ASIN": sympy.asin, "ACOS": sympy.acos, "ATAN": sympy.atan,
        "SINH": sympy.sinh, "COSH": sympy.cosh, "TANH": sympy.tanh, "ASINH": sympy.asinh, "ACOSH": sympy.acosh,
        "ATANH": sympy.atanh, "FABS": sympy.Abs, "SIGN": sympy.sign, "FLOOR": sympy.floor, "CEIL": sympy.ceiling,
        "ERF": sympy.erf, "ERFINV": sympy.erfinv, "LOG1P": lambda x: sympy.log(1 + x),
        "EXPM1": lambda x: sympy.exp(x) - 1,
    }  # fmt: skip
    binary: dict[str, Callable[[Any, Any], Any]] = {
        "SUB": lambda x, y: x - y, "MUL": lambda x, y: x * y, "DIV": lambda x, y: x / y, "POW": lambda x, y: x**y,
        "CONSTPOW": lambda x, y: x**y, "LT": sympy.Lt, "LE": sympy.Le, "EQ": sympy.Eq, "NE": sympy.Ne,
        "FMIN": sympy.Min, "FMAX": sympy.Max, "ATAN2": sympy.atan2, "LIFT": lambda x, _: x,
        "HYPOT": lambda x, y: sympy.sqrt(x**2 + y**2),
        "FMOD": lambda x, y: x - y * sympy.sign(x / y) * sympy.floor(sympy.Abs(x / y)),  # the sign of x, as in C
        "COPYSIGN": lambda x, y: sympy.Piecewise((sympy.Abs(x), y >= 0), (-sympy.Abs(x), True)),
    }  # fmt: skip
    return (
        {getattr(ca, f"OP_{name}"): function for name, function in unary.items()},
        {getattr(ca, f"OP_{name}"): function for name, function in binary.items()},
    )


def _name_of(code: int) -> str:
    names = (name for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) == code)
    return next(names, f"OP_{code}")[3:].lower()


# -- from SymPy to the graph -------------------------------------------------------------------------------------------


def from_sympy(expression: Any, symbols: Mapping[str, Any]) -> Any:
    """A SymPy expression, or a Matrix of them, in the graph.

    symbols : symbols of the graph by name.

    Examples
    --------
    >>> import sympy
    >>> x = ca.SX.sym("x")
    >>> from_sympy(sympy.Symbol("x") ** 2 + 1, {"x": x})
    SX((1+sq(x)))
    """
    return _ToGraph(import_sympy(), symbols).convert(expression)


class _ToGraph:
    def __init__(self, sympy: Any, symbols: Mapping[str, Any]) -> None:
        self.sympy, self.symbols = sympy, symbols
        self.done: dict[Any, Any] = {}
        self.functions = _functions(sympy)
        self.compound = frozenset((sympy.Pow, sympy.Piecewise, *self.functions))

    def convert(self, expression: Any) -> Any:
        if isinstance(expression, self.sympy.MatrixBase):
            rows, columns = expression.shape
            entries = [[self.convert(expression[i, j]) for j in range(columns)] for i in range(rows)]
            return ca.vertcat(SX(0, columns), *(ca.horzcat(*row) for row in entries))
        stack = [(expression, False)]
        while stack:  # expressions may be deeper than the stack of Python
            node, ready = stack.pop()
            if node in self.done:
                continue
            if ready or not self._parts(node):
                self.done[node] = SX(self._build(node))
            else:
                stack.append((node, True))
                stack.extend((argument, False) for argument in self._parts(node))
        return self.done[expression]

    def _parts(self, one: Any) -> tuple[Any, ...]:
        if type(one) not in self.compound:
            return ()
        if isinstance(one, self.sympy.Piecewise):
            return tuple(argument for pair in list(one.args) for argument in pair.args)
        return tuple(one.args)

    def _build(self, one: Any) -> Any:
        sympy = self.sympy
        if one in (sympy.true, sympy.false):
            return 1.0 if one == sympy.true else 0.0
        if isinstance(one, sympy.Symbol):
            return self._symbol(one.name)
        if isinstance(one, sympy.core.function.AppliedUndef):
            return self._convert_moving(one, "")
        if isinstance(one, sympy.Derivative):
            count = sum(times for _, times in one.variable_count)
            if isinstance(one.expr, sympy.core.function.AppliedUndef) and count in (1, 2):
                return self._convert_moving(one.expr, RATE if count == 1 else ACCELERATION)
            raise self._refuse(one, "Derivative")
        if one.is_number and not one.args:
            return self._number(one)
        parts = [self.done[argument] for argument in self._parts(one)]
        if isinstance(one, sympy.Piecewise):
            value: Any = SX(float("nan"))
            for branch, condition in reversed(list(zip(parts[::2], parts[1::2], strict=True))):
                value = branch if condition.is_one() else ca.if_else(condition, branch, value)
            return value
        if isinstance(one, sympy.Pow):
            return _power(one, parts)
        if type(one) in self.functions:
            return self.functions[type(one)](*parts)
        raise self._refuse(one, type(one).__name__)

    def _symbol(self, name: str) -> Any:
        where = {"symbol": name}
        require_name("symbol", name, self.symbols, "this expression", error=ModelError, where=where)
        return self.symbols[name]

    def _convert_moving(self, one: Any, suffix: str) -> Any:
        """theta(t), or a derivative of it; a name that is known with its suffix."""
        name = one.func.__name__
        if len(one.args) != 1 or name + suffix not in self.symbols:
            if name not in self.symbols:
                raise self._refuse(one, name)
            self._symbol(name + suffix)
        return self.symbols[name + suffix]

    def _number(self, one: Any) -> float:
        try:
            return float(one)
        except (TypeError, ValueError):
            raise self._refuse(one, str(one)) from None

    def _refuse(self, one: Any, function: str) -> ModelError:
        return ModelError(
            "not-supported", f"{function!r} has no counterpart among expressions that are computed ({one!s:.80}).",
            Advice("Write it with functions of {}.", Call("da.math")), where={"function": function},
        )  # fmt: skip


def _power(one: Any, parts: list[Any]) -> Any:
    base, exponent = parts
    power = one.exp
    if power == -1:
        return 1 / base
    if power.is_Rational and power.q == 2 and abs(power.p) <= 3:
        root = ca.sqrt(base)
        return {1: lambda: root, -1: lambda: 1 / root, 3: lambda: base * root, -3: lambda: 1 / (base * root)}[power.p]()
    if power.is_Integer and int(power) < 0:
        return 1 / base ** (-int(power))
    return base**exponent


def _functions(sympy: Any) -> dict[Any, Callable[..., Any]]:
    def fold(two: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        def make(*parts: Any) -> Any:
            value = parts[0]
            for argument in parts[1:]:
                value = two(value, argument)
            return value

        return make

    def heaviside(x: Any, middle: Any = 0.5) -> Any:
        return ca.if_else(x > 0, 1, ca.if_else(x < 0, 0, middle))

    return {
        sympy.Add: fold(operator.add), sympy.Mul: fold(operator.mul), sympy.exp: ca.exp, sympy.log: ca.log,
        sympy.sin: ca.sin,
        sympy.cos: ca.cos, sympy.tan: ca.tan, sympy.cot: lambda x: 1 / ca.tan(x), sympy.sec: lambda x: 1 / ca.cos(x),
        sympy.csc: lambda x: 1 / ca.sin(x), sympy.asin: ca.asin, sympy.acos: ca.acos, sympy.atan: ca.atan,
        sympy.acot: lambda x: ca.atan(1 / x), sympy.asec: lambda x: ca.acos(1 / x),
        sympy.acsc: lambda x: ca.asin(1 / x), sympy.atan2: ca.atan2, sympy.sinh: ca.sinh, sympy.cosh: ca.cosh,
        sympy.tanh: ca.tanh, sympy.coth: lambda x: 1 / ca.tanh(x), sympy.sech: lambda x: 1 / ca.cosh(x),
        sympy.csch: lambda x: 1 / ca.sinh(x), sympy.asinh: ca.asinh, sympy.acosh: ca.acosh, sympy.atanh: ca.atanh,
        sympy.acoth: lambda x: ca.atanh(1 / x), sympy.asech: lambda x: ca.acosh(1 / x),
        sympy.acsch: lambda x: ca.asinh(1 / x), sympy.sinc: lambda x: ca.if_else(x == 0, 1, ca.sin(x) / x),
        sympy.Abs: ca.fabs, sympy.sign: ca.sign, sympy.floor: ca.floor, sympy.ceiling: ca.ceil,
        sympy.frac: lambda x: x - ca.floor(x), sympy.Mod: lambda x, y: x - y * ca.floor(x / y),
        sympy.Min: fold(ca.fmin), sympy.Max: fold(ca.fmax), sympy.erf: ca.erf, sympy.erfc: lambda x: 1 - ca.erf(x),
        sympy.erfinv: ca.erfinv, sympy.Heaviside: heaviside, sympy.Lt: lambda x, y: x < y,
        sympy.Le: lambda x, y: x <= y, sympy.Gt: lambda x, y: x > y, sympy.Ge: lambda x, y: x >= y,
        sympy.Eq: lambda x, y: x == y, sympy.Ne: lambda x, y: x != y, sympy.And: fold(ca.logic_and),
        sympy.Or: fold(ca.logic_or), sympy.Not: ca.logic_not,
        sympy.ITE: lambda condition, one, two: ca.if_else(condition, one, two),
    }  # fmt: skip
