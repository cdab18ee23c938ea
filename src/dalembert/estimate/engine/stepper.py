"""A filter sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import ConvergenceError, DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.estimate.engine.divergence import explain_failure
from dalembert.expressions import Array

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


class FilterStepper:
    """A filter that is stepped sample by sample; mutable.

    x : state, P : covariance of its error, t : time of the last sample, innovation, nis : of the last sample.
    """

    def __init__(self, filter_: Filter, filter_state: Array, dt: float | None, t: float) -> None:
        self.filter, self.filter_state, self.dt, self.t = filter_, filter_state.copy(), dt, real_number("t", t)
        self._tick = filter_.native.tick
        self._p = filter_.model.numbers
        self._u = np.zeros(filter_.process.nu)
        self._begun = False
        self.innovation = np.zeros(filter_.process.ny)
        self.nis = 0.0
        self.estimate: dict[str, float] = {}

    def step(self, y: object, u: object = (), t: float | None = None, *, before: object = None) -> dict[str, float]:
        """Take in the sample y (NaN: not measured), read while the inputs u act; returns the estimate by name.

        The first call corrects the initial state; every other advances by dt (or to the time t) with the inputs of the
        call before, or of this one where the model is made so (``use_current=True`` of a kinematic model).
        before : inputs of the step to this sample, where they are others.
        """
        model = self.filter.process
        y_, u_ = self._numbers("y", y, model.outputs), self._numbers("u", u, model.inputs)
        if not np.isfinite(u_).all():
            raise DataError("not-finite", "u has a value that is not finite.")
        dt = self._interval(t)
        measured = np.isfinite(y_).astype(float)
        if not self._begun or model.current:
            self._u = u_
        if before is not None:
            self._u = self._numbers("before", before, model.inputs)
        readings = np.where(measured, y_, 0.0)
        results = self._tick.raw(self.filter_state, self._u, u_, readings, measured, self._p, self.t + dt, dt)
        if not all(np.isfinite(values).all() for values in results):
            row = np.concatenate([self._u, u_, readings, measured, [self.t + dt, dt]])
            why, time = explain_failure(self.filter, self.filter_state, row), self.t + dt
            problem = f"at t = {time:.6g} s {why.problem} The state of the stepper is unchanged."
            raise ConvergenceError(why.code, problem, *why.advice, where={**why.where, "time": time})
        self.filter_state = results[0].copy()
        self.innovation, self.nis = results[3].copy(), float(results[5][0])
        self._u, self.t, self._begun = u_.copy(), self.t + dt, True
        self.estimate = dict(zip(self.filter.native.reported.names, results[1].tolist(), strict=True))
        return self.estimate

    def _interval(self, t: float | None) -> float:
        if not self._begun:
            if t is not None:
                self.t = real_number("t", t)
            return 0.0
        if t is None:
            if self.dt is None:
                give = Advice("Give {} with every sample.", Argument("t"))
                raise DataError("missing-argument", "this filter has no sampling interval of its own.", give)
            return self.dt
        if not t > self.t:
            raise DataError("not-increasing", f"times of samples must increase: {t:g} s comes after {self.t:g} s.")
        dt = float(t) - self.t
        self.filter.step_size(dt)
        return dt

    def _numbers(self, what: str, given: Any, channels: Any) -> Array:
        if isinstance(given, Mapping):
            for name in given:
                require_name("channel", name, channels.names, "the filter", error=ModelError, argument=what)
            given = [given.get(name, np.nan) for name in channels.names]
        array = np.array(given, dtype=float).reshape(-1)
        if len(array) != len(channels):
            problem = f"{what} has {len(array)} entries; expected {len(channels)}: {', '.join(channels.names)}."
            raise DataError("wrong-shape", problem)
        return array

    @property
    def x(self) -> Array:
        """(nx,) the state."""
        return self.filter_state[: self.filter.process.nx].copy()

    @property
    def P(self) -> Array:
        """(ne, ne) covariance of its error."""
        P: Array = self.filter.covariances(self.filter_state[None, :])[0]
        return P
