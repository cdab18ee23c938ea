"""Files read in a separate process, which may crash.

The libraries behind Parquet, netCDF and meshes trust the sizes in a file: a damaged one can end them with a signal,
take all memory, or run forever, together with the caller's session (``docs/decisions/020-files-apart.md``).
Their readers run in a helper process: it is started at the first such file, reads one file at a time within bounds of
time and memory, sends arrays in pieces, and ends with its parent. When it crashes, the file is refused and the next
one gets a new helper.

The data in the pipe are a sequence of frames: a letter, a length, and the content.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core import errors
from dalembert.core.errors import DalembertError, FileFormatError
from dalembert.core.findings import Finding, from_plain, to_plain

Sections = Generator[Any, None, None]  # plain data (dict) and arrays of one dimension, in an order that both sides know
PIECE = 1 << 20  # bytes that are sent at a time
_FRAME = struct.Struct("<cQ")
_READY, _PLAIN, _FLOATS, _WHOLE, _ERROR, _END = b"R", b"P", b"F", b"I", b"E", b"Z"
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from dalembert.core.isolation import serve; serve()"
# Bound of processor time, anew for each section that was sent. The slowest reader (Nastran) takes 1e-6 s a byte; an
# archive (XLSX) may be packed to any size, and takes 1e-7 s a byte of its texts.
_SECONDS, _SECONDS_PER_BYTE, _SECONDS_PER_UNPACKED = 3.0, 2e-5, 2e-6
_LIBRARY = 8_000_000  # bytes of address space that a library takes for any file
_helper: subprocess.Popen[bytes] | None = None
_lock = threading.Lock()
_of_parents: list[Any] = []  # helpers of parent processes, which this process must not end


def sections(reader: str, path: Path, arguments: list[Any], *, memory: int | None = None) -> Sections:
    """Results of a reader for a file, read in the helper process where one can be started.

    reader : ``"module:function"`` of this package, a generator; it is called with the path and the arguments. What
        its module names in ``LIBRARIES`` is imported before the bounds are set.
    memory : bytes that it may take [bytes]; more ends in `FileFormatError` (Linux only).
    """
    with _lock:
        helper = _start_helper()
        if helper is None:
            yield from _reader(reader)(path, *arguments)
            return
        at_end = False
        try:
            yield from _answers(helper, [reader, str(path.absolute()), arguments, memory], path)
            at_end = True
        except _Refused as refused:
            at_end = True
            raise refused.error from None
        finally:
            if not at_end:  # crashed, or ended in the middle of a file
                stop()


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
    """In a forked process: the pipes belong to the parent, and would keep the helper alive after its end."""
    global _helper, _lock
    if _helper is not None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (_helper.stdin, _helper.stdout):
            if pipe is not None and not pipe.closed:
                os.dup2(nowhere, pipe.fileno(), inheritable=False)
        os.close(nowhere)
    _of_parents.append(_helper)
    _helper, _lock = None, threading.Lock()


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Refused(Exception):
    """The reader refused the file, and the helper waits for the next one."""

    def __init__(self, error: DalembertError) -> None:
        self.error = error


def _start_helper() -> subprocess.Popen[bytes] | None:
    """The helper, started where there is none; None where Python cannot start another (embedded, no processes)."""
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
            env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},  # its own one keeps twice as much
        )  # fmt: skip
    except OSError:
        return None
    if _frame(_helper) != (_READY, b""):
        stop()
        return None
    return _helper


def _answers(helper: subprocess.Popen[bytes], job: list[Any], path: Path) -> Sections:
    assert helper.stdin is not None
    with contextlib.suppress(OSError):  # a broken pipe is noticed at the reply
        helper.stdin.write(json.dumps(job).encode() + b"\n")
        helper.stdin.flush()
    while True:
        letter, content = _frame(helper)
        if letter == _PLAIN:
            yield json.loads(content)
        elif letter in (_FLOATS, _WHOLE):
            yield np.frombuffer(content, dtype=np.float64 if letter == _FLOATS else np.int64)
        elif letter == _END:
            return
        elif letter == _ERROR:
            name, finding, home, line = json.loads(content)
            finding_ = from_plain(finding)
            if name == "FileFormatError":
                place = f"{home}:{line}: " if line is not None else f"{home}: "
                problem = finding_.problem.removeprefix(place)
                about: dict[str, Any] = {"where": finding_.where, "evidence": finding_.evidence}
                raise _Refused(
                    FileFormatError(finding_.code, problem, *finding_.advice, path=str(path), line=line, **about)
                )
            raise _Refused(getattr(errors, name).of(finding_))
        else:
            code = helper.wait()
            why = "took too long" if code == -getattr(signal, "SIGPROF", 0) else f"ended with {code}"
            problem = f"the file is damaged: the library that reads it {why}."
            raise FileFormatError("damaged", problem, path=str(path))


def _frame(helper: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Next frame; (b"", b"") where the helper is gone."""
    assert helper.stdout is not None
    head = helper.stdout.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return b"", b""
    letter, length = _FRAME.unpack(head)
    content = helper.stdout.read(length)
    return (letter, content) if len(content) == length else (b"", b"")


