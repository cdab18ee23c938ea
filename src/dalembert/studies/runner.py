"""Runs a study and writes what it found: results.json, figures, and a report to read.

A study is one file of this folder with a function ``study() -> Outcome``; its line in :data:`STUDIES` makes it known.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DataError, unknown_name
from dalembert.files.atomic import replacing, write_text
from dalembert.view.origin import versions
from dalembert.view.pages import Picture, Piece, html_page, png

# name on the command line -> (module of this folder, what it is about)
STUDIES: dict[str, tuple[str, str]] = {
    "three-storey": ("three_storey", "A three-storey building from drawing to data to control: the demo."),
    "shake-table": ("shake_table", "Modes and a stick model of a real three-storey building shaken by an earthquake."),
    "robot-arm": ("robot_arm", "A model of a real flexible robot arm from its motor torque and tip acceleration."),
    "slider-crank-forces": (
        "slider_crank_forces",
        "The unknown force on the slider of a slider-crank: two-stage observer against a well-tuned single one.",
    ),
    "excavator": ("excavator", "Digging force and payload of an excavator arm from motion and cylinder forces."),
    "slider-crank-observer": (
        "slider_crank_observer",
        "Speed and acceleration of a crank from joints, an encoder and an accelerometer, through dead points.",
    ),
    "two-link-observer": (
        "two_link_observer",
        "Joint speeds and accelerations of a two-link arm from encoders and accelerometers on its links.",
    ),
    "monte-carlo": ("monte_carlo", "Tolerances of a crank-rocker: what scattering lengths and masses do to its motor."),
}


@dataclass(frozen=True)
class Outcome:
    """What a study returns.

    Attributes
    ----------
    title : str
    results : mapping
        Numbers, texts, lists and mappings of them; arrays and NumPy numbers are taken as lists and numbers.
    pieces : what the report shows
        From :mod:`dalembert.view.pages`; every ``Picture`` is written as a file of its own too.
    provenance : mapping
        Seeds, data with their origin; the runner adds versions and time.
    """

    title: str
    results: Mapping[str, Any]
    pieces: Sequence[Piece]
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """What a run of a study left: its outcome and its files."""

    name: str
    outcome: Outcome
    files: tuple[Path, ...]


def names() -> tuple[str, ...]:
    """Names of the studies."""
    return tuple(STUDIES)


def run(name: str, out: str | os.PathLike[str]) -> Written:
    """Run a study and write ``results.json``, ``report.html`` and its figures into a folder, each file whole or not
    at all.

    Parameters
    ----------
    name : one of :func:`names`
    out : folder; made where it does not exist
    """
    if name not in STUDIES:
        raise DataError(unknown_name("study", name, list(STUDIES)))
    begin = time.perf_counter()
    outcome: Outcome = importlib.import_module(f"dalembert.studies.{STUDIES[name][0]}").study()
    provenance = {**outcome.provenance, **versions(), "seconds": round(time.perf_counter() - begin, 2)}
    # what cannot be written is told before anything is
    text = json.dumps(plain({**outcome.results, "provenance": provenance}, "results"), indent=1, allow_nan=False)
    page = html_page(outcome.title, outcome.pieces, provenance)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for piece in outcome.pieces:
        if isinstance(piece, Picture):
            files.append(folder / f"{piece.name}.png")
            with replacing(files[-1]) as fresh:
                fresh.write_bytes(png(piece.figure))
    files += [folder / "report.html", folder / "results.json"]
    write_text(files[-2], page)
    write_text(files[-1], text + "\n")
    return Written(name, outcome, tuple(files))


def plain(value: Any, where: str = "results") -> Any:
    """Nested plain values for JSON; a number that is not finite is refused by its place.

    Examples
    --------
    >>> plain({"f": np.array([1.0, 2.0]), "order": np.int64(6)})
    {'f': [1.0, 2.0], 'order': 6}
    >>> plain({"modes": [{"damping": float("nan")}]})
    Traceback (most recent call last):
        ...
    dalembert.errors.DataError: results.modes[0].damping is nan; a study reports finite numbers only.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one, f"{where}.{key}") for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, f"{where}[{i}]") for i, one in enumerate(value)]
    if isinstance(value, complex):
        return {"real": plain(value.real, where), "imag": plain(value.imag, where)}
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where} is {value}; a study reports finite numbers only.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"{where} is a {type(value).__name__}; a study reports numbers, texts, lists and mappings of them.")
