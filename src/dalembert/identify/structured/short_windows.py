"""The likelihood of a structured model over many short windows, each with a start of its own.

Over a whole record the outputs of a model whose frequencies are off by more than 1/(record length) bear no likeness to
the data, and the likelihood has many local summits. Over short windows with free starts it has few (multiple shooting
without continuity, Bock 1983): windows that grow from stage to stage lead from a rough model to the summit.
All windows are carried forward together, one array step per sample of a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.identify.likelihood.modal_likelihood import symmetric_inverse
from dalembert.identify.model.playback import free_motion
from dalembert.identify.structured.likelihood import NOISE_FLOOR, SETTLING, Place
from dalembert.identify.structured.model import Sampled

# Numbers of sensitivities held at once (32 MB), which limits how many windows are looked at.
BUDGET = 4_000_000


def stages(count: int, states: int, outputs: int) -> list[int]:
    """Lengths of windows from the shortest that tell anything to a third of a record of ``count`` samples."""
    length, result = max(24, 4 * -(-states // outputs)), []
    while 3 * length <= count:
        result.append(length)
        length *= 2
    return result


@dataclass(frozen=True)
class Windows:
    """u (S, L + 1, nu) with the sample after the window, y (S, L, ny)."""

    u: FloatArray
    y: FloatArray

    @classmethod
    def spread(cls, u: Sequence[FloatArray], y: Sequence[FloatArray], length: int, parameters: int) -> Windows:
        """Windows spread evenly over all segments, as many as the memory allows."""
        ny = y[0].shape[1]
        most = max(8, BUDGET // (length * ny * parameters))
        places = [(s, begin) for s, part in enumerate(y) for begin in range(0, len(part) - length, length)]
        chosen = [places[i] for i in np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]
        return cls(
            np.array([u[s][begin : begin + length + 1] for s, begin in chosen]),
            np.array([y[s][begin : begin + length] for s, begin in chosen]),
        )

    @property
    def samples(self) -> int:
        """Samples of all windows together."""
        return int(self.y.shape[0] * self.y.shape[1])

    def look(self, system: Sampled, theta: FloatArray) -> Place:
        """What the windows say, starts at their best."""
        k, n = len(theta), len(system.phi)
        ny, length = self.y.shape[2], self.y.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            free = free_motion(system.phi, system.C, length).transpose(1, 0, 2)  # (ny, L, n)
            now, rise = self.u[:, :-1], np.diff(self.u, axis=1)
            drive = now @ system.gamma.T + rise @ system.delta.T
            left = self.y - _carried(system.phi, drive) @ system.C.T - now @ system.D.T
            floor = NOISE_FLOOR**2 * (self.y**2).mean(axis=(0, 1)) + np.finfo(float).tiny
            r, starts = floor + (self.y**2).mean(axis=(0, 1)), np.zeros((len(self.y), n))
            for _ in range(SETTLING):
                old = r
                inverse = symmetric_inverse(np.einsum("atn,a,atm->nm", free, 1.0 / r, free))
                starts = np.einsum("sta,a,atn->sn", left, 1.0 / r, free, optimize=True) @ inverse
                e = left - np.einsum("atn,sn->sta", free, starts, optimize=True)
                r = np.maximum((e**2).mean(axis=(0, 1)), floor)
                if not np.abs(r / old - 1.0).max() > 1e-10:
                    break
            x = _carried(system.phi, drive, starts)
            J = np.empty((len(self.y), length, ny, k))
            for i in range(k):
                push = x @ system.dphi[i].T + now @ system.dgamma[i].T + rise @ system.ddelta[i].T
                J[..., i] = _carried(system.phi, push) @ system.C.T + x @ system.dC[i].T + now @ system.dD[i].T
            cross = np.einsum("atn,a,stak->snk", free, 1.0 / r, J, optimize=True)
            follow = inverse @ cross
            H = np.einsum("stai,a,staj->ij", J, 1.0 / r, J, optimize=True) - np.einsum("snk,snl->kl", cross, follow)
            g = np.einsum("stai,a,sta->i", J, 1.0 / r, e, optimize=True)
        good = np.isfinite(H).all() and np.isfinite(g).all() and np.isfinite(r).all()
        value = 0.5 * self.samples * float(np.log(r).sum()) if good else np.inf
        return Place(theta, starts, value, r, 0.5 * (H + H.T), g, np.zeros_like(starts), follow)


def _carried(phi: FloatArray, drive: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """States (S, L, n) of x[t+1] = Φ x[t] + drive[t] in all windows, from ``start`` (S, n) or zero."""
    windows, length, n = drive.shape
    path = np.empty((length, windows, n))
    x = np.zeros((windows, n)) if start is None else start
    turned = np.ascontiguousarray(phi.T)
    for t in range(length):
        path[t] = x
        x = x @ turned + drive[:, t]
    return path.transpose(1, 0, 2)
