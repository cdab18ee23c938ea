"""Parquet files to and from records: one column per channel, units and the rest in the metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FileFormatError, require_extra, unknown_name
from dalembert.files.plain_data import as_json, loaded
from dalembert.record import Record

_KEY = b"dalembert"


def write(record: Record, path: Path) -> None:
    """Time and channels as float64 columns; names are kept as they are."""
    pyarrow, parquet = require_extra("pyarrow", "parquet"), require_extra("pyarrow.parquet", "parquet")
    columns = {"time": record.time, **{name: np.ascontiguousarray(record[name]) for name in record.names}}
    about = {
        "units": dict(record.units), "name": record.name, "status": record.status,
        **{key: json.loads(as_json(getattr(record, key), key)) for key in ("statistics", "provenance", "scene")},
    }  # fmt: skip
    table = pyarrow.table(columns).replace_schema_metadata({_KEY: json.dumps(about).encode()})
    parquet.write_table(table, path)


def read(path: Path, time: str, max_bytes: int, dt: float | None) -> Record:
    """Every column of numbers; from files of other programs units are empty."""
    parquet = require_extra("pyarrow.parquet", "parquet")
    pyarrow = require_extra("pyarrow", "parquet")
    try:
        file = parquet.ParquetFile(path)
        rows, names = file.metadata.num_rows, list(file.schema_arrow.names)
        if rows * max(len(names), 1) * 8 > max_bytes:
            raise FileFormatError(f"{rows} rows of {len(names)} columns exceed max_bytes = {max_bytes}.", str(path))
        table = file.read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(f"this is not a Parquet file that can be read ({error}).", str(path)) from error
    about = loaded((table.schema.metadata or {}).get(_KEY, b"").decode("utf-8", "replace"), dict) or {}
    if len(set(names)) < len(names):
        raise FileFormatError("two columns have the same name.", str(path))
    if dt is None and time not in names:
        raise FileFormatError(f"{unknown_name('column', time, names, 'the file')} Give time= or dt=.", str(path))
    if dt is not None and "time" in names:
        raise FileFormatError("dt is for files without time, but there is a column 'time'.", str(path))
    values = {name: _numbers(table.column(name), name, path) for name in names}
    clock = dt * np.arange(rows) if dt is not None else values.pop(time)
    if not values:
        raise FileFormatError("there is no column besides time.", str(path))
    given = about.get("units")
    units: dict[str, Any] = given if isinstance(given, dict) else {}
    return Record(
        clock, np.column_stack(list(values.values())), list(values), [str(units.get(name, "")) for name in values],
        name=str(about.get("name", "")), status=str(about.get("status", "complete")),
        **{key: about.get(key) if isinstance(about.get(key), dict) else None
           for key in ("statistics", "provenance", "scene")},
    )  # fmt: skip


def _numbers(column: Any, name: str, path: Path) -> Any:
    kind = str(column.type)
    if not kind.startswith(("double", "float", "halffloat", "int", "uint", "bool")):
        raise FileFormatError(f"column {name!r} holds {kind}, not numbers.", str(path))
    return np.asarray(column.to_numpy(), dtype=np.float64)
