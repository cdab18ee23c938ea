"""Improved reduced system (O'Callahan 1989; iterated: Friswell, Garvey, Penny 1995).

    T ← T_guyan + S M T M_r⁻¹ K_r      S = diag(0, K22⁻¹): the inertia of the slaves taken as a static load

A Ritz model: frequencies are not below the exact ones, but for rounding. K is K_guyan + Dᵀ K22 D with the correction D
of the slaves, so that the products that cancel most are not formed.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from dalembert.core.arguments import whole_number
from dalembert.core.findings import Advice
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.partition import Names, Partition, judge_rounding, make_reduction
from dalembert.structures.reduction.reduction import Reduction

MOST_ITERATIONS = 1000  # it converges in a few, or does not


def irs(system: SecondOrder, masters: Names, *, iterations: int = 1) -> Reduction:
    """Improved reduced system: Guyan's shapes corrected by the inertia of the slaves; iterated, it tends to SEREP.

    Warns where masters move so nearly alike that rounding changes frequencies by more than 1e-6.

    Parameters
    ----------
    system : SecondOrder
    masters : coordinates, points or patterns
    iterations : 1 is the improved reduced system, more of them the iterated one; 0 is Guyan
    """
    iterations = whole_number("iterations", iterations, 0, MOST_ITERATIONS)
    split = Partition(system, masters)
    factor = split.factor()
    guess = split.constraint_modes(factor)
    B = guess
    static = K = reduction.congruent(T := split.basis(guess), system.K, T, 1)
    for _ in range(iterations):
        T = split.basis(B)
        MT = np.asarray(system.M @ T)
        what, advice = "the reduced mass matrix", Advice("Choose masters that have mass.")
        M = T.T @ MT
        inertia = factors.factor_regular(0.5 * (M + M.T), split.names, what, advice)
        load = MT[split.second] @ inertia.solve(K)
        correction = factor.solve(load)
        B, added = guess + correction, correction.T @ load
        K = static + 0.5 * (added + added.T)
    method = "improved reduced system" + (f", {iterations} iterations" if iterations > 1 else "")
    found = make_reduction(split, split.basis(B), method, K=K)
    M = np.asarray(found.system.M)
    scale = np.sqrt(np.maximum(M.diagonal(), np.finfo(float).tiny))
    M, K = M / np.outer(scale, scale), K / np.outer(scale, scale)
    try:
        squares, shapes = scipy.linalg.eigh(K, M)
        squares[factors.is_rigid(K, shapes)] = 0.0
    except np.linalg.LinAlgError:  # not positive definite: more than lost
        squares, shapes = np.zeros(0), np.zeros((len(M), 0))
    judge_rounding(split, "IRS", M, K, squares, shapes)
    return found
