"""Margins of the loop opened at one driven input after the other, the others closed: phase, disk, crossover.

T_ii is the closed loop from a disturbance of input i to the command of the controller there; S_ii = 1 + T_ii and
L_i = 1/S_ii - 1. At a crossover |L| = 1 the phase margin is |arg L + π|; its derivative contains that of the frequency,

    dω = -Re(dL/L) / Re(L'/L) ,    dφ = Im(dL/L) + Im(L'/L) dω .
"""

from __future__ import annotations

import math
import warnings
from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.control.judge.margins import margins
from dalembert.control.structured.goal import GOALS, DesignGoal, Penalty, open_at_inputs
from dalembert.control.structured.goals.norm_goals import evaluate_peaks
from dalembert.control.structured.loops import Channel, Family, FamilyLoops, input_channel
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import above_and_below, positive
from dalembert.core.results import result
from dalembert.linear import StateSpace


def _exact(model: StateSpace, controller: StateSpace) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of poles at rest that the loop does not contain
        return margins(open_at_inputs(model, controller))


def _loop_gain(loops: FamilyLoops, channel: Channel, omega: FloatArray) -> ComplexArray:
    """L_i (k, frequencies, inputs)."""
    T = np.einsum("kfii->kfi", loops.response(channel, omega))
    return np.asarray(1.0 / (1.0 + T) - 1.0)


def _add_log(loops: FamilyLoops, channel: Channel, place: tuple[int, float, int], L: complex, weight: complex) -> None:
    """Add the gradient of Re(weight ln L) at a frequency; dL = -(1 + L)² dT."""
    k, omega, i = place
    size = channel.D12.shape[1]
    matrix = np.zeros((size, size), complex)
    matrix[i, i] = np.conj(-weight * (1.0 + L) ** 2 / L)
    loops.add_response(channel, k, omega, matrix)


@result
class PhaseMarginGoal(DesignGoal):
    """The loop opened at any driven input, the others closed, tolerates at least this lag or lead [rad].

    Examples
    --------
    >>> import math
    >>> PhaseMarginGoal(math.radians(50)).name()
    'phase margin >= 0.872665 rad'
    """

    kind: ClassVar[str] = "phase margin"
    least: ClassVar[bool] = True
    unit: ClassVar[str] = "rad"
    angle: Annotated[float, above_and_below(0.0, math.pi), "least phase margin [rad]"]

    @property
    def limit(self) -> float:
        return self.angle

    def prepare(self, family: Family) -> Channel:
        return input_channel(family)

    def evaluate(self, prepared: Channel, loops: FamilyLoops, penalty: Penalty) -> float:
        omega = loops.frequencies(160, 30.0)
        L = _loop_gain(loops, prepared, omega)
        size = np.log(np.maximum(np.abs(L), 1e-300))
        places: list[tuple[int, float, int]] = []
        for k, f, i in np.argwhere((size[:, :-1] * size[:, 1:] < 0.0) & loops.stable[:, None, None]):
            share = size[k, f, i] / (size[k, f, i] - size[k, f + 1, i])
            places.append((int(k), float(omega[k, f] * (omega[k, f + 1] / omega[k, f]) ** share), int(i)))
        if not places:
            return 0.0
        phases, gains, slopes = [], [], []
        for number, (k, w, i) in enumerate(places):
            for _ in range(4):  # Newton's method for ln|L| = 0
                step = 1e-4 * w
                near = _single(loops, prepared, k, np.array([w - step, w, w + step]))[:, i]
                slope = complex(np.log(near[2] / near[0])) / (2 * step)
                if _crosses(slope, w):
                    w += float(np.clip(-math.log(abs(near[1])) / slope.real, -0.05 * w, 0.05 * w))
            places[number] = (k, w, i)
            gains.append(complex(_single(loops, prepared, k, np.array([w]))[0, i]))
            phases.append(float(np.angle(-gains[-1])))
            slopes.append(slope)
        r = 1.0 + (self.angle - np.abs(phases)) / self.angle
        value, weights = penalty(r)
        for place, L_, slope, phase, weight in zip(places, gains, slopes, phases, weights, strict=True):
            if weight:
                sign = -weight * np.sign(phase) / self.angle
                steep = slope.real if _crosses(slope, place[1]) else np.inf
                _add_log(loops, prepared, place, L_, sign * (-1j - slope.imag / steep))
        return value

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return float(min(each.phase for each in _exact(model, controller).channels))


def _crosses(slope: complex, omega: float, least: float = 1e-3) -> bool:
    """Whether ln|L| passes zero at ω with a slope by ln ω of at least ``least``; else the gain touches one."""
    return abs(slope.real) * omega > least


def _single(loops: FamilyLoops, channel: Channel, k: int, omega: FloatArray) -> ComplexArray:
    """L_i (frequencies, inputs) of model k."""
    B, C, D = (part[k] for part in loops.closed(channel))
    modal = 1.0 / (1j * omega[:, None] - loops.poles[k])
    T = ((C @ loops.V[k])[None] * modal[:, None, :]) @ (loops.W[k] @ B) + D
    return np.asarray(1.0 / (1.0 + np.einsum("fii->fi", T)) - 1.0)


@result
class CrossoverGoal(DesignGoal):
    """Beyond this frequency [rad/s] the loop opened at any driven input has a gain below one."""

    kind: ClassVar[str] = "crossover"
    unit: ClassVar[str] = "rad/s"
    frequency: Annotated[float, positive, "highest crossover [rad/s]"]

    @property
    def limit(self) -> float:
        return self.frequency

    def prepare(self, family: Family) -> tuple[Channel, FloatArray]:
        beyond = np.geomspace(1.0, 30.0, 12)  # above the modes a loop gain falls: a few frequencies show it
        return input_channel(family), np.tile(self.frequency / family.rate * beyond, (len(family), 1))

    def evaluate(self, prepared: tuple[Channel, FloatArray], loops: FamilyLoops, penalty: Penalty) -> float:
        channel, omega = prepared
        L = _loop_gain(loops, channel, omega)
        size = np.log(np.maximum(np.abs(L), 1e-300))
        value, slope = penalty(np.where(loops.stable[:, None, None], 1.0 + 0.5 * size, 0.0))
        for k, f, i in np.argwhere(slope > 0.0):
            place = (int(k), float(omega[k, f]), int(i))
            _add_log(loops, channel, place, L[k, f, i], 0.5 * slope[k, f, i])
        return value

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return max((w for each in _exact(model, controller).channels for w in each.crossovers), default=0.0)


@result
class DiskMarginGoal(DesignGoal):
    """An independent complex factor in a disk of this size α at every driven input is tolerated: 1/‖S - 1/2‖∞ ≥ α."""

    kind: ClassVar[str] = "disk margin"
    least: ClassVar[bool] = True
    size: Annotated[float, above_and_below(0.0, 2.0), "least α, 2 at most"]

    @property
    def limit(self) -> float:
        return self.size

    def prepare(self, family: Family) -> Channel:
        return input_channel(family, shift=0.5)

    def evaluate(self, prepared: Channel, loops: FamilyLoops, penalty: Penalty) -> float:
        return evaluate_peaks(loops, prepared, 1.0 / self.size, penalty)

    def measure(self, model: StateSpace, controller: StateSpace) -> float:
        return float(_exact(model, controller).disk)


GOALS.register(PhaseMarginGoal.kind, PhaseMarginGoal)
GOALS.register(DiskMarginGoal.kind, DiskMarginGoal)
GOALS.register(CrossoverGoal.kind, CrossoverGoal)
