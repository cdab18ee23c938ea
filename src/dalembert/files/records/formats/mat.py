"""MAT-files of MATLAB to records: vectors of one length beside a vector of time, or beside a sampling rate.

Only arrays of real numbers are read; text, objects, functions and cells are skipped, and nothing in a file is
executed. Files of version 7.3 are HDF5 and are read by its library in a separate process.

The format up to version 7.2 is that of MathWorks, *MAT-File Format* (R2024b). Such a file is read tag by tag: class,
dimensions and name of every variable, and the numbers of the variables that are needed, in pieces.
Fields of a structure are variables, by their own name where it is unique. Cells, objects, functions, text and sparse
matrices are skipped by their length, without looking inside.
Every length is compared with the rest of the file, and a compressed variable is unpacked only to the size of its
dimensions.

MATLAB has no names for channels: a vector called time or t is time; a single number called fs or dt gives the rate of a
file without one; every real vector or matrix as long as time is a channel or several.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import Broken, DataError, FileFormatError, require_extra, unknown_name
from dalembert.core.isolation import PIECE
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.records.hdf5 import MAGIC, Texts, own_datasets, read_dataset
from dalembert.files.records.sections import read_apart
from dalembert.files.tables import bounds
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.clock import NO_TIME, find_time, names_of_rate, settle_times, step_of
from dalembert.record import Record

LIBRARIES = ("h5py",)
_MATRIX, _COMPRESSED, _STRUCTURE = 14, 15, 2
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_STORED_4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_NUMERIC = range(6, 16)  # classes: double, single, int8 ... uint64; a logical array is a uint8 with a flag
_IS_COMPLEX = 0x0800

Shape = tuple[int, ...]


def read(path: Path, how: Reading) -> Record:
    """Every real vector (or matrix, column by column) as long as time."""
    with path.open("rb") as raw:
        head = raw.read(128)
    if b"MATLAB 7.3" in head or head.startswith(MAGIC):
        return _read_hdf5(path, how)
    arrays = [variable for variable in variables(path, how.max_bytes) if len(variable.shape) == 2]
    real = {variable.name: variable for variable in arrays if not variable.is_complex}

    def number(name: str) -> float:
        value = np.empty(1)
        read_into(path, real[name], value)
        return float(value[0])

    plan = plan_channels(
        {name: variable.shape for name, variable in real.items()}, how.time, how.dt, number, how.max_bytes
    )
    data = np.empty((plan.samples, len(plan.names)))
    for name, first, wide in plan.chosen:
        block = data[:, first : first + wide]
        # the first index runs fastest: columns one after the other, unless time runs along the second
        read_into(path, real[name], block.T if real[name].shape[0] == plan.samples else block)
    times: Any = np.empty(plan.samples)
    if plan.clock:
        read_into(path, real[plan.clock], times)
        times, notes = settle_times(times)
        plan.notes.update(notes)
    else:
        times = plan.dt * np.arange(plan.samples)
    complex_ones = [variable.name for variable in arrays if variable.is_complex]
    note = {"left out": [f"{name!r} is complex" for name in complex_ones]} if complex_ones else {}
    return Record(times, data, plan.names, provenance={**plan.notes, **note})


def sections(path: Path, time: str | None, max_bytes: int, dt: float | None) -> Iterator[Any]:
    """A file of version 7.3; what MATLAB calls rows are the last index of its datasets."""
    h5py = require_extra("h5py", "lab")
    try:
        with h5py.File(path, "r") as file, path.open("rb") as raw:
            problem = f"{len(file)} variables exceed max_bytes = {max_bytes}."
            FileFormatError.when(len(file) * bounds.CHANNEL > max_bytes, "too-large", problem)
            datasets = own_datasets(file, groups=True)
            named = dict(zip(_shorten([*datasets]), datasets.values(), strict=True))
            yield from _hdf5_sections(named, raw, time, max_bytes, dt)
    except (DataError, FileFormatError):
        raise
    except Exception as error:  # h5py passes on errors of its library: OSError, KeyError, RuntimeError ...
        raise FileFormatError("damaged", f"the file is damaged ({error}).") from error


def _hdf5_sections(
    found: dict[str, Any], raw: BinaryIO, time: str | None, max_bytes: int, dt: float | None
) -> Iterator[Any]:
    texts = Texts(max_bytes)
    numeric = {
        name: dataset for name, dataset in found.items()
        if len(dataset.shape) == 2 and dataset.dtype.kind in "fiu"
        and texts.get(dataset.attrs, "MATLAB_class", "double") != "char"
    }  # fmt: skip

    def load(name: str) -> Any:
        check_size(numeric[name].shape[0], numeric[name].shape[1], max_bytes)
        values = np.empty(numeric[name].shape)
        read_dataset(numeric[name], raw, values, max_bytes)
        return values

    shapes = {name: (dataset.shape[1], dataset.shape[0]) for name, dataset in numeric.items()}
    plan = plan_channels(shapes, time, dt, lambda name: float(load(name)[0, 0]), max_bytes)
    yield {
        "samples": plan.samples, "dt": None if plan.clock else plan.dt, "names": plan.names,
        "units": [""] * len(plan.names), "provenance": plan.notes,
    }  # fmt: skip
    for name in [plan.clock] * bool(plan.clock) + [name for name, _, _ in plan.chosen]:
        values = load(name)
        yield from (values if shapes[name][0] == plan.samples else np.ascontiguousarray(values.T))


# ---- the channels --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatPlan:
    """Channels of a MAT-file.

    clock : variable that holds time, "" for none; dt : sample time [s] then.
    chosen : (variable, its first channel, number of channels).
    """

    samples: int
    clock: str
    dt: float
    names: list[str]
    chosen: list[tuple[str, int, int]]
    notes: dict[str, Any] = field(default_factory=dict)


def plan_channels(
    shapes: Mapping[str, Shape], time: str | None, dt: float | None, number: Callable[[str], float], max_bytes: int
) -> MatPlan:
    """The channels among real matrices; ``number`` reads a matrix of one number."""
    vectors = [name for name, shape in shapes.items() if 1 in shape and max(shape) > 1]
    column = find_time(vectors, time)
    unused = vectors[column] if column is not None and dt is not None else ""
    clock = "" if column is None or dt is not None else vectors[column]
    notes: dict[str, Any] = {}
    step = dt if dt is not None else 0.0
    if not clock and dt is None:
        step, source = _find_step({name for name, shape in shapes.items() if max(shape) == 1}, number)
        if not step:
            problem = unknown_name("vector", time or "time", sorted(vectors), "the file")
            raise FileFormatError("no-time", problem, *NO_TIME, where={"name": time or "time"})
        notes["sampling"] = f"sample time {step:.9g} s from variable {source!r}"
    samples = max(shapes[clock]) if clock else max((max(shape) for shape in shapes.values()), default=0)
    names: list[str] = []
    chosen: list[tuple[str, int, int]] = []
    for name, shape in shapes.items():
        wide = 0 if name in (clock, unused) or samples < 2 else _count_channels(shape, samples)
        if wide:
            check_size(samples, len(names) + wide, max_bytes)
            chosen.append((name, len(names), wide))
            names += [name] if 1 in shape else [f"{name}{k + 1}" for k in range(wide)]
    FileFormatError.when(not names, "empty", "no variable is as long as time.")
    return MatPlan(samples, clock, step, names, chosen, notes)


def _find_step(scalars: set[str], number: Callable[[str], float]) -> tuple[float, str]:
    """Sample time [s] and the variable that gives it; 0 for none."""
    for name in names_of_rate(sorted(scalars)):
        if (step := step_of(name, number(name))) > 0:
            return step, name
    return 0.0, ""


def _count_channels(shape: Shape, samples: int) -> int:
    """Number of channels of a variable: 0 where it is not as long as time."""
    if 1 in shape:
        return int(max(shape) == samples)
    return max(shape) * min(shape) // samples if samples in shape else 0


# ---- the file ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatVariable:
    """A numeric array of the file: where it lies, not yet its numbers.

    ``start`` : first byte of the element in the file (its body); ``packed`` : bytes of a compressed body, else 0;
    ``skip`` : bytes of the unpacked body before the numbers; ``stored`` : type of the numbers as they are stored.
    """

    name: str
    shape: tuple[int, ...]
    is_complex: bool
    stored: str
    start: int
    packed: int
    skip: int

    @property
    def size(self) -> int:
        return prod(self.shape)


def variables(path: Path, max_bytes: int) -> list[MatVariable]:
    """Numeric variables in the order of the file; `FileFormatError` where it is damaged."""
    most = max_bytes // bounds.CHANNEL
    try:
        with path.open("rb") as file:
            total = path.stat().st_size
            head = file.read(128)
            # the first word of a version 4 file is a small number, of a later one the beginning of a text
            walk = _version_4(file, total) if 0 in head[:4] else _version_5(file, head, total)
            arrays = list(islice(walk, most + 1))
    except (Broken, zlib.error, OSError) as error:
        raise FileFormatError("damaged", f"this is not a MAT-file that can be read ({error}).") from error
    FileFormatError.when(len(arrays) > most, "too-large", f"more than {most} variables exceed max_bytes = {max_bytes}.")
    short = _shorten([variable.name for variable in arrays])
    arrays = [replace(variable, name=name) for variable, name in zip(arrays, short, strict=True)]
    names_: set[str] = set()
    for variable in arrays:
        FileFormatError.when(variable.name in names_, "taken-name", f"two variables are named {variable.name!r}.")
        names_.add(variable.name)
    return arrays


def _shorten(names: list[str]) -> list[str]:
    """Names of fields without those of their structures, where they stay different."""
    last = Counter(name.rpartition(".")[2] for name in names)
    return [short if last[short := name.rpartition(".")[2]] == 1 else name for name in names]


def read_into(path: Path, variable: MatVariable, target: Any) -> None:
    """The real numbers of a variable, in the order of the file (first index fastest), into ``target.flat``."""
    stored = np.dtype(variable.stored)
    place, places = 0, target.flat
    try:
        with path.open("rb") as file:
            file.seek(variable.start)
            take = _unpack_from(file, variable.packed) if variable.packed else file.read
            for count in range(variable.skip, 0, -PIECE):
                _read_exactly(take, min(count, PIECE))
            while place < variable.size:
                some = min(variable.size - place, PIECE // stored.itemsize)
                places[place : place + some] = np.frombuffer(_read_exactly(take, some * stored.itemsize), dtype=stored)
                place += some
    except (Broken, zlib.error, OSError) as error:
        raise FileFormatError("damaged", f"variable {variable.name!r} is damaged ({error}).") from error


def _read_exactly(take: Callable[[int], bytes], wanted: int) -> bytes:
    raw = take(wanted)
    Broken.when(len(raw) != wanted, "it is cut off")
    return raw


def _unpack_from(file: BinaryIO, packed: int) -> Callable[[int], bytes]:
    """Reader of a compressed body; it keeps only a piece of the packed bytes and the requested result in memory."""
    stream, remaining = zlib.decompressobj(), packed

    def take(wanted: int) -> bytes:
        nonlocal remaining
        parts: list[bytes] = []
        while wanted > 0 and not stream.eof:
            raw = stream.unconsumed_tail
            if not raw:
                raw = file.read(min(remaining, 1 << 16))
                remaining -= len(raw)
            piece = stream.decompress(raw, wanted)
            if not raw and not piece:
                break
            parts.append(piece)
            wanted -= len(piece)
        return b"".join(parts)

    return take


# -- version 5 to 7.2 --------------------------------------------------------------------------------------------------


def _version_5(file: BinaryIO, head: bytes, total: int) -> Iterator[MatVariable]:
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None or head[124:126] not in (b"\x00\x01", b"\x01\x00"):
        raise Broken("its head is not that of versions 4 to 7.2")
    start = 128
    while start < total:
        file.seek(start)
        kind, length = struct.unpack(f"{order}II", _read_exactly(file.read, 8))
        start += 8
        if length > total - start:
            raise Broken(f"an element of {length} bytes, but {total - start} are left")
        if kind == _COMPRESSED and length:
            take = _unpack_from(file, length)
            inner, size = struct.unpack(f"{order}II", _read_exactly(take, 8))
            for variable in _matrix(take, order, size) if inner == _MATRIX else ():
                yield replace(variable, start=start, packed=length, skip=8 + variable.skip)
        elif kind == _MATRIX and length:
            for variable in _matrix(file.read, order, length):
                yield replace(variable, start=start)
        start += length


def _matrix(take: Callable[[int], bytes], order: str, size: int, path: tuple[str, ...] = ()) -> Iterator[MatVariable]:
    """Head of an array of ``size`` bytes, and of the fields of a structure; nothing for other arrays.

    path : names of the structures around it and of this field.
    """
    used = 0

    def element(most: int) -> tuple[int, bytes]:
        nonlocal used
        kind, length, content = tag()
        if content is None:
            Broken.when(length > most, f"{length} bytes in the head of an array")
            padded = -(-length // 8) * 8
            content = _read_exactly(take, padded)[:length]
            used += padded
        return kind, content

    def tag() -> tuple[int, int, bytes | None]:
        """Type and length of an element, and its content where it is so small that it lies in the tag."""
        nonlocal used
        Broken.when(size - used < 8, "an array is cut off")
        raw = _read_exactly(take, 8)
        used += 8
        kind, length = struct.unpack(f"{order}II", raw)
        if kind >> 16:
            kind, length = kind & 0xFFFF, kind >> 16
            Broken.when(length > 4, f"a small element of {length} bytes")
            return kind, length, raw[4 : 4 + length]
        return kind, length, None

    _, flags = element(8)
    Broken.when(len(flags) != 8, "an array without flags")
    word = struct.unpack(f"{order}I", flags[:4])[0]
    if word & 0xFF not in (*_NUMERIC, _STRUCTURE):
        return
    kind, dimensions = element(4 * 32)
    Broken.when(kind != 5 or len(dimensions) < 8 or len(dimensions) % 4, "an array without dimensions")
    shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
    _, raw_name = element(bounds.VARIABLE_NAME)
    path = path or (raw_name.rstrip(b"\0").decode("utf-8", "replace"),)
    name = ".".join(path)
    Broken.when(min(shape) < 0, f"{name!r} has dimensions {shape}")
    if not name or min(shape) == 0:  # arrays without a name are data of objects
        return
    if word & 0xFF == _STRUCTURE:
        _, wide = element(4)
        _, raw_names = element(bounds.VARIABLE_NAME)
        step = struct.unpack(f"{order}i", wide)[0] if len(wide) == 4 else 0
        Broken.when(step < 1 or len(raw_names) % step, f"the structure {name!r} has no names of fields")
        if prod(shape) > 1 or len(path) > bounds.NESTING:
            return
        for first in range(0, len(raw_names), step):
            kind, length, inside = tag()
            problem = f"a field of {name!r} is no array"
            Broken.when(kind != _MATRIX or inside is not None or length > size - used, problem)
            field = raw_names[first : first + step].partition(b"\0")[0].decode("utf-8", "replace")
            begin, remaining = used, length

            def within(wanted: int) -> bytes:
                nonlocal remaining
                remaining -= wanted
                Broken.when(remaining < 0, f"a field of {name!r} is longer than it declares")
                return take(wanted)

            for variable in _matrix(within, order, length, (*path, field)) if length else ():
                yield replace(variable, skip=begin + variable.skip)
            while remaining:
                _read_exactly(within, min(remaining, PIECE))
            used += length
        return
    kind, length, inside = tag()
    stored = np.dtype(order + _STORED[kind]) if kind in _STORED else None
    if stored is None or length != prod(shape) * stored.itemsize or length > (4 if inside is not None else size - used):
        raise Broken(f"the numbers of {name!r} take {length} bytes, which does not fit its dimensions {shape}")
    begin = used - 4 if inside is not None else used
    yield MatVariable(name, shape, bool(word & _IS_COMPLEX), stored.str, 0, 0, begin)


# -- version 4 ---------------------------------------------------------------------------------------------------------


def _version_4(file: BinaryIO, total: int) -> Iterator[MatVariable]:
    start = 0
    while start < total:
        file.seek(start)
        raw = _read_exactly(file.read, 20)
        order = "<" if struct.unpack("<I", raw[:4])[0] < 5000 else ">"
        code, rows, columns, imaginary, letters = struct.unpack(f"{order}5i", raw)
        machine, digits = divmod(code, 1000)
        zero, digits = divmod(digits, 100)
        stored_as, kind = divmod(digits, 10)
        problem = f"{code} is no type of a version 4 array"
        Broken.when(machine not in (0, 1) or zero or stored_as not in _STORED_4 or kind not in (0, 1, 2), problem)
        if rows < 0 or columns < 0 or imaginary not in (0, 1) or not 0 < letters <= bounds.VARIABLE_NAME:
            raise Broken("a head of a version 4 array that cannot be")
        stored = np.dtype(order + _STORED_4[stored_as])
        start += 20 + letters
        length = rows * columns * stored.itemsize
        problem = f"an array of {length} bytes, but {total - start} are left"
        Broken.when(start + length * (1 + imaginary) > total, problem)
        name = _read_exactly(file.read, letters).rstrip(b"\0").decode("latin-1")
        if kind == 0 and name and length:
            yield MatVariable(name, (rows, columns), bool(imaginary), stored.str, start, 0, 0)
        start += length * (1 + imaginary)


_read_hdf5 = read_apart("dalembert.files.records.formats.mat:sections", bounded=True)
RECORD_FORMATS.register("mat", RecordFormat((".mat",), read))
