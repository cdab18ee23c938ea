"""Names and units of the columns of a table, from its header and a row of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.files.tables.clock import device_factor
from dalembert.files.tables.header_units import ColumnHeading, read_heading, read_unit_cell, seconds


def read_headings(
    cells: Sequence[str], units: Sequence[str] | None, clock: int | None, *, si: bool = True
) -> list[ColumnHeading]:
    """Names and units of the columns.

    With a row of units the names stay unchanged; without one the header is searched for units.  si : whether numbers in
    other units are converted; a table that this package has written keeps them.
    """
    found = [read_heading(cell, is_time=k == clock) for k, cell in enumerate(cells)]
    if clock is not None:
        found[clock] = _time(cells[clock], found[clock], units[clock] if units is not None else "")
    if units is not None:
        own = read_unit_cell if si else (lambda name, unit: ColumnHeading(name, unit))
        return [found[k] if k == clock else own(cell, units[k]) for k, cell in enumerate(cells)]
    # columns that differ only in their unit, or would all be called time, keep the unit in their names
    short = Counter(heading.name for heading in found)
    taken = {cell for cell, heading in zip(cells, found, strict=True) if cell == heading.name} | {"time"}
    keep = {name for name, count in short.items() if count > 1 or name in taken}
    return [
        replace(heading, name=cell) if heading.name in keep and k != clock else heading
        for k, (cell, heading) in enumerate(zip(cells, found, strict=True))
    ]


def _time(cell: str, heading: ColumnHeading, unit: str) -> ColumnHeading:
    if unit:
        factor = seconds(unit)
        given = unit.strip("[]() ")
        problem = f"time is in {heading.given} by the header, in {given} by the units."
        FileFormatError.when(
            factor and heading.understood and heading.given and factor != heading.factor, "unit-mismatch", problem
        )
        heading = ColumnHeading(cell, "s", factor or heading.factor, given, factor is not None)
    elif not heading.given and (fixed := device_factor(cell)):
        heading = ColumnHeading(cell, "s", fixed, "µs")
    problem = f"the unit of time is {heading.given!r:.80}; expected one of s, ms, us, ns, min, h."
    FileFormatError.when(not heading.understood, "unit-mismatch", problem)
    return heading


def leave_given(cells: Sequence[str], headings: Sequence[ColumnHeading], given: Collection[str]) -> list[ColumnHeading]:
    """The headings without conversion of the columns whose unit the caller gives."""
    return [
        ColumnHeading(one.name) if cell in given or one.name in given else one
        for cell, one in zip(cells, headings, strict=True)
    ]


def convert(table: FloatArray, headings: Sequence[ColumnHeading]) -> None:
    """Numbers of every column in the unit of its heading, in place."""
    for column, heading in enumerate(headings):
        times, over = heading.factor
        if times != over:
            table[:, column] *= times
            table[:, column] /= over


def describe_headings(cells: Sequence[str], headings: Sequence[ColumnHeading]) -> dict[str, Any]:
    """Conversions of the units in the header, for the provenance; and the original names."""
    pairs = list(zip(cells, headings, strict=True))
    notes = [note for cell, heading in pairs if (note := heading.describe(cell))]
    full = {cell: heading.name for cell, heading in pairs if cell != heading.name}
    return {**({"units": notes} if notes else {}), **({"headers": full} if full else {})}
