"""H2 synthesis: the controller with the smallest root mean square of z under white noise w (Zhou, Doyle, Glover 1996).

continuous   x̂′ = A x̂ + B₂ u + L (y - C₂ x̂ - D₂₂ u) ,    u = -K x̂
sampled      u = -K x̂ - M e ,  e = y - C₂ x̂ - D₂₂ u ,  M = (K Y C₂ᵀ + K_w D₂₁ᵀ) V⁻¹

K solves the Riccati equation of (A, B₂, C₁, D₁₂), L that of the dual, Y is its solution, V = C₂ Y C₂ᵀ + D₂₁ D₂₁ᵀ and
K_w = (D₁₂ᵀ D₁₂ + B₂ᵀ X B₂)⁻¹ (B₂ᵀ X B₁ + D₁₂ᵀ D₁₁): the sampled command also acts on what the present reading says
about the state and about w.
"""

from __future__ import annotations

import warnings

import numpy as np

from dalembert.control.robust.generalized_plant import (
    GeneralizedPlant,
)
from dalembert.core.arrays import FloatArray
from dalembert.numerics.riccati import RiccatiProblem, StabilisingSolution, solve

Matrices = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _regulator(plant: GeneralizedPlant, dt: float | None) -> StabilisingSolution:
    C, D = plant.C1, plant.D12
    problem = RiccatiProblem(dt, plant.A, plant.B2, C.T @ C, D.T @ D, C.T @ D, np.eye(plant.nx))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the closed loop is judged
        return solve(problem, "automatic")


def solve_continuous(plant: GeneralizedPlant) -> Matrices:
    """The controller of the plant without D₂₂."""
    K, L = _regulator(plant, None).K, _regulator(plant.transposed(), None).K.T
    return plant.A - plant.B2 @ K - L @ plant.C2, L, -K, np.zeros((len(K), L.shape[1]))
