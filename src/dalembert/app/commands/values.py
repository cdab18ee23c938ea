"""Values on the command line: ``name=value`` with units and arithmetic, lists of names, ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from dalembert.errors import DataError

RECORDS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".nc", ".nc4", ".netcdf", ".mat")


def quantity(text: str, option: str) -> float:
    """A number in SI units: "0.5", "20 mm", "90 deg", "2*pi"."""
    from dalembert.files.models.arithmetic import parse, value

    def constant(name: str) -> Any:
        from dalembert.files.models.arithmetic import CONSTANTS

        if name in CONSTANTS:
            return CONSTANTS[name]
        raise DataError(f"{name!r} is not a number or a unit.")

    try:
        return float(value(parse(text), constant))
    except DataError as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from None


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """``name=value`` texts by name."""
    found: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name or not value:
            raise typer.BadParameter(f"expected name=value, got {text!r}.", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice.", param_hint=option)
        found[name] = value
    return found


def quantities(given: Iterable[str] | None, option: str) -> dict[str, float]:
    """``name=value`` with a number or a quantity each."""
    return {name: quantity(text, option) for name, text in pairs(given, option).items()}


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


def drive(name: str, text: str, option: str) -> Any:
    """What drives an input: a number, an expression of t, or a channel of a record (file.csv or file.csv:channel)."""
    file, _, channel = text.partition(":")
    if Path(file).suffix.lower() in RECORDS:
        return _channel(name, file, channel)
    from dalembert.files.models.arithmetic import CONSTANTS, evaluate, parse

    def looked_up(time: Any) -> Any:
        def lookup(name: str) -> Any:
            if name == "t":
                return time
            if name in CONSTANTS:
                return CONSTANTS[name]
            raise DataError(f"{name!r} is not known; an input is an expression of t.")

        return lookup

    try:
        tree = parse(text)
        used = tree.names()
        if "t" not in used:
            return float(evaluate(tree, looked_up(None)))
        evaluate(tree, looked_up(0.5))  # unknown names are told here
    except (DataError, ArithmeticError, TypeError, ValueError) as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint=option) from None
    return lambda t: evaluate(tree, looked_up(t))


def _channel(name: str, file: str, channel: str) -> Any:
    """A record whose one channel has the name of the input."""
    import dalembert as da

    record = da.read_record(file)
    if not channel:
        channel = name if name in record.names or len(record.names) > 1 else record.names[0]
    return da.Record.from_channels(record.time, {name: record[channel]})


def axis(text: str, option: str) -> tuple[str, Any]:
    """An axis of a sweep: name=low:high, name=low:high:count, name=a,b,c or name=mean~deviation.

    Returns its name and ("range", low, high, count or None), ("values", ...) or ("normal", mean, deviation).
    """
    ((name, value),) = pairs([text], option).items()
    if "~" in value:
        mean, _, deviation = value.partition("~")
        return name, ("normal", quantity(mean, option), quantity(deviation, option))
    if ":" in value:
        parts = value.split(":")
        if len(parts) > 3 or (len(parts) == 3 and not parts[2].strip().isdecimal()):
            raise typer.BadParameter(f"expected low:high or low:high:count, got {value!r}.", param_hint=option)
        count = int(parts[2]) if len(parts) == 3 else None
        return name, ("range", quantity(parts[0], option), quantity(parts[1], option), count)
    return name, ("values", *(quantity(part, option) for part in value.split(",")))
