"""Input channels of a run: constants, functions of time, records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, call_user
from dalembert.record import Record
from dalembert.record.units import conversion, in_si

MX = ca.MX


@dataclass(frozen=True)
class Inputs:
    """u(t) as an expression: constants enter as data, functions as their own expression, records as tables."""

    key: Any  # equal keys mean equal native code
    constants: Array  # one value per input, zero where not constant
    function: ca.Function  # (t, constants) -> u
    span: tuple[float, float]  # where every record has data
    given: Mapping[str, Any]  # as the user gave it

    def replace(self, eqs: EquationsOfMotion, given: Mapping[str, Any]) -> Inputs:
        """The same inputs with other sources for some channels."""
        return read_inputs(eqs, {**self.given, **given})

    def values(self, eqs: EquationsOfMotion, times: Array) -> Array:
        """u at many times, (batch, nu)."""
        if all(kind == "constant" for kind in self.key):
            return np.tile(self.constants, (len(times), 1))
        kernel = eqs.cache(("inputs", self.key), lambda: Kernel(self.function))
        result: Array = kernel.many(times.reshape(-1, 1), self.constants)[0]
        return result


def read_inputs(eqs: EquationsOfMotion, given: Mapping[str, Any] | Record | None) -> Inputs:
    """Check and bind the inputs of a run; an omitted channel is zero (a reference: the value of its design)."""
    if isinstance(given, Record):
        given = {name: given for name in given.names if name in eqs.inputs.index}
    if given is not None and not isinstance(given, Mapping):
        raise DataError(
            "wrong-type",
            f"inputs must be values by the name of their channel, got {given!r}.",
            where={"argument": "inputs"},
        )
    given = dict(given or {})
    for name in given:
        if name not in eqs.inputs.index:
            raise ModelError("unknown-name", unknown_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}"))
    values = np.zeros(eqs.nu)
    entries: list[Callable[[Any, Any], Any]] = []  # of time and constants
    key: list[Any] = []
    first, last = -np.inf, np.inf
    for k, name in enumerate(eqs.inputs.names):
        source = given.get(name, eqs.resting_inputs.get(name, 0.0))
        if isinstance(source, Record):
            channel = _channel(source, name, eqs.inputs.units[k])
            entries.append(partial(_table, source.time, channel))
            digest = hashlib.sha256(channel.tobytes() + source.time.tobytes()).hexdigest()
            key.append(("record", digest))
            first, last = max(first, source.time[0]), min(last, source.time[-1])
        elif callable(source):
            expression = _time_function(source, name)
            entries.append(partial(_call, expression))
            key.append(("function", expression.serialize()))
        else:
            try:
                values[k] = float(in_si(source, eqs.inputs.units[k], what=f"input {name!r}"))
            except (TypeError, ValueError):
                raise DataError(
                    "wrong-type", f"input {name!r} must be a number, a function of time or a Record, got {source!r}."
                ) from None
            if not np.isfinite(values[k]):
                raise DataError("not-finite", f"input {name!r} is not finite.")
            entries.append(partial(_constant, k))
            key.append("constant")

    def make() -> ca.Function:
        t, constants = MX.sym("t"), MX.sym("constants", eqs.nu)
        column = ca.vertcat(*(entry(t, constants) for entry in entries)) if entries else MX(0, 1)
        return ca.Function("inputs", [t, constants], [ca.densify(column)])

    function = eqs.cache(("input function", tuple(key)), make)
    return Inputs(tuple(key), values, function, (float(first), float(last)), given)


def _time_function(source: Callable[[Any], Any], name: str) -> ca.Function:
    t = ca.SX.sym("t")
    value = call_user(source, f"input {name!r}", t)
    try:
        value = ca.SX(ca.vertcat(*value) if isinstance(value, (list, tuple)) else value)
    except Exception:  # any error of CasADi on a foreign type
        raise ModelError("wrong-type", f"input {name!r} must return one value, got {type(value).__name__}.") from None
    if value.shape != (1, 1):
        raise ModelError(
            "wrong-shape", f"input {name!r} must return one value, got {value.shape[0]} x {value.shape[1]}."
        )
    free = [s for s in ca.symvar(value) if not ca.is_equal(s, t)]
    if free:
        raise ModelError(
            "foreign-symbol", f"input {name!r} depends on {free[0]}, but an input is a function of time only."
        )
    return ca.Function("u", [t], [value])


def _channel(record: Record, name: str, unit: str) -> Array:
    """The channel of a record that drives an input, in the unit of the input."""
    if name not in record.names:
        raise DataError(
            "unknown-name", unknown_name("channel", name, record.names, f"the record given for input {name!r}")
        )
    channel = record[name]
    if not np.all(np.isfinite(channel)):
        raise DataError("not-finite", f"input {name!r}: the record has gaps (values that are not finite).")
    factor = conversion(record.units[name], unit, f"input {name!r}")
    return channel if factor == 1.0 else factor * channel


def _constant(k: int, t: object, constants: Any) -> Any:
    return constants[k]


def _call(function: ca.Function, t: object, constants: object) -> Any:
    return function(t)


def _table(time: Array, channel: Array, t: object, constants: object) -> Any:
    if len(time) < 2:
        return MX(float(channel[0]))
    return ca.interpolant("table", "linear", [time], channel)(t)
