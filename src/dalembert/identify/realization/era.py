"""ERA: a state-space model from Markov parameters (Juang and Pappa 1985).

H(0) = R S Vᵀ,  P = R_n S_n^½,  Q = S_n^½ V_nᵀ,  A = S_n^-½ R_nᵀ H(1) V_n S_n^-½,
C = first rows of P, B = first columns of Q
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.hankel import SVD, decompose, hankel
from dalembert.identify.realization.markov_parameters import MarkovSource, Names
from dalembert.identify.realization.realize import HankelWindow, Lags, Realization, realize
from dalembert.identify.records.reporting import report_findings


@report_findings
def era(
    markov: MarkovSource, *, order: int | None = None, rows: int | None = None, columns: int | None = None,
    dt: float | None = None, inputs: Names = None, outputs: Names = None, combined: bool = False,
) -> Identified:  # fmt: skip
    """Model from Markov parameters by the eigensystem realization algorithm.

    Parameters
    ----------
    markov : ObserverMarkov, or (count, ny, nu) array Y_0, Y_1, ..., or a result that holds ``values`` of that shape
    order : int, optional
        Number of states; at the last clear gap of the singular values of the Hankel matrix when left out.
    rows, columns : int, optional
        Block rows and columns of the Hankel matrix, ``rows + columns`` Markov parameters besides Y_0.
    dt, inputs, outputs : for an array, which has none of them
    combined : bool
        Realize the model and the gain of an :class:`ObserverMarkov` at once; see :func:`okid_era`.

    Returns
    -------
    Identified
        Balanced: both gramians over the window are the singular values. With gain and innovation where ``markov``
        comes from :func:`okid`.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> decay = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1, 0], [1, 0], dt=0.1)
    >>> era(decay.markov(20), order=2, dt=0.1).system.poles().values.round(10).tolist()
    [(0.9-0.3j), (0.9+0.3j)]
    """
    window = HankelWindow(order, rows, columns, None)
    return realize(markov, window, "ERA", realize_era, (dt, inputs, outputs), combined=combined)


def realize_era(
    markov: FloatArray, rows: int, columns: int, order: int, svd: SVD | None = None, lags: Lags | None = None
) -> Realization:
    """ERA. markov : (rows + columns or more, ny, nw), Y_1 first; svd : of H(0) where it is known; lags : not used."""
    ny, nw = markov.shape[1:]
    U, s, Vt = decompose(hankel(markov, rows, columns)) if svd is None else svd
    root = np.sqrt(s[:order])
    U_n, V_n = U[:, :order], Vt[:order]
    A = U_n.T @ hankel(markov, rows, columns, 1) @ V_n.T / np.outer(root, root)
    P = U_n * root
    return Realization(A, (root[:, None] * V_n)[:, :nw], P[:ny], s)
