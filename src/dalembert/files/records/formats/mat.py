"""MAT-files of MATLAB (up to version 7.2) to records: vectors of one length beside a vector of time.

Only arrays of real numbers are read; text, objects, functions and cells are skipped, and nothing in a file is
executed. Version 7.3 files are HDF5: save them with ``-v7``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.files.records.bounds import check_size
from dalembert.files.records.format import FORMATS, Reading, RecordFormat
from dalembert.files.records.mat_arrays import Variable, read_into, variables
from dalembert.record import Record


def read(path: Path, how: Reading) -> Record:
    """Every real vector (or matrix, column by column) as long as time."""
    time, max_bytes, dt = how.time, how.max_bytes, how.dt
    with path.open("rb") as raw:
        head = raw.read(128)
    if b"MATLAB 7.3" in head or head.startswith(b"\x89HDF"):
        raise FileFormatError(
            "bad-version",
            "this is a MAT-file of version 7.3.",
            Advice("Save it in MATLAB with: save(name, '-v7')."),
            path=str(path),
        )
    found = [variable for variable in variables(path, max_bytes) if len(variable.shape) == 2]
    real = {variable.name: variable for variable in found if not variable.is_complex}
    clock, samples = _clock(real, time, dt, path)
    # where its columns begin in the table, and how many there are
    chosen: list[tuple[Variable, int, int]] = []
    names: list[str] = []
    for name, variable in real.items():
        wide = 0 if variable is clock or samples < 2 else _columns(variable, samples)
        if wide:
            check_size(samples, len(names) + wide, max_bytes, path)
            chosen.append((variable, len(names), wide))
            names += [name] if 1 in variable.shape else [f"{name}{k + 1}" for k in range(wide)]
    if not names:
        raise FileFormatError("empty", "no variable is as long as time.", path=str(path))
    data = np.empty((samples, len(names)))
    for variable, first, wide in chosen:
        block = data[:, first : first + wide]
        # the first index runs fastest: columns one after the other, unless time runs along the second
        read_into(path, variable, block.T if variable.shape[0] == samples else block)
    times: Any = np.empty(samples)
    if clock is not None:
        read_into(path, clock, times)
    elif dt is not None:
        times = dt * np.arange(samples)
    complex_ones = [variable.name for variable in found if variable.is_complex]
    note = {"left out": [f"{name!r} is complex" for name in complex_ones]} if complex_ones else None
    return Record(times, data, names, provenance=note)


def _columns(variable: Variable, samples: int) -> int:
    """How many channels a variable makes: 0 where it is not as long as time."""
    if 1 in variable.shape:
        return int(variable.size == samples)
    return variable.size // samples if samples in variable.shape else 0


def _clock(real: dict[str, Variable], time: str, dt: float | None, path: Path) -> tuple[Variable | None, int]:
    vectors = {name: variable for name, variable in real.items() if 1 in variable.shape}
    if dt is not None:
        if "time" in real:
            raise FileFormatError(
                "conflicting-arguments", "dt is for files without time, but there is a variable 'time'.", path=str(path)
            )
        return None, max((max(variable.shape) for variable in real.values()), default=0)
    if time not in vectors:
        known = sorted(name for name, variable in vectors.items() if variable.size > 1)
        raise FileFormatError(
            "no-time",
            unknown_name("vector", time, known, "the file"),
            Advice("Give {}.", Argument("time"), Argument("dt")),
            path=str(path),
            where={"name": time},
        )
    return vectors[time], vectors[time].size


FORMATS.register("mat", RecordFormat((".mat",), read))
