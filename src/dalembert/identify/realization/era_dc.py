"""ERA/DC: ERA on correlations of the Markov parameters (Juang, Cooper and Wright 1988).

    Δ(k) = H(k) H(0)ᵀ,  X(k) = block (i, j) = Δ(k + (i + j) τ),  i ≤ γ, j ≤ δ,  X(0) = R S Vᵀ,
    A as in ERA from X(1),  P_a = first rows of R_n S_n^½,  Q_b = P_a⁺ H(0)

Correlating averages noise that differs from sample to sample. Without correlations and with γ = δ = 0 it is ERA.
The selector of eq. 3.158 in Pappalardo 2011 must have (δ + 1) a ny rows, one per column of X(0).
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.hankel import SVD, decompose, hankel
from dalembert.identify.realization.markov_parameters import MarkovSource, Names
from dalembert.identify.realization.realize import HankelWindow, Lags, Realization, realize
from dalembert.identify.records.reporting import report_findings

DEFAULT_LAGS = (2, 2, None)  # γ and δ, and τ as long as the blocks


@report_findings
def era_dc(
    markov: MarkovSource, *, order: int | None = None, rows: int | None = None, columns: int | None = None,
    tau: int | None = None, gamma: int = 2, delta: int = 2, dt: float | None = None, inputs: Names = None,
    combined: bool = False,
) -> Identified:  # fmt: skip
    """Model from data correlations of Markov parameters (ERA/DC); arguments as for :func:`era`, and

    Parameters
    ----------
    tau : int, optional
        Samples between the correlation blocks; ``rows`` when left out, so that blocks share no noise.
    gamma, delta : int
        Number of further block rows and columns of correlations.
    """
    window = HankelWindow(order, rows, columns, check_lags(gamma, delta, tau))
    return realize(markov, window, "ERA/DC", realize_era_dc, (dt, inputs, None), combined=combined)


def check_lags(gamma: int, delta: int, tau: int | None) -> tuple[int, int, int | None]:
    """(γ, δ, τ), whole numbers; τ may be left out."""
    lag = None if tau is None else whole_number("tau", tau, 1)
    return whole_number("gamma", gamma), whole_number("delta", delta), lag


def correlations(markov: FloatArray, rows: int, columns: int, gamma: int, delta: int, tau: int) -> list[FloatArray]:
    """X(0) and X(1), each ((γ+1) a ny, (δ+1) a ny)."""
    H0 = hankel(markov, rows, columns)
    lags = {k + s * tau for k in (0, 1) for s in range(gamma + delta + 1)}
    Delta = {k: hankel(markov, rows, columns, k) @ H0.T for k in lags}
    return [np.block([[Delta[k + (i + j) * tau] for j in range(delta + 1)] for i in range(gamma + 1)]) for k in (0, 1)]


def realize_era_dc(
    markov: FloatArray, rows: int, columns: int, order: int, svd: SVD | None, lags: Lags | None
) -> Realization:
    """ERA/DC. markov : (rows + columns + (γ + δ) τ or more, ny, nw), Y_1 first; lags : γ, δ, τ."""
    assert lags is not None
    ny, nw = markov.shape[1:]
    X0, X1 = correlations(markov, rows, columns, *lags)
    U, s, Vt = decompose(X0)
    root = np.sqrt(s[:order])
    U_n, V_n = U[:, :order], Vt[:order]
    A = U_n.T @ X1 @ V_n.T / np.outer(root, root)
    P = (U_n * root)[: rows * ny]
    B = np.asarray(np.linalg.lstsq(P, hankel(markov, rows, 1), rcond=None)[0], dtype=np.float64)
    return Realization(A, B[:, :nw], P[:ny], s)
