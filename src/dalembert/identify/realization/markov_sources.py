"""Markov parameters with names: read from an array, a result or an observer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.core.arguments import names_or_numbered, real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.realization.okid import ObserverMarkov

# Channels whose Markov parameters differ in size by more than this are brought to the same size.
UNLIKE = 30.0


@dataclass(frozen=True)
class Pulse:
    """Markov parameters Y_0, Y_1, ... (count, ny, nw) with names; what :func:`era` reads from whatever it is given."""

    values: FloatArray
    dt: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    source: ObserverMarkov | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


def of_observer(observer: ObserverMarkov, count: int, combined: bool) -> Pulse:
    values = observer.combined(count) if combined else observer.system(count)
    return Pulse(
        values, observer.dt, observer.inputs, observer.outputs, observer.units, observer, observer.notes,
        observer.provenance,
    )  # fmt: skip


def pulse_of(markov: Any, dt: float | None, inputs: Any, outputs: Any) -> Pulse:
    """Markov parameters with names from an array, or from a result with ``values`` (count, ny, nw)."""
    held = getattr(markov, "values", markov)
    try:
        values = np.asarray(held, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"Markov parameters must be numbers, got {type(markov).__name__}: {error}") from error
    if values.ndim == 1:
        values = values.reshape(-1, 1, 1)
    if values.ndim != 3 or len(values) < 4 or not np.isfinite(values).all():
        raise DataError(
            f"Markov parameters have shape {values.shape}; expected (count, outputs, inputs), Y_0 first, at least "
            "four of them, all finite."
        )
    step = getattr(markov, "dt", None) if dt is None else dt
    if step is None:
        raise DataError("an array of Markov parameters does not know its sample time: give dt=... in seconds.")
    names = [getattr(markov, "inputs", None) if inputs is None else inputs,
             getattr(markov, "outputs", None) if outputs is None else outputs]  # fmt: skip
    where = "these Markov parameters"
    return Pulse(
        values, real_number("dt", step), names_or_numbered("input", names[0], "u", values.shape[2], where),
        names_or_numbered("output", names[1], "y", values.shape[1], where),
        dict(getattr(markov, "units", {}) or {}), None, tuple(getattr(markov, "notes", ())),
        dict(getattr(markov, "provenance", {}) or {}),
    )  # fmt: skip


def levelled(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Markov parameters, and the sizes of outputs and inputs that were divided out; 1 where they are alike.

    Channels in units of very different size (metres beside accelerations) would hide each other's modes.
    """
    rows, columns = np.sqrt(np.einsum("kij,kij->i", values, values)), np.sqrt(np.einsum("kij,kij->j", values, values))
    sizes = [np.where(size > 0.0, size, 1.0) for size in (rows, columns)]
    left, right = [size if size.max() > UNLIKE * size.min() else np.ones(len(size)) for size in sizes]
    return values / left[:, None] / right, left, right
