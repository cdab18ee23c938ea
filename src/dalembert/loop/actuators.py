"""Actuators between a command and the machine, and sensors between the machine and a reading, as expressions.

    command → rate limit → limits → resolution → delay → input
    value → delay → noise → limits → resolution → reading

A delay is n whole samples and a fraction δ: the input changes δ after the sampling instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import DataError
from dalembert.loop.noise import SensorFaults, read_limits
from dalembert.numerics.sample_times import count_intervals, slack


@dataclass(frozen=True)
class ActuatorLimits:
    """Limits of the actuator of one input.

    limits : (lowest, highest) value, or one number for ± it.  rate : largest change per second.
    resolution : quantum of the value, 0 for none.  delay : from command to input [s], any number of samples.

    Examples
    --------
    >>> ActuatorLimits(limits=5.0, delay=2e-3).limits
    (-5.0, 5.0)
    """

    limits: Any = None
    rate: float = np.inf
    resolution: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", read_limits(self.limits, "an actuator"))
        for name, least in (("rate", 1e-300), ("resolution", 0.0), ("delay", 0.0)):
            value = real_number(f"{name} of an actuator", getattr(self, name), finite=name != "rate")
            if value < least:
                raise DataError("not-positive", f"{name} of an actuator must be a positive number, got {value!r}.")


def quantise(value: Any, resolution: float) -> Any:
    """The nearest multiple of the resolution (halves upwards)."""
    return value if resolution == 0 else resolution * ca.floor(value / resolution + 0.5)


def clip(value: object, limits: tuple[float, float]) -> Any:
    low, high = limits
    if np.isfinite(high):
        value = ca.fmin(value, high)
    return ca.fmax(value, low) if np.isfinite(low) else value


def limit_command(actuator: ActuatorLimits, command: Any, before: Any, dt: float) -> Any:
    """The value that is sent to the machine; `before` is the last one."""
    if np.isfinite(actuator.rate):
        most = actuator.rate * dt
        command = before + ca.fmax(ca.fmin(command - before, most), -most)
    return quantise(clip(command, actuator.limits), actuator.resolution)


def read_value(sensor: SensorFaults, value: Any, noise: Any) -> Any:
    """The reading of a value."""
    return quantise(clip(value + sensor.bias + noise, sensor.limits), sensor.resolution)


def in_samples(delay: float, dt: float) -> tuple[int, float]:
    """(n, δ) with delay = n dt + δ, 0 <= δ < dt."""
    count = delay / dt
    whole = count_intervals(delay, dt)
    rest = count - whole
    return whole, 0.0 if rest <= slack(1.0) else rest * dt
