"""Simplification with limits of operations and of seconds; expressions that were not simplified are listed.

SymPy's simplification of a large expression may take hours. Each expression is simplified in a thread of its own, which
is stopped when its time is over: an exception is raised inside it at the next step of the interpreter.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.core.progress import Progress, Setting
from dalembert.symbolic.text.convert import import_sympy, to_sympy
from dalembert.symbolic.text.printing import count_operations

SHORT = 60  # most operations for which SymPy's general simplification is tried
GRACE = 5.0  # seconds to wait for a thread that was stopped, before it is left alone


class _Stopped(BaseException):
    """Raised inside a thread whose time is over."""


def simplify_terms(
    terms: Sequence[tuple[str, Any]], operations: int, seconds: float, progress: Setting
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Simplified SymPy expressions by their left-hand sides, and the left-hand sides of those not simplified."""
    if operations <= 0 or not seconds > 0:
        raise ModelError("not-positive", f"bounds must be positive; got {operations} operations and {seconds} s.")
    end = time.monotonic() + seconds
    shown: dict[str, Any] = {}
    left: list[str] = []
    own = dict(terms)
    with Progress(progress, "simplify") as bar:
        for k, (name, graph) in enumerate(own.items()):
            bar.update(k / len(own))
            remaining = end - time.monotonic()
            if count_operations([graph]) > operations or remaining <= 0:
                left.append(name)
                continue
            found = run_within(remaining, lambda graph=graph: simplify_expression(to_sympy(graph)))  # type: ignore[misc]
            if found is None:
                left.append(name)
            else:
                shown[name] = found
        bar.update(1.0)
    return shown, tuple(left)


def simplify_expression(expression: Any) -> Any:
    """An expression, or every entry of a matrix, in the shortest of a few forms.

    Terms are expanded, grouped by what multiplies trigonometric functions, and each group is simplified alone; a short
    expression also by SymPy's general search.
    """
    sympy = import_sympy()
    if isinstance(expression, sympy.MatrixBase):
        return expression.applyfunc(simplify_expression)
    if expression.is_Atom:
        return expression
    # decimal numbers would make every factor decimal: symbols replace them until the end
    numbers = {one: sympy.Dummy("number", positive=one.is_positive) for one in expression.atoms(sympy.Float)}
    exact = expression.xreplace(numbers)
    grouped = _group(exact, sympy)
    forms = [exact, grouped, sympy.factor_terms(grouped)]
    if grouped.count_ops() <= SHORT:
        forms.append(sympy.simplify(grouped))
    best = min(forms, key=lambda form: form.count_ops())
    return best.xreplace({symbol: one for one, symbol in numbers.items()})


def _group(expression: Any, sympy: Any) -> Any:
    """The sum of its terms; terms that differ in trigonometric factors only are simplified together."""
    groups: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        plain: list[Any] = []
        turning: list[Any] = []
        for factor in sympy.Mul.make_args(term):
            (turning if factor.has(sympy.sin, sympy.cos, sympy.tan) else plain).append(factor)
        key = sympy.Mul(*plain)
        number, rest = key.as_coeff_Mul()
        groups[rest] = groups.get(rest, sympy.Integer(0)) + number * sympy.Mul(*turning)
    return sympy.Add(*(key * _simplify_trigonometry(value, sympy) for key, value in groups.items()))


def _simplify_trigonometry(value: Any, sympy: Any) -> Any:
    return min((value, sympy.trigsimp(value), sympy.factor_terms(sympy.trigsimp(value))), key=lambda x: x.count_ops())


def run_within(seconds: float, work: Callable[[], Any]) -> Any:
    """The result of some work, or None if it takes longer; an error of it is raised here."""
    result: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except _Stopped:
            pass
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    end = time.monotonic() + GRACE
    while thread.is_alive() and time.monotonic() < end:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stopped))
        thread.join(0.05)
    if failure:
        raise failure[0]
    return result[0] if result else None
