"""Poses where the measured inputs do not determine the independent coordinates (Palomba 2016, ch. 2).

At a dead point S loses rank and z̈ = (SᵀS)⁻¹Sᵀ(u - Ṡż) is unbounded. Inside a set Ω around such poses the constraint is
not used; the chain of integrators is kept and its highest derivative walks at random:

    z_k = z + Δt ż ,   ż_k = ż + Δt z̈ ,   z̈_k = z̈ + δ             (eqs. 2.20, 2.21 there let the whole state walk)

Ω is where a distance from the singular poses is small: the determinant det(SᵀS) over its largest value in the
workspace (so that units do not matter), a window of an angle, or any expression. With ``leave`` above ``enter`` the
distance must grow to ``leave`` before the constraint is used again: no chattering.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import casadi as ca

from dalembert.core.declare import checked, number, positive
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Expr
from dalembert.expressions.quantities import is_real

SX = ca.SX


Number = Annotated[float, number, "of a coordinate"]
Positive = Annotated[float, positive, "of a distance"]


@checked
@dataclass(frozen=True)
class Window:
    """Distance of a coordinate, or of a sum of multiples of coordinates, from ``centre`` + k ``period``.

    ``Window("B.angle")`` is small where the angle is near 0, π, 2π, ...; units are those of the coordinate.
    """

    coordinate: str | tuple[tuple[str, float], ...]
    centre: Number = 0.0
    period: Positive | None = math.pi

    def __call__(self, s: Any) -> Any:
        terms = ((self.coordinate, 1.0),) if isinstance(self.coordinate, str) else self.coordinate
        off = sum(factor * s[name] for name, factor in terms) - self.centre
        if self.period is None:
            return ca.fabs(off)
        turn = 2 * math.pi / self.period  # one turn of the arc per period
        return ca.fabs(ca.atan2(ca.sin(off * turn), ca.cos(off * turn))) / turn


@checked
@dataclass(frozen=True)
class Switching:
    """When the constraint is left out near singular poses.

    Parameters
    ----------
    enter : distance at and below which the highest derivative walks at random.
    leave : distance at which the constraint is used again, at least ``enter``; None: ``enter`` too (no hysteresis).
    distance : None: det(SᵀWS) over its largest value in the workspace; or a function of the state that returns a
        distance, such as ``Window("B.angle")`` or ``lambda s: da.math.absolute(s["A.angle"] - 1.57)``.

    Examples
    --------
    >>> import dalembert as da
    >>> da.estimate.Switching(0.08, distance=da.estimate.Window("B.angle"))
    Switching(enter=0.08, leave=None, distance=Window(coordinate='B.angle', centre=0.0, period=3.141592653589793))
    """

    enter: Positive
    leave: float | None = None
    distance: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.leave is not None and not (is_real(self.leave) and self.enter <= self.leave < math.inf):
            raise ModelError(
                "out-of-range",
                f"leave must be at least enter ({self.enter:g}), got {self.leave!r}: the constraint is used again once "
                "the distance has grown to it.",
            )
        if self.distance is not None and not callable(self.distance):
            raise ModelError(
                "wrong-type",
                f"distance is no function: {self.distance!r}.",
                Advice("Use a function of the state, such as {}.", Call("da.estimate.Window")),
            )

    @property
    def remembers(self) -> bool:
        """Whether being inside depends on having been inside."""
        return self.leave is not None and self.leave > self.enter

    def inside(self, distance: Expr, before: Expr) -> Expr:
        """1 where the random walk is used, 0 elsewhere (expression)."""
        near = distance <= self.enter
        if not self.remembers:
            return near
        return ca.if_else(near, 1, ca.if_else(distance >= self.leave, 0, before))


def gram_determinant(S: Expr) -> Expr:
    """det(SᵀS) as the product of squared lengths of the columns of S made orthogonal one after another (SX)."""
    basis: list[Any] = []
    result = SX(1)
    for j in range(S.shape[1]):
        column = S[:, j]
        for q in basis:
            column = column - q * ca.dot(q, column)
        size = ca.sumsqr(column)
        result = result * size
        basis.append(column / ca.sqrt(size + 1e-300))  # a column of zeros must not make 0/0
    return result
