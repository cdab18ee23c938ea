"""netCDF files to and from records; everything a record holds survives the trip.

A dataset of HDF5 may keep its numbers in any other file of the user's (external storage, virtual datasets, soft and
external links), may declare terabytes that are all a fill value, and its library unpacks a compressed chunk to whatever
size it turns out to have. Here only hard links are followed, and chunks are unpacked to the size they declare.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import DataError, FileFormatError, require_extra, unknown_name
from dalembert.core.findings import Advice
from dalembert.core.isolation import PIECE
from dalembert.files.records.bounds import LIMITS, check_size, check_text
from dalembert.files.records.format import FORMATS, RecordFormat
from dalembert.files.records.plain_data import as_json, load_json
from dalembert.files.records.sections import read_apart
from dalembert.record import Record

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.@+-]*")
_JSON = ("statistics", "provenance", "scene")
LIBRARIES = ("h5py",)
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3  # filters of HDF5


def write(record: Record, path: Path, suffix: str) -> None:
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


def sections(path: Path, time: str, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """Read all variables that run along time, also from files that other programs wrote.

    Only what lies in the file itself is read: numbers kept in other files, virtual datasets and links are refused.
    """
    h5py = require_extra("h5py", "netcdf")
    if dt is not None:
        raise FileFormatError("conflicting-arguments", "a netCDF file has time: dt does not apply.")
    with path.open("rb") as raw:
        magic = raw.read(8)
    if magic[:3] == b"CDF":
        raise FileFormatError(
            "bad-version", "this is the classic netCDF format.", Advice("Convert it: nccopy -k nc4 in.nc out.nc")
        )
    if magic != b"\x89HDF\r\n\x1a\n":
        raise FileFormatError("damaged", "this is not a netCDF-4 file.")
    try:
        with h5py.File(path, "r") as file:
            yield from _sections(file, path, time, max_bytes)
    except (DataError, FileFormatError):
        raise
    except Exception as error:  # h5py hands on what its library meets: OSError, KeyError, RuntimeError ...
        raise FileFormatError("damaged", f"the file is damaged ({error}).") from error


def _sections(file: Any, path: Path, time: str, max_bytes: int) -> Iterator[Any]:
    if len(file) * LIMITS.channel > max_bytes:
        raise FileFormatError("too-large", f"{len(file)} variables exceed max_bytes = {max_bytes}.")
    variables = _own_datasets(file)
    texts = _Texts(max_bytes)
    known = [label for label, variable in variables.items() if not _is_bare_dimension(variable, texts)]
    if time not in known or len(variables[time].shape) != 1:
        raise FileFormatError("no-time", unknown_name("time variable", time, known, "the file"))
    clock = variables[time]
    along = _dimension(clock, texts)
    found = [label for label in known if label != time and _dimension(variables[label], texts) == along is not None]
    order = load_json(texts.get(file.attrs, "variables"), list)
    found = [label for label in order if label in found] if order else found
    if not found:
        raise FileFormatError("empty", f"no variable runs along {time!r}.")
    samples = int(clock.shape[0])
    # the file may be compressed, or hold nothing but a fill value: what counts is what it would unpack to
    check_size(samples, len(found), max_bytes)
    unit = texts.get(clock.attrs, "units", "s")
    if unit not in ("s", "sec", "second", "seconds"):
        raise FileFormatError("unit-mismatch", f"the unit of time is {unit!r}; expected 's'.")
    chosen = [variables[label] for label in found]
    yield {
        "samples": samples, "dt": None, "name": texts.get(file.attrs, "name"),
        "names": [texts.get(v.attrs, "long_name", label) if order else label for label, v in zip(found, chosen)],
        "units": [texts.get(variable.attrs, "units") for variable in chosen],
        "status": texts.get(file.attrs, "status", "complete"),
        **{key: load_json(texts.get(file.attrs, key), dict) for key in _JSON},
    }  # fmt: skip
    with path.open("rb") as raw:
        column = np.empty(samples)  # one for all: whoever gets it copies it
        for variable in (clock, *chosen):
            _read_into(variable, raw, column, max_bytes)
            yield column


def _is_bare_dimension(variable: Any, texts: _Texts) -> bool:
    """A dimension of the file that has no values of its own."""
    return texts.get(variable.attrs, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")


def _dimension(variable: Any, texts: _Texts) -> Any:
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


# ---- HDF5 ----------------------------------------------------------------------------------------------------------


def _own_datasets(file: Any) -> dict[str, Any]:
    """Datasets of the root by name; whatever names another place is refused before it is opened."""
    import h5py

    found: dict[str, Any] = {}
    for label in file:
        if not isinstance(file.get(label, getlink=True), h5py.HardLink):
            raise FileFormatError("outside-reference", f"{label!r} is a link to another place, which is not followed.")
        if file.get(label, getclass=True) is h5py.Dataset:
            found[label] = file[label]
            if found[label].is_virtual or found[label].id.get_create_plist().get_external_count():
                raise FileFormatError(
                    "outside-reference", f"the numbers of {label!r} lie in another file, which is not read."
                )
    return {label: found[label] for label in found if found[label].shape is not None}


class _Texts:
    """Attributes that are one text; anything else counts as absent. All texts together are bounded."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.size = max_bytes, 0

    def get(self, attributes: Any, key: str, default: str = "") -> str:
        import h5py

        if key not in attributes:
            return default
        place = attributes.get_id(key)
        kind = place.get_type()
        if kind.get_class() != h5py.h5t.STRING or place.shape is None or prod(place.shape) != 1:
            return default
        if not kind.is_variable_str():
            check_text(self.size + kind.get_size(), self.max_bytes)
        value = attributes[key]
        value = value.flat[0] if isinstance(value, np.ndarray) else value
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
        self.size += len(raw)
        check_text(self.size, self.max_bytes)
        return raw.decode("utf-8", "replace")


