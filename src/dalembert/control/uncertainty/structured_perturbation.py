"""Smallest perturbations that are found: lower bounds of the structured singular value, each attained.

At a frequency det(I - M Δ) = 0 where an eigenvalue λ of M Δ is 1. With its vectors M Δ x = λ x and y* M Δ = λ y*,
y* x = 1, another Δ' gives in first order

    λ' = Σ a_k* Δ'_k x_k ,   a = M* y

and the smallest Δ' with λ' = 1 is known in closed form: with the phase θ that maximises
Re θ̄ / (Σ |Re θ̄ a_k* x_k| + Σ |a_k| |x_k|), the sums over real and over complex blocks, real blocks are at the signs of
Re θ̄ a_k* x_k and full blocks are θ a_k x_k* / |a_k| |x_k| (the alignment of Packard and Doyle 1993; Young and Doyle
1990). Repeated until Δ repeats; then complex blocks are scaled, or real ones moved by a Newton step, until λ = 1.

Where all blocks are real the eigenvalues of A(Δ) on the imaginary axis are sought over the parameters instead, at all
frequencies at the same time: the largest real part is maximised over a box, and the box shrinks along the ray to its
maximum until the axis is reached.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import scipy.linalg
import scipy.optimize

from dalembert.control.uncertainty.structured_bound import BlockStructure
from dalembert.core.arrays import ComplexArray, FloatArray

System = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Deltas = list[ComplexArray]  # a number (1, 1) of every scalar block, a matrix (rows, columns) of every full one


def expand(structure: BlockStructure, deltas: Deltas) -> ComplexArray:
    """Δ (nw, nz)."""
    Delta = np.zeros((structure.nw, structure.nz), complex)
    for k, (block, delta) in enumerate(zip(structure.blocks, deltas, strict=True)):
        Delta[structure.w(k), structure.z(k)] = delta[0, 0] * np.eye(block.rows) if block.is_scalar else delta
    return Delta


def sizes(deltas: Deltas) -> float:
    """Norm of the largest block."""
    return max((float(np.linalg.norm(delta, 2)) for delta in deltas if delta.size), default=0.0)


def align(
    M: ComplexArray,
    structure: BlockStructure,
    start: Iterable[Deltas],
    *,
    rounds: int = 40,
    attained: float = 1e-9,
    settled: float = 1e-7,
) -> tuple[float, Deltas] | None:
    """1 / ‖Δ‖ of the smallest perturbation found at one frequency, and Δ; None where none was.

    attained : |λ - 1| at which det(I - M Δ) = 0 counts as reached.  settled : relative change of a size that repeats.
    """
    best: tuple[float, Deltas] | None = None
    for deltas in start:
        previous = math.inf
        for _ in range(rounds):
            pair = _eigenvalue(M, structure, deltas)
            if pair is None:
                break
            _, x, a = pair
            step = _aligned(structure, x, a)
            if step is None:
                break
            size, deltas = step
            if abs(size - previous) < settled * size:
                break
            previous = size
        reached = _reach(M, structure, deltas, attained)
        if reached is not None and (best is None or 1.0 / sizes(reached) > best[0]):
            best = 1.0 / sizes(reached), reached
    return best


def first_guesses(structure: BlockStructure, count: int = 4, seed: int = 0) -> list[Deltas]:
    """Perturbations of size 1 to start from."""
    random = np.random.default_rng(seed)
    guesses = []
    for _ in range(count):
        deltas = []
        for block in structure.blocks:
            if block.kind == "real":
                deltas.append(np.array([[random.choice([-1.0, 1.0])]], complex))
            elif block.kind == "complex":
                deltas.append(np.array([[np.exp(2j * np.pi * random.uniform())]]))
            else:
                u, v = (random.normal(size=n) + 1j * random.normal(size=n) for n in (block.rows, block.columns))
                deltas.append(np.outer(u, v.conj()) / (np.linalg.norm(u) * np.linalg.norm(v)))
        guesses.append(deltas)
    return guesses


def _eigenvalue(
    M: ComplexArray, structure: BlockStructure, deltas: Deltas, defective: float = 1e-12
) -> tuple[complex, ComplexArray, ComplexArray] | None:
    """The eigenvalue of M Δ nearest to the positive real axis for its size, its vector x, and a = M* y."""
    values, left, right = scipy.linalg.eig(M @ expand(structure, deltas), left=True, right=True)
    real = structure.is_real or any(block.kind == "real" for block in structure.blocks)
    merit = np.abs(values) if not real else values.real
    k = int(np.argmax(merit))
    product = left[:, k].conj() @ right[:, k]
    if abs(product) < defective or abs(values[k]) == 0.0:
        return None
    return complex(values[k]), right[:, k], M.conj().T @ (left[:, k] / product.conj())


def _aligned(
    structure: BlockStructure, x: ComplexArray, a: ComplexArray, zero: float = 1e-12, kink: float = 1e-7
) -> tuple[float, Deltas] | None:
    """The smallest Δ with Σ a_k* Δ_k x_k = 1, and its size."""
    g = np.zeros(len(structure.blocks), complex)
    radius = np.zeros(len(structure.blocks))
    for k, block in enumerate(structure.blocks):
        a_k, x_k = a[structure.w(k)], x[structure.z(k)]
        if block.is_scalar:
            g[k] = a_k.conj() @ x_k
        radius[k] = abs(g[k]) if block.kind == "complex" else 0.0 if block.kind == "real" else (
            float(np.linalg.norm(a_k) * np.linalg.norm(x_k)))  # fmt: skip
    real = np.array([block.kind == "real" for block in structure.blocks])
    total = radius.sum()

    # between two kinks the merit is cos φ / (p cos φ + q sin φ + total), stationary at sin φ = -q / total
    kinks = np.sort((np.angle(g[real]) % np.pi) - 0.5 * np.pi)
    ends = np.concatenate([[-0.5 * np.pi], kinks, [0.5 * np.pi]])
    middle = np.exp(-0.5j * (ends[1:] + ends[:-1]))[:, None] * g[real]
    q = (np.sign(middle.real) * g[real].imag).sum(axis=1)
    phases = np.concatenate([[0.0], kinks, np.arcsin(-q[np.abs(q) < total] / total) if total > 0.0 else []])
    along_all = np.abs((np.exp(-1j * phases)[:, None] * g[real]).real).sum(axis=1)
    merit = np.cos(phases) / np.maximum(along_all + total, 1e-300)
    phase, size = float(phases[int(np.argmax(merit))]), float(merit.max())
    if not zero < size < 1.0 / zero:
        return None
    theta = np.exp(1j * phase)
    along = (np.conj(theta) * g).real
    delta = np.where(real, size * np.sign(along), 0.0).astype(complex)
    free = np.flatnonzero(real & (np.abs(along) <= kink * np.abs(g)))
    delta[free] = 0.0
    rest = 1.0 - np.sum(delta * g) - size * total * theta
    if np.abs(g[free]).max(initial=0.0) > zero * np.abs(g).max():  # an inner value makes the sum exact
        k = free[int(np.argmax(np.abs(g[free])))]
        delta[k] = np.clip((rest / g[k]).real, -size, size)
    deltas: Deltas = []
    for k, block in enumerate(structure.blocks):
        if block.kind == "real":
            deltas.append(np.array([[delta[k]]]))
        elif block.kind == "complex":
            deltas.append(np.array([[size * theta * np.conj(g[k]) / max(abs(g[k]), 1e-300)]]))
        else:
            a_k, x_k = a[structure.w(k)], x[structure.z(k)]
            length = max(float(np.linalg.norm(a_k) * np.linalg.norm(x_k)), 1e-300)
            deltas.append(size * theta * np.outer(a_k, x_k.conj()) / length)
    return size, deltas


def _reach(M: ComplexArray, structure: BlockStructure, deltas: Deltas, attained: float, defective: float = 1e-12,
    solved: float = 1e-6,
) -> Deltas | None:  # fmt: skip
    """Perturbations near these with an eigenvalue 1: complex blocks by a common factor, real ones by a Newton step."""
    kinds = [block.kind for block in structure.blocks]
    soft = [k for k, kind in enumerate(kinds) if kind != "real"]
    for _ in range(30):
        values, left, right = _eigen(M @ expand(structure, deltas))
        k = int(np.argmin(np.abs(values - 1.0)))
        miss = complex(1.0 - values[k])
        if abs(miss) < attained:
            return deltas
        product = left[:, k].conj() @ right[:, k]
        if abs(product) < defective:
            return None
        x, a = right[:, k], M.conj().T @ (left[:, k] / product.conj())
        if soft:
            shares = [a[structure.w(j)].conj() @ _times(structure, j, deltas) @ x[structure.z(j)] for j in soft]
            slope = complex(np.sum(shares))
            if abs(slope) < defective:
                return None
            factor = 1.0 + miss / slope
            factor = factor if abs(factor - 1.0) < 0.5 else 1.0 + 0.5 * (factor - 1.0) / abs(factor - 1.0)
            deltas = [delta * factor if j in soft else delta for j, delta in enumerate(deltas)]
        else:
            g = np.array([a[structure.w(j)].conj() @ x[structure.z(j)] for j in range(len(kinds))])
            rows = np.vstack([g.real, g.imag])
            target = np.array([miss.real, miss.imag])
            step = np.linalg.lstsq(rows, target, rcond=1e-10)[0]
            if np.linalg.norm(rows @ step - target) > solved * abs(miss):
                return None
            limit = 0.5 * max(sizes(deltas), 1e-6)
            step *= min(1.0, limit / max(float(np.abs(step).max()), 1e-300))
            deltas = [delta + step[j] for j, delta in enumerate(deltas)]
    return None


def _times(structure: BlockStructure, j: int, deltas: Deltas) -> ComplexArray:
    block = structure.blocks[j]
    return deltas[j][0, 0] * np.eye(block.rows) if block.is_scalar else deltas[j]


def _eigen(matrix: ComplexArray) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    values, left, right = scipy.linalg.eig(matrix, left=True, right=True)
    return values, left, right


# -- all blocks real: over the parameters, at all frequencies --------------------------------------------------------


class RealFamily:
    """A(δ) = A + B Δ (I - D Δ)⁻¹ C of real parameters, and its eigenvalue of largest real part.

    reference : speed [rad/s] that makes real parts pure numbers.
    """

    def __init__(self, system: System, structure: BlockStructure) -> None:
        self.A, self.B, self.C, self.D = system
        self.structure = structure
        self.n = len(structure.blocks)
        self.of = np.repeat(np.arange(self.n), [block.rows for block in structure.blocks])
        self.reference = max(float(np.abs(np.linalg.eigvals(self.A)).max(initial=0.0)), 1e-12)

    def growth(self, delta: FloatArray, defective: float = 1e-12) -> tuple[float, FloatArray]:
        """Largest real part, relative to the fastest pole, and its slope; ∞ where I - D Δ is singular or beyond."""
        Delta = np.diag(delta[self.of])
        inner = np.eye(len(Delta)) - self.D @ Delta
        if np.linalg.det(inner) <= defective:
            return math.inf, np.zeros(self.n)
        closed = np.linalg.solve(inner, self.C)  # z by x
        values, left, right = scipy.linalg.eig(self.A + self.B @ Delta @ closed, left=True, right=True)
        k = int(np.argmax(values.real))
        x = right[:, k]
        y = (
            left[:, k] / (left[:, k].conj() @ right[:, k]).conj()
            if abs(left[:, k].conj() @ x) > defective
            else left[:, k]
        )
        # dA = B (I - Δ D)⁻¹ dΔ (I - D Δ)⁻¹ C
        outward = np.linalg.solve(np.eye(len(Delta)) - (Delta @ self.D).T, self.B.T @ y.conj())
        slope = np.bincount(self.of, (outward * (closed @ x)).real, self.n)
        return float(values[k].real) / self.reference, slope / self.reference

    def edge(self, direction: FloatArray, most: float, points: int = 24) -> float:
        """Smallest size at which growth begins along a ray, to rounding; ∞ where it does not up to ``most``."""
        tried = most * np.linspace(0.0, 1.0, points + 1)[1:]
        low = 0.0
        for high in tried:
            if self.growth(high * direction)[0] >= 0.0:
                for _ in range(80):
                    middle = 0.5 * (low + high)
                    if not low < middle < high:
                        break
                    low, high = (low, middle) if self.growth(middle * direction)[0] >= 0.0 else (middle, high)
                return float(high)
            low = high
        return math.inf

    def worst(
        self, most: float, starts: Iterable[FloatArray] = (), vertices: int = 7, gain: float = 1e-9
    ) -> tuple[float, FloatArray] | None:
        """Size and direction of the smallest perturbation found below ``most``.

        vertices : largest number of parameters for which all corners of the box are tried.
        """
        random = np.random.default_rng(0)
        directions = [
            np.asarray(start) / np.abs(start).max() for start in starts if np.abs(start).max(initial=0.0) > 0.0
        ]
        if self.n <= vertices:
            directions += [np.array(corner) for corner in itertools.product((-1.0, 1.0), repeat=self.n)]
        else:
            directions += [np.sign(random.normal(size=self.n)) for _ in range(2**vertices)]
        slope = self.growth(np.zeros(self.n))[1]
        directions += [
            np.sign(slope) if slope.any() else np.ones(self.n),
            *(s * e for e in np.eye(self.n) for s in (1, -1)),
        ]
        best, where = most, np.zeros(self.n)
        for direction in directions:
            size = self.edge(direction, best)
            if size < best:
                best, where = size, direction
        ranked = sorted(directions, key=lambda d: -self.growth(0.9 * min(best, 1e6) * d)[0])[:4]
        for direction in [where, *ranked]:
            if not direction.any():
                continue
            for _ in range(6):
                size = min(best, most) * (1.0 - 1e-6)
                if not math.isfinite(size):
                    break
                climbed = scipy.optimize.minimize(
                    lambda d, size=size: tuple(-part for part in self._finite(size * d, size)), 0.98 * direction,
                    jac=True, bounds=[(-1.0, 1.0)] * self.n, method="L-BFGS-B", options={"maxiter": 40},
                )  # fmt: skip
                length = float(np.abs(climbed.x).max())
                if length == 0.0:
                    break
                direction = climbed.x / length
                shorter = self.edge(direction, best)
                if not shorter < best * (1.0 - gain):
                    break
                best, where = shorter, direction
        return (best, where) if where.any() and best < most else None

    def _finite(self, delta: FloatArray, size: float) -> tuple[float, FloatArray]:
        value, slope = self.growth(delta)
        return (value, size * slope) if math.isfinite(value) else (1e6, slope)
