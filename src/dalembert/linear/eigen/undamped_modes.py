"""Undamped modes of a large sparse system, ``K φ = μ M φ``, by shift-invert Lanczos.

    (K - σ M)⁻¹ M φ = θ φ,    μ = σ + 1/θ

One sparse factor (:mod:`factor`, or :mod:`multifrontal` for solids), then the θ of largest modulus by ARPACK: the μ
nearest to σ. M may be singular (massless coordinates); the shapes are then purified by one more solution each.

Rigid bodies. σ = 0 where K can be factored and is not singular: inverse iterations give the softest motion, and its
energy φᵀKφ is compared with its own rounding, ε √(φ²ᵀ (K∘K) φ²). Where it is no more than that, K is singular and σ is
a small negative number, chosen again if it turns out far from the lowest elastic μ. Every μ within its rounding is
reported as exactly 0.

Repeated frequencies. A Krylov space holds one vector of each eigenspace in exact arithmetic; rounding usually adds the
others, but not always. Therefore a second Lanczos run starts orthogonal to all modes found: had one been missed, its
largest Ritz value would exceed the smallest θ kept. Missed modes are added until none is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.csgraph
import scipy.sparse.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice
from dalembert.numerics.sparse import multifrontal, ordering
from dalembert.numerics.sparse import nested_dissection as dissection
from dalembert.numerics.sparse.sparse_factor import Factor

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Undamped:
    """``count`` eigenpairs, ascending in μ, ΦᵀMΦ = 1; the factor of ``K - σ M`` they were found with."""

    mu: FloatArray
    shapes: FloatArray
    factor: Any  # with solve(right)
    shift: float


def nearest(
    M: object,
    K: object,
    count: int,
    frequency: float = 0.0,
    # shift of a system with rigid-body modes, relative to the median of K_ii/M_ii; wide of both the rounding of K and
    # the lowest modes of meshes up to some hundred elements long; corrected where the lowest mode is outside:
    free_shift: float = 1e-9,
    # μ below the first multiple of the shift is found from a difference with four digits less than the shift has, and
    # above the second one the shift has lost half of the digits of the rigid bodies
    reach: tuple[float, float] = (1e-4, 1e8),
) -> Undamped:
    """The ``count`` modes with μ nearest to ``frequency``² [rad²/s²]; rigid bodies and the softest ones for 0."""
    _refuse_negative_mass(M)
    if frequency > 0.0:
        factor, shift = _factor_near(M, K, frequency**2)
        return _clean(_solve(M, K, count, factor, shift), K)
    make = _maker(M, K)
    factor = make(0.0)
    if factor is not None and not _is_free(M, K, factor):
        return _clean(_solve(M, K, count, factor, 0.0), K)
    shift = -free_shift * _local_stiffness(M, K)
    for _ in range(3):
        # None: neither K nor K + |σ| M is positive definite, so K is indefinite: SuperLU factors it or fails.
        factor = make(shift) or _factor_at(M, K, shift)
        modes = _clean(_solve(M, K, count, factor, shift), K)
        elastic = np.abs(modes.mu[modes.mu != 0.0])
        lowest = elastic.min(initial=np.inf)
        if not len(elastic) or reach[0] <= lowest / -shift <= reach[1]:
            break
        shift = -lowest
    return modes


def widen(low: float, high: float, share: float = 1e-9) -> tuple[float, float]:
    """A band a little wider at both ends: an end that is a frequency itself is included."""
    return low * (1.0 - share), high * (1.0 + share)


def in_band(M: Any, K: Any, low: float, high: float, most: int = 2000) -> Undamped:
    """All modes with low ≤ ω ≤ high [rad/s], counted by the inertia of K - ω² M at both ends.

    ``most`` : the shapes of 2000 modes for 100 000 coordinates take 1.6 GB.
    """
    _refuse_negative_mass(M)
    bottom, top = widen(low, high)
    number, upper = _count_below(M, K, top**2)
    count = number - (0 if low == 0.0 else _count_below(M, K, bottom**2)[0])
    if count > most:
        raise DataError("too-large", f"{count} modes lie between {low:g} and {high:g} rad/s; choose a narrower band.")
    if count == 0:
        return Undamped(np.zeros(0), np.zeros((M.shape[0], 0)), upper, high**2)
    if low == 0.0:
        return nearest(M, K, count)
    return nearest(M, K, count, np.sqrt(0.5 * (low**2 + high**2)))


def purify(modes: Undamped, M: Any) -> FloatArray:
    """Shapes without the components in the null space of M that ARPACK leaves."""
    theta = 1.0 / (modes.mu - modes.shift)
    result: FloatArray = modes.factor.solve(np.asfortranarray(M @ modes.shapes)) / theta
    return result


def _solve(M: Any, K: Any, count: int, factor: Any, shift: float) -> Undamped:
    """Modes by ARPACK, with a search for missed modes; M-orthonormal shapes."""
    n = M.shape[0]
    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    try:
        mu, V = scipy.sparse.linalg.eigsh(K, count, M, sigma=shift, OPinv=operator, v0=factor.solve(M @ start))
    except scipy.sparse.linalg.ArpackError as error:
        raise ConvergenceError(
            "no-convergence",
            f"the {count} modes nearest to {np.sqrt(abs(shift)):.4g} rad/s did not converge: {error}.",
            Advice("Choose fewer modes or another frequency."),
        ) from error  # fmt: skip
    modes = Undamped(mu, V, factor, shift)
    for _ in range(count):
        extra = _find_missed_mode(modes, M)
        if extra is None:
            break
        modes = _join(modes, extra, M, count)
    if np.any(M.diagonal() == 0.0):
        modes = replace(modes, shapes=purify(modes, M))
    return _orthonormal(modes, M)


def _find_missed_mode(
    modes: Undamped,
    M: Any,
    steps: int = 20,  # of 600 modes whose ω² lie 1 % apart 10 steps find a missed one, 19 where it is 0.1 %
    closed: float = 1e-20,  # squared length of the rest of an image, of a closed Krylov space: two passes leave 1e-15
    missed: float = 1e-6,  # gain of a Ritz value over the smallest θ, which is good to 1e-10
) -> FloatArray | None:
    """The shape of a missed mode; None where no mode is missed."""
    V = modes.shapes
    MV = M @ V
    n = len(V)
    steps = min(steps, n - V.shape[1])
    if steps < 2:
        return None
    smallest = float(np.min(1.0 / np.abs(modes.mu - modes.shift)))

    def outside(x: FloatArray) -> FloatArray:
        result: FloatArray = x - V @ (MV.T @ x)
        return result

    basis = np.zeros((n, steps))
    heavy = np.zeros((n, steps))
    T = np.zeros((steps, steps))
    image = outside(modes.factor.solve(M @ np.random.default_rng(1).normal(size=n)))
    for j in range(steps):
        x = image
        for _ in range(2):  # the second pass removes the rounding of the first
            x = outside(x)
            x = x - basis[:, :j] @ (heavy[:, :j].T @ x)
        size = float(x @ (M @ x))
        if size <= closed * float(image @ (M @ image)):  # the space is closed: the rest is rounding
            steps = j
            break
        basis[:, j] = x / np.sqrt(size)
        heavy[:, j] = M @ basis[:, j]
        image = outside(modes.factor.solve(heavy[:, j]))
        T[: j + 1, j] = T[j, : j + 1] = heavy[:, : j + 1].T @ image
    if steps == 0:
        return None
    theta, Q = np.linalg.eigh(T[:steps, :steps])
    best = int(np.argmax(np.abs(theta)))
    # A Ritz value never exceeds its eigenvalue, so one above the smallest kept value is a missed mode.
    if abs(theta[best]) <= smallest * (1.0 + missed):
        return None
    return np.asarray(basis[:, :steps] @ Q[:, best])


def _join(
    modes: Undamped,
    extra: FloatArray,
    M: Any,
    count: int,
    iterations: int = 60,  # the projection on all shapes that follows needs their space, not its last digit
    converged: float = 1e-13,  # change of a shape: some hundred roundings
) -> Undamped:
    """Converge the missed shape by inverse iteration beside the others, then keep the nearest ``count``."""
    V = modes.shapes
    for _ in range(iterations):
        before = extra / np.sqrt(extra @ (M @ extra))
        extra = modes.factor.solve(M @ before)
        extra -= V @ (V.T @ (M @ extra))
        theta = float(before @ (M @ extra))
        if np.abs(extra - theta * before).max() <= converged * np.abs(extra).max():
            break
    wide = np.column_stack([V, extra / np.sqrt(extra @ (M @ extra))])
    image = modes.factor.solve(np.asfortranarray(M @ wide))
    T = (M @ wide).T @ image
    theta_all, Q = scipy.linalg.eigh(0.5 * (T + T.T), wide.T @ (M @ wide))
    keep = np.argsort(-np.abs(theta_all))[:count]
    mu = modes.shift + 1.0 / theta_all[keep]
    order = np.argsort(mu)
    return Undamped(mu[order], wide @ Q[:, keep[order]], modes.factor, modes.shift)


def _orthonormal(modes: Undamped, M: Any, rounding: float = 1e-14) -> Undamped:
    """ΦᵀMΦ = 1 to some tens of rounding errors, each shape changed as little as its own error."""
    V = modes.shapes
    gram = V.T @ (M @ V)
    if np.abs(gram - np.eye(len(gram))).max() > rounding:
        # Symmetric square root: no shape is favoured, repeated ones stay in their own space.
        values, Q = np.linalg.eigh(gram)
        V = V @ (Q / np.sqrt(values)) @ Q.T
    return replace(modes, shapes=V)


def energy_noise(K: Any, shapes: FloatArray) -> FloatArray:
    """Rounding of φᵀKφ, as a random sum: ε √(Σ K_ij² φ_i² φ_j²)."""
    square = shapes**2
    result: FloatArray = np.finfo(np.float64).eps * np.sqrt(np.einsum("ik,ik->k", square, K.multiply(K) @ square))
    return result


def _clean(modes: Undamped, K: object) -> Undamped:
    zero = _zeros(np.abs(modes.mu) / np.maximum(energy_noise(K, modes.shapes), TINY))
    return replace(modes, mu=np.where(zero, 0.0, modes.mu))


def _zeros(ratio: FloatArray, doubt: float = 100.0, gap: float = 100.0) -> Any:
    """Which μ are zero, from their ratios to their own rounding.

    Rigid bodies are found at some tens of it, and a gap follows; a long slender mesh brings its lowest modes as close
    to their rounding, but without a gap. ``doubt`` : ratio up to which μ may be zero; ``gap`` to the next ratio.
    """
    doubtful = ratio <= doubt
    return doubtful if ratio[~doubtful].min(initial=np.inf) >= gap * ratio[doubtful].max(initial=0.0) else ratio <= 1.0


def _is_free(M: Any, K: Any, factor: Any, doubt: float = 100.0) -> bool:
    """Whether the softest motions have no more energy than their rounding; ``doubt`` as in :func:`_zeros`."""
    random = np.random.default_rng(0)
    x = _softest(M, K, factor, random.normal(size=(M.shape[0], 1)))
    if x is None or x[0] > doubt:
        return x is None
    block = _softest(M, K, factor, random.normal(size=(M.shape[0], min(8, M.shape[0]))))  # is there a gap?
    return block is None or bool(_zeros(block).any())


def _softest(M: Any, K: Any, factor: Any, x: FloatArray) -> FloatArray | None:
    """Ratios of energy to rounding (k,), ascending, after three inverse iterations; None where they overflow."""
    for _ in range(3):
        x = factor.solve(np.asfortranarray(M @ x))
        if not np.isfinite(x).all():
            return None
        x = np.linalg.qr(x / np.abs(x).max(axis=0))[0]
    if x.shape[1] > 1:
        x = x @ np.linalg.eigh(x.T @ (K @ x))[1]
    energy = np.abs(np.einsum("ik,ik->k", x, K @ x))
    return np.sort(energy / np.maximum(energy_noise(K, x), TINY))


def _local_stiffness(M: Any, K: Any) -> float:
    mass, stiffness = M.diagonal(), np.abs(K.diagonal())
    both = (mass > 0.0) & (stiffness > 0.0)
    return float(np.median(stiffness[both] / mass[both])) if both.any() else 1.0


def _maker(M: Any, K: Any, wide: int = 2500, large: int = 5000) -> Callable[[float], Any]:
    """Function of the shift that factors K - σ M, or gives None where that fails.

    Wide matrices (solids) go to the multifrontal Cholesky factor, which needs them positive definite. ``wide`` : width
    (:func:`ordering.width`) from which dense fronts pay: above that for one solution, because SuperLU solves three
    times faster with a factor of the same size, and Lanczos solves a hundred times. ``large`` : unknowns.
    """
    pattern = abs(K) + abs(M)
    if K.shape[0] >= large and _is_connected(pattern) and ordering.width(pattern) >= wide:
        tree = dissection.dissect(pattern)

        def make(shift: float) -> Any:
            try:
                return multifrontal.Cholesky(K - shift * M, tree)
            except multifrontal.NotPositive:
                return None
    else:

        def make(shift: float) -> Any:
            try:
                return Factor(K - shift * M if shift else K)
            except ArithmeticError:
                return None

    return make


def _is_connected(pattern: object) -> bool:
    """Whether the graph is connected; the width is no measure of several pieces, which factor separately."""
    return bool(scipy.sparse.csgraph.connected_components(pattern, directed=False, return_labels=False) == 1)


def _factor_at(M: Any, K: Any, shift: float) -> Factor:
    try:
        return Factor(K - shift * M)
    except ArithmeticError as error:
        idle = np.flatnonzero((abs(K).sum(axis=0) == 0.0) & (abs(M).sum(axis=0) == 0.0))
        where = f" (coordinate number {idle[0] + 1} has neither)" if len(idle) else ""
        raise DataError(
            "singular-matrix",
            f"K and M vanish together in some direction{where}: its motion is not determined. "
            "Give it mass, hold it by a spring or drop it.",
        ) from error


def _factor_near(
    M: Any, K: Any, target: float, beside: tuple[float, ...] = (0.0, 1e-6, 1e-4, 1e-3)
) -> tuple[Factor, float]:
    """Factor at the target, or ``beside`` it, relative, where the target is an eigenvalue to the last digit."""
    for step in beside[:-1]:
        shift = target * (1.0 + step)
        try:
            return Factor(K - shift * M), shift
        except ArithmeticError:
            continue
    shift = target * (1.0 + beside[-1])
    return _factor_at(M, K, shift), shift


def _count_below(M: object, K: object, mu: float) -> tuple[int, Factor]:
    factor, _ = _factor_near(M, K, mu)
    if factor.negative is None:
        raise ConvergenceError(
            "no-convergence",
            f"the modes below {np.sqrt(mu):.4g} rad/s cannot be counted: K - ω² M takes no diagonal pivots there. "
            "Shift the ends of the band slightly, or choose a count of modes near a frequency.",
        )
    return factor.negative, factor


def _refuse_negative_mass(M: Any) -> None:
    worst = int(np.argmin(M.diagonal()))
    if M.diagonal()[worst] < 0.0:
        raise DataError("negative", f"coordinate number {worst + 1} has a negative mass; a sparse system needs M ≥ 0.")