def _reader(name: str) -> Callable[..., Sections]:
    module, _, function = name.partition(":")
    holder = importlib.import_module(module)
    for library in getattr(holder, "LIBRARIES", ()):
        with contextlib.suppress(ImportError):  # the reader names the extra that installs it
            importlib.import_module(library)
    function_: Callable[..., Sections] = getattr(holder, function)
    return function_


# -- in the helper -----------------------------------------------------------------------------------------------------


def serve() -> None:
    """Read files until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a library is not a reply
    _send(out, _READY, b"")
    with contextlib.suppress(BrokenPipeError):
        for job in sys.stdin.buffer:
            reader, path, arguments, memory = json.loads(job)
            try:
                read = _reader(reader)
                with _limit_resources(Path(path), memory) as restart:
                    for section in read(Path(path), *arguments):
                        _hand_over(out, section)
                        if len(section):
                            restart()
            except DalembertError as error:
                name = next(t.__name__ for t in type(error).__mro__ if t.__name__ in vars(errors))
                place = [getattr(error, "path", None), getattr(error, "line", None)]
                _send(out, _ERROR, json.dumps([name, to_plain(error.finding), *place], default=str).encode())
            except MemoryError:
                finding = Finding("too-large", "the file needs more memory than is allowed.")
                _send(out, _ERROR, json.dumps(["FileFormatError", to_plain(finding), None, None]).encode())
            else:
                _send(out, _END, b"")


@contextlib.contextmanager
def _limit_resources(path: Path, memory: int | None) -> Iterator[Callable[[], object]]:
    """Bounds on processor time (the signal ends the process) and on address space, where the system has them.

    Gives a function that grants the time again.
    """
    limit: tuple[int, int] | None = None
    size = path.stat().st_size if path.is_file() else 0
    if memory is not None and sys.platform == "linux":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = used + memory + _LIBRARY
        most = most if limit[1] == resource.RLIM_INFINITY else min(most, limit[1])
        resource.setrlimit(resource.RLIMIT_AS, (most, limit[1]))
    seconds = _SECONDS + _SECONDS_PER_BYTE * size + _SECONDS_PER_UNPACKED * _unpacked(path)

    def restart() -> None:
        if hasattr(signal, "ITIMER_PROF"):
            signal.setitimer(signal.ITIMER_PROF, seconds)

    restart()
    try:
        yield restart
    finally:
        if hasattr(signal, "ITIMER_PROF"):
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        if limit is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, limit)


def _unpacked(path: Path) -> int:
    """Bytes that an archive declares to hold; 0 for any other file."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return 0


def _hand_over(out: BinaryIO, section: Any) -> None:
    if isinstance(section, dict):
        _send(out, _PLAIN, json.dumps(section).encode())
        return
    letter = _FLOATS if section.dtype == np.float64 else _WHOLE
    for first in range(0, max(len(section), 1), PIECE // 8):
        _send(out, letter, section[first : first + PIECE // 8].tobytes())


def _send(out: BinaryIO, letter: bytes, content: bytes) -> None:
    out.write(_FRAME.pack(letter, len(content)))
    out.write(content)
    out.flush()
