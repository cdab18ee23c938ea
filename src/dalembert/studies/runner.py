"""Run a study and write its results: results.json, figures, an animation, and a report to read.

A study is one file in a folder of its subject, with a function ``study() -> Outcome``, or ``study(data=None)`` where it
takes a record of measurements; its line in :data:`STUDIES` makes it known. Its steps are in ``STEPS``, each with its
approximate seconds; ``progress.step(name)`` marks the beginning of one.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.atomic_files import replace_file, write_text
from dalembert.core.errors import DalembertError, DataError, unknown_name
from dalembert.core.progress import Setting, Steps, step
from dalembert.equations import EquationsOfMotion
from dalembert.identify.model.identified import Identified
from dalembert.model import Mechanism
from dalembert.view.reports.identification.identification_report import identified_summary
from dalembert.view.reports.machine_tables import bodies_table, model_summary
from dalembert.view.reports.origin import HASH, model_hash, versions
from dalembert.view.reports.pages import Heading, Moving, Picture, Piece, Text, html_page, png

REPORT, REPORT_SECONDS = "report", 4.0

# name on the command line -> (module below this folder, subject)
STUDIES: dict[str, tuple[str, str]] = {
    "three-storey": ("three_storey.three_storey", "A three-storey building from drawing to data to control: the demo."),
    "shake-table": (
        "identification.shake_table",
        "Modes and a stick model of a real three-storey building shaken by an earthquake.",
    ),
    "robot-arm": (
        "identification.robot_arm",
        "A model of a real flexible robot arm from its motor torque and tip acceleration.",
    ),
    "slider-crank-forces": (
        "estimation.slider_crank_forces",
        "The unknown force on the slider of a slider-crank: two-stage observer against a well-tuned single one.",
    ),
    "excavator": (
        "estimation.excavator",
        "Digging force and payload of an excavator arm from motion and cylinder forces.",
    ),
    "slider-crank-observer": (
        "estimation.slider_crank_observer",
        "Speed and acceleration of a crank from joints, an encoder and an accelerometer, through dead points.",
    ),
    "two-link-observer": (
        "estimation.two_link_observer",
        "Joint speeds and accelerations of a two-link arm from encoders and accelerometers on its links.",
    ),
    "flexible-pendulum": ("flexible.flexible_pendulum", "A thin elastic beam on a hinge falls from the horizontal."),
    "elastic-slider-crank": (
        "flexible.elastic_slider_crank",
        "A slider-crank whose crank and connecting rod bend: deflection of the rod and motion of the slider.",
    ),
    "spin-up": (
        "flexible.spin_up",
        "A long beam is spun up: geometric stiffening, by a term of the body and by cutting it into pieces.",
    ),
    "tudor": (
        "flexible.tudor",
        "An arm with flexible links: frequencies by payload, holding torques, strains, replay of measured angles.",
    ),
    "tudor-manifold": (
        "flexible.tudor_manifold",
        "Slow and fast models of an arm with flexible links: orders of the integral manifold, fast modes, strains.",
    ),
    "tudor-control": (
        "flexible.tudor_control",
        "Slow control of an arm with flexible links: computed torque, its correction for sag, cascaded joint loops.",
    ),
    "robust-arm": (
        "flexible.robust_arm",
        "Fast control of an arm with elastic links in every pose: fixed structures against nominal designs.",
    ),
    "two-link-plates": (
        "flexible.two_link_plates",
        "An arm of two thin plates: its tip in the plane and normal to it by slow and fast models.",
    ),
    "bar-horn": (
        "flexible.bar_horn",
        "Interior modes of ultrasonic horns: ranked for two modes, and by energy under a force near resonance.",
    ),
    "vibratory-feeder": (
        "flexible.vibratory_feeder",
        "A vibratory feeder driven by two harmonics: sizes of its reduced model by six rankings of interior modes.",
    ),
    "flexible-manipulator": (
        "manipulator.flexible_manipulator",
        "A manipulator of five slender links: frequencies about rigid links, a reduced model that follows the pose.",
    ),
    "flexible-robot": (
        "flexible.flexible_robot",
        "A robot arm with two flexible links: reach in spite of sag, compliance, motions shaped against vibration.",
    ),
    "quick-return": (
        "symbolic.quick_return",
        "Whitworth's quick return: the torque that turns its crank at a steady speed.",
    ),
    "three-rrr": (
        "symbolic.three_rrr",
        "A planar robot on three legs: the torques that move its platform along a path.",
    ),
    "reach": ("machines.reach", "A redundant arm follows a path through a nearly singular pose within its limits."),
    "nine-ways": ("symbolic.nine_ways", "Eight systems by nine formalisms of analytical mechanics, and as machines."),
    "tricycle": ("symbolic.tricycle", "Stability of a tilting tricycle over its speed, from linearized parts."),
    "arm-identification": (
        "identification.arm_identification",
        "Masses, friction and motor inertia of a six-joint arm from its motion and torques, on a designed motion.",
    ),
    "monte-carlo": (
        "machines.monte_carlo",
        "Tolerances of a crank-rocker: what scattering lengths and masses do to its motor.",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """Result of a study.

    Attributes
    ----------
    title : str
    results : mapping
        Numbers, texts, lists and mappings of them; arrays and NumPy numbers are taken as lists and numbers.
    pieces : contents of the report
        From `view.reports.pages`; the first is a paragraph of the findings. Every ``Picture`` and every
        ``Moving`` is written as a file of its own too.
    provenance : mapping
        Seeds, data with their origin; the runner adds the hash of the model, versions and time.
    moving : animations, or a Text with the reason why there is none
        Shown after the first paragraph.
    model : the machine with its equations, or the identified model
        Shown in a table after the animations, and by its hash.
    """

    title: str
    results: Mapping[str, Any]
    pieces: Sequence[Piece]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    moving: Sequence[Moving | Text] = ()
    model: tuple[Mechanism, EquationsOfMotion] | Identified | None = None

    def page(self) -> list[Piece]:
        """Contents of the page: findings, animations, the model, then the rest."""
        first, rest = list(self.pieces[:1]), list(self.pieces[1:])
        if self.moving:
            first += [Heading("How it moves"), *self.moving]
        if isinstance(self.model, Identified):
            first += [Heading("The model"), identified_summary(self.model, "")]
        elif self.model is not None:
            first += [Heading("The model"), model_summary(*self.model, ""), bodies_table(*self.model)]
        if len(first) > 1 and rest and not isinstance(rest[0], Heading):
            first.append(Heading("What was found"))
        return first + rest

    def origin(self) -> dict[str, Any]:
        """Provenance with the hash of the model."""
        own = dict(self.provenance)
        if self.model is not None:
            own[HASH] = model_hash(self.model if isinstance(self.model, Identified) else self.model[1])
        return own


@dataclass(frozen=True)
class Written:
    """Result of a run of a study: its outcome and its files."""

    name: str
    outcome: Outcome
    files: tuple[Path, ...]


def names() -> tuple[str, ...]:
    """Names of the studies."""
    return tuple(STUDIES)


def summary(outcome: Outcome) -> str:
    """Findings: the first paragraph of the report, without its markup."""
    first = outcome.pieces[0] if outcome.pieces else None
    return first.text if isinstance(first, Text) else ""


def run(
    name: str, out: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None, progress: Setting = None
) -> Written:
    """Run a study and write ``results.json``, ``report.html``, its figures and animations into a folder, each file
    whole or not at all.

    Parameters
    ----------
    name : one of :func:`names`
    out : folder; made where it does not exist
    data : file of measurements in place of those of the study, where it takes them
    progress : None: a bar with the step that runs and the time left, on a terminal; True: always; False: never; or a
        function of the fraction
    """
    if name not in STUDIES:
        raise DataError("unknown-name", unknown_name("study", name, list(STUDIES)))
    begin = time.perf_counter()
    module = importlib.import_module(f"dalembert.studies.{STUDIES[name][0]}")
    if data is not None and "data" not in inspect.signature(module.study).parameters:
        raise DataError("ineffective-argument", f"the study {name!r} takes no data.")
    plan = {**getattr(module, "STEPS", {}), REPORT: REPORT_SECONDS}
    with Steps(progress, f"study {name}", plan):
        outcome: Outcome = module.study() if data is None else module.study(data=data)
        step(REPORT)
        provenance = {**outcome.origin(), **versions(), "seconds": round(time.perf_counter() - begin, 2)}
        return Written(name, outcome, _write(outcome, provenance, Path(out)))


def _write(outcome: Outcome, provenance: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    # results that cannot be written raise here, before any file is written
    text = json.dumps(plain({**outcome.results, "provenance": provenance}, "results"), indent=1, allow_nan=False)
    pieces = outcome.page()
    page = html_page(outcome.title, pieces, provenance)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for piece in pieces:
        if isinstance(piece, Picture):
            files.append(folder / f"{piece.name}.png")
            with replace_file(files[-1]) as temporary:
                temporary.write_bytes(png(piece.figure))
        elif isinstance(piece, Moving):
            try:
                files.append(piece.animation.save(folder / f"{piece.name}.html"))
            except DalembertError:  # the page cannot be bundled here; the report has the reason
                continue
    files += [folder / "report.html", folder / "results.json"]
    write_text(files[-2], page)
    write_text(files[-1], text + "\n")
    return tuple(files)


def rms(values: FloatArray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def plain(value: object, where: str = "results") -> Any:
    """Nested plain values for JSON; a number that is not finite is refused by its place.

    Examples
    --------
    >>> plain({"f": np.array([1.0, 2.0]), "order": np.int64(6)})
    {'f': [1.0, 2.0], 'order': 6}
    >>> plain({"modes": [{"damping": float("nan")}]})
    Traceback (most recent call last):
        ...
    dalembert.core.errors.DataError: results.modes[0].damping is nan; a study reports finite numbers only.
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
        raise DataError("not-finite", f"{where} is {value}; a study reports finite numbers only.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(
        "wrong-type",
        f"{where} is a {type(value).__name__}; a study reports numbers, texts, lists and mappings of them.",
    )
