"""Harmonics of machines distinguished from modes by the amplitude of the motion near their frequencies.

A rotating machine forces a steady sine, a mode under random forces moves as a Gaussian process (Jacobsen, Andersen and
Brincker 2007). With z the complex envelope of the outputs, projected on a shape and filtered to f ± b,

    κ = 1.5 E|z|⁴ / (E|z|²)²     kurtosis of the filtered motion: 1.5 of a sine, 3 of a Gaussian process, 3 - 1.5 r²
                                 where a sine has the share r of the power
    n = (Σ P)² / Σ P²            number of independent values of |z|² in the record, from its periodogram P

A small κ of few independent values may be chance. So either κ is below what n values of a Gaussian process reach, or
the motion is a line that is much narrower than that of a lightly damped mode: its damping is below the resolution. A
line of a record too short for that counts where it and a certain one are multiples of a common base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.fft

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.findings import Finding
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.rotor_lines import RotorLines, find_rotor_lines
from dalembert.linear.modes import Modes


@dataclass(frozen=True)
class MachineHarmonic:
    """A steady sine: its frequency [Hz], the kurtosis of the motion there, and of which base [Hz] it is which multiple
    (0 and None where no second one shows it); or a line of a rotor whose speed varies."""

    frequency_hz: float
    kurtosis: float
    multiple: int = 0
    base_hz: float | None = None
    rotor: RotorLines | None = None


def find_rotor(data: Data, modes: Modes) -> RotorLines | None:
    """Lines of a rotor whose speed varies, among modes or peaks on the outputs of ``data``."""
    return find_rotor_lines(data, modes.frequencies_hz, _weigh_outputs(data, modes))


def _weigh_outputs(data: Data, modes: Modes) -> ComplexArray:
    """(ny, k) weights by which the outputs are summed for every mode."""
    sizes = np.sqrt(sum(np.einsum("ij,ij->j", y, y) for y in data.y) / data.samples)
    return np.asarray(modes.shapes.conj() / np.where(sizes > 0.0, sizes, 1.0)[:, None] ** 2)


def find_machine_harmonics(data: Data, modes: Modes) -> dict[int, MachineHarmonic]:
    """Modes or peaks, numbered from 0, that are sines, as of a rotating machine, of a speed that is steady or varies.

    modes : on the outputs of ``data``; damping ratios do not matter
    """
    hertz, weights, rotor = modes.frequencies_hz, _weigh_outputs(data, modes), find_rotor(data, modes)
    varying = {} if rotor is None else rotor.given
    judged: dict[int, tuple[float, bool]] = {}
    for k, f in enumerate(hertz):
        if k in varying:
            continue
        others = np.abs(np.delete(hertz, k) - f)
        line = judge_line(data, float(f), weights[:, k], float(np.min(others, initial=np.inf)))
        if line is not None:
            judged[k] = line
    certain = [k for k, (_, sure) in judged.items() if sure]
    base = find_base(hertz[list(judged)]) if certain else None
    harmonics = {}
    for k, (kurtosis, sure) in judged.items():
        f = float(hertz[k])
        if base is not None and _fits(f, base) and (sure or any(_fits(float(hertz[j]), base) for j in certain)):
            harmonics[k] = MachineHarmonic(f, kurtosis, round(f / base), base)
        elif sure:
            harmonics[k] = MachineHarmonic(f, kurtosis)
    if rotor is not None:
        for k, multiple in rotor.given.items():
            harmonics[k] = MachineHarmonic(float(hertz[k]), np.nan, multiple, base_hz=rotor.base_hz, rotor=rotor)
    return harmonics


def _fits(f: float, base: float, multiple: float = 0.002) -> bool:
    """Whether a frequency is a multiple of a base.

    multiple : distance of a harmonic from a multiple of the base, relative; largest multiple; how many may be missing
    below.
    """
    return abs(f - max(1, round(f / base)) * base) < multiple * f


def judge_line(
    data: Data, f: float, weights: ComplexArray, nearest: float, of_sine: float = 2.25, chance: float = 1.62,
    lines: int = 30, relative_width: float = 0.005, fewest_lines: int = 8, chance_rise: float = 0.28,
    spread: float = 5.0, damping: float = 0.002, narrower: float = 2.0,
) -> tuple[float, bool] | None:  # fmt: skip
    """Kurtosis where the motion near a frequency [Hz] looks like a sine, and whether that is certain; else None.

    nearest : distance of the next frequency [Hz]
    of_sine : kurtosis: a sine with more than 71 % of the power in its band, 3 - 1.5 · 0.71².
    chance, chance_rise : kurtosis that n independent values of a Gaussian process fall below in 1 of 1000 records:
    1.63, 1.89, 2.16, 2.33 for n = 8, 20, 50, 100 (100 000 simulated ones), which is this plus ``chance_rise`` ln(n/8).
    lines, relative_width, fewest_lines : lines 1/T of the filter to each side of the frequency, and the same as a share
    of the frequency: speeds of motors drift by some 0.1 %. Where other modes are nearer, half the distance, but at
    least this number of lines.
    spread, damping, narrower : a line: a sine spreads over 3 independent values at most, and over 5 where it has 80 %
    of the power. A mode whose damping ratio is 0.2 % must then spread over this multiple of 5 (which takes some 1 600
    periods).
    """
    duration = data.duration
    width = max(lines / duration, relative_width * f)
    width = max(min(width, 0.5 * nearest), fewest_lines / duration)
    if not width < f < 0.5 / data.dt - width:
        return None
    second, fourth, values, count = 0.0, 0.0, 0.0, 0
    for y in data.y:
        z, number = find_envelope(y @ weights, f * data.dt, width * data.dt)
        power = np.abs(z) ** 2
        second, fourth = second + float(power.sum()), fourth + float((power**2).sum())
        values, count = values + number, count + len(power)
    if not second > 0.0:
        return None
    kurtosis = 1.5 * count * fourth / second**2
    if kurtosis >= of_sine:
        return None
    by_chance = chance + chance_rise * np.log(max(values, 1.0) / 8.0)
    # of a mode of the least damping ratio: decay rate times duration, half of it by the scatter of a periodogram
    least = np.pi * damping * f * duration
    # a band of so few lines holds few values of any motion
    line = values <= spread * min(1.0, width * duration / lines)
    sure = kurtosis < by_chance or (line and least >= narrower * spread)
    return (kurtosis, sure) if sure or line else None


def find_envelope(x: ComplexArray, f: float, width: float) -> tuple[ComplexArray, float]:
    """Envelope of a signal in the band f ± width [1/sample] without the ends of the record, its independent values.

    The band has a smooth gain, so that what begins and ends with the record stays near its ends.
    """
    n = len(x)
    lines = np.arange(int(np.ceil((f - width) * n)), int(np.floor((f + width) * n)) + 1)
    if len(lines) < 2:
        return np.zeros(0, dtype=np.complex128), 0.0
    gain = np.cos(0.5 * np.pi * (lines / n - f) / width) ** 2
    band = scipy.fft.fft(x)[lines] * gain
    z = scipy.fft.ifft(band)
    edge = min(int(np.ceil(len(lines) / (2.0 * width * n))) + 1, len(z) // 4)
    power = np.abs(band) ** 2
    squares = float((power**2).sum())
    return z[edge : len(z) - edge], float(power.sum()) ** 2 / squares if squares > 0.0 else 0.0


def find_base(
    hertz: FloatArray, largest_divisor: int = 4, multiple: float = 0.002, largest_multiple: int = 30
) -> float | None:
    """Largest base [Hz] of which most of these frequencies, two at least, are multiples; None where there is none.

    largest_divisor, multiple, largest_multiple : distance of a harmonic from a multiple of the base, relative; largest
    multiple; how many may be missing below.
    """
    best, most = None, 1
    for f in np.sort(hertz):
        for divisor in range(1, largest_divisor + 1):
            times = np.round(hertz * divisor / f)
            fits = np.abs(hertz - times * f / divisor) < multiple * hertz
            count = int((fits & (times >= 1) & (times <= largest_multiple)).sum())
            if count > most:
                best, most = float(f) / divisor, count
    return best


def describe_machine_harmonics(found: Mapping[int, MachineHarmonic]) -> list[Finding]:
    """A finding on each steady sine, and one on the lines of a rotor whose speed varies."""
    findings = []
    for harmonic in found.values():
        if harmonic.rotor is not None:
            findings += [harmonic.rotor.describe()] if harmonic.rotor.describe() not in findings else []
            continue
        order = "" if harmonic.base_hz is None else f" ({harmonic.multiple} times {harmonic.base_hz:.5g} Hz)"
        problem = (
            f"the motion at {harmonic.frequency_hz:.5g} Hz{order} is a steady sine, as of a rotating "
            f"machine or of mains, and no mode: kurtosis {harmonic.kurtosis:.2f}, where a sine has 1.5 and a mode "
            "under random forces 3."
        )
        evidence = {
            "hertz": harmonic.frequency_hz, "kurtosis": harmonic.kurtosis, "multiple": harmonic.multiple,
            "base_hz": harmonic.base_hz,
        }  # fmt: skip
        findings.append(Finding("machine-harmonic", problem, {}, evidence))
    return findings
