"""All eigenvalues of a uniform beam between any two ends, none skipped and none twice.

In the units of `harmonic_fields`, with springs κ, mass μ and inertia ι at the ends:

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
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import ConvergenceError
from dalembert.structures.continuous import harmonic_fields
from dalembert.structures.continuous.harmonic_fields import Numbers

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class HeldBeam:
    """A beam and its ends in numbers without dimension: (left, right) pairs; inf = held."""

    r2: float
    s2: float
    kt: tuple[float, float]
    kr: tuple[float, float]
    mu: tuple[float, float]
    iota: tuple[float, float]

    def rigid(self, zero: float = 1e-9) -> FloatArray:
        """Rigid motions without strain energy, as columns (a, c) of u = a + c z; (2, 0 to 2).

        zero : singular value; entries are 0 and 1.
        """
        rows = [[1.0, side * 1.0] for side in (0, 1) if self.kt[side] > 0.0]
        rows += [[0.0, 1.0] for side in (0, 1) if self.kr[side] > 0.0]
        if not rows:
            return np.eye(2)
        _, sizes, right = np.linalg.svd(np.array(rows))
        rank = int(np.count_nonzero(sizes > zero))
        null: FloatArray = right[rank:].T
        return null

    def conditions(self, side: int, lam: Numbers, soft: Numbers | float = 1.0) -> Numbers:
        """(m, 2, 4) rows on (u, φ, M, V) that vanish at the end, for each λ (m,); springs count 1/``soft``."""
        sign = -1.0 if side == 0 else 1.0
        rows = np.zeros((len(lam), 2, 4), dtype=lam.dtype)
        for row, (motion, force, spring, mass) in enumerate(
            ((0, 3, self.kt[side], self.mu[side]), (1, 2, self.kr[side], self.iota[side]))
        ):
            rows[:, row, motion] = 1.0 if np.isinf(spring) else spring / soft - lam * mass
            rows[:, row, force] = 0.0 if np.isinf(spring) else sign
        return rows


def is_apart(low: Any, high: Any, close: float = 1e-9) -> Any:
    """Whether b = λ^¼ differ; closer eigenvalues are distinguished by counting only."""
    return high - low > close * high


def count_below(b: FloatArray, held: HeldBeam, beside: float = 1e-12) -> IntArray:
    """Number of eigenvalues λ < b⁴, rigid-body motions included; b (m,) > 0.

    beside : relative step in λ off a pole of a joint; a thousandth of the distance of eigenvalues that are apart.
    """
    total = np.zeros(len(b), dtype=np.int64)
    lam = b**4
    halvings = _halvings(lam, held)
    for n in np.unique(halvings):
        chosen = halvings == n
        try:
            total[chosen] = _count(lam[chosen], int(n), held)
        except np.linalg.LinAlgError:  # one of them sits exactly on a pole of a joint: look just beside it
            total[chosen] = _count(lam[chosen] * (1.0 + beside), int(n), held)
    return total


def _halvings(lam: FloatArray, held: HeldBeam) -> IntArray:
    """n for which a piece of length 2⁻ⁿ, clamped at both ends, has no eigenvalue below λ and only long waves.

    A clamped piece of length h has λ ≥ min(½ (π/h)⁴/(1 + ½ s² (π/h)²), ½ (π/h)²/r²), from Wirtinger's inequality
    on both fields and (u′-φ)² ≥ (1-ε) u′² - (1/ε-1) φ² with 1/ε = 1 + ½ s² (π/h)².
    """
    n = np.zeros(len(lam), dtype=np.int64)
    wave = harmonic_fields.shortest(lam, held.r2, held.s2)
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


def stiffness(lam: FloatArray, length: float, held: HeldBeam) -> FloatArray:
    """Dynamic stiffness (m, 4, 4) of a short piece on (u, φ) at its left and right end."""
    T = harmonic_fields.taylor(lam, held.r2, held.s2, np.array([length]))[..., 0]
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


def _count(lam: FloatArray, halvings: int, held: HeldBeam) -> IntArray:
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


def end_matrix(lam: FloatArray, held: HeldBeam) -> FloatArray:
    """(m, 4, 4) end conditions on the amplitudes of the four waves at each λ (m,), in rows of order one.

    Rows are scaled by the size of the fields, never by their own: a row or column may vanish at an eigenvalue.
    """
    at = harmonic_fields.fields(lam, held.r2, held.s2, np.array([0.0, 1.0]))
    size = np.abs(at).max(axis=(2, 3))[:, :, None]
    both = [held.conditions(side, lam) for side in (0, 1)]
    return np.concatenate([rows @ at[..., side] / (np.abs(rows) @ size) for side, rows in enumerate(both)], axis=1)


def characteristic(b: FloatArray, held: HeldBeam) -> FloatArray:
    """Zero at every eigenvalue λ = b⁴, (m,) for b (m,); its sign does not depend on the basis in use."""
    value: FloatArray = np.linalg.det(end_matrix(b**4, held))
    return value


def eigenvalues(count: int, held: HeldBeam) -> FloatArray:
    """The ``count`` lowest b = λ^¼, ascending, with zeros for rigid-body motions; as exact as doubles allow."""
    rigid = held.rigid().shape[1]
    wanted = np.arange(rigid, count)
    b = np.zeros(count)
    if not len(wanted):
        return b
    low, high = _isolate(wanted, rigid, held)
    ends = characteristic(low, held), characteristic(high, held)
    simple = is_apart(low, high) & (ends[0] * ends[1] < 0.0)
    b[wanted[simple]] = _chandrupatla(low[simple], high[simple], ends[0][simple], ends[1][simple], held)
    for i in np.flatnonzero(~simple):
        b[wanted[i]] = _by_counting(float(low[i]), float(high[i]), int(wanted[i]), held)
    _check(b[rigid:], rigid, held)
    return b


def _isolate(wanted: IntArray, rigid: int, held: HeldBeam) -> tuple[FloatArray, FloatArray]:
    """Brackets with exactly one eigenvalue each, or narrower than `is_apart` distinguishes."""
    top = (wanted[-1] + 2.0) * np.pi
    for _ in range(60):
        if count_below(np.array([top]), held)[0] > wanted[-1]:
            break
        top *= 1.5
    else:
        raise ConvergenceError(
            "no-convergence", f"no {wanted[-1] + 1} eigenvalues of the beam below λ = {top**4:.3g}; check its data."
        )
    low, high = np.zeros(len(wanted)), np.full(len(wanted), top)
    below, above = np.full(len(wanted), rigid), np.full(len(wanted), wanted[-1] + 2)
    for _ in range(200):
        # 1e-3 of slack: at the middle of a symmetric bracket the pieces would often sit on a symmetric pole
        middle = low + (high - low) * 0.5007
        open_ = ((below != wanted) | (above != wanted + 1) | (low == 0.0)) & is_apart(low, high)
        if not open_.any():
            break
        counted = count_below(middle[open_], held)
        over = counted > wanted[open_]
        index = np.flatnonzero(open_)
        high[index[over]], above[index[over]] = middle[index[over]], counted[over]
        low[index[~over]], below[index[~over]] = middle[index[~over]], counted[~over]
    return low, high


def _chandrupatla(x1: FloatArray, x2: FloatArray, f1: FloatArray, f2: FloatArray, held: HeldBeam) -> FloatArray:
    """Roots of the characteristic function in brackets, all at once (Chandrupatla 1997)."""
    x3, f3 = x2.copy(), f2.copy()
    t = np.full(len(x1), 0.5)
    best = np.where(np.abs(f1) < np.abs(f2), x1, x2)
    open_ = np.ones(len(x1), dtype=bool)
    for _ in range(200):
        x = np.where(open_, x1 + t * (x2 - x1), x1)
        f = f1.copy()
        f[open_] = characteristic(x[open_], held)
        same = np.sign(f) == np.sign(f1)
        x3, f3 = np.where(open_, np.where(same, x1, x2), x3), np.where(open_, np.where(same, f1, f2), f3)
        x2, f2 = np.where(open_ & ~same, x1, x2), np.where(open_ & ~same, f1, f2)
        x1, f1 = np.where(open_, x, x1), np.where(open_, f, f1)
        best = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        limit = np.divide(2.0 * EPS * np.abs(best), np.abs(x2 - x1), out=np.ones(len(x1)), where=x1 != x2)
        open_ = open_ & (limit <= 0.5) & (f1 != 0.0)
        if not open_.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            quadratic = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
            step = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        step = np.where(quadratic & np.isfinite(step), step, 0.5)
        t = np.clip(step, np.minimum(limit, 0.5), np.maximum(1.0 - limit, 0.5))
    return best


def _by_counting(low: float, high: float, index: int, held: HeldBeam) -> float:
    """Eigenvalues that coincide, or a bracket whose ends touch one."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if count_below(np.array([middle]), held)[0] > index:
            high = middle
        else:
            low = middle


def _check(b: FloatArray, rigid: int, held: HeldBeam, apart: float = 1e-6) -> None:
    """Between neighbours that are clearly apart the count, which is good to 1e-9, must equal the number found."""
    gaps = np.flatnonzero(is_apart(b[:-1], b[1:], apart))
    # not halfway: there the joints of the pieces often have a pole, and the count is lost in rounding
    for fraction in (0.4637, 0.3719, 0.6143):
        between = b[gaps] + fraction * (b[gaps + 1] - b[gaps])
        if np.array_equal(count_below(between, held), gaps + 1 + rigid):
            return
    raise ConvergenceError(
        "no-convergence", "the eigenvalues found do not match their count; the data of the beam are too extreme."
    )


def amplitudes(lam: float, multiplicity: int, held: HeldBeam) -> FloatArray:
    """Amplitudes (4, multiplicity) of the waves that meet the end conditions best."""
    _, _, right = np.linalg.svd(end_matrix(np.array([lam]), held)[0])
    null: FloatArray = right[4 - multiplicity :].T
    return null
