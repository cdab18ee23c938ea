"""Meshes of solids from files: gmsh (.msh 2.2, 4.0, 4.1), Abaqus (.inp), Nastran bulk data (.bdf, .nas, .dat, .fem).

The reading is done by meshlane, one reader per format and never its front door (which prints and exits on errors), in a
process of its own: it trusts the sizes that a file declares.
What is kept: points, solid cells of one kind, and named sets. Physical groups of gmsh are named cell sets for volumes
and named point sets for surfaces, lines and points; NSET and ELSET of Abaqus keep their names; cells of Nastran are in
sets ``"property 1"``, ... by their property. Materials, loads, coordinate systems and everything else is not read; what
would make the mesh wrong unnoticed (positions in local coordinate systems, files that include others) is refused.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number, take_path
from dalembert.core.arrays import IntArray
from dalembert.core.errors import DataError, FileFormatError, MissingExtraError, ModelWarning, require_extra
from dalembert.core.findings import Advice, Argument
from dalembert.core.isolation import sections as isolated
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.meshes import Mesh

MAX_BYTES = 8 * 1024**3
CHARACTERS = 1000  # per cell of a file: a quadratic hexahedron with its points takes some 600
LIBRARIES = ("meshlane",)
_OTHER_SOLIDS = ("wedge", "pyramid", "polyhedron", "tetra", "hexahedron")
_FORMATS = {
    ".msh": "gmsh", ".inp": "abaqus", ".bdf": "nastran", ".nas": "nastran", ".dat": "nastran", ".fem": "nastran",
}  # fmt: skip


def read_mesh(
    path: str | Path,
    *,
    kind: str | None = None,
    format: str | None = None,
    scale: float = 1.0,
    limit: int = 2_000_000,
    max_bytes: int = MAX_BYTES,
) -> Mesh:
    """Read a mesh of solid cells from a file.

    Parameters
    ----------
    path : the file; its ending determines the format unless ``format`` ("gmsh", "abaqus", "nastran") does.
    kind : which kind of cells to keep where there are several (``"tet10"``, ``"hex8"``, ...).
    scale : positions are multiplied by it: 1e-3 for a file in millimetres.
    limit : most points, and most cells, that are accepted.
    max_bytes : most memory that reading may take [bytes] (kept on Linux); a text takes some twenty times its length.

    Raises
    ------
    FileFormatError
        Broken or unsupported files, with the line where it is known.
    """
    file = take_path("path", path)
    if not np.isfinite(scale) or scale <= 0.0:
        raise DataError("not-positive", f"scale must be a positive number, got {scale!r}.")
    which = _format(file, format)
    _check_length(file, limit, max_bytes)
    reader = "dalembert.structures.solid.mesh_files:sections"
    with closing(isolated(reader, file, [which, kind, limit], memory=max_bytes)) as found:
        about = next(found)
        points = _take(found, about["points"], np.float64).reshape(-1, 3)
        cells = _take(found, about["cells"], np.int64).reshape(-1, SOLID_ELEMENTS[about["kind"]].size)
        point_sets = {name: _take(found, count, np.int64) for name, count in about["point_sets"].items()}
        cell_sets = {name: _take(found, count, np.int64) for name, count in about["cell_sets"].items()}
        next(found, None)  # the end, so that the helper is kept
    _warn_of_remarks(about["remarks"], file)
    try:
        return Mesh(points * scale, cells, about["kind"], point_sets=point_sets, cell_sets=cell_sets, name=file.name)
    except DataError as error:
        raise FileFormatError(error.code, error.finding.problem, *error.advice, path=str(file)) from error


def _take(found: Iterator[Any], count: int, kind: Any) -> Any:
    """An array of a number of entries from its pieces (at least one, perhaps empty)."""
    whole = np.empty(count, dtype=kind)
    done = 0
    while True:
        piece = next(found)
        whole[done : done + len(piece)] = piece
        done += len(piece)
        if done >= count:
            return whole


def sections(file: Path, which: str, kind: str | None, limit: int) -> Generator[Any, None, None]:
    """What is kept of a file: plain data, then points, cells and the members of the sets."""
    text = _text(file)
    try:
        with contextlib.redirect_stderr(io.StringIO()) as remarks, contextlib.redirect_stdout(remarks):
            raw = _READERS[which](file, text)
    except (FileFormatError, MissingExtraError, MemoryError):
        raise
    except SystemExit as error:
        raise FileFormatError("not-readable", f"cannot be read as {which}: {error}", path=str(file)) from error
    except Exception as error:  # the readers raise errors of any kind: ValueError, KeyError, AssertionError ...
        line = _line_of(text, str(error))
        reason = str(error) or f"unexpected {type(error).__name__}"
        raise FileFormatError(
            "not-readable", f"cannot be read as {which}: {reason}", path=str(file), line=line
        ) from error
    points, cells, chosen, point_sets, cell_sets = _read_cells(raw, file, kind, limit)
    yield {
        "kind": chosen, "remarks": remarks.getvalue(), "points": points.size, "cells": cells.size,
        "point_sets": {name: len(members) for name, members in point_sets.items()},
        "cell_sets": {name: len(members) for name, members in cell_sets.items()},
    }  # fmt: skip
    for array in (points, cells, *point_sets.values(), *cell_sets.values()):
        yield np.asarray(array, dtype=np.float64 if array is points else np.int64).reshape(-1)


# -- formats ---------------------------------------------------------------------------------------------------------


def _format(file: Path, given: str | None) -> str:
    known = sorted(set(_FORMATS.values()))
    if given is not None:
        if given not in known:
            raise DataError("unknown-choice", f"format must be one of {', '.join(known)}, got {given!r}.")
        return given
    found = _FORMATS.get(file.suffix.lower())
    if found is None:
        raise FileFormatError(
            "unknown-format",
            f"the ending {file.suffix!r} is not known; known formats: {', '.join(known)}.",
            Advice("Give {}.", Argument("format")),
            path=str(file),
        )
    return found


def _check_length(file: Path, limit: int, max_bytes: int) -> None:
    positive_number("max_bytes", max_bytes)
    if not file.is_file():
        raise FileFormatError("no-such-file", "there is no such file.", path=str(file))
    size = file.stat().st_size
    most = CHARACTERS * limit
    if size > min(most, max_bytes):
        allowed = f"limit = {limit} allows" if size > most else f"max_bytes = {max_bytes}"
        raise FileFormatError("too-large", f"has {size / 1e6:.0f} MB, more than {allowed}", path=str(file))
    if size == 0:
        raise FileFormatError("empty", "the file is empty.", path=str(file))


def _text(file: Path) -> str:
    """The file as text, binary parts unchanged."""
    raw = file.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _gmsh(file: Path, text: str) -> Any:
    reader = require_extra("meshlane", "solids").gmsh
    # A count above the number of characters is broken, and would be believed and allocated.
    for section in ("Nodes", "Elements", "Entities", "PhysicalNames"):
        found = re.search(rf"^\${section}\s*\n([^\n]*)\n", text, re.MULTILINE)
        counts = [int(word) for word in found.group(1).split()[:2] if word.isdigit()] if found else []
        if found and counts and max(counts) > len(text):
            line = text.count("\n", 0, found.start(1)) + 1
            raise FileFormatError(
                "damaged", f"{section} announces {max(counts)} entries in a shorter file", path=str(file), line=line
            )
    for section in ("Nodes", "Elements"):
        if f"${section}" not in text or f"$End{section}" not in text:
            raise FileFormatError(
                "damaged", f"the section ${section} ... $End{section} is missing or cut off", path=str(file)
            )
    return reader.read(str(file))


def _abaqus(file: Path, text: str) -> Any:
    reader = require_extra("meshlane", "solids").abaqus
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\*\s*include\b", line, re.IGNORECASE):
            advice = Advice("Put the other file into this one.")
            raise FileFormatError("not-supported", "*INCLUDE is not followed.", advice, path=str(file), line=number)
    return reader._abaqus.read_buffer(io.StringIO(_with_node_sets(text)))


def _with_node_sets(text: str) -> str:
    """The text with ``*NODE, NSET=name`` repeated as ``*NSET, NSET=name``, which the reader takes into account."""
    if re.search(r"^\s*\*\s*(part|instance|assembly)\b", text, re.IGNORECASE | re.MULTILINE):
        return text  # numbers are local to a part
    found: dict[str, list[str]] = {}
    name = None
    for line in text.splitlines():
        if line.lstrip().startswith("**"):
            continue
        if line.lstrip().startswith("*"):
            card = re.match(r"\s*\*\s*node\s*,.*\bnset\s*=\s*([^,]+)", line, re.IGNORECASE)
            name = card.group(1).strip() if card else None
        elif name is not None and line.strip():
            found.setdefault(name, []).append(line.split(",")[0].strip())
    extra = [f"*NSET, NSET={key}\n" + "\n".join(numbers) for key, numbers in found.items()]
    return "\n".join([text.rstrip("\n"), *extra, ""]) if extra else text


def _nastran(file: Path, text: str) -> Any:
    reader = require_extra("meshlane", "solids").nastran
    lines = text.splitlines()
    begin = next((k for k, line in enumerate(lines) if re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE)), -1)
    end = next((k for k, line in enumerate(lines) if line.strip().upper().startswith("ENDDATA")), len(lines))
    bulk = lines[begin + 1 : end]
    for number, line in enumerate(bulk, begin + 2):
        if re.match(r"\s*include\b", line, re.IGNORECASE):
            advice = Advice("Put the other file into this one.")
            raise FileFormatError("not-supported", "INCLUDE is not followed.", advice, path=str(file), line=number)
        system = _coordinate_system(line)
        if system not in ("", "0"):
            raise FileFormatError(
                "not-supported",
                f"a point in coordinate system {system}; only 0 is supported",
                path=str(file),
                line=number,
            )
    if not any(line.strip() and not line.startswith("$") for line in bulk):
        raise FileFormatError("empty", "there is no bulk data.", path=str(file))
    whole = "\n".join(["BEGIN BULK", *(line for line in bulk if line.strip()), "ENDDATA", ""])
    return reader._nastran.read_buffer(io.StringIO(whole))


def _coordinate_system(line: str) -> str:
    """Field CP of a GRID card, empty for other lines."""
    if not line.upper().startswith("GRID"):
        return ""
    if "," in line:
        fields = line.split(",")
        return fields[2].strip() if len(fields) > 2 else ""
    return (line[24:40] if line[4:8].startswith("*") else line[16:24]).strip()


_READERS: dict[str, Callable[[Path, str], Any]] = {"gmsh": _gmsh, "abaqus": _abaqus, "nastran": _nastran}


# -- from the content of a file to a mesh ------------------------------------------------------------------------------


def _read_cells(
    raw: Any, file: Path, kind: str | None, limit: int
) -> tuple[Any, Any, str, dict[str, IntArray], dict[str, IntArray]]:
    """Points, cells of one kind, which kind, and the named sets of both."""
    points = np.asarray(raw.points, dtype=np.float64)
    total = sum(len(block.data) for block in raw.cells)
    if len(points) > limit or total > limit:
        raise FileFormatError(
            "too-large", f"has {len(points)} points and {total} cells, more than limit = {limit}", path=str(file)
        )
    if points.ndim != 2 or points.shape[1] != 3:
        raise FileFormatError("wrong-shape", "its points are not in space.", path=str(file))
    chosen = _choose(raw, file, kind)
    blocks = [k for k, block in enumerate(raw.cells) if _kind_of_type(block.type) == chosen]
    cells = np.concatenate([np.asarray(raw.cells[k].data) for k in blocks])
    if cells.ndim != 2 or cells.shape[1] != SOLID_ELEMENTS[chosen].size or cells.dtype.kind not in "iu":
        raise FileFormatError(
            "damaged", f"its {chosen} cells do not have {SOLID_ELEMENTS[chosen].size} points each", path=str(file)
        )
    starts = dict(zip(blocks, np.cumsum([0, *(len(raw.cells[k].data) for k in blocks)]).tolist(), strict=False))
    return points, cells, chosen, *_name_sets(raw, starts)


def _kind_of_type(name: str) -> str:
    """The kind of solid element that a mesh file calls by this name; the name itself where there is none."""
    return next((kind for kind, cell in SOLID_ELEMENTS.items() if name in cell.file_types), name)


def _choose(raw: Any, file: Path, kind: str | None) -> str:
    """The kind of cells to keep."""
    counts: dict[str, int] = {}
    for block in raw.cells:
        name = _kind_of_type(block.type)
        if name in SOLID_ELEMENTS or name.startswith(_OTHER_SOLIDS):
            counts[name] = counts.get(name, 0) + len(block.data)
    plane = {name for name in counts if name in SOLID_ELEMENTS and SOLID_ELEMENTS[name].dimension == 2}
    if kind not in plane and len(plane) < len(counts):  # plane cells are the surface of the solid ones
        counts = {name: count for name, count in counts.items() if name not in plane}
    there = ", ".join(f"{count} {name}" for name, count in counts.items())
    if kind is not None:
        if counts.get(kind, 0) == 0:
            raise FileFormatError(
                "unknown-name", f"has no cells of kind {kind!r}; solid cells there: {there or 'none'}", path=str(file)
            )
        return kind
    if not counts:
        types = ", ".join(sorted({block.type for block in raw.cells})) or "none"
        raise FileFormatError("empty", f"has no solid cells; cells there: {types}", path=str(file))
    if len(counts) > 1:
        raise FileFormatError(
            "not-unique",
            f"has cells of several kinds: {there}.",
            Advice("Keep one of them with {}.", Argument("kind")),
            path=str(file),
        )
    only = next(iter(counts))
    if only not in SOLID_ELEMENTS:
        raise FileFormatError(
            "not-supported", f"has cells of type {only!r}; supported are {', '.join(SOLID_ELEMENTS)}", path=str(file)
        )
    return only


def _name_sets(raw: Any, starts: dict[int, int]) -> tuple[dict[str, IntArray], dict[str, IntArray]]:
    """Named point sets and cell sets; ``starts``: where the cells of each kept block begin."""
    points: dict[str, list[IntArray]] = {}
    cells: dict[str, list[IntArray]] = {}

    def add(name: str, block: int, members: IntArray) -> None:
        if block in starts:
            cells.setdefault(name, []).append(members + starts[block])
        elif len(members):
            points.setdefault(name, []).append(np.unique(raw.cells[block].data[members]))

    physical = raw.cell_data.get("gmsh:physical")
    if physical is not None:
        names = {(int(v[1]), int(v[0])): key for key, v in raw.field_data.items() if len(v) == 2}
        for block, tags in enumerate(physical):
            dimension = raw.cells[block].dim
            for tag in np.unique(tags):
                if tag:
                    name = names.get((dimension, int(tag)), f"physical {dimension}-{tag}")
                    add(name, block, np.flatnonzero(tags == tag))
    for block, tags in enumerate(raw.cell_data.get("nastran:ref", [])):
        for tag in np.unique(tags):
            add(f"property {tag}", block, np.flatnonzero(tags == tag))
    for name, per_block in raw.cell_sets.items():
        if physical is None:  # gmsh 4.1 repeats its physical groups here
            for block, members in enumerate(per_block):
                if members is not None and len(members):
                    add(str(name), block, np.asarray(members, dtype=np.intp))
    for name, members in raw.point_sets.items():
        points.setdefault(str(name), []).append(np.asarray(members, dtype=np.intp))
    return (
        {name: np.unique(np.concatenate(found)) for name, found in points.items()},
        {name: np.unique(np.concatenate(found)) for name, found in cells.items()},
    )


# -- messages --------------------------------------------------------------------------------------------------------


def _line_of(text: str, message: str) -> int | None:
    """First line with the word that a parser did not accept, if the message quotes one."""
    quoted = re.findall(r"'([^']+)'", message)
    for number, line in enumerate(text.splitlines(), 1):
        if quoted and quoted[-1].strip() and quoted[-1].strip() in line:
            return number
    return None


def _warn_of_remarks(remarks: str, file: Path) -> None:
    """Remarks of the reader as a warning, instead of words on the terminal."""
    text = " ".join(remarks.split())
    if text:
        warnings.warn(ModelWarning("reader-remark", f"{file}: {text}", where={"path": str(file)}), stacklevel=3)
