"""``identify``: a model from measured data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.advice import speak_options
from dalembert.app.command_line.common_options import Json, Report, flag
from dalembert.app.command_line.matrix_files import write_matrices
from dalembert.app.command_line.record_options import (
    Join,
    Map,
    Places,
    Rate,
    Skip,
    Step,
    TimeColumn,
    Units,
    join_places,
    mode_values,
    read_records,
)
from dalembert.app.command_line.registry import command

if TYPE_CHECKING:
    from dalembert.identify import AutoIdentified, Identified, MergedModes
    from dalembert.identify.auto.choice import PoleChoice
    from dalembert.linear.responses.frequency_response import FrequencyResponse
    from dalembert.record import Record


class Trend(StrEnum):
    """Trends that are removed from a channel."""

    mean = "mean"
    linear = "linear"


class Way(StrEnum):
    """Methods of identification."""

    auto = "auto"
    n4sid = "n4sid"
    moesp = "moesp"
    cva = "cva"
    okid_era = "okid-era"
    ssi_data = "ssi-data"
    ssi_cov = "ssi-cov"
    fdd = "fdd"
    efdd = "efdd"
    plscf = "plscf"


class Merging(StrEnum):
    """Methods that merge set-ups."""

    poser = "poser"
    preger = "preger"


WITHOUT_INPUTS = (Way.ssi_data, Way.ssi_cov, Way.fdd, Way.efdd)
WITHOUT_MODEL = (Way.fdd, Way.efdd, Way.plscf)
DEVIATIONS = ("frequency_deviation_hz", "damping_deviation")


@command("Data", position=1)
def identify(
    data: Annotated[
        list[Path], typer.Argument(metavar="DATA...", help="Records, such as run.csv, run.parquet, run.nc or run.mat.")
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Channels of inputs, separated by commas; by unit or name when left out; none: ambient vibration.",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Channels of the response; all others when left out.")
    ] = None,
    order: Annotated[
        int | None, typer.Option(min=1, help="Number of states; chosen from the data when left out.")
    ] = None,
    method: Annotated[
        Way,
        typer.Option(
            metavar="METHOD",
            help="auto (chooses automatically and reports the reasons), n4sid, moesp, cva, okid-era, plscf; without "
            "inputs also ssi-data, ssi-cov, fdd, efdd. plscf also takes a universal file of frequency responses.",
        ),
    ] = Way.auto,
    setups: Annotated[
        Merging | None,
        typer.Option(
            help="Every file is another set-up of sensors, without inputs; merge their modes by the sensors that "
            "stay in place."
        ),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Sensors that stay in place (--setups); the channels that all files share when left out.",
        ),
    ] = None,
    time: TimeColumn = None,
    dt: Step = None,
    rate: Rate = None,
    skip: Skip = None,
    unit: Units = None,
    renamed: Map = None,
    join: Join = False,
    resample: Annotated[
        float | None, typer.Option(**option_values.TIME, help="Resample to this interval (s) first.")
    ] = None,
    between: Annotated[
        str | None, typer.Option(metavar="FROM:TO", help="Only this part of every record, as times (s).")
    ] = None,
    repair: Annotated[bool, flag("--repair", "Fill short dropouts and outliers, and report how many.")] = False,
    detrend: Annotated[
        Trend | None, typer.Option(help="Subtract the mean or a straight line from every output first.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=2, help="Block rows of subspace methods; chosen when left out.")
    ] = None,
    hold_out: Annotated[
        float,
        typer.Option(min=0.0, max=0.5, show_default="1/3", help="Part of the data kept to judge the model (auto)."),
    ] = 1 / 3,
    report: Report = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X,Y[,Z][,WAY]",
            help="Where a channel measures (m), and which way (x, -x, ..., or a vector 0.6/0.8/0); without a way: a "
            "fixed place. The report then plays the mode shapes.",
        ),
    ] = None,
    geometry: Places = None,
    choice: Annotated[
        Path | None,
        typer.Option(help="Take exactly the poles of this file, saved in the report on the same data (.json)."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the model: .json, .npz or .mat.")] = None,
    as_json: Json = False,
) -> None:
    """Find a linear model and its modes from measured data.

    Example: dalembert identify hammer.csv --inputs force --report hammer.html

    Several set-ups: dalembert identify deck-1.csv deck-2.csv deck-3.csv --setups preger --references a3,a8

    JSON: {"method", "order", "sample_time", "inputs", "outputs", "modes": [{"number", "frequency_hz",
    "damping_ratio", "frequency_deviation_hz", "damping_deviation", "shape", "class", "reasons"}], sound ones first,
    "time_scale": {"low_hz", "high_hz", "factor"}, "period_s", "nonlinearity": {"decided", "level", "reasons"},
    "fit_percent": {"training", "held_out"}, "decisions", "findings": [{"code", "text", "where", "evidence"}],
    "matrices": {"A", "B", "C", "D"}, "files"}. Of fdd, efdd, plscf and --setups: no model ("order", "sample_time",
    "fit_percent", "matrices"), modes by frequency; "class" is "harmonic of a machine" for a steady sine, and "mode" for
    the others of fdd, efdd and plscf.
    """
    option_values.writable(out, "--out", ".json", ".npz", ".mat")
    option_values.writable(report, "--report", ".html")
    way = setups.value if setups else method.value
    alone = setups is not None or method in WITHOUT_INPUTS
    bare = method in WITHOUT_MODEL
    shaped = rows is not None or (order is not None and method is not Way.plscf)
    modes_only = (setups or bare) and out is not None and out.suffix.lower() != ".json"
    problem = "references are for several set-ups: give --setups too."
    option_values.refuse(
        (alone and option_values.names(inputs) not in ([], ["none"]), "--inputs", f"{way} takes no inputs."),
        (setups and method is not Way.auto, "--method", f"--setups {way} has a method of its own."),
        (references and not setups, "--references", problem),
        (bare and shaped, "--rows" if order is None else "--order", f"{way} has no order and no block rows."),
        (modes_only, "--out", "modes without a model are written as .json."),
        (choice is not None and method is not Way.auto, "--choice", "poles are chosen with the method auto."),
    )
    wanted = None if choice is None else read_choice_file(choice, data)
    places = join_places(geometry, read_places(place))
    option_values.refuse((places and report is None, "--place", "places are for the report: give --report too."))
    if method is Way.plscf and (responses := read_responses(data)) is not None:
        from dalembert import identify as room

        with terminal.show_waiting("searching for modes", after=2.0):
            fitted = room.plscf(responses, order=order)
        finish_modes(fitted, data, report, places, out, as_json)
        return
    records_read = read_records(data, time=time, dt=dt, rate=rate, skip=skip, units=unit, renamed=renamed, join=join)
    if setups:
        each = prepare(resample_each(records_read, resample), between, repair, detrend, [])
        with terminal.show_waiting("searching for modes", after=2.0):
            merged = merge(each, setups, option_values.names(references), option_values.names(outputs), order, rows)
        finish_modes(merged, data, report, places, out, as_json)
        return
    if wanted is not None and not inputs and not outputs:  # the channels of the choice
        driving, responding = list(wanted.inputs), list(wanted.outputs)
    else:
        names = option_values.names(inputs), option_values.names(outputs)
        driving, responding = choose_channels(records_read[0], *names, method)
    records = prepare(cut_and_resample(records_read, resample), between, repair, detrend, driving)
    with terminal.show_waiting("searching for a model", after=2.0):
        result = find_model(records, driving, responding, order, method, hold_out, rows)
    if method in WITHOUT_MODEL:
        finish_modes(result, data, report, places, out, as_json)
        return
    if wanted is not None:
        from dalembert.identify import AutoIdentified, choose

        assert isinstance(result, AutoIdentified)
        result = choose.quiet(result, wanted)
    document = describe(result, records)
    if not write_files(result, document, records, data, report, places, out, as_json):
        show(document)


def read_choice_file(path: Path, data: list[Path], largest: int = 1_000_000) -> PoleChoice:
    """The choice in a file, checked; data files other than those of the choice are reported.

    largest : bytes of the file; 200 poles take 25 000.
    """
    import hashlib
    import json

    from dalembert.core.atomic_files import read_bytes
    from dalembert.core.errors import DataError, FileFormatError
    from dalembert.identify.auto.choice import read_choice

    try:
        document = json.loads(read_bytes(path, largest))
    except (ValueError, RecursionError) as error:
        raise FileFormatError("bad-syntax", f"a choice is a JSON file: {error}.", path=str(path)) from error
    try:
        choice = read_choice(document)
    except DataError as error:
        raise FileFormatError(error.code, error.finding.problem, path=str(path)) from error
    now = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in data if file.is_file()}
    changed = sorted(name for name, digest in now.items() if choice.files and choice.files.get(name) != digest)
    if changed:
        terminal.warn(f"{path.name} was made on other data than {', '.join(changed)} (SHA-256 differs)")
    return choice


def read_responses(data: list[Path]) -> FrequencyResponse | None:
    """Frequency responses of a universal file; None where the data are records."""
    from dalembert.core.errors import FileFormatError
    from dalembert.files.records.responses import read_frequency_response

    if len(data) > 1 or data[0].suffix.lower() not in (".uff", ".unv", ".58"):
        return None
    try:
        return read_frequency_response(data[0])
    except FileFormatError as error:
        if error.code != "empty":
            raise
        return None


def choose_channels(record: Record, inputs: list[str], outputs: list[str], method: Way) -> tuple[list[str], list[str]]:
    """Channels of inputs and outputs: as given, or found by units and names, with a message."""
    from dalembert.identify.records.drivers import find_drivers

    drivers = find_drivers(record)
    chosen = [name for name in drivers.inputs if name not in {n for output in outputs for n in record.expand(output)}]
    if inputs and inputs != ["none"]:
        driving = inputs
    elif inputs == ["none"] or method in WITHOUT_INPUTS:
        driving = []
    elif not drivers.certain or not chosen:
        driving = []
        if chosen:
            terminal.say(f"{', '.join(chosen)} may drive the others: give --inputs; taken as ambient vibration")
    else:
        driving = chosen
        terminal.say(f"inputs: {drivers.reason}; --inputs changes that")
    if not outputs:
        driving_channels = {n for output in driving for n in record.expand(output)}
        if ignored := [name for name in drivers.left_out if name not in driving_channels]:
            terminal.say(f"{drivers.describe_left_out()}; --outputs changes that")
        response = (name for name in (*drivers.inputs, *drivers.outputs) if name not in driving_channels)
        outputs = sorted(response, key=record.names.index) if ignored or (driving and driving == chosen) else []
    return driving, outputs


def cut_and_resample(records: list[Record], resample: float | None) -> list[Record]:
    """The records, cut where time jumps, resampled where an interval is given."""
    from dalembert.identify.records.gaps import cut_at_gaps

    records = [*cut_at_gaps(records)]
    return records if resample is None else [record.resample(every=resample) for record in records]


def prepare(
    records: list[Record], between: str | None, repair: bool, detrend: Trend | None, inputs: list[str]
) -> list[Record]:
    """Trim, repair and detrend the records as chosen."""
    from dalembert import identify as room

    if between is not None:
        first, mark, last = between.partition(":")
        try:
            stretch = float(first) if first else None, float(last) if last else None
        except ValueError:
            stretch = None, None
        if not mark or stretch == (None, None):
            raise typer.BadParameter(
                f"{between!r}: write FROM:TO in seconds; one may be left out.", param_hint="--between"
            )
        records = [room.trim(record, *stretch) for record in records]
    if repair:
        mended = [room.repair(record) for record in records]
        for result in mended:
            terminal.say(str(result).splitlines()[0])
        records = [result.record for result in mended]
    if detrend is not None:
        outputs = [[name for name in record.names if name not in inputs] for record in records]
        records = [room.detrend(record, detrend.value, channels=names) for record, names in zip(records, outputs)]
    return records


def find_model(
    records: list[Record], inputs: list[str], outputs: list[str], order: int | None, method: Way, hold_out: float,
    rows: int | None,
) -> AutoIdentified | Identified:  # fmt: skip
    """The model, by the chosen method."""
    from dalembert import identify as room

    measured: Any = records[0] if len(records) == 1 else records
    wanted = outputs or None
    if method is Way.auto:
        return room.auto(measured, inputs, wanted, order=order, hold_out=hold_out, rows=rows)
    function = getattr(room, method.value.replace("-", "_"))
    has_rows = "rows" in inspect.signature(function).parameters
    option_values.refuse((rows is not None and not has_rows, "--rows", f"{method.value} has no block rows."))
    if method is Way.plscf:
        return function(room.frf(measured, inputs, wanted), order=order)  # type: ignore[no-any-return]
    if method in WITHOUT_MODEL:
        return function(measured, wanted)  # type: ignore[no-any-return]
    options: dict[str, Any] = {"order": order} | ({} if rows is None else {"rows": rows})
    channels = (wanted,) if method in WITHOUT_INPUTS else (inputs, wanted)
    result: Identified = function(measured, *channels, **options)
    return result


def resample_each(records: list[Record], resample: float | None) -> list[Record]:
    """The record of every set-up, resampled where an interval is given."""
    return records if resample is None else [record.resample(every=resample) for record in records]


def merge(
    records: list[Record], setups: Merging, references: list[str], outputs: list[str], order: int | None,
    rows: int | None,
) -> MergedModes:  # fmt: skip
    """Modes of several set-ups, one record each; with --outputs only of these channels."""
    from dalembert import identify as room

    if outputs:
        records = [record.select(*(name for name in record.names if name in outputs)) for record in records]
    return room.merge_setups(records, references=references or None, method=setups.value, most=order, rows=rows)


def finish_modes(
    result: Any, data: list[Path], report: Path | None, places: Mapping[str, Any], out: Path | None, as_json: bool
) -> None:
    """Write and show modes that have no model: of a frequency domain decomposition, or of several set-ups."""
    judged = getattr(result, "judgements", ())
    modes = mode_values(result)
    for k, mode in enumerate(modes):
        mode["class"] = "harmonic of a machine" if k in result.machines else "mode"
        mode["reasons"] = []
        if judged:
            mode |= {"class": result.class_of(k), "reasons": list(judged[k].reasons)}
    document = {
        "method": result.method, "inputs": getattr(result, "inputs", ()), "outputs": result.outputs, "modes": modes,
        "decisions": result.notes,
        "findings": describe_findings(result),
    }  # fmt: skip
    if scale := getattr(result, "time_scale", None):
        document["time_scale"] = {"low_hz": scale.low, "high_hz": scale.high, "factor": scale.factor}
    if not write_files(result, document, [], data, report, places, out, as_json):
        show_modes(document, f"Modes by {result.method}")


def write_files(
    result: Any, document: dict[str, Any], records: list[Record], data: list[Path], report: Path | None,
    places: Mapping[str, Any], out: Path | None, as_json: bool,
) -> bool:  # fmt: skip
    """Write the report, the values and the JSON document; returns whether the latter is the output."""
    if report is not None:
        write_report(result, records, data, report, places)
    if out is not None:
        write_matrices(document, out)
    files = [file for file in (report, out) if file is not None]
    terminal.report_written(*files)
    if as_json:
        terminal.give({**document, "files": files})
    return as_json


def describe_findings(result: Any) -> list[dict[str, Any]]:
    """Findings as plain values."""
    speak = speak_options(terminal.settings.options)
    return [
        {"code": finding.code, "text": finding.text(speak), "where": finding.where, "evidence": finding.evidence}
        for finding in result.findings
    ]


def describe(result: Any, records: list[Record]) -> dict[str, Any]:
    """The findings as plain values with fixed keys."""
    model = getattr(result, "identified", result)
    shown = model.underdamped_modes()
    values = mode_values(shown, model)
    modes = [
        {
            "number": k + 1, **values[k], "class": None if model is result else result.judgements[k].grade,
            "reasons": [] if model is result else list(result.judgements[k].reasons),
        }
        for k in (range(len(shown)) if model is result else result.by_class())
    ]  # fmt: skip
    if model is result:
        kind = "simulation" if model.inputs else "prediction" if model.gain is not None else "simulation"
        fits = {"training": model.fit(records, kind).mean, "held_out": None}
    else:
        fits = {"training": result.training_fit.mean, "held_out": None if result.fit is None else result.fit.mean}
    system = model.system
    return {
        "method": model.method, "order": model.order, "sample_time": model.dt, "inputs": model.inputs,
        "outputs": model.outputs, "modes": modes, "fit_percent": fits, **({} if model is result else _judge(result)),
        "decisions": getattr(result, "decisions", model.notes), "findings": describe_findings(result),
        "matrices": {"A": system.A, "B": system.B, "C": system.C, "D": system.D},
    }  # fmt: skip


def _judge(result: AutoIdentified) -> dict[str, Any]:
    """Time scale, period and nonlinearity as plain values."""
    scale, bent, lines = result.time_scale, result.nonlinearity, result.periodic
    return {
        "time_scale": {"low_hz": scale.low, "high_hz": scale.high, "factor": scale.factor},
        "period_s": None if lines is None else lines.seconds,
        "nonlinearity": {"decided": bent.decided, "level": bent.level, "reasons": list(bent.reasons)},
    }


def show(document: dict[str, Any]) -> None:
    fits = document["fit_percent"]
    held = "" if fits["held_out"] is None else f", {fits['held_out']:.1f} % of data held out"
    fit = f"reproduces {fits['training']:.1f} % of the data it was found from{held}"
    show_modes(document, f"Model of order {document['order']} by {document['method']}", fit)


def show_modes(document: dict[str, Any], title: str, fit: str = "") -> None:
    """The table of modes, a line on the fit, and the findings."""
    from dalembert.core.tables import mode_cells

    modes = document["modes"]
    hertz, *columns = ([mode[key] for mode in modes] for key in ("frequency_hz", "damping_ratio", *DEVIATIONS))
    cells = mode_cells(hertz, *(None if None in column else column for column in columns))
    rows = [
        (str(mode.get("number", k + 1)), *cells[k], *([mode["class"]] if mode["class"] else []))
        for k, mode in enumerate(modes)
    ]
    judged = any(mode["class"] for mode in document["modes"])
    terminal.show_table(title, ("mode", "frequency [Hz]", "damping ratio [%]", *(["class"] if judged else [])), rows)
    if fit:
        terminal.show(fit)
    for finding in document["findings"]:
        terminal.warn(finding["text"])


def read_places(given: list[str] | None) -> dict[str, tuple[Any, ...]]:
    """``a1=0,0.2,x`` as ``{"a1": (0.0, 0.2, "x")}``; an oblique way as ``0.6/0.8/0``."""
    places: dict[str, tuple[Any, ...]] = {}
    for text in given or ():
        name, mark, words = text.partition("=")
        parts = [word.strip() for word in words.split(",")]
        way: list[Any] = [parts.pop()] if parts and parts[-1].lstrip("-") in ("x", "y", "z") else []
        try:
            if parts and "/" in parts[-1]:
                way = [tuple(float(number) for number in parts.pop().split("/"))]
            numbers = [float(number) for number in parts]
        except ValueError:
            numbers = []
        if not (name and mark and len(numbers) in (2, 3)):
            raise typer.BadParameter(f"{text!r}: write NAME=X,Y,WAY or NAME=X,Y,Z,WAY.", param_hint="--place")
        places[name.strip()] = (*numbers, *way)
    return places


def write_report(result: Any, records: list[Record], data: list[Path], report: Path, places: Mapping[str, Any]) -> None:
    """Write the page on an identification, with the origin of the data."""
    from dalembert.view import report as write
    from dalembert.view.reports.origin import file_entries

    origin = {"made": datetime.now().astimezone().isoformat(" ", "minutes"), "command": terminal.command_line()}
    origin |= file_entries(data)
    listed = ", ".join(file.name for file in data[:3]) + (f" and {len(data) - 3} more" if len(data) > 3 else "")
    more: dict[str, Any] = {} if hasattr(result, "identified") or not records else {"records": records}
    title = f"Identification of {listed}, {origin['made'][:10]}"
    speak = speak_options(terminal.settings.options)
    write(result, report, places=places or None, provenance=origin, speak=speak, title=title, **more)
