"""Modal data in universal files: sets 55, with nodes (15) and trace lines (82) where a geometry is given.

Coordinates have names as in measured records of universal files, ``12+X``: node and direction. Sets give every node
three or six values; directions that stay 0 in every mode were not measured and are left out. Modes at coordinates of
other names are written as scalars at numbered nodes, with the names in the lines of text above.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.files.modal.format import MODAL_FORMATS, ModalFormat
from dalembert.files.modal.geometry import Geometry, direction_vector
from dalembert.files.modal.modal_values import ModalValues, to_modes
from dalembert.files.modal.universal_sets import (
    NORMAL,
    DataAtNodes,
    UniversalSets,
    read_sets,
    write_geometry,
    write_mode,
)
from dalembert.files.tables.universal import DIRECTIONS
from dalembert.linear.modes import Modes

_LABEL = re.compile(r"(?P<node>\d{1,9})(?P<sign>[+-])(?P<axis>R?[XYZ])")
_AXES = {name[1:]: k for k, name in enumerate(DIRECTIONS[1:])}
_NAMES = "names:"  # before the names of coordinates in the lines of text
_WIDTH = 80
_CONJUGATE = 1e-4  # relative distance of an eigenvalue from the conjugate of another: numbers have six digits


def read(path: Path, max_bytes: int) -> Modes:
    """Modes of the sets 55 of a file."""
    sets = read_sets(path, max_bytes)
    if not sets.modes:
        kinds = ", ".join(sorted(sets.kinds)) or "none"
        analyses = f" (analyses {', '.join(map(str, sorted(sets.others)))})" if sets.others else ""
        raise FileFormatError(
            "not-modes", f"the file has no modes (set 55 of analysis 2, 3 or 7); its sets: {kinds}{analyses}.",
            Advice("Read time series and frequency responses by {}.", Call("da.read_record"),
                   Call("dalembert.files.read_frequency_response")),
        )  # fmt: skip
    return to_modes(_values(sets))


def _values(found: UniversalSets) -> ModalValues:
    modes = _without_conjugates(found.modes)
    nodes, width = list(modes[0].values), len(next(iter(modes[0].values.values()), ()))
    FileFormatError.when(not nodes, "empty", "a mode has no node.", line=modes[0].line)
    for item in modes:
        odd = min(set(item.values) ^ set(nodes), default=None)
        problem = f"node {odd} is not in every mode."
        FileFormatError.when(odd is not None, "channel-mismatch", problem, line=item.line)
        differ = any(len(row) != width for row in item.values.values())
        FileFormatError.when(differ, "channel-mismatch", "modes differ in their values per node.", line=item.line)
    table = np.array([[mode.values[node] for node in nodes] for mode in modes]).reshape(len(modes), -1).T
    written = _own_names(modes[0].texts) if width == 1 else None
    if written is not None and len(written) == len(nodes):
        names = written
    else:
        names = [f"{node}{DIRECTIONS[k + 1] if width > 1 else ''}" for node in nodes for k in range(width)]
    moves = np.abs(table).max(axis=1) > 0.0 if width > 1 else np.ones(len(names), dtype=bool)
    FileFormatError.when(not moves.any(), "no-motion", "all values of all modes are 0.", line=modes[0].line)
    notes = [f"{int((~moves).sum())} directions are 0 in every mode and left out"] if not moves.all() else []
    reals = [mode.reals for mode in modes]
    frequency, damping, mass, eigenvalues = _numbers(modes)
    shapes: Any = table[moves]
    if not any(mode.is_complex for mode in modes):
        shapes = shapes.real
    if any(len(row) > 3 and mode.analysis in NORMAL and row[3] and not row[2] for mode, row in zip(modes, reals)):
        notes.append("hysteretic damping was taken as twice the damping ratio")
    return ModalValues(
        frequency, shapes, [name for name, moving in zip(names, moves, strict=True) if moving], damping, mass,
        eigenvalues=eigenvalues, notes=notes, place=lambda mode, quantity: modes[mode].line + 8,
        provenance={"nodes": {str(node): list(place) for node, place in found.nodes.items()}} if found.nodes else {},
    )  # fmt: skip


def _numbers(modes: list[DataAtNodes]) -> tuple[Any, Any, Any, Any]:
    """Frequencies [Hz], damping ratios, modal masses, and eigenvalues where modes are complex."""
    frequency, damping, mass, eigenvalues = [], [], [], []
    for mode in modes:
        if mode.analysis in NORMAL:
            f, m, viscous, hysteretic = (*mode.reals, 0.0, 0.0, 0.0)[:4]
            z = viscous or hysteretic / 2.0
            s = 2.0 * np.pi * f * complex(-z, np.sqrt(max(1.0 - z * z, 0.0)))
        else:
            s, m = complex(*mode.reals[:2]), 0.0
            f = abs(s) / (2.0 * np.pi)
            z = -s.real / abs(s) if s else 0.0
        frequency.append(f)
        damping.append(z)
        mass.append(m)
        eigenvalues.append(s)
    is_complex = any(mode.analysis not in NORMAL for mode in modes)
    return np.array(frequency), np.array(damping), np.array(mass), np.array(eigenvalues) if is_complex else None


def _without_conjugates(modes: list[DataAtNodes]) -> list[DataAtNodes]:
    """Modes with Im s ≥ 0: of a pair one is left out, a single one is conjugated."""
    upper = []
    for mode in modes:
        if mode.analysis in NORMAL or mode.reals[1] >= 0.0:
            upper.append(mode)
            continue
        s = complex(*mode.reals[:2])
        if not any(
            abs(complex(*second.reals[:2]) - s.conjugate()) <= _CONJUGATE * abs(s)
            for second in modes
            if second.analysis not in NORMAL
        ):
            values = {node: tuple(x.conjugate() for x in row) for node, row in mode.values.items()}
            reals = (mode.reals[0], -mode.reals[1], *mode.reals[2:])
            upper.append(DataAtNodes(mode.line, mode.texts, mode.analysis, reals, mode.number, values, mode.is_complex))
    return upper


def _own_names(texts: tuple[str, ...]) -> list[str] | None:
    lines = [text.removeprefix(_NAMES) for text in texts if text.startswith(_NAMES)]
    return [name for line in lines for name in line.split()] or None


def write(modes: Modes, path: Path, geometry: Geometry | None) -> None:
    """A set 55 per mode, after nodes and lines of the geometry."""
    places, width, names = _places(modes, geometry)
    complex_ = bool(np.iscomplexobj(modes.shapes))
    texts = _texts(names) if names else ("modes", *["NONE"] * 4)
    nodes = list(dict.fromkeys(node for node, _, _ in places))
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        if geometry is not None:
            _write_nodes(file, geometry)
        for k in range(len(modes)):
            rows = {node: [0j] * width for node in nodes}
            for (node, axis, sign), value in zip(places, modes.shapes[:, k], strict=True):
                rows[node][axis] = complex(sign * value)
            s, mass = modes.eigenvalues[k], modes.modal_masses[k] if modes.has_masses else 0.0
            reals: tuple[float, ...] = (modes.frequencies_hz[k], mass, modes.damping_ratios[k], 0.0)
            if complex_:
                reals = (s.real, s.imag, 0.0, 0.0, 0.0, 0.0)
            values = {node: tuple(row) for node, row in rows.items()}
            write_mode(file, DataAtNodes(0, texts, 3 if complex_ else 2, reals, k + 1, values, complex_))


def _places(modes: Modes, geometry: Geometry | None) -> tuple[list[tuple[int, int, float]], int, tuple[str, ...]]:
    """Node, direction and sign of every coordinate, values per node, and names for the lines of text."""
    if geometry is not None:
        numbers = _node_numbers(geometry)
        places = []
        matched, _ = geometry.match(modes.coordinates)
        for name in modes.coordinates:
            require_name("place", name, matched, "the geometry", error=FileFormatError)
            place = matched[name]
            if len(place) != 4:
                raise FileFormatError("missing-argument", f"place {name!r:.80} has no direction.")
            vector = direction_vector(place[3])
            axes = [k for k in range(3) if vector[k]]
            if len(axes) != 1:
                problem = f"{name!r:.80} measures along {place[3]}: a universal file has directions x, y and z only."
                raise FileFormatError("unknown-choice", problem, Advice("Write .json or .csv."))
            places.append((numbers[place[:3]], axes[0], vector[axes[0]]))
        _refuse_twice(places, modes)
        return places, 3, ()
    labels = [_LABEL.fullmatch(name) for name in modes.coordinates]
    if all(labels):
        places = [
            (int(match["node"]), _AXES[match["axis"]], -1.0 if match["sign"] == "-" else 1.0)
            for match in labels
            if match
        ]
        _refuse_twice(places, modes)
        return places, 6 if any(axis > 2 for _, axis, _ in places) else 3, ()
    return [(k + 1, 0, 1.0) for k in range(len(modes.coordinates))], 1, modes.coordinates


def _refuse_twice(found: list[tuple[int, int, float]], modes: Modes) -> None:
    numbers_by_name: dict[tuple[int, int], str] = {}
    for (node, axis, _), name in zip(found, modes.coordinates, strict=True):
        first = numbers_by_name.setdefault((node, axis), name)
        problem = f"{first!r:.80} and {name!r:.80} are one direction of node {node}."
        FileFormatError.when(first is not name, "duplicate", problem)


def _texts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Five lines of text with the names, where they fit; else the nodes are the names."""
    lines: list[str] = [_NAMES]
    for name in names:
        if " " in name or not name.isascii() or len(name) > _WIDTH - len(_NAMES) - 1:
            return ("modes", *["NONE"] * 4)
        if len(lines[-1]) + 1 + len(name) > _WIDTH:
            lines.append(_NAMES)
        lines[-1] += f" {name}"
    return ("modes", *lines, *["NONE"] * (4 - len(lines))) if len(lines) <= 4 else ("modes", *["NONE"] * 4)


def _node_numbers(geometry: Geometry) -> dict[tuple[Any, ...], int]:
    """Number of a node by its position: the name of its place where that is a number."""
    if all(name.isdecimal() for name in geometry):
        return {place[:3]: int(name) for name, place in geometry.items()}
    positions = dict.fromkeys(place[:3] for place in geometry.values())
    return {position: k + 1 for k, position in enumerate(positions)}


def _write_nodes(file: Any, geometry: Geometry) -> None:
    numbers = _node_numbers(geometry)
    pairs = [(numbers[geometry[a][:3]], numbers[geometry[b][:3]]) for a, b in geometry.lines or ()]
    write_geometry(file, {node: position for position, node in numbers.items()}, pairs)


MODAL_FORMATS.register("universal", ModalFormat((".uff", ".unv", ".55"), read, write, keeps_geometry=True))
