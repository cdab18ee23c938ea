"""Dimensions of expressions: every sum, comparison and function is checked against the units of its symbols.

A dimension is a tuple of powers of (kilogram, metre, second, ampere). A symbol without a unit and a plain number have
no known dimension (0.8 in front of a cosine may be a length), and neither has a product with them. A model without
units is therefore never refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.core.errors import DataError, ModelError
from dalembert.record.units import NONE, Dimension, read_unit, unit_text

SX = ca.SX
ANY = None  # a dimension that is not known
PLAIN_NUMBER = "number"  # fits every sum
ENERGY: Dimension = (1.0, 2.0, -2.0, 0.0)
POWER: Dimension = (1.0, 2.0, -3.0, 0.0)
FORCE: Dimension = (1.0, 1.0, -2.0, 0.0)
LENGTH: Dimension = (0.0, 1.0, 0.0, 0.0)

_SAME = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_FABS, ca.OP_FLOOR, ca.OP_CEIL}
_SUM = {ca.OP_ADD, ca.OP_SUB, ca.OP_FMIN, ca.OP_FMAX, ca.OP_HYPOT, ca.OP_FMOD, ca.OP_REMAINDER}
_COMPARED = {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_ATAN2}
_PLAIN = {
    ca.OP_EXP, ca.OP_LOG, ca.OP_SIN, ca.OP_COS, ca.OP_TAN, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN, ca.OP_SINH, ca.OP_COSH,
    ca.OP_TANH, ca.OP_ASINH, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_ERF, ca.OP_ERFINV, ca.OP_LOG1P, ca.OP_EXPM1,
}  # fmt: skip


class Unchecked(dict[str, "Dimension | None"]):
    """Dimensions of symbols in a model where plain numbers are quantities: nothing is checked."""


def dimension_of_unit(unit: str, what: str) -> Dimension | None:
    """The dimension of an SI unit; None for an empty unit. ``what`` names the quantity in the message."""
    if not unit:
        return ANY
    text = unit.removeprefix("1/")
    try:
        (times, over), dimension, end = read_unit(text)
    except DataError:
        end = -1
    if end != len(text):
        raise _mismatch(what, f"has the unit {unit!r}, which is not known.")
    if times != over:
        shown = unit_text(dimension)
        raise _mismatch(what, f"is in {unit!r}; expressions are in SI units and radians, such as {shown!r}.")
    return tuple(-x for x in dimension) if unit != text else dimension  # type: ignore[return-value]


def rate_of(dimension: Dimension | None, times: int = 1) -> Dimension | None:
    """The dimension of a time derivative."""
    return None if dimension is None else (dimension[0], dimension[1], dimension[2] - times, dimension[3])


def dimension_of(expression: Any, known: Mapping[str, Dimension | None], what: str) -> Dimension | None:
    """The dimension of a scalar expression; None where symbols without a unit leave it undetermined.

    Raises ModelError where terms of a sum do not fit, naming the symbols of both.
    """
    if isinstance(known, Unchecked):
        return ANY
    arguments = ca.symvar(SX(expression))
    if all(known.get(symbol.name()) is None for symbol in arguments):
        return ANY
    f = ca.Function("dimensions", arguments, [SX(expression)])
    registers: dict[int, Any] = {}
    named: dict[int, tuple[str, ...]] = {}  # the symbols of every register, for a message
    result: Any = ANY
    for k in range(f.n_instructions()):
        code, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if code == ca.OP_CONST:
            registers[o[0]], named[o[0]] = PLAIN_NUMBER, ()
        elif code == ca.OP_INPUT:
            name = arguments[i[0]].name()
            registers[o[0]], named[o[0]] = known.get(name), (name,)
        elif code == ca.OP_OUTPUT:
            result = registers[i[0]]
        else:
            inner = [registers[j] for j in i]
            symbols = [named[j] for j in i]
            exponent = _exponent(f, k, code) if code in (ca.OP_POW, ca.OP_CONSTPOW) else None
            registers[o[0]] = _combine(code, inner, symbols, exponent, what)
            named[o[0]] = tuple(dict.fromkeys(name for symbol_names in symbols for name in symbol_names))
    return NONE if result == PLAIN_NUMBER and arguments else ANY if result == PLAIN_NUMBER else result


def require_dimension(expression: Any, wanted: Dimension, known: Mapping[str, Dimension | None], what: str) -> None:
    """Refuse a scalar whose dimension is known and differs from the one wanted."""
    dimension = dimension_of(expression, known, what)
    if dimension not in (None, wanted) and not SX(expression).is_constant():
        raise _mismatch(what, f"has the unit {unit_text(dimension)}, expected {unit_text(wanted)}.")


def _mismatch(what: str, problem: str, *symbols: str) -> ModelError:
    return ModelError("unit-mismatch", f"{what} {problem}", where={"name": what, "symbols": list(symbols)})


def _combine(code: int, inner: list[Any], symbols: list[tuple[str, ...]], exponent: float | None, what: str) -> Any:
    if code in _SAME:
        return inner[0]
    if code in _SUM or code in _COMPARED:
        first, two = inner
        dimensions = [x for x in inner if x not in (ANY, PLAIN_NUMBER)]
        if len(dimensions) == 2 and first != two:
            left_names, right = (", ".join(names[:4]) for names in symbols)
            problem = f"combines {unit_text(first)} ({left_names}) with {unit_text(two)} ({right})."
            raise _mismatch(what, problem, *symbols[0], *symbols[1])
        if code in _COMPARED:
            return NONE
        return dimensions[0] if dimensions else ANY if ANY in inner else PLAIN_NUMBER
    if code in _PLAIN:
        if inner[0] not in (ANY, PLAIN_NUMBER, NONE):
            shown = f"{unit_text(inner[0])} ({', '.join(symbols[0][:4])})"
            raise _mismatch(what, f"takes a function of {shown}; it must be a plain number or an angle.", *symbols[0])
        return ANY  # the amplitude of one may have any unit
    if code in (ca.OP_MUL, ca.OP_DIV):
        return _product(inner[0], inner[1], 1 if code == ca.OP_MUL else -1)
    if code == ca.OP_SQ:
        return _raise_to_power(inner[0], 2)
    if code == ca.OP_INV:
        return _raise_to_power(inner[0], -1)
    if code == ca.OP_SQRT:
        return _raise_to_power(inner[0], 0.5)
    if code in (ca.OP_POW, ca.OP_CONSTPOW):
        if inner[0] in (NONE, PLAIN_NUMBER):
            return NONE
        return ANY if exponent is None else _raise_to_power(inner[0], exponent)
    if code == ca.OP_IF_ELSE_ZERO:
        return inner[1]
    if code == ca.OP_SIGN:
        return NONE
    return ANY


def _exponent(f: ca.Function, place: int, code: int) -> float | None:
    """The exponent of a power, where it is a number: the constant last written to its register."""
    register = f.instruction_input(place)[1]
    for k in range(place - 1, -1, -1):
        if f.instruction_id(k) != ca.OP_OUTPUT and f.instruction_output(k)[0] == register:
            return float(f.instruction_constant(k)) if f.instruction_id(k) == ca.OP_CONST else None
    return None


def _product(one: Any, two: Any, power: int) -> Any:
    if one == two == PLAIN_NUMBER:
        return PLAIN_NUMBER
    if ANY in (one, two) or PLAIN_NUMBER in (one, two):
        return ANY
    return tuple(a + power * b for a, b in zip(one, two, strict=True))


def _raise_to_power(one: Any, power: float) -> Any:
    return one if one in (ANY, PLAIN_NUMBER) else tuple(x * power for x in one)
