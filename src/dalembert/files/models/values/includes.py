"""Other files of a model: found beside it, never outside its folder unless that is allowed, and never too many."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.core.errors import DalembertError
from dalembert.core.findings import Advice
from dalembert.files.models.text import limits
from dalembert.files.models.text.sources import ALLOW_OUTSIDE, SUFFIXES, ModelSource, read_source
from dalembert.files.models.values.scopes import Scope, Where


def inside(scope: Scope, name: str, where: Where, suffixes: tuple[str, ...] = SUFFIXES) -> Path:
    """The file of this name beside the file of the scope."""
    folders = scope.folders
    if folders.root is None:
        raise scope.refuse(where, "no-folder", "a model without a folder cannot read other files.")
    problem = f"{name!r}: expected the name of a file that ends in {' or '.join(suffixes)}."
    scope.refuse_if("\0" in name or not name.lower().endswith(suffixes), where, "unknown-suffix", problem)
    beside = folders.trail[-1].parent if folders.trail else folders.root
    try:
        path = Path(os.path.realpath(beside / name))
    except (OSError, ValueError) as error:  # a loop of links, a name the system does not take
        raise scope.refuse(where, "not-readable", f"{name!r} cannot be found ({error}).") from None
    outside = not folders.allow_outside and not path.is_relative_to(folders.root)
    problem, advice = f"{name!r} lies outside the folder of the model.", Advice("Allow it by {}.", ALLOW_OUTSIDE)
    scope.refuse_if(outside, where, "outside-folder", problem, advice)
    return path


def add_includes(scope: Scope, build: Callable[[ModelSource, Scope, str, Any], None]) -> None:
    """Build every included file into the mechanism; `build` does one file."""
    folders = scope.folders
    for name, table in scope.model.include.items():
        where: Where = ("include", name)
        with scope.part(where, scope.full(name)):
            path = inside(scope, table.file, (*where, "file"))
            problem = f"{table.file!r} includes itself."
            scope.refuse_if(path in folders.trail, (*where, "file"), "circular-include", problem)
            problem = f"files are included more than {limits.INCLUDE_DEPTH} deep."
            scope.refuse_if(len(folders.trail) > limits.INCLUDE_DEPTH, (*where, "file"), "too-large", problem)
            scope.parts.includes += 1
            problem = f"more than {limits.INCLUDES} files are included."
            scope.refuse_if(scope.parts.includes > limits.INCLUDES, (*where, "file"), "too-large", problem)
            try:
                shown = os.path.normpath(os.path.join(os.path.dirname(scope.source.path), table.file))
                source = read_source(path, shown, scope.source.problems)
            except DalembertError as error:
                raise scope.refuse((*where, "file"), error.code, str(error)) from None
            folders.trail.append(path)
            try:
                build(source, scope, name, table)
            finally:
                folders.trail.pop()
