"""A derivation as a page: symbols with units and values, every step with its formulas, the equations of motion."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dalembert.core.atomic_files import replace_file
from dalembert.core.text import count_noun
from dalembert.symbolic.derivation import Derivation
from dalembert.symbolic.text.printing import equations_in_latex, latex_name
from dalembert.view.reports.pages import Formula, Heading, Math, Piece, Table, Text, html_page


def equations_report(derivation: Derivation, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page of a derivation."""
    with replace_file(path) as temporary:
        Path(temporary).write_text(equations_page(derivation, title), encoding="utf-8")


def equations_page(derivation: Derivation, title: str | None = None) -> str:
    """The page as text; its formulas are MathML, so it needs neither a script nor a network."""
    from dalembert import __version__

    d = derivation
    provenance = {"machine": d.system.name, "formalism": d.formalism, "dalembert": __version__}
    return html_page(title or f"Equations of motion: {d.system.name}", _pieces(d), provenance)


def _pieces(d: Derivation) -> Iterator[Piece]:
    count = d.operations["all"]
    yield Text(
        f"By {d.formalism}. {count_noun(len(d.system.coordinate_names), 'coordinate')}, "
        f"{count_noun(len(d.names), 'speed')}, {count_noun(len(d.rows), 'constraint row')}; "
        f"{count_noun(count, 'operation')} to evaluate M, f, A and b together. SI units and radians. "
        f"Names {d.stem}₁, {d.stem}₂, ... of common parts are valid within their section."
    )
    yield Heading("Symbols")
    yield _symbols(d)
    if d.rows:
        rows = tuple((Math(f"\\lambda_{{{k}}}"), row.owner, row.level) for k, row in enumerate(d.rows, start=1))
        yield Table(("multiplier", "row of", "level"), rows, folded=f"{len(rows)} constraint rows")
    for step in (*d.steps, d.final):
        yield Heading(step.title)
        yield Text(step.sentence)
        for line in d.lines_of(step):
            yield Formula(line)
    if d.conserved:
        yield Heading("Conserved quantities")
        for quantity in d.conserved:
            yield Text(f"{quantity.reason}.")
            for line in equations_in_latex([(latex_name(quantity.name), quantity.expression)], d.readable, d.stem):
                yield Formula(line)
    if d.left:
        yield Text(f"Not simplified, because of the bounds: {', '.join(d.left)}.")


def _symbols(d: Derivation) -> Table:
    s = d.system
    rows = []
    kinds = {
        "coordinate": s.coordinate_names,
        "speed": d.names,
        "input": s.input_names,
        "parameter": s.parameter_values,
    }
    for kind, names in kinds.items():
        for name in names:
            value = s.parameter_values.get(name)
            shown = "" if value is None else f"{value:.6g}"
            rows.append((Math(latex_name(name)), name, kind, s.units.get(name, ""), shown))
    return Table(("symbol", "name", "kind", "unit", "value"), tuple(rows))
