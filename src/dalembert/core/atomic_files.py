"""Writing a file whole or not at all, and reading regular files of a limited size.

A path from outside may lead to a pipe, which may never answer, or to a device, which never ends.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path

from dalembert.core.errors import DataError, FileFormatError
from dalembert.core.findings import Advice

# a file that is being written: host, process and a random part, which show whether its writer still runs
UNFINISHED = re.compile(r"\..*\.dalembert-([0-9a-f]{8})-(\d+)-[0-9a-f]{12}")


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a new empty file beside ``path``; it replaces ``path`` when the block ends without an error.

    When the block fails, the new file is removed and the old one is unchanged. The new file has the suffix of
    ``path``, for writers that choose a format by the suffix. Unfinished files of a killed process in the folder are
    removed.
    """
    target = Path(os.path.realpath(path))
    problem = "this is a folder."
    FileFormatError.when(target.is_dir(), "not-writable", problem, Advice("Give a file name."), path=str(path))
    problem, advice = f"the folder {str(Path(path).parent)!r} does not exist.", Advice("Make it first.")
    FileFormatError.when(not target.parent.is_dir(), "no-such-file", problem, advice, path=str(path))
    _remove_abandoned(target.parent)
    writer = f"{_host()}-{os.getpid()}-{secrets.token_hex(6)}"
    temporary = target.with_name(f".{target.stem}.dalembert-{writer}{target.suffix}")
    try:
        # not tempfile: its files are private to the user, while this one keeps the old mode or follows the umask
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove_abandoned(folder: Path) -> None:
    """Remove unfinished files whose process, on this host, has ended."""
    if sys.platform == "win32":  # the check of a process may end it there
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = UNFINISHED.match(entry.name)
            if match and match[1] == _host() and not _lives(int(match[2])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes, whole or not at all."""
    with replace_file(path) as temporary:
        temporary.write_bytes(data)


def require_file(file: Path, largest: int, shown: str | None = None, *, argument: str = "") -> None:
    """Refuse a path without a regular file, an empty file, and one of more than ``largest`` bytes.

    shown : the file in messages.  argument : that gives the limit.
    """
    name = str(file) if shown is None else shown
    problem = f"{argument or 'the largest size'} must be a number of bytes, got {largest!r}."
    DataError.when(not isinstance(largest, Real), "not-a-number", problem)
    try:
        if not file.is_file():
            raise FileFormatError.report_absent(file, name)
        size = file.stat().st_size
    except (OSError, ValueError) as error:  # no permission, a null character in the name
        raise FileFormatError("not-readable", f"cannot be read ({error}).", path=name) from None
    FileFormatError.when(not size, "empty", "the file is empty.", path=name)
    allowed = f"{argument} = {largest}" if argument else str(largest)
    problem = f"the file has {size} bytes, more than {allowed}."
    evidence = {"bytes": size, "allowed": largest}
    FileFormatError.when(not size <= largest, "too-large", problem, path=name, evidence=evidence)  # NaN allows nothing


def read_bytes(file: Path, largest: int, shown: str | None = None) -> bytes:
    """The content of a file; see `require_file`."""
    require_file(file, largest, shown)
    try:
        with file.open("rb") as stream:
            return stream.read(largest)
    except OSError as error:
        raise FileFormatError("not-readable", f"cannot be read ({error}).", path=shown or str(file)) from None
