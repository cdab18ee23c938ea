"""Modes from the numbers of a file of any format.

s = 2 π f (-ζ + i √(1 - ζ²))
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.linear.modes import Modes


@dataclass(frozen=True)
class ModalValues:
    """Numbers of the modes of a file, one per mode, NaN where a file has none; None for a column that it does not have.

    frequencies : undamped [Hz].  shapes : (n, k).  eigenvalues : where the file gives them, over frequency and damping.
    place : of a mode (from 0) and a quantity to the line, None where a format has no lines.
    is_ratio_sure : whether the file gives a unit of the damping.
    """

    frequencies: FloatArray
    shapes: FloatArray | ComplexArray
    coordinates: Sequence[str]
    damping: FloatArray | None = None
    masses: FloatArray | None = None
    frequency_deviations_hz: FloatArray | None = None
    damping_deviations: FloatArray | None = None
    eigenvalues: ComplexArray | None = None
    notes: list[str] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)
    place: Callable[[int, str], int | None] = lambda mode, quantity: None
    is_ratio_sure: bool = True


def to_modes(values: ModalValues, heavy: float = 0.2) -> Modes:
    """Modes of checked numbers; incomplete columns are left out, and the provenance reports it.

    heavy : damping ratio above which one without a unit may be in percent: structures have less than a tenth.
    """
    f = values.frequencies
    FileFormatError.when(not len(f), "empty", "there is no mode in the file.")
    _refuse(values, ~np.isfinite(f), "frequency", "not-finite", "has no frequency")
    _refuse(values, f < 0.0, "frequency", "negative", "has a negative frequency")
    notes = list(values.notes)
    zeta = np.zeros(len(f)) if values.damping is None else values.damping
    if values.damping is None and values.eigenvalues is None:
        notes.append("no damping in the file: taken as 0")
    _refuse(values, ~np.isfinite(zeta), "damping", "not-finite", "has no damping ratio")
    percent = Advice("Write the unit into the heading where it is percent: damping [%].")
    _refuse(values, np.abs(zeta) > 1.0, "damping", "out-of-range", "has a damping ratio beyond 1", percent)
    if not values.is_ratio_sure and np.median(np.abs(zeta)) > heavy:
        problem = f"damping ratios of {float(np.median(np.abs(zeta))):.2g} without a unit: they may be percent."
        warnings.warn(IdentificationWarning("suspect-units", problem, percent), stacklevel=4)
    still = ~np.isfinite(values.shapes)
    if still.any():
        row, mode = np.argwhere(still)[0]
        name = values.coordinates[row]
        raise FileFormatError(
            "not-finite", f"mode {mode + 1} has no number at {name!r:.80}.",
            Advice("Write 0 where a coordinate does not move; leave out one that was not measured."),
            line=values.place(int(mode), name), where={"mode": int(mode) + 1, "coordinate": name},
        )  # fmt: skip
    s = values.eigenvalues
    if s is None:
        s = 2.0 * np.pi * f * (-zeta + 1j * np.sqrt(1.0 - zeta**2))
    columns: dict[str, FloatArray | None] = {}
    for name in ("masses", "frequency_deviations_hz", "damping_deviations"):
        columns[name], note = _complete(values, name)
        notes += [note] if note else []
    about = {**values.provenance, **({"notes": notes} if notes else {})}
    return Modes(
        s, values.shapes, values.coordinates, modal_masses=columns["masses"],
        frequency_deviations_hz=columns["frequency_deviations_hz"], damping_deviations=columns["damping_deviations"],
        provenance=about,
    )  # fmt: skip


def _refuse(values: ModalValues, wrong: Any, quantity: str, code: str, problem: str, *advice: Advice) -> None:
    if wrong.any():
        mode = int(np.argmax(wrong))
        line = values.place(mode, quantity)
        raise FileFormatError(code, f"mode {mode + 1} {problem}.", *advice, line=line, where={"mode": mode + 1})


def _complete(values: ModalValues, name: str) -> tuple[FloatArray | None, str]:
    """A column of positive numbers, or None with the reason."""
    row: FloatArray | None = getattr(values, name)
    what = {"masses": "modal mass"}.get(name, name.replace("_", " ").removesuffix("s"))
    if row is None:
        return None, ""
    _refuse(values, row < 0.0, what, "negative", f"has a negative {what}")
    positive = np.isfinite(row) & (row > 0.0)
    if positive.all():
        return row, ""
    return (
        None,
        f"{what}: {int((~positive).sum())} of {len(row)} are zero or missing; left out" if positive.any() else "",
    )
