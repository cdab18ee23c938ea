"""Runge-Kutta tableaux: nodes c, matrix a, weights b, and weights of the error estimates of embedded pairs.

    k_i = f(t + c_i h, x + h Σ_j a_ij k_j) ,    x₁ = x + h Σ_i b_i k_i ,    error estimate h Σ_i e_i k_i

Sources: Hairer, Nørsett and Wanner 1993 (explicit methods), Hairer and Wanner 1996 (implicit ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Call


def _is_one(total: float, error: float = 1e-12) -> bool:
    """Whether weights add up to one: those of a book have 16 digits, of which 13 stages lose one."""
    return abs(total - 1.0) <= error


@dataclass(frozen=True)
class Tableau:
    """A Runge-Kutta method, explicit or implicit: nodes c, rows a (missing entries are zeros), weights b.

    iterations, tolerance : limit of Newton's method for implicit stages, and the residual (of k, relative to 1 + |k|)
        that counts as closed.
    errors : rows of weights whose combination of the stages estimates the local error; the derivative at the new state
        counts as one more stage.  order : of the method, 0 where it is not known.

    Examples
    --------
    >>> Tableau((0.0, 1.0), ((), (0.5, 0.5)), (0.5, 0.5)).explicit
    False
    """

    nodes: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    iterations: int = 20
    tolerance: float = 1e-10
    errors: tuple[tuple[float, ...], ...] = ()
    order: int = 0

    def __post_init__(self) -> None:
        stages = len(self.weights)
        if stages < 1 or not len(self.nodes) == len(self.rows) == stages or max(map(len, self.rows)) > stages:
            raise DataError(
                "wrong-shape",
                f"a tableau needs as many nodes and rows as weights, a row at most as long; got {len(self.nodes)} "
                f"nodes, {stages} weights, rows of {[len(row) for row in self.rows]}.",
            )
        try:
            finite = np.isfinite(np.array([*self.nodes, *self.weights], dtype=float)).all()
            finite = finite and np.isfinite(self.matrix).all()
        except (TypeError, ValueError):
            finite = False
        if not finite:
            raise DataError("not-finite", "a tableau holds an entry that is not a finite number.")
        if not _is_one(sum(self.weights)):
            raise DataError("out-of-range", f"the weights of a tableau add up to one, these to {sum(self.weights):g}.")
        whole_number("iterations", self.iterations, 1), whole_number("order", self.order)
        positive_number("tolerance", self.tolerance)

    @property
    def matrix(self) -> FloatArray:
        """(stages, stages)."""
        stages = len(self.weights)
        return np.array([[*row, *[0.0] * (stages - len(row))] for row in self.rows], dtype=float)

    @property
    def explicit(self) -> bool:
        return not np.triu(self.matrix).any()

    @property
    def leading(self) -> int:
        """Stages before the first that is not explicit."""
        late = np.flatnonzero(np.triu(self.matrix).any(axis=1))
        return int(late[0]) if len(late) else len(self.weights)


CLASSIC = Tableau(
    (0.0, 0.5, 0.5, 1.0), ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), order=4
)
TABLEAUX = {
    "euler": Tableau((0.0,), ((),), (1.0,), order=1),
    "heun": Tableau((0.0, 1.0), ((), (1.0,)), (0.5, 0.5), order=2),
    "midpoint": Tableau((0.0, 0.5), ((), (0.5,)), (0.0, 1.0), order=2),
    "rk4": CLASSIC,
    "implicit-euler": Tableau((1.0,), ((1.0,),), (1.0,), order=1),
    "implicit-midpoint": Tableau((0.5,), ((0.5,),), (1.0,), order=2),
    "implicit-trapezoidal": Tableau((0.0, 1.0), ((), (0.5, 0.5)), (0.5, 0.5), order=2),
}


@lru_cache(maxsize=2)
def dormand_prince(order: int) -> Tableau:
    """The pair of order 5(4), or that of order 8 with estimates of orders 5 and 3; coefficients from SciPy."""
    from scipy.integrate import DOP853, RK45

    pair: Any = DOP853 if order == 8 else RK45
    count = len(pair.B)
    return Tableau(
        tuple(map(float, pair.C[:count])),
        tuple(tuple(map(float, pair.A[k][:k])) for k in range(count)),
        tuple(map(float, pair.B)),
        errors=tuple(tuple(map(float, row)) for row in ([pair.E5, pair.E3] if order == 8 else [pair.E])),
        order=order,
    )


def find_tableau(method: Any) -> Tableau:
    """A method by name, or a tableau of one's own (any object with nodes, rows and weights)."""
    if isinstance(method, Tableau):
        return method
    if all(hasattr(method, part) for part in ("nodes", "rows", "weights")):
        return Tableau(tuple(method.nodes), tuple(tuple(row) for row in method.rows), tuple(method.weights))
    if not isinstance(method, str) or method not in TABLEAUX:
        raise ModelError(
            "unknown-choice", f"no Runge-Kutta method {method!r}; known are {', '.join(TABLEAUX)}.",
            Advice("Any other method is a {}.", Call("da.estimate.Tableau")),
        )  # fmt: skip
    return TABLEAUX[method]


def combine(weights: Sequence[float], stages: Sequence[Any], index: int) -> Any:
    """Σ wᵢ kᵢ[index] over the stages whose weight is not zero; 0 where there is none."""
    return sum(w * k[index] for w, k in zip(weights, stages, strict=True) if w)
