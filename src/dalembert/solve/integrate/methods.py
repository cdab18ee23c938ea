"""Time integration methods, as small frozen descriptions."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.core.errors import DataError
from dalembert.solve.constrained.solve import Baumgarte

MAX_STEPS = 20_000  # for a thousandth of a run: a second of work where nothing advances, 2e7 steps where all does


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
    Order 8 needs fewer evaluations from about 1e-5 on. With a `step` the step is fixed and errors are not looked at.

    max_steps : attempts for a thousandth of the run, after which it ends with a `ConvergenceError`.
    """

    order: int = 8
    step: float | None = None
    rtol: float = 1e-9
    atol: float = 1e-9
    first_step: float = 1e-4
    max_step: float = float("inf")
    stabilise: Baumgarte | None = None
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        if self.order not in (5, 8):
            raise DataError(f"order must be 5 or 8, got {self.order!r}.")
        _positive(
            rtol=self.rtol, atol=self.atol, first_step=self.first_step, step=1.0 if self.step is None else self.step,
            max_steps=self.max_steps,
        )  # fmt: skip
        if not self.max_step > 0:
            raise DataError(f"max_step must be positive, got {self.max_step!r}.")


@dataclass(frozen=True)
class Rosenbrock:
    """Linearly implicit method of order 5 for stiff machines (Rodas5P), then projection onto the joints.

    It needs no iteration: every step solves linear systems with the exact Jacobian. L-stable, so springs and dampers
    much faster than the step are no trouble.

    step : fixed step [s]; None chooses steps by `rtol` and `atol`, as `DormandPrince` does.
    max_steps : attempts for a thousandth of the run, after which it ends with a `ConvergenceError`.
    """

    step: float | None = None
    rtol: float = 1e-8
    atol: float = 1e-8
    first_step: float = 1e-5
    max_step: float = float("inf")
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        _positive(
            rtol=self.rtol, atol=self.atol, first_step=self.first_step, step=1.0 if self.step is None else self.step,
            max_steps=self.max_steps,
        )  # fmt: skip
        if not self.max_step > 0:
            raise DataError(f"max_step must be positive, got {self.max_step!r}.")

    @property
    def stabilise(self) -> None:
        """Joints are closed by projection."""
        return None


@dataclass(frozen=True)
class GeneralizedAlpha:
    """Generalized-α in Lie-group form: implicit, second order, damped at high frequencies.

    step : fixed step [s].
    rho : spectral radius at infinite frequency, 0 (fast motions die in one step) to 1 (none is damped).
    index : 3 keeps the joints closed at position level; 2 keeps them at velocity level and projects the positions.
    """

    step: float
    rho: float = 0.8
    index: int = 3

    def __post_init__(self) -> None:
        _positive(step=self.step)
        if not (isinstance(self.rho, (int, float)) and 0 <= self.rho <= 1):
            raise DataError(f"rho must lie between 0 and 1, got {self.rho!r}.")
        if self.index not in (2, 3):
            raise DataError(f"index must be 2 or 3, got {self.index!r}.")

    @property
    def stabilise(self) -> None:
        """Joints are closed by the step itself."""
        return None


@dataclass(frozen=True)
class Sundials:
    """SUNDIALS' multistep solvers: CVODES (default) or IDAS.

    CVODES integrates the index-1 form with the drift of the joints fed back, IDAS the same form with accelerations and
    multipliers as unknowns outside the error test. Both start anew from a projected state some sixteen times in a run;
    rtol and atol are of the run, a single step gets a fiftieth.

    max_steps : steps for a sixteenth of the run, after which it ends with a `ConvergenceError`.
    """

    rtol: float = 1e-8
    atol: float = 1e-8
    solver: str = "cvodes"
    max_steps: int = 100_000

    def __post_init__(self) -> None:
        _positive(rtol=self.rtol, atol=self.atol, max_steps=self.max_steps)
        if self.solver not in ("cvodes", "idas"):
            raise DataError(f"solver must be 'cvodes' or 'idas', got {self.solver!r}.")

    @property
    def stabilise(self) -> None:
        """Joints are closed by projection at every sample."""
        return None


Method = RK4 | DormandPrince | Rosenbrock | GeneralizedAlpha | Sundials
