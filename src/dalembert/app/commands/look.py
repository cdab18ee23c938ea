"""``look``: contents of files with measured data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Figure, Json
from dalembert.app.command_line.option_values import FIGURES
from dalembert.app.command_line.record_options import (
    Join,
    Map,
    Rate,
    Skip,
    Step,
    TimeColumn,
    Units,
    mode_rows,
    plain_modes,
    read_records,
)
from dalembert.app.command_line.registry import command


@command("Data", position=0)
def look(
    data: Annotated[list[Path], typer.Argument(metavar="DATA...", help="Records of any known format.")],
    time: TimeColumn = None,
    dt: Step = None,
    rate: Rate = None,
    skip: Skip = None,
    unit: Units = None,
    renamed: Map = None,
    join: Join = False,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Show the contents of files with measured data: channels, units, rate, gaps, faults, bands, and likely inputs.

    Example: dalembert look hammer.csv --figure hammer.png

    JSON: {"records": [{"files", "samples", "start", "stop", "rate", "even", "gaps", "inputs", "outputs", "reason",
    "channels": [{"name", "unit", "min", "max", "mean", "rms", "missing", "clipped", "dead", "band_hz", "peaks_hz"}]}],
    "modal_files": [{"file", "coordinates", "modes"}], "files"}.
    """
    from dalembert.files.modal.modes import read_modes
    from dalembert.files.modal.recognition import holds_modes
    from dalembert.identify.records.survey import survey

    option_values.writable(figure, "--figure", *FIGURES)
    modal = [path for path in data if holds_modes(path)]
    data = [path for path in data if path not in modal]
    records = read_records(data, time=time, dt=dt, rate=rate, skip=skip, units=unit, renamed=renamed, join=join)
    surveys = [survey(record) for record in records]
    tables = [(path, read_modes(path)) for path in modal]
    sources = [[path.name for path in data]] if join else [[path.name] for path in data]
    files = []
    if figure is not None:
        from dalembert.view import plot

        for k, record in enumerate(records):
            path = figure if len(records) == 1 else figure.with_stem(f"{figure.stem}-{k + 1}")
            plot(surveys[k], record=record, path=path)
            files.append(path)
    terminal.report_written(*files)
    if as_json:
        shown = [{"files": names, **summary.to_plain()} for names, summary in zip(sources, surveys, strict=True)]
        modes = [
            {"file": path.name, "coordinates": summary.coordinates, "modes": plain_modes(summary)}
            for path, summary in tables
        ]
        terminal.give({"records": shown, "modal_files": modes, "files": files})
        return
    for path, table in tables:
        shown_at = ", ".join(table.coordinates[:12])
        terminal.show(f"{path.name}: no record of time, {len(table)} modes at {shown_at}")
        terminal.show_table("modes", *mode_rows(table))
    for names, summary in zip(sources, surveys, strict=True):
        even = "" if summary.even else ", not evenly spaced"
        gaps = "" if not summary.gaps else f", {summary.gaps} gaps"
        length = summary.stop - summary.start
        terminal.show(
            f"{', '.join(names)}: {summary.samples} samples in {length:.6g} s, {summary.rate:.6g} a second{even}{gaps}"
        )
        terminal.show(summary.table())
        terminal.show(f"drives: {summary.drivers.reason}")
        if unused := summary.drivers.describe_left_out():
            terminal.show(unused)
