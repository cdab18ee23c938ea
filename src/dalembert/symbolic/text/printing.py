"""Expressions as text: LaTeX through SymPy, Python from the graph. Only what is printed is converted.

A long expression is shown with its common subexpressions named, x₁, x₂, ..., as the graph has them; nothing is
expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.symbolic.text.convert import import_sympy, to_sympy, to_sympy_shared

SX = ca.SX
STEMS = ("x", "s", "w", "c")  # letters of names for common parts: the first one that no symbol uses
GREEK = frozenset(
    {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi"}
    | {"pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"}
)
CAPITALS = frozenset(  # those that LaTeX has; the others look like Latin letters
    {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"}
)


# last words of names that have a letter in formulas, and the dots on it
WORDS = {
    "angle": ("\\theta", 0), "displacement": ("s", 0), "x": ("x", 0), "y": ("y", 0), "z": ("z", 0), "vx": ("x", 1),
    "vy": ("y", 1), "vz": ("z", 1), "yaw": ("\\psi", 0), "pitch": ("\\theta", 0), "roll": ("\\varphi", 0),
}  # fmt: skip
AXES = frozenset("xyzt")  # an index of these letters alone is a product of directions: I_xx, w_xxt
DOTS = {"rate": 1, "speed": 1, "acceleration": 2}


def latex_name(name: str) -> str:
    """The name of a symbol in LaTeX: ``theta.rate`` is a θ with a dot, ``m_1`` has an index.

    Examples
    --------
    >>> latex_name("theta.rate"), latex_name("rod.mass"), latex_name("m1"), latex_name("crank.angle.rate")
    ('\\\\dot{\\\\theta}', '\\\\mathrm{mass}_{\\\\mathrm{rod}}', 'm_{1}', '\\\\dot{\\\\theta}_{\\\\mathrm{crank}}')
    """
    stem, _, last = name.rpartition(".")
    if stem and last.startswith("derivative"):
        return f"{latex_name(stem)}^{{({last.removeprefix('derivative')})}}"
    letter, dots, below = _parts(name)
    dotted = f"\\{'d' * dots}ot{{{letter}}}" if dots else letter
    return f"{dotted}_{{{', '.join(below)}}}" if below else dotted


def _parts(name: str) -> tuple[str, int, tuple[str, ...]]:
    """Letter, dots above it and words below it."""
    stem, _, last = name.rpartition(".")
    if stem and last in DOTS:
        letter, dots, below = _parts(stem)
        return letter, dots + DOTS[last], below
    if stem and last == "momentum":
        return "p", 0, (latex_name(stem),)
    owner = (_upright(stem),) if stem else ()
    if stem and last in WORDS:
        return (*WORDS[last], owner)
    if stem and len(last) == 2 and last[0] == "w" and last[1] in "xyz":
        return "\\omega", 0, (last[1], *owner)
    head = last.rstrip("0123456789")
    base, _, index = head.partition("_")
    shown = _letters(base) if base else _upright(last)
    if len(base) != 1 and shown.startswith("\\mathrm"):
        return _upright(last), 0, owner  # a word, with its underscores
    pieces = (piece for piece in (index, last[len(head) :]) if piece)
    plain = (piece if len(piece) == 1 or piece.isdigit() or set(piece) <= AXES else _upright(piece) for piece in pieces)
    return shown, 0, (*plain, *owner)


def _letters(text: str) -> str:
    if text in GREEK or text in CAPITALS:
        return "\\" + text
    return text if len(text) == 1 and text.isascii() else _upright(text)


def _upright(text: str) -> str:
    special = {"_": "\\_", "%": "\\%", "&": "\\&", "#": "\\#", "$": "\\$", "{": "\\{", "}": "\\}", " ": "\\ "}
    return "\\mathrm{" + "".join(special.get(c, "\\backslash " if c == "\\" else c) for c in text) + "}"


def latex(expression: Any) -> str:
    """A SymPy expression or matrix in LaTeX, symbols under the names of `latex_name`."""
    sympy = import_sympy()
    names = {symbol: latex_name(symbol.name) for symbol in expression.free_symbols}
    return str(sympy.latex(expression, symbol_names=names, fold_short_frac=False, mat_delim="["))


def free_stem(names: Iterable[str]) -> str:
    """The letter of names for common parts, x₁, x₂, ..., or another letter where symbols have such names.

    Examples
    --------
    >>> free_stem(["theta", "x"]), free_stem(["x_1", "x_2"])
    ('x', 's')
    """
    shown = [latex_name(name) for name in names]
    free = (stem for stem in STEMS if not any(re.fullmatch(rf"{stem}_{{\d+}}", shown_name) for shown_name in shown))
    return next(free, "common")


def equations_in_latex(
    terms: Sequence[tuple[str, Any]],
    shown: Mapping[str, Any] | None = None,
    stem: str | None = None,
    long: int = 80,
) -> list[str]:
    """Lines ``left = right`` of expressions of the graph; first those of common subexpressions, where there are any.

    terms : left-hand sides in LaTeX with their expressions.  shown : SymPy expressions to show instead, by left side.
    stem : letter of names for common parts; one that no symbol of the expressions has, where left out.
    long : fewest operations of expressions that are shown with names for their common parts.
    """
    if not terms:
        return []
    replaced = dict(shown or {})
    graph = [(lhs, value) for lhs, value in terms if lhs not in replaced]
    values: dict[str, Any] = dict(replaced)
    lines: list[str] = []
    if graph and count_operations([value for _, value in graph]) > long:
        if stem is None:
            entries = ca.vertcat(*(ca.vec(SX(value)) for _, value in graph))
            stem = free_stem(symbol.name() for symbol in ca.symvar(entries))
        shared = to_sympy_shared([value for _, value in graph], stem)
        lines += [f"{latex(symbol)} = {latex(value)}" for symbol, value in shared.definitions]
        values |= {lhs: value for (lhs, _), value in zip(graph, shared.results, strict=True)}
    else:
        values |= {lhs: to_sympy(value) for lhs, value in graph}
    return lines + [line for lhs, _ in terms for line in _equation(lhs, values[lhs])]


def _equation(left: str, value: Any, widest: int = 12) -> list[str]:
    """One line, or one for every entry of a matrix that is too wide to read and is not zero."""
    rows, columns = getattr(value, "shape", (1, 1)) or (1, 1)
    if columns <= widest:
        return [f"{left} = {latex(value)}"]
    entries = [(i, j) for i in range(rows) for j in range(columns) if value[i, j] != 0]
    lines = [f"{left}_{{{i + 1}, {j + 1}}} = {latex(value[i, j])}" for i, j in entries]
    return [*lines, f"{left} \\in \\mathbb{{R}}^{{{rows} \\times {columns}}}, \\quad \\text{{other entries zero}}"]


def count_operations(expressions: Sequence[Any]) -> int:
    """Number of operations to evaluate expressions, common subexpressions counted once."""
    if not expressions:
        return 0
    graph = [SX(expression) for expression in expressions]
    arguments = ca.symvar(ca.vertcat(*(ca.vec(expression) for expression in graph)))
    f = ca.Function("count", arguments, graph, {"cse": True})
    idle = (ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT)
    return sum(f.instruction_id(k) not in idle for k in range(f.n_instructions()))


# -- Python ------------------------------------------------------------------------------------------------------------
_UNARY = {
    "ASSIGN": "{0}", "NEG": "-{0}", "SQ": "{0} * {0}", "TWICE": "2 * {0}", "INV": "1 / {0}", "EXP": "math.exp({0})",
    "LOG": "math.log({0})", "SQRT": "math.sqrt({0})", "SIN": "math.sin({0})", "COS": "math.cos({0})",
    "TAN": "math.tan({0})", "ASIN": "math.asin({0})", "ACOS": "math.acos({0})", "ATAN": "math.atan({0})",
    "SINH": "math.sinh({0})", "COSH": "math.cosh({0})", "TANH": "math.tanh({0})", "ASINH": "math.asinh({0})",
    "ACOSH": "math.acosh({0})", "ATANH": "math.atanh({0})", "FABS": "abs({0})",
    "SIGN": "float(({0} > 0) - ({0} < 0))", "FLOOR": "math.floor({0})", "CEIL": "math.ceil({0})",
    "ERF": "math.erf({0})", "LOG1P": "math.log1p({0})", "EXPM1": "math.expm1({0})", "NOT": "float(not {0})",
}  # fmt: skip
_BINARY = {
    "ADD": "{0} + {1}", "SUB": "{0} - {1}", "MUL": "{0} * {1}", "DIV": "{0} / {1}", "POW": "{0} ** {1}",
    "CONSTPOW": "{0} ** {1}", "LT": "float({0} < {1})", "LE": "float({0} <= {1})", "EQ": "float({0} == {1})",
    "NE": "float({0} != {1})", "AND": "float(bool({0} and {1}))", "OR": "float(bool({0} or {1}))",
    "FMIN": "min({0}, {1})", "FMAX": "max({0}, {1})", "ATAN2": "math.atan2({0}, {1})",
    "HYPOT": "math.hypot({0}, {1})", "FMOD": "math.fmod({0}, {1})", "REMAINDER": "math.remainder({0}, {1})",
    "COPYSIGN": "math.copysign({0}, {1})", "IF_ELSE_ZERO": "({1} if {0} else 0.0)", "LIFT": "{0}",
}  # fmt: skip
_TEXTS = {getattr(ca, f"OP_{name}"): text for name, text in (*_UNARY.items(), *_BINARY.items())}


def python_function(
    name: str, arguments: Mapping[str, Sequence[Any]], results: Mapping[str, Any], sentence: str = ""
) -> str:
    """A Python function that evaluates expressions with the module ``math`` alone.

    arguments : symbols of every argument, a sequence.  results : expressions by name; those with a capital letter are
    matrices, lists of rows, the others are columns, lists. Several results are a tuple.
    """
    columns = {key: ca.vertcat(SX(0, 1), *symbols) for key, symbols in arguments.items()}
    values = [ca.densify(SX(result)) for result in results.values()]
    f = ca.Function("text", list(columns.values()), values, {"cse": True})
    keys = list(columns)
    texts: dict[int, str] = {}
    entries: list[list[str]] = [["0.0"] * f.numel_out(k) for k in range(f.n_out())]
    lines: list[str] = []
    for k in range(f.n_instructions()):
        code, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if code == ca.OP_CONST:
            texts[o[0]] = _constant(f.instruction_constant(k))
        elif code == ca.OP_INPUT:
            texts[o[0]] = keys[i[0]] if f.numel_in(i[0]) == 1 and keys[i[0]] == "t" else f"{keys[i[0]]}[{i[1]}]"
        elif code == ca.OP_OUTPUT:
            entries[o[0]][o[1]] = texts[i[0]]
        elif code in _TEXTS:
            lines.append(f"    x{k} = {_TEXTS[code].format(*(texts[j] for j in i))}")
            texts[o[0]] = f"x{k}"
        else:
            raise ModelError("not-supported", f"operation {code} of the expression graph has no Python text.")
    returned = [
        _nest_lists(entry, f.size_out(k), key[0].isupper()) for k, (key, entry) in enumerate(zip(results, entries))
    ]
    shown = ", ".join(returned)
    about = [f'    """{sentence}"""'] if sentence else []
    return "\n".join([f"def {name}({', '.join(keys)}):", *about, *lines, f"    return {shown}", ""])


def _constant(value: float) -> str:
    text = repr(float(value))
    return {"nan": "math.nan", "inf": "math.inf", "-inf": "-math.inf"}.get(text, f"({text})" if value < 0 else text)


def _nest_lists(entries: Sequence[str], shape: tuple[int, int], matrix: bool) -> str:
    rows, columns = shape
    if not matrix:
        return f"[{', '.join(entries)}]"
    lists = (f"[{', '.join(entries[j * rows + i] for j in range(columns))}]" for i in range(rows))
    return f"[{', '.join(lists)}]"
