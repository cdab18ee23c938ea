"""The column of time of a table, by the name that the caller gives or by the usual names of loggers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.files.tables.header_units import read_heading
from dalembert.record.sampling import find_rounded_grid

# Names of a column of time without their unit, in lower case: English, German, French, Spanish, Italian and Portuguese,
# Swedish and Danish, Dutch, Finnish, Czech, Polish, Turkish, Russian, Chinese, Japanese, Korean; LabVIEW's x_value.
NAMES = frozenset(
    (
        "time", "t", "timestamp", "time stamp", "datetime", "date time", "date/time", "date and time", "elapsed time",
        "relative time", "epoch", "unix time", "unixtime", "unix_time", "seconds",
        "sec", "zeit", "zeitstempel", "messzeit", "uhrzeit", "temps", "heure", "hora", "ora", "tiempo", "tempo", "tid",
        "tijd", "aika", "čas", "cas", "czas", "zaman", "время", "时间", "時間", "시간", "x_value", "sampletimefine",
    )
)  # fmt: skip
# Clocks whose unit the device fixes and the file does not give; numerator and denominator of the factor to seconds.
DEVICE_CLOCKS = {"sampletimefine": (1.0, 1e6)}


# Names of a single number, without underscores and in lower case: sampling rates [Hz] and sample times [s].
RATES = ("fs", "samplerate", "samplingrate", "samplefrequency", "samplingfrequency", "rate", "freq", "sr")
STEPS = ("dt", "ts", "sampletime", "samplingtime", "deltat", "tsample")
BY_RATE = Argument("rate"), Argument("dt")
NO_TIME = (Advice("Name the column of time by {}.", Argument("time")), Advice("Give {} where there is none.", *BY_RATE))
# A time of more seconds than this is a date: seconds since the year 1970, or since 1904 (LabVIEW), which until 2040 are
# more than the second number.
DATE, DATE_1904 = 1e8, 3e9
# Dates without a unit: from this many they are milliseconds, microseconds, nanoseconds (seconds of the year 5138).
MARKS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


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
    """The column of time of a file; None where there is none, which is an error unless there is a sample time.

    A sample time that is given replaces the column, which is then no channel either.
    """
    found = find_time(names, asked)
    if found is None and dt is None and not (asked is None and names_of_rate(names)):
        raise FileFormatError(
            "no-time",
            unknown_name("column", asked or "time", names, "the header"),
            *NO_TIME,
            line=line,
            where={"name": asked or "time"},
        )
    return found


def _plain(cell: str) -> str:
    return " ".join(cell.casefold().split())


def names_of_rate(names: Sequence[str]) -> list[str]:
    """Names of a sampling rate or a sample time, the most certain first."""
    plain = {_letters(name): name for name in names}
    return [plain[word] for word in (*RATES, *STEPS) if word in plain]


def step_of(name: str, value: float) -> float:
    """Sample time [s] from a rate or a sample time with this name; 0 for none."""
    if not 0.0 < value < np.inf:
        return 0.0
    return 1.0 / value if _letters(name) in RATES else value


def step_of_column(names: Sequence[str], table: FloatArray) -> tuple[float, int]:
    """Sample time [s] of a table with a column of one number, such as ``Fs``, and the column."""
    for name in names_of_rate(names):
        column = list(names).index(name)
        values = table[np.isfinite(table[:, column]), column]
        if values.size and np.ptp(values) == 0.0 and (step := step_of(name, float(values[0]))):
            return step, column
    raise FileFormatError("no-time", unknown_name("column", "time", names, "the header"), *NO_TIME)


def _letters(name: str) -> str:
    return name.partition("[")[0].partition("(")[0].strip().lower().replace("_", "").replace(" ", "")


def marks_per_second(number: float) -> float:
    """Units of a time without a unit in a second: 1 unless its size shows that it counts parts of seconds since 1970.

    Examples
    --------
    >>> marks_per_second(1772366400.0), marks_per_second(1772366400000.0)
    (1.0, 1000.0)
    """
    return next((marks for least, marks in MARKS if number >= least), 1.0)


def date_of(seconds: float) -> str:
    """The date of a time that counts seconds since 1970 or 1904, in ISO 8601; "" for any other time."""
    if not DATE <= abs(seconds) < 2.0 * DATE_1904:
        return ""
    since = np.datetime64("1904-01-01" if seconds >= DATE_1904 else "1970-01-01", "us")
    return str(since + np.timedelta64(round(seconds * 1e6), "us"))


def settle_times(times: FloatArray) -> tuple[FloatArray, dict[str, str]]:
    """Times of samples from the stamps of a file, and notes: the exact grid where stamps of one rate were rounded.

    Times since 1970 are counted from their first.
    """
    notes = dict[str, str]()
    first = float(times[0]) if len(times) else 0.0
    marks = marks_per_second(first)
    if start := date_of(first / marks):
        times, notes = (times - first) / marks, {"start": start}
    grid = find_rounded_grid(times)
    if grid is None:
        return times, notes
    note = f"times are rounded to {grid.digit:.6g} s; taken as {1.0 / grid.step:.9g} samples a second"
    return grid.times, {**notes, "sampling": note}
