"""MAT-files of MATLAB (up to version 7.2) to records: vectors of one length beside a vector of time.

Only arrays of numbers are read; objects, functions and cells are passed over, and nothing in a file is executed.
Version 7.3 files are HDF5: save them with ``-v7``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FileFormatError, unknown_name
from dalembert.record import Record


def read(path: Path, time: str, max_bytes: int, dt: float | None) -> Record:
    """Every real vector (or matrix, column by column) as long as time."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    with path.open("rb") as raw:
        head = raw.read(128)
    if b"MATLAB 7.3" in head or head.startswith(b"\x89HDF"):
        raise FileFormatError(
            "this is a MAT-file of version 7.3. Save it for reading here: save(name, '-v7').", str(path)
        )
    try:
        sizes = whosmat(path)
        total = sum(int(np.prod(shape, dtype=float)) for _, shape, _ in sizes)
        if total * 8 > max_bytes:
            raise FileFormatError(f"{total} numbers exceed max_bytes = {max_bytes}.", str(path))
        found = loadmat(path, squeeze_me=False, struct_as_record=True, chars_as_strings=True)
    except (MatReadError, ValueError, TypeError, OSError, KeyError, IndexError, NotImplementedError) as error:
        raise FileFormatError(f"this is not a MAT-file that can be read ({error}).", str(path)) from error
    arrays = {name: value for name, value in found.items() if not name.startswith("__") and _numeric(value)}
    columns, clock = _columns(arrays, time, dt, path)
    if not columns:
        raise FileFormatError("no variable is as long as time.", str(path))
    return Record(clock, np.column_stack(list(columns.values())), list(columns))


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.ndim == 2 and value.size > 0


def _columns(arrays: dict[str, Any], time: str, dt: float | None, path: Path) -> tuple[dict[str, Any], Any]:
    vectors = {name: value.ravel() for name, value in arrays.items() if 1 in value.shape}
    if dt is None:
        if time not in vectors:
            known = sorted(name for name, value in vectors.items() if len(value) > 1)
            raise FileFormatError(f"{unknown_name('vector', time, known, 'the file')} Give time= or dt=.", str(path))
        clock = np.asarray(vectors[time], dtype=np.float64)
        samples = len(clock)
    else:
        if "time" in arrays:
            raise FileFormatError("dt is for files without time, but there is a variable 'time'.", str(path))
        samples = max((max(value.shape) for value in arrays.values()), default=0)
        clock = dt * np.arange(samples)
    columns: dict[str, Any] = {}
    for name, value in arrays.items():
        if name == time and dt is None:
            continue
        if name in vectors:
            if len(vectors[name]) == samples and samples > 1:
                columns[name] = np.asarray(vectors[name], dtype=np.float64)
            continue
        wide = value if value.shape[0] == samples else value.T if value.shape[1] == samples else None
        if wide is not None:
            columns |= {f"{name}{k + 1}": np.asarray(wide[:, k], dtype=np.float64) for k in range(wide.shape[1])}
    return columns, clock
