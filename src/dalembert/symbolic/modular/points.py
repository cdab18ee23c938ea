"""Points on the constraints of a model: random ones, and the pose that its parts were placed in.

Ranks and zeros are decided there. A row may follow from others only where the constraints hold, so that points off them
would give a higher rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice
from dalembert.expressions import Array
from dalembert.symbolic.modular.motion import POINTS, ModularMotion


@dataclass(frozen=True)
class ModularPoint:
    """Numbers of every variable up to an order, of inputs, parameters and time."""

    columns: tuple[Array, ...]

    def arguments(self, order: int, top: int) -> list[Array]:
        """The columns of a function of variables up to ``order``; this point has them up to ``top``."""
        return [*self.columns[: order + 1], *self.columns[top + 1 :]]


class ModularPoints:
    """Points of a model, made on first use."""

    def __init__(self, motion: ModularMotion, top: int, count: int = POINTS, starts: int = 12) -> None:
        self.starts = starts  # random poses from which a point is looked for
        self.motion = motion
        self.top = top
        self.count = count

    @property
    def words(self) -> str:
        """How the decisions were taken."""
        placed = " and at the pose given" if self._is_placed else ""
        return f"decided at {self.count} random points on the constraints{placed}, not proved"

    @cached_property
    def _is_placed(self) -> bool:
        return {entry.label for entry in self.motion.variables(0)} <= set(self.motion.placement) and bool(
            self.motion.placement
        )

    @cached_property
    def _residuals(self) -> list[tuple[ca.Function, ca.Function]]:
        functions = []
        for k in range(self.top + 1):
            stack = ca.vertcat(ca.SX(0, 1), *(row.expression for row in self.motion.invariants_of(k)))
            q = self.motion.symbols(k)
            functions.append((self.motion.function([stack], k), self.motion.function([ca.jacobian(stack, q)], k)))
        return functions

    @cached_property
    def all(self) -> list[ModularPoint]:
        """Random points, and the pose given first where there is one."""
        rng = np.random.default_rng(7)
        points: list[ModularPoint] = []
        if self._is_placed:
            start = np.array([self.motion.placement[entry.label] for entry in self.motion.variables(0)])
            try:
                points.append(self._point(rng, start, 0.3))
            except _OpenError as error:
                raise self._contradiction((error.residual, error.row)) from None
        worst: tuple[float, str] = (0.0, "")
        while len(points) < self.count + self._is_placed:
            for attempt in range(self.starts):
                try:
                    points.append(self._point(rng, self._start(rng, attempt), 1.0))
                    break
                except _OpenError as error:
                    worst = max(worst, (error.residual, error.row))
            else:
                raise self._contradiction(worst)
        return points

    def close(self, q: Array) -> Array | None:
        """The pose on the constraints nearest to a guess; None where there is none."""
        p = self.motion.parameter_values(random=np.random.default_rng(3))
        try:
            return self._close(0, [], q, [np.zeros(len(self.motion.inputs)), p, np.zeros(1)])
        except _OpenError:
            return None

    def _start(self, rng: Any, attempt: int) -> Array:
        entries = self.motion.variables(0)
        spread = 0.5 if attempt % 2 == 0 else 1.0
        centre = np.array([self.motion.placement.get(entry.label, 0.6) for entry in entries])
        return np.asarray(centre + spread * rng.uniform(-0.5, 0.5, len(entries)))

    def _point(self, rng: Any, start: Array, spread: float) -> ModularPoint:
        motion = self.motion
        p = motion.parameter_values(random=np.random.default_rng(3))
        u = rng.uniform(-1.0, 1.0, len(motion.inputs))
        t = np.array([0.0 if not motion.invariants else 0.37])
        columns: list[Array] = []
        for k in range(self.top + 1):
            q = start if k == 0 else spread * rng.uniform(-1.0, 1.0, len(motion.variables(k)))
            columns.append(self._close(k, columns, q, [u, p, t]))
        return ModularPoint((*columns, u, p, t))

    def _close(
        self,
        k: int,
        lower: list[Array],
        q: Array,
        rest: list[Array],
        closed: float = 1e-10,  # largest residual, relative to the largest variable above one
        weak: float = 1e-10,  # singular value of a step, which needs weak directions: with 1e-9 the bicycle of
        # Meijaard et al. (2007) closes to 4e-8 only
        steps: int = 60,
    ) -> Array:
        value, slope = self._residuals[k]
        for _ in range(steps):
            r = np.array(value(*lower, q, *rest)).ravel()
            if not r.size or np.abs(r).max() < closed * max(1.0, float(np.abs(q).max(initial=0.0))):
                return q
            if not np.isfinite(r).all():
                break
            J = np.array(slope(*lower, q, *rest)).reshape(r.size, q.size)
            step = np.linalg.lstsq(J, -r, rcond=weak)[0]
            q = q + step / max(1.0, float(np.linalg.norm(step)))
        names = [row.name for row in self.motion.invariants_of(k)]
        which = int(np.argmax(np.abs(r))) if np.isfinite(r).all() else int(np.flatnonzero(~np.isfinite(r))[0])
        raise _OpenError(float(np.abs(r[which])), names[which])

    def _contradiction(self, worst: tuple[float, str]) -> ModelError:
        residual, row = worst
        return ModelError(
            "no-solution", f"no pose of {self.motion.root.name!r} was found that satisfies constraint {row!r} together "
            f"with the others ({self.starts} random starts, residual {residual:.3g}).",
            Advice("A constraint may contradict another one, or lengths do not close: give a pose with place(...)."),
            where={"row": row}, evidence={"residual": residual},
        )  # fmt: skip

    def evaluate(self, expression: Any, order: int) -> Array:
        """Values of a matrix at all points: (points, rows, columns)."""
        function = self.motion.function([expression], order)
        values = [np.array(function(*point.arguments(order, self.top))) for point in self.all]
        return np.array(values).reshape(len(values), *expression.shape)


class _OpenError(Exception):
    def __init__(self, residual: float, row: str) -> None:
        super().__init__(row)
        self.residual, self.row = residual, row
