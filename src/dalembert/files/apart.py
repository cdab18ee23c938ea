"""Files read in a process that may die.

The libraries behind Parquet and netCDF are large C programs. A damaged file can end them with a signal or an abort, and
the caller's session with them (``docs/decisions/020-record-files.md``). Their readers run in a helper process: it is
started at the first such file, reads one file at a time, hands the numbers over in pieces, and ends with its parent.
When it dies, the file is refused and the next one gets a new helper.

What goes over the pipe is a sequence of frames: a letter, a length, and the content.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert import errors
from dalembert.errors import DalembertError, FileFormatError
from dalembert.files import netcdf_records, parquet_records
from dalembert.files.bounds import PIECE
from dalembert.files.plain_data import as_json
from dalembert.record import Record

Sections = Iterator[Any]  # what a record says of itself, then its columns in pieces, time first
READERS: dict[str, Callable[[Path, str, int, float | None], Sections]] = {
    "netcdf": netcdf_records.sections,
    "parquet": parquet_records.sections,
}
_FRAME = struct.Struct("<cQ")
_READY, _ABOUT, _NUMBERS, _ERROR, _END = b"R", b"A", b"N", b"E", b"Z"
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from dalembert.files.apart import serve; serve()"
_helper: subprocess.Popen[bytes] | None = None
_lock = threading.Lock()
_of_parents: list[Any] = []  # helpers of the processes this one was forked from: not ours to end


def read(kind: str, path: Path, time: str, max_bytes: int, dt: float | None) -> Record:
    """A record read by the reader of that kind, in the helper where one can be had."""
    with _lock:
        helper = _started()
        if helper is None:
            return assembled(READERS[kind](path, time, max_bytes, dt), path)
        answers = _Answers(helper)
        try:
            return assembled(answers.sections(kind, path, time, max_bytes, dt), path)
        finally:
            if not answers.at_end:  # died, or left in the middle of a file
                stop()


def assembled(sections: Sections, path: Path) -> Record:
    """The record of a reader's sections."""
    about = next(sections)
    samples, names, dt = about.pop("samples"), about.pop("names"), about.pop("dt")
    data = np.empty((samples, len(names)))
    times = np.empty(samples) if dt is None else dt * np.arange(samples)
    columns = ([times] if dt is None else []) + list(data.T)
    k = row = 0
    for piece in sections:
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


def stop() -> None:
    """End the helper."""
    global _helper
    if _helper is not None:
        _helper.kill()
        _helper.wait()
        for pipe in (_helper.stdin, _helper.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        _helper = None


def _forget() -> None:
    """In a process forked from this one: its pipes are the parent's."""
    global _helper, _lock
    _of_parents.append(_helper)
    _helper, _lock = None, threading.Lock()


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _started() -> subprocess.Popen[bytes] | None:
    """The helper, started where it is not there; None where Python cannot start another (embedded, no processes)."""
    global _helper
    if _helper is not None and _helper.poll() is None:
        return _helper
    stop()
    if not Path(sys.executable or "").stem.lower().startswith(("python", "pypy")):
        return None
    try:
        _helper = subprocess.Popen(
            [sys.executable, "-c", _CHILD, *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except OSError:
        return None
    if _frame(_helper) != (_READY, b""):
        stop()
        return None
    return _helper


class _Answers:
    """What the helper says to one file; ``at_end`` when it has said all of it."""

    def __init__(self, helper: subprocess.Popen[bytes]) -> None:
        self.helper, self.at_end = helper, False

    def sections(self, kind: str, path: Path, time: str, max_bytes: int, dt: float | None) -> Sections:
        assert self.helper.stdin is not None
        where = str(path.absolute())
        with contextlib.suppress(OSError):  # a broken pipe is seen at the answer
            self.helper.stdin.write(json.dumps([kind, where, time, max_bytes, dt]).encode() + b"\n")
            self.helper.stdin.flush()
        while True:
            letter, content = _frame(self.helper)
            if letter == _ABOUT:
                yield json.loads(content)
            elif letter == _NUMBERS:
                yield np.frombuffer(content, dtype=np.float64)
            elif letter == _END:
                self.at_end = True
                return
            elif letter == _ERROR:
                self.at_end = True
                name, text = json.loads(content)
                if name == "FileFormatError":
                    raise FileFormatError(text.removeprefix(f"{where}: "), str(path))
                raise getattr(errors, name)(text)
            else:
                code = self.helper.wait()
                raise FileFormatError(f"the file is damaged: the library that reads it ended with {code}.", str(path))


def _frame(helper: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Next frame; (b"", b"") where the helper is gone."""
    assert helper.stdout is not None
    head = helper.stdout.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return b"", b""
    letter, length = _FRAME.unpack(head)
    content = helper.stdout.read(length)
    return (letter, content) if len(content) == length else (b"", b"")


# -- in the helper -----------------------------------------------------------------------------------------------------


def serve() -> None:
    """Read files until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _send(out, _READY, b"")
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            kind, path, time, max_bytes, dt = json.loads(line)
            try:
                for section in READERS[kind](Path(path), time, max_bytes, dt):
                    if isinstance(section, dict):
                        _send(out, _ABOUT, as_json(section, "record").encode())
                    else:
                        for first in range(0, len(section), PIECE // 8):
                            _send(out, _NUMBERS, section[first : first + PIECE // 8].tobytes())
            except DalembertError as error:
                name = next(t.__name__ for t in type(error).__mro__ if t.__name__ in vars(errors))
                _send(out, _ERROR, json.dumps([name, str(error)]).encode())
            except MemoryError:
                _send(out, _ERROR, json.dumps(["FileFormatError", "the file asks for too much memory."]).encode())
            else:
                _send(out, _END, b"")


def _send(out: BinaryIO, letter: bytes, content: bytes) -> None:
    out.write(_FRAME.pack(letter, len(content)))
    out.write(content)
    out.flush()
