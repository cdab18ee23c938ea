"""Native steps of one method for one run: chunks of steps, single steps to a time, the column a run starts from."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError, DataError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, kernel_family
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.methods import RK4, DormandPrince, GeneralizedAlpha, Rosenbrock, Sundials
from dalembert.solve.integrate.runge_kutta import Layout, Stepper, chunk_function

SIZES = (256, 16, 1)
LARGE = 600  # speeds; above it no chunks of 256
REACH_ATTEMPTS = 500


def stepper_of(eqs: EquationsOfMotion, method: Any, inputs: Inputs, events: ca.Function | None) -> Any:
    if isinstance(method, Rosenbrock):
        from dalembert.solve.integrate.rosenbrock import RosenbrockStepper

        return RosenbrockStepper(eqs, inputs, events)
    if isinstance(method, GeneralizedAlpha):
        from dalembert.solve.integrate.generalized_alpha import AlphaStepper

        return AlphaStepper(eqs, method, inputs, events)
    return Stepper(eqs, method, inputs, events)


def structure(method: Any) -> Any:
    """What of a method is built into its native code; everything else is data."""
    if isinstance(method, RK4):
        return ("RK4", method.stabilise)
    if isinstance(method, DormandPrince):
        return ("DormandPrince", method.order, method.step is None, method.stabilise)
    if isinstance(method, Rosenbrock):
        return "Rosenbrock"
    if isinstance(method, GeneralizedAlpha):
        return ("GeneralizedAlpha", method.index)
    raise DataError(
        f"method must be one of da.DormandPrince(), da.RK4(step=...), da.Rosenbrock(), da.GeneralizedAlpha(step=...), "
        f"da.Sundials(), got {method!r}."
    )


def method_numbers(method: Any) -> Array:
    if isinstance(method, (DormandPrince, Rosenbrock)):
        fixed = float(method.step is not None)
        return np.array([method.rtol, method.atol, min(method.max_step, 1e300), fixed])
    if isinstance(method, GeneralizedAlpha):
        return np.array([method.rho, 0.0, 0.0, 0.0])
    return np.zeros(4)


def first_step(method: Any, span: float) -> float:
    step = getattr(method, "step", None)
    if step is not None:
        return float(step)
    if isinstance(method, Sundials):
        return span / 100  # it chooses its own; this is what an event looks ahead by
    return float(min(method.first_step, method.max_step, span))


class NativeSteps:
    """Steps of a method whose every step is one expression."""

    def __init__(
        self, eqs: EquationsOfMotion, method: Any, inputs: Inputs, events: ca.Function | None, events_key: Any
    ) -> None:
        self.p, self.constants = eqs.p, inputs.constants
        self.numbers = method_numbers(method)
        self.unchecked = self.numbers.copy()
        if isinstance(method, (DormandPrince, Rosenbrock)):
            self.unchecked[:2] = 1e30
        key = ("stepper", structure(method), inputs.key, events_key)

        def make() -> tuple[Layout, Kernel, dict[int, Kernel]]:
            stepper = stepper_of(eqs, method, inputs, events)
            step = stepper.step()
            sizes = SIZES if eqs.nv <= LARGE else SIZES[1:]
            functions = [stepper.start(), *[chunk_function(step, n) for n in sizes]]
            begin, *chunks = kernel_family(functions, compiled=eqs.use_c)
            return stepper.layout, begin, dict(zip(sizes, chunks, strict=True))

        self.layout: Layout
        self.layout, self._begin, self.kernels = eqs.cached(key, make)
        self.sizes = tuple(self.kernels)
        self.refresh = isinstance(method, GeneralizedAlpha)
        self.engine = self.kernels[1].engine

    def plan(self, times: Array, span: float) -> None:
        """Samples to come and length of the run: the steps do not depend on them."""

    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array:
        return np.asarray(self._begin(t, h, q, v, z, work, lam, self.p, self.constants)[0])

    def block(self, x: Array, size: int, end: float, constants: Array | None = None) -> Array:
        """States after each of `size` attempts, one per row (a view: the next call overwrites it)."""
        c = self.constants if constants is None else constants
        raw = self.kernels[size].raw(x, self.p, c, end, self.numbers)[0]
        return np.asarray(raw.reshape(size, self.layout.size))

    def to(self, states: Array, times: Array, constants: Array | None = None) -> Array:
        """One step from each state to its own time; `constants` has one row per state where inputs are held.

        It is shorter than a step that was accepted, so its error is not looked at again: near a dead point error
        control would chase a time that a longer step had passed.
        """
        c = self.constants if constants is None else constants
        rows = self.kernels[1].many(states, self.p, c, times[:, None], self.unchecked)[0]
        for k in np.flatnonzero(rows[:, 0] < times - 1e-12 * np.abs(times) - 1e-15):
            rows[k] = self.reach(rows[k], float(times[k]), None if constants is None else constants[k])
        if self.refresh:  # what the method carries along belongs to a whole step: solve for v̇ and λ anew
            part = {name: rows[:, a:b] for name, (a, b) in self.layout.starts.items()}
            state = [part[name] for name in ("t", "h", "q", "v", "z", "work", "lam")]
            fresh = self._begin.many(*state, self.p, c)[0]
            for name in ("a", "zdot", "power", "lam"):
                a, b = self.layout.starts[name]
                rows[:, a:b] = fresh[:, a:b]
        return np.asarray(rows)

    def reach(self, x: Array, t: float, constants: Array | None = None) -> Array:
        for _ in range(REACH_ATTEMPTS):
            x = self.block(x, 1, t, constants)[0].copy()
            if x[0] >= t - 1e-15 - 4e-16 * abs(t):
                return x
        raise ConvergenceError(f"a step to t = {t:.9g} s could not be made from t = {x[0]:.9g} s.")


def steps_of(eqs: EquationsOfMotion, method: Any, inputs: Inputs, events: ca.Function | None, events_key: Any) -> Any:
    if isinstance(method, Sundials):
        from dalembert.solve.integrate.sundials import SundialsSteps

        return SundialsSteps(eqs, method, inputs, events, events_key)
    return NativeSteps(eqs, method, inputs, events, events_key)
