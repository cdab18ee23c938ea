"""Algebraic Riccati equations: the stabilising solution by Schur's method or by doubling, with Newton steps.

care   Aᵀ X E + Eᵀ X A - (Eᵀ X B + S) R⁻¹ (Bᵀ X E + Sᵀ) + Q = 0              K = R⁻¹ (Bᵀ X E + Sᵀ)
dare   Aᵀ X A - Eᵀ X E - (Aᵀ X B + S) (R + Bᵀ X B)⁻¹ (Bᵀ X A + Sᵀ) + Q = 0     K = (R + Bᵀ X B)⁻¹ (Bᵀ X A + Sᵀ)

X is the stabilising solution: A - B K is stable (with E: the pencil A - B K - λ E). Below 100 states SciPy's Schur
method is best; above, doubling (`doubling`) is several times faster, and SciPy's method replaces it where it fails.
The residual is relative to the norms of its terms; every solution reports it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError, DalembertWarning
from dalembert.core.findings import Advice
from dalembert.core.text import count_noun
from dalembert.numerics import doubling
from dalembert.numerics.balancing import balance_matrix


@dataclass(frozen=True)
class RiccatiProblem:
    """The matrices of one equation, dt None for continuous time."""

    dt: float | None
    A: FloatArray
    B: FloatArray
    Q: FloatArray
    R: FloatArray
    S: FloatArray
    E: FloatArray

    @cached_property
    def plain(self) -> bool:
        """Whether E is the identity."""
        return bool(np.array_equal(self.E, np.eye(len(self.E))))

    def evaluate(self, X: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """K (m, n), the left-hand side (n, n) of X, and its size relative to its terms."""
        A, B, E, S = self.A, self.B, self.E, self.S
        XE = X if self.plain else X @ E
        if self.dt is None:
            first = A.T @ XE
            right = B.T @ XE + S.T
            K = scipy.linalg.solve(self.R, right, assume_a="sym")
            terms = (first, first.T, -right.T @ K, self.Q)
        else:
            XA = X @ A
            right = B.T @ XA + S.T
            K = scipy.linalg.solve(self.R + B.T @ X @ B, right, assume_a="sym")
            terms = (A.T @ XA, -XE if self.plain else -E.T @ XE, -right.T @ K, self.Q)
        total: FloatArray = terms[0] + terms[1] + terms[2] + terms[3]
        size = sum(float(np.linalg.norm(term)) for term in terms)
        return K, total, float(np.linalg.norm(total)) / size if size else 0.0


@dataclass(frozen=True)
class StabilisingSolution:
    """X (n, n), gain K (m, n), poles (n,) of the closed loop, relative residual, and the method in words."""

    X: FloatArray
    K: FloatArray
    poles: ComplexArray
    residual: float
    method: str


def solve(problem: RiccatiProblem, method: str, doubling: float = 1e-11, large: int = 100) -> StabilisingSolution:
    """The stabilising solution by "schur", "doubling", or "automatic", which chooses by size.

    doubling : SciPy's method is tried as well above it: with 20 states and random matrices both methods reach 2e-15.

    large : states from which doubling is tried first.
    """
    tried = ""
    if method == "doubling" or (method == "automatic" and len(problem.A) >= large):
        try:
            X, steps = refine(problem, solve_by_doubling(problem))
            found = finish(problem, X, f"doubling and {count_noun(steps, 'Newton step')}")
            if method == "doubling" or found.residual <= doubling:
                return found
            tried = f" after doubling (residual {found.residual:.1e})"
        except (ConvergenceError, np.linalg.LinAlgError, ValueError) as error:
            if method == "doubling":
                raise ConvergenceError(
                    "not-stabilizable", f"no stabilising solution of the Riccati equation by doubling: {error}"
                ) from None
            tried = " after doubling failed"
    X, steps = refine(problem, by_schur(problem))
    newton = f" and {count_noun(steps, 'Newton step')}" if steps else ""
    return finish(problem, X, f"Schur{newton}{tried}")


def by_schur(problem: RiccatiProblem) -> FloatArray:
    """X by SciPy."""
    solver = scipy.linalg.solve_continuous_are if problem.dt is None else scipy.linalg.solve_discrete_are
    e, s = None if problem.plain else problem.E, problem.S if problem.S.any() else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = solver(problem.A, problem.B, problem.Q, problem.R, e=e, s=s)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ConvergenceError(
            "not-stabilizable",
            f"no stabilising solution of the Riccati equation was found ({error}) Some mode is not reached by any "
            "input, or not weighted and not damped.",
        ) from None
    X = 0.5 * (X + X.T)
    if not np.all(np.isfinite(X)):
        raise ConvergenceError("no-solution", "no finite solution of the Riccati equation was found.")
    return np.asarray(X)


def solve_by_doubling(problem: RiccatiProblem) -> FloatArray:
    """X by the doubling algorithm, from the sampled system or the Cayley transform of the continuous one."""
    A, B, Q, R, S = problem.A, problem.B, problem.Q, problem.R, problem.S
    if not problem.plain:  # Y = Eᵀ X E solves the equation of E⁻¹ A, E⁻¹ B
        factors = scipy.linalg.lu_factor(problem.E)
        A, B = scipy.linalg.lu_solve(factors, A), scipy.linalg.lu_solve(factors, B)
    both = scipy.linalg.solve(R, np.hstack([B.T, S.T]), assume_a="pos")
    n = len(A)
    A, G, Q = A - B @ both[:, n:], B @ both[:, :n], Q - S @ both[:, n:]
    scale = hamiltonian_scale(A, G, Q)
    A, G, Q = A * scale / scale[:, None], G / scale[:, None] / scale, Q * scale[:, None] * scale
    if problem.dt is None:
        X = doubling.limit(doubling.cayley(A, G, Q, _shift(A)))
    else:
        X = doubling.limit((A, G, Q))
    X = X / scale[:, None] / scale
    if not problem.plain:
        X = scipy.linalg.lu_solve(factors, scipy.linalg.lu_solve(factors, X, trans=1).T, trans=1)
    return 0.5 * (X + X.T)


def _shift(A: FloatArray) -> float:
    """γ > 0 of the size of the poles and away from any of them, so that A - γ I can be inverted."""
    values = np.linalg.eigvals(A)
    size = float(np.median(np.abs(values))) or float(np.linalg.norm(A)) or 1.0
    near = size * np.array([1.0, 1.25, 0.8, 1.6, 0.625])
    distance = np.abs(values[None, :] - near[:, None]).min(axis=1) / near
    return float(near[int(distance.argmax())])


def hamiltonian_scale(A: FloatArray, G: FloatArray, Q: FloatArray) -> FloatArray:
    """Scales of the states, powers of two, that balance the Hamiltonian [[A, -G], [-Q, -Aᵀ]]."""
    sizes = np.abs(np.block([[A, G], [Q, A.T]]))
    _, both = balance_matrix(sizes)
    exponents = np.log2(both)
    return np.asarray(np.exp2(np.round(0.5 * (exponents[: len(A)] - exponents[len(A) :]))))


def refine(problem: RiccatiProblem, X: FloatArray, good: float = 1e-14, most_steps: int = 6) -> tuple[FloatArray, int]:
    """X after Newton steps (Kleinman 1968), as long as they reduce the residual, and their number.

    The correction Δ solves the Lyapunov equation of the closed loop with the residual on its right-hand side.

    good : Newton's method stops at this residual (some ε of the terms), or after so many steps; it converges
    quadratically, so that six steps lead from `useless` to rounding with three to spare.
    """
    K, rest, residual = problem.evaluate(X)
    steps = 0
    while residual > good and steps < most_steps:
        closed = problem.A - problem.B @ K
        if not problem.plain:
            closed = np.asarray(np.linalg.solve(problem.E.T, closed.T)).T  # (A - B K) E⁻¹
            rest = np.asarray(np.linalg.solve(problem.E.T, np.linalg.solve(problem.E.T, rest).T))
        try:
            change = lyapunov(closed, 0.5 * (rest + rest.T), problem.dt)
        except np.linalg.LinAlgError:
            break
        candidate = X + 0.5 * (change + change.T)
        if not np.all(np.isfinite(candidate)):
            break
        K_, rest_, residual_ = problem.evaluate(candidate)
        if not residual_ < 0.5 * residual:
            break
        X, K, rest, residual, steps = candidate, K_, rest_, residual_, steps + 1
    return X, steps


def lyapunov(A: FloatArray, Q: FloatArray, dt: float | None) -> FloatArray:
    """Δ of Aᵀ Δ + Δ A + Q = 0, sampled Aᵀ Δ A - Δ + Q = 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly singular: the step that follows is judged by its residual
        if dt is None:
            return np.asarray(scipy.linalg.solve_continuous_lyapunov(A.T, -Q))
        return np.asarray(scipy.linalg.solve_discrete_lyapunov(A.T, Q, method="bilinear" if len(A) > 1 else None))


