"""The order of the house: imports that run one way, one meaning per class name, numbers that are arguments."""

from __future__ import annotations

import ast
import gc
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from dalembert.core.codes import CODES

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted((SOURCE / "dalembert").rglob("*.py"))
# One file per kind, command, formalism or algorithm; decision 021 gives the reason for each.
LARGE = {
    "app/commands", "core", "mechanics/forces", "mechanics/joints", "mechanics/tree/algorithms", "model/forces",
    "model/joints", "symbolic/formalisms",
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


@pytest.fixture(autouse=True, scope="module")
def no_search_for_cycles() -> Iterator[None]:
    """A million nodes of syntax are looked through again and again while they are made: two thirds of the time."""
    gc.disable()
    yield
    gc.enable()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


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
        elif not isinstance(child, ast.expr):  # no expression holds an import
            yield from imports(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_import_closes_a_cycle_not_even_inside_a_function() -> None:
    graph = {
        name: {other for other, _ in imports(tree(path)) if (name, other) not in LATE} for name, path in MODULES.items()
    }
    assert "dalembert.core.errors" in graph["dalembert.linear.second_order"]
    assert "dalembert.linear.responses.harmonic" in graph["dalembert.linear.responding"]  # inside a function
    TopologicalSorter(graph).prepare()  # raises where there is a cycle, and names it


def test_every_folder_with_sub_folders_has_an_exhaustive_order() -> None:
    contracts = tomllib.loads((SOURCE.parent / "rooms.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [one for one in contracts if one["type"] == "layers"]
    assert [one["id"] for one in layers if not one.get("exhaustive")] == []
    nested = {folder.rpartition(".")[0] for folder in ROOMS}
    ordered = {name for one in layers for name in one["containers"]}
    # `dalembert` has its order in pyproject.toml
    assert sorted(nested - ordered - {"", "dalembert"}) == []


def test_a_class_name_has_one_meaning() -> None:
    names = Counter(
        node.name
        for path in FILES
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_types_of_arrays_are_defined_in_one_module() -> None:
    found = []
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                is_type = ast.unparse(node.value).rpartition("NDArray[")[0] in ("", "np.typing.", "npt.")
                if is_type and "NDArray[" in ast.unparse(node.value):
                    found += [(module(path), ast.unparse(one)) for one in targets]
    named = [one for one in found if one[1].endswith("Array")]
    assert {place for place, _ in named} == {"dalembert.core.arrays"}, named
    assert len(named) >= 5


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


def test_fewer_than_eight_percent_of_arguments_are_any() -> None:
    loose = total = 0
    for node in (node for path in FILES for node in nodes(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            named = [one.annotation for one in arguments if one.annotation is not None]
            total += len(named)
            loose += sum(isinstance(one, ast.Name) and one.id == "Any" for one in named)
    assert total > 10_000 and loose < 0.08 * total, f"{loose} of {total}"


PYTHON = re.compile(r"\bda\.\w|\bidentify\.\w|\brecord\.\w+\(|(?<![\w.'\"`{-])[A-Za-z_]\w*=(?!=)")
CARRIERS = re.compile(r"\w+(Error|Warning)|Interrupted|Finding")
BEYOND = {"ValueError", "TypeError", "AttributeError", "KeyError", "RuntimeError", "OSError", "AssertionError"}
BEYOND |= {"ArithmeticError", "LinAlgError", "PageError"}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Every call in the package, with its place and the name of what is called."""
    found = []
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                found.append((f"{file.relative_to(SOURCE / 'dalembert')}:{node.lineno}", name, node))
    return found


def written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) if isinstance(part, ast.Constant) else "some value" for part in node.values)
    if isinstance(node, ast.BinOp):
        return written(node.left) + written(node.right)
    return ""


def carriers() -> Iterator[tuple[str, ast.Call]]:
    """Calls that make an error, a warning or a finding of this package."""
    for place, name, node in calls():
        own = CARRIERS.fullmatch(name) and name not in BEYOND and not name.startswith(("Pydantic", "Validation"))
        if own and node.args and not isinstance(node.args[0], ast.Starred):
            yield place, node


def test_every_error_and_warning_has_a_code_that_is_explained() -> None:
    wrong = []
    for place, node in carriers():
        first = node.args[0]
        if isinstance(first, ast.Constant | ast.JoinedStr) and written(first) not in CODES:
            wrong.append(f"{place}: {written(first)[:80]}")
    assert not wrong, "\n".join(wrong)


def test_no_problem_and_no_advice_is_written_in_python() -> None:
    texts = [(place, written(node.args[1])) for place, node in carriers() if len(node.args) > 1]
    texts += [(place, written(node.args[0])) for place, name, node in calls() if name == "Advice" and node.args]
    assert len(texts) > 1000  # else this looks at nothing
    wrong = [f"{place}: {text}" for place, text in texts if PYTHON.search(text)]
    assert not wrong, "\n".join(wrong)


def test_an_advice_has_one_place_for_its_parts() -> None:
    """Any of the parts helps, so that all of them stand there: two places would repeat them."""
    sentences = [(place, written(node.args[0])) for place, name, node in calls() if name == "Advice" and node.args]
    wrong = [f"{place}: {text}" for place, text in sentences if text.count("{}") > 1]
    assert not wrong, "\n".join(wrong)


def test_tests_share_code_through_their_helpers_only() -> None:
    tests = Path(__file__).parents[1]
    foreign = re.compile(r"^ *from (tests\.(?!helpers\.)\w+\.(?!conftest)[\w.]+)", re.MULTILINE)
    texts = {path.relative_to(tests): path.read_text("utf-8") for path in sorted(tests.rglob("*.py"))}
    assert [f"{path}: {home}" for path, text in texts.items() for home in foreign.findall(text)] == []


def test_solvers_take_no_name_apart() -> None:
    """The owner of a channel is data of the equations; only names of accelerations are made of those of rates."""
    cuts = {"rpartition", "partition", "removesuffix", "endswith", "rsplit"}
    found = {
        f"{path.stem}.{function.name}"
        for path in FILES
        if "solve" in path.parts
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in cuts
    }
    assert found == {"prescribed_motion.acceleration_name"}


def test_only_an_assembly_reads_the_first_guess() -> None:
    """Others take a state, a pose to sample or the elastic coordinates of the equations."""
    found = {
        module(path)
        for path in FILES
        if "modular" not in path.parts  # whose parts have places of their own
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr == "placement"
    }
    assembly = {"dalembert.solve.position.assemble", "dalembert.solve.position.assemble_together"}
    assert found == assembly | {"dalembert.equations.equations_of_motion"}


DECLARED = (
    "app", "control", "equations", "estimate", "identify", "linear", "loop", "model", "numerics", "sweeps", "symbolic",
    "tree",
)  # fmt: skip
# rooms whose arguments, results and judgements are declared (decision 056); the list grows
ROUND = {0.0, 0.5, 1.0, 2.0}  # signs, halves and doubles are no tuned numbers


def tuned(node: ast.expr | None) -> bool:
    """Whether an expression is a number that somebody chose."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return is_number and node.value not in ROUND and (type(node.value) is float or abs(node.value) > 9)


def test_a_number_that_decides_is_an_argument() -> None:
    """It has its default and its reason where the decision is taken: no constant, class of thresholds or literal."""
    wrong = []
    for path in FILES:
        if path.relative_to(SOURCE / "dalembert").parts[0] not in DECLARED:
            continue
        constants = [node.value for node in tree(path).body if isinstance(node, ast.Assign | ast.AnnAssign)]
        compared = [side for node in nodes(path) if isinstance(node, ast.Compare)
                    for part in (node.left, *node.comparators) for side in ast.walk(part)]  # fmt: skip
        numbers = [node for node in (*constants, *compared) if node is not None and tuned(node)]
        wrong += [f"{module(path)}:{node.lineno}" for node in numbers]
        for node in tree(path).body:
            fields = [line for line in getattr(node, "body", ()) if isinstance(line, ast.AnnAssign)]
            plain = [line for line in fields if ast.unparse(line.annotation) in ("int", "float")]  # not a declared kind
            if isinstance(node, ast.ClassDef) and plain and all(tuned(line.value) for line in fields):
                wrong.append(f"{module(path)}:{node.name}")
    assert wrong == []
