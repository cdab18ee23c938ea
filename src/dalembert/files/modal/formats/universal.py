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
    found = read_sets(path, max_bytes)
    if not found.modes:
        kinds = ", ".join(sorted(found.kinds)) or "none"
        analyses = f" (analyses {', '.join(map(str, sorted(found.others)))})" if found.others else ""
        raise FileFormatError(
            "not-modes", f"the file has no modes (set 55 of analysis 2, 3 or 7); its sets: {kinds}{analyses}.",
            Advice("Read time series and frequency responses by {}.", Call("da.read_record"),
                   Call("dalembert.files.read_frequency_response")),
        )  # fmt: skip
    return to_modes(_values(found))


def _values(found: UniversalSets) -> ModalValues:
    modes = _without_conjugates(found.modes)
    nodes, width = list(modes[0].values), len(next(iter(modes[0].values.values()), ()))
    if not nodes:
        raise FileFormatError("empty", "a mode has no node.", line=modes[0].line)
    for one in modes:
        if list(one.values) != nodes and set(one.values) != set(nodes):
            odd = sorted(set(one.values) ^ set(nodes))[0]
            raise FileFormatError("channel-mismatch", f"node {odd} is not in every mode.", line=one.line)
        if any(len(row) != width for row in one.values.values()):
            raise FileFormatError("channel-mismatch", "modes differ in their values per node.", line=one.line)
    table = np.array([[one.values[node] for node in nodes] for one in modes]).reshape(len(modes), -1).T
    own = _own_names(modes[0].texts) if width == 1 else None
    if own is not None and len(own) == len(nodes):
        names = own
    else:
        names = [f"{node}{DIRECTIONS[k + 1] if width > 1 else ''}" for node in nodes for k in range(width)]
    moves = np.abs(table).max(axis=1) > 0.0 if width > 1 else np.ones(len(names), dtype=bool)
    if not moves.any():
        raise FileFormatError("no-motion", "all values of all modes are 0.", line=modes[0].line)
    notes = [f"{int((~moves).sum())} directions are 0 in every mode and left out"] if not moves.all() else []
    reals = [one.reals for one in modes]
    frequency, damping, mass, eigenvalues = _numbers(modes)
    shapes: Any = table[moves]
    if not any(one.is_complex for one in modes):
        shapes = shapes.real
    if any(len(row) > 3 and one.analysis in NORMAL and row[3] and not row[2] for one, row in zip(modes, reals)):
        notes.append("hysteretic damping was taken as twice the damping ratio")
    return ModalValues(
        frequency, shapes, [name for name, moving in zip(names, moves, strict=True) if moving], damping, mass,
        eigenvalues=eigenvalues, notes=notes, place=lambda mode, quantity: modes[mode].line + 8,
        provenance={"nodes": {str(node): list(place) for node, place in found.nodes.items()}} if found.nodes else {},
    )  # fmt: skip


def _numbers(modes: list[DataAtNodes]) -> tuple[Any, Any, Any, Any]:
    """Frequencies [Hz], damping ratios, modal masses, and eigenvalues where modes are complex."""
    frequency, damping, mass, eigenvalues = [], [], [], []
    for one in modes:
        if one.analysis in NORMAL:
            f, m, viscous, hysteretic = (*one.reals, 0.0, 0.0, 0.0)[:4]
            z = viscous or hysteretic / 2.0
            s = 2.0 * np.pi * f * complex(-z, np.sqrt(max(1.0 - z * z, 0.0)))
        else:
            s, m = complex(*one.reals[:2]), 0.0
            f = abs(s) / (2.0 * np.pi)
            z = -s.real / abs(s) if s else 0.0
        frequency.append(f)
        damping.append(z)
        mass.append(m)
        eigenvalues.append(s)
    is_complex = any(one.analysis not in NORMAL for one in modes)
    return np.array(frequency), np.array(damping), np.array(mass), np.array(eigenvalues) if is_complex else None


def _without_conjugates(modes: list[DataAtNodes]) -> list[DataAtNodes]:
    """Modes with Im s ≥ 0: of a pair one is left out, a single one is conjugated."""
    kept = []
    for one in modes:
        if one.analysis in NORMAL or one.reals[1] >= 0.0:
            kept.append(one)
            continue
        s = complex(*one.reals[:2])
        if not any(
            abs(complex(*other.reals[:2]) - s.conjugate()) <= _CONJUGATE * abs(s)
            for other in modes
            if other.analysis not in NORMAL
        ):
            values = {node: tuple(x.conjugate() for x in row) for node, row in one.values.items()}
            reals = (one.reals[0], -one.reals[1], *one.reals[2:])
            kept.append(DataAtNodes(one.line, one.texts, one.analysis, reals, one.number, values, one.is_complex))
    return kept


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
        found = []
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
            found.append((numbers[place[:3]], axes[0], vector[axes[0]]))
        _refuse_twice(found, modes)
        return found, 3, ()
    labels = [_LABEL.fullmatch(name) for name in modes.coordinates]
    if all(labels):
        found = [(int(one["node"]), _AXES[one["axis"]], -1.0 if one["sign"] == "-" else 1.0) for one in labels if one]
        _refuse_twice(found, modes)
        return found, 6 if any(axis > 2 for _, axis, _ in found) else 3, ()
    return [(k + 1, 0, 1.0) for k in range(len(modes.coordinates))], 1, modes.coordinates


def _refuse_twice(found: list[tuple[int, int, float]], modes: Modes) -> None:
    seen: dict[tuple[int, int], str] = {}
    for (node, axis, _), name in zip(found, modes.coordinates, strict=True):
        if (node, axis) in seen:
            problem = f"{seen[node, axis]!r:.80} and {name!r:.80} are one direction of node {node}."
            raise FileFormatError("duplicate", problem)
        seen[node, axis] = name


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
