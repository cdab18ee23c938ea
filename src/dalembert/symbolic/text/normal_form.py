"""A short normal form of expressions that are polynomials in symbols, sines and cosines.

Every node of the graph becomes a sum of terms, a number times powers of generators: symbols, sin θ, cos θ, and
functions of anything else. With sin² θ = 1 - cos² θ the form is unique, so that terms that cancel are gone, whatever
numbers multiply them: a number that is rounding of the terms it was summed from is 0. Afterwards terms are joined:

    a - a cos² θ = a sin² θ ,   cos θ cos φ ± sin θ sin φ = cos(θ ∓ φ) ,   sin θ cos φ ± cos θ sin φ = sin(θ ± φ)

Products of terms are counted; a form that needs more than a bound is not made, on a fast machine as on a slow one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import casadi as ca

from dalembert.symbolic.text.convert import from_sympy, import_sympy, number, to_sympy

SX = ca.SX

Monomial = tuple[tuple[int, int], ...]  # (generator, power), by generator
Polynomial = dict[Monomial, tuple[float, float]]  # number and size of the terms that it was summed from
ONE: Monomial = ()


class TooLarge(Exception):
    """The form needs more products than its bound."""


def normal_form(expression: Any, products: int) -> Any:
    """A SymPy expression or matrix, or None where more products of terms are needed than `products`.

    Examples
    --------
    >>> x = ca.SX.sym("x")
    >>> normal_form(3 * ca.sin(x) ** 2 + 0.1 * ca.cos(x) ** 2 + 2.9 * ca.cos(x) ** 2, 100)
    3
    """
    graph = ca.densify(SX(expression))
    try:
        forms = _Forms(graph, products)
        entries = [_join_fractions(forms.show(result), products) for result in forms.results]
    except TooLarge:
        return None
    rows, columns = graph.shape
    if (rows, columns) == (1, 1):
        return entries[0]
    return import_sympy().Matrix(rows, columns, lambda i, j: entries[j * rows + i])


class _Forms:
    """Polynomials of the entries of one expression, with their generators."""

    def __init__(self, expression: Any, products: int) -> None:
        self.sympy, self.left = import_sympy(), products
        self.generators: list[Any] = []
        self.number_of: dict[Any, int] = {}
        self.cosine: dict[int, int] = {}  # generator of a sine -> that of its cosine
        arguments = ca.symvar(expression)
        f = ca.Function("form", arguments, [expression], {"cse": True})
        symbols = [self.sympy.Symbol(argument.name(), real=True) for argument in arguments]
        registers: dict[int, Polynomial] = {}
        self.results: list[Polynomial] = [{} for _ in range(expression.numel())]
        for k in range(f.n_instructions()):
            code, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if code == ca.OP_OUTPUT:
                self.results[o[1]] = registers[i[0]]
            elif code == ca.OP_CONST:
                registers[o[0]] = _constant(f.instruction_constant(k))
            elif code == ca.OP_INPUT:
                registers[o[0]] = self._generator(symbols[i[0]])
            else:
                registers[o[0]] = self._apply(code, [registers[j] for j in i])

    def _apply(self, code: int, given: list[Polynomial]) -> Polynomial:
        argument = given[0]
        if code in (ca.OP_ADD, ca.OP_SUB):
            return _add(argument, given[1], 1.0 if code == ca.OP_ADD else -1.0)
        if code == ca.OP_NEG:
            return _add({}, argument, -1.0)
        if code == ca.OP_TWICE:
            return _add(argument, argument, 1.0)
        if code in (ca.OP_MUL, ca.OP_SQ):
            return self._multiply(argument, given[-1])
        if code == ca.OP_INV or (code == ca.OP_DIV and len(given[1]) == 1):
            return self._multiply({ONE: (1.0, 1.0)} if code == ca.OP_INV else argument, self._invert(given[-1]))
        if code == ca.OP_DIV:
            return self._multiply(argument, self._invert(given[1]))
        if code in (ca.OP_SIN, ca.OP_COS):
            return self._turn(code, argument)
        if code in (ca.OP_POW, ca.OP_CONSTPOW) and set(given[1]) <= {ONE}:
            power = given[1].get(ONE, (0.0, 0.0))[0]
            if power == int(power) and 0 <= power <= 8:
                result: Polynomial = {ONE: (1.0, 1.0)}
                for _ in range(int(power)):
                    result = self._multiply(result, argument)
                return result
        return self._generator(self._function(code, given))

    def _function(self, code: int, given: list[Polynomial]) -> Any:
        """Any other operation, of the shown forms of its arguments."""
        inside = [SX.sym(f"argument{k}") for k in range(len(given))]
        unary = SX.unary(code, inside[0]) if len(given) == 1 else SX.binary(code, *inside)
        return to_sympy(unary, {argument.name(): self.show(form) for argument, form in zip(inside, given, strict=True)})

    def _turn(self, code: int, angle: Polynomial) -> Polynomial:
        shown = self.show(angle)
        sign = -1.0 if shown.could_extract_minus_sign() else 1.0
        shown = shown if sign > 0 else -shown
        if shown.is_number:
            value = float(shown) * sign
            return _constant(math.sin(value) if code == ca.OP_SIN else math.cos(value))
        sine, cosine = self._place(self.sympy.sin(shown)), self._place(self.sympy.cos(shown))
        self.cosine[sine] = cosine
        return {((sine, 1),): (sign, 1.0)} if code == ca.OP_SIN else {((cosine, 1),): (1.0, 1.0)}

    def _place(self, generator: Any) -> int:
        if generator not in self.number_of:
            self.number_of[generator] = len(self.generators)
            self.generators.append(generator)
        return self.number_of[generator]

    def _generator(self, shown: Any) -> Polynomial:
        return {((self._place(shown), 1),): (1.0, 1.0)}

    def _invert(self, form: Polynomial) -> Polynomial:
        if len(form) == 1:
            ((monomial, (value, _)),) = form.items()
            return {tuple((g, -power) for g, power in monomial): (1.0 / value, 1.0 / abs(value))}
        return {((self._place(self.show(form)), -1),): (1.0, 1.0)}

    def _multiply(self, one: Polynomial, two: Polynomial) -> Polynomial:
        self.left -= len(one) * len(two)
        if self.left < 0:
            raise TooLarge
        result: Polynomial = {}
        for first, (a, size_a) in one.items():
            for second, (b, size_b) in two.items():
                self._collect(result, _product(first, second), a * b, size_a * size_b)
        return _without_rounding(result)

    def _collect(self, result: Polynomial, monomial: Monomial, value: float, size: float) -> None:
        """Add a term, with squares of sines replaced."""
        for g, power in monomial:
            if power > 1 and g in self.cosine:
                reduced = _product(monomial, ((g, -2),))
                self._collect(result, reduced, value, size)
                self._collect(result, _product(reduced, ((self.cosine[g], 2),)), -value, size)
                return
        before = result.get(monomial, (0.0, 0.0))
        result[monomial] = (before[0] + value, before[1] + size)

    # -- text ----------------------------------------------------------------------------------------------------------
    def show(self, form: Polynomial) -> Any:
        """The polynomial as a SymPy expression, terms joined."""
        terms = {monomial: value for monomial, (value, _) in form.items()}
        for sine, cosine in self.cosine.items():
            self._join_squares(terms, sine, cosine)
        for first, two in combinations(self.cosine, 2):
            self._join_angles(terms, first, two)
        sympy = self.sympy
        total = sympy.Add(*(_shown_number(value) * sympy.Mul(*(self.generators[g] ** power for g, power in monomial))
                           for monomial, value in terms.items()))  # fmt: skip
        factored = sympy.factor_terms(total)
        return factored if factored.count_ops() < total.count_ops() else total

    def _join_squares(self, terms: dict[Monomial, float], sine: int, cosine: int) -> None:
        """a m - a m cos² = a m sin², highest powers first."""
        for monomial in sorted(terms, key=lambda m: -dict(m).get(cosine, 0)):
            if dict(monomial).get(cosine, 0) < 2 or monomial not in terms:
                continue
            lower = _product(monomial, ((cosine, -2),))
            if lower in terms and math.isclose(terms[lower], -terms[monomial], rel_tol=1e-13):
                joined = _product(lower, ((sine, 2),))
                terms[joined] = terms.get(joined, 0.0) + terms.pop(lower)
                terms.pop(monomial)

    def _join_angles(self, terms: dict[Monomial, float], one: int, two: int) -> None:
        """Products of two sines and cosines as functions of the sum or difference of the angles."""
        sympy = self.sympy
        a, b = (self.generators[g].args[0] for g in (one, two))
        for first, second, function in (((self.cosine[one], self.cosine[two]), (one, two), sympy.cos),
                                        ((one, self.cosine[two]), (self.cosine[one], two), sympy.sin)):  # fmt: skip
            for monomial in list(terms):
                powers = dict(monomial)
                if monomial not in terms or any(powers.get(g, 0) < 1 for g in first):
                    continue
                reduced = _product(monomial, tuple(sorted((g, -1) for g in first)))
                partner = _product(reduced, tuple(sorted((g, 1) for g in second)))
                if partner == monomial or partner not in terms:
                    continue
                x, y = terms[monomial], terms[partner]
                if not math.isclose(abs(x), abs(y), rel_tol=1e-13):
                    continue
                same = (x > 0) == (y > 0)
                # cos cos + sin sin: the difference; sin cos + cos sin: the sum
                angle = a + b if same == (function is sympy.sin) else a - b
                joined = _product(reduced, ((self._place(function(angle)), 1),))
                del terms[monomial], terms[partner]
                terms[joined] = terms.get(joined, 0.0) + x


def _join_fractions(shown: Any, products: int, long: int = 60) -> Any:
    """Terms with sums in their denominators as one fraction, where one holds a fraction, and where that is shorter.

    long : operations of the terms above which they are left: a quarter of a second.
    """
    sympy = import_sympy()
    terms = sympy.Add.make_args(shown)
    sums = {p.base for p in shown.atoms(sympy.Pow) if p.base.is_Add and p.exp.is_negative}
    parts = [term for term in terms if any(term.has(one) for one in sums)]
    together = sympy.Add(*parts)
    nested = any(p.exp.is_negative for one in sums for p in one.atoms(sympy.Pow))
    if not nested or together.count_ops() > long or together.atoms(sympy.Float):
        return shown
    squares = {p: (1 - sympy.cos(p.base.args[0]) ** 2) ** (p.exp // 2) * p.base ** (p.exp % 2)
               for p in together.atoms(sympy.Pow) if p.base.func is sympy.sin and p.exp.is_Integer}  # fmt: skip
    halves = sympy.fraction(sympy.cancel(together.xreplace(squares)))
    symbols = {symbol.name: SX.sym(symbol.name) for half in halves for symbol in half.free_symbols}
    above, below = (normal_form(from_sympy(half, symbols), products) for half in halves)
    if above is None or below is None:
        return shown
    if below.could_extract_minus_sign():
        above, below = -above, -below
    joined = above / below + sympy.Add(*(term for term in terms if term not in parts))
    return joined if joined.count_ops() < shown.count_ops() else shown


def _shown_number(value: float, denominator: int = 48) -> Any:  # 1/12 of a rod, 1/3, 5/24
    """A number; a simple fraction that is no short decimal number, such as 1/12, as a fraction."""
    near = Fraction(value).limit_denominator(denominator)
    if near.denominator % 3 == 0 and math.isclose(near.numerator / near.denominator, value, rel_tol=1e-15):
        return import_sympy().Rational(near.numerator, near.denominator)
    return number(value)


def _constant(value: float, tiny: float = 1e-15) -> Polynomial:  # of a sine or cosine that rounding keeps from zero
    if abs(value) < tiny:
        return {}
    return {ONE: (value, abs(value))}


def _add(one: Polynomial, two: Polynomial, sign: float) -> Polynomial:
    result = dict(one)
    for monomial, (value, size) in two.items():
        before = result.get(monomial, (0.0, 0.0))
        result[monomial] = (before[0] + sign * value, before[1] + size)
    return _without_rounding(result)


def _without_rounding(form: Polynomial, rounding: float = 1e-13) -> Polynomial:
    """Without numbers below 450 units of rounding of the summed sizes of their terms."""
    return {monomial: (value, size) for monomial, (value, size) in form.items() if abs(value) > rounding * size}


def _product(one: Monomial, two: Monomial) -> Monomial:
    powers = dict(one)
    for g, power in two:
        powers[g] = powers.get(g, 0) + power
    return tuple(sorted((g, power) for g, power in powers.items() if power))
