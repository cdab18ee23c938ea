"""Formats of flexible-body files, and the registry of them.

A format is declared in a file of its own: its suffixes, a reader, a writer. `read_flexible_body`,
`write_flexible_body`, model files and the commands read the registry.

    BODY_FORMATS.register("tab", BodyFormat((".tab",), read=read, write=write))

A reader checks sizes before it takes memory (`bounds`). Its errors need no path: `read_flexible_body` adds it, unless
the error is about another file. Built-in formats are the files of `dalembert.files.bodies.formats`. An installed
package adds its own through an entry point of the group ``dalembert.body_formats`` that names the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.registry import Registry
from dalembert.model.flexible import FlexibleBodyData


@dataclass(frozen=True)
class BodyReading:
    """How a file is to be read: max_bytes is the largest size unpacked, without names the parts to be left out."""

    max_bytes: int = 1024**3
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class BodyFormat:
    """One format: suffixes with their dot, in lower case, the preferred one first; reader and writer, None for none.

    optional : parts of a file that a reader can leave out.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Path, BodyReading], FlexibleBodyData] | None = None
    write: Callable[[FlexibleBodyData, Path], None] | None = None
    optional: tuple[str, ...] = ()


BODY_FORMATS: Registry[BodyFormat] = Registry(
    "flexible-body format",
    package="dalembert.files.bodies.formats",
    group="dalembert.body_formats",
    error=FileFormatError,
)


def suffixes(*, written: bool = False) -> tuple[str, ...]:
    """Suffixes of the formats that can be read, or written; the preferred ones first."""
    formats = [kind for kind in BODY_FORMATS.values() if (kind.write if written else kind.read) is not None]
    return (*(kind.suffixes[0] for kind in formats), *(suffix for kind in formats for suffix in kind.suffixes[1:]))


def find_format(file: Path) -> BodyFormat:
    """The format of a file, by its suffix; of two formats with one suffix the one declared first."""
    suffix = file.suffix.lower()
    kind = next((kind for kind in BODY_FORMATS.values() if suffix in kind.suffixes), None)
    if kind is None:
        suffixes_ = ", ".join(suffix for kind in BODY_FORMATS.values() for suffix in kind.suffixes)
        problem = f"the suffix {file.suffix!r} is not that of a flexible-body file. Known: {suffixes_}."
        raise FileFormatError("unknown-suffix", problem, path=str(file))
    return kind
