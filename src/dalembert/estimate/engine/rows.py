"""Rows of numbers that a filter takes of a record, one per sample: inputs, outputs, measured mask, steps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.errors import DalembertWarning, DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels
from dalembert.estimate.models.process import Process
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.record.units import conversion

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


def is_clocked(mean: float, dt: float, clock: float = 1e-3) -> bool:
    """Whether a mean step is the sample time, up to the error of a logger's clock (1000 ppm, ten times a crystal's)."""
    return abs(mean - dt) <= clock * dt


def read_rows(filter_: Filter, record: Record) -> Array:
    """(N, nd): u before, u now, y, measured, t, Δt of every sample."""
    model = filter_.process
    missing = [name for name in (*model.inputs.names, *model.outputs.names) if name not in record.names]
    if missing:
        raise _report_missing(model, missing, record)
    u, y = _block(record, model.inputs), _block(record, model.outputs)
    if not np.isfinite(u).all():
        k, j = np.argwhere(~np.isfinite(u))[0]
        raise DataError(
            "gap-in-record",
            f"input {model.inputs.names[j]!r} is missing at t = {record.time[k]:.6g} s; only outputs may have gaps.",
            Advice("Fill the gap with {}, or filter without that input.", Call("record.resample")),
            where={"channel": model.inputs.names[j], "time": float(record.time[k])},
        )
    if np.isinf(y).any():
        k, j = np.argwhere(np.isinf(y))[0]
        where = {"channel": model.outputs.names[j], "time": float(record.time[k])}
        problem = f"output {model.outputs.names[j]!r} is infinite at t = {record.time[k]:.6g} s."
        raise DataError("not-finite", problem, where=where)
    measured = np.isfinite(y)
    if not measured.any():
        problem = f"the record has no sample of {', '.join(model.outputs.names)}: every one is missing (NaN)."
        raise DataError("empty", problem)
    before = u if model.current else np.vstack([u[:1], u[:-1]])
    steps = intervals(filter_, record)
    return np.column_stack([before, u, np.where(measured, y, 0.0), measured, record.time, steps])


def _block(record: Record, channels: Channels) -> Array:
    """(N, k) samples of the channels, in the units of the model."""
    if not channels.names:
        return np.empty((len(record), 0))
    units = record.units
    factors = [
        conversion(units[name], unit, repr(name)) for name, unit in zip(channels.names, channels.units, strict=True)
    ]
    block = np.asarray(record[list(channels.names)], dtype=float)
    return block if all(factor == 1.0 for factor in factors) else block * factors


def _report_missing(model: Process, missing: list[str], record: Record) -> DataError:
    kinds = {**dict.fromkeys(model.outputs.names, "output"), **dict.fromkeys(model.inputs.names, "input")}
    advice = [
        Advice(f"Name the {adjective} {word} in {{}}.", Argument(word))
        for word, adjective in (("outputs", "measured"), ("inputs", "known"))
        if word[:-1] in {kinds[name] for name in missing}
    ]
    name, where = missing[0], {"channels": tuple(missing)}
    if len(missing) == 1:
        unknown = unknown_name("channel", name, record.names, "the record")
        problem = f"the record lacks the {kinds[name]} {name!r} of the filter: {unknown}"
        return DataError("missing-channel", problem, *advice, where=where)
    listed = ", ".join(f"{name!r} ({kinds[name]})" for name in missing)
    problem = f"the record lacks channels of the filter: {listed}. It has: {', '.join(record.names[:20])}."
    return DataError("missing-channel", problem, *advice, where=where)


def intervals(filter_: Filter, record: Record, jitter: float = 0.05, mismatch: float = 1e-2) -> Array:
    """Δt before every sample, 0 for the first.

    jitter : error of one step, of dt.  mismatch : of the usual step, of dt: from here on Q is that of another step.
    """
    steps = np.diff(record.time)
    dt = filter_.process.dt
    if dt is not None and len(steps):
        if np.abs(steps - dt).max() > jitter * dt or not is_clocked(steps.mean(), dt):
            raise _other_steps(dt, steps, record)
        steps = np.full(len(steps), dt)
    elif len(steps) and not getattr(filter_, "continuous", False):
        usual = float(np.median(steps))
        if filter_.dt is not None and abs(usual - filter_.dt) > mismatch * filter_.dt:
            raise DataError(
                "sample-time-mismatch",
                f"the record is sampled every {usual:.6g} s, the filter is made for {filter_.dt:g} s, and Q is the "
                "noise of one step.",
                Advice("Make the filter with {} and Q for that, or resample the record.", _seconds("dt", usual)),
            )
    return np.concatenate([[0.0], steps])


def _seconds(name: str, value: float) -> Argument:
    return Argument(name, float(f"{value:.6g}"))


def _other_steps(dt: float, steps: Array, record: Record) -> DataError:
    """A record whose steps are not those of a sampled model."""
    usual = float(np.median(steps))
    resampled = Call("record.resample", _seconds("every", dt))
    if is_clocked(usual, dt):
        k = int(np.abs(steps - dt).argmax())
        return DataError(
            "uneven-sampling",
            f"the record is sampled every {usual:.6g} s like the filter, but has a step of {steps[k]:.6g} s after t = "
            f"{record.time[k]:.6g} s.",
            Advice("Put rows of NaN where samples are missing, or use {}.", resampled),
            where={"time": float(record.time[k])},
            evidence={"step": float(steps[k]), "usual": usual},
        )
    return DataError(
        "sample-time-mismatch",
        f"the record is sampled every {usual:.6g} s, the filter is made for {dt:g} s.",
        Advice("Make the filter with {} and Q for that (a sampled model is resampled first).", _seconds("dt", usual)),
        Advice("Or use {}.", resampled),
        evidence={"record": usual, "filter": dt},
    )


def warn_of_uneven_steps(filter_: Filter, steps: Array, ratio: float = 1.5) -> None:
    """Q is that of a step, however long it is.

    ratio : longest step over the shortest: beyond it the noise of a step differs by more than half.
    """
    Q = filter_.noise.Q.constant()
    if getattr(filter_, "continuous", False) or Q is None or not Q.any() or not len(steps):
        return
    if steps.max() > ratio * steps.min():
        warnings.warn(
            DalembertWarning(
                "uneven-sampling",
                f"the steps of the record are {steps.min():.3g} to {steps.max():.3g} s long; Q adds the same in each.",
                Advice("Give Q as a function that grows with the step, s['dt']."),
                Advice("Or use {}.", Call("da.estimate.ExtendedKalman", Argument("continuous", True))),
                evidence={"shortest": float(steps.min()), "longest": float(steps.max())},
            ),
            stacklevel=4,
        )
