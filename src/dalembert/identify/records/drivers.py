"""Which channels drive the others: by unit, by name, and by cause and effect in the data; and which are left out.

Of one sensor the acceleration is taken, and not the angles, rates and integrals that it writes too. Beside a measured
force the voltage or current of the drive, and copies of the force, are neither inputs nor outputs. A channel that is
another times a number, or its integral, is left out.

A force or torque drives where other channels move. Names that test engineers give to inputs (force, shaker, ground, u)
count next. Where neither is clear, the data decide: the response of an effect to its cause begins after it. With the
transfer function H = S_xy / S_xx over the whole frequency axis, h = F⁻¹ H has its energy at positive times when x is
the cause of y, and on both sides when it is the effect or when both follow from a third.

Limits were measured on a structure of three modes with damping 0.5 to 20 % and 10 % noise, 20 seeds: a white input has
0.94 to 1.0 of its response at positive times. Of two outputs of one input, 12 pairs of 60 look like cause and effect
too: without a clear unit or name the result is uncertain, and its reason is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.record import Record

_NAMES = re.compile(
    r"(^|[^a-z])(force|hammer|shaker|input|excitation|exciter|ground|base|bottom|table|drive|torque|motor|command"
    r"|kraft|anregung|eingang|boden)|^[uf]\d*$|^u_|^uval|^in\d*$",
    re.IGNORECASE,
)
_FORCES = ("N", "N m", "Nm")
_ELECTRIC = ("V", "mV", "kV", "A", "mA")
_DRIVES = re.compile(r"(^|[^a-z])(volt(age)?|current|drive|amplifier|spannung|strom)", re.IGNORECASE)
# Words of a quantity in the name of a channel; the rest of the name is that of the sensor.
_QUANTITY = {
    "acceleration": r"acc(el(eration)?)?|beschl(eunigung)?", "velocity": r"vel(oc(ity)?)?",
    "displacement": r"displ?(acement)?|pos(ition)?",
    "angle": r"euler|roll|pitch|yaw|angle|quat(ernion)?|ori(entation)?|mat(?=\[)",
    "rate": r"gyr(o(scope)?)?|angular_?rate|mag",
}  # fmt: skip
_WORDS = {kind: re.compile(rf"(?<![a-z])({words})(?![a-z])\d*", re.IGNORECASE) for kind, words in _QUANTITY.items()}
_AXIS = re.compile(r"[^a-z0-9]*([xyzw]|\d|\[[^]]*\])?$", re.IGNORECASE)


@dataclass(frozen=True)
class Drivers:
    """Channels that drive and channels that respond, with the reason in words.

    certain : whether a unit or a name decides, not the data alone.  left_out : why, by the names of other channels.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reason: str
    certain: bool = True
    left_out: Mapping[str, str] = field(default_factory=dict)

    def describe_left_out(self) -> str:
        """``"left out: Voltage (drives the force); roll, yaw (acceleration of the same sensor)"``; "" for none."""
        why = dict.fromkeys(self.left_out.values())
        each = [
            f"{_list([n for n, reason in self.left_out.items() if reason == why_left])} ({why_left})"
            for why_left in why
        ]
        return f"left out: {'; '.join(each)}" if each else ""


def find_drivers(record: Record) -> Drivers:
    """Inputs and outputs of a record, and channels that are neither; no inputs where nothing indicates one."""
    moving = [name for name in record.names if _moves(record[name])]
    beside = beside_accelerations(moving)
    named = [name for name in moving if name not in beside]
    drivers = _find_drivers(record, named)
    repeats: dict[str, str] = {}
    for names in (sorted(drivers.inputs, key=lambda name: not _is_force(record, name)), [*drivers.outputs]):
        repeats |= _repeats(record, names)
    if repeats:
        drivers = _find_drivers(record, [name for name in named if name not in repeats])
    drives = {
        name: "drives the force" for name in (*drivers.inputs, *drivers.outputs)
        if any(_is_force(record, input_name) for input_name in drivers.inputs) and not _is_force(record, name)
        and (_is_drive(record, name) or (not record.units[name] and _follows(record, name, drivers.inputs)))
    }  # fmt: skip
    if len(drives) == len(drivers.outputs):
        drives = {}
    channels = [tuple(name for name in names if name not in drives) for names in (drivers.inputs, drivers.outputs)]
    dead = {name: "constant" for name in record.names if moving and name not in moving}
    return replace(drivers, inputs=channels[0], outputs=channels[1], left_out={**drives, **repeats, **beside, **dead})


