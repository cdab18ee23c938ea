"""Symbols of a system: names, units, kinds, and expressions of them.

An expression is a number, an expression of the graph, or one of SymPy; every symbol in it must be one of the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name, require_new_name
from dalembert.expressions.quantities import is_real
from dalembert.symbolic.dimensions import dimension_of_unit, require_dimension
from dalembert.symbolic.parts import derivative_name
from dalembert.symbolic.text.convert import from_sympy, is_sympy
from dalembert.symbolic.text.read import require_shape, require_symbols

SX = ca.SX


@dataclass(eq=False)
class SymbolTable:
    """The symbols of one system.

    name : of the system.  symbols, units, dimensions : of every symbol, by name.  coordinates, inputs : names.
    parameters : values, None where they are not known.  speeds : definitions, of rates.
    """

    name: str
    t: Any = field(default_factory=lambda: SX.sym("t"))
    symbols: dict[str, Any] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, Any] = field(default_factory=dict)
    coordinates: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    parameters: dict[str, float | None] = field(default_factory=dict)
    speeds: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.symbols["t"] = self.t
        self.dimensions["t"] = None  # sin(t) is common: its factor of 1 rad/s is a plain number

    def expression(self, given: Any, what: str) -> Any:
        """An expression of this system in the graph: numbers, SX, SymPy; an unknown symbol is an error."""
        if is_sympy(given):
            value = from_sympy(given, self.symbols)
        elif isinstance(given, SX):
            value = given
        elif isinstance(given, (list, tuple)):
            return ca.vertcat(SX(0, 1), *(self.expression(entry, what) for entry in given))
        elif isinstance(given, (np.ndarray, ca.DM)) or is_real(given):
            if np.isnan(np.array(given, dtype=float)).any():
                raise ModelError("not-finite", f"{what} is not a number (NaN).", where={"name": what})
            value = SX(ca.DM(given))
        else:
            problem = f"{what} must be an expression of symbols, got {type(given).__name__} {given!r:.60}."
            raise ModelError("wrong-type", problem, where={"name": what})
        for symbol in ca.symvar(value):
            name = symbol.name()
            self.require_name("symbol", name, self.symbols, what)
            if symbol.element_hash() != self.symbols[name].element_hash():
                problem = f"{what} has a symbol {name!r} of another system than {self.name!r}."
                raise ModelError("wrong-owner", problem, where={"symbol": name})
        return value

    def require_name(self, kind: str, name: str, known: Iterable[str], what: str = "", **where: Any) -> None:
        """Refuse a name that this system does not know."""
        place = f"system {self.name!r}"
        require_name(kind, name, known, place, argument=what, error=ModelError, where={kind: name, **where})

    def require_new(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Refuse a name that this system has already."""
        require_new_name(kind, name, known, f"system {self.name!r}", error=ModelError)

    def declare(self, name: str, unit: str) -> Any:
        """A new symbol."""
        self.require_new("symbol", name, self.symbols)
        self.dimensions[name] = dimension_of_unit(unit, repr(name))
        self.symbols[name] = SX.sym(name)
        self.units[name] = unit
        return self.symbols[name]

    def differentiate(self, value: Any) -> Any:
        """Time derivative by the chain rule, with symbols for the derivatives of coordinates and speeds."""
        following = [(self.symbols[name], self._find_derivative(name)) for name in (x.name() for x in ca.symvar(value))
                     if name not in self.parameters and name not in self.inputs]  # fmt: skip
        if not following:
            return SX(*value.shape)
        symbols, rates = (ca.vertcat(*column) for column in zip(*following, strict=True))
        return ca.jtimes(value, symbols, rates)

    def _find_derivative(self, name: str) -> Any:
        """The symbol of the derivative of a symbol."""
        if name == "t":
            return SX(1)
        stem, order = name, 0
        while stem not in self.coordinates and stem not in self.speeds:
            stem, _, suffix = stem.rpartition(".")
            order = {"rate": 1, "acceleration": 2}.get(suffix) or int(suffix.removeprefix("derivative"))
        if stem in self.speeds:
            if order:
                problem = f"the rate of speed {stem!r} has no derivative: use rates of coordinates."
                raise ModelError("not-supported", problem, where={"speed": stem})
            return self.symbols[f"{stem}.rate"]
        label = derivative_name(stem, order + 1)
        return self.symbols[label] if label in self.symbols else self.declare(label, "")

    def column(self, names: Iterable[str]) -> Any:
        """Symbols of these names, a column."""
        return ca.vertcat(SX(0, 1), *(self.symbols[name] for name in names))

    def column_of(self, given: Any, what: str) -> Any:
        """A column of expressions."""
        value = self.expression(given, what)
        if 1 not in value.shape and value.numel():
            raise ModelError("wrong-shape", f"{what} has the shape {value.shape}; expected a column.")
        return ca.densify(ca.vec(value))

    def scalar(self, given: Any, what: str) -> Any:
        """One expression."""
        value = self.expression(given, what)
        require_shape(value, what, (1, 1))
        return ca.densify(value)

    def vector(self, given: Any, what: str, *, time: bool = False, coordinates: bool = False) -> Any:
        """Three components; two are in the plane z = 0. ``time``: only t, parameters and ``coordinates`` allowed."""
        column = self.column_of(given, what)
        require_shape(column, what, (2, 1), (3, 1))
        if time:
            allowed = [*self.parameters, *self.inputs, "t", *(self.coordinates if coordinates else ())]
            self.allow_only(column, what, allowed)
        return ca.vertcat(column, SX(3 - column.shape[0], 1)) if column.shape[0] < 3 else column

    def allow_only(self, value: Any, what: str, allowed: Iterable[str]) -> None:
        """Refuse an expression of other symbols than these and parameters."""
        require_symbols(value, what, {*allowed, *self.parameters}, "which is not allowed here", by_name=True)

    def require_unit(self, column: Any, wanted: Any, what: str) -> None:
        """Refuse entries whose dimension is known and differs from that of the unit."""
        for entry in ca.vertsplit(column):
            require_dimension(entry, wanted, self.dimensions, what)
