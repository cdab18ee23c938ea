"""A record from the parts that an isolated reader yields: a dict, then its columns in pieces, time first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.isolation import sections
from dalembert.files.records.format import Reading
from dalembert.files.tables.clock import settle_times
from dalembert.record import Record


def read_apart(reader: str, *, bounded: bool = False) -> Callable[[Path, Reading], Record]:
    """A reader that runs in a separate process, which a damaged file may crash.

    reader : ``"module:function"``, a generator called with the path, the name of the time column, max_bytes and dt. It
        yields a dict (samples, dt, names, units, name, status, statistics, provenance, scene), then arrays: time unless
        dt is given, and every channel.
    bounded : whether the process gets no more memory than max_bytes; a library that reserves more than it uses cannot
        be bounded.
    """

    def read(path: Path, how: Reading) -> Record:
        memory = how.max_bytes if bounded else None
        with closing(sections(reader, path, [how.time, how.max_bytes, how.dt], memory=memory)) as pieces:
            about = next(pieces)
            samples, names, dt = about.pop("samples"), about.pop("names"), about.pop("dt")
            data = np.empty((samples, len(names)))
            times = np.empty(samples) if dt is None else dt * np.arange(samples)
            columns = ([times] if dt is None else []) + list(data.T)
            k = row = 0
            for piece in pieces:
                if not len(piece):
                    continue
                while k < len(columns) and row == samples:
                    k, row = k + 1, 0
                if k == len(columns) or row + len(piece) > samples:
                    raise FileFormatError("damaged", "the file holds more numbers than it declares.", path=str(path))
                columns[k][row : row + len(piece)] = piece
                row += len(piece)
        problem = "the file holds fewer numbers than it declares."
        FileFormatError.when(samples and (k, row) != (len(columns) - 1, samples), "damaged", problem, path=str(path))
        if dt is None and "status" not in about:  # files of this package keep every time as it is
            times, notes = settle_times(times)
            about["provenance"] = {**notes, **(about.get("provenance") or {})}
        return Record(times, data, names, about.pop("units"), **about)

    return read
