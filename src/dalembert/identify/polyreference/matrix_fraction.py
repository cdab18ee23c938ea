"""Right matrix fractions of frequency responses by linear least squares (Peeters, Van der Auweraer and others 2004).

    H(ω) = N(w) A(w)⁻¹,   w = e^{-iωT},   N = Σ_r N_r wʳ (ny x nu),   A = Σ_r A_r wʳ (nu x nu),   A_p = 1

minimises Σ_o ‖W_o (N_o - H_o A)‖² over the lines, with real coefficients. Each output is compressed once, by QR of
[1 w ... wᵖ, -H_o ⊗ (1 w ... wᵖ)] for the largest degree p; smaller degrees take columns of it. No normal equations are
formed, so that exact data keep their digits.

A(w) r = 0 at a pole w = e^{-sT}, |w| > 1 where s decays. With the highest coefficient fixed, poles that fit noise grow
and are left out. With l the left null vector, the residue is N(w) r lᵀ / (lᵀ A'(w) r): a shape times a participation.

T = π/(1.25 ω_last): the lines fill four fifths of the circle. What is no polynomial of w, modes out of the band and the
logarithm between s and w, is then smooth along the lines and a few more powers represent it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.numerics import ties
from dalembert.numerics.chain_least_squares import triangularise


@dataclass(frozen=True, eq=False)
class FractionPoles:
    """Decaying poles of one fraction: s (k,) [rad/s], shapes (k, ny), participation (k, nu)."""

    s: ComplexArray
    shapes: ComplexArray
    participation: ComplexArray


class MatrixFraction:
    """Fractions of every degree up to the largest, from responses H (nf, ny, nu) at lines ω (nf,) [rad/s].

    weights : (nf, ny) of the lines of each output.
    """

    def __init__(self, w: FloatArray, H: ComplexArray, weights: FloatArray, degree: int, circle: float = 1.25) -> None:
        # circle: share of the half circle beyond the last line; at 1 the responses jump between the ends of the lines,
        # and four times as many powers give the same digits
        self.T = np.pi / (circle * float(w[-1]))
        self.degree, self.nu = degree, H.shape[2]
        powers = np.exp(-1j * w * self.T)[:, None] ** np.arange(degree + 1)
        self.factors: list[FloatArray] = []
        for o in range(H.shape[1]):
            outputs = (-powers[:, :, None] * H[:, None, o, :]).reshape(len(w), -1)  # columns: powers, then inputs
            both = weights[:, o, None] * np.hstack([powers, outputs])
            self.factors.append(triangularise(np.vstack([both.real, both.imag])))

    def poles(self, p: int, first: float, last: float, weak: float = 1e-12) -> FractionPoles:
        """Poles of the fraction of degree p with Im s from first to last.

        weak : relative size of combinations of coefficients that exact data do not determine; these fade out.
        """
        nu, m = self.nu, p * self.nu
        start = self.degree + 1
        columns = [*range(p + 1), *range(start, start + m + nu)]
        triangles: list[FloatArray] = [triangularise(factor[:, columns]) for factor in self.factors]
        R = triangularise(np.vstack([S[p + 1 :, p + 1 :] for S in triangles]))
        damped = np.vstack([R[:, :m], weak * np.linalg.norm(R, 2) * np.eye(m)])
        below = np.vstack([-R[:, m:], np.zeros((m, nu))])
        alpha = np.vstack([np.linalg.lstsq(damped, below, rcond=None)[0], np.eye(nu)])
        beta = np.array(
            [-np.linalg.lstsq(S[: p + 1, : p + 1], S[: p + 1, p + 1 :] @ alpha, rcond=None)[0] for S in triangles]
        )  # (ny, p + 1, nu)
        companion = np.eye(m, k=nu)
        companion[-nu:] = -np.hstack(list(alpha[:m].reshape(p, nu, nu)))
        w, left, right = scipy.linalg.eig(companion, left=True)
        s = np.asarray(-np.log(np.where(w == 0.0, 1e-300, w)) / self.T, dtype=np.complex128)
        inside = np.flatnonzero((s.real < 0.0) & (s.imag >= first) & (s.imag <= last))
        inside = inside[ties.by_modulus(s[inside])]
        powers = w[inside, None] ** np.arange(p + 1)
        slopes = np.arange(1, p + 1) * powers[:, :-1]
        r, participation = right[:nu, inside].T, left[-nu:, inside].conj().T
        slope = np.einsum("kj,kr,rjc,kc->k", participation, slopes, alpha.reshape(p + 1, nu, nu)[1:], r)
        shapes = np.einsum("kr,orc,kc->ko", powers, beta, r) / np.where(slope == 0.0, 1.0, slope)[:, None]
        return _separate(FractionPoles(s[inside], shapes, participation))


def _separate(poles: FractionPoles, repeated: float = 1e-3) -> FractionPoles:
    """The same with one basis for repeated poles, whose eigenvectors are any basis: one input drives each shape.

    repeated : relative distance of two poles within which noise turns their shapes into each other; the fit of poles
    and shapes separates them where the responses determine more
    """
    s, shapes, participation = poles.s, poles.shapes.copy(), poles.participation.copy()
    edges = np.flatnonzero(np.abs(np.diff(s)) > repeated * np.abs(s[1:])) + 1
    for group in np.split(np.arange(len(s)), edges):
        if 1 < len(group) <= participation.shape[1]:
            remaining = np.linalg.qr(participation[group].T)[0].T  # its column norms do not depend on the basis
            driving = []
            for _ in group:
                driving.append(int(ties.first_largest(np.linalg.norm(remaining, axis=0))))
                column = remaining[:, driving[-1]] / np.linalg.norm(remaining[:, driving[-1]])
                remaining = remaining - np.outer(column, column.conj() @ remaining)
            G = participation[np.ix_(group, np.sort(driving))]
            shapes[group] = G.T @ shapes[group]
            participation[group] = np.linalg.solve(G, participation[group])
    size = np.linalg.norm(participation, axis=1, keepdims=True)
    return FractionPoles(s, shapes * size, participation / np.where(size > 0.0, size, 1.0))
