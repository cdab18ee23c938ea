"""Universal files (dataset 58) to and from records and frequency responses.

Numbers are written as text with 13 digits (E20.12), which every program reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.files.records.format import RECORD_FORMATS, Reading, RecordFormat
from dalembert.files.tables.header_units import read_unit_cell
from dalembert.files.tables.headings import describe_headings
from dalembert.files.tables.universal import FUNCTIONS, SETS, Function58, find_kinds, functions
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.record import Record

TIME, FRF = 1, 4  # kinds of function


_QUANTITY = {"m": 8, "m/s": 11, "m/s^2": 12, "N": 13, "Pa": 15}


def read(path: Path, how: Reading) -> Record:
    """Time responses of a file, all of one length and sample time."""
    problem = "a universal file has its sample time: dt does not apply."
    FileFormatError.when(how.dt is not None, "conflicting-arguments", problem)
    every = list(functions(path, how.max_bytes))
    responses = [function for function in every if function.kind in (TIME, 0) and not np.iscomplexobj(function.values)]
    if not responses:
        kinds = sorted({function.kind for function in every})
        advice = Advice("Read frequency responses by {}.", Call("dalembert.files.read_frequency_response"))
        contents = [FUNCTIONS[kind] if 0 <= kind < len(FUNCTIONS) else f"function of kind {kind}" for kind in kinds]
        contents = contents or [f"{SETS.get(number, 'other data')} (set {number})" for number in find_kinds(path)]
        problem = f"the file holds no time response, but {', '.join(contents) or 'no data set'}."
        raise FileFormatError("not-supported", problem, *([advice] if FRF in kinds else []))
    times = _abscissa(responses)
    headings = [
        read_unit_cell(name, function.units[0]) for name, function in zip(_names(responses), responses, strict=True)
    ]
    data = np.column_stack(
        [function.values * h.factor[0] / h.factor[1] for function, h in zip(responses, headings, strict=True)]
    )
    names = [heading.name for heading in headings]
    provenance = describe_headings(names, headings)
    if len(responses) < len(every):
        provenance["left out"] = [f"{len(every) - len(responses)} functions that are not time responses"]
    return Record(times, data, names, [heading.unit for heading in headings], provenance=provenance)


def read_frf(path: Path, max_bytes: int) -> FrequencyResponse:
    """Frequency responses of a file: every response to every reference."""
    responses = [function for function in functions(path, max_bytes) if function.kind == FRF]
    FileFormatError.when(not responses, "empty", "the file holds no frequency response (data set 58, function 4).")
    frequencies = _abscissa(responses)
    outputs = list(dict.fromkeys(function.label(function.response) for function in responses))
    inputs = list(dict.fromkeys(function.label(function.reference) for function in responses))
    values = np.full((len(frequencies), len(outputs), len(inputs)), np.nan, dtype=np.complex128)
    out_units: dict[str, str] = {}
    in_units: dict[str, str] = {}
    for function in responses:
        a, b = function.label(function.response), function.label(function.reference)
        above, below = read_unit_cell(a, function.units[0]), read_unit_cell(b, function.units[1])
        scale = above.factor[0] / above.factor[1] * below.factor[1] / below.factor[0]
        values[:, outputs.index(a), inputs.index(b)] = scale * function.values
        out_units[a], in_units[b] = above.unit, below.unit
    missing = [f"{a} to {b}" for j, b in enumerate(inputs) for i, a in enumerate(outputs) if np.isnan(values[0, i, j])]
    if missing:
        raise FileFormatError("empty", f"{len(missing)} responses are not in the file, the first is {missing[0]}.")
    kinds = {"m": "receptance", "m/s": "mobility", "m/s^2": "accelerance"}
    kind = {kinds.get(unit, "output") for unit in out_units.values()}
    return FrequencyResponse(
        2.0 * np.pi * frequencies, values, inputs, outputs, kind=kind.pop() if len(kind) == 1 else "output",
        input_units=in_units, output_units=out_units,
    )  # fmt: skip


def write(record: Record, path: Path, suffix: str) -> None:
    """One time response for each channel; its name is the first line of text."""
    if not record.is_even:
        raise FileFormatError(
            "uneven-sampling", "universal files hold even samples only.",
            Advice("Use {}.", Call("Record.resample", Argument("every", float(np.median(np.diff(record.time)))))),
        )  # fmt: skip
    step = float(np.mean(np.diff(record.time))) if len(record) > 1 else 1.0
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        for k, (name, unit) in enumerate(record.units.items()):
            place, none = ("NONE", k + 1, 0), ("NONE", 0, 0)
            values = record.data[:, k]
            function = Function58(0, TIME, name, place, none, float(record.time[0]), step, values, None, (unit, ""))
            _write_function(file, function)


def write_frf(response: FrequencyResponse, path: Path, even: float = 1e-9) -> None:
    """One frequency response for each pair of an output and an input.

    Names of at most ten letters are kept as those of parts; where one is longer all are numbered as nodes.
    even : difference of two steps of the frequency, of the last one, that is rounding.
    """
    f = response.frequencies / (2.0 * np.pi)
    steps = np.diff(f)
    problem = "universal files are written of even frequencies."
    FileFormatError.when(len(f) > 1 and np.ptp(steps) > even * f[-1], "uneven-sampling", problem)
    step = float(np.mean(steps)) if len(f) > 1 else 1.0
    outputs, inputs = _places(response.outputs), _places(response.inputs)
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        for i, output in enumerate(response.outputs):
            for j, source in enumerate(response.inputs):
                units = (response.output_units.get(output, ""), response.input_units.get(source, ""))
                title, values = f"{output} to {source}", response.values[:, i, j]
                function = Function58(0, FRF, title, outputs[i], inputs[j], float(f[0]), step, values, None, units)
                _write_function(file, function)


def _places(names: Sequence[str]) -> list[tuple[str, int, int]]:
    if all(len(name) <= 10 for name in names):
        return [(name, 0, 0) for name in names]
    return [("NONE", k + 1, 0) for k in range(len(names))]


def _write_function(file: TextIO, one: Function58) -> None:
    is_complex = np.iscomplexobj(one.values)
    file.write(f"{-1:6d}\n{58:6d}\n{one.title[:80]:80s}\n")
    file.write("NONE\n" * 4)
    file.write(f"{one.kind:5d}{0:10d}{0:5d}{0:10d}")
    file.write("".join(f" {name:10s}{node:10d}{way:4d}" for name, node, way in (one.response, one.reference)) + "\n")
    file.write(f"{6 if is_complex else 4:10d}{len(one.values):10d}{1:10d}")
    file.write(f"{one.first:13.5E}{one.step:13.5E}{0.0:13.5E}\n")
    axes = [(17, "s") if one.kind == TIME else (18, "Hz"), *((_QUANTITY.get(u, 0), u) for u in one.units), (0, "")]
    for quantity, unit in axes:
        file.write(f"{quantity:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {(unit or 'NONE')[:20]:20s}\n")
    plain = np.column_stack([one.values.real, one.values.imag]).ravel() if is_complex else one.values
    for k in range(0, len(plain), 4):
        file.write("".join(f"{x:20.12E}" for x in plain[k : k + 4]) + "\n")
    file.write(f"{-1:6d}\n")


def _abscissa(found: Sequence[Function58], same: float = 1e-6, near_zero: float = 1e-9) -> Any:
    """Times or frequencies that all functions have.

    same : relative difference of two values: a file in single precision has seven digits.  near_zero : of the last one.
    """
    first = found[0]
    x = first.first + first.step * np.arange(len(first.values)) if first.x is None else first.x
    for second in found[1:]:
        abscissa = second.first + second.step * np.arange(len(second.values)) if second.x is None else second.x
        if len(abscissa) != len(x) or not np.allclose(abscissa, x, rtol=same, atol=near_zero * abs(x[-1])):
            problem = f"functions have {len(x)} and {len(abscissa)} numbers, or other abscissas."
            raise FileFormatError("wrong-shape", problem, line=second.line)
    return x


def _names(found: Sequence[Function58]) -> list[str]:
    """Names of channels: their titles where these differ, else their degrees of freedom, numbered where they repeat."""
    titles = [function.title for function in found]
    if all(titles) and len(set(titles)) == len(titles):
        return titles
    labels = [function.label(function.response) for function in found]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label}#{k + 1}" for k, label in enumerate(labels)]


RECORD_FORMATS.register("uff", RecordFormat((".uff", ".unv", ".58"), read, write))
