"""netCDF files to and from records; everything a record holds survives the trip."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FileFormatError, require_extra, unknown_name
from dalembert.files.plain_data import as_json, loaded
from dalembert.record import Record

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.@+-]*")
_JSON = ("statistics", "provenance", "scene")


def write(record: Record, path: Path) -> None:
    """One variable per channel along ``time``; what is not an array as JSON text in the attributes."""
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


def read(path: Path, time: str, max_bytes: int) -> Record:
    """Read all variables that run along time, also from files that other programs wrote."""
    h5netcdf = require_extra("h5netcdf", "netcdf")
    with path.open("rb") as raw:
        magic = raw.read(8)
    if magic[:3] == b"CDF":
        raise FileFormatError("this is the classic netCDF format. Convert it: nccopy -k nc4 in.nc out.nc", str(path))
    if magic != b"\x89HDF\r\n\x1a\n":
        raise FileFormatError("this is not a netCDF-4 file.", str(path))
    try:
        with h5netcdf.File(path, "r") as file:
            return _read(file, path, time, max_bytes)
    except (OSError, KeyError, RuntimeError, UnicodeError) as error:
        raise FileFormatError(f"the file is damaged ({error}).", str(path)) from error


def _read(file: Any, path: Path, time: str, max_bytes: int) -> Record:
    known = list(file.variables)
    if time not in known or len(file.variables[time].dimensions) != 1:
        raise FileFormatError(unknown_name("time variable", time, known, "the file"), str(path))
    along = file.variables[time].dimensions
    found = [label for label in known if label != time and file.variables[label].dimensions == along]
    order = loaded(file.attrs.get("variables"), list)
    found = [label for label in order if label in found] if order else found
    if not found:
        raise FileFormatError(f"no variable runs along {time!r}.", str(path))
    samples = int(file.variables[time].shape[0])
    # the file may be compressed: what counts is what it would unpack to
    if samples * (len(found) + 1) * 8 > max_bytes:
        raise FileFormatError(f"{samples} samples of {len(found)} channels exceed max_bytes = {max_bytes}.", str(path))
    data = np.empty((samples, len(found)))
    names, units = [], []
    for i, label in enumerate(found):
        variable = file.variables[label]
        if np.dtype(variable.dtype).kind not in "fiu":
            raise FileFormatError(f"variable {label!r} does not hold numbers.", str(path))
        data[:, i] = variable[...]
        names.append(str(variable.attrs.get("long_name", label)) if order else label)
        units.append(str(variable.attrs.get("units", "")))
    unit = str(file.variables[time].attrs.get("units", "s"))
    if unit not in ("s", "sec", "second", "seconds"):
        raise FileFormatError(f"the unit of time is {unit!r}; expected 's'.", str(path))
    return Record(
        np.asarray(file.variables[time][...], dtype=np.float64),
        data,
        names,
        units,
        name=str(file.attrs.get("name", "")),
        status=str(file.attrs.get("status", "complete")),
        statistics=loaded(file.attrs.get("statistics"), dict),
        provenance=loaded(file.attrs.get("provenance"), dict),
        scene=loaded(file.attrs.get("scene"), dict),
    )


def _variables(names: tuple[str, ...]) -> dict[str, str]:
    """Variable of every channel: its own name where netCDF can hold it, else a number."""
    labels: dict[str, str] = {}
    taken = set(names) | {"time"}
    for i, name in enumerate(names):
        label = name
        if not _PLAIN.fullmatch(name):
            label = f"channel_{i}"
            while label in taken:
                label += "_"
            taken.add(label)
        labels[name] = label
    return labels
