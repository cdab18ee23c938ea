"""What a sweep has computed, on disk: one line per point, so that a killed sweep goes on where it stopped.

``sweep.json`` says what is swept (axes, seed, number of points, a digest of the points and of the trial);
``results.jsonl`` gets one line per point, numbers in full precision. A line that was cut off when the process died is
dropped on the next start.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DataError, FileFormatError
from dalembert.files.atomic import write_text
from dalembert.sweeps.swept import Swept

HEAD, LINES = "sweep.json", "results.jsonl"
LONGEST = 64_000_000  # bytes of a line
FORMAT = 1


class StoreError(FileFormatError, DataError):
    """A file of a sweep holds what no sweep writes."""


class Store:
    """Folder of a sweep under way."""

    def __init__(self, folder: str | os.PathLike[str], head: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        known = self.folder / HEAD
        if known.exists():
            found = read_head(self.folder)
            for key in ("names", "count", "points", "trial"):
                if found.get(key) != head[key]:
                    what = {"trial": "another trial", "points": "other points"}.get(key, f"another {key}")
                    raise DataError(
                        f"{self.folder} holds a sweep of {what}: use another folder, or remove it to begin anew."
                    )
        else:
            write_text(known, json.dumps({"format": FORMAT, **head}, indent=1))
        self.done = read_lines(self.folder / LINES, int(head["count"]))
        self._file = (self.folder / LINES).open("a", encoding="utf-8")

    def add(self, lines: Iterable[dict[str, Any]]) -> None:
        for line in lines:
            if line["index"] in self.done:
                continue
            self._file.write(json.dumps(line) + "\n")
            self.done[line["index"]] = line
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def packed(value: Any) -> Any:
    """A number as it is, an array as its bytes: both come back bit by bit."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise DataError(f"a trial must return numbers or arrays of them, got {value!r}.")
    if array.ndim == 0:
        return float(array)
    array = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode("ascii")}


def unpacked(value: Any) -> Any:
    if not isinstance(value, dict):
        if not isinstance(value, int | float):
            raise ValueError(f"{value!r:.40} is not a number")
        return float(value)
    shape, data = value.get("shape"), value.get("data")
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) and isinstance(data, str)):
        raise ValueError("an array has a shape and data")
    return np.frombuffer(base64.b64decode(data, validate=True), dtype="<f8").reshape(shape)


def read_head(folder: Path) -> dict[str, Any]:
    path = folder / HEAD
    try:
        if path.stat().st_size > LONGEST:
            raise StoreError("the head of a sweep is too long.", path=str(path))
        head = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{folder} holds no sweep ({HEAD} is missing).") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"not the head of a sweep: {error}", path=str(path)) from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise StoreError("not the head of a sweep that this version can read.", path=str(path))
    return head


def read_lines(path: Path, count: int) -> dict[int, dict[str, Any]]:
    """Whole lines by the index of their point, below `count`; one that was cut off is cut from the file too."""
    if not path.exists():
        return {}
    found: dict[int, dict[str, Any]] = {}
    good = 0
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
            if len(raw) > LONGEST:
                raise StoreError("a line of results is too long.", path=str(path), line=number)
            if not raw.endswith(b"\n"):
                break
            try:
                line = json.loads(raw)
                found[_checked(line, count)] = line
            except (ValueError, RecursionError) as error:
                raise StoreError(f"not a line of results: {error}.", path=str(path), line=number) from error
            good += len(raw)
    if good < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(good)
    return found


def _checked(line: Any, count: int) -> int:
    """The index of a line whose parts are what they should be."""
    index = line.get("index") if isinstance(line, dict) else None
    if type(index) is not int or not 0 <= index < count:
        raise ValueError(f"index {index!r:.40} is none of the {count} points")
    if line.get("error") is not None:
        return index
    results = line.get("results")
    if not isinstance(results, dict):
        raise ValueError("results must be a table of numbers and arrays")
    for value in results.values():
        unpacked(value)
    return index


def read_sweep(folder: str | os.PathLike[str]) -> Swept:
    """A sweep, complete or not, from its folder."""
    where = Path(folder)
    head = read_head(where)
    try:
        points, names, seed = unpacked(head["points"]), head["names"], head["seed"]
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and type(seed) is int):
            raise ValueError("names and seed of a sweep are texts and a number")
        if np.shape(points) != (head["count"], len(names)):
            raise ValueError(f"points have shape {np.shape(points)}, not ({head['count']!r:.40}, {len(names)})")
    except (KeyError, ValueError) as error:
        raise StoreError(f"not the head of a sweep: {error!r}", path=str(where / HEAD)) from error
    return swept_of(tuple(names), points, read_lines(where / LINES, len(points)), seed)


def swept_of(names: tuple[str, ...], points: Any, lines: dict[int, dict[str, Any]], seed: int) -> Swept:
    count = len(points)
    status = np.array(["missing"] * count, dtype=object)
    errors: dict[int, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    rows: dict[str, dict[int, Any]] = {}
    for index, line in lines.items():
        if line.get("error") is not None:
            status[index], errors[index] = "failed", str(line["error"])
            continue
        status[index] = "done"
        for label, value in line["results"].items():
            found = unpacked(value)
            shape = np.shape(found)
            if shapes.setdefault(label, shape) != shape:
                raise DataError(f"result {label!r} has shape {shape} at point {index}, {shapes[label]} elsewhere.")
            rows.setdefault(label, {})[index] = found
    results = {}
    for label, found_rows in rows.items():
        array = np.full((count, *shapes[label]), np.nan)
        for index, value in found_rows.items():
            array[index] = value
        results[label] = array
    return Swept(names, np.asarray(points), results, tuple(status.tolist()), errors, seed)
