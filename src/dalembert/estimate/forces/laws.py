"""Laws of unknown forces: the prediction from one sample to the next.

random walk     F⁺ = F + δ ,                     δ ~ σ² per step
Gauss-Markov    F⁺ = a F + δ ,                   a = exp(-2π f_c Δt),  δ ~ σ² (1 - a²): σ is the standard deviation of F
low-passed      F⁺ = a F + (1 - a) f₂₁ + δ       f₂₁ the force that the motion gives at that sample
user's law      F⁺ = law(motion) + δ             a spring, for one
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import casadi as ca

from dalembert.core.declare import checked, positive
from dalembert.core.errors import ModelError
from dalembert.expressions import Expr

Deviation = Annotated[float, positive, "standard deviation [N or N m]"]
Cutoff = Annotated[float, positive, "bandwidth [Hz]"]


@checked
@dataclass(frozen=True)
class RandomWalk:
    """Any course, changes of ``deviation`` per step being usual."""

    deviation: Deviation

    def predict(self, force: Expr, at_once: Expr, dt: Expr, view: object) -> Expr:
        return force

    def variance(self, dt: float) -> float:
        return float(self.deviation) ** 2


@checked
@dataclass(frozen=True)
class GaussMarkov:
    """A force of limited bandwidth about zero: below ``cutoff_hz``, spreading over ``deviation``."""

    cutoff_hz: Cutoff
    deviation: Deviation

    def predict(self, force: Expr, at_once: Expr, dt: Expr, view: object) -> Expr:
        return ca.exp(-2 * ca.pi * self.cutoff_hz * dt) * force

    def variance(self, dt: float) -> float:
        return float(self.deviation) ** 2 * (1.0 - float(ca.exp(-4 * ca.pi * self.cutoff_hz * dt)))


@checked
@dataclass(frozen=True)
class LowPassed:
    """The force that the motion gives, through a first-order low-pass of ``cutoff_hz``; ``deviation`` per step."""

    cutoff_hz: Cutoff
    deviation: Deviation

    def predict(self, force: Expr, at_once: Expr, dt: Expr, view: object) -> Expr:
        a = ca.exp(-2 * ca.pi * self.cutoff_hz * dt)
        return a * force + (1 - a) * at_once

    def variance(self, dt: float) -> float:
        return float(self.deviation) ** 2


@checked
@dataclass(frozen=True)
class ForceLaw:
    """A law of its own, a function of the motion ``s`` (``s["slider.displacement"]``, ``s.t``); ``deviation`` per step.

    Examples
    --------
    >>> spring = ForceLaw(lambda s: -200.0 * s["slider.displacement"], deviation=0.5)
    """

    function: Callable[[Any], Any]
    deviation: Deviation

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ModelError("wrong-type", f"a force law needs a function of the motion, got {self.function!r}.")

    def predict(self, force: Expr, at_once: Expr, dt: Expr, view: object) -> Expr:
        from dalembert.expressions import call_user

        return ca.SX(call_user(self.function, "law of an unknown force", view))

    def variance(self, dt: float) -> float:
        return float(self.deviation) ** 2


Law = RandomWalk | GaussMarkov | LowPassed | ForceLaw
