"""A one-dimensional continuum: field equation and ends from densities of energy (Meirovitch 1997, section 7.7).

    T̄(w, ẇ, x, t) ,   Ū(w, w', w'', x, t)
    d/dt ∂T̄/∂ẇ - ∂T̄/∂w + (∂Ū/∂w'')'' - (∂Ū/∂w')' + ∂Ū/∂w = f(x, t)
    at each end:  (∂Ū/∂w' - (∂Ū/∂w'')') δw = 0   and   (∂Ū/∂w'') δw' = 0

Every factor is natural (the force or moment is zero) or essential (w or w' is given). Derivatives along x and t are
total derivatives: they act on the coefficients and on the field. The energies may depend on x through any function,
such as a taper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from dalembert.core.arguments import whole_number
from dalembert.core.errors import ModelError, require_new_name
from dalembert.symbolic.text.convert import to_sympy
from dalembert.symbolic.text.printing import equations_in_latex, latex
from dalembert.symbolic.text.read import read_scalar, require_symbols

SX = ca.SX
HIGHEST = 4  # order of the highest derivative along x in the field equation


@dataclass(eq=False)
class Continuum:
    """A field w(x, t) on a line, with symbols for its derivatives.

    ``c.field(i, j)`` is ∂ⁱ⁺ʲw/∂xⁱ∂tʲ; ``c.w``, ``c.slope``, ``c.curvature``, ``c.rate`` are the common ones.

    Examples
    --------
    >>> c = Continuum("beam")
    >>> EI, mu = c.parameter("EI"), c.parameter("mu")
    >>> equation = field_equation(c, kinetic=mu * c.rate**2 / 2, potential=EI * c.curvature**2 / 2)
    >>> from dalembert.symbolic import to_sympy
    >>> to_sympy(equation.field)
    EI*w_xxxx + mu*w_tt
    """

    name: str = "continuum"
    x: Any = field(default_factory=lambda: SX.sym("x"), init=False)
    t: Any = field(default_factory=lambda: SX.sym("t"), init=False)
    symbols: dict[str, Any] = field(default_factory=dict, init=False)
    _fields: dict[tuple[int, int], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.symbols |= {"x": self.x, "t": self.t}
        for i in range(3):
            for j in range(2):
                self.field(i, j)

    def parameter(self, name: str) -> Any:
        """A constant; a property that changes along x is an expression of ``c.x``."""
        require_new_name("symbol", name, self.symbols, repr(self.name), error=ModelError)
        self.symbols[name] = SX.sym(name)
        return self.symbols[name]

    def field(self, along: int = 0, times: int = 0) -> Any:
        """The symbol of a derivative of the field, ``along`` x and in time."""
        along, times = whole_number("along", along, 0, 20), whole_number("times", times, 0, 20)
        if (along, times) not in self._fields:
            suffix = "x" * along + "t" * times
            name = f"w_{suffix}" if suffix else "w"
            self._fields[along, times] = self.symbols[name] = SX.sym(name)
        return self._fields[along, times]

    @property
    def w(self) -> Any:
        return self.field()

    @property
    def slope(self) -> Any:
        return self.field(1)

    @property
    def curvature(self) -> Any:
        return self.field(2)

    @property
    def rate(self) -> Any:
        return self.field(0, 1)

    def along(self, expression: Any) -> Any:
        """Total derivative along x."""
        return self._total(expression, self.x, (1, 0))

    def over_time(self, expression: Any) -> Any:
        """Total derivative in time."""
        return self._total(expression, self.t, (0, 1))

    def expression(self, given: Any, what: str) -> Any:
        """An expression of this continuum, also of SymPy."""
        value = read_scalar(given, what, self.symbols)
        hashes = {symbol.element_hash() for symbol in self.symbols.values()}
        require_symbols(value, what, hashes, f"which {self.name!r} does not know")
        return value

    def _total(self, expression: Any, variable: Any, step: tuple[int, int]) -> Any:
        result = ca.jacobian(expression, variable)
        for (i, j), symbol in list(self._fields.items()):
            if ca.depends_on(expression, symbol):
                following = self.field(i + step[0], j + step[1])
                result = result + ca.jtimes(expression, symbol, following)
        return result


@dataclass(frozen=True)
class FieldEquation:
    """Field equation and end conditions.

    field : an expression that is zero between the ends.  shear, moment : (∂Ū/∂w' - (∂Ū/∂w'')') and ∂Ū/∂w''. At each end
    either ``shear`` or δw is zero, and either ``moment`` or δw'.
    """

    field: Any
    shear: Any
    moment: Any

    def latex(self) -> str:
        """Field equation and end conditions in LaTeX."""
        names = {"field": self.field, "shear": self.shear, "moment": self.moment}
        lines = equations_in_latex([("0", names["field"])])
        lines += [f"\\left[ {latex(to_sympy(names[key]))} \\right] \\delta {of} = 0"
                  for key, of in (("shear", "w"), ("moment", "w'")) if not SX(names[key]).is_zero()]  # fmt: skip
        aligned = " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines)
        return "\\begin{aligned}\n" + aligned + "\n\\end{aligned}"


def field_equation(continuum: Continuum, *, kinetic: Any, potential: Any, load: Any = 0) -> FieldEquation:
    """Lagrange's equation of a one-dimensional continuum.

    kinetic, potential : energies per length, of ``c.w, c.rate, c.slope, c.curvature, c.x, c.t``.
    load : force per length that has no potential.
    """
    c = continuum
    T, U = c.expression(kinetic, "the kinetic energy"), c.expression(potential, "the potential energy")
    _only(T, c, ((0, 0), (0, 1), (1, 0), (1, 1)), "kinetic")
    _only(U, c, ((0, 0), (1, 0), (2, 0)), "potential")
    outside = c.expression(load, "the load")
    moment = ca.gradient(U, c.curvature)
    # w' and ẇ' in the kinetic energy are rotations: they add to the shear and, integrated by parts, to the field
    rotary = c.over_time(ca.gradient(T, c.field(1, 1))) - ca.gradient(T, c.slope)
    shear = ca.gradient(U, c.slope) - c.along(moment) + rotary
    inside = c.over_time(ca.gradient(T, c.rate)) - ca.gradient(T, c.w) + ca.gradient(U, c.w) - c.along(shear) - outside
    return FieldEquation(ca.simplify(inside), ca.simplify(shear), moment)


def _only(value: Any, c: Continuum, allowed: tuple[tuple[int, int], ...], kind: str) -> None:
    for key, symbol in c._fields.items():
        if key not in allowed and ca.depends_on(value, symbol):
            problem = f"the {kind} energy depends on {symbol.name()!r}; expected derivatives of lower order."
            raise ModelError("foreign-symbol", problem, where={"symbol": symbol.name()})
