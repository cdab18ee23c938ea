"""Simulated sensors: noise, then steps.

    reading = steps(limited(value + bias + σ ξ)) ,    steps(v) = r ⌊v / r + ½⌋ ,    σ of steps alone: r / √12

Encoder: r = 2π / ppr. Accelerometer: r = LSB / sensitivity, LSB = range / 2^bits. Force: σ = percentage of full scale.
The noise of a sensor is its standard deviation σ; where none is given, σ is one step. Every sensor is a function
of numbers, arrays or expressions, fits ``da.Noise(sensors=...)``, and its `variance` is what a filter takes as R.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Array, maximum, minimum
from dalembert.expressions.quantities import is_real, is_symbolic
from dalembert.loop.noise import Noise, read_limits, read_sensor
from dalembert.record import Record


@dataclass(frozen=True, kw_only=True)
class SimulatedSensor(ABC):
    """Base class of simulated sensors; each has its own deviation, resolution and limits.

    bias : constant error.  delay : [s].  dt : interval between readings where they are slower than the rest [s].
    """

    bias: float = 0.0
    delay: float = 0.0
    dt: float | None = None

    def __post_init__(self) -> None:
        read_sensor(type(self).__name__, self)

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation of the noise of a reading."""

    @property
    @abstractmethod
    def resolution(self) -> float:
        """Step of the reading, 0 for none."""

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest reading."""
        return (-math.inf, math.inf)

    @property
    def sigma(self) -> float:
        """Standard deviation of a reading: of the noise, or of the steps where those are all there is."""
        return self.deviation if self.deviation else self.resolution / math.sqrt(12)

    @property
    def variance(self) -> float:
        """sigma², what to give a filter as R."""
        return self.sigma**2

    def reading(self, value: Any, noise: Any = 0.0) -> Any:
        """Reading of a value: number, array or expression; noise : ξ of unit variance, alike."""
        signal = value + self.bias + self.deviation * noise
        low, high = self.limits
        if math.isfinite(low) or math.isfinite(high):
            signal = maximum(minimum(signal, high), low)
        if self.resolution:
            steps = signal / self.resolution + 0.5
            signal = self.resolution * (ca.floor(steps) if is_symbolic(steps) else np.floor(steps))
        return signal if is_symbolic(signal) or np.ndim(signal) else float(signal)


@dataclass(frozen=True)
class Quantiser(SimulatedSensor):
    """A sensor by its plain numbers: noise of standard deviation `noise`, steps of `step`, range ± `limit`.
    bias, delay, dt : see `SimulatedSensor`.

    Examples
    --------
    >>> Quantiser(step=0.5).reading(1.3)
    1.5
    """

    noise: float = 0.0
    step: float = 0.0
    limit: float = math.inf

    @property
    def deviation(self) -> float:
        return self.noise

    @property
    def resolution(self) -> float:
        return self.step

    @property
    def limits(self) -> tuple[float, float]:
        return read_limits(self.limit, "a quantiser")


class Stepped(SimulatedSensor):
    """A sensor whose noise is one of its steps, where none is given."""

    noise: float | None

    @property
    def deviation(self) -> float:
        return self.resolution if self.noise is None else self.noise


@dataclass(frozen=True)
class Encoder(Stepped):
    """Angle in `ppr` steps per turn [rad].  noise : standard deviation [rad]; None: one step; 0: steps only.
    bias, delay, dt : see `SimulatedSensor`.

    Examples
    --------
    >>> round(Encoder(2000).sigma, 5)
    0.00314
    """

    ppr: float
    noise: float | None = None

    @property
    def resolution(self) -> float:
        return 2 * math.pi / positive_number("pulses per turn of an encoder", self.ppr)


@dataclass(frozen=True)
class Accelerometer(Stepped):
    """Accelerometer behind a converter: sensitivity [V s²/m], range of the converter from end to end [V].

    noise : standard deviation [m/s²]; None: one step; 0: steps only.  bias, delay, dt : see `SimulatedSensor`.

    Examples
    --------
    >>> round(Accelerometer(10e-3, bits=16, range=20.0).resolution, 4)
    0.0305
    """

    sensitivity: float
    bits: int = 16
    range: float = 20.0
    noise: float | None = None

    @property
    def resolution(self) -> float:
        return float(2 * self.limits[1] * 2.0 ** -positive_number("bits of an accelerometer", self.bits))

    @property
    def limits(self) -> tuple[float, float]:
        volts = positive_number("range of an accelerometer", self.range)
        most = volts / 2 / positive_number("sensitivity of an accelerometer", self.sensitivity)
        return (-most, most)


@dataclass(frozen=True)
class ForceSensor(SimulatedSensor):
    """Force or torque: noise of `percent` of the full scale [N or N m]; a converter of `bits` over ± full scale.
    bias, delay, dt : see `SimulatedSensor`.

    Examples
    --------
    >>> round(ForceSensor(80.0, percent=0.35).sigma, 3)
    0.28
    """

    full_scale: float
    percent: float
    bits: int | None = None

    @property
    def deviation(self) -> float:
        return positive_number("percent of a force sensor", self.percent) / 100 * self.limits[1]

    @property
    def resolution(self) -> float:
        if self.bits is None:
            return 0.0
        return float(2 * self.limits[1] * 2.0 ** -positive_number("bits of a force sensor", self.bits))

    @property
    def limits(self) -> tuple[float, float]:
        most = positive_number("full scale of a force sensor", self.full_scale)
        return (-most, most)


def _number(name: str, given: Any) -> float:
    if not is_real(given):
        use = Advice("Use {}.", Call("da.estimate.Encoder"), Call("da.estimate.Quantiser"))
        raise DataError("wrong-type", f"sensor {name!r} must be a sensor or a standard deviation, got {given!r}.", use)
    return float(given)


def measure(record: Record, sensors: Mapping[str, SimulatedSensor | float], *, seed: int) -> Record:
    """Readings of sensors along a motion, with the noise that ``da.simulate`` draws for the same seed and channel.

    Parameters
    ----------
    record : the truth.  sensors : channel -> sensor, or a standard deviation.
    seed : of the noise.

    Returns
    -------
    Record with the channels of `sensors` replaced by readings (NaN between those of a slower sensor), all others as
    they were.

    Examples
    --------
    >>> truth = Record.from_channels([0.0, 1.0], {"angle": [0.1, 0.2]})
    >>> measure(truth, {"angle": Encoder(100, noise=0.0)}, seed=1)["angle"].round(4)
    array([0.1257, 0.1885])
    """
    data = np.array(record.data, dtype=float)
    names = list(record.names)
    for name in sensors:
        require_name("channel", name, names, "the record")
    noise = Noise(sensors=sensors, seed=seed)
    for name, value in sensors.items():
        sensor = value if isinstance(value, SimulatedSensor) else Quantiser(noise=_number(name, value))
        column = names.index(name)
        truth = data[:, column]
        if sensor.delay:
            truth = np.interp(record.time - sensor.delay, record.time, truth)
        draws = noise.sensor_draws(name, len(record))
        unit = draws / sensor.deviation if sensor.deviation else draws
        data[:, column] = np.where(_sample_mask(record, sensor.dt), sensor.reading(truth, unit), np.nan)
    units = [record.units[name] for name in names]
    return Record(record.time, data, names, units, name=record.name, status=record.status)


def _sample_mask(record: Record, interval: float | None, early: float = 1e-6) -> Array:
    """Which samples a slower sensor takes: the first at or after each multiple of its interval.

    early : of the interval; times of a file have nine digits, of a record of a thousand intervals.
    """
    if interval is None:
        return np.ones(len(record))
    number = np.floor((record.time - record.time[0]) / interval + early)
    return np.asarray(np.diff(number, prepend=-1.0) > 0, dtype=float)
