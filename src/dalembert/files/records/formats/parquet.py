"""Parquet files to and from records: one column per channel, units and the rest in the metadata.

The library trusts the sizes that a file declares: a page is unpacked whole, for any number of rows, and a few bytes
of footer become kilobytes of objects. Both sizes are computed here before the library reads them. The footer and the
heads of the pages are structures in Thrift's compact protocol (Apache Thrift, *thrift-compact-protocol.md*; Apache
Parquet, *parquet.thrift*).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import Broken, FileFormatError, require_extra
from dalembert.core.isolation import PIECE
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.records.plain_data import as_json, load_json
from dalembert.files.records.sections import read_apart
from dalembert.files.tables import bounds
from dalembert.files.tables.bounds import check_size, check_text
from dalembert.files.tables.clock import require_time
from dalembert.record import Record

LIBRARIES = ("pyarrow", "pyarrow.parquet")
_KEY = b"dalembert"
_ROWS = 1 << 16
_UNCOMPRESSED, _COMPRESSED = 2, 3  # fields of PageHeader


def write(record: Record, path: Path, suffix: str) -> None:
    """Time and channels as float64 columns; names are kept as they are."""
    pyarrow, parquet = require_extra("pyarrow", "parquet"), require_extra("pyarrow.parquet", "parquet")
    columns = {"time": record.time, **{name: np.ascontiguousarray(record[name]) for name in record.names}}
    about = {
        "units": dict(record.units), "name": record.name, "status": record.status,
        **{key: json.loads(as_json(getattr(record, key), key)) for key in ("statistics", "provenance", "scene")},
    }  # fmt: skip
    table = pyarrow.table(columns).replace_schema_metadata({_KEY: json.dumps(about).encode()})
    parquet.write_table(table, path)


def sections(path: Path, asked: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Every column of numbers; from files of other programs units are empty."""
    parquet = require_extra("pyarrow.parquet", "parquet")
    pyarrow = require_extra("pyarrow", "parquet")
    with path.open("rb") as raw:
        _check_footer(raw, path.stat().st_size, max_bytes)
        try:
            # the reader gets the same bytes that were checked, one column at a time
            file = parquet.ParquetFile(raw, memory_map=False, pre_buffer=False, buffer_size=PIECE)
            columns = [file.schema.column(k).path for k in range(len(file.schema))]
            _check_columns(file, columns)
            check_size(file.metadata.num_rows, len(columns), max_bytes)
            time = _find_clock(list(columns), asked, dt)
            _check_pages(file, raw, max_bytes)
            raw_about = (file.schema_arrow.metadata or {}).get(_KEY, b"")
            check_text(len(raw_about), max_bytes)
            about = load_json(raw_about.decode("utf-8", "replace"), dict) or {}
            names = [name for name in columns if name != time]
            table = about.get("units")
            units: dict[str, Any] = table if isinstance(table, dict) else {}
            yield {
                "samples": file.metadata.num_rows, "dt": dt, "names": names,
                "units": [str(units.get(name, "")) for name in names],
                "name": str(about.get("name", "")),
                **({"status": str(about.get("status", "complete"))} if about else {}),
                **{key: about.get(key) if isinstance(about.get(key), dict) else None
                   for key in ("statistics", "provenance", "scene")},
            }  # fmt: skip
            for name in [time] * (dt is None) + names:
                yield from _column(file, name)
        except (pyarrow.ArrowException, OSError, ValueError, KeyError, NotImplementedError, OverflowError) as error:
            raise FileFormatError("damaged", f"this is not a Parquet file that can be read ({error}).") from error


def _check_columns(file: Any, names: list[str]) -> None:
    """Refuse what is not a flat column of numbers, by the types alone."""
    FileFormatError.when(len(set(names)) < len(names), "taken-name", "two columns have the same name.")
    for k, name in enumerate(names):
        column = file.schema.column(k)
        kind = str(file.schema_arrow.field(name).type) if name in file.schema_arrow.names else "a nested column"
        flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
        flat = flat and column.physical_type != "BYTE_ARRAY"
        if not flat or not kind.startswith(("double", "float", "halffloat", "int", "uint", "bool")):
            raise FileFormatError("not-a-number", f"column {name!r} holds {kind}, not numbers.")


def _find_clock(names: list[str], asked: str | None, dt: float | None) -> str:
    """The column of time; "" where there is none and a sample time replaces it."""
    place = require_time(names, asked, dt)
    time = "" if place is None else names[place]
    FileFormatError.when(not set(names) - {time}, "empty", "there is no column besides time.")
    return time