def _repeats(
    record: Record, names: list[str], stretch: int = 1 << 16, same: float = 1e-4, integral: float = 1e-2
) -> dict[str, str]:
    """Channels that are others times a number, or integrals of others.

    stretch : samples in the middle of a record that are compared, for a table of 100 channels in half a second.
    same : largest part of a channel that is not another times a number: five digits of a file round to 1e-5, two
    sensors differ by their noise.
    integral : largest part of the steps of a channel that are not another: sums and trapezoids of a program leave
    rounding, its high-pass filter some parts in a thousand; a sensor of its own differs by its noise.
    """
    if len(names) < 2:
        return {}
    first = max(0, (len(record) - stretch) // 2)
    x = np.nan_to_num(np.column_stack([record[name][first : first + stretch] for name in names]))
    alike = _correlate(x[1:], x[1:]) >= 1 - same**2
    steps = np.diff(x, axis=0)  # by the rule of trapezoids, or sums with the value before or after
    sums = [_correlate(steps, y) for y in (x[1:] + x[:-1], x[:-1], x[1:])]
    integrals = np.max(sums, axis=0) >= 1 - integral**2
    repeats: dict[str, str] = {}
    origin = dict(zip(names, names, strict=True))
    for i, name in enumerate(names):
        for j, second in enumerate(names):
            if origin[second] != name and (integrals[i, j] or (j < i and alike[i, j])):
                repeats[name] = f"{'a copy' if alike[i, j] else 'an integral'} of another channel"
                origin[name] = origin[second]
                break
    return repeats


def _correlate(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squares of the correlations of the columns of two tables."""
    a, b = (np.where(np.ptp(y, axis=0) > 0, y - y.mean(axis=0), 0.0) for y in (a, b))
    a, b = (y / np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny) for y in (a, b))
    norms = np.outer((a * a).sum(axis=0), (b * b).sum(axis=0))
    return np.asarray((a.T @ b) ** 2 / np.where(norms > 0, norms, 1.0))


def _is_force(record: Record, name: str) -> bool:
    unit = record.units[name]
    return unit in _FORCES or (not unit and re.search(r"force|kraft|torque|^f\d*$", name, re.IGNORECASE) is not None)


def _is_drive(record: Record, name: str) -> bool:
    unit = record.units[name]
    return unit in _ELECTRIC or (not unit and _DRIVES.search(name) is not None)


def _follows(record: Record, name: str, inputs: tuple[str, ...], copy: float = 0.1) -> bool:
    """Whether a channel is an input times a number.

    copy : largest part of a channel, root mean square, that is not the force times a number: a shaker with its
    amplifier follows its voltage to some per cent, a structure does not follow its force.
    """
    y = np.nan_to_num(record[name] - np.nanmean(record[name]))
    y = y / np.abs(y).max()
    for input_name in inputs:
        u = np.nan_to_num(record[input_name] - np.nanmean(record[input_name]))
        u = u / np.abs(u).max()
        if np.linalg.norm(y - (u @ y) / (u @ u) * u) < copy * np.linalg.norm(y):
            return True
    return False


def beside_accelerations(names: Iterable[str]) -> dict[str, str]:
    """Angles, rates and integrals of sensors that write an acceleration too."""
    kinds = {name: next((kind for kind, word in _WORDS.items() if word.search(name)), "") for name in names}
    sensor = {name: _sensor(name, kinds[name]) for name in names if kinds[name]}
    moved = {sensor[name] for name in sensor if kinds[name] == "acceleration"}
    return {
        name: "acceleration of the same sensor" for name, sensor_name in sensor.items()
        if sensor_name in moved and kinds[name] != "acceleration"
    }  # fmt: skip


def _sensor(name: str, kind: str) -> str:
    """Name of a channel without its quantity and its axis."""
    return _AXIS.sub("", _AXIS.sub("", _WORDS[kind].sub("", name))).strip("._- ").lower()


def _find_drivers(record: Record, moving: list[str], least: int = 2048, most: int = 12) -> Drivers:
    # least: fewest samples for a decision by the data: eight blocks of 256. Two channels of 50 samples of noise pass by
    # chance.
    # most: channels that are compared, each with each: 132 transforms of a minute of data take a second.
    by_unit = [name for name in moving if record.units[name] in _FORCES]
    if by_unit and len(by_unit) < len(moving):
        return _split(moving, by_unit, f"{_list(by_unit)} by unit: a force drives the motion")
    by_name = [name for name in moving if _NAMES.search(name.rpartition(".")[0] or name) or _NAMES.search(name)]
    if by_name and len(by_name) < len(moving):
        return _split(moving, by_name, f"{_list(by_name)} by name")
    long_enough = len(record) >= least and record.is_even
    if long_enough and 1 < len(moving) <= most and (causes := _find_causes(record, moving)):
        reason = f"{_list(causes)} by cause and effect (uncertain: from the data alone)"
        return replace(_split(moving, causes, reason), certain=False)
    return Drivers((), tuple(moving), "no channel is seen to drive the others: ambient vibration")


def _split(moving: list[str], inputs: list[str], reason: str) -> Drivers:
    return Drivers(tuple(inputs), tuple(name for name in moving if name not in inputs), reason)


def _list(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _moves(values: FloatArray) -> bool:
    good = values[np.isfinite(values)]
    return len(good) > 1 and float(np.ptp(good)) > 0.0


def _find_causes(record: Record, names: list[str], causal: float = 0.85, margin: float = 0.15) -> list[str]:
    """The one channel whose effects are all others; [] where there is none.

    causal : least share of the energy of a response at positive times, of a cause.
    margin : least lead over the other direction; a shaken building has 0.5, an electronic oscillator 0.49.
    """
    columns = {name: np.nan_to_num(record[name] - np.nanmean(record[name])) for name in names}
    causes = []
    for name in names:
        forth = [measure_causality(columns[name], columns[effect]) for effect in names if effect != name]
        back = [measure_causality(columns[effect], columns[name]) for effect in names if effect != name]
        if min(forth) >= causal and min(np.subtract(forth, back)) >= margin:
            causes.append(name)
    return causes if len(causes) == 1 else []


def measure_causality(x: FloatArray, y: FloatArray, segment: int = 2048) -> float:
    """Share of the energy of the response of y to x at positive times; 0.5 where there is no response.

    segment : samples of a transform; its half is the longest response that is seen.
    """
    size = min(segment, 1 << max(3, (len(x) // 8).bit_length() - 1))
    window = np.hanning(size)
    power, cross = np.zeros(size // 2 + 1), np.zeros(size // 2 + 1, dtype=np.complex128)
    for start in range(0, len(x) - size + 1, size // 2):
        X, Y = np.fft.rfft(window * x[start : start + size]), np.fft.rfft(window * y[start : start + size])
        power += np.abs(X) ** 2
        cross += np.conj(X) * Y
    # lines without power give no information: noise there must not become a response
    h = np.fft.irfft(cross / (power + 1e-3 * power.max()))
    energy = h**2
    half = size // 2
    ahead, behind = float(energy[1:half].sum()), float(energy[half + 1 :].sum())
    now = float(energy[0])
    total = ahead + behind + now
    return (ahead + now) / total if total > 0 else 0.5
