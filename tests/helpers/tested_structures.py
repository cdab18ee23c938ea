"""Simulated tests as a laboratory runs them: a structure of four modes that an oversampled force moves in a small band,
and a frame of twelve freedoms under three random forces.

The structure is four masses in a row between walls; its frequencies are spread over 4 to 15 Hz (mode shapes kept), its
damping ratios drawn from 0.5 to 3 %. Steps are exact for forces that are linear within a quarter of a sample, but for
the force of the spring that hardens, which is held over that quarter: 0.06 of a radian at 15 Hz of a force that is
below 5 % of its spring's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.signal import butter, lfilter, sosfiltfilt

from dalembert.identify.auto.result import AutoIdentified
from dalembert.record import Record

RATE = 400.0
LEAD = 20.0  # seconds of motion before the record
QUARTERS = 4


@dataclass(frozen=True)
class Truth:
    """A record and the modes behind it."""

    record: Record
    frequencies_hz: np.ndarray
    damping_ratios: np.ndarray


def four_modes(
    seed: int, *, samples: int = 70_000, noise: float = 0.01, period: int | None = None, hardening: float = 0.0,
    accelerations: bool = True, noisy_force: bool = True, smooth: bool = False,
) -> Truth:  # fmt: skip
    """A test of the structure of four modes, three sensors.

    noise : rms of white noise of every channel relative to its rms (of the force only where ``noisy_force``); period :
    of the force [samples]; hardening : of the spring between the first mass and the wall at the largest deflection;
    smooth : force shaped by a filter of fourth order instead of cut at 3 and 16 Hz.
    """
    rng = np.random.default_rng(seed)
    mass, spring = rng.uniform(0.8, 1.2, 4), rng.uniform(0.7, 1.3, 5)
    K = np.diag(spring[:4] + spring[1:]) - np.diag(spring[1:4], 1) - np.diag(spring[1:4], -1)
    values, phi = scipy.linalg.eigh(K, np.diag(mass))
    hertz = np.sqrt(values)
    hertz = 4.0 + 11.0 * (hertz - hertz[0]) / (hertz[-1] - hertz[0])
    ratios = rng.uniform(0.005, 0.03, 4)
    lead = int(LEAD * RATE) if period is None else period * -(-int(LEAD * RATE) // period)
    u = _force(rng, samples + lead, period, smooth)
    w = 2.0 * np.pi * hertz
    x = _march(w, ratios, phi, u, 0.0)
    if hardening:
        largest = np.abs(x[:, :4] @ phi[0]).max()
        stiffness = spring[0] * np.mean(w**2 / values)
        x = _march(w, ratios, phi, u, hardening * stiffness / largest**2)
    q, v, u = x[lead:, :4], x[lead:, 4:], u[lead:]
    y = -(q * w**2) - 2.0 * ratios * w * v + np.outer(u, phi[0]) if accelerations else q
    y = (y @ phi.T)[:, [0, 1, 3]]
    y = y + noise * y.std(axis=0) * rng.normal(size=y.shape)
    if noisy_force:
        u = u + noise * u.std() * rng.normal(size=len(u))
    names = ("force", "s1", "s2", "s3")
    unit = "m/s^2" if accelerations else "m"
    record = Record(np.arange(samples) / RATE, np.column_stack([u, y]), names, ["N", unit, unit, unit])
    return Truth(record, hertz, ratios)


def _force(rng: np.random.Generator, count: int, period: int | None, smooth: bool) -> np.ndarray:
    size = count if period is None else period
    hertz = np.fft.rfftfreq(size, 1.0 / RATE)
    inside = (hertz > 3.0) & (hertz < 16.0)
    if period is not None:
        one = np.fft.irfft(np.where(inside, np.exp(2j * np.pi * rng.uniform(size=len(hertz))), 0.0), size)
        u = np.tile(one, -(-count // size))[:count]
    elif smooth:
        u = sosfiltfilt(butter(2, [3.0, 16.0], "bandpass", fs=RATE, output="sos"), rng.normal(size=count))
    else:
        u = np.fft.irfft(np.where(inside, np.fft.rfft(rng.normal(size=count)), 0.0), count)
    return u / u.std()


def _march(w: np.ndarray, ratios: np.ndarray, phi: np.ndarray, u: np.ndarray, cubic: float) -> np.ndarray:
    """Modal displacements and velocities (N, 8) under a force on the first mass."""
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.diag(w**2), -np.diag(2.0 * ratios * w)]])
    B = np.concatenate([np.zeros(4), phi[0]])
    step = scipy.linalg.expm(np.block([[A, B[:, None]], [np.zeros((1, 9))]]) / (QUARTERS * RATE))
    Ad, Bd = step[:8, :8], step[:8, 8]
    ends = np.append(u, u[-1])
    fine = np.concatenate([ends[:-1, None] + np.diff(ends)[:, None] * (k + 0.5) / QUARTERS for k in range(QUARTERS)], 1)
    values, vectors = np.linalg.eig(Ad)
    if not cubic:
        b = np.linalg.solve(vectors, Bd.astype(complex))
        modal = [lfilter([0.0, 1.0], [1.0, -z], fine.ravel() * one) for z, one in zip(values, b, strict=True)]
        return (np.stack(modal, axis=1) @ vectors.T).real[::QUARTERS]
    x, path, place = np.zeros(8), np.empty((len(u), 8)), np.concatenate([phi[0], np.zeros(4)])
    for k, quarters in enumerate(fine.tolist()):
        path[k] = x
        for force in quarters:
            x = Ad @ x + Bd * (force - cubic * float(place @ x) ** 3)
    return path


def frame_of_twelve(seed: int, sensors: int, *, samples: int = 40_000, noise: float = 0.1) -> Truth:
    """Four floors that sway in two directions and twist, 9 to 85 Hz, 1 % damping, three random forces, 250 Hz."""
    rng, rate = np.random.default_rng(seed), 250.0
    row = np.array([[2.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])
    K, sizes = np.zeros((12, 12)), np.array([1.0, 1.5, 2.3]) * rng.uniform(0.97, 1.03, 3)
    for k, size in enumerate(sizes):
        K[k::3, k::3] = size * row
    for k, ecc in ((0, 0.15), (1, -0.1)):  # the centre of stiffness is not that of mass
        K[k::3, 2::3] += ecc * row * np.sqrt(sizes[0] * sizes[2])
        K[2::3, k::3] += ecc * row * np.sqrt(sizes[0] * sizes[2])
    values, phi = np.linalg.eigh(K)
    hertz = np.sqrt(values)
    hertz = 9.0 + 76.0 * (hertz - hertz[0]) / (hertz[-1] - hertz[0])
    w, lead = 2.0 * np.pi * hertz, 2500
    u, y = rng.normal(size=(samples + lead, 3)), 0.0
    for j in range(12):
        A = np.array([[0.0, 1.0], [-(w[j] ** 2), -0.02 * w[j]]])
        B = np.vstack([np.zeros(3), phi[[9, 10, 5], j]])
        step = scipy.linalg.expm(np.block([[A, B], [np.zeros((3, 5))]]) / rate)
        z, vectors = np.linalg.eig(step[:2, :2])
        b = np.linalg.solve(vectors, step[:2, 2:].astype(complex))
        x = np.stack([lfilter([0.0, 1.0], [1.0, -z[k]], u @ b[k]) for k in (0, 1)], axis=1) @ vectors.T
        y = y + np.outer(x.real @ A[1] + u @ B[1], phi[:, j])
    places = range(12) if sensors == 12 else [3, 4, 5, 9, 10, 11]
    u, y = u[lead:], np.asarray(y)[lead:][:, list(places)]
    y = y + noise * y.std(axis=0) * rng.normal(size=y.shape)
    names = [*(f"f{k + 1}" for k in range(3)), *(f"a{k + 1}" for k in range(y.shape[1]))]
    units = ["N"] * 3 + ["m/s^2"] * y.shape[1]
    return Truth(Record(np.arange(samples) / rate, np.hstack([u, y]), names, units), hertz, np.full(12, 0.01))


def wrong_modes(found: AutoIdentified, truth: Truth, *, frequency: float = 0.02, damping: float = 0.2) -> list[str]:
    """Errors of the sound modes: missing, wrong or found twice, and modes of the fit among them."""
    sound = found.sound_modes
    return compare_modes(sound.frequencies_hz, sound.damping_ratios, truth, frequency, damping)


def compare_modes(
    hertz: np.ndarray, ratios: np.ndarray, truth: Truth, frequency: float = 0.02, damping: float = 0.2
) -> list[str]:
    """The same for frequencies [Hz] and damping ratios; each is matched with one mode at most."""
    left, found = list(range(len(hertz))), dict[int, float]()
    apart = np.abs(np.asarray(hertz)[None, :] / truth.frequencies_hz[:, None] - 1.0)
    for i, j in np.column_stack(np.unravel_index(np.argsort(apart, axis=None), apart.shape)).tolist():
        if j in left and i not in found and apart[i, j] <= frequency:
            left.remove(j)
            found[i] = abs(float(ratios[j] / truth.damping_ratios[i]) - 1.0)
    texts = [f"missing: {f:.3f} Hz" for i, f in enumerate(truth.frequencies_hz) if i not in found]
    texts += [f"damping off: {truth.frequencies_hz[i]:.3f} Hz" for i, off in found.items() if off > damping]
    return texts + [f"no mode of the structure: {hertz[j]:.3f} Hz" for j in left]