def _read_into(dataset: Any, file: BinaryIO, target: Any, max_bytes: int) -> None:
    """The numbers of a dataset of one dimension as float64."""
    label = dataset.name.strip("/")
    kind = np.dtype(dataset.dtype)
    if kind.kind not in "fiu" or kind.itemsize > 8:
        raise FileFormatError("not-a-number", f"variable {label!r} does not hold numbers.")
    if dataset.chunks is None:
        some = PIECE // 8
        for start in range(0, len(target), some):
            target[start : start + some] = dataset[start : start + some]
        return
    (length,) = dataset.chunks
    if length * kind.itemsize > max_bytes // LIMITS.chunk_share:
        raise FileFormatError(
            "too-large",
            f"a chunk of {label!r} has {length * kind.itemsize} bytes, a sixteenth of max_bytes = {max_bytes} at most.",
        )
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not set(filters) <= {_DEFLATE, _SHUFFLE, _CHECKSUM}:
        raise FileFormatError(
            "not-supported",
            f"variable {label!r} is packed by a filter other than deflate and shuffle.",
            Advice("Repack it: nccopy -d 4."),
        )
    target[:] = dataset.fillvalue

    def place(chunk: Any) -> None:
        (start,) = chunk.chunk_offset
        file.seek(chunk.byte_offset)
        most = length * kind.itemsize
        content = file.read(min(chunk.size, most + most // 1000 + 64))  # what does not shrink grows by its heads
        if len(content) != chunk.size:
            raise FileFormatError("damaged", f"a chunk of {label!r} is cut off.")
        used = [code for k, code in enumerate(filters) if not chunk.filter_mask >> k & 1]
        numbers = np.frombuffer(_unpack(content, used, length * kind.itemsize, kind.itemsize), dtype=kind)
        if len(numbers) != length or start > len(target):
            raise FileFormatError("damaged", f"a chunk of {label!r} does not have the size it declares.")
        target[start : start + length] = numbers[: len(target) - start]

    dataset.id.chunk_iter(place)


def _unpack(content: bytes, filters: list[int], size: int, width: int) -> Any:
    """A chunk with its filters undone, the last one first; no more than ``size`` bytes are made."""
    for code in reversed(filters):
        if code == _CHECKSUM:
            content = content[:-4]
        elif code == _DEFLATE:
            content = zlib.decompressobj().decompress(content, size + 4)  # a checksum may lie behind the numbers
        elif len(content) == size:
            content = np.frombuffer(content, dtype=np.uint8).reshape(width, -1).T.tobytes()
    return content if len(content) == size else b""


# attributes of HDF5 are read whole before their length is known: the memory of its process is bounded
_READ = read_apart("dalembert.files.records.formats.netcdf:sections", bounded=True)
FORMATS.register("netcdf", RecordFormat((".nc", ".nc4", ".netcdf"), _READ, write))
