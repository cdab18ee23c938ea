"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dalembert.errors import FileFormatError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a new empty file beside ``path``; it takes its place when the block ends well.

    When the block fails, the new file is removed and the old one is as it was. The new file has the suffix of
    ``path``, so that a writer that decides by suffix decides rightly.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileFormatError("this is a folder; give a file name.", str(path))
    if not target.parent.is_dir():
        raise FileFormatError(f"the folder {str(Path(path).parent)!r} does not exist. Make it first.", str(path))
    fresh = target.with_name(f".{target.stem}.{secrets.token_hex(6)}{target.suffix}")
    # not tempfile: its files are private to the user, while this one keeps the old mode or follows the umask
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        if target.exists():
            os.chmod(fresh, target.stat().st_mode & 0o777)
        yield fresh
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(fresh, target)
    except BaseException:
        with suppress(FileNotFoundError):
            fresh.unlink()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8", newline="\n")
