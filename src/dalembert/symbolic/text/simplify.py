"""Simplification with a bound of operations; expressions that were not simplified are listed.

The normal form of an expression (`normal_form`) is computed in a number of products of terms that is counted, not
timed: the printed equations do not depend on the speed or the load of a machine. On request short entries are also
simplified by SymPy's general search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.core.progress import Progress, Setting
from dalembert.symbolic.text.convert import import_sympy
from dalembert.symbolic.text.normal_form import normal_form
from dalembert.symbolic.text.printing import count_operations, equations_in_latex


def simplify_terms(
    terms: Sequence[tuple[str, Any]],
    operations: int,
    progress: Setting = False,
    *,
    search: bool = True,
    growth: int = 2,
    long: int = 80,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Simplified SymPy expressions by their left-hand sides, and the left-hand sides of those not simplified.

    operations : products of terms for the normal form of one expression.  search : short entries by SymPy too.
    growth, long : a normal form with more operations than so many times those of the graph, and than so many, is not
        shown.
    """
    if operations <= 0:
        raise ModelError("not-positive", f"the bound must be positive; got {operations} operations.")
    shown: dict[str, Any] = {}
    unsimplified: list[str] = []
    graphs = dict(terms)
    with Progress(progress, "simplify") as bar:
        for k, (name, graph) in enumerate(graphs.items()):
            bar.update(k / len(graphs))
            form = normal_form(graph, operations)
            most = max(long, growth * count_operations([graph]))
            if form is None or sum(entry.count_ops() for entry in _entries(form)) > most:
                unsimplified.append(name)
            else:
                shown[name] = simplify_expression(form) if search else form
        bar.update(1.0)
    return shown, tuple(unsimplified)


def align_terms(terms: Sequence[tuple[str, Any]], first: str = "", operations: int = 200_000) -> str:
    """Lines ``left = right`` of an ``aligned`` environment, in their normal forms; first : a line before them."""
    shown = simplify_terms(terms, operations, search=False)[0]
    lines = [*[first] * bool(first), *equations_in_latex(terms, shown)]
    return "\\begin{aligned}\n" + " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines) + "\n\\end{aligned}"


def _entries(form: Any) -> Sequence[Any]:
    return list(form) if isinstance(form, import_sympy().MatrixBase) else [form]


def simplify_expression(expression: Any, short: int = 30) -> Any:
    """An expression, or every entry of a matrix, as SymPy's general search finds it, where it is short and gains.

    short : most operations for which the search is tried.
    """
    sympy = import_sympy()
    if isinstance(expression, sympy.MatrixBase):
        return expression.applyfunc(simplify_expression)
    if expression.is_Atom or expression.count_ops() > short:
        return expression
    # decimal numbers would make every factor decimal: symbols replace them until the end
    numbers = {atom: sympy.Dummy("number", positive=atom.is_positive) for atom in expression.atoms(sympy.Float)}
    simplified = sympy.simplify(expression.xreplace(numbers)).xreplace(
        {symbol: atom for atom, symbol in numbers.items()}
    )
    return min((expression, simplified), key=lambda form: form.count_ops())
