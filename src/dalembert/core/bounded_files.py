"""Files from outside: regular ones of a limited size. A pipe may never answer, and a device never ends."""

from __future__ import annotations

from pathlib import Path

from dalembert.core.errors import FileFormatError


def require_file(file: Path, largest: int, shown: str | None = None, *, argument: str = "") -> None:
    """Refuse a path without a regular file, an empty file, and one of more than ``largest`` bytes.

    shown : the file in messages.  argument : that gives the limit.
    """
    name = str(file) if shown is None else shown
    try:
        if not file.is_file():
            raise FileFormatError.report_absent(file, name)
        size = file.stat().st_size
    except (OSError, ValueError) as error:  # no permission, a null character in the name
        raise FileFormatError("not-readable", f"cannot be read ({error}).", path=name) from None
    if not size:
        raise FileFormatError("empty", "the file is empty.", path=name)
    if size > largest:
        allowed = f"{argument} = {largest}" if argument else str(largest)
        problem = f"the file has {size} bytes, more than {allowed}."
        raise FileFormatError("too-large", problem, path=name, evidence={"bytes": size, "allowed": largest})


def read_bytes(file: Path, largest: int, shown: str | None = None) -> bytes:
    """The content of a file; see `require_file`."""
    require_file(file, largest, shown)
    try:
        with file.open("rb") as stream:
            return stream.read(largest)
    except OSError as error:
        raise FileFormatError("not-readable", f"cannot be read ({error}).", path=shown or str(file)) from None
