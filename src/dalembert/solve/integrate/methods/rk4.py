"""The classic Runge-Kutta method of order 4."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.numerics.runge_kutta import CLASSIC
from dalembert.solve.constrained.solve import Baumgarte
from dalembert.solve.integrate.explicit_step import ExplicitStepper
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.method import OneStep, integrator, option


@integrator
@dataclass(frozen=True)
class RK4(OneStep):
    """Classic Runge-Kutta of order 4 with a fixed step, then projection onto the joints.

    stabilise : None projects positions and speeds after every step; `Baumgarte(...)` feeds the drift back instead.
    """

    explicit: ClassVar[bool] = True
    stable: ClassVar[float] = 2.78  # of a motion that decays; 2.83 of one that vibrates

    step: float = field(metadata=option("fixed step", "s"))
    stabilise: Baumgarte | None = None

    def __post_init__(self) -> None:
        positive_number("step", self.step)

    def initial_step(self, span: float) -> float:
        return float(self.step)

    def structure(self) -> Hashable:
        return self.stabilise

    def numbers(self, *, controlled: bool = True) -> Array:
        return np.zeros(4)

    def stepper(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None = None) -> ExplicitStepper:
        return ExplicitStepper(eqs, CLASSIC, inputs, events, stabilise=self.stabilise)
