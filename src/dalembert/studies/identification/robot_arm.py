"""A real flexible robot arm: from the torque of its motor to the acceleration of the arm (DaISy).

A model is found from the first half of the record alone, and judged on the second half. The sample time is not
stated with the data, so time is counted in samples and frequencies in cycles per sample.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.progress import step
from dalembert.identify import AutoIdentified, auto
from dalembert.studies.runner import Outcome
from dalembert.view.reports.identification.identification_report import identification_pieces
from dalembert.view.reports.pages import Piece, Text

STEPS = {"identification": 5.0}
ORIGIN = "DaISy, database for the identification of systems (KU Leuven), 96-009: flexible robot arm"


def record() -> da.Record:
    """Reaction torque and acceleration of the arm, 1024 samples; time in samples."""
    with (files("dalembert.studies") / "data" / "robot_arm.csv").open(encoding="utf-8") as file:
        values = np.loadtxt(file, delimiter=",", skiprows=1)
    return da.Record(np.arange(len(values), dtype=float), values, ["torque", "acceleration"], name="robot arm")


def study() -> Outcome:
    """Order, modes and held-out fit."""
    step("identification")
    found = auto(record(), "torque", "acceleration", hold_out=0.5)
    provenance = {"data": ORIGIN, "seeds": "none: nothing is random", "time": "in samples"}
    still = Text("There is no animation: one sensor at one place measures the motion there, not the shape of the arm.")
    return Outcome(
        "Robot arm: a flexible arm from torque and acceleration", _results(found), _pieces(found), provenance,
        moving=[still], model=found.identified,
    )  # fmt: skip


def _results(found: AutoIdentified) -> dict[str, Any]:
    model, sound = found.identified, found.places()
    assert found.fit is not None and model.frequency_deviations_hz is not None and model.damping_deviations is not None
    return {
        "order": found.order,
        "fit_percent": found.fit.mean,
        "training_fit_percent": found.training_fit.mean,
        "frequencies_cycles_per_sample": model.frequencies_hz[sound],
        "frequency_deviations_hz": model.frequency_deviations_hz[sound],
        "damping": model.damping_ratios[sound],
        "damping_deviations": model.damping_deviations[sound],
        "orders_tried": [{"order": t.order, "fit_percent": t.percent, "stable": t.stable} for t in found.trials],
        "why": list(found.decisions),
        "warnings": [one.text() for one in found.findings],
    }


def _pieces(found: AutoIdentified) -> list[Piece]:
    assert found.fit is not None
    cycles, damping = found.frequencies_hz, 100.0 * found.damping_ratios
    resonances = (
        f"{len(cycles)} lightly damped resonances at {' and '.join(f'{f:.4f}' for f in cycles)} cycles per sample "
        f"({' and '.join(f'{z:.2f}' for z in damping)} % of critical damping)"
    )
    first = Text(
        f"A flexible robot arm was driven by its motor with a periodic sweep. From the torque and the acceleration in "
        f"the first half of the record a model with {found.order} states was found, which are {resonances}; played "
        f"with the torque of the second half alone it reproduces {found.fit.mean:.1f} % of the acceleration measured "
        "there. The sampling rate of the data is unknown: 1 Hz below means one cycle per sample."
    )
    return [first, *identification_pieces(found, summary=False)]
