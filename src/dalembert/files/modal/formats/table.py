"""Modal data as a table of text: one row or one column per mode.

    mode,frequency_hz,damping_ratio,a1,a2
    1,2.001,0.037,1,0.62
    2,5.805,0.0081,-0.44,1

Complex shapes are in cells (``0.3+0.1i``), or in two columns of a coordinate: ``a1 real`` and ``a1 imag``, ``Re(a1)``
and ``Im(a1)``, ``a1 amplitude`` and ``a1 phase [deg]``. A table that this package has written begins with the number
of its coordinates; its names are taken as they are, without a search for units.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Call
from dalembert.files.modal.column_words import ModalColumn, ModalQuantity, factor_of, read_word
from dalembert.files.modal.format import MODAL_FORMATS, ModalFormat
from dalembert.files.modal.geometry import Geometry
from dalembert.files.modal.modal_values import ModalValues, to_modes
from dalembert.files.modal.table_layout import ModalTable, find_modal_table
from dalembert.files.tables.body import number_lines
from dalembert.files.tables.cells import is_missing, is_number, with_point
from dalembert.files.tables.encoding import count_lines
from dalembert.files.tables.header import quote_cell
from dalembert.files.tables.header_units import read_heading, read_unit_cell
from dalembert.linear.modes import Modes

SUFFIXES = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".dat": "\t"}
_OWN = re.compile(r"#\s*coordinates:\s*(\d{1,7})( complex)?\s*")
_COMPLEX = re.compile(
    r"(?P<real>[+-]?[\d.]+(?:e[+-]?\d+)?)?(?P<imag>[+-]?(?:[\d.]+(?:e[+-]?\d+)?)?)[ij]", re.IGNORECASE
)
_PARTS = {
    **dict.fromkeys(("re", "real"), "real"), **dict.fromkeys(("im", "imag", "imaginary"), "imag"),
    **dict.fromkeys(("amp", "ampl", "amplitude", "mag", "magnitude", "modulus", "abs"), "size"),
    **dict.fromkeys(("phase", "phi", "angle", "arg"), "phase"),
}  # fmt: skip
_CALLED = re.compile(r"(?P<part>[^\W\d_]+)\s*\(\s*(?P<name>.+?)\s*\)")
_ENDING = re.compile(r"(?P<name>.*[^\s._:(])[\s._:]*[\s._:(](?P<part>[^\W\d_]+)\)?")


def read(path: Path, max_bytes: int, most: int = 20_000) -> Modes:
    """Modes of a table; errors name the line. Reading ``most`` lines takes less than a second."""
    count, encoding = count_lines(path, max_bytes)
    FileFormatError.when(count > most, "too-large", f"the table has {count} lines, more than {most}.")
    try:
        text = path.read_text(encoding=encoding)
        with path.open(encoding=encoding, newline=None) as file:
            lines = list(number_lines(file))
        table = find_modal_table(lines)
    except UnicodeDecodeError as error:
        problem = f"the text is not UTF-8 ({error.reason})."
        raise FileFormatError("not-readable", problem, Advice("Save it as UTF-8.")) from error
    except csv.Error as error:
        raise FileFormatError("bad-syntax", f"this is not a table ({error}).") from error
    if table is None:
        raise FileFormatError(
            "not-modes", "no heading names frequencies, as frequency_hz does.",
            Advice("Read measured time series by {}.", Call("da.read_record")), line=lines[0][0] if lines else None,
        )  # fmt: skip
    return to_modes(_values(table, _OWN.match(text)))


def _values(table: ModalTable, own: re.Match[str] | None) -> ModalValues:
    literal = _literal(table, own)
    words: dict[ModalQuantity, tuple[int, ModalColumn]] = {}
    notes: list[str] = []
    shapes: list[int] = []
    for k, head in enumerate(table.heads):
        if head in (table.heads[literal.start : k] if k in literal else table.heads[:k]):
            line = table.line(0, k) if table.is_turned else table.head_line
            raise FileFormatError("taken-name", f"two columns are named {head!r:.80}.", line=line)
        word = None if k in literal else read_word(head, table.units[k])
        if word is None:
            shapes.append(k)
        elif word.quantity in words or word.quantity is ModalQuantity.aside:
            notes.append(f"column {head!r:.80} is left out")
        else:
            words[word.quantity] = (k, word)
    numbers = {q: _numbers(table, *words[q]) for q in words if q is not ModalQuantity.mode}
    damping, f = numbers.get(ModalQuantity.damping), numbers.get(ModalQuantity.frequency)
    if f is None:
        if damping is None:
            problem = "damped frequencies need damping ratios beside them."
            raise FileFormatError("missing-argument", problem, line=table.head_line)
        f = numbers[ModalQuantity.damped_frequency] / np.sqrt(np.maximum(1.0 - damping**2, 1e-300))
    spread = numbers.get(ModalQuantity.frequency_deviation)
    if spread is not None and words[ModalQuantity.frequency_deviation][1].unit in ("%", "percent"):
        spread = spread * f
    names, values = _shapes(table, shapes, literal, own, notes)
    if not names:
        raise FileFormatError(
            "empty", "the table has no column of a mode shape.",
            Advice("Add a column per coordinate, named as the model names it."), line=table.head_line,
        )  # fmt: skip
    columns = {**{q.value: k for q, (k, _) in words.items()}, **{table.heads[k]: k for k in shapes}}
    columns |= {key: columns.get(ModalQuantity[key].value, 0) for key in ("frequency", "damping")}
    return ModalValues(
        f, values, names, damping, numbers.get(ModalQuantity.mass), spread,
        numbers.get(ModalQuantity.damping_deviation), notes=notes,
        place=lambda mode, quantity: table.line(mode, columns.get(quantity, 0)),
        is_ratio_sure=ModalQuantity.damping not in words or words[ModalQuantity.damping][1].has_unit or own is not None,
    )  # fmt: skip


def _literal(table: ModalTable, own: re.Match[str] | None) -> range:
    """Columns whose headings are names without units: those of a table that this package has written."""
    count = 0 if own is None else int(own[1]) * (2 if own[2] else 1)
    fits = own is not None and not table.is_turned and count < len(table.heads)
    return range(len(table.heads) - count, len(table.heads)) if fits else range(0)


def _numbers(table: ModalTable, column: int, word: ModalColumn) -> FloatArray:
    """A column of real numbers in Hz, as ratios or in kg; NaN where a cell is empty."""
    relative = word.quantity is ModalQuantity.frequency_deviation and word.unit in ("%", "percent")
    factor = 0.01 if relative else factor_of(word, table.heads[column], table.line(0, column))
    cells = [_number(table, k, column) for k in range(len(table.cells))]
    problem, line = f"column {table.heads[column]!r:.80} holds complex numbers.", table.line(0, column)
    FileFormatError.when(any(isinstance(cell, complex) for cell in cells), "not-a-number", problem, line=line)
    return factor * np.array(cells, dtype=np.float64)


def _number(table: ModalTable, row: int, column: int) -> float | complex:
    cell = table.cells[row][column]
    if is_missing(cell):
        return float("nan")
    if is_number(cell, table.decimal):
        return float(with_point(cell, table.decimal))
    value = read_complex(cell, table.decimal)
    if value is None:
        problem = f"{cell!r:.80} in column {table.heads[column]!r:.80} is not a number."
        raise FileFormatError("not-a-number", problem, line=table.line(row, column))
    return value


def read_complex(cell: str, decimal: str = ".") -> complex | None:
    """A complex number as programs write it, or None.

    Examples
    --------
    >>> read_complex("0.3 - 1e-2i"), read_complex("-2j"), read_complex("up")
    ((0.3-0.01j), -2j, None)
    """
    text = cell.replace(" ", "").replace("*", "").replace("(", "").replace(")", "")
    text = text.replace(decimal, ".")
    match = _COMPLEX.fullmatch(text) or _COMPLEX.fullmatch(re.sub(r"([+-])[ij](.+)", r"\1\2i", text))
    if match is None:
        return None
    try:
        imag = match["imag"]
        if match["real"] and not imag:  # 2i: the pattern takes the number for the real part
            return complex(0.0, float(match["real"]))
        return complex(float(match["real"] or 0.0), float(imag + "1" if imag in ("", "+", "-") else imag))
    except ValueError:
        return None


def _shapes(
    table: ModalTable, columns: list[int], literal: range, own: re.Match[str] | None, notes: list[str]
) -> tuple[list[str], FloatArray | ComplexArray]:
    """Names of the coordinates and their numbers (n, k)."""
    parts: dict[tuple[str, str], tuple[int, float, str]] = {}  # name and part -> column, factor to SI, whole name
    for k in columns:
        head, unit = table.heads[k], table.units[k]
        cells = [row[k] for row in table.cells]
        if not any(is_number(c, table.decimal) or read_complex(c, table.decimal) for c in cells) and any(cells):
            notes.append(f"column {head!r:.80} holds text and is left out")
            continue
        if k in literal:
            name, kind = (head.rpartition(" ")[0], head.rpartition(" ")[2]) if own and own[2] else (head, "")
            parts[name, kind] = (k, 1.0, head)
            continue
        read_ = read_unit_cell(head, unit) if unit else read_heading(head)
        name, kind = split_part(read_.name)
        factor = read_.factor[0] / read_.factor[1]
        if kind == "phase":
            factor = {"rad": factor}.get(read_.unit, 0.0)
        parts[name, kind] = (k, factor, read_.name)
    label: dict[str, Any] = {}
    for (name, kind), (k, factor, by_name) in parts.items():
        partner = {"real": "imag", "size": "phase"}.get(kind)
        before = {"imag": "real", "phase": "size"}.get(kind)
        if before is not None and (name, before) in parts:
            continue
        values = np.array([_number(table, row, k) for row in range(len(table.cells))])
        if partner is not None and (name, partner) in parts:
            column, ratio, _ = parts[name, partner]
            second = np.array([_number(table, row, column) for row in range(len(table.cells))])
            if partner == "phase" and not ratio:
                problem = f"the phase {table.heads[column]!r:.80} has no unit; write [deg] or [rad] behind its name."
                raise FileFormatError("unit-mismatch", problem, line=table.head_line)
            values = (
                values + 1j * ratio / factor * second if partner == "imag" else values * np.exp(1j * ratio * second)
            )
            label[name] = factor * values
        else:  # a part without its partner is the name of a coordinate: "hinge.angle"
            label[by_name] = (factor or 1.0) * values
    names = list(label)
    return names, np.array([label[name] for name in names])


def split_part(name: str) -> tuple[str, str]:
    """Coordinate and part of a complex number: "real", "imag", "size", "phase", or "".

    Examples
    --------
    >>> split_part("a1 imag"), split_part("Re(a1)"), split_part("tip.x")
    (('a1', 'imag'), ('a1', 'real'), ('tip.x', ''))
    """
    for pattern in (_CALLED, _ENDING):
        match = pattern.fullmatch(name)
        kind = _PARTS.get(match["part"].lower()) if match else None
        if match and kind:
            return match["name"], kind
    return name, ""


def write(modes: Modes, path: Path, geometry: Geometry | None) -> None:
    """One row per mode; every number in its shortest form that reads back the same."""
    delimiter = SUFFIXES.get(path.suffix.lower(), ",")
    complex_ = bool(np.iscomplexobj(modes.shapes))
    columns: dict[str, Any] = {
        "mode": range(1, len(modes) + 1), "frequency_hz": modes.frequencies_hz, "damping_ratio": modes.damping_ratios,
        "frequency_deviation_hz": modes.frequency_deviations_hz, "damping_deviation": modes.damping_deviations,
        "modal_mass": modes.modal_masses if modes.has_masses else None,
    }  # fmt: skip
    heads = [name for name, values in columns.items() if values is not None]
    rows = [np.asarray(values).tolist() for values in columns.values() if values is not None]
    for name, shape in zip(modes.coordinates, modes.shapes, strict=True):
        heads += [f"{name} real", f"{name} imag"] if complex_ else [name]
        rows += [shape.real.tolist(), shape.imag.tolist()] if complex_ else [shape.tolist()]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# coordinates: {len(modes.coordinates)}{' complex' if complex_ else ''}\n")
        file.write(delimiter.join(map(quote_cell, heads)) + "\n")
        file.writelines(delimiter.join(map(repr, row)) + "\n" for row in zip(*rows, strict=True))


MODAL_FORMATS.register("table", ModalFormat(tuple(SUFFIXES), read, write))
