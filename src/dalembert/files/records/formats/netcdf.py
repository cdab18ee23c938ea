"""netCDF files to and from records; a record that is written and read back is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, FileFormatError, require_extra, unknown_name
from dalembert.core.findings import Advice
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.records.hdf5 import MAGIC, Texts, own_datasets, read_dataset
from dalembert.files.records.plain_data import as_json, load_json
from dalembert.files.records.sections import read_apart
from dalembert.files.tables import bounds
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.clock import find_time
from dalembert.record import Record

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.@+-]*")
_JSON = ("statistics", "provenance", "scene")
LIBRARIES = ("h5py",)


def write(record: Record, path: Path, suffix: str) -> None:
    """One variable per channel along ``time``; other data as JSON text in the attributes."""
    h5netcdf = require_extra("h5netcdf", "netcdf")
    about = {key: as_json(getattr(record, key), key) for key in _JSON}
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": len(record)}
        axis = file.create_variable("time", ("time",), float, data=record.time)
        axis.attrs["units"] = "s"
        labels = _variables(record.names)
        for name, label in labels.items():
            variable = file.create_variable(label, ("time",), float, data=np.ascontiguousarray(record[name]))
            variable.attrs["long_name"] = name
            variable.attrs["units"] = record.units[name]
        file.attrs["format"] = "dalembert record 1"
        file.attrs["variables"] = json.dumps(list(labels.values()))
        file.attrs["name"] = record.name
        file.attrs["status"] = record.status
        for key, text in about.items():
            file.attrs[key] = text


def sections(path: Path, time: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Read all variables that run along time, also from files that other programs wrote.

    Only data in the file itself are read: numbers kept in other files, virtual datasets and links are refused.
    """
    h5py = require_extra("h5py", "netcdf")
    FileFormatError.when(dt is not None, "conflicting-arguments", "a netCDF file has time: dt does not apply.")
    with path.open("rb") as raw:
        magic = raw.read(8)
    problem = "this is the classic netCDF format."
    FileFormatError.when(magic[:3] == b"CDF", "bad-version", problem, Advice("Convert it: nccopy -k nc4 in.nc out.nc"))
    FileFormatError.when(magic != MAGIC, "damaged", "this is not a netCDF-4 file.")
    try:
        with h5py.File(path, "r") as file:
            yield from _sections(file, path, time, max_bytes)
    except (DataError, FileFormatError):
        raise
    except Exception as error:  # h5py passes on errors of its library: OSError, KeyError, RuntimeError ...
        raise FileFormatError("damaged", f"the file is damaged ({error}).") from error


def _sections(file: Any, path: Path, asked: str | None, max_bytes: int) -> Iterator[Any]:
    problem = f"{len(file)} variables exceed max_bytes = {max_bytes}."
    FileFormatError.when(len(file) * bounds.CHANNEL > max_bytes, "too-large", problem)
    variables = own_datasets(file)
    texts = Texts(max_bytes)
    candidates = [label for label, variable in variables.items() if not _is_bare_dimension(variable, texts)]
    place = find_time(candidates, asked)
    if place is None or len(variables[candidates[place]].shape) != 1:
        raise FileFormatError("no-time", unknown_name("time variable", asked or "time", candidates, "the file"))
    time = candidates[place]
    clock = variables[time]
    along = _dimension(clock, texts)
    labels_ = [
        label for label in candidates if label != time and _dimension(variables[label], texts) == along is not None
    ]
    order = load_json(texts.get(file.attrs, "variables"), list)
    labels_ = [label for label in order if label in labels_] if order else labels_
    FileFormatError.when(not labels_, "empty", f"no variable runs along {time!r}.")
    samples = int(clock.shape[0])
    # the file may be compressed, or have only a fill value: its unpacked size is compared
    check_size(samples, len(labels_), max_bytes)
    unit = texts.get(clock.attrs, "units", "s")
    problem = f"the unit of time is {unit!r}; expected 's'."
    FileFormatError.when(unit not in ("s", "sec", "second", "seconds"), "unit-mismatch", problem)
    chosen = [variables[label] for label in labels_]
    yield {
        "samples": samples, "dt": None, "name": texts.get(file.attrs, "name"),
        "names": [texts.get(v.attrs, "long_name", label) if order else label for label, v in zip(labels_, chosen)],
        "units": [texts.get(variable.attrs, "units") for variable in chosen],
        "status": texts.get(file.attrs, "status", "complete"),
        **{key: load_json(texts.get(file.attrs, key), dict) for key in _JSON},
    }  # fmt: skip
    with path.open("rb") as raw:
        column = np.empty(samples)  # one array for all channels: the receiver copies it
        for variable in (clock, *chosen):
            read_dataset(variable, raw, column, max_bytes)
            yield column


def _is_bare_dimension(variable: Any, texts: Texts) -> bool:
    """A dimension of the file that has no values of its own."""
    return texts.get(variable.attrs, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")


def _dimension(variable: Any, texts: Texts) -> Any:
    """The dimension (a dataset too) that a variable of one dimension runs along, or None.

    Read from the attributes: the functions of the library for scales do not end on some damaged files.
    """
    if len(variable.shape) != 1:
        return None
    if texts.get(variable.attrs, "CLASS") == "DIMENSION_SCALE":
        return variable
    if "DIMENSION_LIST" not in variable.attrs or variable.attrs.get_id("DIMENSION_LIST").shape != (1,):
        return None
    scales = variable.attrs["DIMENSION_LIST"][0]
    return variable.file[scales[0]] if len(scales) else None


def _variables(names: tuple[str, ...]) -> dict[str, str]:
    """Variable of every channel: its own name where netCDF allows it, else a number."""
    labels: dict[str, str] = {}
    names_ = set(names) | {"time"}
    for i, name in enumerate(names):
        label = name
        if not _PLAIN.fullmatch(name):
            label = f"channel_{i}"
            while label in names_:
                label += "_"
            names_.add(label)
        labels[name] = label
    return labels


# attributes of HDF5 are read whole before their length is known: the memory of its process is bounded
_READ = read_apart("dalembert.files.records.formats.netcdf:sections", bounded=True)
RECORD_FORMATS.register("netcdf", RecordFormat((".nc", ".nc4", ".netcdf"), _READ, write))