def _check_pages(file: Any, raw: Any, max_bytes: int) -> None:
    """Refuse a column whose pages unpack to more than a quarter of ``max_bytes``, for any number of rows."""
    for group in range(file.metadata.num_row_groups):
        for k in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(k)
            starts = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if chunk.has_dictionary_page else [])]
            size = max(_pages(raw, min(starts), chunk.total_compressed_size), default=0)
            if size > max_bytes // bounds.PAGE_SHARE:
                raise FileFormatError(
                    "too-large",
                    f"a page of column {chunk.path_in_schema!r} unpacks to {size} bytes, a quarter of max_bytes = "
                    f"{max_bytes} at most.",
                )


def _column(file: Any, name: str) -> Iterator[Any]:
    """Numbers of a column, some rows at a time."""
    rows = 0
    for batch in file.iter_batches(batch_size=_ROWS, columns=[name], use_threads=False):
        yield np.asarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
        rows += len(batch)
    if rows != file.metadata.num_rows:
        raise ValueError(f"column {name!r} has {rows} rows, not {file.metadata.num_rows}")


# ---- declared sizes --------------------------------------------------------------------------------------------------


class _Walk:
    """Cursor that skips a structure field by field."""

    def __init__(self, content: bytes, most: int = 10_000) -> None:
        self.content, self.place, self.structures, self.most = content, 0, 0, most

    def byte(self) -> int:
        Broken.when(self.place >= len(self.content), "a structure is cut off")
        self.place += 1
        return self.content[self.place - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            Broken.when(shift > 63, "a number has too many digits")
        return value | byte << shift

    def structure(self, depth: int = 0) -> dict[int, int]:
        """Skip a structure; returns its whole numbers by field."""
        self.structures += 1
        problem = f"structures nested {depth} deep, {self.structures} in all, are too many for max_bytes"
        Broken.when(depth > bounds.NESTING or self.structures > self.most, problem)
        numbers: dict[int, int] = {}
        field = 0
        while head := self.byte():
            if head >> 4:
                field += head >> 4
            else:
                raw = self.varint()
                field = raw >> 1 ^ -(raw & 1)
            value = self.value(head & 0x0F, depth)
            if value is not None:
                numbers[field] = value
        return numbers

    def value(self, kind: int, depth: int) -> int | None:
        if kind in (1, 2):  # a truth value is in the head
            return None
        if kind == 3:
            self.byte()
        elif kind in (4, 5, 6):
            raw = self.varint()
            return raw >> 1 ^ -(raw & 1)
        elif kind == 7:
            self.place += 8
        elif kind == 8:
            length = self.varint()
            self.place += length
        elif kind in (9, 10):
            self.sequence(depth)
        elif kind == 12:
            self.structure(depth + 1)
        else:
            raise Broken(f"type {kind} is not of this format")
        return None

    def sequence(self, depth: int) -> None:
        head = self.byte()
        count, kind = head >> 4, head & 0x0F
        if count == 15:
            count = self.varint()
        if count > len(self.content) - self.place:  # every member takes a byte at least
            raise Broken("a list is longer than the file")
        for _ in range(count):
            if kind in (1, 2):
                self.byte()
            else:
                self.value(kind, depth + 1)


def _check_footer(file: BinaryIO, total: int, max_bytes: int) -> None:
    """Refuse a footer whose structures would take more than ``max_bytes`` as objects."""
    try:
        Broken.when(total < 12, "it is too short")
        file.seek(total - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        Broken.when(tail[4:] != b"PAR1" or length > total - 12, "it does not end as one")
        problem = f"a footer of {length} bytes is too long for max_bytes"
        Broken.when(length > max(max_bytes // bounds.FOOTER_SHARE, bounds.FOOTER), problem)
        file.seek(total - 8 - length)
        _Walk(file.read(length), max_bytes // bounds.STRUCTURE).structure()
    except Broken as error:
        raise FileFormatError("damaged", f"this is not a Parquet file that can be read ({error}).") from error


def _pages(file: BinaryIO, start: int, length: int) -> Iterator[int]:
    """Declared sizes of the pages of a column chunk, unpacked [bytes]."""
    end = start + length
    while start < end:
        file.seek(start)
        walk = _Walk(file.read(min(bounds.PAGE_HEAD, end - start)))
        try:
            head = walk.structure()
            unpacked, packed = head.get(_UNCOMPRESSED, -1), head.get(_COMPRESSED, -1)
            problem = "a page is longer than its column"
            Broken.when(min(unpacked, packed) < 0 or packed > end - start - walk.place, problem)
        except Broken as error:
            raise FileFormatError("damaged", f"this is not a Parquet file that can be read ({error}).") from error
        yield max(unpacked, packed)
        start += walk.place + packed


# pyarrow reserves far more memory than it uses: its process has no bound
_READ = read_apart("dalembert.files.records.formats.parquet:sections")
RECORD_FORMATS.register("parquet", RecordFormat((".parquet", ".pq"), _READ, write))
