"""One page on the data of a flexible body: its modes as pictures, its inertia, its nodes, and its checks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.model.flexible import FlexibleBodyData
from dalembert.view.plots.plot import plot
from dalembert.view.reports import origin
from dalembert.view.reports.pages import Heading, Picture, Piece, Table, Text, write_page

MOST_SHAPES = 8  # mode shapes that are drawn
MOST_MODES = 30  # rows of the table of modes; the rest is folded


def flexible_report(
    data: FlexibleBodyData,
    path: str | os.PathLike[str],
    *,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page on the data of a flexible body.

    Parameters
    ----------
    provenance : further entries at the end
    """
    pieces: list[Piece] = [Text(summarize(data))]
    if data.picture is not None and data.modes:
        shown = list(range(1, min(MOST_SHAPES, data.modes) + 1))
        figure = plot(data, mode=shown, title="")
        pieces += [Heading("Mode shapes"), Picture("modes", figure, "Frame held; dots are nodes, scales differ.")]
    pieces += [Heading("Modes"), *_modes(data), Heading("Inertia"), _inertia(data), Heading("Nodes"), _nodes(data)]
    if data.gauges:
        rows = tuple((gauge.name, gauge.quantity, _largest(gauge.row)) for gauge in data.gauges)
        pieces += [Heading("Gauges"), Table(("gauge", "quantity", "most sensitive to"), rows)]
    pieces += [Heading("Checks"), *_checks(data)]
    origins: dict[str, Any] = {**(provenance or {})}
    if data.finite_elements is not None:
        origins["made of"] = data.finite_elements.source
    origins["data hash (SHA-256)"] = _hash(data)
    words = f"Flexible body {data.name!r}" if title is None else title
    write_page(path, words, pieces, {**origins, **origin.versions()})


def summarize(data: FlexibleBodyData) -> str:
    """The body in a few sentences."""
    tied = {
        "attached": "Its frame is attached to a node, which no mode moves.",
        "mean axis": "Its frame is a mean axis: no mode has momentum.",
    }.get(data.reference, "Its frame is that of the given modes.")
    hertz = data.frequencies_hz if data.modes else np.zeros(0)
    words = f"A body of {data.mass:.5g} kg with {data.modes} modes and {len(data.nodes)} nodes. {tied}"
    if data.modes:
        words += f" With the frame held its modes reach from {hertz[0]:.4g} to {hertz[-1]:.4g} Hz."
    stiffening = data.stiffening
    if stiffening is None:
        return f"{words} Geometric stiffening is not part of the data."
    kinds = [
        name
        for name, there in (
            ("centrifugal loads", stiffening.centrifugal is not None),
            ("acceleration", stiffening.acceleration is not None),
            ("forces and moments at nodes", bool(stiffening.forces)),
        )
        if there
    ]
    return f"{words} Geometric stiffening covers {', '.join(kinds)}."


def _modes(data: FlexibleBodyData) -> list[Piece]:
    hertz, mass = data.frequencies_hz, np.diagonal(data.modal_mass)
    stiffness, damping = np.diagonal(data.stiffness), np.diagonal(data.damping)
    moved = data.translation**2 / np.maximum(mass, 1e-300) / data.mass
    rows = []
    for k in range(data.modes):
        ratio = damping[k] / (2 * np.sqrt(max(stiffness[k] * mass[k], 1e-300)))
        along = [np.sqrt(max(data.products[a, a][k, k], 0.0) / max(mass[k], 1e-300)) for a in range(3)]
        rows.append(
            (f"mode {k + 1}", f"{hertz[k]:.5g}", f"{100 * ratio:.3g}", *(f"{value:.2f}" for value in along),
             *(f"{100 * value:.1f}" for value in moved[:, k]))
        )  # fmt: skip
    head = ("", "frequency [Hz]", "damping [%]", "motion x", "y", "z", "mass moved along x [%]", "y [%]", "z [%]")
    caption = "Motion: root of the share of the modal mass along each axis; the difference to 1 is rotation."
    pieces: list[Piece] = [Table(head, tuple(rows[:MOST_MODES]), caption)]
    if len(rows) > MOST_MODES:
        pieces.append(Table(head, tuple(rows[MOST_MODES:]), folded=f"{len(rows) - MOST_MODES} more modes"))
    return pieces


def _inertia(data: FlexibleBodyData) -> Table:
    rows = (
        ("mass [kg]", f"{data.mass:.6g}", "", ""),
        ("centre of mass [m]", *(f"{value:.6g}" for value in data.center)),
        *((f"inertia, row {way} [kg m²]", *(f"{value:.6g}" for value in row)) for way, row in zip("xyz", data.inertia)),
    )
    return Table(("", "x", "y", "z"), rows, "About the origin of the frame.")


def _nodes(data: FlexibleBodyData) -> Table:
    rows = tuple(
        (node.name, *(f"{value:.5g}" for value in node.place), f"{np.abs(node.translation).max(initial=0.0):.4g}",
         f"{np.abs(node.rotation).max(initial=0.0):.4g}")
        for node in data.nodes
    )  # fmt: skip
    head = ("node", "x [m]", "y [m]", "z [m]", "largest motion by a mode", "largest rotation")
    return Table(head, rows, "Motions by modal coordinates of one.")


def _checks(data: FlexibleBodyData) -> list[Piece]:
    comparison = data.check()
    if not comparison.rows:
        return [Text("There is nothing to compare the data with.")]
    rows = tuple(
        (row.what, row.value, row.expected, f"{row.difference:.1e}", "sound" if row.sound else "BEYOND ITS LIMIT")
        for row in comparison.rows
    )
    verdict = "All comparisons are within their limits." if comparison.sound else comparison.findings[0].text()
    return [Text(verdict), Table(("", "data", "model", "difference", ""), rows)]


def _largest(row: Any) -> str:
    if not np.any(row):
        return "none"
    return f"mode {int(np.argmax(np.abs(row))) + 1}"


def _hash(data: FlexibleBodyData) -> str:
    digest = hashlib.sha256(repr((data.name, data.mass, data.reference)).encode())
    for array in (data.first_moment, data.inertia, data.translation, data.rotation, data.modal_mass, data.moments,
                  data.products, data.stiffness, data.damping):  # fmt: skip
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
