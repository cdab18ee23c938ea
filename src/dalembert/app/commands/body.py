"""``body``: inspection and conversion of the data of a flexible body."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.model_options import complete
from dalembert.app.command_line.option_values import FIGURES
from dalembert.app.command_line.registry import command

if TYPE_CHECKING:
    from dalembert.model.flexible import FlexibleBodyData

SUFFIXES = (".npz", ".SID_FEM", ".sid", ".toml", ".json", ".pch")  # for the shell, which waits for the names


@command("Model files", position=4)
def body(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Data of a flexible body: .npz, .SID_FEM, .pch, or a file that names matrices.",
            autocompletion=lambda incomplete: complete(incomplete, SUFFIXES),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Write it as .npz or .SID_FEM, a report: .html, or its mode shapes: .png, .svg or .pdf."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Leave out a block of standard input data that contradicts the others, such as Ct."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the data of a flexible body: mass, nodes, modes and checks; write it in another format.

    Example: dalembert body link.SID_FEM --out link.npz

    JSON: {"name", "mass", "center", "reference", "nodes": {name: place}, "gauges": {name: quantity}, "modes":
    [{"frequency_hz", "damping_ratio"}], "checks": [{"what", "value", "expected", "sound"}], "files"}.
    """
    from dalembert.files.bodies.bodies import read_flexible_body, write_flexible_body
    from dalembert.files.bodies.format import suffixes

    written = suffixes(written=True)
    option_values.writable(out, "--out", *written, ".html", *FIGURES)
    data = read_flexible_body(file, without=without or ())
    if out is not None:
        if out.suffix.lower() in written:
            write_flexible_body(data, out)
        else:
            from dalembert.view import plot, report

            report(data, out) if out.suffix.lower() == ".html" else plot(data, path=out)
        terminal.report_written(out)
    modes, checks = _modes(data), data.check()
    if as_json:
        terminal.give({
            "name": data.name, "mass": data.mass, "center": data.center, "reference": data.reference,
            "nodes": {node.name: node.place for node in data.nodes},
            "gauges": {gauge.name: gauge.quantity for gauge in data.gauges},
            "modes": [{"frequency_hz": f, "damping_ratio": z} for f, z in modes],
            "checks": [
                {"what": row.what, "value": row.value, "expected": row.expected, "sound": row.sound}
                for row in checks.rows
            ],
            "files": [] if out is None else [out],
        })  # fmt: skip
        return
    where = ", ".join(f"{c:.5g}" for c in data.center)
    terminal.show(f"{data.name}: {data.mass:.6g} kg, centre at ({where}) m, frame: {data.reference}")
    nodes = [(node.name, *(f"{c:.5g}" for c in node.place)) for node in data.nodes]
    terminal.show_table("Nodes", ("node", "x [m]", "y [m]", "z [m]"), nodes, left=(0,))
    rows = [(str(k + 1), f"{f:.5g}", f"{z:.4g}") for k, (f, z) in enumerate(modes)]
    terminal.show_table("Modes with the frame held", ("mode", "frequency [Hz]", "damping ratio"), rows)
    judged = [(row.what, row.value, row.expected, "yes" if row.sound else "NO") for row in checks.rows]
    terminal.show_table("Checks", ("what", "value", "expected", "sound"), judged, left=(0,))


def _modes(data: FlexibleBodyData) -> list[tuple[float, float]]:
    """Frequency [Hz] and damping ratio of every mode."""
    import numpy as np
    from scipy.linalg import eigh

    squares, shapes = eigh(data.stiffness, data.modal_mass)
    w = np.sqrt(np.maximum(squares, 0.0))
    rates: Any = np.einsum("ik,ij,jk->k", shapes, data.damping, shapes)
    ratios = np.divide(rates, 2 * w, out=np.zeros_like(w), where=w > 0.0)
    return [(float(f), float(z)) for f, z in zip(w / (2 * np.pi), ratios, strict=True)]
