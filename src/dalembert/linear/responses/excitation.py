"""Inputs and initial states of a linear system by name, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import one_of
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear.channels import places
from dalembert.record import Record
from dalembert.record.checks import check_time, numbers

Hold = Annotated[str, one_of("zero", "first"), "inputs held from each sample to the next, or linear in between"]


def sample_inputs(
    inputs: Record | Mapping[str, Any] | None,
    names: Sequence[str],
    times: ArrayLike | None,
    *,
    dt: float | None = None,
    units: Mapping[str, str] | None = None,
    where: str = "this system",
) -> tuple[FloatArray, FloatArray]:
    """Times (N,) and inputs (N, nu) in the order of ``names``; an input left out is zero.

    inputs : Record with channels named like inputs, or mapping of a name to a constant, an array as long as the
        times, a function of time or a Record; dt : sample time of a discrete system, which can count its own times;
    units : of the inputs, which those of a record must match.
    """
    if isinstance(inputs, Record):
        return _from_record(inputs, names, times, units or {}, where)
    if inputs is not None and not isinstance(inputs, Mapping):
        raise DataError(
            "wrong-type", f"inputs must be a Record or name channels, such as {{'force': 1.0}}; got {inputs!r}."
        )
    sources = dict(inputs or {})
    places("input", [*sources], names, where)
    if times is None:
        times = _sample_times(sources, dt)
    t = np.array(check_time(times))
    u = np.zeros((len(t), len(names)))
    for j, name in enumerate(names):
        if name in sources:
            u[:, j] = _channel(sources[name], name, t, (units or {}).get(name))
    return t, u


def _from_record(record: Record, names: Sequence[str], times: ArrayLike | None, units: Mapping[str, str], where: str
                 ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    if times is not None:
        raise DataError(
            "conflicting-arguments",
            "a Record has its own times.",
            Advice("Use {} instead.", Call("Record.resample", Argument("times"))),
        )
    if names and not any(name in record.names for name in names):
        wanted = ", ".join(names[:10])
        raise DataError(
            "unknown-name",
            f"the record has no channel for any input of {where}: wanted {wanted}; "
            f"it has {', '.join(record.names[:10])}. Rename the channels, or pass a mapping.",
        )
    t = np.array(record.time)
    u = np.zeros((len(t), len(names)))
    for j, name in enumerate(names):
        if name in record.names:
            _refuse_other_unit(name, record.units.get(name), units.get(name))
            u[:, j] = _require_finite(record[name], name, t)
    return t, u


def _sample_times(sources: Mapping[str, Any], dt: float | None) -> Any:
    records = [source for source in sources.values() if isinstance(source, Record)]
    if records:
        return records[0].time
    lengths = {len(source) for source in sources.values() if np.ndim(source) == 1 and not callable(source)}
    if dt is not None and len(lengths) == 1:
        return dt * np.arange(lengths.pop())
    raise DataError(
        "missing-argument",
        "inputs given by name need the times [s] at which they are sampled.",
        Advice("Give {}.", Argument("times")),
    )


def _channel(source: Any, name: str, t: FloatArray, unit: str | None) -> FloatArray:
    if isinstance(source, Record):
        places("channel", [name], source.names, f"the record given for input {name!r}")
        if not np.array_equal(source.time, t):
            raise DataError(
                "sample-time-mismatch",
                f"the record of input {name!r} has other times.",
                Advice("Use {} first.", Call("Record.resample", Argument("times"))),
            )
        _refuse_other_unit(name, source.units.get(name), unit)
        return _require_finite(source[name], name, t)
    if callable(source):
        return _require_finite(call_signal(source, f"input {name!r}", t), name, t)
    values = numbers(source, f"input {name!r}")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(t)):
        raise DataError(
            "wrong-shape",
            f"input {name!r} has shape {values.shape}; expected a number or one value per time, {len(t)}.",
        )
    return _require_finite(np.broadcast_to(values, t.shape), name, t)


def _refuse_other_unit(name: str, given: str | None, expected: str | None) -> None:
    """Refuse a signal in another unit than the input it drives; a signal or input without a unit is accepted."""
    if given and expected and given != expected:
        raise DataError(
            "unit-mismatch",
            f"{name!r} is in {given} in the record and in {expected} as an input of the system: "
            "convert the record, or give both the same unit.",
        )


def call_signal(function: Callable[[Any], Any], what: str, t: FloatArray) -> FloatArray:
    """(N,) of all times together where the function takes an array, else one by one (an ``if`` on t, math.sin)."""
    try:
        raw = function(t)
    except (TypeError, ValueError):
        raw = [function(float(at)) for at in t]
    values = numbers(raw, what)
    if values.ndim == 0:
        values = np.full(len(t), float(values))
    if values.shape != t.shape:
        raise DataError("wrong-shape", f"{what} must return one value per time; it returned shape {values.shape}.")
    return values


def _require_finite(values: FloatArray, name: str, t: FloatArray) -> FloatArray:
    bad = ~np.isfinite(values)
    if bad.any():
        raise DataError(
            "not-finite",
            f"input {name!r} has {int(bad.sum())} values that are not finite, the first at "
            f"t = {t[int(bad.argmax())]:.6g} s. Fill the gaps first, or cut them out.",
        )
    return values


def initial_state(start: Mapping[str, float] | ArrayLike | None, states: Sequence[str], where: str) -> FloatArray:
    """(nx,) from a mapping of state names (the rest zero), an array in their order, or None (rest)."""
    x = np.zeros(len(states))
    if start is None:
        return x
    if isinstance(start, Mapping):
        at = places("state", [*start], states, where)
        x[at] = [real_number(f"start of {name!r}", value) for name, value in start.items()]
    else:
        values = numbers(start, "start")
        if values.shape != x.shape:
            raise DataError(
                "wrong-shape",
                f"start has shape {values.shape}; expected ({len(states)},), in the order {', '.join(states[:8])}"
                f"{', ...' if len(states) > 8 else ''}.",
            )
        x[:] = values
    if not np.isfinite(x).all():
        raise DataError("not-finite", f"start must be finite; {states[int(np.argmin(np.isfinite(x)))]!r} is not.")
    return x
