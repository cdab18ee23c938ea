"""Norms from named inputs to named outputs: H2, H-infinity, and tracking within an envelope.

    d‖T‖₂² = 2 tr(Q dA P) + 2 tr(Q dB Bᵀ) + 2 tr(P Cᵀ dC)       A P + P Aᵀ + B Bᵀ = 0 ,  Aᵀ Q + Q A + Cᵀ C = 0

At a peak of the largest singular value, T = σ u vᴴ + ..., dσ = Re(uᴴ dT v). Every peak within some per cent of the
highest counts: where two are equal, the largest one alone has no derivative (Apkarian and Noll 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.control.robust.generalized_plant import close_loop
from dalembert.control.structured.goal import (
    GOALS,
    DesignGoal,
    Penalty,
    as_names,
    require_channels,
)
from dalembert.control.structured.loops import Channel, Family, FamilyLoops, named_channel
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import positive
from dalembert.core.errors import DataError
from dalembert.core.results import result
from dalembert.linear import StateSpace

Names = str | tuple[str, ...]
Limit = Annotated[float, positive, "largest value"]


def evaluate_peaks(
    loops: FamilyLoops, channel: Channel, limit: float, penalty: Penalty,
    weight: Callable[[FloatArray], FloatArray] | None = None, near: float = 0.7,
) -> float:  # fmt: skip
    """Penalty of σ_max(T) weight(ω) / limit at its peaks over the frequencies, of stable models.

    near : share of the highest peak above which another one counts.
    """
    omega = loops.frequencies(80, 30.0)
    sigma = np.linalg.svd(loops.response(channel, omega), compute_uv=False)[:, :, 0]
    r = sigma * (1.0 if weight is None else weight(omega)) / limit
    middle = (r > np.pad(r, ((0, 0), (1, 0)))[:, :-1]) & (r >= np.pad(r, ((0, 0), (0, 1)))[:, 1:])
    middle &= loops.stable[:, None] & (r > near * r.max(axis=1, initial=0.0)[:, None])
    ratios, parts = np.zeros((len(r), int(middle.sum(axis=1).max(initial=0)))), {}
    for k in range(len(r)):
        for place, f in enumerate(map(int, np.flatnonzero(middle[k]))):
            last = omega.shape[1] - 1
            ends = math.log(omega[k, max(f - 1, 0)]), math.log(omega[k, min(f + 1, last)])
            w = _highest(loops, channel, k, ends, weight)
            factor = 1.0 if weight is None else float(weight(np.array(w)))
            U, values, Vh = np.linalg.svd(loops.response_at(channel, k, w))
            ratios[k, place] = values[0] * factor / limit
            parts[k, place] = (w, factor / limit * np.outer(U[:, 0], Vh[0]))
    value, slope = penalty(ratios)
    for (k, place), (w, direction) in parts.items():
        if slope[k, place] > 0.0:
            loops.add_response(channel, k, w, slope[k, place] * direction)
    return value


def _highest(
    loops: FamilyLoops, channel: Channel, k: int, ends: tuple[float, float],
    weight: Callable[[FloatArray], FloatArray] | None, rounds: int = 28,
) -> float:  # fmt: skip
    """Frequency of the largest gain between two logarithms, by golden section; ``rounds`` leave a millionth of them."""

    def gain(x: float) -> float:
        w = math.exp(x)
        size = float(np.linalg.norm(loops.response_at(channel, k, w), 2))
        return size * (1.0 if weight is None else float(weight(np.array(w))))

    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    low, high = ends
    x, y = high - golden * (high - low), low + golden * (high - low)
    gx, gy = gain(x), gain(y)
    for _ in range(rounds):
        if gx > gy:
            high, y, gy = y, x, gx
            x = high - golden * (high - low)
            gx = gain(x)
        else:
            low, x, gx = x, y, gy
            y = low + golden * (high - low)
            gy = gain(y)
    return math.exp(0.5 * (low + high))


@result
class H2Goal(DesignGoal):
    """The H2 norm from inputs to outputs: the deviation of the outputs under white noise of unit intensity."""

    kind: ClassVar[str] = "H2"
    inputs: Names
    outputs: Names
    most: Limit = 1.0

    @property
    def limit(self) -> float:
        return self.most

    def prepare(self, family: Family) -> Channel:
        names = as_names(self.inputs), as_names(self.outputs)
        require_channels(family, *names)
        channel = named_channel(family, *names)
        DataError.when(channel.D11.any() or (channel.D12.any() and channel.D21.any()), "out-of-range",
                       "an H2 norm with a direct term from the noise to the outputs is infinite.")  # fmt: skip
        return Channel(channel.B1 * np.sqrt(family.rate), channel.C1, channel.D11, channel.D12,
                       channel.D21 * np.sqrt(family.rate))  # fmt: skip

    def evaluate(self, prepared: Channel, loops: FamilyLoops, penalty: Penalty) -> float:
        B, C, _ = loops.closed(prepared)
        V, W = loops.V, loops.W
        sums = -1.0 / (loops.poles[:, :, None] + loops.poles[:, None, :].conj())
        Bm, Cm = W @ B, C @ V
        P = np.real(V @ ((Bm @ Bm.conj().swapaxes(1, 2)) * sums) @ V.conj().swapaxes(1, 2))
        Q = np.real(W.conj().swapaxes(1, 2) @ ((Cm.conj().swapaxes(1, 2) @ Cm) * sums.conj()) @ W)
        norms = np.sqrt(np.maximum(np.einsum("kij,kjl,kil->k", C, P, C), 1e-300))
        value, slope = penalty(np.where(loops.stable, norms / self.most, 0.0))
        for k in np.flatnonzero(slope > 0.0):
            factor = slope[k] / (self.most * norms[k])
            zero = np.zeros((C.shape[1], B.shape[2]))
            loops.add(prepared, int(k), factor * Q[k] @ P[k], factor * Q[k] @ B[k], factor * C[k] @ P[k], zero)
        return value

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return _channel(self, model, controller).h2_norm()


@result
class HinfGoal(DesignGoal):
    """The H-infinity norm from inputs to outputs: the largest gain over all frequencies and directions."""

    kind: ClassVar[str] = "H-infinity"
    inputs: Names
    outputs: Names
    most: Limit = 1.0

    @property
    def limit(self) -> float:
        return self.most

    def prepare(self, family: Family) -> Channel:
        names = as_names(self.inputs), as_names(self.outputs)
        require_channels(family, *names)
        return named_channel(family, *names)

    def evaluate(self, prepared: Channel, loops: FamilyLoops, penalty: Penalty) -> float:
        return evaluate_peaks(loops, prepared, self.most, penalty)

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return float(_channel(self, model, controller).hinf_norm())


@result
class TrackingGoal(DesignGoal):
    """The gain from references to errors stays below (peak i ω + steady ω_b) / (i ω + ω_b); the value is their ratio.

    inputs, outputs : references, and errors r - y as outputs of the models.
    bandwidth : ω_b [rad/s].  steady, peak : largest relative error at rest and at high frequencies.
    """

    kind: ClassVar[str] = "tracking"
    inputs: Names
    outputs: Names
    bandwidth: Annotated[float, positive, "ω_b [rad/s]"]
    steady: Limit = 0.01
    peak: Limit = 1.5

    @property
    def limit(self) -> float:
        return 1.0

    def prepare(self, family: Family) -> tuple[Channel, float]:
        names = as_names(self.inputs), as_names(self.outputs)
        require_channels(family, *names)
        return named_channel(family, *names), self.bandwidth / family.rate

    def evaluate(self, prepared: tuple[Channel, float], loops: FamilyLoops, penalty: Penalty) -> float:
        channel, omega_b = prepared
        weight = lambda w: np.abs((1j * w + omega_b) / (1j * w * self.peak + omega_b * self.steady))  # noqa: E731
        return evaluate_peaks(loops, channel, 1.0, penalty, weight)

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        closed = _channel(self, model, controller)
        pole = self.bandwidth * self.steady / self.peak
        m = closed.ny
        eye = np.eye(m)
        inverse = StateSpace(-pole * eye, eye, (self.bandwidth - pole) / self.peak * eye, eye / self.peak)
        return float(closed.series(inverse).hinf_norm())


def _channel(goal: Any, model: StateSpace, controller: StateSpace) -> StateSpace:
    return close_loop(model, controller).select(inputs=as_names(goal.inputs), outputs=as_names(goal.outputs))


GOALS.register(H2Goal.kind, H2Goal)
GOALS.register(HinfGoal.kind, HinfGoal)
GOALS.register(TrackingGoal.kind, TrackingGoal)
