"""Values on the command line: ``name=value`` with units and arithmetic, lists of names, ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from dalembert.app.command_line import terminal
from dalembert.core.errors import DataError

FIGURES = (".png", ".svg", ".pdf", ".eps", ".jpg", ".jpeg", ".webp")


def seconds(text: str) -> float:
    """A time on the command line, in s: "2", "20 ms", "1/200".

    Examples
    --------
    >>> seconds("20 ms")
    0.02
    """
    try:
        return _si(str(text), "s")
    except DataError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from None  # typer adds the name of the option


TIME: Any = {"parser": seconds, "metavar": "TIME"}  # of options that take a time with or without its unit


def quantity(text: str, option: str, unit: str | None = None) -> float:
    """A number in SI units: "0.5", "20 mm", "90 deg", "2*pi". A unit that does not fit ``unit`` is refused."""
    try:
        return _si(text, unit)
    except DataError as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from None


def _si(text: str, unit: str | None) -> float:
    from dalembert.files.models.text.arithmetic import CONSTANTS, parse, value

    def constant(name: str) -> Any:
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise DataError("not-a-number", f"{name!r} is not a number or a unit.")

    tree = parse(text)
    fits(tree, unit)
    return float(value(tree, constant))


def fits(tree: Any, unit: str | None) -> None:
    """Refuse an expression with another unit; plain numbers and expressions of unknown unit count as SI."""
    from dalembert.files.models.text.arithmetic import dimension_of
    from dalembert.record.units import read_unit, unit_text

    dimension = dimension_of(tree, lambda name: None)
    if not unit or dimension is None:
        return
    _, wanted, end = read_unit(unit)
    if end == len(unit) and dimension != wanted:
        raise DataError("unit-mismatch", f"this is in {unit_text(dimension)}; expected {unit}.")


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """``name=value`` texts by name."""
    texts: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        name, value = name.strip(), value.strip()
        refuse(
            (not sign or not name or not value, option, f"expected name=value, got {text!r}."),
            (name in texts, option, f"{name!r} is given twice."),
        )
        texts[name] = value
    return texts


def quantities(
    given: Iterable[str] | None, option: str, unit_of: Callable[[str], str | None] = lambda name: None
) -> dict[str, float]:
    """``name=value`` with a number or a quantity each, in a unit that fits the quantity of this name."""
    return {name: quantity(text, option, unit_of(name)) for name, text in pairs(given, option).items()}


def names(given: Iterable[str] | None) -> list[str]:
    """Names from options that may be repeated or hold several, separated by commas.

    Examples
    --------
    >>> names(["a1, a2", "a3"])
    ['a1', 'a2', 'a3']
    """
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def weight(given: Sequence[str] | None, option: str) -> float | dict[str, float] | None:
    """A variance or weight: one number for all, or name=value pairs, repeated or separated by commas."""
    parts = names(given)
    if not parts:
        return None
    if len(parts) == 1 and "=" not in parts[0]:
        return quantity(parts[0], option)
    return quantities(parts, option)


def is_record(file: str) -> bool:
    """Whether a name is that of a record file, by its suffix."""
    from dalembert.files.records.format import suffixes

    return Path(file).suffix.lower() in suffixes()


def drive(name: str, text: str, option: str, unit: str | None = None) -> Any:
    """Drive of an input: a number, an expression of t, or a channel of a record (file.csv or file.csv:channel)."""
    file, _, channel = text.partition(":")
    if is_record(file):
        return _channel(name, file, channel)
    from dalembert.files.models.text.arithmetic import CONSTANTS, evaluate, parse

    def make_lookup(time: Any) -> Any:
        def lookup(name: str) -> Any:
            if name == "t":
                return time
            if name in CONSTANTS:
                return CONSTANTS[name]
            raise DataError("unknown-name", f"{name!r} is not known; an input is an expression of t.")

        return lookup

    try:
        tree = parse(text)
        fits(tree, unit)
        used = tree.names()
        if "t" not in used:
            return float(evaluate(tree, make_lookup(None)))
        evaluate(tree, make_lookup(0.5))  # reports unknown names
    except (DataError, ArithmeticError, TypeError, ValueError) as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from None
    return lambda t: evaluate(tree, make_lookup(t))


def _channel(name: str, file: str, channel: str) -> Any:
    """A record whose one channel has the name of the input."""
    import dalembert as da

    table = record(file)
    if not channel:
        channel = name if name in table.names or len(table.names) > 1 else table.names[0]
    channels = table.expand(channel)
    if len(channels) > 1:
        raise DataError(
            "wrong-shape",
            f"{channel!r} of {file} is {len(channels)} channels: {', '.join(channels[:20])}. Name one of them.",
        )
    return da.Record.from_channels(table.time, {name: table[channels[0]]}, {name: table.units[channels[0]]})


def record(path: str | Path, **how: Any) -> Any:
    """A record from a file; reports how the units in its header were converted."""
    from dalembert.files.records.records import read_record

    table = read_record(path, **how)
    for note in table.provenance.get("units", ()):
        terminal.say(f"{Path(path).name}: {note}")
    return table


def axis(
    text: str, option: str, unit_of: Callable[[str], str | None] = lambda name: None, most: int = 1_000_000
) -> tuple[str, Any]:
    """An axis of a sweep: name=low:high, name=low:high:count, name=a,b,c or name=mean~deviation.

    Returns its name and ("range", low, high, count or None), ("values", ...) or ("normal", mean, deviation).
    """
    ((name, value),) = pairs([text], option).items()
    unit = unit_of(name)
    if "~" in value:
        mean, _, deviation = value.partition("~")
        return name, ("normal", quantity(mean, option, unit), quantity(deviation, option, unit))
    if ":" in value:
        parts = value.split(":")
        wrong = len(parts) > 3 or (len(parts) == 3 and not parts[2].strip().isdecimal())
        refuse((wrong, option, f"expected low:high or low:high:count, got {value!r}."))
        count = int(parts[2][:12]) if len(parts) == 3 else None
        wrong = count is not None and not 1 <= count <= most
        refuse((wrong, option, f"{value!r}: count is from 1 to {most}."))
        return name, ("range", quantity(parts[0], option, unit), quantity(parts[1], option, unit), count)
    return name, ("values", *(quantity(number, option, unit) for number in value.split(",")))


def refuse(*rows: tuple[object, str, str]) -> None:
    """Refuse the first combination that does not fit: whether it is given, its option, and the problem."""
    for given, option, problem in rows:
        if given:
            raise typer.BadParameter(problem, param_hint=option)


def writable_record(path: Path | None, option: str) -> None:
    """As `writable`, for a record."""
    if path is not None:
        from dalembert.files.records.format import suffixes

        writable(path, option, *suffixes(written=True))


def writable(path: Path | None, option: str, *suffixes: str) -> None:
    """Refuse a file that could not be written, before the computation of its contents."""
    if path is None:
        return
    wanted = " or ".join(filter(None, [", ".join(suffixes[:-1]), *suffixes[-1:]]))
    refuse(
        (suffixes and path.suffix.lower() not in suffixes, option, f"{path}: this is written as {wanted}."),
        (not path.parent.is_dir(), option, f"{path}: the folder {str(path.parent)!r} does not exist."),
        (path.is_dir(), option, f"{path} is a folder."),
    )
