"""The column of time of a table, by the name that the caller gives or by the usual names of loggers."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.files.tables.header_units import read_heading

# Names of a column of time without their unit, in lower case: English, German, French, Spanish, Italian and Portuguese,
# Swedish and Danish, Dutch, Finnish, Czech, Polish, Turkish, Russian, Chinese, Japanese, Korean; LabVIEW's x_value.
NAMES = frozenset(
    (
        "time", "t", "timestamp", "time stamp", "datetime", "date time", "date/time", "date and time", "elapsed time",
        "relative time", "seconds", "sec", "zeit", "zeitstempel", "messzeit", "temps", "tiempo", "tempo", "tid",
        "tijd", "aika", "čas", "cas", "czas", "zaman", "время", "时间", "時間", "시간", "x_value", "sampletimefine",
    )
)  # fmt: skip
# Clocks whose unit the device fixes and the file does not give; numerator and denominator of the factor to seconds.
DEVICE_CLOCKS = {"sampletimefine": (1.0, 1e6)}


def is_time_name(cell: str) -> bool:
    """Whether a header cell, with or without a unit, is a usual name of time."""
    return _plain(cell) in NAMES or _plain(read_heading(cell, is_time=True).name) in NAMES


def device_factor(cell: str) -> tuple[float, float] | None:
    """Factor to seconds of a clock whose unit its device fixes."""
    return DEVICE_CLOCKS.get(_plain(cell))


def find_time(names: Sequence[str], asked: str | None) -> int | None:
    """The column of time: the given one, with or without its unit, or the first with a usual name."""
    if asked is not None:
        return next(
            (k for k, name in enumerate(names) if name == asked),
            next((k for k, name in enumerate(names) if read_heading(name).name == asked), None),
        )
    exact = next((k for k, name in enumerate(names) if read_heading(name, is_time=True).name == "time"), None)
    return exact if exact is not None else next((k for k, name in enumerate(names) if is_time_name(name)), None)


def require_time(names: Sequence[str], asked: str | None, dt: float | None, *, line: int | None = None) -> int | None:
    """The column of time of a file, or None where a sample time replaces it; an error where there is neither."""
    found = find_time(names, asked)
    if dt is not None:
        if found is not None:
            problem = f"dt is for files without time, but there is a column {names[found]!r}."
            raise FileFormatError("conflicting-arguments", problem, line=line)
        return None
    if found is None:
        raise FileFormatError(
            "no-time",
            unknown_name("column", asked or "time", names, "the header"),
            Advice("Name the column of time by {}.", Argument("time")),
            Advice("Give {} where there is none.", Argument("dt")),
            line=line,
            where={"name": asked or "time"},
        )
    return found


def _plain(cell: str) -> str:
    return " ".join(cell.casefold().split())
