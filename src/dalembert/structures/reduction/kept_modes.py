"""The modes that a component-mode reduction keeps, and the flexibility of those it leaves out.

    Ψ = (G - Φₑ Ωₑ⁻¹ Φₑᵀ) F      F forces, Φₑ kept elastic modes

G is K⁻¹, or for a body that is free to move the elastic flexibility under inertia relief, Pᵀ K⁺ P with
P = I - M Φᵣ Φᵣᵀ and the rigid-body modes Φᵣ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arguments import positive_number
from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.reduction.partition import block, rest

ModesKept = int | Sequence[int] | None


class KeptModes:
    """Modes found and those kept of them."""

    def __init__(self, squares: FloatArray, shapes: FloatArray, numbers: Sequence[int]) -> None:
        self.squares, self.shapes = squares, shapes
        self.numbers = tuple(numbers)  # from 1, in the order asked for
        self.at = np.array(self.numbers, dtype=np.intp) - 1

    @property
    def omega(self) -> FloatArray:
        return np.sqrt(np.abs(self.squares))

    @property
    def kept(self) -> Any:
        mask = np.zeros(len(self.squares), dtype=bool)
        mask[self.at] = True
        return mask


def choose_modes(
    M: Matrix,
    K: Matrix,
    modes: ModesKept,
    up_to: float | None = None,
    margin: float = 1.0,
    factor: StiffnessFactor | None = None,
) -> KeptModes:
    """Lowest modes by count, by number or by frequency."""
    margin = positive_number("margin", margin)
    if up_to is not None:
        squares, shapes = factors.lowest_below(M, K, margin * positive_number("up_to", up_to), factor)
        return KeptModes(squares, shapes, range(1, len(squares) + 1))
    if not isinstance(modes, Iterable):
        count = int(M.shape[0]) if modes is None else int(modes) if isinstance(modes, int | np.integer) else -1
        if isinstance(modes, bool) or count < 0:
            raise DataError(
                "not-a-count",
                f"modes must be a number of modes, not negative, or a list of mode numbers, got {modes!r:.60}.",
                Advice("Give the first modes of a ranking as {}.", Argument("modes", "ranking.first(k)")),
            )
        squares, shapes = factors.lowest(M, K, count, factor)
        return KeptModes(squares, shapes, range(1, len(squares) + 1))
    numbers = [int(number) for number in modes]
    if not numbers:
        return KeptModes(np.zeros(0), np.zeros((int(M.shape[0]), 0)), ())
    if min(numbers) < 1 or len(set(numbers)) < len(numbers):
        raise DataError("duplicate", f"mode numbers count from 1 and must differ, got {numbers}.")
    squares, shapes = factors.lowest(M, K, max(numbers), factor)
    if len(squares) < max(numbers):
        raise DataError(
            "too-few-modes", f"mode {max(numbers)} was requested, but there are only {len(squares)} modes with mass."
        )
    return KeptModes(squares, shapes, numbers)


class Flexibility:
    """``apply(F)``: elastic static motion under forces F, (n, k); inertia relief where there are rigid-body modes."""

    def __init__(self, system: SecondOrder, rigid: FloatArray) -> None:
        self.M, self.rigid = system.M, rigid
        n, r = rigid.shape
        self.held = scipy.linalg.qr(rigid.T, mode="r", pivoting=True)[1][:r].astype(np.intp)
        self.rest = rest(n, self.held)
        names = [system.coordinates[i] for i in self.rest]
        self.factor = factors.factor_regular(
            block(system.K, self.rest, self.rest) if r else system.K, names, "the stiffness matrix",
            Advice("Keep all rigid-body modes (request more modes), or support the structure."),
        )  # fmt: skip

    def apply(self, F: FloatArray) -> FloatArray:
        if not self.rigid.shape[1]:
            return self.factor.solve(F)
        balanced = F - self.M @ (self.rigid @ (self.rigid.T @ F))
        motion = np.zeros(F.shape)
        motion[self.rest] = self.factor.solve(balanced[self.rest])
        return np.asarray(motion - self.rigid @ (self.rigid.T @ (self.M @ motion)))


def residual_flexibility(system: SecondOrder, found: KeptModes, F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Static motion under F, and the part of it that the kept modes leave out, (n, k) each.

    All rigid-body modes of those found must be among the kept.
    """
    rigid = found.squares == 0.0
    if (rigid & ~found.kept).any():
        missing = [f"mode{i + 1}" for i in np.flatnonzero(rigid & ~found.kept)]
        raise DataError("missing-modes", f"all rigid-body modes must be kept, but {', '.join(missing)} are not.")
    total = Flexibility(system, found.shapes[:, rigid]).apply(F)
    elastic = found.kept & ~rigid
    Phi = found.shapes[:, elastic]
    return total, np.asarray(total - Phi @ ((Phi.T @ F) / found.squares[elastic][:, None]))
