"""Algebraic Riccati equations of user matrices; `numerics.riccati` states and solves them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix, one_of, square
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.text import count_noun
from dalembert.linear import storage
from dalembert.linear.eigen.roots import Roots
from dalembert.numerics import riccati


@frozen
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


def care(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, S: ArrayLike | None = None, E: ArrayLike | None = None,
    *, method: str = "automatic",
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
    return _solve(None, method, *_read_matrices(A, B, Q, R, S, E))


def dare(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, S: ArrayLike | None = None, E: ArrayLike | None = None,
    *, method: str = "automatic", dt: float = 1.0,
) -> RiccatiSolution:  # fmt: skip
    """Stabilising solution of the discrete algebraic Riccati equation; arguments as of :func:`care`.

    Parameters
    ----------
    dt : float
        Sample time [s], for the frequencies of the poles only.

    Examples
    --------
    >>> dare(1.0, 1.0, 1.0, 1.0).X.round(6).tolist()
    [[1.618034]]
    """
    return _solve(dt, method, *_read_matrices(A, B, Q, R, S, E))


def _read_matrices(A: object, B: object, Q: object, R: object, S: object, E: object) -> tuple[FloatArray, ...]:
    A_ = square("A", A)
    n = len(A_)
    B_ = matrix("B", B, n, None, "one row per state", vector="column")
    m = B_.shape[1]
    if m == 0:
        raise DataError("empty", "B has no column: the Riccati equation needs an input.")
    Q_ = symmetric("Q", matrix("Q", Q, n, n, "the size of A"))
    R_ = symmetric("R", matrix("R", R, m, m, "one row and column per input"))
    S_ = np.zeros((n, m)) if S is None else matrix("S", S, n, m, "as B", vector="column")
    E_ = np.eye(n) if E is None else matrix("E", E, n, n, "the size of A")
    return A_, B_, Q_, R_, S_, E_


def symmetric(symbol: str, value: FloatArray) -> FloatArray:
    """The symmetric part; a skew part above rounding is an error."""
    apart = np.abs(value - value.T)
    if apart.max(initial=0.0) > storage.LIMITS.asymmetry * np.abs(value).max(initial=0.0):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise DataError(
            "not-symmetric",
            f"{symbol} must be symmetric: {symbol}[{i}, {j}] = {value[i, j]:g}, {symbol}[{j}, {i}] = {value[j, i]:g}.",
        )
    half: FloatArray = 0.5 * (value + value.T)
    return half


def _solve(
    dt: float | None, method: str, A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, S: FloatArray,
    E: FloatArray,
) -> RiccatiSolution:  # fmt: skip
    one_of("method", method, ("automatic", "schur", "doubling"))
    found = riccati.solve(riccati.RiccatiProblem(dt, A, B, Q, R, S, E), method)
    poles = Roots(found.poles, dt)
    return RiccatiSolution(X=found.X, K=found.K, poles=poles, residual=found.residual, method=found.method)
