"""Solving with the dynamic stiffness and with the resolvent, at many frequencies.

Z(ω) X = F,  Z = K + H + i K_loss + iω (C + G) - ω² M        SecondOrder
(s I - A) X = B,  s = iω, or e^{iω dt} in discrete time      StateSpace

Three ways, all backward stable:

- stacked LU, one per frequency (small systems, or few frequencies);
- one complex Schur form A = Q T Qᴴ, then triangular back-substitution with all frequencies together (dense, many
  frequencies: n² instead of n³ per frequency). Second-order systems are solved in mass-scaled coordinates and in units
  of time that make K̃ of norm one, so that its rounding is no more than that of an LU of Z;
- sparse LU per frequency, refined once.

Every solution contains a **probe**: one more right-hand side that excites all modes. Where the probe exceeds
1e13 the matrix is singular to working precision and the other columns are rounding. An error then reports a
resonance with its frequency, even where the selected inputs do not excite it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.linear import storage
from dalembert.linear.responses.frequency_response import both_units
from dalembert.numerics.balancing import balance_matrix
from dalembert.numerics.sparse.sparse_factor import Factor

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace

Pages = Iterator[tuple[slice, ComplexArray]]  # frequencies, X (frequencies, n, columns)


def solve_second_order(system: SecondOrder, w: FloatArray, F: FloatArray) -> Pages:
    """X = Z(ω)⁻¹ F, chunk by chunk; F (n, k) dense."""
    if system.is_sparse:
        yield from _sparse(system, w, F)
        return
    K, C, M = system.K_full + 1j * system.K_loss, system.C_full, system.M
    n, columns = len(M), F.shape[1] + 1
    solver = _second_order_schur(system) if _pays(len(w), n) else None
    step = _pages(n * columns if solver else n * (n + columns))
    for chunk in _chunks(len(w), step):
        wc = w[chunk]
        scale = _scale(np.diag(K), np.diag(C), np.diag(M), wc)
        right = _with_probe(F, scale)
        if solver is not None:
            X = solver(wc, right)
        else:
            Z = K - wc[:, None, None] ** 2 * M + 1j * wc[:, None, None] * C
            X = _solve_pages(Z, right, wc)
        _refuse_resonance(X[:, :, -1] * scale, wc)
        yield chunk, X[:, :, :-1]


def solve_resolvent(system: StateSpace, w: FloatArray, B: FloatArray) -> Pages:
    """X = (s I - A)⁻¹ B, chunk by chunk."""
    if not system.nx:  # a gain
        yield slice(0, len(w)), np.zeros((len(w), 0, B.shape[1]), dtype=np.complex128)
        return
    A, scaling = balance_matrix(system.A)
    s = np.asarray(1j * w if system.dt is None else np.exp(1j * w * system.dt), dtype=np.complex128)
    n, columns = len(A), B.shape[1] + 1
    solver = _schur(A) if _pays(len(w), n) else None
    step = _pages(n * columns if solver else n * (n + columns))
    rows = np.abs(A).sum(axis=1)
    for chunk in _chunks(len(w), step):
        sc = s[chunk]
        scale = np.abs(sc)[:, None] + rows
        scale[scale == 0.0] = 1.0
        right = np.empty((len(sc), n, columns), dtype=np.complex128)
        right[:, :, :-1] = B / scaling[:, None]
        right[:, :, -1] = scale * _probe(n)
        if solver is not None:
            X = solver(sc, right)
        else:
            X = _solve_pages(sc[:, None, None] * np.eye(n) - A, right, w[chunk])
        _refuse_resonance(X[:, :, -1], w[chunk])
        yield chunk, X[:, :, :-1] * scaling[:, None]


# ---- the three ways


def _pays(frequencies: int, n: int, most: int = 200, small: int = 24) -> bool:
    """Whether a Schur form of the first-order matrix takes the place of one LU per frequency.

    It costs as much as some hundred LUs of half its size; below ``small`` coordinates LU is fast enough.
    """
    return frequencies > most and n > small


def _pages(page: int, numbers: int = 4_000_000) -> int:
    """Frequencies that are solved together: 64 MB of complex doubles."""
    return max(1, numbers // page)


def _solve_pages(Z: ComplexArray, right: ComplexArray, w: FloatArray) -> ComplexArray:
    try:
        return np.asarray(np.linalg.solve(Z, right), dtype=np.complex128)
    except np.linalg.LinAlgError:
        for page, F, at in zip(Z, right, w, strict=True):
            try:
                np.linalg.solve(page, F)
            except np.linalg.LinAlgError:
                raise DataError("resonance", resonance(float(at))) from None
        raise


def _schur(A: Any) -> Callable[[ComplexArray, ComplexArray], ComplexArray]:
    """(s I - A)⁻¹ R for many s: back-substitution in the Schur form, a row at a time for all s together."""
    # a real Schur form made complex takes half the time of a complex one
    real = not np.iscomplexobj(A) or not A.imag.any()
    T, Q = scipy.linalg.rsf2csf(*scipy.linalg.schur(A.real)) if real else scipy.linalg.schur(A, output="complex")

    def solve(s: ComplexArray, right: ComplexArray) -> ComplexArray:
        pages, m, columns = right.shape
        X = (Q.conj().T @ right).transpose(1, 0, 2).reshape(m, pages * columns)
        shift = np.repeat(s, columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # the probe detects it
            for i in range(m - 1, -1, -1):
                X[i] = (X[i] + T[i, i + 1 :] @ X[i + 1 :]) / (shift - T[i, i])
            back: ComplexArray = Q @ X.reshape(m, pages, columns).transpose(1, 0, 2)
        return back

    return solve


def _second_order_schur(
    system: SecondOrder, pivot: float = 1e-6
) -> Callable[[FloatArray, ComplexArray], ComplexArray] | None:
    """As Z(ω)⁻¹ R by the Schur form of the first-order matrix; None where M is not positive definite.

    ``pivot`` : smallest over largest of the factor of M; L⁻¹ would cost six digits that the LU does not need.
    """
    try:
        L = np.linalg.cholesky(system.M)
    except np.linalg.LinAlgError:
        return None
    if np.diag(L).min() <= pivot * np.diag(L).max():
        return None
    half = scipy.linalg.solve_triangular

    def congruent(matrix: ComplexArray) -> ComplexArray:
        result: ComplexArray = half(L, half(L, matrix, lower=True).T, lower=True).T
        return result

    K, C = congruent(system.K_full + 1j * system.K_loss), congruent(system.C_full)
    n = len(L)
    unit = float(np.sqrt(np.linalg.norm(K, 2))) or 1.0  # [rad/s]
    first = np.block([[np.zeros((n, n)), unit * np.eye(n)], [-K / unit, -C]])
    resolvent = _schur(first)

    def solve(w: FloatArray, right: ComplexArray) -> ComplexArray:
        pages, _, columns = right.shape
        flat = right.transpose(1, 0, 2).reshape(n, pages * columns)
        force = half(L, flat, lower=True).reshape(n, pages, columns).transpose(1, 0, 2)
        s = np.asarray(1j * w, dtype=np.complex128)
        z = resolvent(s, np.concatenate([np.zeros_like(force), force / unit], axis=1))[:, :n]
        flat = z.transpose(1, 0, 2).reshape(n, pages * columns)
        back = half(L, flat, lower=True, trans="T", check_finite=False)
        result: ComplexArray = back.reshape(n, pages, columns).transpose(1, 0, 2)
        return result

    return solve


def _sparse(system: SecondOrder, w: FloatArray, F: FloatArray) -> Pages:
    K, C, M = system.K_full, system.C_full, system.M
    real = not (storage.nonzero(C) or storage.nonzero(system.K_loss))
    if storage.nonzero(system.K_loss):
        K = K + 1j * system.K_loss
    for k, at in enumerate(w):
        scale = _scale(K.diagonal(), C.diagonal(), M.diagonal(), w[k : k + 1])
        right = _with_probe(F, scale)[0]
        Z = K - at**2 * M
        if not real:
            Z = Z + 1j * at * C
        X = sparse_solve(Z.tocsc(), right.real if real else right)
        if X is None:
            raise DataError("resonance", resonance(float(at)))
        _refuse_resonance((X[:, -1] * scale[0])[None], w[k : k + 1])
        yield slice(k, k + 1), X[None, :, :-1].astype(np.complex128)


def sparse_solve(Z: object, right: object) -> Any:
    """Z⁻¹ right by sparse LU with one refinement; None where a pivot is exactly zero."""
    try:
        factor = Factor(Z)  # the pattern of a structure is symmetric, with G and H as well
    except ArithmeticError:
        return None
    right = np.ascontiguousarray(right)
    X = factor.solve(right)
    return X + factor.solve(right - Z @ X)


# ---- probe and resonance


def _probe(n: int) -> FloatArray:
    """(n,) of modulus between 1/2 and 1, always the same, in general orthogonal to no mode."""
    generator = np.random.default_rng(20)
    signs = np.where(generator.random(n) < 0.5, -1.0, 1.0)
    result: FloatArray = signs * generator.uniform(0.5, 1.0, n)
    return result


def _scale(K: Any, C: Any, M: Any, w: FloatArray) -> FloatArray:
    """(pages, n): root of the diagonal terms, so that metres and radians are comparable."""
    at = np.abs(w)[:, None]
    size = np.abs(K) + at * np.abs(C) + at**2 * np.abs(M)
    largest = size.max(axis=1, keepdims=True)
    largest[largest == 0.0] = 1.0
    result: FloatArray = np.sqrt(np.where(size > 0.0, size, largest))
    return result


def _with_probe(F: FloatArray, scale: FloatArray) -> ComplexArray:
    pages, n = scale.shape
    right = np.empty((pages, n, F.shape[1] + 1), dtype=np.complex128)
    right[:, :, :-1] = F
    right[:, :, -1] = scale * _probe(n)
    return right


def _refuse_resonance(probe: ComplexArray, w: FloatArray, most: float = 1e13) -> None:
    """``probe`` (pages, n): its scaled solution; ``most``: 500 roundings of its inverse."""
    with np.errstate(invalid="ignore"):
        growth = np.abs(probe).max(axis=1)
        bad = ~(growth <= most)  # also NaN
    if bad.any():
        raise DataError("resonance", resonance(float(w[int(np.argmax(bad))])))


def resonance(w: float) -> str:
    """The message for a dynamic stiffness that is singular to working precision."""
    if w == 0.0:
        return (
            "the stiffness (or A) is singular: at frequency 0 a rigid-body motion has no finite response, nor has an "
            "integrator. Start above 0, or support the structure."
        )
    return (
        f"resonance: {both_units(w)} is an undamped natural frequency, where the response is not finite. "
        "Give the system damping, or use other frequencies (frequency_grid avoids resonances). Where there is no "
        "natural frequency, the matrices are too badly scaled for double precision (elements far too short?)."
    )


def _chunks(count: int, step: int) -> Iterator[slice]:
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
