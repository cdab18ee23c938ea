"""Measurement files of LabVIEW in text (``.lvm``) to records.

A head of lines ``key<separator>values`` ends with ``***End_of_Header***``; one per segment follows, with units
(``Y_Unit_Label``) and sample times (``Delta_X``) of the channels, then names and numbers. ``X_Columns No`` means that
time is not written, ``X_Columns Multi`` that every channel has a column of it. The first segment is read (NI,
*Specification for the LabVIEW Measurement File*).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.records.formats import csv
from dalembert.files.tables import bounds
from dalembert.files.tables.header import LABVIEW_TIME
from dalembert.files.tables.header_units import read_unit_cell
from dalembert.record import Record

_END = "***End_of_Header***"
_MOST = 200  # lines of both heads together; LabVIEW writes 30


def read(path: Path, how: Reading) -> Record:
    """Channels in SI; the column of comments is left out."""
    head: dict[str, list[str]] = {}
    ends = skip = 0
    separator = "\t"
    with path.open(encoding="utf-8", errors="replace", newline=None) as file:
        for number in range(1, _MOST + 1):
            text = file.readline(bounds.SHORT_LINE).rstrip("\n")
            key, *values = text.split(separator)
            if key == "Separator" or text.startswith("Separator,"):
                separator = "," if "omma" in text else "\t"
            head[key] = values
            if key.startswith(_END):
                ends, skip = ends + 1, number
    FileFormatError.when(not ends, "no-header", "a file of LabVIEW has a line ***End_of_Header***; there is none.")
    step = how.dt
    if step is None and head.get("X_Columns", [""])[0] == "No":
        step = _number(head.get("Delta_X", [""])[0])
    record = csv.read(path, replace(how, skip=skip, delimiter=separator, dt=step))
    clocks = [name for name in record.names if name.startswith(f"{LABVIEW_TIME} ")]
    apart = any(np.abs(record[name] - record.time).max() > 0.01 * record.sample_time for name in clocks)
    FileFormatError.when(apart, "not-supported", "channels have times of their own. Write them with X_Columns One.")
    names = [name for name in record.names if name != "Comment" and name not in clocks]
    record = record.select(*names) if names else record
    units = [unit.strip() for unit in head.get("Y_Unit_Label", [])][:: 2 if clocks else 1][: len(names)]
    units += [""] * (len(names) - len(units))
    read_units = [
        read_unit_cell(name, "" if name in how.known_units else _UNITS.get(unit.lower(), unit))
        for name, unit in zip(names, units, strict=True)
    ]
    factors = [heading.factor[0] / heading.factor[1] for heading in read_units]
    notes = [note for name, heading in zip(names, read_units, strict=True) if (note := heading.describe(name))]
    about = {**record.provenance, **({"units": notes} if notes else {})}
    if "T" not in str(about.get("start", "")) and head.get("Date") and head.get("Time"):
        about["start"] = f"{head['Date'][0].replace('/', '-')}T{head['Time'][0][:15]}"
    return Record(record.time, record.data * factors, names, [heading.unit for heading in read_units], provenance=about)


_UNITS = {"volts": "V", "volt": "V", "amps": "A", "newton": "N", "newtons": "N", "celsius": "°C", "unknown": ""}


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if value > 0 else None


RECORD_FORMATS.register("lvm", RecordFormat((".lvm",), read))
