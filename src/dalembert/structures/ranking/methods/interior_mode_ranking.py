"""Interior mode ranking (Palomba, Richiedei and Trevisani 2014): interior modes that make up modes of the whole system.

A mode of the whole system, K u = ω² M u and uᵀ M u = 1, has the part η_σ = φ_σᵀ M22 (u2 - B u1) of each interior mode.
Their shares of uᵀ M u are

    υ_σ = [(M21 u1 + M22 u2)ᵀ φ_σ] η_σ = (ω_σ² / ω²) η_σ² ≥ 0
    Σ υ_σ = (M21 u1 + M22 u2)ᵀ (u2 - B u1),   with the part of the masters 1

The first form is the response to a force M u at ω_f beside ω, as published, without its factor 1/(ω² - ω_f²) and exact
for every ω_f. The second follows from K22 (u2 - B u1) = ω² (M21 u1 + M22 u2). For modes i with weights α_i, Σ α_i = 1,

    coefficient Σ_i α_i υ_iσ / |υ_i|,    bound(k) = Σ_i α_i Σ_{σ left out} υ_iσ
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import ArgumentKind, Scope, checked, either, excludes, interval, vector
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.ranking.method import RANKINGS, HeldMasters, RankingMethod, Weigh, Weights


def _read_numbers(name: str, value: Any, scope: Scope) -> tuple[int, ...]:
    numbers = tuple(value) if isinstance(value, Sequence | np.ndarray) else (value,)
    if any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 for n in numbers) or not numbers:
        raise DataError("not-a-count", f"{name} must be numbers of modes from 1, got {value!r}.")
    if len(set(numbers)) < len(numbers):
        raise DataError("duplicate", f"{name} has a mode twice: {value!r}.")
    scope["modes"] = len(numbers)
    return tuple(int(n) for n in numbers)


def _read_weights(name: str, value: Any, scope: Scope) -> tuple[float, ...]:
    array = vector("*").read(name, value, scope)
    if array.shape != (scope.get("modes", len(array)),):
        raise DataError("wrong-shape", f"{name} must be a number for each of the modes, got {value!r}.")
    if (array < 0.0).any() or not array.any():
        raise DataError("negative", f"{name} must not be negative, and not all zero, got {value!r}.")
    return tuple((array / array.sum()).tolist())


numbers_from_1 = ArgumentKind("numbers of modes from 1", _read_numbers, gives=("modes",))
weights_of_modes = ArgumentKind(
    "a number from 0 on for each of the modes; their sum is made 1", _read_weights, ("modes",)
)


@checked(
    either("modes", "band", why="an interior mode ranking is for some modes of the whole system"),
    excludes("band", "modes", "weights", why="a band has all its modes, with equal weights"),
)
@dataclass(frozen=True)
class InteriorModeRanking(RankingMethod):
    """Rank by the part of interior modes in modes of the whole system, by their numbers or in a band.

    Examples
    --------
    >>> InteriorModeRanking(modes=[8, 14], weights=[1, 3]).weights
    (0.25, 0.75)
    """

    modes: Annotated[Sequence[int], numbers_from_1, "of the whole system; rigid-body motions count"] | None = None
    weights: Annotated[Sequence[float], weights_of_modes, "of these modes; equal when left out"] | None = None
    band: Annotated[tuple[float, float], interval("rad/s"), "all modes of the whole system in a band"] | None = None

    def prepare(self, held: HeldMasters) -> Weigh:
        shapes = self._shapes(held)
        alpha = np.full(shapes.shape[1], 1.0 / shapes.shape[1]) if self.weights is None else np.array(self.weights)
        force, moved = (held.split.system.M @ shapes)[held.split.second], np.asarray(held.relative(shapes))
        weighed, total = held.M22 @ moved, alpha @ np.einsum("si,si->i", force, moved)

        def weigh(squares: FloatArray, Phi: FloatArray) -> Weights:
            parts = np.abs((force.T @ Phi) * (weighed.T @ Phi))
            size = np.linalg.norm(parts, axis=1, keepdims=True)
            shares = alpha @ parts
            # modes without interior motion (rigid-body ones) ask for nothing
            relative = alpha @ (parts / np.where(size > 0.0, size, 1.0))
            return Weights(relative, shares, max(0.0, float(total - shares.sum())))

        return weigh

    def _shapes(self, held: HeldMasters) -> FloatArray:
        M, K = held.split.system.M, held.split.system.K
        if self.band is not None:
            squares, shapes = factors.lowest_below(M, K, self.band[1])
            shapes = shapes[:, np.sqrt(np.abs(squares)) >= self.band[0]]
            if not shapes.shape[1]:
                low, high = self.band
                problem = f"the system has no mode from {low:g} to {high:g} rad/s."
                raise DataError("too-few-modes", problem, Advice("Give another {}.", Argument("band")))
            return shapes
        assert self.modes is not None
        squares, shapes = factors.lowest(M, K, max(self.modes))
        if len(squares) < max(self.modes):
            raise DataError("too-few-modes", f"mode {max(self.modes)} was given; the system has {len(squares)}.")
        return shapes[:, np.array(self.modes) - 1]


RANKINGS.register("interior-mode-ranking", InteriorModeRanking)
