"""The explicit pairs of Dormand and Prince: the default."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca

from dalembert.core.errors import DataError
from dalembert.equations import EquationsOfMotion
from dalembert.numerics.runge_kutta import dormand_prince
from dalembert.solve.constrained.solve import Baumgarte
from dalembert.solve.integrate.explicit_step import ExplicitStepper
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import MAX_STEPS, ErrorControlled, integrator, option


@integrator
@dataclass(frozen=True)
class DormandPrince(ErrorControlled):
    """Dormand-Prince of order 8(5,3) or 5(4) with error control, then projection onto the joints. The default.

    The local error of every coordinate, speed and internal state is kept below atol + rtol |x|.
    Order 8 needs fewer evaluations from about 1e-5 on. With a `step` the step is fixed and errors are not controlled.

    max_steps : attempts for a thousandth of the run, after which it ends with a `ConvergenceError`.
    """

    explicit: ClassVar[bool] = True

    order: int = field(default=8, metadata=option("5 or 8"))
    step: float | None = field(default=None, metadata=option("fixed step", "s"))
    rtol: float = field(default=1e-9, metadata=option("relative tolerance"))
    atol: float = field(default=1e-9, metadata=option("absolute tolerance"))
    first_step: float = field(default=1e-4, metadata=option("first guess of the step", "s"))
    max_step: float = field(default=float("inf"), metadata=option("longest step", "s"))
    stabilise: Baumgarte | None = None
    max_steps: int = field(default=MAX_STEPS, metadata=option("most steps for a thousandth of the run"))

    def __post_init__(self) -> None:
        if self.order not in (5, 8):
            raise DataError("unknown-choice", f"order must be 5 or 8, got {self.order!r}.", where={"argument": "order"})
        super().__post_init__()

    def structure(self) -> Hashable:
        return self.order, self.step is None, self.stabilise

    def stepper(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None = None) -> ExplicitStepper:
        table = dormand_prince(self.order)
        return ExplicitStepper(eqs, table, inputs, events, controlled=self.step is None, stabilise=self.stabilise)
