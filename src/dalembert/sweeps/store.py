"""Results of a sweep on disk: one line per point, so that a killed sweep continues where it stopped.

``sweep.json`` describes the sweep (axes, seed, number of points, the points, digests of the parts of the trial);
``results.jsonl`` gets one line per point, numbers in full precision. A line that was cut off when the process died is
dropped on the next start.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import write_text
from dalembert.core.errors import Broken, DataError, FileFormatError
from dalembert.core.findings import Advice
from dalembert.sweeps.swept import Swept

HEAD, LINES = "sweep.json", "results.jsonl"
FORMAT = 1
MAX_BYTES = 8 * 1024**3  # default of all results in memory


class StoreError(FileFormatError, DataError):
    """A file of a sweep has contents that no sweep writes."""


class Store:
    """Folder of a sweep under way."""

    def __init__(self, folder: str | os.PathLike[str], head: dict[str, Any]) -> None:
        self.folder = take_path("folder", folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / HEAD
        if path.exists():
            head_ = read_head(self.folder)
            differ = [key for key in ("names", "count", "points", "seed") if head_.get(key) != head[key]]
            before = head_.get("trial")
            if not isinstance(before, dict):
                differ.append("trial (this store of an older version does not hold its arguments)")
            else:
                differ += [key for key in (before | head["trial"]) if before.get(key) != head["trial"].get(key)]
            if differ:
                raise DataError(
                    "other-sweep",
                    f"{self.folder} holds a sweep with other {', '.join(differ)}.",
                    Advice("Use another folder, or remove this one."),
                    where={"store": str(self.folder), "differ": tuple(differ)},
                )
        else:
            write_text(path, json.dumps({"format": FORMAT, **head}, indent=1))
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


def pack(value: object) -> Any:
    """A number unchanged, an array as its bytes: both are read back bit by bit."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise DataError("not-a-number", f"a trial must return numbers or arrays of them, got {value!r}.")
    if array.ndim == 0:
        return float(array)
    array = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode("ascii")}


def unpack(value: object, most: int = 64_000_000) -> Any:
    """A number, or an array of at most ``most`` numbers."""
    if not isinstance(value, dict):
        if type(value) not in (int, float):  # of millions: no message without an error
            raise Broken(f"{value!r:.40} is not a number")
        return float(value)  # type: ignore[arg-type]
    shape, data = value.get("shape"), value.get("data")
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) and isinstance(data, str)):
        raise Broken("an array has a shape and data")
    # also of an array without numbers
    Broken.when(prod(max(n, 1) for n in shape) > most, f"an array of shape {shape!r:.40}")
    return np.frombuffer(base64.b64decode(data, validate=True), dtype="<f8").reshape(shape)


def _longest(max_bytes: int, most: int = 64_000_000, share: int = 64, short: int = 1 << 16) -> int:
    """Bytes of a line: a ``share`` of the memory, as JSON takes 40 times its length as objects; short ones always."""
    return min(most, max(max_bytes // share, short))


def read_head(folder: Path, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    path = folder / HEAD
    try:
        is_long = path.stat().st_size > _longest(max_bytes)
        StoreError.when(is_long, "too-large", "the head of a sweep is too long.", path=str(path))
        head = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("no-such-file", f"{folder} has no sweep ({HEAD} is missing).") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError("damaged", f"not the head of a sweep: {error}", path=str(path)) from error
    is_known = isinstance(head, dict) and head.get("format") == FORMAT
    StoreError.when(not is_known, "bad-version", "not the head of a sweep that this version can read.", path=str(path))
    return dict(head)


def read_lines(path: Path, count: int, max_bytes: int = MAX_BYTES, entry: int = 256) -> dict[int, dict[str, Any]]:
    """Whole lines by the index of their point, below `count`; one that was cut off is cut from the file too.

    entry : bytes that a result of a line takes as objects, and a line besides.
    """
    if not path.exists():
        return {}
    lines: dict[int, dict[str, Any]] = {}
    sizes: dict[str, int] = {}
    good = size_ = 0
    longest = _longest(max_bytes)
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(longest + 1), b""), start=1):
            place: Any = {"path": str(path), "line": number}
            StoreError.when(len(raw) > longest, "too-large", "a line of results is too long.", **place)
            if not raw.endswith(b"\n"):
                break
            try:
                line = _check_line(json.loads(raw), count)
            except (ValueError, OverflowError, RecursionError) as error:
                raise StoreError("damaged", f"not a line of results: {error}.", **place) from error
            results = line.get("results", {})
            sizes.update({label: np.size(unpack(results[label])) for label in results if label not in sizes})
            size_ += len(raw) + entry * (1 + len(results))
            size = size_ + 8 * count * sum(sizes.values())
            if size > max_bytes:
                raise StoreError("too-large", f"the results exceed max_bytes = {max_bytes}.", **place)
            lines[line["index"]] = line
            good += len(raw)
    if good < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(good)
    return lines


def _check_line(line: Any, count: int) -> dict[str, Any]:
    """The contents of a line whose parts are valid."""
    index = line.get("index") if isinstance(line, dict) else None
    if type(index) is not int or not 0 <= index < count:
        raise Broken(f"index {index!r:.40} is none of the {count} points")
    if line.get("error") is not None:
        return {"index": index, "error": str(line["error"])}
    results = line.get("results")
    if not isinstance(results, dict):
        raise Broken("results must be a table of numbers and arrays")
    for label, value in results.items():
        unpack(value)
        if not label.isprintable():
            raise Broken(f"{label!r:.40} is no name of a result")
    return {"index": index, "results": results}


def read_sweep(folder: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Swept:
    """A sweep, complete or not, from its folder.

    ``max_bytes`` : results that would take more are refused; reading takes less than twice as much memory.
    """
    where = take_path("folder", folder)
    head = read_head(where, max_bytes)
    try:
        points, names, seed, count = unpack(head["points"]), head["names"], head["seed"], head["count"]
        is_list = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        Broken.when(not is_list, "names of a sweep are texts")
        are_names = len(set(names)) == len(names) and all(name.isprintable() for name in names)
        Broken.when(not are_names, "names of a sweep are different, in letters that can be printed")
        Broken.when(type(seed) is not int or type(count) is not int, "seed and count of a sweep are whole numbers")
        problem = f"points have shape {np.shape(points)}, not ({count!r:.40}, {len(names)})"
        Broken.when(np.shape(points) != (count, len(names)), problem)
    except (KeyError, ValueError, OverflowError) as error:
        raise StoreError("damaged", f"not the head of a sweep: {error!r}", path=str(where / HEAD)) from error
    return gather_swept(tuple(names), points, read_lines(where / LINES, len(points), max_bytes), seed)


def gather_swept(names: tuple[str, ...], points: Any, lines: dict[int, dict[str, Any]], seed: int) -> Swept:
    count = len(points)
    status = np.array(["missing"] * count, dtype=object)
    errors: dict[int, str] = {}
    results: dict[str, Any] = {}
    for index, line in lines.items():
        if line.get("error") is not None:
            status[index], errors[index] = "failed", str(line["error"])
            continue
        status[index] = "done"
        for label, value in line["results"].items():
            value_ = unpack(value)
            array = results.setdefault(label, None)
            if array is None:
                array = results[label] = np.full((count, *np.shape(value_)), np.nan)
            shape = np.shape(value_)
            if array.shape[1:] != shape:
                problem = f"result {label!r} has shape {shape} at point {index}, {array.shape[1:]} elsewhere."
                raise DataError("wrong-shape", problem)
            array[index] = value_
    return Swept(names, np.asarray(points), results, tuple(status.tolist()), errors, seed)
