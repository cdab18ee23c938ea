"""Public names of a package, loaded on first use.

A package shows its names to type checkers once, in its ``if TYPE_CHECKING:`` block; :func:`attach` reads that block, so
that the same lines serve people. Importing the package then imports nothing else.
"""

from __future__ import annotations

import ast
import importlib
import sys
from types import ModuleType
from typing import Any


def attach(package: str, **renamed: str) -> list[str]:
    """Make the names of ``package`` load on first use, and return them (for ``__all__``).

    renamed : former name -> present name; a message gives it to whoever uses the former one.

    A public name hides a module of the same name: importing a submodule binds it as an attribute of its package, and
    the meaning of ``da.equations`` would depend on the order of imports.
    """
    module = sys.modules[package]
    public = _read_names(module.__spec__.loader.get_source(package))  # type: ignore[union-attr]

    def load(name: str) -> Any:
        try:
            home, attribute = public[name]
        except KeyError:
            if name.startswith("__"):  # Python, notebooks and collectors of tests ask for many: nothing is looked up
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
            from dalembert.core.errors import unknown_name

            here = package.replace("dalembert", "da", 1)
            heir = f"{here}.{renamed[name]}" if name in renamed else _find_elsewhere(name)
            if heir:
                raise AttributeError(f"no public name named {name!r} in {package}. Use {heir}.") from None
            raise AttributeError(unknown_name("public name", name, public, package)) from None
        if home == package:
            value: Any = importlib.import_module(f"{home}.{attribute}")
        else:
            value = getattr(importlib.import_module(home), attribute)
        vars(module)[name] = value
        return value

    class Package(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            hidden = name in public and public[name][0] != package
            if not (hidden and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    module.__class__ = Package
    vars(module).update(__getattr__=load, __dir__=lambda: sorted(vars(module)["__all__"]))
    return list(public)


def _find_elsewhere(name: str) -> str:
    """``"da.math.sqrt"`` for ``"sqrt"``: a public name of the package or of its public modules, or nothing."""
    if name.startswith("_"):  # asked for by Python and by notebooks: import nothing
        return ""
    root = importlib.import_module("dalembert")
    public = _read_names(root.__spec__.loader.get_source("dalembert"))  # type: ignore[union-attr]
    if name in public:
        return f"da.{name}"
    modules = [attribute for home, attribute in public.values() if home == "dalembert"]
    return next((f"da.{module}.{name}" for module in modules if name in getattr(root, module).__all__), "")


def _read_names(source: str) -> dict[str, tuple[str, str]]:
    """name -> (module, attribute) of the imports under ``if TYPE_CHECKING:``."""
    body = ast.parse(source).body
    block = next(node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
