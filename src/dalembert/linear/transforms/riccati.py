"""Algebraic Riccati equations of user matrices; `numerics.riccati` states and solves them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import ArgumentKind, Scope, above_and_below, checked, matrix, one_of, symmetric
from dalembert.core.errors import DataError
from dalembert.core.results import result
from dalembert.core.text import count_noun
from dalembert.linear.eigen.roots import Roots
from dalembert.numerics import riccati


def _read_inputs(name: str, value: Any, scope: Scope) -> FloatArray:
    B: FloatArray = matrix("n", "m", vector="column").read(name, value, scope)
    if not B.size:
        raise DataError("empty", f"{name} has no column: the Riccati equation needs an input.")
    return B


System = Annotated[Any, matrix("n", "n"), "A"]
Inputs = Annotated[Any, ArgumentKind("a matrix (n, m)", _read_inputs), "B"]
StateWeight = Annotated[Any, symmetric("n"), "Q"]
InputWeight = Annotated[Any, symmetric("m"), "R, positive definite"]
CrossTerm = Annotated[Any, matrix("n", "m", vector="column"), "cross term"]
Descriptor = Annotated[Any, matrix("n", "n"), "E, invertible"]
SampleTime = Annotated[float, above_and_below(0.0, np.inf), "sample time [s], for the frequencies of the poles only"]
Method = Annotated[str, one_of("automatic", "schur", "doubling"), "solver"]


@result
class RiccatiSolution:
    """Stabilising solution of a Riccati equation.

    Attributes
    ----------
    X : (n, n), symmetric
    K : (m, n)
        Gain of u = -K x.
    poles : Roots
        Of the closed loop A - B K.
    residual : float
        ‖left-hand side‖ / Σ ‖terms‖, Frobenius.
    method : str
        Solver and number of Newton steps.
    """

    X: FloatArray
    K: FloatArray
    poles: Roots
    residual: float
    method: str

    def table(self) -> str:
        """Residual, method and poles."""
        return f"relative residual {self.residual:.1e} by {self.method}\n{self.poles.table()}"

    def __repr__(self) -> str:
        return f"RiccatiSolution: {count_noun(len(self.X), 'state')}, {self.table()}"


@checked
def care(
    A: System, B: Inputs, Q: StateWeight, R: InputWeight, S: CrossTerm | None = None, E: Descriptor | None = None,
    *, method: Method = "automatic",
) -> RiccatiSolution:  # fmt: skip
    """Stabilising solution of the continuous algebraic Riccati equation.

    Parameters
    ----------
    A : (n, n); B : (n, m); Q : (n, n), symmetric; R : (m, m), positive definite
    S : (n, m), optional
        Cross term.
    E : (n, n), invertible, optional
    method : "automatic", "schur" or "doubling"

    Examples
    --------
    >>> solution = care([[0, 1], [0, 0]], [0, 1], np.eye(2), 1.0)
    >>> solution.K.round(6).tolist()
    [[1.0, 1.732051]]
    >>> solution.residual < 1e-14
    True
    """
    return _solve(None, method, A, B, Q, R, S, E)


@checked
def dare(
    A: System, B: Inputs, Q: StateWeight, R: InputWeight, S: CrossTerm | None = None, E: Descriptor | None = None,
    *, method: Method = "automatic", dt: SampleTime = 1.0,
) -> RiccatiSolution:  # fmt: skip
    """Stabilising solution of the discrete algebraic Riccati equation; arguments as of :func:`care`.

    Examples
    --------
    >>> dare(1.0, 1.0, 1.0, 1.0).X.round(6).tolist()
    [[1.618034]]
    """
    return _solve(dt, method, A, B, Q, R, S, E)


def _solve(
    dt: float | None, method: str, A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, S: FloatArray | None,
    E: FloatArray | None,
) -> RiccatiSolution:  # fmt: skip
    S_, E_ = np.zeros_like(B) if S is None else S, np.eye(len(A)) if E is None else E
    solution = riccati.solve(riccati.RiccatiProblem(dt, A, B, Q, R, S_, E_), method)
    poles = Roots(solution.poles, dt)
    return RiccatiSolution(solution.X, solution.K, poles, solution.residual, solution.method)
