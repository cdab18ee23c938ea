"""Records as files, by suffix: every registered format is read and written here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.core.arguments import positive_number, take_path
from dalembert.core.atomic_files import replace_file, require_file
from dalembert.core.errors import DataError, FileFormatError
from dalembert.core.findings import Advice
from dalembert.core.progress import Setting
from dalembert.files.modal.recognition import refuse_modes
from dalembert.files.records.format import Reading, find_format, suffixes
from dalembert.files.records.join import join_records
from dalembert.record import Record


def read_record(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    time: str | None = None,
    dt: float | None = None,
    rate: float | None = None,
    units: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    skip: int | None = None,
    max_bytes: int = Reading.max_bytes,
    progress: Setting = None,
) -> Record:
    """Read a record from a file of a registered format (`RECORD_FORMATS`), which its suffix decides.

    A CSV file has a row of names, may have a row of units under it, and may have lines starting with ``#``, of which
    ``# name: ...`` and ``# status: ...`` are understood. An empty cell is a gap. Nothing in a file is executed.

    Where there is no row of units, they may be in the header: ``Time (ms)``, ``Acc 1 [g]``, ``a_x in m/s^2``,
    ``time_ms``. Such columns are converted to SI, which ``provenance["units"]`` reports; the channel is called
    ``"Acc 1"``, and found by its whole header too.

    Parameters
    ----------
    path : file; its suffix decides the format. Several files, one per sensor, are joined to one record: by the packet
        numbers, start times or clocks that they hold, on the clock of the first; ``provenance["joined"]`` reports how,
        ``provenance["delays"]`` the remaining delays.
    time : name of the column that holds time, with or without its unit; found by its usual names in several languages
        when not given. A unit such as ms is converted to s, one that is not understood is an error. Dates and times of
        day (ISO 8601), and seconds since 1970, become seconds after the first one (``provenance["start"]``).
        Rounded times of one rate, which may repeat, become the exact ones (``provenance["sampling"]``).
    dt, rate : sample time [s] or samples a second [Hz] of a file without a column of time, or instead of one.
    units : units by channel name, over those in the file.
    delimiter : what separates cells in a text file; found when not given. Decimal commas are understood where it is
        not a comma.
    skip : lines before the header of a text file; found from its numbers when not given. Pairs of a key and a value in
        them are kept in ``provenance["preamble"]``.
    progress : None: a bar on a terminal after two seconds; True: always; False: none; or a function of the fraction.
    max_bytes : larger files, and files that would unpack to more, are refused; reading takes less than twice as much
        memory.
    """
    if isinstance(path, Sequence) and not isinstance(path, str):
        how: Any = {"time": time, "dt": dt, "rate": rate, "delimiter": delimiter, "skip": skip, "max_bytes": max_bytes}
        files = [take_path("path", entry) for entry in path]
        joined = join_records([read_record(file_, progress=progress, **how) for file_ in files], files)
        return _with_units(joined, units) if units else joined
    file = take_path("path", path)
    refuse_modes(file)
    kind = find_format(file)
    if kind.read is None:
        raise FileFormatError("not-supported", f"files {kind.suffixes[0]} are written, not read.", path=str(path))
    require_file(file, max_bytes, argument="max_bytes")
    with FileFormatError.of_file(path):
        step = None if dt is None else positive_number("dt", dt)
        if rate is not None:
            problem = "the sample time and the rate are given: one is enough."
            DataError.when(dt is not None, "conflicting-arguments", problem)
            step = 1.0 / positive_number("rate", rate)
        record = kind.read(file, Reading(time, step, max_bytes, delimiter, units or (), skip, progress))
        return _with_units(record, units) if units else record


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a CSV, Parquet or netCDF file, whole or not at all.

    Every number reads back as the same number. CSV keeps time, channels, units, name and status; Parquet and netCDF
    keep also statistics, provenance and the scene for the animation.
    """
    problem = f"write_record takes a Record and a path, not a {type(record).__name__}."
    DataError.when(not isinstance(record, Record), "wrong-type", problem, where={"argument": "record"})
    file = take_path("path", path)
    kind = find_format(file)
    if kind.write is None:
        problem = f"files {kind.suffixes[0]} are read, not written."
        raise FileFormatError(
            "not-supported", problem, Advice(f"Use one of {', '.join(suffixes(written=True))}."), path=str(file)
        )
    with replace_file(file) as temporary:
        kind.write(record, temporary, file.suffix.lower())


def _with_units(record: Record, units: Mapping[str, str]) -> Record:
    return Record(
        record.time, record.data, record.names, _over(record, units), name=record.name, status=record.status,
        statistics=record.statistics, provenance=record.provenance, scene=record.scene,
    )  # fmt: skip


def _over(record: Record, given: Mapping[str, str]) -> dict[str, str]:
    # names the file does not have are left in, for Record to report with the nearest known one
    full = record.provenance.get("headers", {})
    return {**record.units, **{full.get(name, name): unit for name, unit in given.items()}}
