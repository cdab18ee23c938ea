"""``modes``: natural frequencies, damping and shapes of small motions, or of a file, compared with measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.model_options import Model, Set
from dalembert.app.command_line.operating_point import From, Guess, Held, Hold, Rates, linear_model, rest
from dalembert.app.command_line.option_values import FIGURES
from dalembert.app.command_line.record_options import Places, mode_rows, plain_modes
from dalembert.app.command_line.registry import command

if TYPE_CHECKING:
    from dalembert.linear.modes import Modes


@command("Machines", position=5)
def modes(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measured modes to compare with: .csv, .json or .uff.")
    ] = None,
    matched: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="MEASURED=NAME",
            help="Coordinate or sensor of the model that was measured under another name; -NAME for the opposite "
            "direction; repeatable.",
        ),
    ] = None,
    places: Places = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the shapes: .html, where they move, or a figure: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Natural frequencies, damping and shapes of small motions about the equilibrium or a steady motion.

    MODEL may also be a file of modes: measured ones, or output of `dalembert identify`. With --compare, modes of the
    file are paired with those of MODEL, and --out draws the modal assurance criterion.

    Example: dalembert modes bicycle --rate "rear.angle=16.7 rad/s" --out shapes.png

    JSON: {"model", "coordinates", "modes": [{"frequency_hz", "damping_ratio", "eigenvalue", "shape"}], "files"}; with
    --compare {"model", "measured", "coordinates", "pairs": [{"frequency_hz", "partner", "partner_frequency_hz",
    "error_percent", "mac"}], "mac", "comac", "files"}.
    """
    option_values.writable(out, "--out", *([] if compare else [".html"]), *FIGURES)
    names = option_values.pairs(matched, "--map")
    option_values.refuse((names and compare is None, "--map", "names are matched for --compare: give it too."))
    operating = {
        "--set": changes,
        "--start": start,
        "--guess": guess,
        "--hold": hold,
        "--input": inputs,
        "--rate": rates,
    }
    of_file = _read_file(model, operating)
    problem = "places belong to a file of modes; a machine has its drawing."
    option_values.refuse((places is not None and of_file is None, "--places", problem))
    machine = at = None
    title = Path(model).name
    if of_file is not None:
        modes_read = of_file
    else:
        machine = load(model, changes)
        at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
        system = linear_model(machine, at, held)
        modes_read, title = system.modes(), machine.mechanism.name
        if compare is not None:
            from dalembert.linear import SecondOrder, modes_at_outputs

            modes_read = modes_at_outputs(system, modes_read) if isinstance(system, SecondOrder) else modes_read
    if compare is not None:
        _compare(modes_read, title, compare, names, out, as_json)
        return
    if out is not None:
        _draw(modes_read, title, at, places, out)
    if as_json:
        document = {"model": title, "coordinates": modes_read.coordinates, "modes": plain_modes(modes_read)}
        terminal.give({**document, "files": [] if out is None else [out]})
        return
    if of_file is not None:
        terminal.show_table(f"{title}: modes at {', '.join(modes_read.coordinates[:12])}", *mode_rows(modes_read))
        return
    table = [line.split(maxsplit=4) for line in modes_read.table().splitlines()[1:]]
    head = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [rad/s]", "motion")
    about = "steady motion" if rates else "equilibrium"
    terminal.show_table(f"{title}: modes about the {about}", head, table, left=(4,))


def _read_file(model: str, options: dict[str, list[str] | None]) -> Modes | None:
    """Modes of a file; None where the model is a machine."""
    from dalembert.files.modal.format import modal_suffixes
    from dalembert.files.modal.recognition import holds_modes
    from dalembert.files.models.format import model_suffixes

    path = Path(model)
    only_modes = {*modal_suffixes()} - {*model_suffixes()}
    if not path.is_file() or not (path.suffix.lower() in only_modes or holds_modes(path)):
        return None
    option_values.refuse(*((value, key, "a file of modes has no operating point.") for key, value in options.items()))
    return _read(path)


def _read(path: Path) -> Modes:
    from dalembert.files.modal.modes import read_modes

    modes = read_modes(path)
    for note in modes.provenance.get("notes", ()):
        terminal.say(f"{path.name}: {note}")
    return modes


def _draw(found: Modes, title: str, at: Any, places: Path | None, out: Path) -> None:
    from dalembert.view import animate, plot

    if out.suffix.lower() != ".html":
        plot(found, path=out, title=f"{title}: mode shapes")
    elif at is not None:
        animate(found, out, structure=at)
    else:
        from dalembert.files.modal.geometry import read_geometry
        from dalembert.view.animation.shape_scene import read_places, shape_animation

        if places is None:
            raise typer.BadParameter("a page needs the places of the coordinates: give them.", param_hint="--places")
        spots = read_places(read_geometry(places), found.coordinates)
        shape_animation(found, spots, name=title).save(out)
    terminal.report_written(out)


def _compare(found: Modes, title: str, measured: Path, names: dict[str, str], out: Path | None, as_json: bool) -> None:
    """Pairs of measured modes and those of the model."""
    from dalembert.structures import correlate

    reference = _read(measured)
    wanted = {name: names.get(name, name) for name in reference.coordinates} | names if names else None
    result = correlate(reference, found, coordinates=wanted)
    if out is not None:
        from dalembert.view import plot

        plot(result, path=out, title=f"{measured.name} and {title}")
        terminal.report_written(out)
    hertz = result.frequencies / 6.283185307179586, result.partner_frequencies / 6.283185307179586
    if as_json:
        pairs = [
            {
                "frequency_hz": hertz[0][k], "partner": int(result.partners[k]) or None,
                "partner_frequency_hz": hertz[1][k], "error_percent": result.frequency_errors[k], "mac": result.mac[k],
            }
            for k in range(len(result))
        ]  # fmt: skip
        terminal.give({
            "model": title, "measured": measured.name, "coordinates": result.coordinates, "pairs": pairs,
            "mac": result.mac_matrix, "comac": result.comac, "files": [] if out is None else [out],
        })  # fmt: skip
        return
    rows = [
        (str(k + 1), f"{hertz[0][k]:.5g}", *(
            (str(result.partners[k]), f"{hertz[1][k]:.5g}", f"{result.frequency_errors[k]:.3g}", f"{result.mac[k]:.4f}")
            if result.partners[k] else ("-", "-", "-", "-")))
        for k in range(len(result))
    ]  # fmt: skip
    head = ("mode", "measured [Hz]", "partner", "model [Hz]", "error [%]", "MAC")
    terminal.show_table(f"{measured.name} and {title}", head, rows)
    shown = [(name, f"{value:.4f}") for name, value in zip(result.coordinates, result.comac, strict=True)]
    terminal.show_table("by coordinate", ("coordinate", "COMAC"), shown)
