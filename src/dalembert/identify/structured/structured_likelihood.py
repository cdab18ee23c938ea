"""Likelihood of a structured model, over whole records or over many short windows.

∂x[t+1] = Φ ∂x[t] + ∂Φ x[t] + ∂Γ u[t] + ∂Δ (u[t+1] - u[t]),    ∂y = C ∂x + ∂C x + ∂D u
Initial states x[0] are linear for given θ and are eliminated: H_θθ - H_θs H_ss⁻¹ H_sθ (variable projection).
V = N/2 Σ ln r_a,  r_a = Σ e_a²/N per output. The recursions hold for any A, defective and unstable ones too.

Over a whole record the outputs of a model whose frequencies are wrong by more than 1/(record length) do not resemble
the data, and the likelihood has many local maxima. Over short windows, each with an initial state of its own, it has
few (multiple shooting without continuity, Bock 1983): windows that grow from stage to stage lead from a rough model to
the maximum. All windows are simulated together, one array step per sample of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood.modal_likelihood import symmetric_inverse
from dalembert.identify.model.playback import free_motion
from dalembert.identify.structured.model import SampledModel
from dalembert.linear.recursions import march


def segment_sums(
    system: SampledModel, start: FloatArray, u: FloatArray, y: FloatArray, *, estimate: bool, block: int = 4_000_000
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One pass over a segment u (N, nu), y (N, ny) from the state ``start`` (n,).

    Inner products per output: JᵀJ (ny, q, q), Jᵀe (ny, q), eᵀe (ny,); q = parameters + states.

    block : numbers of sensitivities held at once: 32 MB.
    """
    k, n, ny = len(system.dphi), len(system.phi), len(system.C)
    q = k + (n if estimate else 0)
    JJ, Je, ee = np.zeros((ny, q, q)), np.zeros((ny, q)), np.zeros(ny)
    length = int(np.clip(block // max(1, ny * q), 256, 65536))
    x0, dx0, Ck = start, np.zeros((k, n)), system.C
    transition = np.linalg.matrix_power(system.phi, length)
    for begin in range(0, len(y), length):
        span, ahead = u[begin : begin + length], u[begin : begin + length + 1]
        count = len(span)
        if len(ahead) == count:  # the last step has no next input
            ahead = np.vstack([ahead, ahead[-1:]])
        rise = np.diff(ahead, axis=0)
        x = march(system.phi, span @ system.gamma.T + rise @ system.delta.T, x0)
        e = y[begin : begin + count] - x[:-1] @ system.C.T - span @ system.D.T
        J = np.empty((ny, count, q))
        for i in range(k):
            drive = x[:-1] @ system.dphi[i].T + span @ system.dgamma[i].T + rise @ system.ddelta[i].T
            dx = march(system.phi, drive, dx0[i])
            J[:, :, i] = (dx[:-1] @ system.C.T + x[:-1] @ system.dC[i].T + span @ system.dD[i].T).T
            dx0[i] = dx[-1]
        if estimate:
            J[:, :, k:] = free_motion(system.phi, Ck, count).transpose(1, 0, 2)
            Ck = Ck @ transition
        x0 = x[-1]
        Jt = J.transpose(0, 2, 1)
        JJ += Jt @ J
        Je += (Jt @ e.T[:, :, None])[:, :, 0]
        ee += np.einsum("ta,ta->a", e, e)
    return JJ, Je, ee


@dataclass(frozen=True)
class StructuredPoint:
    """Parameters and initial states with V there, noise variances r (ny,), information and gradient of θ, and the
    derivatives -follow (segments, n, k) of the best initial states."""

    theta: FloatArray
    starts: FloatArray
    value: float
    noise: FloatArray
    information: FloatArray
    gradient: FloatArray
    follow: FloatArray


class StructuredLikelihood:
    """The likelihood of whole records."""

    def __init__(
        self, u: Sequence[FloatArray], y: Sequence[FloatArray], *, estimate: bool, noise_floor: float = 1e-13
    ) -> None:
        # noise_floor: noise relative to the rms of an output that is rounding of the data, some 500 ε
        self.u, self.y, self.estimate = u, y, estimate
        self.samples = sum(map(len, y))
        power = sum(np.einsum("ta,ta->a", block, block) for block in y)
        self.floor = noise_floor**2 * np.asarray(power) / self.samples + np.finfo(float).tiny

    def evaluate(self, system: SampledModel, theta: FloatArray) -> StructuredPoint:
        """One pass, from rest or from the best initial states for this θ."""
        k, n = len(theta), len(system.phi)
        starts = self._find_starts(system) if self.estimate else np.zeros((len(self.y), n))
        segments, (JJ, Je, ee) = range(len(starts)), self._sums(system, starts)
        r = ee.sum(axis=0) / self.samples
        H, g, follow = np.zeros((k, k)), np.zeros(k), np.zeros((len(starts), n, k))
        if not all(np.isfinite(sums).all() for sums in (JJ, Je, r)):
            return StructuredPoint(theta, starts, np.inf, r, H, g, follow)
        r = np.maximum(r, self.floor)
        for i, A, b in zip(segments, np.einsum("saij,a->sij", JJ, 1.0 / r), np.einsum("sai,a->si", Je, 1.0 / r)):
            H += A[:k, :k]
            g += b[:k]
            if self.estimate:
                inverse = symmetric_inverse(A[k:, k:])
                follow[i] = inverse @ A[k:, :k]
                H -= A[:k, k:] @ follow[i]
                g -= A[:k, k:] @ (inverse @ b[k:])
        value = 0.5 * self.samples * float(np.log(r).sum())
        return StructuredPoint(theta, starts, value, r, 0.5 * (H + H.T), g, follow)

    def _find_starts(self, system: SampledModel, settling: int = 20, settled: float = 1e-10) -> FloatArray:
        """The initial states of least V: sums of squares are quadratic in them, so one pass serves for any weights.

        settling : largest number of passes between initial states and noise variances.
        settled : relative change of noise variances that ends their iteration: rounding of sums of 1e5 squares
        """
        none = {name: getattr(system, name)[:0] for name in ("dphi", "dgamma", "ddelta", "dC", "dD")}
        starts = np.zeros((len(self.y), len(system.phi)))
        JJ, Je, ee = self._sums(replace(system, **none), starts)
        if not all(np.isfinite(sums).all() for sums in (JJ, Je, ee)):
            return starts
        r = np.maximum(ee.sum(axis=0) / self.samples, self.floor)
        for _ in range(settling):
            old = r
            for i in range(len(starts)):
                inverse = symmetric_inverse(np.einsum("aij,a->ij", JJ[i], 1.0 / r))
                starts[i] = inverse @ np.einsum("ai,a->i", Je[i], 1.0 / r)
            squares = ee - 2.0 * np.einsum("sai,si->sa", Je, starts) + np.einsum("si,saij,sj->sa", starts, JJ, starts)
            r = np.maximum(squares.sum(axis=0) / self.samples, self.floor)
            if np.abs(r / old - 1.0).max() < settled:
                break
        return starts

    @np.errstate(over="ignore", invalid="ignore")
    def _sums(self, system: SampledModel, starts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """JᵀJ (segments, ny, q, q), Jᵀe (segments, ny, q) and eᵀe (segments, ny)."""
        every = zip(starts, self.u, self.y, strict=True)
        parts = zip(*(segment_sums(system, *block, estimate=self.estimate) for block in every), strict=True)
        JJ, Je, ee = (np.array(block) for block in parts)
        return JJ, Je, ee


# ---- short windows


def window_lengths(count: int, states: int, outputs: int) -> list[int]:
    """Lengths of windows from the shortest that determine the states to a third of a record of ``count`` samples."""
    length, result = max(24, 4 * -(-states // outputs)), []
    while 3 * length <= count:
        result.append(length)
        length *= 2
    return result


@dataclass(frozen=True)
class Windows:
    """Short windows of records: u (S, L + 1, nu) with the sample after the window, y (S, L, ny)."""

    u: FloatArray
    y: FloatArray

    @classmethod
    def spread(
        cls, u: Sequence[FloatArray], y: Sequence[FloatArray], length: int, parameters: int, block: int = 4_000_000
    ) -> Windows:
        """Windows spread evenly over all segments, as many as the memory allows."""
        ny = y[0].shape[1]
        most = max(8, block // (length * ny * parameters))
        places = [(s, begin) for s, signal in enumerate(y) for begin in range(0, len(signal) - length, length)]
        chosen = [places[i] for i in np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]
        return cls(
            np.array([u[s][begin : begin + length + 1] for s, begin in chosen]),
            np.array([y[s][begin : begin + length] for s, begin in chosen]),
        )

    @property
    def samples(self) -> int:
        """Samples of all windows together."""
        return int(self.y.shape[0] * self.y.shape[1])

    def evaluate(
        self, system: SampledModel, theta: FloatArray, settling: int = 20, noise_floor: float = 1e-13,
        settled: float = 1e-10,
    ) -> StructuredPoint:  # fmt: skip
        """The likelihood with the best initial states."""
        k, n = len(theta), len(system.phi)
        ny, length = self.y.shape[2], self.y.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            free = free_motion(system.phi, system.C, length).transpose(1, 0, 2)  # (ny, L, n)
            now, rise = self.u[:, :-1], np.diff(self.u, axis=1)
            drive = now @ system.gamma.T + rise @ system.delta.T
            misfit = self.y - _simulate(system.phi, drive) @ system.C.T - now @ system.D.T
            floor = noise_floor**2 * (self.y**2).mean(axis=(0, 1)) + np.finfo(float).tiny
            r, starts = floor + (self.y**2).mean(axis=(0, 1)), np.zeros((len(self.y), n))
            for _ in range(settling):
                old = r
                inverse = symmetric_inverse(np.einsum("atn,a,atm->nm", free, 1.0 / r, free))
                starts = np.einsum("sta,a,atn->sn", misfit, 1.0 / r, free, optimize=True) @ inverse
                e = misfit - np.einsum("atn,sn->sta", free, starts, optimize=True)
                r = np.maximum((e**2).mean(axis=(0, 1)), floor)
                if not np.abs(r / old - 1.0).max() > settled:
                    break
            x = _simulate(system.phi, drive, starts)
            J = np.empty((len(self.y), length, ny, k))
            for i in range(k):
                push = x @ system.dphi[i].T + now @ system.dgamma[i].T + rise @ system.ddelta[i].T
                J[..., i] = _simulate(system.phi, push) @ system.C.T + x @ system.dC[i].T + now @ system.dD[i].T
            cross = np.einsum("atn,a,stak->snk", free, 1.0 / r, J, optimize=True)
            follow = inverse @ cross
            H = np.einsum("stai,a,staj->ij", J, 1.0 / r, J, optimize=True) - np.einsum("snk,snl->kl", cross, follow)
            g = np.einsum("stai,a,sta->i", J, 1.0 / r, e, optimize=True)
        good = np.isfinite(H).all() and np.isfinite(g).all() and np.isfinite(r).all()
        value = 0.5 * self.samples * float(np.log(r).sum()) if good else np.inf
        return StructuredPoint(theta, starts, value, r, 0.5 * (H + H.T), g, follow)


def _simulate(phi: FloatArray, drive: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """States (S, L, n) of x[t+1] = Φ x[t] + drive[t] in all windows, from ``start`` (S, n) or zero."""
    windows, length, n = drive.shape
    path = np.empty((length, windows, n))
    x = np.zeros((windows, n)) if start is None else start
    turned = np.ascontiguousarray(phi.T)
    for t in range(length):
        path[t] = x
        x = x @ turned + drive[:, t]
    return path.transpose(1, 0, 2)
