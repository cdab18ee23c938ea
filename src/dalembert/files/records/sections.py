"""A record made of what a reader hands over: what it says of itself, then its columns in pieces, time first."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.isolation import sections
from dalembert.record import Record


def read(module: str, path: Path, time: str, max_bytes: int, dt: float | None) -> Record:
    """The record in a file, by the reader in a module of this folder."""
    # attributes of HDF5 are read whole before their length is known; pyarrow reserves far more than it takes
    memory = max_bytes if module == "netcdf" else None
    with closing(
        sections(f"dalembert.files.records.{module}:sections", path, [time, max_bytes, dt], memory=memory)
    ) as found:
        about = next(found)
        samples, names, dt = about.pop("samples"), about.pop("names"), about.pop("dt")
        data = np.empty((samples, len(names)))
        times = np.empty(samples) if dt is None else dt * np.arange(samples)
        columns = ([times] if dt is None else []) + list(data.T)
        k = row = 0
        for piece in found:
            if not len(piece):
                continue
            while k < len(columns) and row == samples:
                k, row = k + 1, 0
            if k == len(columns) or row + len(piece) > samples:
                raise FileFormatError("the file has more numbers than it says.", str(path))
            columns[k][row : row + len(piece)] = piece
            row += len(piece)
    if samples and (k, row) != (len(columns) - 1, samples):
        raise FileFormatError("the file has fewer numbers than it says.", str(path))
    return Record(times, data, names, about.pop("units"), **about)
