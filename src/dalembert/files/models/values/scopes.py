"""Names and values of one file of a model: parameters, expressions, places, each problem with its line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dalembert.core.errors import DalembertError, DataError, unknown_name
from dalembert.core.findings import Advice
from dalembert.expressions import Quantity
from dalembert.files.models.text import arithmetic as ar
from dalembert.files.models.text import limits
from dalembert.files.models.text.arithmetic import ExpressionTree
from dalembert.files.models.text.sources import ModelSource, TooMany, shorten
from dalembert.files.models.values.laws import TIME
from dalembert.model import Body, Mechanism
from dalembert.model.flexible import FlexibleBodyData
from dalembert.record.units import KINDS, UNITS, Dimension, unit_text

Where = tuple[str | int, ...]


class Folders:
    """Where the files of a model may lie; paths of files are kept resolved, so that no link leads outside."""

    def __init__(self, root: Path | None, allow_outside: bool) -> None:
        self.root = root  # None: the model has no folder, nothing can be read beside it
        self.allow_outside = allow_outside
        self.trail: list[Path] = []  # files being read, the outermost first


class Skip(Exception):
    """A part cannot be made; its problems have been noted."""


class Parts:
    """The parts made so far of all files: bodies, and the place of every part in its file."""

    def __init__(self, m: Mechanism) -> None:
        self.m = m
        self.bodies: dict[str, Body] = {}
        self.data: dict[Path, FlexibleBodyData] = {}  # of data files, each read once
        self.places: dict[str, tuple[ModelSource, Where]] = {}  # part -> its table
        self.failed: set[str] = set()
        self.laws: list[tuple[ModelSource, Where, list[str], str]] = []  # names used by laws of the state
        self.wanted: list[tuple[ModelSource, Where, str, str]] = []  # coordinates that refused parts name
        self.includes = 0
        self.operations = 0  # of all expressions

    def is_refused(self, name: str) -> bool:
        """Whether a part, or the one it belongs to, could not be made: ``leg.foot.angle`` where ``leg`` failed."""
        while name:
            if name in self.failed:
                return True
            name = name.rpartition(".")[0]
        return False


class Scope:
    """One file: the meaning of its names."""

    def __init__(
        self, source: ModelSource, model: Any, parts: Parts, prefix: str, ground: Body, folders: Folders
    ) -> None:
        self.source = source
        self.model = model
        self.parts = parts
        self.m = parts.m
        self.prefix = prefix
        self.ground = ground
        self.folders = folders
        self.declared = {*model.constants, *model.parameters}
        self.trees: dict[str, ExpressionTree] = {}  # parameter -> its expression in full names
        self.dimensions: dict[str, Dimension | None] = {}
        for section, *names in source.dropped:
            if names and section not in ("start", "simulate"):
                self._refuse(str(section), [str(name) for name in names])

    def _refuse(self, section: str, names: list[str]) -> None:
        """Names left out of the file count as known, so that parts that use them are not reported."""
        if section == "ground" and names[0] == "points" and len(names) == 2:
            self.parts.failed.add(f"{self.ground.name}.{names[1]}")
        elif len(names) == 1:
            self.parts.failed.add(self.full(names[0]))
            if section in ("constants", "parameters"):
                self.declared.add(names[0])
        elif section == "bodies" and names[1] == "points" and len(names) == 3:
            self.parts.failed.add(f"{self.full(names[0])}.{names[2]}")

    # -- problems ---------------------------------------------------------------------------------------------------
    def refuse(self, where: Where, code: str, problem: str, *advice: Advice) -> Skip:
        """Note a problem; the returned exception ends the part."""
        self.source.report(where, code, problem, *advice)
        return Skip()

    def refuse_if(self, wrong: object, where: Where, code: str, problem: str, *advice: Advice) -> None:
        """Note a problem and end the part, where something is wrong."""
        if wrong:
            raise self.refuse(where, code, problem, *advice)

    @contextmanager
    def part(self, where: Where, name: str | None = None) -> Iterator[None]:
        """A failure inside is noted at the line of the part, and the rest continues."""
        if name is not None:
            self.parts.places.setdefault(name, (self.source, where))
        try:
            yield
        except Skip:
            self.parts.failed.add(name or "")
        except DalembertError as error:
            self.parts.failed.add(name or "")
            self.source.note(where, error.finding)
        except (ArithmeticError, TypeError, ValueError):  # derived numbers that overflow or are not real
            self.parts.failed.add(name or "")
            self.source.report(where, "not-finite", "its numbers have no finite real values together.")

    def full(self, name: str) -> str:
        return f"{self.prefix}{name}"

    # -- parameters -------------------------------------------------------------------------------------------------
    def define(self, overrides: Mapping[str, tuple[ExpressionTree, Dimension | None]]) -> None:
        """Constants and parameters of the file; values given from outside replace its own."""
        twice = [key for key in self.model.parameters if key in self.model.constants]
        for key in twice:
            self.source.report(("parameters", key), "taken-name", f"{key!r} is a constant already.")
        self._define("constants", self.model.constants, overrides)
        self._define("parameters", self.model.parameters, overrides)

    def _define(self, section: str, given: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        """One section, with names in any order."""
        waiting: dict[str, ExpressionTree] = {}
        for key, raw in given.items():
            where = (section, key)
            with self.part(where, self.full(key)):
                problem = f"a parameter may not be called {key!r}."
                self.refuse_if(key in (TIME, *ar.CONSTANTS), where, "bad-name", problem)
                tree, dimension = overrides[key] if key in overrides else (self.parse(raw, where), None)
                if key not in overrides and any(name not in ar.CONSTANTS for name in tree.names()):
                    waiting[key] = tree
                    continue
                if key not in overrides:
                    dimension = self.dimension(tree, where)
                    tree = self.resolve(tree, where)
                self.settle(section, key, tree, dimension)
        self._define_derived(section, waiting)

    def _define_derived(self, section: str, waiting: dict[str, ExpressionTree]) -> None:
        """Names that depend on others: each as soon as those it needs are defined."""
        needs = {key: {n for n in tree.names() if n in waiting} for key, tree in waiting.items()}
        users: dict[str, list[str]] = defaultdict(list)
        for key, names in needs.items():
            for name in names:
                users[name].append(key)
        ready = [key for key, names in needs.items() if not names]
        while ready:
            key = ready.pop()
            where = (section, key)
            with self.part(where, self.full(key)):
                self.settle(section, key, self.resolve(waiting[key], where), self.dimension(waiting[key], where))
            del needs[key]
            for user in users[key]:
                needs[user].discard(key)
                if not needs[user]:
                    ready.append(user)
        for key in needs:
            self.source.report((section, key), "circular-definition", f"{key!r} depends on itself.")
            self.parts.failed.add(self.full(key))

    def settle(self, section: str, key: str, tree: ExpressionTree, dimension: Dimension | None) -> None:
        """A constant is its number. A plain number becomes a parameter of the mechanism, an expression stays one."""
        now = ar.value(tree, self.lookup)
        if section == "constants":
            if isinstance(now, Quantity):
                problem = f"constant {key!r} depends on a parameter."
                raise self.refuse((section, key), "not-constant", problem, Advice("Make it a parameter too."))
            tree = ar.number(now)
        elif not isinstance(now, Quantity):
            self.m.parameter(self.full(key), now)
            tree = ar.name(self.full(key))
        self.trees[key], self.dimensions[key] = tree, dimension

    def lookup(self, name: str) -> Quantity:
        return Quantity.parameter(name, self.m.parameters[name])

    def parse(self, raw: Any, where: Where) -> ExpressionTree:
        if not isinstance(raw, str):
            return ar.number(raw)
        try:
            tree = ar.parse(raw)
        except DataError as error:
            raise self.refuse(where, error.code, f"{shorten(raw)!r}: {error}") from None
        self.parts.operations += tree.size
        if self.parts.operations > limits.OPERATIONS:
            problem = f"the expressions of the model have more than {limits.OPERATIONS} operations."
            self.source.report(where, "too-large", problem)
            raise TooMany
        return tree

    def resolve(
        self, tree: ExpressionTree, where: Where, special: tuple[str, ...] = (), state: bool = False
    ) -> ExpressionTree:
        """The tree in full names: parameters written out, state names with the scope before them."""

        def rename(name: str) -> ExpressionTree:
            if name in special:
                return ar.name(name)
            if name in self.trees:
                return self.trees[name]
            if name in ar.CONSTANTS:
                return ar.number(ar.CONSTANTS[name])
            if self.full(name) in self.parts.failed and name in self.declared:
                raise Skip  # it has been complained about
            if state:
                return ar.name(self.full(name))
            names = [*self.declared, *self.trees, *ar.CONSTANTS, *special]
            raise self.refuse(where, "unknown-name", describe_unknown("parameter", name, names), *_unit_hint(name))

        try:
            return tree.rename(rename)
        except DataError as error:
            raise self.refuse(where, error.code, str(error)) from None

    def dimension(self, tree: ExpressionTree, where: Where) -> Dimension | None:
        try:
            return ar.dimension_of(tree, lambda name: self.dimensions.get(name))
        except DataError as error:
            raise self.refuse(where, error.code, str(error)) from None

    # -- values -----------------------------------------------------------------------------------------------------
    def number(self, raw: object, kind: str, where: Where) -> Any:
        """A float, or a parameter expression."""
        if not isinstance(raw, str):
            return raw
        tree = self.parse(raw, where)
        dimension = self.dimension(tree, where)
        if kind and dimension is not None and dimension != KINDS[kind][1]:
            wanted = KINDS[kind][0] or "a plain number"
            problem = f"{shorten(raw)!r} is in {unit_text(dimension)}; expected {kind} [{wanted}]."
            raise self.refuse(where, "unit-mismatch", problem)
        tree = self.resolve(tree, where)
        try:
            return ar.value(tree, self.lookup)
        except DataError as error:
            raise self.refuse(where, error.code, f"{shorten(raw)!r}: {error}") from None

    def numbers(self, raw: object, kind: str, where: Where) -> Any:
        """A number, or lists of numbers."""
        if isinstance(raw, list):
            return [self.numbers(x, kind, (*where, k)) for k, x in enumerate(raw)]
        return self.number(raw, kind, where)

    def get(self, table: Any, key: str, where: Where) -> Any:
        """The value of a key as numbers, checked against the dimension it was declared with."""
        from dalembert.files.models.schema.values import declared_kind

        raw = getattr(table, key)
        return None if raw is None else self.numbers(raw, declared_kind(table, key) or "", (*where, key))

    def law(self, make: Callable[..., Any], raws: list[Any], where: Where, special: tuple[str, ...] = (),
            state: bool = False) -> Any:  # fmt: skip
        """A law of the given class from expressions."""
        trees = []
        for raw in raws:
            tree = self.parse(raw, where)
            self.dimension(tree, where)
            trees.append(self.resolve(tree, where, special, state))
        used = list(dict.fromkeys(name for tree in trees for name in tree.names()))
        if state:
            names = [n for n in used if n not in special and n not in self.m.parameters]
            self.parts.laws.append((self.source, where, names, self.prefix))
        return make(tuple(trees), {n: self.m.parameters[n] for n in used if n in self.m.parameters})

    def depends(self, raws: list[Any], where: Where) -> bool:
        """Whether expressions use more than parameters."""
        names = {*self.trees, *ar.CONSTANTS, *self.declared}
        return any(n not in names for raw in raws for n in self.parse(raw, where).names())

    # -- bodies -----------------------------------------------------------------------------------------------------
    def body(self, name: str, where: Where) -> Body:
        target = self.find_body(name)
        if target is None:
            if self.parts.is_refused(self.full(name)):
                raise Skip
            names = [n.removeprefix(self.prefix) for n in self.parts.bodies if n.startswith(self.prefix)]
            names += self.refused_names("bodies")
            raise self.refuse(where, "unknown-name", describe_unknown("body", name, [*names, "ground"]))
        return target

    def refused_names(self, section: str) -> list[str]:
        """Names of a section that exist in the file, but could not be made."""
        table = self.source.document.get(section)
        return [n for n in table if self.full(n) in self.parts.failed] if isinstance(table, dict) else []

    def find_body(self, name: str) -> Body | None:
        return self.ground if name == "ground" else self.parts.bodies.get(self.full(name))


def _unit_hint(name: str) -> list[Advice]:
    """``4 kN*s/m`` reads as 4 kN times something called s: a g may be meant as a parameter, so that is not guessed."""
    if name not in UNITS:
        return []
    return [Advice(f"If the unit {name} is meant: units follow their number with blanks between, as in '4 kN s/m'.")]


def describe_unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> str:
    """Message for a name that does not exist; of very many known ones only those that begin alike are compared."""
    names = list(known)
    if len(names) > limits.NAMES_COMPARED:
        names = [n for n in names if n[:2] == name[:2]][: limits.NAMES_COMPARED] or names[: limits.NAMES_COMPARED]
    return unknown_name(kind, name, names, where)