def finish(
    problem: RiccatiProblem, X: FloatArray, method: str, poor: float = 1e-8, useless: float = 1e-3
) -> StabilisingSolution:
    """Gain, poles and residual of X; refuses an X with a large residual or without a stable closed loop.

    poor : warn above it: the gain then has fewer than eight digits at best.
    useless : no solution above it: not three digits of the equation hold.
    """
    K, _, residual = problem.evaluate(X)
    if not residual <= useless:
        raise ConvergenceError(
            "no-convergence", f"the Riccati equation is not solved: relative residual {residual:.1e}."
        )
    closed = problem.A - problem.B @ K
    values = scipy.linalg.eigvals(closed) if problem.plain else scipy.linalg.eigvals(closed, problem.E)
    outside = values.real.max() if problem.dt is None else np.abs(values).max() - 1.0
    if not outside < 0.0:
        raise ConvergenceError(
            "not-stabilizable",
            "the solution of the Riccati equation is not stabilising: some mode is on the stability boundary and "
            "is not reached by any input, or not weighted.",
        )
    if residual > poor:
        warnings.warn(
            DalembertWarning(
                "no-convergence",
                f"the Riccati equation is solved only to {residual:.1e} (relative residual); the gain errs more.",
                Advice("Scale the states and weights, or find a mode that inputs or weights hardly affect."),
                evidence={"residual": residual},
            ),
            stacklevel=5,
        )
    return StabilisingSolution(X, K, values, residual, method)
