"""All eigenvalues of a uniform beam between any two ends, none skipped and none twice (spec 003, C-45, trap 17).

In the units of :mod:`dalembert.structures.waves`, with springs κ, mass μ and inertia ι at the ends:

    left:   -V + (κ - λμ) u = 0,   -M + (κ_r - λι) φ = 0,        right:   V + (κ - λμ) u = 0,   M + (κ_r - λι) φ = 0,

and u = 0 or φ = 0 where a spring is infinite. The number of eigenvalues below a trial λ is known exactly
(Wittrick & Williams 1971): N(λ) = N₀(λ) + s(K(λ)), with K the dynamic stiffness of the beam with its ends, s the number
of its negative eigenvalues and N₀ the eigenvalues of the beam clamped at both ends. The beam is cut into 2ⁿ equal
pieces, each too short to have an eigenvalue of its own below λ, and put together again by doubling,
N₀(2h) = 2 N₀(h) + s(K at the joint). Bisection on N isolates every eigenvalue; the determinant of the end conditions,
smooth and of order one there, gives it to rounding. Coinciding eigenvalues, where the determinant does not change
sign, are bisected by N to the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dalembert.errors import ConvergenceError
from dalembert.structures import waves
from dalembert.structures.waves import FloatArray, Waves

IntArray = NDArray[np.int64]

# Eigenvalues closer than this (relative, in b = λ^¼) are told apart by counting only.
CLOSE = 1e-9


@dataclass(frozen=True)
class Held:
    """A beam and its ends in numbers without dimension: (left, right) pairs; inf = held."""

    r2: float
    s2: float
    kt: tuple[float, float]
    kr: tuple[float, float]
    mu: tuple[float, float]
    iota: tuple[float, float]

    def rigid(self) -> FloatArray:
        """Rigid motions without strain energy, as columns (a, c) of u = a + c z; (2, 0 to 2)."""
        rows = [[1.0, side * 1.0] for side in (0, 1) if self.kt[side] > 0.0]
        rows += [[0.0, 1.0] for side in (0, 1) if self.kr[side] > 0.0]
        if not rows:
            return np.eye(2)
        _, sizes, right = np.linalg.svd(np.array(rows))
        rank = int(np.count_nonzero(sizes > 1e-9))
        null: FloatArray = right[rank:].T
        return null

    def conditions(self, side: int, lam: float) -> FloatArray:
        """(2, 4) rows on (u, φ, M, V) that vanish at the end, each of norm one."""
        sign = -1.0 if side == 0 else 1.0
        rows = np.zeros((2, 4))
        for row, (own, force, spring, mass) in enumerate(
            ((0, 3, self.kt[side], self.mu[side]), (1, 2, self.kr[side], self.iota[side]))
        ):
            rows[row, own] = 1.0 if np.isinf(spring) else spring - lam * mass
            rows[row, force] = 0.0 if np.isinf(spring) else sign
        return rows


def count_below(b: FloatArray, held: Held) -> IntArray:
    """Number of eigenvalues λ < b⁴, rigid-body motions included; b (m,) > 0."""
    total = np.zeros(len(b), dtype=np.int64)
    lam = b**4
    halvings = _halvings(lam, held)
    for n in np.unique(halvings):
        chosen = halvings == n
        total[chosen] = _count(lam[chosen], int(n), held)
    return total


def _halvings(lam: FloatArray, held: Held) -> IntArray:
    """n for which a piece of length 2⁻ⁿ, clamped at both ends, has no eigenvalue below λ and only long waves.

    A clamped piece of length h has λ ≥ min(½ (π/h)⁴/(1 + ½ s² (π/h)²), ½ (π/h)²/r²), from Wirtinger's inequality
    on both fields and (u′-φ)² ≥ (1-ε) u′² - (1/ε-1) φ² with 1/ε = 1 + ½ s² (π/h)².
    """
    n = np.zeros(len(lam), dtype=np.int64)
    d = 0.5 * lam * (held.s2 - held.r2)
    wave = np.sqrt(0.5 * lam * (held.r2 + held.s2) + np.sqrt(lam + d * d))
    for _ in range(60):
        x = (np.pi * 2.0**n) ** 2
        safe = 0.5 * x**2 / (1.0 + 0.5 * held.s2 * x) > lam
        if held.r2 > 0.0:
            safe &= 0.5 * x / held.r2 > lam
        safe &= wave / 2.0**n <= 1.0
        if safe.all():
            break
        n = n + ~safe
    return n


def stiffness(lam: FloatArray, length: float, held: Held) -> FloatArray:
    """Dynamic stiffness (m, 4, 4) of a short piece on (u, φ) at its left and right end."""
    T = waves.transfer(lam, held.r2, held.s2, length)
    swap = [1, 0]  # forces (M, V) in the order of their motions (φ, u)
    Taa, Tab = T[:, :2, :2], T[:, :2, 2:]
    Tba, Tbb = T[:, 2:, :2], T[:, 2:, 2:]
    left = np.linalg.solve(Tab, np.concatenate([-Taa, np.broadcast_to(np.eye(2), Taa.shape)], axis=2))  # (M, V) at 0
    right = np.concatenate([Tba, np.zeros_like(Tba)], axis=2) + Tbb @ left
    K: FloatArray = np.concatenate([-left[:, swap], right[:, swap]], axis=1)
    return 0.5 * (K + np.swapaxes(K, 1, 2))


def _negative(K: FloatArray) -> IntArray:
    """Number of negative eigenvalues of symmetric matrices (m, n, n)."""
    count: IntArray = np.count_nonzero(np.linalg.eigvalsh(K) < 0.0, axis=1)
    return count


def _count(lam: FloatArray, halvings: int, held: Held) -> IntArray:
    K = stiffness(lam, 0.5**halvings, held)
    clamped = np.zeros(len(lam), dtype=np.int64)
    for _ in range(halvings):
        A, B, C = K[:, :2, :2], K[:, :2, 2:], K[:, 2:, 2:]
        joint = C + A
        clamped = 2 * clamped + _negative(joint)
        Bt = np.swapaxes(B, 1, 2)
        from_left, from_right = np.linalg.solve(joint, Bt), np.linalg.solve(joint, B)
        top = np.concatenate([A - B @ from_left, -B @ from_right], axis=2)
        bottom = np.concatenate([-Bt @ from_left, C - Bt @ from_right], axis=2)
        K = np.concatenate([top, bottom], axis=1)
        K = 0.5 * (K + np.swapaxes(K, 1, 2))
    springs = (held.kt[0], held.kr[0], held.kt[1], held.kr[1])
    masses = (held.mu[0], held.iota[0], held.mu[1], held.iota[1])
    free = [i for i in range(4) if not np.isinf(springs[i])]
    if not free:
        return clamped
    K = K[:, free][:, :, free]
    for row, i in enumerate(free):
        K[:, row, row] += springs[i] - lam * masses[i]
    size = 1.0 / np.sqrt(np.abs(np.diagonal(K, axis1=1, axis2=2)) + 1e-300)  # Sylvester: signs do not change
    return clamped + _negative(K * size[:, :, None] * size[:, None, :])


def end_matrix(wave: Waves, held: Held) -> FloatArray:
    """(4, 4) end conditions on the amplitudes of the four waves, in rows of order one.

    Rows are scaled by the size of the fields, never by their own: a row or column may vanish at an eigenvalue.
    """
    at = wave.fields(np.array([0.0, 1.0]))
    size = np.abs(at).max(axis=(1, 2))
    both = [held.conditions(side, wave.lam) for side in (0, 1)]
    return np.vstack([rows @ at[:, :, side] / (np.abs(rows) @ size)[:, None] for side, rows in enumerate(both)])


def characteristic(b: float, held: Held) -> float:
    """Zero at every eigenvalue λ = b⁴; its sign does not depend on the basis in use."""
    wave = Waves(b**4, held.r2, held.s2)
    return float(wave.orientation * np.linalg.det(end_matrix(wave, held)))


def eigenvalues(count: int, held: Held) -> FloatArray:
    """The ``count`` lowest b = λ^¼, ascending, with zeros for rigid-body motions; as exact as doubles allow."""
    rigid = held.rigid().shape[1]
    wanted = np.arange(rigid, count)
    found = np.zeros(count)
    if not len(wanted):
        return found
    low, high = _isolate(wanted, rigid, held)
    for i, lo, hi in zip(wanted, low, high):
        found[i] = _polish(float(lo), float(hi), int(i), held)
    _check(found[rigid:], rigid, held)
    return found


def _isolate(wanted: IntArray, rigid: int, held: Held) -> tuple[FloatArray, FloatArray]:
    """Brackets with exactly one eigenvalue each, or narrower than CLOSE."""
    top = (wanted[-1] + 2.0) * np.pi
    for _ in range(60):
        if count_below(np.array([top]), held)[0] > wanted[-1]:
            break
        top *= 1.5
    else:
        raise ConvergenceError(f"no {wanted[-1] + 1} eigenvalues of the beam below λ = {top**4:.3g}; check its data.")
    low, high = np.zeros(len(wanted)), np.full(len(wanted), top)
    below, above = np.full(len(wanted), rigid), np.full(len(wanted), wanted[-1] + 2)
    for _ in range(200):
        # 1e-3 of slack: at the middle of a symmetric bracket the pieces would often sit on a symmetric pole
        middle = low + (high - low) * 0.5007
        open_ = ((below != wanted) | (above != wanted + 1) | (low == 0.0)) & (high - low > CLOSE * high)
        if not open_.any():
            break
        counted = count_below(middle[open_], held)
        over = counted > wanted[open_]
        index = np.flatnonzero(open_)
        high[index[over]], above[index[over]] = middle[index[over]], counted[over]
        low[index[~over]], below[index[~over]] = middle[index[~over]], counted[~over]
    return low, high


def _polish(low: float, high: float, index: int, held: Held) -> float:
    if high - low > CLOSE * high:
        ends = characteristic(low, held), characteristic(high, held)
        if ends[0] * ends[1] < 0.0:
            return float(
                brentq(characteristic, low, high, args=(held,), xtol=1e-15 * high, rtol=4 * np.finfo(float).eps)
            )
    while True:  # eigenvalues that coincide, or a bracket whose ends touch one: by counting alone
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if count_below(np.array([middle]), held)[0] > index:
            high = middle
        else:
            low = middle


def _check(found: FloatArray, rigid: int, held: Held) -> None:
    """Between neighbours that are clearly apart the count must be what was found."""
    gaps = np.flatnonzero(np.diff(found) > 1e-6 * found[1:])
    between = 0.5 * (found[gaps] + found[gaps + 1])
    if len(between) and not np.array_equal(count_below(between, held), gaps + 1 + rigid):
        raise ConvergenceError("the eigenvalues found do not match their count; the data of the beam are too extreme.")


def amplitudes(wave: Waves, multiplicity: int, held: Held) -> FloatArray:
    """Amplitudes (4, multiplicity) of the waves that meet the end conditions best."""
    _, _, right = np.linalg.svd(end_matrix(wave, held))
    null: FloatArray = right[4 - multiplicity :].T
    return null
