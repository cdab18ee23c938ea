"""Time integration methods, as small frozen descriptions."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import DataError
from dalembert.solve.constrained import Baumgarte


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (isinstance(value, (int, float)) and 0 < value < float("inf")):
            raise DataError(f"{name} must be a positive number, got {value!r}.")


@dataclass(frozen=True)
class RK4:
    """Classic Runge-Kutta of order 4 with a fixed step, then projection onto the joints.

    stabilise : None projects positions and speeds after every step; `Baumgarte(...)` feeds the drift back instead.
    """

    step: float
    stabilise: Baumgarte | None = None

    def __post_init__(self) -> None:
        _positive(step=self.step)


@dataclass(frozen=True)
class DormandPrince:
    """Dormand-Prince of order 8(5,3) or 5(4) with error control, then projection onto the joints. The default.

    The local error of every coordinate, speed and internal state is kept below atol + rtol |x|.
    Order 8 needs fewer evaluations from about 1e-5 on.
    """

    order: int = 8
    rtol: float = 1e-9
    atol: float = 1e-9
    first_step: float = 1e-4
    max_step: float = float("inf")
    stabilise: Baumgarte | None = None

    def __post_init__(self) -> None:
        if self.order not in (5, 8):
            raise DataError(f"order must be 5 or 8, got {self.order!r}.")
        _positive(rtol=self.rtol, atol=self.atol, first_step=self.first_step)
        if not self.max_step > 0:
            raise DataError(f"max_step must be positive, got {self.max_step!r}.")
