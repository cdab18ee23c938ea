"""Formats of record files, and the registry of them.

A format is declared in a file of its own: its suffixes, a reader, a writer. `read_record`, `write_record` and the
commands read the registry.

    RECORD_FORMATS.register("tab", RecordFormat((".tab",), read=read, write=write))

A reader that passes the bytes of a file to a library runs in a separate process, which may crash: ``read=read_apart(
"package.module:sections")``, where ``sections`` is a generator that yields one dict about the record, then its columns
(see `dalembert.files.records.sections`). A reader of plain Python checks sizes before it takes memory (`bounds`).
Errors of a reader need no path: `read_record` adds it.

Built-in formats are the files of `dalembert.files.records.formats`. An installed package adds its own through an entry
point of the group ``dalembert.record_formats`` that names the module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.progress import Setting
from dalembert.core.registry import Registry
from dalembert.record import Record


@dataclass(frozen=True)
class Reading:
    """Options for reading a file.

    time : name of the column of time; None where the reader finds it.  dt : sample time [s] of a file without one.
    max_bytes : largest size unpacked.  delimiter : between the cells of a text; None where the reader finds it.
    skip : lines before the header of a text; None where the reader finds it.  progress : see `core.progress`.
    known_units : channels whose unit the caller gives; the reader leaves their numbers as they are.
    """

    time: str | None = None
    dt: float | None = None
    max_bytes: int = 2 * 1024**3
    delimiter: str | None = None
    known_units: Collection[str] = ()
    skip: int | None = None
    progress: Setting = None


@dataclass(frozen=True)
class RecordFormat:
    """One format: suffixes with their dot, in lower case, the preferred one first; reader and writer, None for none.

    The writer gets the record, the path to write to, and the suffix of the final file: the path may be a temporary one.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Path, Reading], Record] | None = None
    write: Callable[[Record, Path, str], None] | None = None


RECORD_FORMATS: Registry[RecordFormat] = Registry(
    "record format", package="dalembert.files.records.formats", group="dalembert.record_formats", error=FileFormatError
)


def suffixes(*, written: bool = False) -> tuple[str, ...]:
    """Suffixes of the formats that can be read, or written; the preferred ones first."""
    formats = [kind for kind in RECORD_FORMATS.values() if (kind.write if written else kind.read) is not None]
    return (*(kind.suffixes[0] for kind in formats), *(suffix for kind in formats for suffix in kind.suffixes[1:]))


def find_format(file: Path) -> RecordFormat:
    """The format of a file, by its suffix; of two formats with one suffix the one declared first."""
    suffix = file.suffix.lower()
    kind = next((kind for kind in RECORD_FORMATS.values() if suffix in kind.suffixes), None)
    if kind is None:
        suffixes_ = ", ".join(suffix for kind in RECORD_FORMATS.values() for suffix in kind.suffixes)
        problem = f"the suffix {file.suffix!r} is not that of a record file. Known: {suffixes_}."
        raise FileFormatError("unknown-suffix", problem, path=str(file))
    return kind
