"""Elastic energy of a force law: V(x) = ∫ F(ξ) dξ from the free length to x, as an expression of x.

Sines and cosines of a x + b, as of a detent or of cogging over many turns, are integrated in closed form. All other
terms are integrated by Gauss-Legendre quadrature on the pieces where the law has one form. A law changes form at the
switches of `da.where`, `da.math.maximum`, ... A switch that is linear or quadratic in x, also inside a branch of
another one, is found in the expression, and its roots divide the range of integration: a gap, a dead band or two
stiffnesses are integrated exactly. Any other switch, or a step much narrower than the range, gives an error of the
energy, which `energy.balance` shows; the force itself is never replaced by the derivative of the quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any

import casadi as ca
import numpy as np

from dalembert.expressions.quantities import PiecewiseLinear

SX = ca.SX
NODES = 24  # per piece: exact for polynomials of degree 47; tanh(x / w) to 2e-9 of its value for x = 20 w
MOST_FORMS = 64  # of one switch: nested choices multiply, six of them give as many
TRUTHS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


def integrate_law(law: Any, value: Any, x: Any, p: Any, defaults: Iterable[float]) -> Any | None:
    """Integral over x of the force `value`, an expression of x and the parameters p.

    The integral begins at zero, or at 1 (m or rad) where the law is not finite at zero. A law that is finite at neither
    has no elastic part: the result is None. Both are evaluated at the values `defaults` of the parameters. A table has
    its own integral.
    """
    if isinstance(law, PiecewiseLinear):
        return law.integral(x)
    force = ca.Function("law", [x, p], [value])
    now = ca.DM(list(defaults))
    begin = next((place for place in (0.0, 1.0) if math.isfinite(float(force(place, now)))), None)
    if begin is None:
        return None
    exact, value = _integrate_sines(value, x, begin)
    force = ca.Function("law", [x, p], [value])
    lower, upper = ca.fmin(x, begin), ca.fmax(x, begin)
    inside = [ca.fmin(ca.fmax(root, lower), upper) for root in find_switches(value, x)]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = SX(0)
    for left, right in pairwise([lower, *_sort(inside), upper]):
        middle, half = 0.5 * (left + right), 0.5 * (right - left)
        terms = [w * force(middle + half * node, p) for node, w in zip(nodes, weights, strict=True)]
        total = total + ca.if_else(half > 0, half * sum(terms), 0)
    return exact + ca.if_else(x < begin, -total, total)


def _integrate_sines(value: Any, x: Any, begin: float) -> tuple[Any, Any]:
    """Integral from `begin` to x of those terms of a sum that are sines or cosines of a x + b, and the other terms."""
    parts = [value.dep(k) for k in range(value.n_dep())]
    kind = value.op()
    if kind in (ca.OP_ADD, ca.OP_SUB):
        (first, rest), (second, other) = (_integrate_sines(part, x, begin) for part in parts)
        return SX.binary(kind, first, second), SX.binary(kind, rest, other)
    if kind == ca.OP_NEG:
        first, rest = _integrate_sines(parts[0], x, begin)
        return -first, -rest
    if kind in (ca.OP_MUL, ca.OP_DIV) and not ca.depends_on(parts[1], x):
        first, rest = _integrate_sines(parts[0], x, begin)
        return SX.binary(kind, first, parts[1]), SX.binary(kind, rest, parts[1])
    if kind == ca.OP_MUL and not ca.depends_on(parts[0], x):
        first, rest = _integrate_sines(parts[1], x, begin)
        return parts[0] * first, parts[0] * rest
    if kind in (ca.OP_SIN, ca.OP_COS):
        slope = ca.simplify(ca.jacobian(parts[0], x))
        if not ca.depends_on(slope, x):  # ∫ sin(a ξ + b) dξ = sin(a (x + x₀)/2 + b) 2 sin(a (x - x₀)/2) / a
            half = 0.5 * (x - begin)
            middle = SX.unary(kind, ca.substitute(parts[0], x, 0.5 * (x + begin)))
            return 2 * middle * ca.if_else(slope == 0, half, ca.sin(slope * half) / slope), SX(0)
    return SX(0), value


def _sort(values: list[Any]) -> list[Any]:
    """Ascending values, by exchanges of neighbours: expressions cannot be compared."""
    values = list(values)
    for last in range(len(values) - 1, 0, -1):
        for k in range(last):
            a, b = values[k], values[k + 1]
            values[k], values[k + 1] = ca.fmin(a, b), ca.fmax(a, b)
    return values


def find_switches(value: Any, argument: Any) -> list[Any]:
    """Arguments at which a linear or quadratic switch of an expression changes: expressions of the parameters."""
    found: dict[Any, Any] = {}
    forms: dict[int, list[Any]] = {}
    waiting, seen = [value], set()
    while waiting:
        node = waiting.pop()
        if node.element_hash() in seen or not node.n_dep():
            continue
        seen.add(node.element_hash())
        parts = [node.dep(k) for k in range(node.n_dep())]
        waiting += parts
        if node.op() in (ca.OP_LT, ca.OP_LE, ca.OP_FMIN, ca.OP_FMAX):
            sides = [a - b for a, b in product(_find_forms(parts[0], forms), _find_forms(parts[1], forms))]
        elif node.op() in (ca.OP_FABS, ca.OP_SIGN):
            sides = _find_forms(parts[0], forms)
        else:
            continue
        for side in sides[:MOST_FORMS]:
            for root in _find_roots(side, argument):
                found[float(root) if root.is_constant() else root.element_hash()] = root
    return list(found.values())


def _find_roots(side: object, x: object) -> list[Any]:
    """Roots of an expression that is linear or quadratic in x; none of any other."""
    slope = ca.simplify(ca.jacobian(side, x))
    curvature = ca.simplify(ca.jacobian(slope, x))
    if ca.depends_on(curvature, x) or slope.is_zero():
        return []
    at_zero, slope = (ca.substitute(part, x, SX(0)) for part in (side, slope))
    if curvature.is_zero():
        return [ca.simplify(-at_zero / slope)]
    width = ca.sqrt(ca.fmax(slope**2 - 2 * curvature * at_zero, 0))
    return [ca.simplify((-slope + sign * width) / curvature) for sign in (-1, 1)]


def _find_forms(node: Any, known: dict[int, list[Any]]) -> list[Any]:
    """The smooth expressions that a node can be equal to: one for each combination of the choices inside it."""
    key = node.element_hash()
    if key not in known:
        parts = [node.dep(k) for k in range(node.n_dep())]
        kind = node.op()
        if not parts:
            forms = [node]
        elif kind in TRUTHS:
            forms = [SX(0), SX(1)]
        elif kind == ca.OP_SIGN:
            forms = [SX(-1), SX(1)]
        elif kind == ca.OP_FABS:
            forms = [sign * form for form in _find_forms(parts[0], known) for sign in (-1, 1)]
        elif kind in (ca.OP_FMIN, ca.OP_FMAX):
            forms = [*_find_forms(parts[0], known), *_find_forms(parts[1], known)]
        elif kind == ca.OP_IF_ELSE_ZERO:
            forms = [SX(0), *_find_forms(parts[1], known)]
        elif len(parts) == 1:
            forms = [SX.unary(kind, form) for form in _find_forms(parts[0], known)]
        else:
            forms = [
                SX.binary(kind, a, b) for a, b in product(_find_forms(parts[0], known), _find_forms(parts[1], known))
            ]
        distinct = {form.element_hash(): form for form in forms}
        known[key] = list(distinct.values())[:MOST_FORMS]
    return known[key]
