"""Scalar code as readable text: a function of expressions becomes lines of Python with NumPy, or of C.

The instructions are read into values; equal values are one (sums and products commute without a change of bits). A
value that is used once is written where it is used, as long as the line stays short; the others get names x1, x2, ...
in the order in which they are needed, so that the same function gives the same text on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.expressions.machine_code.program import Untranslatable

ATOM, POWER, SIGN, PRODUCT, SUM, COMPARISON = range(6)  # precedence of the operators of a text
LONG = 100  # letters; a longer expression gets a name
CHEAP = frozenset({ca.OP_CONST, ca.OP_INPUT})
COMMUTING = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_FMIN, ca.OP_FMAX, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR})


@dataclass(frozen=True)
class Language:
    """Names of the operations in a language.

    functions : by the name of the operation, a template with its arguments.  infix : operators between arguments.
    """

    name: str
    functions: Mapping[str, str]
    true: str  # a comparison {} as the number 1 or 0
    end: str = ""
    declare: str = ""

    def number(self, value: float) -> str:
        if math.isnan(value) or math.isinf(value):
            raise Untranslatable(f"the constant {value}")
        if self.name == "python" and value == int(value) and abs(value) < 1e6:
            return str(int(value))
        return repr(float(value))


INFIX = {"ADD": (" + ", SUM), "SUB": (" - ", SUM), "MUL": ("*", PRODUCT), "DIV": ("/", PRODUCT)}
COMPARE = {"LT": " < ", "LE": " <= ", "EQ": " == ", "NE": " != "}
_SAME = "sin cos tan sinh cosh tanh exp log sqrt floor ceil log1p expm1"
PYTHON = Language(
    "python",
    {name.upper(): f"np.{name}({{0}})" for name in (*_SAME.split(), "sign")}
    | {
        "ASIN": "np.arcsin({0})", "ACOS": "np.arccos({0})", "ATAN": "np.arctan({0})", "ASINH": "np.arcsinh({0})",
        "ACOSH": "np.arccosh({0})", "ATANH": "np.arctanh({0})", "FABS": "np.abs({0})", "ATAN2": "np.arctan2({0}, {1})",
        "FMIN": "np.fmin({0}, {1})", "FMAX": "np.fmax({0}, {1})", "POW": "np.power({0}, {1})",
        "CONSTPOW": "np.power({0}, {1})", "HYPOT": "np.hypot({0}, {1})", "FMOD": "np.fmod({0}, {1})",
        "COPYSIGN": "np.copysign({0}, {1})", "IF_ELSE_ZERO": "np.where({0}, {1}, 0.0)",
        "NOT": "np.where({0}, 0.0, 1.0)", "AND": "np.where(np.logical_and({0}, {1}), 1.0, 0.0)",
        "OR": "np.where(np.logical_or({0}, {1}), 1.0, 0.0)",
    },
    "np.where({0}, 1.0, 0.0)",
)  # fmt: skip
C = Language(
    "c",
    {name.upper(): f"{name}({{0}})" for name in (*_SAME.split(), "asin", "acos", "atan", "asinh", "acosh", "atanh")}
    | {
        "FABS": "fabs({0})", "ERF": "erf({0})", "SIGN": "(double)(({0} > 0) - ({0} < 0))",
        "ATAN2": "atan2({0}, {1})", "FMIN": "fmin({0}, {1})", "FMAX": "fmax({0}, {1})", "POW": "pow({0}, {1})",
        "CONSTPOW": "pow({0}, {1})", "HYPOT": "hypot({0}, {1})", "FMOD": "fmod({0}, {1})",
        "COPYSIGN": "copysign({0}, {1})", "REMAINDER": "remainder({0}, {1})",
        "IF_ELSE_ZERO": "({0} ? {1} : 0.0)", "NOT": "({0} ? 0.0 : 1.0)", "AND": "({0} && {1} ? 1.0 : 0.0)",
        "OR": "({0} || {1} ? 1.0 : 0.0)",
    },
    "({0} ? 1.0 : 0.0)",
    end=";",
    declare="const double ",
)  # fmt: skip
CONDITIONS = {"IF_ELSE_ZERO": (0,), "NOT": (0,), "AND": (0, 1), "OR": (0, 1)}  # arguments that are true or false
_NAMES = {
    getattr(ca, f"OP_{name}"): name
    for name in {*INFIX, *COMPARE, *PYTHON.functions, *C.functions, "NEG", "SQ", "TWICE", "INV", "ASSIGN", "LIFT"}
}


@dataclass(frozen=True)
class Value:
    """One value: an operation with the numbers of its arguments; of an input its argument and entry."""

    operation: int
    arguments: tuple[int, ...] = ()
    constant: float = 0.0


@dataclass(frozen=True)
class Values:
    """All values of a function, each after its arguments, and which of them are the entries of its results."""

    values: tuple[Value, ...]
    results: tuple[tuple[int, ...], ...]  # by the nonzeros of every result

    def is_zero(self, k: int) -> bool:
        return self.values[k].operation == ca.OP_CONST and self.values[k].constant == 0

    @property
    def operations(self) -> int:
        """Values that cost an operation."""
        return sum(value.operation not in CHEAP for value in self.values)


def read_values(function: ca.Function) -> Values:
    """The values of a scalar function; only those that its results need, equal ones once."""
    flat = function if function.class_name() == "SXFunction" and not function.find_functions(0) else _expand(function)
    registers: dict[int, int] = {}
    known: dict[tuple[Any, ...], int] = {}
    values: list[Value] = []
    results = [[-1] * flat.nnz_out(k) for k in range(flat.n_out())]

    def number(one: Value) -> int:
        key = (one.operation, one.arguments, repr(one.constant))
        if key not in known:
            known[key] = len(values)
            values.append(one)
        return known[key]

    for k in range(flat.n_instructions()):
        operation, inputs = flat.instruction_id(k), flat.instruction_input(k)
        outputs = flat.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            results[outputs[0]][outputs[1]] = registers[inputs[0]]
        elif operation == ca.OP_INPUT:
            registers[outputs[0]] = number(Value(operation, (inputs[0], inputs[1])))
        elif operation == ca.OP_CONST:
            registers[outputs[0]] = number(Value(operation, (), flat.instruction_constant(k)))
        else:
            name = _NAMES.get(operation)
            if name is None:
                raise Untranslatable(f"operation number {operation}")
            taken = [registers[i] for i in inputs]
            if name in ("ASSIGN", "LIFT"):
                registers[outputs[0]] = taken[0]
                continue
            if operation in COMMUTING:
                taken.sort()
            registers[outputs[0]] = number(Value(operation, tuple(taken)))
    return _drop_dead_values(values, results)


def _expand(function: ca.Function) -> ca.Function:
    try:
        return function.expand()
    except RuntimeError as error:
        raise Untranslatable("a function without a scalar form") from error


def _drop_dead_values(values: list[Value], results: list[list[int]]) -> Values:
    """Values that a result needs, numbered again, in the order in which they are first needed."""
    new: dict[int, int] = {}
    kept: list[Value] = []
    for root in (k for entries in results for k in entries):
        stack = [root]
        while stack:
            k = stack[-1]
            if k in new:
                stack.pop()
                continue
            one = values[k]
            parts = () if one.operation in CHEAP else one.arguments
            missing = [a for a in reversed(parts) if a not in new]
            if missing:
                stack += missing
                continue
            stack.pop()
            new[k] = len(kept)
            kept.append(Value(one.operation, tuple(new[a] for a in parts) if parts else one.arguments, one.constant))
    return Values(tuple(kept), tuple(tuple(new[k] for k in entries) for entries in results))


def write_values(
    found: Values, language: Language, symbols: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[str]:
    """Statements that compute the results; entries that are the constant zero have none.

    symbols : by argument, the text of every entry.  targets : by result, the text that every nonzero is assigned to.
    """
    return _Writer(found, language, symbols).write(targets)


class _Writer:
    """Texts of values; each is a text and its precedence."""

    def __init__(self, found: Values, language: Language, symbols: Sequence[Sequence[str]]) -> None:
        self.found, self.language, self.symbols = found, language, symbols
        self.texts: list[tuple[str, int]] = []
        self.uses = [0] * len(found.values)
        repeated = {ca.OP_SQ, ca.OP_SIGN} if language.name == "c" else set()  # their text has the argument twice
        for value in found.values:
            if value.operation not in CHEAP:
                for a in value.arguments:
                    self.uses[a] += 2 if value.operation in repeated else 1
        for k in (k for entries in found.results for k in entries):
            self.uses[k] += 1

    def write(self, targets: Sequence[Sequence[str]]) -> list[str]:
        language = self.language
        lines: list[str] = []
        for k, one in enumerate(self.found.values):
            text, level = self._text(one)
            simple = one.operation in CHEAP or (one.operation == ca.OP_NEG and level == SIGN and "*" not in text)
            if not simple and (self.uses[k] > 1 or len(text) > LONG):
                name = f"x{len(lines) + 1}"
                lines.append(f"{language.declare}{name} = {self._as_number(text, level)}{language.end}")
                text, level = name, ATOM
            self.texts.append((text, level))
        for entries, places in zip(self.found.results, targets, strict=True):
            lines += [
                f"{place} = {self._as_number(*self.texts[k])}{language.end}"
                for k, place in zip(entries, places, strict=True)
                if not self.found.is_zero(k)
            ]
        return lines

    def _as_number(self, text: str, level: int) -> str:
        return self.language.true.format(text) if level == COMPARISON else text

    def _text(self, one: Value) -> tuple[str, int]:
        if one.operation == ca.OP_CONST:
            return self.language.number(one.constant), ATOM if math.copysign(1.0, one.constant) > 0 else SIGN
        if one.operation == ca.OP_INPUT:
            return self.symbols[one.arguments[0]][one.arguments[1]], ATOM
        name = _NAMES[one.operation]
        parts = [self.texts[a] for a in one.arguments]
        if name not in CONDITIONS:
            parts = [(self._as_number(text, level), ATOM if level == COMPARISON else level) for text, level in parts]

        def within(k: int, loosest: int) -> str:
            text, level = parts[k]
            return text if level <= loosest else f"({text})"

        if name in INFIX:
            sign, level = INFIX[name]
            second = within(1, POWER if level == PRODUCT or parts[1][0].startswith("-") else PRODUCT)
            return f"{within(0, level)}{sign}{second}", level
        if name in COMPARE:
            return f"{within(0, SUM)}{COMPARE[name]}{within(1, SUM)}", COMPARISON
        python = self.language.name == "python"
        match name:
            case "NEG":
                inside = within(0, PRODUCT)
                return f"-({inside})" if inside.startswith("-") else f"-{inside}", SIGN
            case "SQ":
                base = within(0, ATOM)
                return (f"{base}**2", POWER) if python else (f"{base}*{base}", PRODUCT)
            case "TWICE":
                return f"{self.language.number(2.0)}*{within(0, POWER)}", PRODUCT
            case "INV":
                return f"{self.language.number(1.0)}/{within(0, POWER)}", PRODUCT
        template = self.language.functions.get(name)
        if template is None:
            raise Untranslatable(f"the operation {name.lower()}")
        tight = not python and name in ("SIGN", *CONDITIONS)
        return template.format(*(within(k, ATOM if tight else COMPARISON) for k in range(len(parts)))), ATOM
