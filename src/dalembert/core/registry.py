"""Kinds of one sort (joints, forces, integrators, commands, ...), by name.

A kind is declared in a file of its own, which registers it; nothing else names it. The files of one package of
dalembert are the built-in kinds. Modules that installed packages name as entry points of the registry's group are
added to them. Both are imported at the first lookup, so that an import of the registry costs nothing.

    JOINTS: Registry[JointKind] = Registry("joint kind", package="dalembert.model.joints", group="dalembert.joints")

    JOINTS.register("screw", JointKind(...))    # in the file of the kind
    JOINTS["screw"]                             # where kinds are used; an unknown name raises with the known ones
    for name, kind in JOINTS.items(): ...       # built-in kinds first, then those of other packages
"""

from __future__ import annotations

import importlib.util
import pkgutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from dalembert.core.errors import DalembertError, ModelError, ModelWarning, unknown_name

Kind = TypeVar("Kind")


def _warn(message: str) -> None:
    warnings.warn(ModelWarning("kind-not-loaded", message), stacklevel=2)


def kind_files(package: str, group: str) -> list[str]:
    """Names of the files of a package and of the entry points of a group, with dashes; none of them is imported."""
    from importlib.metadata import entry_points

    folders = (importlib.util.find_spec(package) or sys.modules[package].__spec__).submodule_search_locations  # type: ignore[union-attr]
    names = [
        *(file.name for file in pkgutil.iter_modules(folders)),
        *(entry.name for entry in entry_points(group=group)),
    ]
    return [name.replace("_", "-") for name in names]


class Registry(Mapping[str, Kind], Generic[Kind]):
    """Kinds by name. Order: `order`; else files of the package by name, then other kinds as registered.

    sort : what the kinds are, for messages: "joint kind".  package : its files declare the built-in kinds.
    group : entry points of this group name modules that declare further kinds.
    order : sort key of a kind.  error : raised for an unknown or taken name.
    report : called with a message for an entry point that does not load; a warning by default.
    added : called with the name and the kind after each registration.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> shapes.register("disc", 3.14)
    3.14
    >>> shapes["disk"]
    Traceback (most recent call last):
    dalembert.core.errors.ModelError: no shape named 'disk'. Did you mean 'disc'? Known: disc.
    """

    def __init__(
        self,
        sort: str,
        *,
        package: str | None = None,
        group: str | None = None,
        order: Callable[[Kind], Any] | None = None,
        error: type[DalembertError] = ModelError,
        report: Callable[[str], None] = _warn,
        added: Callable[[str, Kind], None] | None = None,
    ) -> None:
        self.sort = sort
        self.group = group
        self._package = package
        self._order = order
        self._error = error
        self._report = report
        self._added = added
        self._kinds: dict[str, Kind] = {}
        self._homes: dict[str, str] = {}
        self._loaded: set[str] = set()  # "package", "group"
        self._lock = threading.RLock()

    def register(self, name: str, kind: Kind, *, module: str | None = None) -> Kind:
        """Add a kind and return it. The module that declared a name may declare it again; another one may not.

        module : where the kind is declared; the caller's module by default.
        """
        home: str = module or sys._getframe(1).f_globals["__name__"]
        if not (self._package and home.startswith(f"{self._package}.")):  # a built-in file loads no other one
            self.load_package()
        if self._homes.get(name, home) != home:
            problem = f"{self._homes[name]} already declares a {self.sort} {name!r}."
            raise self._error("taken-name", problem, where={"name": name, "module": self._homes[name]})
        self._kinds[name], self._homes[name] = kind, home
        if self._added is not None:
            self._added(name, kind)
        return kind

    def unregister(self, name: str) -> None:
        """Remove a kind, for tests."""
        del self._kinds[name], self._homes[name]

    def __getitem__(self, name: str) -> Kind:
        self._load()
        try:
            return self._kinds[name]
        except (KeyError, TypeError):  # a list is no name
            problem = unknown_name(self.sort, name, self._kinds)
            raise self._error("unknown-name", problem, where={"name": name}) from None

    def __repr__(self) -> str:
        return f"Registry({self.sort}: {', '.join(self)}; entry points {self.group})"

    def __contains__(self, name: object) -> bool:
        self._load()
        return isinstance(name, str) and name in self._kinds

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._kinds, key=self._key))

    def __len__(self) -> int:
        self._load()
        return len(self._kinds)

    def get(self, name: str, default: object = None) -> Any:
        """The kind of this name, or the default."""
        return self._kinds[name] if name in self else default

    @property
    def homes(self) -> dict[str, str]:
        """Modules that declare the kinds, by name."""
        self._load()
        return dict(self._homes)

    def _key(self, name: str) -> Any:
        if self._order is not None:
            return self._order(self._kinds[name])
        home = self._homes[name]  # whichever file was imported first
        return (0, home) if self._package and home.startswith(f"{self._package}.") else (1, "")

    def _load(self) -> None:
        self.load_package()
        self._load_group()

    def load_package(self) -> None:
        """Import the built-in kinds; a lookup also imports those of other packages."""
        with self._lock:
            if self._package is None or "package" in self._loaded:
                return
            self._loaded.add("package")  # before the imports: the files register themselves
            for file in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
                importlib.import_module(f"{self._package}.{file.name}")

    def _load_group(self) -> None:
        with self._lock:
            if self.group is None or "group" in self._loaded:
                return
            self._loaded.add("group")
            from importlib.metadata import entry_points

            for point in entry_points(group=self.group):
                try:
                    point.load()
                except Exception as error:  # the other kinds still work
                    self._report(f"{self.sort} {point.name!r} ({point.value}) does not load: {error}")
