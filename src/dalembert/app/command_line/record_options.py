"""Options about files of measured data, and their reading: the same for every command that takes records or modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import flag

if TYPE_CHECKING:
    from dalembert.linear.modes import Modes
    from dalembert.record import Record

GROUP = "Files"
TimeColumn = Annotated[
    str | None,
    typer.Option("--time", metavar="NAME", help="Column of time; found when left out.", rich_help_panel=GROUP),
]
Step = Annotated[
    float | None,
    typer.Option(
        "--dt", **option_values.TIME, help="Sample time (s), instead of a column of time.", rich_help_panel=GROUP
    ),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="HZ", help="Samples a second, instead of a column of time.", rich_help_panel=GROUP),
]
Skip = Annotated[
    int | None,
    typer.Option("--skip", min=0, help="Lines before the header; found when left out.", rich_help_panel=GROUP),
]
Units = Annotated[
    list[str] | None,
    typer.Option("--unit", metavar="NAME=UNIT", help="Unit that the file does not give.", rich_help_panel=GROUP),
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=CHANNEL", help="Channel to use under this name.", rich_help_panel=GROUP),
]
Join = Annotated[bool, flag("--join", "The files are one record, one file per sensor.", GROUP)]
Places = Annotated[
    Path | None,
    typer.Option(
        "--places",
        metavar="FILE",
        help="Places and directions of the channels, lines between them, rigid floors, places that follow others: a "
        "table (name, x, y, z, direction, to, floor, follows), .toml or .uff.",
    ),
]


def read_records(
    files: Sequence[Path],
    *,
    time: str | None = None,
    dt: float | None = None,
    rate: float | None = None,
    skip: int | None = None,
    units: list[str] | None = None,
    renamed: list[str] | None = None,
    join: bool = False,
) -> list[Record]:
    """Records of the files, or the one that they are together; reports conversions and how they were joined."""
    from dalembert.files.records.records import read_record

    option_values.refuse(
        (rate is not None and dt is not None, "--rate", "give --rate or --dt, not both."),
        (rate is not None and not rate > 0, "--rate", f"{rate} samples a second are not positive."),
    )
    how: Any = {"time": time, "dt": dt, "rate": rate, "skip": skip, "progress": terminal.progress()}
    units_given = option_values.pairs(units, "--unit")
    names = option_values.pairs(renamed, "--map")
    if join and len(files) > 1:
        records = [read_record(list(files), units=units_given or None, **how)]
        about = records[0].provenance["joined"]
        terminal.say(f"{len(files)} files joined by their {about['by']}")
        for note in (*about["notes"], *records[0].provenance.get("delays", ())):
            terminal.say(note)
    else:
        records = [read_record(path, units=units_given or None, **how) for path in files]
        for path, record in zip(files, records, strict=True):
            about = record.provenance
            single = [about[key] for key in ("sampling", "encoding") if key in about]
            for note in (*about.get("units", ()), *about.get("cells", ()), *single):
                terminal.say(f"{path.name}: {note}")
    return [rename_channels(record, names) for record in records] if names else records


def rename_channels(record: Record, names: dict[str, str]) -> Record:
    """The record with some channels under other names."""
    from dalembert.record import Record as Made

    old = {record.expand(channel)[0]: name for name, channel in names.items()}
    return Made(
        record.time, record.data, [old.get(name, name) for name in record.names], list(record.units.values()),
        name=record.name, status=record.status, statistics=record.statistics, provenance=record.provenance,
        scene=record.scene,
    )  # fmt: skip


def join_places(path: Path | None, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Places of a file, with those given one by one instead of or beside them."""
    if path is None:
        return given
    from dalembert.files.modal.geometry import read_geometry

    geometry: dict[str, Any] = {}
    for name, (x, y, *more) in given.items():
        way = [more.pop()] if more and isinstance(more[-1], str | tuple) else []
        geometry[name] = (x, y, *(more or [0.0]), *way)
    return read_geometry(path).replace(geometry)


def plain_modes(modes: Modes) -> list[dict[str, Any]]:
    """Modes as plain values with fixed keys; those that are not known are left out."""
    rows = [{**row, "eigenvalue": modes.eigenvalues[k]} for k, row in enumerate(mode_values(modes))]
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def mode_values(modes: Any, evidence: Any = None) -> list[dict[str, Any]]:
    """Modes as plain values with fixed keys; ``evidence`` has their standard deviations, where another object does."""
    evidence = modes if evidence is None else evidence
    columns = {
        "frequency_hz": modes.frequencies_hz, "damping_ratio": modes.damping_ratios, "shape": modes.shapes.T,
        "frequency_deviation_hz": evidence.frequency_deviations_hz, "damping_deviation": evidence.damping_deviations,
    }  # fmt: skip
    count = len(modes.frequencies_hz)
    return [{key: None if column is None else column[k] for key, column in columns.items()} for k in range(count)]


def mode_rows(modes: Modes) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of a table of measured modes."""
    from dalembert.core.tables import mode_cells

    sd_f, sd_z = modes.frequency_deviations_hz, modes.damping_deviations
    classes = modes.provenance.get("classes")
    cells = mode_cells(modes.frequencies_hz, modes.damping_ratios, sd_f, sd_z)
    rows = [
        (str(k + 1), *cells[k], *([f"{modes.modal_masses[k]:.4g}"] if modes.has_masses else []),
         *([classes[k]] if classes else []))
        for k in range(len(modes))
    ]  # fmt: skip
    more = (["modal mass [kg]"] if modes.has_masses else []) + (["class"] if classes else [])
    return ("mode", "frequency [Hz]", "damping ratio [%]", *more), rows
