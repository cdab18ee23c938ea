"""Identity of a trial: a digest of everything that changes its results, by the name of its argument.

A value counts by its contents: numbers and arrays bit by bit, records by their channels, equations and laws by their
expressions, other objects by their fields. A function counts by its code, defaults, the values that it encloses and the
global values that it names; functions and classes of installed packages count by their names and enclosed values.
Digests do not depend on process, addresses or the order of sets. They hold for one version of Python and of CasADi.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice
from dalembert.record import Record

PLAIN = (type(None), bool, int, str, bytes, complex, type(...), range, slice)
CODE = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
        "co_posonlyargcount", "co_kwonlyargcount", "co_flags")  # fmt: skip
MADE_LATER = {"_made", "_kernels", "_shared"}  # attributes of this package that hold expressions and code once made
INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))


def identify_trial(trial: object) -> dict[str, str]:
    """Digests of a trial by the names of its parts: arguments of a `Simulation`, fields, enclosed and global values."""
    walk = _Walk()
    if isinstance(trial, FunctionType):
        name = f"{trial.__module__}.{trial.__qualname__}"
        parts: dict[str, Any] = {"the function": (name, trial.__code__), **_values_of(trial, walk)}
    elif is_dataclass(trial):
        parts = {"the function": type(trial), **{field.name: getattr(trial, field.name) for field in fields(trial)}}
        parts |= parts.pop("options", None) or {}  # of a simulation, each by its own name
    else:
        parts = {"the function": trial}
    texts = {}
    for name, value in parts.items():
        try:
            texts[name] = walk.digest(value).hex()[:32]
        except (TypeError, AttributeError, ValueError, RuntimeError, RecursionError) as error:
            raise DataError(
                "not-supported", f"a store needs to know the trial again, but {name} cannot be compared: {error}.",
                Advice("Give values, records, or functions at the top of a module; or leave out the store."),
                where={"argument": name},
            ) from error  # fmt: skip
    return texts


class _Walk:
    """Digests of nested values; objects that contain themselves count by the distance to where they were met."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, bytes]] = {}  # with the value, so that no other takes its address
        self.open: list[int] = []

    def digest(self, value: Any) -> bytes:
        key = id(value)
        if key in self.done:
            return self.done[key][1]
        if key in self.open:
            return b"itself %d" % (len(self.open) - self.open.index(key))
        self.open.append(key)
        try:
            kind, items = self.contents(value)
            text = hashlib.sha256(kind.encode() + b"".join(b"|" + self.digest(item) for item in items))
        finally:
            self.open.pop()
        self.done[key] = (value, text.digest())
        return text.digest()

    def contents(self, value: Any) -> tuple[str, Sequence[Any]]:
        """The kind of a value, with its own text where it is a simple one, and its parts."""
        if isinstance(value, Enum) or type(value) in PLAIN:
            return f"{type(value).__name__} {value!r}", ()
        if isinstance(value, float):
            return f"float {float(value).hex()}", ()
        if isinstance(value, np.ndarray | np.generic | ca.DM) and np.asarray(value).dtype.kind != "O":
            array = np.asarray(value)
            return f"array {array.dtype.str} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}", ()
        if isinstance(value, Record):
            return "record", (value.time, value.data, value.names, value.units)
        if isinstance(value, ca.Function):
            return f"expression {value.serialize()}", ()
        if isinstance(getattr(value, "content_hash", None), str):
            return f"equations {value.content_hash}", ()
        if isinstance(value, Mapping) and not is_dataclass(value):
            return "mapping", [x for k in sorted(value, key=self.digest) for x in (k, value[k])]
        if isinstance(value, Set):
            return "set", sorted(value, key=self.digest)
        if isinstance(value, list | tuple | np.ndarray):
            return "sequence", list(value)
        if isinstance(value, CodeType):
            return "code", [getattr(value, name) for name in CODE]
        if isinstance(value, FunctionType | type | ModuleType) or hasattr(value, "__wrapped__"):
            return self.definition(value)
        if isinstance(value, MethodType):
            return "method", (value.__func__, value.__self__)
        if isinstance(value, property | functools.cached_property | classmethod | staticmethod):
            return type(value).__name__, [getattr(value, n, None) for n in ("fget", "func", "__func__")]
        if is_dataclass(value):
            return "object", (type(value), [getattr(value, field.name) for field in fields(value)])
        return self.reduced(value)

    def definition(self, value: Any) -> tuple[str, Sequence[Any]]:
        """A function, class or module: by its name, and by its code unless it is installed."""
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
        if isinstance(value, FunctionType):
            return f"function {name}", (_code_of(value), _values_of(value, self))
        if hasattr(value, "__wrapped__"):
            return f"function {name}", (value.__wrapped__,)
        if isinstance(value, ModuleType) or _is_installed(value.__module__):
            return name, ()
        kinds = (FunctionType, property, functools.cached_property, classmethod, staticmethod, float, *PLAIN[1:6])
        state = {k: x for k, x in vars(value).items() if isinstance(x, kinds) and k not in ("__module__", "__doc__")}
        return f"class {name}", (value.__bases__, state)

    def reduced(self, value: Any) -> tuple[str, Sequence[Any]]:
        """Any other object: as it would be sent to another process, without values that it only keeps for later."""
        parts = value.__reduce_ex__(4)
        if isinstance(parts, str):
            return f"global {type(value).__module__} {parts}", ()
        make, arguments, state, entries, pairs = (*parts, None, None, None)[:5]
        if isinstance(state, Mapping):
            members = [pair for base in type(value).__mro__ for pair in vars(base).items()]
            later = {name for name, member in members if isinstance(member, functools.cached_property)}
            later |= MADE_LATER if type(value).__module__.startswith("dalembert.") else set()
            state = {name: item for name, item in state.items() if name not in later}
        return "object", (make, arguments, state, list(entries or ()), list(pairs or ()))


def _code_of(function: FunctionType) -> object:
    return None if _is_installed(function.__module__) else function.__code__


def _values_of(function: FunctionType, walk: _Walk) -> dict[str, Any]:
    """Defaults of a function, the values that it encloses, and global ones that it names."""
    values: dict[str, Any] = {"its defaults": (function.__defaults__, function.__kwdefaults__)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not yet assigned
            values[f"value {name}"] = cell.cell_contents
    if _is_installed(function.__module__):
        return values
    names = sorted(set(_names_in(function.__code__)))
    used = [function.__globals__.get(name) for name in names]
    modules = [x for x in used if isinstance(x, ModuleType) and not _is_installed(x.__name__)]
    spaces = [function.__globals__, *map(vars, modules)]
    for name, value in ((n, space[n]) for space in spaces for n in names if n in space):
        try:
            walk.digest(value)
            values.setdefault(f"value {name}", value)
        except (TypeError, AttributeError, ValueError, RuntimeError):  # a lock, a file: no number depends on it
            values.setdefault(f"value {name}", type(value))
    return values


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to this package or to an installed one."""
    root = str(module).partition(".")[0]
    if root == "dalembert" or root in sys.stdlib_module_names:
        return True
    return (getattr(sys.modules.get(root), "__file__", None) or "").startswith(INSTALLED)
