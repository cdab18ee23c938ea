"""Parquet files to and from records: one column per channel, units and the rest in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError, require_extra, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.isolation import PIECE
from dalembert.files.records.bounds import check_size, check_text
from dalembert.files.records.format import FORMATS, RecordFormat
from dalembert.files.records.parquet_sizes import check_footer, largest_page
from dalembert.files.records.plain_data import as_json, loaded
from dalembert.files.records.sections import read_apart
from dalembert.record import Record

LIBRARIES = ("pyarrow", "pyarrow.parquet")
_KEY = b"dalembert"
_ROWS = 1 << 16


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


def sections(path: Path, time: str, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Every column of numbers; from files of other programs units are empty."""
    parquet = require_extra("pyarrow.parquet", "parquet")
    pyarrow = require_extra("pyarrow", "parquet")
    with path.open("rb") as raw:
        check_footer(raw, path.stat().st_size, max_bytes, path)
        try:
            # the reader gets the very bytes that were looked at, one column at a time
            file = parquet.ParquetFile(raw, memory_map=False, pre_buffer=False, buffer_size=PIECE)
            columns = [file.schema.column(k).path for k in range(len(file.schema))]
            _check_columns(file, columns, path)
            check_size(file.metadata.num_rows, len(columns), max_bytes, path)
            _check_clock(columns, time, dt, path)
            _check_pages(file, raw, max_bytes, path)
            raw_about = (file.schema_arrow.metadata or {}).get(_KEY, b"")
            check_text(len(raw_about), max_bytes, path)
            about = loaded(raw_about.decode("utf-8", "replace"), dict) or {}
            names = [name for name in columns if name != time or dt is not None]
            given = about.get("units")
            units: dict[str, Any] = given if isinstance(given, dict) else {}
            yield {
                "samples": file.metadata.num_rows, "dt": dt, "names": names,
                "units": [str(units.get(name, "")) for name in names],
                "name": str(about.get("name", "")), "status": str(about.get("status", "complete")),
                **{key: about.get(key) if isinstance(about.get(key), dict) else None
                   for key in ("statistics", "provenance", "scene")},
            }  # fmt: skip
            for name in [time] * (dt is None) + names:
                yield from _column(file, name)
        except (pyarrow.ArrowException, OSError, ValueError, KeyError, NotImplementedError, OverflowError) as error:
            raise FileFormatError(
                "damaged", f"this is not a Parquet file that can be read ({error}).", path=str(path)
            ) from error


def _check_columns(file: Any, names: list[str], path: Path) -> None:
    """Refuse what is not a flat column of numbers, by the types alone."""
    if len(set(names)) < len(names):
        raise FileFormatError("taken-name", "two columns have the same name.", path=str(path))
    for k, name in enumerate(names):
        column = file.schema.column(k)
        kind = str(file.schema_arrow.field(name).type) if name in file.schema_arrow.names else "a nested column"
        flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
        flat = flat and column.physical_type != "BYTE_ARRAY"
        if not flat or not kind.startswith(("double", "float", "halffloat", "int", "uint", "bool")):
            raise FileFormatError("not-a-number", f"column {name!r} holds {kind}, not numbers.", path=str(path))


def _check_clock(names: list[str], time: str, dt: float | None, path: Path) -> None:
    if dt is None and time not in names:
        raise FileFormatError(
            "no-time",
            unknown_name("column", time, names, "the file"),
            Advice("Give {}.", Argument("time"), Argument("dt")),
            path=str(path),
            where={"name": time},
        )
    if dt is not None and "time" in names:
        raise FileFormatError(
            "conflicting-arguments", "dt is for files without time, but there is a column 'time'.", path=str(path)
        )
    if not set(names) - {time if dt is None else ""}:
        raise FileFormatError("empty", "there is no column besides time.", path=str(path))


def _check_pages(file: Any, raw: Any, max_bytes: int, path: Path) -> None:
    """Refuse a column whose pages unpack to more than a quarter of ``max_bytes``, whatever its number of rows."""
    for group in range(file.metadata.num_row_groups):
        for k in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(k)
            starts = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if chunk.has_dictionary_page else [])]
            size = largest_page(raw, min(starts), chunk.total_compressed_size, path)
            if size > max_bytes // 4:
                raise FileFormatError(
                    "too-large",
                    f"a page of column {chunk.path_in_schema!r} unpacks to {size} bytes, a quarter of max_bytes = "
                    f"{max_bytes} at most.",
                    path=str(path),
                )


def _column(file: Any, name: str) -> Iterator[Any]:
    """Numbers of a column, some rows at a time."""
    rows = 0
    for batch in file.iter_batches(batch_size=_ROWS, columns=[name], use_threads=False):
        yield np.asarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
        rows += len(batch)
    if rows != file.metadata.num_rows:
        raise ValueError(f"column {name!r} has {rows} rows, not {file.metadata.num_rows}")


# pyarrow reserves far more memory than it uses: its process has no bound
_READ = read_apart("dalembert.files.records.formats.parquet:sections")
FORMATS.register("parquet", RecordFormat((".parquet", ".pq"), _READ, write))
