"""Likelihood of a structured model: sensitivities by the plain recursion, for any A (defective and unstable as well).

∂x[t+1] = Φ ∂x[t] + ∂Φ x[t] + ∂Γ u[t] + ∂Δ (u[t+1] - u[t]),    ∂y = C ∂x + ∂C x + ∂D u
starts x[0] of each segment are linear for given θ and are eliminated: H_θθ - H_θs H_ss⁻¹ H_sθ (variable projection).
V = N/2 Σ ln r_a,  r_a = Σ e_a²/N per output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood.modal_likelihood import symmetric_inverse
from dalembert.identify.model.playback import free_motion
from dalembert.identify.structured.model import Sampled
from dalembert.linear.recursions import march

# Numbers of one block of sensitivities held at once: 32 MB.
BLOCK = 4_000_000
NOISE_FLOOR = 1e-13
# Repetitions of the weights in finding the best starts.
SETTLING = 20


@dataclass(frozen=True)
class Sums:
    """Inner products of one segment, per output a: JᵀJ (ny, q, q), Jᵀe (ny, q), eᵀe (ny,); q = parameters + states."""

    JJ: FloatArray
    Je: FloatArray
    ee: FloatArray


def segment_sums(system: Sampled, start: FloatArray, u: FloatArray, y: FloatArray, *, estimate: bool) -> Sums:
    """One pass over a segment u (N, nu), y (N, ny) from the state ``start`` (n,)."""
    k, n, ny = len(system.dphi), len(system.phi), len(system.C)
    q = k + (n if estimate else 0)
    JJ, Je, ee = np.zeros((ny, q, q)), np.zeros((ny, q)), np.zeros(ny)
    length = int(np.clip(BLOCK // max(1, ny * q), 256, 65536))
    x0, dx0, Ck = start, np.zeros((k, n)), system.C
    whole = np.linalg.matrix_power(system.phi, length)
    for begin in range(0, len(y), length):
        part, ahead = u[begin : begin + length], u[begin : begin + length + 1]
        count = len(part)
        if len(ahead) == count:  # the last step leads nowhere
            ahead = np.vstack([ahead, ahead[-1:]])
        rise = np.diff(ahead, axis=0)
        x = march(system.phi, part @ system.gamma.T + rise @ system.delta.T, x0)
        e = y[begin : begin + count] - x[:-1] @ system.C.T - part @ system.D.T
        J = np.empty((ny, count, q))
        for i in range(k):
            drive = x[:-1] @ system.dphi[i].T + part @ system.dgamma[i].T + rise @ system.ddelta[i].T
            dx = march(system.phi, drive, dx0[i])
            J[:, :, i] = (dx[:-1] @ system.C.T + x[:-1] @ system.dC[i].T + part @ system.dD[i].T).T
            dx0[i] = dx[-1]
        if estimate:
            J[:, :, k:] = free_motion(system.phi, Ck, count).transpose(1, 0, 2)
            Ck = Ck @ whole
        x0 = x[-1]
        Jt = J.transpose(0, 2, 1)
        JJ += Jt @ J
        Je += (Jt @ e.T[:, :, None])[:, :, 0]
        ee += np.einsum("ta,ta->a", e, e)
    return Sums(JJ, Je, ee)


@dataclass(frozen=True)
class Place:
    """Parameters and starts, and what the data say there: V, noise variances r (ny,), information and gradient of θ,
    and how the starts follow, x₀ + rest - follow δθ."""

    theta: FloatArray
    starts: FloatArray
    value: float
    noise: FloatArray
    information: FloatArray
    gradient: FloatArray
    rest: FloatArray
    follow: FloatArray


class StructuredAscent:
    """The data of a structured fit."""

    def __init__(self, u: Sequence[FloatArray], y: Sequence[FloatArray], *, estimate: bool) -> None:
        self.u, self.y, self.estimate = u, y, estimate
        self.samples = sum(map(len, y))
        power = sum(np.einsum("ta,ta->a", part, part) for part in y)
        self.floor = NOISE_FLOOR**2 * np.asarray(power) / self.samples + np.finfo(float).tiny

    def look(self, system: Sampled, theta: FloatArray, starts: FloatArray, *, settle: bool = False) -> Place:
        """One pass; ``settle`` first puts the starts at their best for this θ."""
        if settle and self.estimate:
            bare = replace(system, dphi=system.dphi[:0], dgamma=system.dgamma[:0], ddelta=system.ddelta[:0],
                           dC=system.dC[:0], dD=system.dD[:0])  # fmt: skip
            starts = self._settled(bare, starts)
        return self._place(system, theta, starts)

    def _settled(self, bare: Sampled, starts: FloatArray) -> FloatArray:
        """The starts of least V: sums of squares are quadratic in them, so one pass tells all for any weights."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [
                segment_sums(bare, start, u, y, estimate=True)
                for start, u, y in zip(starts, self.u, self.y, strict=True)
            ]
        JJ, Je, ee = (np.array([getattr(s, name) for s in sums]) for name in ("JJ", "Je", "ee"))
        if not (np.isfinite(JJ).all() and np.isfinite(Je).all() and np.isfinite(ee).all()):
            return starts
        step, r = np.zeros_like(starts), np.maximum(ee.sum(axis=0) / self.samples, self.floor)
        for _ in range(SETTLING):
            old = r
            for i in range(len(starts)):
                inverse = symmetric_inverse(np.einsum("aij,a->ij", JJ[i], 1.0 / r))
                step[i] = inverse @ np.einsum("ai,a->i", Je[i], 1.0 / r)
            left = ee - 2.0 * np.einsum("sai,si->sa", Je, step) + np.einsum("si,saij,sj->sa", step, JJ, step)
            r = np.maximum(left.sum(axis=0) / self.samples, self.floor)
            if np.abs(r / old - 1.0).max() < 1e-10:
                break
        return np.asarray(starts + step)

    def _place(self, system: Sampled, theta: FloatArray, starts: FloatArray) -> Place:
        k, n = len(theta), len(system.phi)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [
                segment_sums(system, start, u, y, estimate=self.estimate)
                for start, u, y in zip(starts, self.u, self.y, strict=True)
            ]
            r = np.sum([s.ee for s in sums], axis=0) / self.samples
        if not all(np.isfinite(s.JJ).all() and np.isfinite(s.Je).all() for s in sums) or not np.isfinite(r).all():
            nothing = np.zeros((len(starts), n, k))
            return Place(theta, starts, np.inf, r, np.zeros((k, k)), np.zeros(k), np.zeros_like(starts), nothing)
        r = np.maximum(r, self.floor)
        H, g = np.zeros((k, k)), np.zeros(k)
        rest, follow = np.zeros((len(starts), n)), np.zeros((len(starts), n, k))
        for i, s in enumerate(sums):
            JJ, Je = np.einsum("aij,a->ij", s.JJ, 1.0 / r), np.einsum("ai,a->i", s.Je, 1.0 / r)
            H += JJ[:k, :k]
            g += Je[:k]
            if self.estimate:
                inverse = symmetric_inverse(JJ[k:, k:])
                rest[i], follow[i] = inverse @ Je[k:], inverse @ JJ[k:, :k]
                H -= JJ[:k, k:] @ follow[i]
                g -= JJ[:k, k:] @ rest[i]
        value = 0.5 * self.samples * float(np.log(r).sum())
        return Place(theta, starts, value, r, 0.5 * (H + H.T), g, rest, follow)
