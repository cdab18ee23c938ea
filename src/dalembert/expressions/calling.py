"""Call a user's function once with symbols, and explain its failures."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.core.errors import DalembertError, ModelError
from dalembert.core.findings import Advice, Call, Finding
from dalembert.expressions.quantities import Quantity

ONCE = "It is called once with symbolic arguments."
INSTEAD = Advice("Use {} instead of math or numpy functions.", *map(Call, ("da.sin", "da.math.exp", "da.where")))
BRANCH = Advice("Use {} instead of `if`, `min` or `max`.", Call("da.where"))


class _NotANumber(TypeError):
    """Code needs the value of a symbol."""


@contextmanager
def _symbols_have_no_value() -> Iterator[None]:
    """CasADi returns NaN for float(symbol), so that math.sin(t) > 0 would silently be False: make it an error."""
    original = ca.SX.__float__

    def refuse_symbols(self: Any) -> float:
        if not self.is_constant():
            raise _NotANumber("a symbol has no value")
        return float(original(self))

    ca.SX.__float__ = refuse_symbols
    try:
        yield
    finally:
        ca.SX.__float__ = original


@contextmanager
def raise_signals() -> Iterator[None]:
    """Around solvers of CasADi: raise what the handler of Ctrl-C or SIGTERM raises inside them.

    SUNDIALS takes the exception for a failed evaluation and ends; CasADi raises a RuntimeError that does not name it.
    """
    raised: list[BaseException] = []

    def keep(handler: Callable[..., Any]) -> Callable[..., None]:
        def handle(*arguments: Any) -> None:
            try:
                handler(*arguments)
            except BaseException as error:
                raised.append(error)
                raise

        return handle

    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # the only one that handles signals
        handlers = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        for which, handler in handlers.items():
            if callable(handler):
                signal.signal(which, keep(handler))
        yield
    finally:
        for which, handler in handlers.items():
            if handler is not None:  # None: not set by Python
                signal.signal(which, handler)
        if raised:
            raise raised[0]


def of_time(function: Callable[[Any], Any], what: str) -> tuple[Any, Any]:
    """Call a user's function of time once with a symbol; return (symbol, expression)."""
    t = ca.SX.sym("t")
    return t, call_user(function, what, t)


def call_user(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Call a user's function with symbols; turn its failures into a `ModelError` that names it."""
    try:
        with _symbols_have_no_value(), warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # the warning of CasADi for numpy functions of a symbol
            result = function(*arguments)
    except DalembertError as error:
        raise type(error).of(replace(error.finding, problem=f"{what}: {error.finding.problem}")) from error
    except Exception as error:  # the user gets any failure of foreign code
        raise ModelError.of(_explain(what, error, arguments)) from error
    _refuse_nan(result, what)
    return result


def one_value(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """The one expression that a user's function returns when called with symbols."""
    result = call_user(function, what, *arguments)
    try:
        value = ca.SX(result)
    except (NotImplementedError, TypeError, RuntimeError):
        problem = f"{what} must return one expression, got {type(result).__name__}."
        raise ModelError("wrong-type", problem) from None
    if value.shape != (1, 1):
        problem = f"{what} must return one value, got {value.shape[0]} x {value.shape[1]}."
        raise ModelError("wrong-shape", problem)
    return value


def _explain(what: str, error: Exception, arguments: tuple[Any, ...]) -> Finding:
    """The failure of foreign code, of which only the text is known."""
    text = str(error)
    lower = text.lower()
    if "truth value" in lower or "__bool__" in text or "boolean" in lower or "non-scalar" in lower:
        return Finding("branch-on-symbol", f"{what} branches on a symbol. {ONCE}", advice=(BRANCH,))
    if isinstance(error, (_NotANumber, FutureWarning)):
        return Finding("value-of-symbol", f"{what} needs the value of a symbol. {ONCE}", advice=(INSTEAD,))
    first = text.splitlines()[0] if text else ""
    if isinstance(error, TypeError) and "positional argument" in text:
        count = len(arguments)
        problem = f"{what} is called with {count} argument{'s' if count != 1 else ''} ({first})."
        return Finding("wrong-signature", problem)
    failure = f"{type(error).__name__}: {first}" if first else type(error).__name__
    if isinstance(error, (NameError, AttributeError, LookupError, ArithmeticError)) or "unhashable" in text:
        return Finding("user-function-failed", f"{what} fails ({failure}).")
    problem = f"{what} could not be called with symbolic arguments ({failure})."
    return Finding("user-function-failed", problem, advice=(INSTEAD,))


def _refuse_nan(result: object, what: str) -> None:
    """Refuse a NaN inside an expression: every evaluation would be NaN."""
    if isinstance(result, (list, tuple)):
        for entry in result:
            _refuse_nan(entry, what)
    elif isinstance(result, float) and math.isnan(result):
        raise ModelError("not-finite", f"{what} returns NaN.")
    elif isinstance(result, Quantity):
        if any(isinstance(a, float) and math.isnan(a) for a in result.arguments):
            raise ModelError("not-finite", f"{what} returns NaN.")
    elif isinstance(result, ca.SX) and result.nnz():
        f = ca.Function("user", ca.symvar(result), [result])
        for k in range(f.n_instructions()):
            if f.instruction_id(k) == ca.OP_CONST and math.isnan(f.instruction_constant(k)):
                raise ModelError("not-finite", f"{what} contains NaN.")
