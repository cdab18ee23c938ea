"""Projections of block-Hankel data and the observability matrix they give.

With the rows ordered U_f, W_p = (U_p, Y_p), Y_f the factor is

    [U_f]   [L11          ]
    [W_p] = [L21  L22     ] Q,        Q Qᵀ = I
    [Y_f]   [L31  L32  L33]

moesp   Γ from L32: the future outputs without future inputs, on the past (Verhaegen 1994, past outputs as instruments)
n4sid   Γ from the oblique projection O = L32 L22⁺ W_p = Γ X, free of the future inputs, which again is L32 (the robust
        algorithm of Van Overschee and De Moor 1996): O itself divides by the part of the past that is independent of
        the future inputs, which nearly vanishes where inputs are periodic or coloured. Its A, from two state sequences
        free of the future inputs, is then that of the shift of Γ: Γ₋⁺ L32[1:] (Γ⁺ L32)⁺ = Γ₋⁺ Γ[1:]
cva     Γ from (L32 L32ᵀ + L33 L33ᵀ)^(-1/2) L32: its singular values are the canonical correlations of past and future
        given the future inputs (Larimore 1990)

L33 = H_e diag(S^(1/2)), H_e lower block triangular with I, C K, C A K, ... below each other: the innovations of the
future, which give K and S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.identify.subspace.hankel_factor import HankelFactor, triangularize

INPUT_METHODS = ("moesp", "n4sid", "cva")
OUTPUT_METHODS = ("ssi_data", "ssi_cov")


@dataclass(frozen=True, eq=False)
class Projection:
    """Γ of every order at once.

    ``vectors`` (i·ny, k) and ``values`` (k,): Γ of order n is ``vectors[:, :n] √values[:n]``, outputs scaled;
    ``explained`` and ``innovations``: L32 and L33; ``sensors`` (sensors, k): first rows of Γ at all sensors, where Γ
    has those of the references only.
    """

    method: str
    hankel: HankelFactor
    vectors: FloatArray
    values: FloatArray
    explained: FloatArray
    innovations: FloatArray
    meaning: str
    sensors: FloatArray | None = None

    def correlations(self) -> FloatArray:
        """Canonical correlations of past and future given the future inputs, (k,)."""
        return self.values if self.method == "cva" else _canonical(self.explained, self.innovations)[1]

    @property
    def noise_free(self, noise_free: float = 1e-5) -> bool:
        """Whether past and inputs determine the future outputs.

        noise_free : root mean square of future outputs, relative to their size, that past and inputs do not explain in
        noise-free data: a past of this resolution leaves 1e-7 to 1e-6, 16 bits of a converter 1e-4.
        """
        return bool((np.linalg.norm(self.innovations, axis=1) < noise_free).all())

    @property
    def rank(self, rounding: float = 1e-8) -> int:
        """Number of states that are no rounding.

        rounding : singular values of L32 relative to the largest that are rounding: 0.01 % noise leaves 1e-4.
        """
        sizes = np.linalg.svd(self.explained, compute_uv=False)
        return max(1, int(np.count_nonzero(sizes > rounding * sizes[0])))

    @property
    def room(self) -> int:
        """Largest order. Where forces are unknown, dependent outputs leave a past of fewer numbers than it has rows:
        more states would be rounding."""
        rank = len(self.values) if self.noise_free else self.rank
        return max(1, min((self.hankel.rows - 1) * self.hankel.ny, rank - 1))

    def observability(self, order: int) -> FloatArray:
        """Γ (i, ny, order), outputs scaled to unit root mean square."""
        gamma: FloatArray = self.vectors[:, :order] * np.sqrt(self.values[:order])
        return gamma.reshape(self.hankel.rows, self.hankel.ny, order)


def split(hankel: HankelFactor, resolution: float = 2e-6) -> tuple[FloatArray, FloatArray]:
    """L32 and L33 of inputs and past outputs that have a white noise of their resolution.

    resolution : resolution of a channel relative to its size, some 19 bits. Combinations of samples that are weaker
    (noise-free, oversampled or band-limited data, a hammer at rest) are not known: they fade out, and no rank is
    decided. Chosen among eight values from 1e-7 to 5e-6 on the records of the tests: at 5e-7 and below results move
    with the ninth digit, or stay close to their limits; the stable states of the robot arm are 4 at up to 3e-7 and at
    2e-6, 6 at the others.
    """
    L, a = hankel.standard, hankel.rows * hankel.nu
    b = hankel.rows * (2 * hankel.nu + hankel.ny)
    L = triangularize(np.hstack([L, resolution * np.eye(len(L), b)]))
    return L[b:, a:b], L[b:, b:]


def project(hankel: HankelFactor, method: str) -> Projection:
    """Γ and its singular values."""
    L32, L33 = split(hankel)
    if method == "cva":
        vectors, values = _canonical(L32, L33)
        meaning = "canonical correlations of past and future given the future inputs"
    elif method == "ssi_cov":
        F, i = hankel.factor, hankel.rows
        vectors, values = _decompose_left(F[hankel.places("y", i, 2 * i)] @ F[hankel.places("y", 0, i)].T)
        meaning = "singular values of the output covariances"
    else:
        vectors, values = _decompose_left(L32)
        meaning = "singular values of the future outputs, free of the future inputs, projected on the past"
    return Projection(method, hankel, vectors, values, L32, L33, meaning)


def _decompose_left(M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Left singular vectors and singular values."""
    U, s, _ = scipy.linalg.svd(M, full_matrices=False, check_finite=False)
    return U, s


def _canonical(L32: FloatArray, L33: FloatArray, rank: float = 1e-10) -> tuple[FloatArray, FloatArray]:
    """Γ directions and canonical correlations; directions of the future that are rounding are left out.

    rank : directions of the future weaker than this are rounding of noise-free data: some n ε of the largest factors.
    """
    basis, spread = _decompose_left(np.hstack([L32, L33]))
    keep = spread > rank * spread[0]
    turn, rho = _decompose_left((basis[:, keep].T @ L32) / spread[keep, None])
    vectors, values = np.zeros_like(basis), np.zeros(len(spread))
    vectors[:, : len(rho)], values[: len(rho)] = (basis[:, keep] * spread[keep]) @ turn, np.minimum(rho, 1.0)
    return vectors, values


def shift_invariance(gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A, C from Γ (i, ny, n): C its first rows, A the least-squares solution of Γ[:-1] A = Γ[1:]."""
    n = gamma.shape[2]
    upper, below = gamma[:-1].reshape(-1, n), gamma[1:].reshape(-1, n)
    A: FloatArray = scipy.linalg.lstsq(upper, below, check_finite=False, lapack_driver="gelsy")[0]
    return A, gamma[0].copy()
