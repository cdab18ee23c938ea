"""Ranges of joint coordinates that a search keeps to."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.core.errors import AssemblyError, ConvergenceError, ModelError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.position.assemble import assemble, state_or_rest


@dataclass(frozen=True)
class Ranges:
    """Limited measures: their names, places among the measures, places among q (-1: it follows from others), ranges.

    low, high : (n,), infinite where there is no limit.
    """

    names: tuple[str, ...]
    measures: tuple[int, ...]
    coordinates: tuple[int, ...]
    low: Array
    high: Array

    def meet(self, low: Array, high: Array) -> Ranges:
        """The intersection with other bounds."""
        return replace(self, low=np.maximum(self.low, low), high=np.minimum(self.high, high))


def read_ranges(eqs: EquationsOfMotion, limits: Any, also: tuple[str, ...] = ()) -> Ranges:
    """Ranges of joint coordinates.

    limits : True, those of the joints; False, none; or coordinate -> (lower, upper) in place of those of its joint.
    also : further measures, whose ranges are infinite where they have none.
    """
    found: dict[str, tuple[float, float]] = dict.fromkeys(also, (-np.inf, np.inf))
    if limits is not False:
        found |= {name: own.range for name, own in eqs.limits.items() if name in eqs.measures.index}
    if isinstance(limits, Mapping):
        for name, pair in limits.items():
            full = eqs.full_name(name)
            require_name(
                "coordinate", full, eqs.measures.names, f"equations {eqs.name!r}", error=ModelError, argument="limits"
            )
            found[full] = _pair(name, pair)
    elif not isinstance(limits, bool):
        raise ModelError(
            "wrong-type", f"limits must be True, False or ranges by coordinate, got {limits!r:.80}.",
            Advice("Such as {}.", Argument("limits", {"elbow.angle": (-1.0, 1.0)})), where={"argument": "limits"},
        )  # fmt: skip
    names = [name for name, pair in found.items() if name in also or np.isfinite(pair).any()]
    low, high = (np.array([found[name][k] for name in names]) for k in (0, 1))
    measures = tuple(eqs.measures.index[name] for name in names)
    return Ranges(tuple(names), measures, tuple(eqs.coordinates.index.get(name, -1) for name in names), low, high)


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (default if x is None else float(x) for x, default in zip(pair, (-np.inf, np.inf), strict=True))
    except (TypeError, ValueError):
        raise ModelError(
            "wrong-type", f"limits of {name!r} must be a lower and an upper value, got {pair!r:.80}.",
            where={"coordinate": name},
        ) from None  # fmt: skip
    if not low <= high:
        raise ModelError(
            "not-increasing", f"limits of {name!r} cross: lower {low:g} is above upper {high:g}.",
            where={"coordinate": name},
        )  # fmt: skip
    return low, high


def initial_state(eqs: EquationsOfMotion, start: State | None) -> State:
    """The initial state of a search, without a warning for a pose beyond the limits: the search moves it into them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return state_or_rest(eqs, start, weightless=True)


def close_loops(eqs: EquationsOfMotion, near: State, wanted: Mapping[str, float] | None = None) -> Array | None:
    """The nearest pose with closed loops and wanted coordinates; None where none is found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            return np.array(assemble(eqs, wanted, start=near, t=near.t, restarts=0).q)
        except (AssemblyError, ConvergenceError):
            return None
