"""Numbers of a step response: rise, settling, overshoot, peak, steady state.

All of the change from the first to the final value: rise from 10 to 90 % of it, settling to stay within ±2 % of it,
overshoot and undershoot beyond its ends. The response of a system is computed at samples and interpolated between.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, instance, number
from dalembert.core.errors import DataError
from dalembert.core.results import column, result, table
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.channels import place
from dalembert.record import Record


@result
class StepInfo:
    """Numbers of a step response. Times in s, overshoot and undershoot in % of the change, NaN where there is none.

    rise_time : from 10 to 90 %.  settling_time : from the step until it stays within the band.
    peak : value farthest from the first one.  first, final : values before and in the end.
    """

    name: str
    unit: str
    rise_time: float = column("rise time", "s")
    settling_time: float = column("settling time", "s")
    overshoot: float = column("overshoot", "%")
    undershoot: float = column("undershoot", "%")
    peak: float = column("peak", "{unit}")
    peak_time: float = column("peak time", "s")
    first: float
    final: float = column("final value", "{unit}")

    def __repr__(self) -> str:
        return f"StepInfo of {self.name}\n{table(self)}"


@checked
def step_info(
    system: Annotated[StateSpace | SecondOrder | Record, instance(StateSpace, SecondOrder, Record)],
    output: str | None = None,
    *,
    input: str | None = None,
    final: Annotated[float, number] | None = None,
) -> StepInfo:
    """Rise time, settling time, overshoot and peak of a step response.

    Parameters
    ----------
    system : a stable system, stepped by 1 at `input`; or a record of a step, such as a run of a closed loop.
    output : channel to judge; needed where there are several.
    input : needed where there are several.
    final : value in the end; the steady state of a system, the last sample of a record where left out.

    Examples
    --------
    >>> lag = StateSpace(-2.0, 2.0)
    >>> found = step_info(lag)
    >>> round(found.rise_time, 5), round(found.settling_time, 5), found.overshoot
    (1.09861, 1.95601, 0.0)
    """
    if isinstance(system, Record):
        name = system.names[place("output", output, system.names, "the record")]
        t, y, unit = np.array(system.time), np.array(system[name]), system.units[name]
        last = float(y[-1]) if final is None else final
        return _judge(name, unit, t - t[0], y, float(y[0]), last)
    if isinstance(system, SecondOrder):
        system = system.state_space()
    j, i = place("input", input, system.inputs, "the system"), place("output", output, system.outputs, "the system")
    name = system.outputs[i]
    pair = system.select(inputs=[system.inputs[j]], outputs=[name]).minimal()
    if not pair.is_stable:
        raise DataError("unstable", f"the step response of {name!r} has no final value: {pair.stability()}.")
    t = _grid(pair)
    y = np.array(pair.step_response(t)[name])
    if pair.dt is None:
        y[0] = float(pair.D[0, 0])
    last = float(pair.dc_gain()[0, 0]) if final is None else final
    top = int(np.argmax(np.abs(y)))
    if pair.dt is None and 0 < top < len(y) - 1:  # the top of the parabola through the peak and its neighbours
        bend = y[top - 1] - 2.0 * y[top] + y[top + 1]
        shift = 0.5 * (y[top - 1] - y[top + 1]) / bend if bend else 0.0
        y[top] -= 0.5 * bend * shift**2
        t[top] += shift * (t[1] - t[0])
    return _judge(name, system.units.get(name, ""), t, y, 0.0, last)


def _grid(
    system: StateSpace,
    decays: float = 25.0,  # time constants of the slowest pole: its part is 1e-11 then
    fine: float = 200.0,  # samples in a radian of the fastest pole: values between are off by 1 / (8 · 200²) = 3e-6
    least: int = 4000,
    most: int = 400_000,  # of a system with poles that are far apart; times are then off by 1e-4 of the horizon
) -> FloatArray:
    """Times of samples that cover the response to its end."""
    poles = system.poles().continuous
    if not len(poles):
        return np.arange(3.0) * (system.dt or 1.0)
    slow = float(np.abs(poles.real).min())
    span = decays / slow
    if system.dt is not None:
        return np.arange(min(math.ceil(span / system.dt) + 2, most), dtype=float) * system.dt
    count = min(max(int(span * float(np.abs(poles).max()) * fine), least), most)
    return np.linspace(0.0, span, count)


def _judge(
    name: str, unit: str, t: FloatArray, y: FloatArray, first: float, final: float, settle: float = 0.02
) -> StepInfo:
    change = final - first
    top = int(np.argmax(np.abs(y - first)))
    peak, at = float(y[top]), float(t[top])
    rise = settled = over = under = math.nan
    if change:
        share = (y - first) / change
        over, under = (max(0.0, 100.0 * float(part)) for part in (share.max() - 1.0, -share.min()))
        low, high = (_first_crossing(t, share, level) for level in (0.1, 0.9))
        rise = high - low
        outside = np.flatnonzero(np.abs(share - 1.0) > settle)
        if not outside.size:
            settled = 0.0
        elif outside[-1] + 1 < len(t):
            k = int(outside[-1])
            edge = 1.0 + math.copysign(settle, share[k] - 1.0)
            settled = float(t[k] + (edge - share[k]) / (share[k + 1] - share[k]) * (t[k + 1] - t[k]))
    return StepInfo(name, unit, rise, settled, over, under, peak, at, first, final)


def _first_crossing(t: FloatArray, share: FloatArray, level: float) -> float:
    above = np.flatnonzero(share >= level)
    if not above.size:
        return math.nan
    k = int(above[0])
    if k == 0:
        return float(t[0])
    return float(t[k - 1] + (level - share[k - 1]) / (share[k] - share[k - 1]) * (t[k] - t[k - 1]))
