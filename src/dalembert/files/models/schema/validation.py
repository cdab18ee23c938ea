"""Problems that pydantic finds, as findings in this package's words and with the nearest known name."""

from __future__ import annotations

import difflib
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from dalembert.core.errors import unknown_name
from dalembert.core.findings import Finding
from dalembert.files.models.schema.document import model_type
from dalembert.files.models.text.sources import shorten


def place_of(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The place in the document: pydantic's location without the names of the forms it tried."""
    place: list[int | str] = []
    here: Any = model_type()
    for step in location:
        if step == "[key]":
            continue
        if not _is_union(_plain(here)):
            place.append(step)
        here = _step(here, step)
    return tuple(place)


_CODES = {
    "finite": "not-finite", "too_long": "too-large", "string_too_long": "too-large", "too_short": "empty",
    "string_too_short": "empty",
}  # fmt: skip
_GIVEN = ("form", "value", "finite", "list", "matrix")  # errors of `values`: their messages show the value


def finding_of(problem: Any, where: tuple[int | str, ...]) -> Finding:
    """A problem that pydantic found."""
    kind, context = problem["type"], problem.get("ctx", {})
    path = _path(where)
    if kind == "extra_forbidden":
        names = keys_at(problem["loc"][:-1])
        return Finding("unknown-argument", unknown_name("key", str(problem["loc"][-1]), names, _owner(where[:-1])))
    if kind == "missing":
        return Finding("missing-argument", f"{_owner(where[:-1])} needs the key {where[-1]!r}.")
    if kind == "union_tag_invalid":
        names = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        return Finding("unknown-name", f"{path}: {unknown_name('type', str(context['tag']), names)}")
    if kind == "union_tag_not_found":
        return Finding("missing-argument", f"{path} needs a type.")
    if kind == "literal_error":
        return Finding("unknown-choice", f"{path}: expected {context['expected']}, got {_quote_input(problem)}.")
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return Finding("wrong-type", f"{path or 'the file'}: expected a table, got {_quote_input(problem)}.")
    message = problem["msg"][0].lower() + problem["msg"][1:]
    shown = "" if kind in _GIVEN else f" (got {_quote_input(problem)})"
    return Finding(_CODES.get(kind, "wrong-type"), f"{path}: {message.rstrip('.')}{shown}.")


def _quote_input(problem: Any) -> str:
    return shorten(repr(problem["input"]))


def _owner(where: tuple[int | str, ...]) -> str:
    return _path(where) or "the file"


def _path(where: tuple[int | str, ...]) -> str:
    """A place as it is written in messages: bodies.rod.mass."""
    return ".".join(shorten(str(step)) for step in where)


def keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Keys that a table at this location of pydantic may have."""
    here = kind_at(location)
    return [] if here is None else [field.alias or key for key, field in here.model_fields.items()]


def kind_at(location: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The table at this location of pydantic, None where it may be one of several."""
    here: Any = model_type()
    for step in location:
        here = _step(here, step)
        if here is None:
            return None
    here = _plain(here)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def near_kind(location: tuple[int | str, ...], table: dict[str, Any]) -> type[BaseModel] | None:
    """That of several tables whose type is nearest to the misspelt one of a table."""
    here: Any = model_type()
    for step in location:
        here = _step(here, step)
    tags = {name: member for member in _members(_plain(here)) for name in _tags(member)}
    near = difflib.get_close_matches(str(table.get("type")), tags, n=1, cutoff=0.5)
    return _plain(tags[near[0]]) if near else None


def _plain(kind: Any) -> Any:
    """Without Annotated, and without None."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if _is_union(kind):
        members = [m for m in get_args(kind) if m is not type(None)]
        if len(members) == 1:
            return _plain(members[0])
    return kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _step(kind: Any, step: int | str) -> Any:
    kind = _plain(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_fields[str(step)].annotation if str(step) in kind.model_fields else None
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    if get_origin(kind) is list:
        return get_args(kind)[0]
    if _is_union(kind):
        return next((m for m in _members(kind) if _has_tag(m, str(step))), None)
    return None


def _members(kind: Any) -> list[Any]:
    """Members of a union, also of unions inside it."""
    problems: list[Any] = []
    for member in get_args(kind):
        inner = _plain(member)
        problems += _members(inner) if _is_union(inner) else [member]
    return problems


def _has_tag(member: Any, tag: str) -> bool:
    if any(isinstance(mark, Tag) and mark.tag == tag for mark in getattr(member, "__metadata__", ())):
        return True
    return tag in _tags(member)


def _tags(member: Any) -> tuple[str, ...]:
    """Types that a table of the file may call itself."""
    inner = _plain(member)
    if isinstance(inner, type) and issubclass(inner, BaseModel) and "type" in inner.model_fields:
        kind = inner.model_fields["type"].annotation
        return get_args(kind) if get_origin(kind) is Literal else ()
    return ()
