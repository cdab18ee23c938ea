"""Damping and decay of every pole of the loop."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.control.robust.generalized_plant import close_loop
from dalembert.control.structured.goal import GOALS, DesignGoal, Penalty
from dalembert.control.structured.loops import Family, FamilyLoops
from dalembert.core.declare import between, not_negative
from dalembert.core.results import result
from dalembert.linear import StateSpace


@result
class DampingGoal(DesignGoal):
    """Every pole has at least this damping ratio -Re λ / |λ|.

    Examples
    --------
    >>> DampingGoal(0.5).name()
    'damping >= 0.5'
    """

    kind: ClassVar[str] = "damping"
    least: ClassVar[bool] = True
    needs_stability: ClassVar[bool] = False
    ratio: Annotated[float, between(0.0, 1.0), "least damping ratio"]

    @property
    def limit(self) -> float:
        return self.ratio

    def prepare(self, family: Family) -> None:
        return None

    def evaluate(self, prepared: Any, loops: FamilyLoops, penalty: Penalty) -> float:
        """ζ = -x / s, s² = |λ|² + δ²: dζ = (-(y² + δ²) dx + x y dy) / s³; an unstable pole counts by x too.

        δ is a thousandth of the mean pole: the ratio of a real pole would jump where it passes the origin.
        """
        x, y, delta = loops.poles.real, loops.poles.imag, 1e-3
        size = np.sqrt(np.abs(loops.poles) ** 2 + delta**2)
        value, slope = penalty(1.0 + self.ratio + x / size + np.maximum(x, 0.0))
        loops.add_poles(slope * ((y**2 + delta**2 + 1j * x * y) / size**3 + (x > 0.0)))
        return value

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        poles = np.linalg.eigvals(close_loop(model, controller).A)
        return float(np.min(-poles.real / np.maximum(np.abs(poles), 1e-300)))


@result
class DecayGoal(DesignGoal):
    """Every pole decays at least at this rate, -Re λ [rad/s]."""

    kind: ClassVar[str] = "decay"
    least: ClassVar[bool] = True
    unit: ClassVar[str] = "rad/s"
    needs_stability: ClassVar[bool] = False
    rate: Annotated[float, not_negative, "least -Re λ [rad/s]"]

    @property
    def limit(self) -> float:
        return self.rate

    def prepare(self, family: Family) -> float:
        return self.rate / family.rate

    def evaluate(self, prepared: float, loops: FamilyLoops, penalty: Penalty) -> float:
        scale = max(prepared, 0.01)  # of the mean pole: a rate of zero asks for stability alone
        value, slope = penalty(1.0 + (prepared + loops.poles.real) / scale)
        loops.add_poles((slope / scale).astype(complex))
        return value

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return float(-np.linalg.eigvals(close_loop(model, controller).A).real.max())


GOALS.register(DampingGoal.kind, DampingGoal)
GOALS.register(DecayGoal.kind, DecayGoal)
