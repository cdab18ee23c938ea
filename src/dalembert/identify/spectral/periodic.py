"""Periodic excitation: its period, the averages over periods, and noise and distortion line by line.

A record of a linear structure under a periodic force is, once transients have gone, the same in every period but for
noise. So over the periods, line by line of their transforms,

    mean              response and distortion
    scatter           noise of any spectrum: the mean of P periods has 1/P of it
    mean at lines that the force leaves out     distortion alone: even lines from even nonlinearity (a spring that is
                      stiffer one way), odd lines from odd nonlinearity (a spring that hardens both ways), where the
                      force has odd lines only; beyond the band of the force both show in any case

Pintelon and Schoukens 2012, chapters 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.fft

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.tables import align_columns
from dalembert.identify.records.data import Data


@frozen
class PeriodicLines:
    """Noise and distortion of the outputs under a periodic force; frozen.

    ``period`` : samples; ``seconds`` : the same in time; ``periods`` : how many were averaged; ``skipped`` : first ones
    that hold a transient; ``frequencies_hz`` : (nf,); ``excited`` : (nf,), whether the force has the line;
    ``response``, ``noise`` : (nf, ny) root mean squares of the mean and of the noise of one period;
    ``response_level`` : (ny,) at excited lines; ``noise_level``, ``even_level``, ``odd_level`` : (ny,) relative to it,
    distortions of the lines that the force leaves out (even or odd numbers); ``significant`` : (2, ny), whether even
    and odd ones exceed the noise.
    """

    period: int
    seconds: float
    periods: int
    skipped: int
    outputs: tuple[str, ...]
    frequencies_hz: FloatArray
    excited: FloatArray
    response: FloatArray
    noise: FloatArray
    response_level: FloatArray
    noise_level: FloatArray
    even_level: FloatArray
    odd_level: FloatArray
    significant: FloatArray

    @property
    def distortion(self) -> float:
        """Level of the distortion that exceeds noise, of the worst output; 0 where none does."""
        levels = np.where(self.significant > 0.0, np.stack([self.even_level, self.odd_level]), 0.0)
        return float(np.sqrt((levels**2).sum(axis=0)).max(initial=0.0))

    def table(self) -> str:
        """Levels per output, in percent of the response."""
        rows = [
            (name, f"{self.response_level[j]:.4g}", f"{100 * self.noise_level[j]:.3g}",
             *(f"{100 * level[j]:.2g}" if self.significant[k, j] else "not above noise"
               for k, level in enumerate((self.even_level, self.odd_level))))
            for j, name in enumerate(self.outputs)
        ]  # fmt: skip
        return align_columns(("output", "response rms", "noise [%]", "even distortion [%]", "odd distortion [%]"), rows)

    def __repr__(self) -> str:
        return (
            f"PeriodicLines: period {self.period} samples ({self.seconds:.4g} s), {self.periods} averaged, "
            f"{int(self.excited.sum())} lines excited\n{self.table()}"
        )


def find_period(
    u: Sequence[FloatArray], repeats: float = 0.9, shortest: int = 16, lost: float = 0.5, same: float = 0.02
) -> int | None:
    """Samples after which all inputs repeat, from the longest of the records (N, nu); None where they do not.

    repeats : correlation with itself one period later: 10 % noise leaves 0.99, 30 % leaves 0.92; band-limited noise of
    200 samples in its band is below 0.5 but in 1 of 10^6.
    shortest : samples of the shortest period.
    lost : correlation that must be lost within a period, else the record is too slow to repeat.
    same : difference of the correlation at multiples of the period from the largest one: a sweep loses it with the
    cycles.
    """
    longest = max(u, key=len, default=np.zeros((0, 0)))
    count = len(longest)
    if count < 4 * shortest or not longest.shape[1]:
        return None
    x = longest - longest.mean(axis=0)
    x = x / np.maximum(x.std(axis=0), 1e-300)
    size = scipy.fft.next_fast_len(2 * count, real=True)
    r = scipy.fft.irfft((np.abs(scipy.fft.rfft(x, size, axis=0)) ** 2).sum(axis=1), size)[: count // 2 + 1]
    energy = np.concatenate([[0.0], np.cumsum((x**2).sum(axis=1))])
    lags = np.arange(len(r))
    rho = r / np.sqrt(np.maximum(energy[count - lags] * (energy[-1] - energy[lags]), 1e-300))
    rho[:shortest] = 0.0
    first_low = np.flatnonzero(r[: len(rho)] < lost * r[0])
    if not len(first_low):
        return None
    rho[: first_low[0]] = 0.0
    best = float(rho.max(initial=0.0))
    if best < repeats:
        return None
    for period in np.flatnonzero(rho >= best - same):
        if 0 < period < len(rho) - 1 and rho[period] < max(rho[period - 1], rho[period + 1]):
            continue
        multiples = np.arange(period, len(rho), period)
        if (rho[multiples] >= best - 2.0 * same).all():
            return int(period)
    return None


def separate_lines(
    data: Data, period: int, harmonics: float = 3.0, chance: float = 4.0, least_power: float = 1e-6,
    over_noise: float = 25.0,
) -> PeriodicLines | None:  # fmt: skip
    """Averages over the periods of all records, and noise and distortion line by line; None with one period only.

    harmonics : lines up to this multiple of the highest excited one are examined: the third harmonic.
    chance : standard deviations of a level of distortion that is found: 1 in 30 000 by chance.
    least_power, over_noise : power of an excited line over the largest, and over the noise of its mean.
    """
    cut = [_cut_periods(u, y, period) for u, y in zip(data.u, data.y, strict=True)]
    skipped = max((skip for _, skip in cut), default=0)
    blocks = [block for block, _ in cut if len(block)]
    if not blocks or sum(map(len, blocks)) < 2:
        return None
    periods = np.concatenate(blocks)  # (P, period, q)
    count = len(periods)
    X = scipy.fft.rfft(periods, axis=1) * (np.sqrt(2.0) / period)
    X[:, 0] /= np.sqrt(2.0)
    # records of one input may begin anywhere in the period: means are taken within each record
    means, scatter, freedom = np.zeros(X.shape[1:]), np.zeros(X.shape[1:]), 0
    place = 0
    power = np.zeros(X.shape[1:])
    for block in blocks:
        lines_here = X[place : place + len(block)]
        place += len(block)
        mean = lines_here.mean(axis=0)
        power += np.abs(mean) ** 2 * len(block) / count
        scatter += (np.abs(lines_here - mean) ** 2).sum(axis=0)
        freedom += len(block) - 1
    if freedom < 1:
        return None
    noise = scatter / freedom
    means = power
    nu = data.nu
    of_mean = noise / count
    driving = means[:, :nu]
    excited = (
        (driving > least_power * driving.max(axis=0)) & (driving > over_noise * of_mean[:, :nu])
    ).any(axis=1)  # fmt: skip
    excited[0] = False
    numbers = np.arange(len(means))
    top = int(np.flatnonzero(excited)[-1]) if excited.any() else 0
    free = ~excited & (numbers > 0) & (numbers <= harmonics * top)
    response = means[excited, nu:].sum(axis=0)
    safe = np.maximum(response, 1e-300)
    levels, sure = [], []
    for parity in (0, 1):
        lines = free & (numbers % 2 == parity)
        above = (means[lines, nu:] - of_mean[lines, nu:]).sum(axis=0)
        # the power of a mean of Gaussian noise scatters by itself
        spread = np.sqrt((of_mean[lines, nu:] ** 2).sum(axis=0) * (1.0 + 1.0 / freedom))
        levels.append(np.sqrt(np.maximum(above, 0.0) / safe))
        sure.append(above > chance * spread)
    hertz = np.asarray(scipy.fft.rfftfreq(period, data.dt), dtype=np.float64)
    return PeriodicLines(
        period=period, seconds=period * data.dt, periods=count, skipped=skipped, outputs=data.outputs,
        frequencies_hz=hertz, excited=excited.astype(np.float64),
        response=np.sqrt(means[:, nu:]), noise=np.sqrt(noise[:, nu:]), response_level=np.sqrt(response),
        noise_level=np.sqrt(noise[1:, nu:].sum(axis=0) / safe), even_level=levels[0], odd_level=levels[1],
        significant=np.array(sure, dtype=np.float64),
    )  # fmt: skip


def _cut_periods(u: FloatArray, y: FloatArray, period: int, transient: float = 2.0) -> tuple[FloatArray, int]:
    """Whole periods (P, period, q) of a record, without the first where that holds a transient; and how many went.

    transient : power of the first period's difference from the others over that of noise, beyond which it is a
    transient.
    """
    count = len(y) // period
    periods = np.hstack([u, y])[: count * period].reshape(count, period, -1)
    if count < 3:
        return periods, 0
    outputs = periods[:, :, u.shape[1] :]
    later = outputs[1:]
    noise = ((later - later.mean(axis=0)) ** 2).sum(axis=(0, 1)) / (count - 2)
    noise = np.maximum(noise, 1e-300)
    change = ((outputs[0] - later.mean(axis=0)) ** 2).sum(axis=0)
    if (change > transient * noise * (1.0 + 1.0 / (count - 1))).any():
        return periods[1:], 1
    return periods, 0
