"""Numbers of a model that may stay symbolic, and the functions that work on all kinds of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call

__all__ = [
    "absolute", "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "log", "maximum", "minimum", "pi", "sign", "sin",
    "sinh", "sqrt", "table", "tan", "tanh", "where",
]  # fmt: skip

pi = math.pi


class Quantity:
    """A number of a model that may stay symbolic: a named parameter, or arithmetic on parameters.

    It is data, not mathematics: a small tree of operation names, evaluated with numbers or with expressions.

    Examples
    --------
    >>> half = Quantity.parameter("length", 0.3) / 2
    >>> half.value
    0.15
    """

    __slots__ = ("arguments", "operation")
    __array_ufunc__ = None  # NumPy numbers leave the arithmetic to this class

    def __init__(self, operation: str, *arguments: Any) -> None:
        self.operation = operation
        self.arguments = arguments

    @classmethod
    def parameter(cls, name: str, value: float) -> Quantity:
        return cls("parameter", name, float(value))

    @property
    def value(self) -> float:
        """Its number, with every parameter at its own value."""
        try:
            with np.errstate(all="ignore"):
                return float(self.evaluate({}))
        except ArithmeticError as error:
            raise ModelError("not-finite", f"{self!r} has no value: {error}.") from error

    def parameters(self) -> dict[str, float]:
        """Names and values of the parameters it depends on."""
        if self.operation == "parameter":
            return {self.arguments[0]: self.arguments[1]}
        parameters: dict[str, float] = {}
        for argument in self.arguments:
            if isinstance(argument, Quantity):
                parameters.update(argument.parameters())
        return parameters

    def evaluate(self, symbols: Mapping[str, Any]) -> Any:
        """Its value with these symbols (or numbers) in place of the parameters of their names."""
        if self.operation == "parameter":
            name, value = self.arguments
            return symbols.get(name, value)
        args = [a.evaluate(symbols) if isinstance(a, Quantity) else a for a in self.arguments]
        return _OPERATIONS[self.operation](*args)

    def __repr__(self) -> str:
        if self.operation == "parameter":
            return str(self.arguments[0])
        shown = [repr(a) for a in self.arguments]
        if len(shown) == 2 and not self.operation.isalnum():
            return f"({shown[0]} {self.operation} {shown[1]})"
        return f"{self.operation}({', '.join(shown)})"

    def _with(self, operation: str, other: object, *, swapped: bool = False) -> Any:
        if isinstance(other, (np.ndarray, list, tuple)) and np.ndim(np.empty(0) if other is None else other) > 0:
            problem = f"parameter expression {self!r} {operation} a list: combine it with one number at a time."
            raise ModelError("wrong-shape", problem)
        if not (isinstance(other, Quantity) or is_symbolic(other) or is_real(other)):
            problem = f"parameter expression {self!r} {operation} {other!r}: expected a number."
            raise ModelError("not-a-number", problem)
        return Quantity(operation, other, self) if swapped else Quantity(operation, self, other)

    def __add__(self, other: object) -> Any:
        return self._with("+", other)

    def __radd__(self, other: object) -> Any:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: object) -> Any:
        return self._with("-", other)

    def __rsub__(self, other: object) -> Any:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: object) -> Any:
        return self._with("*", other)

    def __rmul__(self, other: object) -> Any:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: object) -> Any:
        return self._with("/", other)

    def __rtruediv__(self, other: object) -> Any:
        return self._with("/", other, swapped=True)

    def __pow__(self, other: object) -> Any:
        return self._with("**", other)

    def __rpow__(self, other: object) -> Any:
        return self._with("**", other, swapped=True)

    def __neg__(self) -> Quantity:
        return Quantity("neg", self)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return Quantity("absolute", self)

    def __float__(self) -> float:
        return self.value

    def _compare(self, other: object) -> NoReturn:
        raise ModelError(
            "branch-on-symbol",
            f"parameter expression {self!r} stays symbolic and cannot be compared.",
            Advice("Use {}.", *map(Call, ("da.where", "da.math.minimum", "da.math.maximum"))),
            Advice("Its value now is given by {}.", Call("float")),
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compare


Scalar = float | Quantity  # a number, or an expression of parameters


def is_real(x: object) -> bool:
    """A Python or NumPy number that a float can hold (also NaN), not a truth value, not a text."""
    if isinstance(x, (bool, np.bool_, str, bytes)):
        return False
    if isinstance(x, (int, float, np.integer, np.floating)):
        return not isinstance(x, int) or abs(x) < 2**1024
    if isinstance(x, np.ndarray):
        return x.ndim == 0 and x.dtype.kind in "iuf"
    try:  # fractions, decimals, 1x1 CasADi constants
        return hasattr(x, "__float__") and not isinstance(x, Quantity) and math.isfinite(float(x))
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        return False


def is_symbolic(x: object) -> bool:
    return isinstance(x, (ca.SX, ca.MX, ca.DM))


def _function(name: str, casadi_function: Callable[..., Any], numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        if any(isinstance(a, Quantity) for a in args):
            return Quantity(name, *args)
        if any(is_symbolic(a) for a in args):
            return casadi_function(*args)
        return numpy_function(*args)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"``{name}`` of a number, an array, a parameter or an expression."
    _OPERATIONS[name] = apply
    return apply


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "neg": lambda a: -a,
}
sin = _function("sin", ca.sin, np.sin)
cos = _function("cos", ca.cos, np.cos)
tan = _function("tan", ca.tan, np.tan)
asin = _function("asin", ca.asin, np.arcsin)
acos = _function("acos", ca.acos, np.arccos)
atan = _function("atan", ca.atan, np.arctan)
atan2 = _function("atan2", ca.atan2, np.arctan2)
sinh = _function("sinh", ca.sinh, np.sinh)
cosh = _function("cosh", ca.cosh, np.cosh)
tanh = _function("tanh", ca.tanh, np.tanh)
exp = _function("exp", ca.exp, np.exp)
log = _function("log", ca.log, np.log)
sqrt = _function("sqrt", ca.sqrt, np.sqrt)
sign = _function("sign", ca.sign, np.sign)
absolute = _function("absolute", ca.fabs, np.abs)
minimum = _function("minimum", ca.fmin, np.minimum)
maximum = _function("maximum", ca.fmax, np.maximum)
where = _function("where", ca.if_else, np.where)
where.__doc__ = "``where(condition, a, b)``: a where the condition holds, else b; use it instead of ``if`` on t."


@dataclass(frozen=True)
class PiecewiseLinear:
    """Result of `table`: a function through points, with the points as attributes."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __call__(self, value: Any) -> Any:
        slopes = np.diff(self.y) / np.diff(self.x)
        result = self.y[0] + slopes[0] * (value - self.x[0])
        for knot, change in zip(self.x[1:-1], np.diff(slopes), strict=True):
            result = result + change * maximum(value - knot, 0.0)
        return result

    def integral(self, value: Any) -> Any:
        """Integral of the function from 0 to `value`."""
        slopes = np.diff(self.y) / np.diff(self.x)

        def primitive(at: Any) -> Any:
            result = self.y[0] * at + 0.5 * slopes[0] * (at - self.x[0]) ** 2
            for knot, change in zip(self.x[1:-1], np.diff(slopes), strict=True):
                result = result + 0.5 * change * maximum(at - knot, 0.0) ** 2
            return result

        return primitive(value) - primitive(0.0)


def table(x: Sequence[float], y: Sequence[float]) -> PiecewiseLinear:
    """Piecewise linear function through the points (x, y), continued with its end slopes.

    Examples
    --------
    >>> ramp = table([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])
    >>> float(ramp(0.25)), float(ramp(1.5)), float(ramp(-1.0))
    (0.25, 1.0, -1.0)
    """
    try:
        xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError("not-a-number", f"a table needs two lists of numbers ({error}).") from None
    if xs.ndim != 1 or xs.shape != ys.shape or len(xs) < 2:
        problem = f"a table needs two lists of equal length, at least 2 points; got {xs.shape} and {ys.shape}."
        raise ModelError("wrong-shape", problem)
    if not (np.all(np.isfinite(xs)) and np.all(np.diff(xs) > 0) and np.all(np.isfinite(ys))):
        raise ModelError("not-increasing", "a table needs finite, strictly increasing x and finite y.")
    return PiecewiseLinear(tuple(xs.tolist()), tuple(ys.tolist()))
