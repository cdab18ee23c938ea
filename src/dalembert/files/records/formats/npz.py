"""Arrays of NumPy (``.npy``, ``.npz``) to records, without pickle: named as the variables of a MAT-file are.

Of an ``.npz`` file every array is a variable; an ``.npy`` file has one array, whose columns, or fields, are channels.
Sizes in the heads of the arrays are checked before their numbers are read.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.records.formats.mat import plan_channels
from dalembert.files.tables.bounds import check_size
from dalembert.files.tables.clock import settle_times
from dalembert.record import Record

# What NumPy and the archive raise of broken heads (Python source) and parts.
BROKEN = (ValueError, OSError, EOFError, KeyError, NotImplementedError, SyntaxError, RecursionError,
          tokenize.TokenError, zipfile.BadZipFile, zlib.error)  # fmt: skip


def read(path: Path, how: Reading) -> Record:
    """Every real vector, or matrix column by column, as long as time."""
    try:
        arrays = _arrays(path, how.max_bytes)
    except BROKEN as error:
        raise FileFormatError("damaged", f"these are not arrays of numbers that can be read ({error}).") from error
    real = {
        name: np.atleast_1d(array) for name, array in arrays.items() if array.dtype.kind in "fiub" and array.ndim < 3
    }
    tables = {name: array[:, None] if array.ndim == 1 else array for name, array in real.items() if array.size}
    plan = plan_channels(
        {name: array.shape for name, array in tables.items()}, how.time, how.dt,
        lambda name: float(tables[name][0, 0]), how.max_bytes,
    )  # fmt: skip
    columns = [
        array if array.shape[0] == plan.samples else array.T for array in (tables[name] for name, _, _ in plan.chosen)
    ]
    times, notes = plan.dt * np.arange(plan.samples), dict[str, str]()
    if plan.clock:
        times, notes = settle_times(tables[plan.clock].astype(np.float64).ravel())
    return Record(times, np.column_stack(columns).astype(np.float64), plan.names, provenance={**plan.notes, **notes})


def _arrays(path: Path, max_bytes: int) -> Mapping[str, Any]:
    if path.suffix.lower() == ".npy":
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        check_size(mapped.size, 1, max_bytes)
        fields = mapped.dtype.names
        if fields or mapped.ndim != 2:
            return {name: mapped[name] for name in fields} if fields else {"channel": mapped}
        columns = mapped if mapped.shape[0] >= mapped.shape[1] else mapped.T
        return {f"channel{k + 1}": columns[:, k] for k in range(columns.shape[1])}
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    problem = f"the file unpacks to {size} bytes, more than max_bytes = {max_bytes}."
    FileFormatError.when(size > max_bytes, "too-large", problem)
    with np.load(path, allow_pickle=False) as file:
        members = {}
        for name in file.files:
            try:
                members[name] = file[name]
            except ValueError:  # objects, which only pickle reads, are no numbers
                continue
        return {
            name: member for name, member in members.items() if isinstance(member, np.ndarray)
        }  # other members are bytes


RECORD_FORMATS.register("npz", RecordFormat((".npz", ".npy"), read))
