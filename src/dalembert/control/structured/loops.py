"""Closed loops of one controller around many models, and derivatives of what is computed of them.

    u = K y ,   K = [D_k  C_k; B_k  A_k] ,      A_cl = A + B K C  with  A = diag(A, 0), B = diag(B, 1), C = diag(C, 1)
    w -> z    B_cl = B₁ + B K D₂₁ ,   C_cl = C₁ + D₁₂ K C ,   D_cl = D₁₁ + D₁₂ K D₂₁

Everything is affine in K. With A_cl = V Λ V⁻¹ and G_A the gradient of a number by A_cl (and so on), that by K is
Bᵀ G_A Cᵀ + Bᵀ G_B D₂₁ᵀ + D₁₂ᵀ G_C Cᵀ + D₁₂ᵀ G_D D₂₁ᵀ. All arrays have the models as their first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.linear import StateSpace


@dataclass(frozen=True, eq=False)
class Family:
    """Models in one scale: time in 1/``rate``, outputs and inputs divided by ``outputs`` and ``inputs``.

    A, B, C : of the driven inputs and read outputs, (k, n, n), (k, n, nu), (k, ny, n).
    """

    models: tuple[StateSpace, ...]
    drives: tuple[str, ...]
    reads: tuple[str, ...]
    A: FloatArray
    B: FloatArray
    C: FloatArray
    rate: float
    inputs: FloatArray
    outputs: FloatArray

    @classmethod
    def of(cls, models: Sequence[StateSpace], drives: tuple[str, ...], reads: tuple[str, ...]) -> Family:
        """Scaled by the poles of the models and by their gains between them."""
        sizes = pole_sizes(models)
        rate = float(np.exp(np.log(sizes).mean())) if len(sizes) else 1.0
        A = pad([model.A / rate for model in models], fill=-100.0)
        n = A.shape[1]
        B = np.array([_rows(model.B[:, [model.inputs.index(u) for u in drives]] / rate, n) for model in models])
        C = np.array([_rows(model.C[[model.outputs.index(y) for y in reads]].T, n).T for model in models])
        around = np.geomspace(sizes.min() / 3, sizes.max() * 3, 25) / rate if len(sizes) else np.ones(1)
        s = (0.3 + 1j) * around[:, None, None, None]  # right of the poles: lightly damped modes have no peaks there
        gains = np.abs(C @ np.linalg.solve(s * np.eye(n) - A, B)).mean(axis=(0, 1))
        outputs = np.maximum(gains.max(axis=1, initial=0.0), 1e-300)
        inputs = 1.0 / np.maximum((gains / outputs[:, None]).max(axis=0, initial=0.0), 1e-300)
        return cls(tuple(models), drives, reads, A, B * inputs, C / outputs[:, None], rate, inputs, outputs)

    def __len__(self) -> int:
        return len(self.models)

    @cached_property
    def pole_range(self) -> tuple[float, float]:
        """Smallest and largest size of the poles in the scale of the family, integrators apart; 1 without any."""
        sizes = pole_sizes(self.models) / self.rate
        return (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)

    def only(self, places: Sequence[int]) -> Family:
        """The models with these numbers."""
        chosen = list(places)
        return Family(tuple(self.models[k] for k in chosen), self.drives, self.reads, self.A[chosen], self.B[chosen],
                      self.C[chosen], self.rate, self.inputs, self.outputs)  # fmt: skip

    def unscaled(self, K: FloatArray) -> FloatArray:
        """K (ny + n_k columns) of the models as they were given."""
        nu, ny = len(self.inputs), len(self.outputs)
        rows = np.concatenate([self.inputs, np.full(K.shape[-2] - nu, self.rate)])
        columns = np.concatenate([1.0 / self.outputs, np.ones(K.shape[-1] - ny)])
        return np.asarray(rows[:, None] * K * columns)

    def scaled(self, K: FloatArray) -> FloatArray:
        """Inverse of `unscaled`."""
        nu, ny = len(self.inputs), len(self.outputs)
        rows = np.concatenate([self.inputs, np.full(K.shape[-2] - nu, self.rate)])
        columns = np.concatenate([1.0 / self.outputs, np.ones(K.shape[-1] - ny)])
        return np.asarray(K / rows[:, None] / columns)


def pole_sizes(models: Sequence[StateSpace], zero: float = 1e-7) -> FloatArray:
    """Sizes of the poles that have a time scale.

    zero : share of the largest up to which a pole is an integrator: a double one is computed as √ε = 1e-8 of it.
    """
    sizes = np.abs(np.concatenate([np.linalg.eigvals(model.A) for model in models]))
    return np.asarray(sizes[sizes > zero * sizes.max(initial=0.0)])


def pad(matrices: Sequence[FloatArray], fill: float) -> FloatArray:
    """Square matrices of one size: smaller ones get states of their own, far left."""
    size = max(len(each) for each in matrices)
    whole = np.array([fill * np.eye(size) for _ in matrices])
    for k, each in enumerate(matrices):
        whole[k, : len(each), : len(each)] = each
    return whole


def _rows(matrix: FloatArray, size: int) -> FloatArray:
    return np.vstack([matrix, np.zeros((size - len(matrix), matrix.shape[1]))])


@dataclass(frozen=True, eq=False)
class Channel:
    """From w to z: B₁, C₁, D₁₁, D₁₂, D₂₁ of every model."""

    B1: FloatArray
    C1: FloatArray
    D11: FloatArray
    D12: FloatArray
    D21: FloatArray


def named_channel(family: Family, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Channel:
    """From named inputs to named outputs of the models, which may be driven and read ones too."""
    n, blocks = family.A.shape[1], []
    for model in family.models:
        w, u = ([model.inputs.index(name) for name in names] for names in (inputs, family.drives))
        z, y = ([model.outputs.index(name) for name in names] for names in (outputs, family.reads))
        blocks.append((_rows(model.B[:, w] / family.rate, n), _rows(model.C[z].T, n).T, model.D[np.ix_(z, w)],
                       model.D[np.ix_(z, u)] * family.inputs,
                       model.D[np.ix_(y, w)] / family.outputs[:, None]))  # fmt: skip
    return Channel(*(np.array(part) for part in zip(*blocks, strict=True)))


def input_channel(family: Family, shift: float = 0.0) -> Channel:
    """From disturbances of the driven inputs to the commands of the controller, T = K G (1 - K G)⁻¹; S = 1 + T."""
    k, nu, ny = len(family), len(family.inputs), len(family.outputs)
    shape = np.zeros((k, nu, nu))
    return Channel(family.B, np.zeros((k, nu, family.A.shape[1])), shape + shift * np.eye(nu), shape + np.eye(nu),
                   np.zeros((k, ny, nu)))  # fmt: skip


class FamilyLoops:
    """Closed loops with K (k, nu + n_k, ny + n_k) in the scale of the family, and the gradient collected so far."""

    def __init__(self, family: Family, K: FloatArray) -> None:
        self.family, self.K = family, K
        k, n = family.A.shape[:2]
        nu, ny = len(family.inputs), len(family.outputs)
        self.nk = K.shape[1] - nu
        self.size = n + self.nk
        self.A = np.zeros((k, self.size, self.size))
        self.A[:, :n, :n] = family.A
        self.B = np.zeros((k, self.size, nu + self.nk))
        self.B[:, :n, :nu] = family.B
        self.C = np.zeros((k, ny + self.nk, self.size))
        self.C[:, :ny, :n] = family.C
        for j in range(self.nk):
            self.B[:, n + j, nu + j] = self.C[:, ny + j, n + j] = 1.0
        self.A += self.B @ K @ self.C
        self.poles, self.V = np.linalg.eig(self.A)
        self.W = np.linalg.inv(self.V + 1e-13 * np.eye(self.size))  # a defective loop has no inverse
        self.gradient = np.zeros_like(K)
        self._closed: dict[int, tuple[FloatArray, ...]] = {}

    @property
    def stable(self) -> Any:
        """(k,) whether every pole is left of the axis."""
        return self.poles.real.max(axis=1) < 0.0

    def closed(self, channel: Channel) -> tuple[FloatArray, FloatArray, FloatArray]:
        """B_cl, C_cl, D_cl of a channel."""
        if id(channel) not in self._closed:
            nu, ny = len(self.family.inputs), len(self.family.outputs)
            k, n = self.family.A.shape[:2]
            B = np.zeros((k, self.size, channel.B1.shape[2]))
            B[:, :n] = channel.B1
            C = np.zeros((k, channel.C1.shape[1], self.size))
            C[:, :, :n] = channel.C1
            D12, D21 = channel.D12, channel.D21
            B += self.B @ (self.K[:, :, :ny] @ D21)
            C += (D12 @ self.K[:, :nu]) @ self.C
            self._closed[id(channel)] = (B, C, channel.D11 + D12 @ self.K[:, :nu, :ny] @ D21)
        return self._closed[id(channel)]  # type: ignore[return-value]

    def response(self, channel: Channel, omega: FloatArray) -> ComplexArray:
        """T(iω), (k, frequencies, z, w); omega (k, frequencies)."""
        B, C, D = self.closed(channel)
        modal = 1.0 / (1j * omega[:, :, None] - self.poles[:, None, :])
        return np.asarray(((C @ self.V)[:, None] * modal[:, :, None, :]) @ (self.W @ B)[:, None] + D[:, None])

    def response_at(self, channel: Channel, k: int, omega: float) -> ComplexArray:
        """T(iω) of model k."""
        B, C, D = (part[k] for part in self.closed(channel))
        return np.asarray(((C @ self.V[k]) / (1j * omega - self.poles[k])) @ (self.W[k] @ B) + D)

    def add_poles(self, weights: ComplexArray) -> None:
        """Add the gradient of Σ Re(weight λ); weights (k, poles)."""
        GA = np.real(np.swapaxes(self.W, 1, 2) @ (weights[:, :, None] * np.swapaxes(self.V, 1, 2)))
        self.gradient += np.swapaxes(self.B, 1, 2) @ GA @ np.swapaxes(self.C, 1, 2)

    def add_response(self, channel: Channel, k: int, omega: float, weight: ComplexArray) -> None:
        """Add the gradient of Re tr(weightᴴ T(iω)) of model k."""
        B, C, _ = (part[k] for part in self.closed(channel))
        modal = 1.0 / (1j * omega - self.poles[k])
        right = self.V[k] @ (modal[:, None] * (self.W[k] @ B))  # R B
        left = ((C @ self.V[k]) * modal) @ self.W[k]  # C R
        self.add(channel, k, np.real(left.conj().T @ weight @ right.conj().T), np.real(left.conj().T @ weight),
                 np.real(weight @ right.conj().T), np.real(weight))  # fmt: skip

    def add(self, channel: Channel, k: int, GA: FloatArray, GB: FloatArray, GC: FloatArray, GD: FloatArray) -> None:
        """Add a gradient by A_cl, B_cl, C_cl, D_cl of model k."""
        nu, ny = len(self.family.inputs), len(self.family.outputs)
        D12, D21 = channel.D12[k], channel.D21[k]
        self.gradient[k] += self.B[k].T @ GA @ self.C[k].T
        self.gradient[k][:, :ny] += self.B[k].T @ GB @ D21.T
        self.gradient[k][:nu] += D12.T @ GC @ self.C[k].T
        self.gradient[k][:nu, :ny] += D12.T @ GD @ D21.T

    def frequencies(self, count: int = 60, beyond: float = 10.0) -> FloatArray:
        """(k, count + poles) ascending: evenly spaced in their logarithm, and at the poles.

        beyond : factor by which the grid exceeds the open-loop poles on both sides.
        """
        low, high = self.family.pole_range
        grid = np.tile(np.geomspace(low / beyond, high * beyond, count), (len(self.family), 1))
        near = np.abs(self.poles) * np.where(self.poles.imag < 0.0, 1.03, 1.0)  # of a pair two different ones
        return np.sort(np.hstack([grid, np.maximum(near, low / beyond)]), axis=1)
