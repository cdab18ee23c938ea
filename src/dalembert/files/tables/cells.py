"""Cells of a table: numbers, missing numbers and times of day."""

from __future__ import annotations

import csv
import re

import numpy as np

from dalembert.core.arrays import FloatArray

BLANKS = " "  # the delimiter of a table whose cells are separated by any white space
# Texts that spreadsheets and loggers write in place of a number that was not measured.
MISSING = ("", "NaN", "nan", "NAN", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "-", "--")
_MISSING = frozenset(word.lower() for word in MISSING)
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_YEAR = r"(\d{4}|\d{2})"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = (
    r"\d{4}(?P<m>[-/.])\d{1,2}(?P=m)\d{1,2}"
    rf"|\d{{1,2}}(?P<n>[-/.])\d{{1,2}}(?P=n){_YEAR}"
    rf"|\d{{1,2}}[- ]({'|'.join(_MONTHS)})[a-z]*[- ]{_YEAR}"
)
_STAMP = re.compile(
    rf"(?P<day>{_DAY})?[ T_]?(?P<clock>\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d{{1,9}})?)?)?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_DATE = re.compile(_DAY, re.IGNORECASE)
# thousands apart by the mark that is not the decimal one, by a blank or by an apostrophe
_THOUSANDS = {
    ".": re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d*|([ '’]\d{3})+(\.\d*)?)"),
    ",": re.compile(r"[+-]?\d{1,3}((\.\d{3})+,\d*|([ '’]\d{3})+(,\d*)?)"),
}
# OVERLOAD, ***: no digit and no sign that a number has; -OVER, -OL-; #DIV/0!; 1.#INF of C programs
_WORD = re.compile(r"[^\d+\-.,]+|[+-]?[^\W\d_]{2,}[+-]?|#[A-Z]+/?[A-Z0]*[!?]?|[+-]?1\.#[A-Z]+0*")


def split_cells(text: str, delimiter: str) -> list[str]:
    """Cells of a line; any white space in one becomes one blank: spreadsheets put no-break spaces into headers."""
    if delimiter == BLANKS:
        return text.split()
    return [" ".join(cell.split()) for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]


def is_missing(cell: str) -> bool:
    return cell.lower() in _MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number; Python reads 1_000, other programs do not."""
    try:
        float(with_point(cell, decimal))
    except ValueError:
        return False
    return "_" not in cell


def with_point(cell: str, decimal: str) -> str:
    """A number with the decimal mark of Python, without marks between thousands."""
    if has_thousands(cell, decimal):
        cell = re.sub(r"[ '’,]" if decimal == "." else r"[ '’.]", "", cell)
    return cell if decimal == "." or "." in cell else cell.replace(decimal, ".")


def has_comma(cell: str) -> bool:
    """Whether a cell is a number with a decimal comma."""
    return _COMMA.fullmatch(cell) is not None


def has_thousands(cell: str, decimal: str) -> bool:
    """Whether a cell is a number with marks between thousands: ``1,234.5`` with a decimal point."""
    return _THOUSANDS[decimal].fullmatch(cell) is not None


def is_word(cell: str) -> bool:
    """Whether a cell holds a word in place of a number, such as OVERLOAD."""
    return _WORD.fullmatch(cell) is not None


def is_date(cell: str) -> bool:
    """Whether a cell is a date without a time of day."""
    return _DATE.fullmatch(cell) is not None


def is_stamp(cell: str) -> bool:
    """Whether a cell is a date with a time (ISO 8601), or a time of day."""
    found = _STAMP.fullmatch(cell)
    return found is not None and found["clock"] is not None


def seconds_of_stamps(cells: list[str], *, american: bool = False) -> tuple[FloatArray, str]:
    """Times of day or dates as seconds after the first one, and the first one in ISO 8601.

    Times of day after midnight belong to the next day. Dates with slashes begin with the day or the month, whichever
    makes the shorter record.  american : the month first where both are as short.

    Raises ValueError with the index of a text that is not a time.

    Examples
    --------
    >>> seconds_of_stamps(["2026-03-01T23:59:59.5", "2026-03-02 00:00:01"])
    (array([0. , 1.5]), '2026-03-01T23:59:59.500000')
    """
    times = np.empty(len(cells), dtype="datetime64[ns]")
    with_day = True
    for k, cell in enumerate(cells):
        found = _STAMP.fullmatch(cell)
        if found is None or found["clock"] is None:
            raise ValueError(k)
        clock = found["clock"].replace(",", ".")
        clock = clock if clock.count(":") == 2 else clock + ":00"
        hour, rest = clock.split(":", 1)
        if found["half"]:  # 12 AM is midnight
            hour = str(int(hour) % 12 + 12 * (found["half"][0] in "pP"))
        with_day = with_day and found["day"] is not None
        day = iso_date(found["day"], american=american or bool(found["half"])) if found["day"] else "1970-01-01"
        try:
            times[k] = np.datetime64(f"{day}T{hour:0>2}:{rest}", "ns") - _offset(found["zone"])
        except ValueError:
            raise ValueError(k) from None
    passed = (times - times[0]).astype(np.int64)
    if not american and cells[0].count("/") == 2 and abs(passed[-1]) > 86_400_000_000_000:
        other = seconds_of_stamps(cells, american=True)
        if abs(other[0][-1]) < abs(passed[-1]) * 1e-9:
            return other
    if not with_day:
        passed = passed + 86_400_000_000_000 * np.concatenate([[0], np.cumsum(np.diff(passed) < -43_200_000_000_000)])
    first = str(times[0].astype("datetime64[us]"))
    return passed * 1e-9, first if with_day else first.partition("T")[2]


def iso_date(day: str, *, american: bool = False) -> str:
    """A date in ISO 8601: 1.3.2026, 13/3/26 and 1-Mar-2026 begin with the day, 3/13/2026 with the month.

    american : whether a date with slashes that can be either begins with the month.
    """
    first, second, third = re.split(r"[-/. ]", day)
    if second.isalpha():
        second = str(_MONTHS.index(second[:3].lower()) + 1)
    if len(first) == 4:
        return f"{first}-{second:0>2}-{third:0>2}"
    if int(second) > 12 or (american and "/" in day and int(first) <= 12):
        first, second = second, first
    return f"{third if len(third) == 4 else '20' + third}-{second:0>2}-{first:0>2}"


def _offset(zone: str | None) -> np.timedelta64:
    """Difference of a time zone from universal time."""
    if zone in (None, "Z", "UTC"):
        return np.timedelta64(0, "m")
    assert zone is not None
    digits = zone[1:].replace(":", "")
    minutes = 60 * int(digits[:2]) + int(digits[2:])
    return np.timedelta64(minutes if zone[0] == "+" else -minutes, "m")
