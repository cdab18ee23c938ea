"""Algebraic Riccati equations with what a user must know of the solution: gain, poles, residual.

care   Aᵀ X E + Eᵀ X A - (Eᵀ X B + S) R⁻¹ (Bᵀ X E + Sᵀ) + Q = 0              K = R⁻¹ (Bᵀ X E + Sᵀ)
dare   Aᵀ X A - Eᵀ X E - (Aᵀ X B + S) (R + Bᵀ X B)⁻¹ (Bᵀ X A + Sᵀ) + Q = 0     K = (R + Bᵀ X B)⁻¹ (Bᵀ X A + Sᵀ)

X is the stabilising solution: A - B K is stable (with E: the pencil A - B K - λ E). Below 100 states SciPy's Schur
method is best; above, doubling (`doubling`) is several times faster, and SciPy's method takes over where it fails.
The residual is relative to the sizes of the terms it is the sum of, and is always told.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.errors import ConvergenceError, DataError
from dalembert.linear import checks
from dalembert.linear.checks import FloatArray
from dalembert.linear.roots import Roots

# Relative residuals: above the first a warning, above the second no solution.
POOR, USELESS = 1e-8, 1e-3
SEMIDEFINITE = 1e-10  # of a weight: eigenvalues below minus this, relative to the largest, make it indefinite


class RiccatiSolution(checks.Frozen):
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
        How it was found.
    """

    X: FloatArray
    K: FloatArray
    poles: Roots
    residual: float
    method: str

    def __init__(self, X: FloatArray, K: FloatArray, poles: Roots, residual: float, method: str) -> None:
        self._freeze(X=X, K=K, poles=poles, residual=residual, method=method)

    def table(self) -> str:
        """Residual, method and poles."""
        return f"relative residual {self.residual:.1e} by {self.method}\n{self.poles.table()}"

    def __repr__(self) -> str:
        return f"RiccatiSolution: {checks.counted(len(self.X), 'state')}, {self.table()}"


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
    return _solved(None, method, *_matrices(A, B, Q, R, S, E))


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
    return _solved(dt, method, *_matrices(A, B, Q, R, S, E))


def _matrices(A: Any, B: Any, Q: Any, R: Any, S: Any, E: Any) -> tuple[FloatArray, ...]:
    A_ = checks.square("A", A)
    n = len(A_)
    B_ = checks.matrix("B", B, n, None, "one row per state", vector="column")
    m = B_.shape[1]
    if m == 0:
        raise DataError("B has no column: without an input there is nothing to solve.")
    Q_ = symmetric("Q", checks.matrix("Q", Q, n, n, "the size of A"))
    R_ = symmetric("R", checks.matrix("R", R, m, m, "one row and column per input"))
    S_ = np.zeros((n, m)) if S is None else checks.matrix("S", S, n, m, "as B", vector="column")
    E_ = np.eye(n) if E is None else checks.matrix("E", E, n, n, "the size of A")
    return A_, B_, Q_, R_, S_, E_


def symmetric(symbol: str, value: FloatArray) -> FloatArray:
    """The symmetric part; refused where the rest is more than rounding."""
    apart = np.abs(value - value.T)
    if apart.max(initial=0.0) > 1e-9 * np.abs(value).max(initial=0.0):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise DataError(
            f"{symbol} must be symmetric: {symbol}[{i}, {j}] = {value[i, j]:g}, {symbol}[{j}, {i}] = {value[j, i]:g}."
        )
    half: FloatArray = 0.5 * (value + value.T)
    return half


def _solved(dt: float | None, method: str, A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, S: FloatArray,
            E: FloatArray) -> RiccatiSolution:  # fmt: skip
    if method not in ("automatic", "schur", "doubling"):
        raise DataError(f"method must be 'automatic', 'schur' or 'doubling', got {method!r}.")
    identity = bool(np.array_equal(E, np.eye(len(E))))
    solver = scipy.linalg.solve_continuous_are if dt is None else scipy.linalg.solve_discrete_are
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = solver(A, B, Q, R, e=None if identity else E, s=S if S.any() else None)
    except np.linalg.LinAlgError as error:
        raise ConvergenceError(
            f"no stabilising solution of the Riccati equation was found ({error}). Some mode is not reached by any "
            "input, or not weighted and not damped."
        ) from None
    X = 0.5 * (X + X.T)
    return finish(dt, X, A, B, Q, R, S, E, "Schur")


def finish(dt: float | None, X: FloatArray, A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, S: FloatArray,
           E: FloatArray, method: str) -> RiccatiSolution:  # fmt: skip
    """Gain, poles and residual of X, which is refused where it solves nothing."""
    K, residual = gain_and_residual(dt, X, A, B, Q, R, S, E)
    if not residual <= USELESS:
        raise ConvergenceError(f"the Riccati equation is not solved: relative residual {residual:.1e}.")
    if residual > POOR:
        warnings.warn(
            f"the Riccati equation is solved only to {residual:.1e} (relative residual); the gain may be off by more. "
            "Scale the states and weights, or look for a mode that is hardly reached or seen.", stacklevel=5,
        )  # fmt: skip
    closed = A - B @ K
    values = scipy.linalg.eigvals(closed) if np.array_equal(E, np.eye(len(E))) else scipy.linalg.eigvals(closed, E)
    outside = values.real.max() if dt is None else np.abs(values).max() - 1.0
    if not outside < 0.0:
        raise ConvergenceError(
            "the solution of the Riccati equation is not stabilising: some mode is on the border of stability and "
            "is not reached by any input, or not weighted."
        )
    return RiccatiSolution(X, K, Roots(values, dt), residual, method)


def gain_and_residual(
    dt: float | None, X: FloatArray, A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, S: FloatArray,
    E: FloatArray,
) -> tuple[FloatArray, float]:  # fmt: skip
    """K (m, n), and the relative residual of X."""
    AX = A.T @ X
    if dt is None:
        first = AX @ E
        right = B.T @ X @ E + S.T
        K = scipy.linalg.solve(R, right, assume_a="sym")
        terms = (first, first.T, -right.T @ K, Q)
    else:
        right = B.T @ X @ A + S.T
        K = scipy.linalg.solve(R + B.T @ X @ B, right, assume_a="sym")
        terms = (AX @ A, -E.T @ X @ E, -right.T @ K, Q)
    total = float(np.linalg.norm(sum(terms)))
    size = sum(float(np.linalg.norm(term)) for term in terms)
    return K, total / size if size else total
