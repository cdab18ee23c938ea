"""Steps of a method whose every step is one expression: blocks of steps, single steps to a time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.numerics.sample_times import is_late, is_reached
from dalembert.solve.integrate.column import Layout
from dalembert.solve.integrate.inputs import Inputs

if TYPE_CHECKING:
    from dalembert.solve.integrate.method import OneStep

LARGEST_BLOCK = 1_000_000  # numbers in a block of steps: 8 MB
REACH_ATTEMPTS = 500


class NativeSteps:
    """Steps of a method whose every step is one expression."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        method: OneStep,
        inputs: Inputs,
        events: ca.Function | None = None,
        events_key: Hashable = None,
    ) -> None:
        self.p, self.constants = eqs.p, inputs.constants
        self.numbers, self.unchecked = method.numbers(), method.numbers(controlled=False)
        self.iterates, self.controlled = method.iterates, method.step is None
        key = ("stepper", type(method).__qualname__, method.structure(), inputs.key, events_key)

        def make() -> tuple[Layout, Kernel, Kernel]:
            stepper = method.stepper(eqs, inputs, events)
            return stepper.layout, Kernel(stepper.start()), Kernel(stepper.step())

        self.layout: Layout
        self.starting: Kernel
        self.kernel: Kernel
        self.layout, self.starting, self.kernel = eqs.cache(key, make)
        self.largest_block = max(LARGEST_BLOCK // self.layout.size, 1)

    def plan(self, times: Array, span: float) -> None:
        """Samples to come: where steps are controlled, each is reached by one step of its own."""
        if self.controlled:
            self.kernel.expect(len(times))

    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array:
        """The column at the start of a run."""
        return np.asarray(self.starting(t, h, q, v, z, work, lam, self.p, self.constants)[0])

    @property
    def pace(self) -> float:
        return self.kernel.pace

    def expect(self, attempts: int) -> None:
        """Announce future attempts, so that their code is made now where it saves time."""
        self.kernel.expect(attempts)

    def block(
        self, x: Array, attempts: int, end: float, constants: Array | None = None, *, p: Array | None = None
    ) -> Array:
        """Columns after each of a number of attempts, one per row."""
        c, p = self.constants if constants is None else constants, self.p if p is None else p
        return self.kernel.run(attempts, x, p, c, end, self.numbers)

    def to(self, states: Array, times: Array, constants: Array | None = None, *, p: Array | None = None) -> Array:
        """One step from each column to its own time; `constants` has one row per column where inputs are held.

        p : parameters other than those of the equations, the same for all columns or one row each.

        It is shorter than a step that was accepted, so its error is not controlled again: near a dead point error
        control would reduce steps that a longer step had passed.
        """
        c, p = self.constants if constants is None else constants, self.p if p is None else p
        rows = self.kernel.many(states, p, c, times[:, None], self.unchecked)[0]
        for k in np.flatnonzero(is_late(rows[:, 0], times)):
            own = p if p.ndim == 1 else p[k]
            rows[k] = self.reach(rows[k], float(times[k]), None if constants is None else constants[k], p=own)
        if self.iterates:  # v̇ and λ of an implicit step belong to a step of full length: solve for them again
            part = {name: rows[:, a:b] for name, (a, b) in self.layout.starts.items()}
            state = [part[name] for name in ("t", "h", "q", "v", "z", "work", "lam")]
            solved = self.starting.many(*state, p, c)[0]
            for name in ("a", "zdot", "power", "lam"):
                a, b = self.layout.starts[name]
                rows[:, a:b] = solved[:, a:b]
        return np.asarray(rows)

    def reach(self, x: Array, t: float, constants: Array | None = None, *, p: Array | None = None) -> Array:
        """The column at time t, from the column x."""
        for _ in range(REACH_ATTEMPTS):
            x = self.block(x, 1, t, constants, p=p)[0]
            if is_reached(x[0], t):
                return x
        raise ConvergenceError(
            "step-too-small",
            f"a step to t = {t:.9g} s could not be made from t = {x[0]:.9g} s.",
            where={"time": float(x[0])},
        )
