"""Expressions as a user gives them: numbers, expressions of the graph, or of SymPy with symbols of the same names."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.symbolic.text.convert import from_sympy, is_sympy

SX = ca.SX


def read_scalar(value: Any, what: str, symbols: Mapping[str, Any] | None = None) -> Any:
    """One finite expression; symbols : those that an expression of SymPy may name."""
    try:
        scalar = SX(from_sympy(value, symbols or {}) if is_sympy(value) else value)
    except (TypeError, NotImplementedError, RuntimeError):
        raise ModelError("wrong-type", f"{what} must be an expression or a number, got {value!r:.80}.") from None
    require_shape(scalar, what, (1, 1))
    if scalar.is_constant() and not scalar.is_regular():
        raise ModelError("not-finite", f"{what} must be finite, got {scalar}.")
    return scalar


def require_shape(value: Any, what: str, *shapes: tuple[int, int]) -> None:
    """Refuse an expression of another shape."""
    if value.shape not in shapes:
        expected = " or ".join("a scalar" if shape == (1, 1) else str(shape) for shape in shapes)
        raise ModelError("wrong-shape", f"{what} must be {expected}, got shape {value.shape}.", where={"name": what})


def require_affine(value: Any, symbols: Any, what: str, of: str, code: str = "not-affine", **where: Any) -> Any:
    """The slope of an expression that is affine in some symbols; ``of`` : their name."""
    slope = ca.jacobian(value, symbols)
    if ca.depends_on(slope, symbols):
        raise ModelError(code, f"{what} must be affine in {of}.", where=where)
    return slope


def require_symbols(value: Any, what: str, allowed: Container[Any], reason: str, *, by_name: bool = False) -> None:
    """Refuse an expression of symbols that are not allowed, by their hashes or by their names."""
    for symbol in ca.symvar(value):
        if (symbol.name() if by_name else symbol.element_hash()) not in allowed:
            name = symbol.name()
            raise ModelError("foreign-symbol", f"{what} depends on {name!r}, {reason}.", where={"symbol": name})
