"""Native code of a method whose every step is one expression: chunks of steps, single steps to a time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, kernel_family
from dalembert.solve.integrate.column import Layout
from dalembert.solve.integrate.inputs import Inputs

if TYPE_CHECKING:
    from dalembert.solve.integrate.method import OneStep

MX = ca.MX
SIZES = (256, 16, 1)  # steps in one call
LARGE = 600  # speeds; above it no chunks of 256: their code would take longer to make than to run
REACH_ATTEMPTS = 500
INLINE_LIMIT = 25_000  # instructions of a step


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
        self.iterates = method.iterates
        key = ("stepper", type(method).__qualname__, method.structure(), inputs.key, events_key)

        def make() -> tuple[Layout, Kernel, dict[int, Kernel]]:
            stepper = method.stepper(eqs, inputs, events)
            step = stepper.step()
            sizes = SIZES if eqs.nv <= LARGE else SIZES[1:]
            functions = [stepper.start(), *[repeat_step(step, n) for n in sizes]]
            begin, *chunks = kernel_family(functions, compiled=eqs.use_c)
            return stepper.layout, begin, dict(zip(sizes, chunks, strict=True))

        self.layout: Layout
        self.layout, self._begin, self.kernels = eqs.cached(key, make)
        self.sizes = tuple(self.kernels)
        self.engine = self.kernels[1].engine

    def plan(self, times: Array, span: float) -> None:
        """Samples to come and length of the run: the steps do not depend on them."""

    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array:
        """The column at the start of a run."""
        return np.asarray(self._begin(t, h, q, v, z, work, lam, self.p, self.constants)[0])

    def block(self, x: Array, size: int, end: float, constants: Array | None = None) -> Array:
        """Columns after each of `size` attempts, one per row (a view: the next call overwrites it)."""
        c = self.constants if constants is None else constants
        raw = self.kernels[size].raw(x, self.p, c, end, self.numbers)[0]
        return np.asarray(raw.reshape(size, self.layout.size))

    def to(self, states: Array, times: Array, constants: Array | None = None) -> Array:
        """One step from each column to its own time; `constants` has one row per column where inputs are held.

        It is shorter than a step that was accepted, so its error is not controlled again: near a dead point error
        control would reduce steps that a longer step had passed.
        """
        c = self.constants if constants is None else constants
        rows = self.kernels[1].many(states, self.p, c, times[:, None], self.unchecked)[0]
        for k in np.flatnonzero(rows[:, 0] < times - 1e-12 * np.abs(times) - 1e-15):
            rows[k] = self.reach(rows[k], float(times[k]), None if constants is None else constants[k])
        if self.iterates:  # v̇ and λ of an implicit step belong to a step of full length: solve for them again
            part = {name: rows[:, a:b] for name, (a, b) in self.layout.starts.items()}
            state = [part[name] for name in ("t", "h", "q", "v", "z", "work", "lam")]
            solved = self._begin.many(*state, self.p, c)[0]
            for name in ("a", "zdot", "power", "lam"):
                a, b = self.layout.starts[name]
                rows[:, a:b] = solved[:, a:b]
        return np.asarray(rows)

    def reach(self, x: Array, t: float, constants: Array | None = None) -> Array:
        """The column at time t, from the column x."""
        for _ in range(REACH_ATTEMPTS):
            x = self.block(x, 1, t, constants)[0].copy()
            if x[0] >= t - 1e-15 - 4e-16 * abs(t):
                return x
        raise ConvergenceError(
            "step-too-small",
            f"a step to t = {t:.9g} s could not be made from t = {x[0]:.9g} s.",
            where={"time": float(x[0])},
        )


def inline_step(step: ca.Function, calls: int, kernel: ca.Function) -> ca.Function:
    """The step as one flat expression where that is small enough: the interpreter runs it twice as fast."""
    if calls * kernel.n_instructions() > INLINE_LIMIT:
        return step
    try:
        flat = step.expand()
    except RuntimeError:  # a table of a record does not expand
        return step
    symbols = flat.sx_in()
    return ca.Function("step", symbols, [ca.densify(flat(*symbols))], {"cse": True})


def repeat_step(step: ca.Function, count: int) -> ca.Function:
    """`count` attempts in one call, by sixteens; all columns after each attempt, one per column of the result."""
    if count == 1:
        return step
    inner = repeat_step(step, count // 16)
    x = MX.sym("x", step.size1_in(0))
    rest = [MX.sym(step.name_in(i), step.size1_in(i)) for i in range(1, step.n_in())]
    columns = []
    last = x
    for _ in range(16):
        block = inner(last, *rest)
        columns.append(block)
        last = block[:, -1]
    return ca.Function(f"chunk{count}", [x, *rest], [ca.horzcat(*columns)])
