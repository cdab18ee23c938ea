"""The public namespace: complete, lazy, and the same for people and type checkers."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys

import pytest

import dalembert as da


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def imported_by(code: str) -> set[str]:
    """Top-level modules that `code` loads in a new interpreter, beyond those it starts with."""
    program = f"import json, sys\nbefore = set(sys.modules)\n{code}\nprint(json.dumps(list(set(sys.modules) - before)))"
    return {name.split(".")[0] for name in json.loads(fresh(program))}


def test_importing_the_package_loads_no_third_party_module():
    loaded = imported_by("import dalembert")
    assert loaded - set(sys.stdlib_module_names) == {"dalembert"}


def test_importing_the_command_line_loads_no_numerical_module():
    loaded = imported_by("import dalembert.cli")
    assert not loaded & {"casadi", "numpy", "scipy", "matplotlib", "pandas", "xarray"}


@pytest.mark.parametrize("name", da.__all__)
def test_every_public_name_resolves(name):
    assert getattr(da, name) is not None


def test_a_public_name_is_the_object_of_its_module():
    from dalembert.errors import ModelError

    assert da.ModelError is ModelError


def test_dir_shows_every_public_name():
    assert set(dir(da)) == set(da.__all__)


def test_an_unknown_name_suggests_the_nearest_one():
    with pytest.raises(AttributeError, match="Did you mean 'simulate'"):
        da.simulat


def test_equations_stays_the_function_after_its_namesake_module_is_imported():
    code = "import dalembert.equations\nimport dalembert as da\nprint(callable(da.equations))"
    assert fresh(code).strip() == "True"


def test_type_checkers_see_the_same_names_as_people():
    block = next(
        node
        for node in ast.parse(inspect.getsource(da)).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    shown = {
        alias.asname or alias.name: (statement.module, alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert shown == da._PUBLIC
