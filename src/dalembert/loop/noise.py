"""Noise of a run: disturbances of the machine and errors of its sensors, all drawn beforehand from one seed.

Every channel has a stream of its own, made from the seed and the channel's name: another sensor changes no other
draw, and neither does the number of samples per chunk of a run.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Array
from dalembert.expressions.quantities import is_real


@dataclass(frozen=True)
class SensorFaults:
    """A sensor: value read ``delay`` seconds ago, plus bias and noise, cut to its range, rounded to its resolution.

    deviation : standard deviation of the noise of a sample.  resolution : quantum of the reading, 0 for none.
    limits : (lowest, highest) reading.  bias : constant error.  delay : [s].
    dt : interval between readings where they are slower than the loop [s]; None: every sample.
    """

    deviation: float = 0.0
    resolution: float = 0.0
    limits: tuple[float, float] = (-np.inf, np.inf)
    bias: float = 0.0
    delay: float = 0.0
    dt: float | None = None


def read_sensor(name: str, given: Any) -> SensorFaults:
    """A standard deviation, or anything with ``.deviation`` and, where it has them, the other fields above."""
    if is_real(given):
        given = SensorFaults(deviation=float(given))
    elif not hasattr(given, "deviation"):
        raise DataError(
            "wrong-type",
            f"noise of sensor {name!r} must be a standard deviation or a sensor model with .deviation, got {given!r}.",
        )
    values: dict[str, Any] = {}
    for part, default in (("deviation", 0.0), ("resolution", 0.0), ("bias", 0.0), ("delay", 0.0)):
        value = getattr(given, part, default)
        value = default if value is None else value
        if not is_real(value) or not np.isfinite(float(value)) or (part != "bias" and value < 0):
            raise DataError(
                "negative", f"{part} of sensor {name!r} must be a finite number, not negative; got {value!r}."
            )
        values[part] = float(value)
    limits = getattr(given, "limits", None)
    dt = getattr(given, "dt", None)
    if dt is not None and not (is_real(dt) and 0 < dt < np.inf):
        raise DataError("not-positive", f"dt of sensor {name!r} must be a positive time [s], got {dt!r}.")
    return SensorFaults(**values, limits=read_limits(limits, f"sensor {name!r}"), dt=dt)


def read_limits(limits: Any, what: str) -> tuple[float, float]:
    """(low, high) with low <= high; one number means ± it; None means none."""
    if limits is None:
        return (-np.inf, np.inf)
    if is_real(limits):
        limits = (-float(limits), float(limits))
    try:
        low, high = (float(x) for x in limits)
    except (TypeError, ValueError):
        raise DataError("wrong-shape", f"limits of {what} must be two numbers (low, high), got {limits!r}.") from None
    if np.isnan(low) or np.isnan(high):
        raise DataError("wrong-shape", f"limits of {what} must be two numbers (low, high), got {limits!r}.")
    if low > high:
        raise DataError("out-of-range", f"limits of {what}: {low:g} is above {high:g}.")
    return low, high


@dataclass(frozen=True)
class Noise:
    """Random disturbances of a run.

    Parameters
    ----------
    process : name -> standard deviation of a sample. A coordinate, speed, internal state or measure gets a sample
        added at every sampling instant (then the joints are closed again); an input gets one held until the next.
        A white noise of intensity W on a state over intervals dt is the deviation √(W dt).
    sensors : name -> standard deviation of a reading, or a sensor model (``.deviation``, ``.resolution``, ...).
    seed : of all streams; None draws one, which is kept in the provenance of the record.
    every : sampling interval [s] where neither a sampled law nor an observer sets one.

    Examples
    --------
    >>> Noise(process={"cart.vx": 1e-3}, sensors={"encoder": 0.01}, seed=1).draws("encoder", 2).round(3)
    array([0.003, 0.011])
    """

    process: Mapping[str, float] = field(default_factory=dict)
    sensors: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    every: float | None = None

    def __post_init__(self) -> None:
        for kind in ("process", "sensors"):
            if not isinstance(getattr(self, kind), Mapping):
                raise DataError("wrong-type", f"noise: {kind} must name channels, such as {{'name': 0.01}}.")
        for name, deviation in self.process.items():
            if not is_real(deviation) or not 0 <= deviation < np.inf:
                raise DataError(
                    "negative", f"process noise of {name!r} must be a standard deviation, got {deviation!r}."
                )
        for name, given in self.sensors.items():
            read_sensor(name, given)
        seed = self.seed
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
            raise DataError("not-a-count", f"seed must be a whole number, not negative, or None; got {seed!r}.")
        if self.every is not None and not (is_real(self.every) and 0 < self.every < np.inf):
            raise DataError("not-positive", f"noise: every must be a positive interval [s], got {self.every!r}.")

    def with_seed(self) -> Noise:
        """The same with a seed: its own, or a new one."""
        if self.seed is not None:
            return self
        new = int(np.random.SeedSequence().generate_state(1)[0])
        return Noise(self.process, self.sensors, new, self.every)

    def draws(self, name: str, count: int) -> Array:
        """(count,) samples of the channel's stream, already times its standard deviation."""
        if name in self.process:
            deviation, kind = float(self.process[name]), b"process:"
        elif name in self.sensors:
            deviation, kind = read_sensor(name, self.sensors[name]).deviation, b"sensor:"
        else:
            raise DataError("unknown-name", f"this noise has no channel {name!r}.")
        return self._stream(kind + name.encode(), deviation, count)

    def _stream(self, label: bytes, deviation: float, count: int) -> Array:
        if self.seed is None:
            raise DataError("missing-argument", "this noise has no seed.", Advice("Use {}.", Call("noise.with_seed")))
        random = np.random.default_rng([int(self.seed), zlib.crc32(label)])
        return np.asarray(deviation * random.standard_normal(whole_number("count", count, most=10**9)))  # 8 GB

    def process_draws(self, name: str, count: int) -> Array:
        return self._stream(b"process:" + name.encode(), float(self.process[name]), count)

    def sensor_draws(self, name: str, count: int) -> Array:
        return self._stream(b"sensor:" + name.encode(), read_sensor(name, self.sensors[name]).deviation, count)
