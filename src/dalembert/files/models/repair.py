"""A document with mistakes in its structure, repaired so that the rest of it can be checked as well.

A misspelt key counts as the nearest known one, a value of the wrong form is left out, and a part that cannot be made
is removed. ``ModelSource.dropped`` has the places left out: a problem that only follows from them is not reported.
"""

from __future__ import annotations

import difflib
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dalembert.files.models.schema.document import model_type
from dalembert.files.models.schema.validation import finding_of, keys_at, kind_at, near_kind, place_of
from dalembert.files.models.text.positions import Path
from dalembert.files.models.text.sources import ModelSource

MAX_PASSES = 8  # a part inside a part inside a part may fail one after the other
PARTS = ("bodies", "joints", "couplers", "drivers", "constraints", "variables", "forces", "sensors", "include")
NAMED = (*PARTS, "constants", "parameters")


@dataclass(frozen=True)
class Likeness:
    """Likeness of an unknown key and a known one, as `difflib` measures it."""

    # The key is taken for the known one: "masss" has 0.89, "inertai" 0.86.
    certain: float = 0.75
    # It probably means the known one, so that the known one is not also reported as missing: "pos" for "position"
    # has 0.55.
    likely: float = 0.5


LIKENESS = Likeness()


def validate(source: ModelSource) -> Any:
    """The document as tables, as far as it is sound; its problems have been noted.

    None when it is wrong as a whole, so that further problems cannot be found.
    """
    document = source.document
    for _ in range(MAX_PASSES):
        try:
            return model_type().model_validate(document)
        except ValidationError as error:
            if document is source.document:
                document = deepcopy(document)
            if not _mend(source, document, error.errors(include_url=False)):
                return None
    return None


def _mend(source: ModelSource, document: dict[str, Any], problems: list[Any]) -> bool:
    """Note every problem and remove wrong values from the document; False where nothing usable remains."""
    places = [place_of(problem["loc"]) for problem in problems]
    flagged, renamed = set(), set()
    sound = True
    for problem, where in zip(problems, places, strict=True):
        if problem["type"] == "extra_forbidden":
            renamed.add(_other_key(source, document, problem["loc"], where))
    for problem, where in zip(problems, places, strict=True):
        follows = where in renamed or any(where[:n] in source.dropped for n in range(1, len(where) + 1))
        if not follows or problem["type"] == "extra_forbidden":
            source.note(where, finding_of(problem, where))
            flagged.add(where)
    for problem, where in zip(problems, places, strict=True):
        if problem["type"] != "extra_forbidden" and where not in renamed:
            sound &= _leave_out(source, document, problem, where)
    for place, (kind, table) in source.remains.items():
        keys = {
            key: value for key, value in table.items() if (*place, key) not in {w[: len(place) + 1] for w in flagged}
        }
        source.remains[place] = (kind, keys)
    return sound


def _table_at(document: object, where: Path) -> Any:
    here = document
    for step in where:
        if not isinstance(here, dict) or step not in here:
            return None
        here = here[step]
    return here


def _other_key(source: ModelSource, document: dict[str, Any], location: Path, where: Path) -> Path | None:
    """A key that does not exist: the near one in its place, or nothing; the place of the near one."""
    here: Any = document
    for step in where[:-1]:
        inside = step in here if isinstance(here, dict) else isinstance(here, list) and step in range(len(here))
        if not inside:
            return None  # removed with its table
        here = here[step]
    if not isinstance(here, dict) or where[-1] not in here:
        return None
    value = here.pop(where[-1])
    free = [key for key in keys_at(location[:-1]) if key not in here]
    near = difflib.get_close_matches(str(where[-1]), free, n=1, cutoff=LIKENESS.certain)
    if near:
        here[near[0]] = value
        old, new = len(where), (*where[:-1], near[0])
        source.lines.update({(*new, *path[old:]): n for path, n in list(source.lines.items()) if path[:old] == where})
        return new
    if difflib.get_close_matches(str(where[-1]), free, n=1, cutoff=LIKENESS.likely):
        source.dropped.add(where)
    return None


def _leave_out(source: ModelSource, document: dict[str, Any], problem: Any, where: Path) -> bool:
    """Take a wrong value away, or the whole table that lacks a key."""
    cut = where[:-1] if problem["type"] == "missing" else where
    indices = [k for k, step in enumerate(cut) if isinstance(step, int)]
    cut = cut[: indices[0]] if indices else cut
    if any(cut[:n] in source.dropped for n in range(1, len(cut) + 1)) and _table_at(document, cut) is None:
        return True  # gone already
    holder = _table_at(document, cut[:-1])
    if not cut or not isinstance(holder, dict) or cut[-1] not in holder:
        return False
    removed = holder.pop(cut[-1])
    source.dropped.add(cut)
    if len(cut) == 1:
        return cut[0] not in (*NAMED, "planar", "ground")
    if isinstance(removed, dict):
        kind = kind_at(problem["loc"][:-1]) if problem["type"] == "missing" else near_kind(problem["loc"], removed)
        if kind is not None:
            source.remains[cut] = (kind, {k: v for k, v in removed.items() if k in kind.model_fields})
    return True
