"""The order of the house: imports that run one way, one meaning per class name, numbers with a reason."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted((SOURCE / "dalembert").rglob("*.py"))
# One file per kind, command, formalism or algorithm; decision 021 gives the reason for each.
LARGE = {
    "app/commands", "mechanics/forces", "mechanics/joints", "mechanics/tree/algorithms", "model/joints",
    "symbolic/formalisms",
}  # fmt: skip
# `da.equations` of a system or of a part is registered beside its class and chooses a formalism or an analysis when it
# is called: decision 044 gives the reason.
LATE = {
    ("dalembert.symbolic.system", "dalembert.symbolic.derivation"),
    ("dalembert.symbolic.derivation", "dalembert.symbolic.formalisms.boltzmann_hamel"),
    ("dalembert.symbolic.derivation", "dalembert.symbolic.formalisms.kane"),
    ("dalembert.symbolic.derivation", "dalembert.symbolic.formalisms.lagrange"),
    ("dalembert.symbolic.derivation", "dalembert.symbolic.formalisms.virtual_work"),
    ("dalembert.symbolic.modular.parts", "dalembert.symbolic.modular.analysis.equations"),
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(path): path for path in FILES}


def shown(path: Path) -> dict[str, str]:
    """name -> module of the public names of a room, which load on first use."""
    blocks = [
        node for node in tree(path).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    return {one.asname or one.name: line.module or "" for line in lines for one in line.names}


ROOMS = {module(path): shown(path) for path in FILES if path.name == "__init__.py"}


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Modules of the package that a statement loads; a public name of a room counts as the module that holds it."""
    if isinstance(node, ast.Import):
        return {one.name for one in node.names} & MODULES.keys()
    home = node.module or ""
    found = set()
    for one in node.names:
        name = f"{home}.{one.name}"
        found.add(name if name in MODULES else ROOMS.get(home, {}).get(one.name, home))
    return found & MODULES.keys()


def imports(node: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Modules imported at run time, and whether by a function; imports for type checkers do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield from ((name, inside) for name in imported(child))
        yield from imports(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def reachable(graph: dict[str, set[str]], first: str) -> set[str]:
    found, left = set[str](), [first]
    while left:
        left += (new := graph[left.pop()] - found)
        found |= new
    return found


def test_no_import_closes_a_cycle_not_even_inside_a_function() -> None:
    graph = {
        name: {other for other, _ in imports(tree(path)) if (name, other) not in LATE} for name, path in MODULES.items()
    }
    assert "dalembert.core.errors" in graph["dalembert.linear.second_order"]
    assert "dalembert.linear.responses.harmonic" in graph["dalembert.linear.responding"]  # inside a function
    assert [name for name in graph if name in reachable(graph, name)] == []


def test_a_class_name_has_one_meaning() -> None:
    names = Counter(
        node.name
        for path in FILES
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_folders_hold_at_most_twelve_files_where_no_decision_says_otherwise() -> None:
    count = Counter(str(path.parent.relative_to(SOURCE / "dalembert")) for path in FILES if path.name != "__init__.py")
    assert {folder for folder, files in count.items() if files > 12} == LARGE
    page = (SOURCE.parent / "docs" / "decisions" / "021-rooms.md").read_text("utf-8")
    assert [folder for folder in sorted(LARGE) if f"`{folder}/`" not in page] == []


def test_every_file_that_the_map_of_the_house_names_exists() -> None:
    page = (SOURCE.parent / "docs" / "architecture.md").read_text("utf-8")
    rows = page.partition("## Where to find it")[2].splitlines()
    named = {path for row in rows if row.startswith("| ") for path in re.findall(r"`([\w/]+\.py)`", row)}
    assert len(named) >= 12
    assert [path for path in sorted(named) if not (SOURCE / "dalembert" / path).is_file()] == []
