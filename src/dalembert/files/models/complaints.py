"""What pydantic finds wrong, in this package's words and with did-you-mean."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from dalembert.errors import unknown_name
from dalembert.files.models.schema import Model
from dalembert.files.models.sources import Source


def validated(source: Source) -> Any:
    """The document as a `Model`, or None when something is wrong with it (and has been noted)."""
    try:
        return Model.model_validate(source.document)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            where = _where(source.document, problem["loc"])
            source.problem(where, _message(problem, where))
        return None


def _where(document: Any, location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The place in the document: pydantic's location without the names of the forms it tried."""
    place: list[int | str] = []
    here = document
    for k, step in enumerate(location):
        inside = step in here if isinstance(here, dict) else isinstance(here, list) and step in range(len(here))
        if inside:
            here = here[step]
        elif k + 1 < len(location) or step == "[key]":
            continue
        place.append(step)
    return tuple(place)


def _message(problem: Any, where: tuple[int | str, ...]) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    path = _path(where)
    if kind == "extra_forbidden":
        return unknown_name("key", str(problem["loc"][-1]), keys_at(problem["loc"][:-1]), _owner(where[:-1]))
    if kind == "missing":
        return f"{_owner(where[:-1])} needs the key {where[-1]!r}."
    if kind == "union_tag_invalid":
        known = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        return f"{path}: {unknown_name('type', str(context['tag']), known)}"
    if kind == "union_tag_not_found":
        return f"{path} needs a type."
    if kind == "literal_error":
        return f"{path}: expected {context['expected']}, got {_short(problem['input'])}."
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return f"{path or 'the file'}: expected a table, got {_short(problem['input'])}."
    message = problem["msg"][0].lower() + problem["msg"][1:]
    got = "" if ", got " in message or kind == "form" else f" (got {_short(problem['input'])})"
    return f"{path}: {message.rstrip('.')}{got}."


def _owner(where: tuple[int | str, ...]) -> str:
    return _path(where) or "the file"


def _path(where: tuple[int | str, ...]) -> str:
    """A place as a reader of the file sees it: bodies.rod.mass."""
    steps = [str(step) for step in where]
    return ".".join(step if len(step) <= 60 else step[:57] + "..." for step in steps)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Keys that a table at this location of pydantic may have."""
    here: Any = Model
    for step in location:
        here = _step(here, step)
        if here is None:
            return []
    here = _plain(here)
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


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
        return next((m for m in _members(kind) if _is_tagged(m, str(step))), None)
    return None


def _members(kind: Any) -> list[Any]:
    """Members of a union, also of unions inside it."""
    found: list[Any] = []
    for member in get_args(kind):
        inner = _plain(member)
        found += _members(inner) if _is_union(inner) else [member]
    return found


def _is_tagged(member: Any, tag: str) -> bool:
    if any(isinstance(mark, Tag) and mark.tag == tag for mark in getattr(member, "__metadata__", ())):
        return True
    inner = _plain(member)
    if isinstance(inner, type) and issubclass(inner, BaseModel) and "type" in inner.model_fields:
        kind = inner.model_fields["type"].annotation
        return get_origin(kind) is Literal and tag in get_args(kind)
    return False
