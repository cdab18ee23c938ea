"""Component-mode reductions: fixed interface, free interface, modal truncation.

Fixed interface (Hurty 1965, Craig and Bampton 1968), masters 1, slaves 2:

    B = -K22⁻¹ K21,   K22 Φ = M22 Φ Ω,   Φᵀ M22 Φ = I,   T = [[I, 0], [B, Φ]]
    M_red = [[M11 + Bᵀ M21 + M12 B + Bᵀ M22 B, (M12 + Bᵀ M22) Φ], [., I]],   K_red = diag(K11 + K12 B, Ω)

Free interface (MacNeal 1971, Rubin 1975), g the forces at the masters, Φ free modes with every rigid-body mode:

    x = Φ η + Ψ g,   Ψ = (G - Φₑ Ωₑ⁻¹ Φₑᵀ) F₁      F₁ unit forces at the masters
    x1 = Φ₁ η + Ψ₁ g   →   T = [Ψ Ψ₁⁻¹, Φ - Ψ Ψ₁⁻¹ Φ₁]   on (x1, η)

G is K⁻¹, or for a body that is free to move the elastic flexibility under inertia relief, Pᵀ K⁺ P with
P = I - M Φᵣ Φᵣᵀ. Rubin keeps the inertia of the residual Ψ g, MacNeal drops it (M = diag(0, I) on (x1, η)).

In both the masters keep their own names and meaning, so that parts assemble at equal names (coupling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray, Matrix
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly import symmetric_factors as factors
from dalembert.structures.assembly.symmetric_factors import Factor
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.condensation import Names, Partition
from dalembert.structures.reduction.masters import block, checked_system, rest
from dalembert.structures.reduction.reduction import Interior, Reduction

ModesKept = int | Sequence[int] | None
# Residual flexibility of the masters below this part of their flexibility is rounding of the difference.
RESIDUAL_TOLERANCE = 1e-10


class Chosen:
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


def craig_bampton(
    system: SecondOrder,
    masters: Names,
    modes: ModesKept = 20,
    *,
    up_to: float | None = None,
    margin: float = 2.0,
) -> Reduction:
    """Fixed-interface component modes: static shapes of the masters and the lowest modes with the masters held.

    Parameters
    ----------
    system : SecondOrder, dense or sparse
    masters : coordinates, points or patterns: interfaces, loads, sensors
    modes : how many interior modes to keep (all there are, where there are fewer), or their numbers from 1, or
        ``None`` for all
    up_to : highest frequency of interest [rad/s], optional
        Instead of ``modes``: keeps interior modes up to ``margin`` times this frequency.
    margin : factor on ``up_to``, 2 as usual

    Returns
    -------
    Reduction
        Coordinates are the masters, then ``mode1``, ... with unit modal mass. ``interior`` has the constraint modes
        and all interior modes found.

    Examples
    --------
    >>> chain = SecondOrder(np.diag([1, 1, 1, 1, 0.5]), np.diag([2, 2, 2, 2, 1]) - np.eye(5, k=1) - np.eye(5, k=-1))
    >>> craig_bampton(chain, "x3", modes=1).system.coordinates
    ('x3', 'mode1')
    """
    split = Partition(system, masters)
    factor = split.factor()
    B = split.constraint_modes(factor)
    M22, K22 = split.part(system.M, 2, 2), split.part(system.K, 2, 2)
    found = choose(M22, K22, modes, up_to, margin, factor)
    T = split.basis(B, found.shapes[:, found.at])
    # Held exactly: the block structure of K_red would otherwise have rounding between its blocks.
    K = _block_diagonal(split, system.K, T, found.squares[found.at])
    names = (*split.names, *reduction.modal_names(split.names, found.numbers))
    method = "Craig-Bampton"
    reduced = reduction.project(system, T, names, method=method, K=K)
    interior = Interior(split.slaves, B, found.shapes, found.omega, found.kept)
    return Reduction(reduced, T, method=method, masters=split.names, full=system, interior=interior)


def _block_diagonal(split: Partition, K: Matrix, T: FloatArray, squares: FloatArray) -> FloatArray:
    m = len(split.first)
    static = T[:, :m]
    return np.asarray(scipy.linalg.block_diag(reduction.congruent(static, K, static, 1), np.diag(squares)))


def choose(
    M: Matrix, K: Matrix, modes: ModesKept, up_to: float | None, margin: float, factor: Factor | None = None
) -> Chosen:
    """Lowest modes by count, by number or by frequency."""
    if up_to is not None:
        if not (np.isfinite(up_to) and up_to > 0.0 and np.isfinite(margin) and margin > 0.0):
            raise DataError(
                "not-positive", f"up_to and margin must be positive numbers, got {up_to!r} rad/s and {margin!r}."
            )
        squares, shapes = factors.lowest_below(M, K, margin * up_to, factor)
        return Chosen(squares, shapes, range(1, len(squares) + 1))
    if modes is None or isinstance(modes, int | np.integer):
        count = int(M.shape[0]) if modes is None else int(modes)
        if isinstance(modes, bool) or count < 0:
            raise DataError(
                "not-a-count",
                f"modes must be a number of modes, not negative, or a list of mode numbers, got {modes!r}.",
            )
        squares, shapes = factors.lowest(M, K, count, factor)
        return Chosen(squares, shapes, range(1, len(squares) + 1))
    numbers = [int(number) for number in modes]
    if not numbers:
        return Chosen(np.zeros(0), np.zeros((int(M.shape[0]), 0)), ())
    if min(numbers) < 1 or len(set(numbers)) < len(numbers):
        raise DataError("duplicate", f"mode numbers count from 1 and must differ, got {numbers}.")
    squares, shapes = factors.lowest(M, K, max(numbers), factor)
    if len(squares) < max(numbers):
        raise DataError(
            "too-few-modes", f"mode {max(numbers)} was asked for, but there are only {len(squares)} modes with mass."
        )
    return Chosen(squares, shapes, numbers)


class Flexibility:
    """``apply(F)``: elastic static motion under forces F, (n, k); inertia relief where there are rigid-body modes."""

    def __init__(self, system: SecondOrder, rigid: FloatArray) -> None:
        self.M, self.rigid = system.M, rigid
        n, r = rigid.shape
        self.held = scipy.linalg.qr(rigid.T, mode="r", pivoting=True)[1][:r].astype(np.intp)
        self.rest = rest(n, self.held)
        names = [system.coordinates[i] for i in self.rest]
        self.factor = factors.regular(
            block(system.K, self.rest, self.rest) if r else system.K, names, "the stiffness matrix",
            Advice("Keep all rigid-body modes (ask for more modes), or hold the structure."),
        )  # fmt: skip

    def apply(self, F: FloatArray) -> FloatArray:
        if not self.rigid.shape[1]:
            return self.factor.solve(F)
        balanced = F - self.M @ (self.rigid @ (self.rigid.T @ F))
        motion = np.zeros(F.shape)
        motion[self.rest] = self.factor.solve(balanced[self.rest])
        return np.asarray(motion - self.rigid @ (self.rigid.T @ (self.M @ motion)))


def _residual(system: SecondOrder, found: Chosen, F: FloatArray) -> tuple[FloatArray, FloatArray]:
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


def rubin(
    system: SecondOrder, masters: Names, modes: ModesKept = 20, *, up_to: float | None = None, margin: float = 2.0
) -> Reduction:
    """Free-interface component modes with residual flexibility and its inertia (Rubin 1975).

    Free modes, rigid-body ones included, and residual attachment modes at the masters: exact in statics for any
    forces at the masters. Parameters and coordinates as for :func:`craig_bampton`; ``modes`` counts the modes of
    the whole unheld system and must include its rigid-body modes.
    """
    split, found, T, _ = _free_interface(system, masters, modes, up_to, margin)
    return _free_reduction(split, found, T, "Rubin", {})


def macneal(
    system: SecondOrder, masters: Names, modes: ModesKept = 20, *, up_to: float | None = None, margin: float = 2.0
) -> Reduction:
    """Free-interface component modes with residual flexibility, its inertia and damping left out (MacNeal 1971).

    As :func:`rubin`, but the masters have no mass of their own: all of it is in the modes.
    """
    split, found, T, Phi = _free_interface(system, masters, modes, up_to, margin)
    m, k = len(split.first), Phi.shape[1]
    changes = {"M": scipy.linalg.block_diag(np.zeros((m, m)), np.eye(k))}
    for symbol in ("C", "G"):
        inner = Phi.T @ np.asarray(getattr(system, symbol) @ Phi)
        inner = 0.5 * (inner + inner.T) if symbol == "C" else 0.5 * (inner - inner.T)
        changes[symbol] = scipy.linalg.block_diag(np.zeros((m, m)), inner)
    return _free_reduction(split, found, T, "MacNeal", changes)


def _free_interface(
    system: SecondOrder, masters: Names, modes: ModesKept, up_to: float | None, margin: float
) -> tuple[Partition, Chosen, FloatArray, FloatArray]:
    split = Partition(system, masters)
    found = choose(system.M, system.K, modes, up_to, margin)
    m = len(split.first)
    F = np.zeros((system.nq, m))
    F[split.first, np.arange(m)] = 1.0
    total, Psi = _residual(system, found, F)
    size = np.sqrt(np.diag(total[split.first]))
    at_masters = 0.5 * (Psi[split.first] + Psi[split.first].T)
    scaled = at_masters / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] <= RESIDUAL_TOLERANCE:
        raise DataError(
            "rank-deficient",
            f"the {len(found.numbers)} kept modes leave no residual flexibility at some of the {m} masters, so masters "
            "and modes are not independent.",
            Advice("Keep fewer modes, or use {}.", Call("da.structures.craig_bampton")),
        )
    attachment = np.linalg.solve(at_masters, Psi.T).T
    Phi = found.shapes[:, found.at]
    T = np.hstack([attachment, Phi - attachment @ Phi[split.first]])
    T[split.first] = np.eye(m, T.shape[1])  # as it is but for rounding
    return split, found, T, Phi


def _free_reduction(split: Partition, found: Chosen, T: FloatArray, method: str, changes: dict[str, Any]) -> Reduction:
    system, m = split.system, len(split.first)
    names = (*split.names, *reduction.modal_names(split.names, found.numbers))
    reduced = reduction.project(system, T, names, method=method, **changes)
    interior = Interior(split.slaves, T[split.second, :m], found.shapes[split.second], found.omega, found.kept)
    return Reduction(reduced, T, method=method, masters=split.names, full=system, interior=interior)


def truncate_modal(
    system: SecondOrder,
    modes: ModesKept = 20,
    *,
    up_to: float | None = None,
    margin: float = 1.0,
    correction: bool = True,
) -> Reduction:
    """The lowest undamped modes as coordinates, the rest of the flexibility as direct feedthrough.

    Parameters
    ----------
    system : SecondOrder
        Damping that the undamped modes do not uncouple stays coupled: C_red = Φᵀ C Φ.
    modes, up_to, margin : as for :func:`craig_bampton`
    correction : add the static motion per input that the kept modes leave out (``residual``) to positions; outputs
        of velocity and acceleration get none. A system free to move must keep its rigid-body modes.
    """
    system = checked_system(system)
    found = choose(system.M, system.K, modes, up_to, margin)
    if not found.numbers:
        raise DataError("empty", "modal truncation needs at least one mode.")
    T = found.shapes[:, found.at]
    R = _residual(system, found, reduction.dense(system.B))[1] if correction and system.nu else None
    names, method = reduction.modal_names((), found.numbers), "modal truncation"
    if R is not None:
        method += " with static correction"
    reduced = reduction.project(system, T, names, residual=R, rates=False, method=method)
    return Reduction(reduced, T, method=method, masters=(), full=system, residual=R)
