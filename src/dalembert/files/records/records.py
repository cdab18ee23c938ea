"""Records as files, by suffix: CSV (``.csv``, ``.tsv``, ``.txt``), Parquet, netCDF; MAT-files are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dalembert.core.atomic_files import replacing
from dalembert.core.errors import DataError, FileFormatError
from dalembert.files.records import csv as csv_records
from dalembert.files.records import mat as mat_records
from dalembert.files.records import netcdf as netcdf_records
from dalembert.files.records import parquet as parquet_records
from dalembert.files.records import sections as record_sections
from dalembert.record import Record

MAX_BYTES = 2 * 1024**3
_TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_NETCDF = (".nc", ".nc4", ".netcdf")
_PARQUET = (".parquet", ".pq")
_MATLAB = (".mat",)


def read_record(
    path: str | os.PathLike[str],
    *,
    time: str = "time",
    dt: float | None = None,
    units: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Record:
    """Read a record from a CSV, Parquet, netCDF or MAT file.

    A CSV file has a row of names, may have a row of units under it, and may have lines starting with ``#``, of which
    ``# name: ...`` and ``# status: ...`` are understood. An empty cell is a gap. Nothing in a file is executed.

    Where there is no row of units, they may stand in the header: ``Time (ms)``, ``Acc 1 [g]``, ``a_x in m/s^2``,
    ``time_ms``. Such columns are converted to SI, which ``provenance["units"]`` reports; the channel is called
    ``"Acc 1"``, and found by its whole header too.

    Parameters
    ----------
    path : file; its suffix tells the format.
    time : name of the column that holds time, with or without its unit; a unit such as ms is converted to s, one
        that is not understood is an error.
    dt : sample time [s] of a file that has no column of time.
    units : units by channel name, over those in the file.
    delimiter : what separates cells in a text file; found from the header when not given.
    max_bytes : larger files, and files that would unpack to more, are refused; reading takes less than twice as much
        memory.
    """
    file = Path(path)
    suffix = _suffix(file)
    if not file.is_file():
        raise FileFormatError(_absent(file), str(path))
    if not 0 < file.stat().st_size <= max_bytes:
        size = file.stat().st_size
        why = f"the file has {size} bytes, more than max_bytes = {max_bytes}." if size else "the file is empty."
        raise FileFormatError(why, str(path))
    try:
        if suffix in _NETCDF:
            if dt is not None:
                raise FileFormatError("dt is for files without a column of time.", str(path))
            record = record_sections.read("netcdf", file, time, max_bytes, None)
        elif suffix in _PARQUET:
            record = record_sections.read("parquet", file, time, max_bytes, _sample_time(dt, path))
        elif suffix in _MATLAB:
            record = mat_records.read(file, time, max_bytes, _sample_time(dt, path))
        else:
            record = csv_records.read(file, time, delimiter, _sample_time(dt, path), max_bytes, units or ())
        if not units:
            return record
        return Record(
            record.time,
            record.data,
            record.names,
            _over(record, units),
            name=record.name,
            status=record.status,
            statistics=record.statistics,
            provenance=record.provenance,
            scene=record.scene,
        )
    except DataError as error:
        raise FileFormatError(str(error), str(path)) from error


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a CSV, Parquet or netCDF file, whole or not at all.

    Every number reads back as the same number. CSV keeps time, channels, units, name and status; Parquet and netCDF
    keep also statistics, provenance and the scene for the animation.
    """
    if not isinstance(record, Record):
        raise DataError(f"write_record takes a Record and a path, not a {type(record).__name__}.")
    file = Path(path)
    suffix = _suffix(file)
    if suffix in _MATLAB:
        raise FileFormatError("MAT-files are read, not written; use .csv, .parquet or .nc.", str(file))
    with replacing(file) as fresh:
        if suffix in _NETCDF:
            netcdf_records.write(record, fresh)
        elif suffix in _PARQUET:
            parquet_records.write(record, fresh)
        else:
            csv_records.write(record, fresh, _TEXT[suffix])


def _sample_time(dt: float | None, path: str | os.PathLike[str]) -> float | None:
    if dt is None:
        return None
    number = isinstance(dt, (int, float)) and not isinstance(dt, bool)
    if not number or not 0.0 < dt < float("inf"):
        raise FileFormatError(f"dt must be a positive number of seconds, got {dt!r}.", str(path))
    return float(dt)


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    known = [*_TEXT, *_PARQUET, *_NETCDF, *_MATLAB]
    if suffix not in known:
        raise FileFormatError(
            f"the suffix {file.suffix!r} is not that of a record file. Known: {', '.join(known)}.", str(file)
        )
    return suffix


def _absent(file: Path) -> str:
    import difflib

    if file.is_dir():
        return "this is a folder, not a file."
    others = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
    near = difflib.get_close_matches(file.name, others, n=1)
    return "no such file." + (f" Did you mean {near[0]!r}?" if near else "")


def _over(record: Record, given: Mapping[str, str]) -> dict[str, str]:
    # names the file does not have are left in, for Record to report with the nearest known one
    full = record.provenance.get("headers", {})
    return {**record.units, **{full.get(name, name): unit for name, unit in given.items()}}
