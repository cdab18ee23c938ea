"""Whether a structure is linear: decided by its residuals, by periodic lines, and by its modes at different levels.

residuals   The model is the best linear approximation: ŷ follows from the inputs alone, so sensor noise in e = y - ŷ is
            independent of every function of ŷ. Forces of nonlinear springs and dampers, as functions of the simulated
            displacements d and velocities v (d², d³, d|d|, v|v|), pass the modes of the model; the share of e that they
            explain, beyond the inputs themselves and beyond the same forces at other times, is distortion.
lines       distortion at lines that a periodic force leaves out (``periodic.py``)
backbone    frequency and damping ratio of every sound mode in parts of the record against its amplitude there

Schoukens and Ljung 2019 (best linear approximation); Kerschen and others 2006 (backbone, nonlinearity as a feedback).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DalembertError
from dalembert.core.findings import Finding
from dalembert.identify.auto.result import Backbone, Nonlinearity
from dalembert.identify.likelihood.refine import refine
from dalembert.identify.model.identified import Identified
from dalembert.identify.physical.sensor_places import kind_of_unit
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.periodic import PeriodicLines

STRONGEST = 6  # modes through which forces of nonlinear elements act
COMPONENTS = 2  # principal motions of the outputs that determine these forces
SHIFTS = (0.21, 0.34, 0.47, 0.58, 0.69, 0.83)  # of the record or the period: shifts of the forces for comparison
LAGS = 8  # past samples of the inputs whose effect is subtracted first
PARTS = 8  # of the record, for the backbone


def decide_nonlinearity(
    model: Identified, sound: Sequence[int], data: Data, lines: PeriodicLines | None, over_chance: float = 1.4,
    least_level: float = 1e-3,
) -> Nonlinearity:  # fmt: skip
    """The decision, its level and its reasons.

    over_chance : share of the residual explained, over the largest share of the same forces at other times: 1.1 at most
    in 14 linear records of the tests (1 and 10 % noise, random and periodic); with a spring 5 % stiffer 1.5 to 2.9 at
    10 % noise, 4 and more at 1 %.
    least_level : least significant level of distortion, relative to the output: it changes a frequency by 0.1
    %.
    """
    span = None if lines is None else lines.seconds / data.dt
    level, ratio = _regress_forces(model, data, span) if data.nu else (0.0, 0.0)
    by_residuals = ratio > over_chance and level > least_level
    by_lines = lines.distortion if lines is not None else 0.0
    curves = tuple(find_backbones(model, sound, data))
    bent = [curve for curve in curves if curve.significant]
    reasons = [
        *(["residuals"] if by_residuals else []),
        *(["lines"] if by_lines > least_level else []),
        *(["backbone"] if bent else []),
    ]
    levels = [level if by_residuals else 0.0, by_lines if by_lines > least_level else 0.0]
    return Nonlinearity(bool(reasons), tuple(reasons), max(levels), ratio, curves, bool(data.nu))


def describe_nonlinearity(found: Nonlinearity) -> list[Finding]:
    """The finding where the structure is not linear."""
    if not found.decided:
        return []
    size = f"distortion of {100 * found.level:.2g} % of the outputs" if found.level else "modes that change with level"
    bent = [curve for curve in found.backbones if curve.significant]
    change = ", ".join(
        f"{curve.frequency_hz:.4g} Hz changes by {100 * curve.change:+.2g} % from the smallest to the largest motion"
        for curve in bent
    )
    meaning = f" The mode at {change}." if bent else ""
    problem = (
        f"the structure is not linear: {size}.{meaning} The model is the best linear approximation at the level of "
        "this record. At another level frequencies and damping ratios differ, which their standard deviations do not "
        "include."
    )
    evidence = {"level": found.level, "reasons": list(found.reasons), "changes": [curve.change for curve in bent]}
    return [Finding("nonlinear", problem, evidence=evidence)]


# ---- residuals


def _regress_forces(
    model: Identified, data: Data, span: float | None, longest: int = 30_000, nothing: float = 1e-12,
    singular: float = 1e-8,
) -> tuple[float, float]:  # fmt: skip
    """Level of the explained distortion relative to the outputs, and its share over that by chance.

    span : samples of a period, within which forces are moved for comparison; of the record where None
    longest : samples that are examined
    nothing, singular : column of a force over the largest that the linear part left nothing of, and pivot over the
    first that is rounding of such columns of length one: differences of columns of 1e4 samples leave 1e-14.
    """
    k = int(np.argmax(data.lengths))
    u, y = data.u[k][:longest], data.y[k][:longest]
    system = model.system
    if not system.is_stable:
        return 0.0, 0.0
    simulated = model._simulate(model._delay_columns(u), y)
    e = y - simulated
    poles, forces = _simulate_forces(model, u)
    if not len(poles):
        return 0.0, 0.0
    linear = [np.roll(u, lag, axis=0) for lag in range(LAGS + 1)] + [_filter(u, poles)]
    base = np.linalg.qr(np.hstack(linear))[0]
    e = e - base @ (base.T @ e)
    begin = len(e) // 20  # the initial motion comes from the estimated initial state, not from the inputs
    power = np.maximum((y**2).mean(axis=0), 1e-300)
    shares = []
    for shift in (0.0, *SHIFTS):
        moved = np.roll(forces, int(shift * min(span or np.inf, len(forces))), axis=0)
        columns = np.hstack([moved, _filter(moved, poles)])
        columns = columns - base @ (base.T @ columns)
        columns = columns[begin:]
        size = np.linalg.norm(columns, axis=0)
        columns = columns[:, size > nothing * size.max(initial=1.0)]
        Q, R, _ = scipy.linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="economic", pivoting=True)
        rank = int(np.count_nonzero(np.abs(np.diag(R)) > singular * abs(R[0, 0])))
        projected = Q[:, :rank].T @ e[begin:]
        shares.append((projected**2).sum(axis=0) / len(e))
    powers = np.array(shares)  # (1 + shifts, ny) powers explained
    chance = powers[1:].max(axis=0)
    ratio = powers[0] / np.maximum(chance, 1e-300)
    best = int(np.argmax(ratio))
    level = np.sqrt(np.maximum(powers[0] - powers[1:].mean(axis=0), 0.0) / power)
    return float(level[best]), float(ratio[best])


def _simulate_forces(model: Identified, u: FloatArray) -> tuple[ComplexArray, FloatArray]:
    """Poles z of the strongest modes, and forces (N, k) as functions of simulated displacements and velocities."""
    system, dt = model.system, model.dt
    values, vectors = np.linalg.eig(system.A)
    values = values.astype(np.complex128)
    up = np.flatnonzero(values.imag > 0.0)
    if not len(up):
        return np.zeros(0, dtype=np.complex128), np.zeros((len(u), 0))
    b = np.linalg.solve(vectors, system.B.astype(np.complex128))[up]
    c = (system.C @ vectors)[:, up]
    z = values[up]
    size = np.linalg.norm(b, axis=1) * np.linalg.norm(c, axis=0) / np.sqrt(np.maximum(1.0 - np.abs(z) ** 2, 1e-12))
    strongest = np.sort(np.argsort(-size)[:STRONGEST])
    s = np.log(z) / dt
    kinds = [kind_of_unit(system.units.get(name, "")) or 0 for name in system.outputs]
    states = _respond(u, z, b)  # (N, modes)
    displacement = np.zeros((len(u), system.ny))
    velocity = np.zeros_like(displacement)
    for j, kind in enumerate(kinds):
        displacement[:, j] = 2.0 * (states @ (c[j] / s**kind)).real
        velocity[:, j] = 2.0 * (states @ (c[j] / s ** (kind - 1))).real
    d, v = _take_principal(displacement), _take_principal(velocity)
    forces = np.hstack([d**2 - (d**2).mean(axis=0), d**3, d * np.abs(d), v * np.abs(v)])
    return z[strongest], forces


def _respond(u: FloatArray, z: ComplexArray, b: ComplexArray) -> ComplexArray:
    from scipy.signal import lfilter

    columns = [lfilter([0.0, 1.0], [1.0, -pole], u @ row) for pole, row in zip(z, b, strict=True)]
    return np.stack(columns, axis=1)


def _filter(signals: FloatArray, poles: ComplexArray) -> FloatArray:
    """Signals (N, k) filtered by every pole: real and imaginary parts, (N, 2 k poles)."""
    from scipy.signal import lfilter

    filtered = [lfilter([0.0, 1.0], [1.0, -pole], signals, axis=0) for pole in poles]
    return np.hstack([component for signal in filtered for component in (signal.real, signal.imag)])


def _take_principal(motion: FloatArray) -> FloatArray:
    """The strongest principal motions, of unit size."""
    scaled = motion / np.maximum(motion.std(axis=0), 1e-300)
    turn = np.linalg.svd(scaled.T @ scaled)[0][:, :COMPONENTS]
    parts = scaled @ turn
    return np.asarray(parts / np.maximum(parts.std(axis=0), 1e-300))


# ---- backbone


def find_backbones(
    model: Identified, sound: Sequence[int], data: Data, varies: float = 1.5, periods: float = 25.0, samples: int = 20
) -> list[Backbone]:
    """Frequency and damping ratio of the sound modes in parts of the record, where their level varies.

    varies : largest over smallest level of the parts: below this ratio, the amplitude counts as constant.
    periods, samples : periods of a mode in a part, and samples per state.
    """
    modes = model.underdamped_modes()
    if not len(sound) or not model.system.is_stable:
        return []
    slowest = float(modes.frequencies_hz[list(sound)].min())
    shortest = int(max(periods / (slowest * model.dt), samples * model.order))
    count = min(PARTS, data.samples // max(shortest, 1))
    parts = [
        (u, y)
        for u_, y_ in zip(data.u, data.y, strict=True)
        for u, y in zip(*(_cut(block, count, shortest) for block in (u_, y_)), strict=True)
    ]
    if len(parts) < 3:
        return []
    level = np.array([np.sqrt((y**2).mean()) for _, y in parts])
    if level.max() < varies * level.min():
        return []
    pieces = []
    for (u, y), size in zip(parts, level, strict=True):
        local = data.replace(u=(u,), y=(y,))
        try:
            noise = model.noise_model or "output"
            refined = refine.quiet(model, local, noise=noise, iterations=5)
        except (DalembertError, np.linalg.LinAlgError):
            continue
        if refined.frequency_deviations_hz is None or refined.damping_deviations is None:
            continue
        pieces.append((size, refined))
    if len(pieces) < 3:
        return []
    return [curve for k in sound if (curve := _make_backbone(modes.frequencies_hz[k], k, pieces)) is not None]


def _cut(block: FloatArray, count: int, shortest: int) -> list[FloatArray]:
    pieces = max(1, min(count, len(block) // max(shortest, 1)))
    return [piece for piece in np.array_split(block, pieces) if len(piece) >= min(shortest, len(block))]


def _make_backbone(
    hertz: float, k: int, found: Sequence[tuple[float, Identified]], varies: float = 1.5, least_change: float = 1e-3,
    same: float = 0.1, significance: float = 5.0, known: float = 0.02,
) -> Backbone | None:  # fmt: skip
    """The curve of one mode; parts that do not determine it are left out.

    least_change, significance : standard deviations of a slope over the level, and the least change of a frequency over
    the range, relative.
    same, known : relative distance of a frequency of a part from that of the whole record, and its standard deviation,
    beyond which the part shows another mode or none: changes of a spring of 20 % move a frequency by 10 %.
    """
    rows = []
    for size, modes in found:
        f, zeta = modes.frequencies_hz, modes.damping_ratios
        if not len(f):
            continue
        near = int(np.argmin(np.abs(f - hertz)))
        assert modes.frequency_deviations_hz is not None and modes.damping_deviations is not None
        sd_f, sd_z = float(modes.frequency_deviations_hz[near]), float(modes.damping_deviations[near])
        if abs(f[near] / hertz - 1.0) < same and 0.0 < sd_f < known * hertz:
            rows.append((size, f[near], sd_f, zeta[near], sd_z))
    if len(rows) < 3:
        return None
    level, f, sd_f, zeta, sd_z = np.array(sorted(rows)).T
    if level[-1] < varies * level[0]:
        return None
    slope, error = _fit_line(level**2, f, sd_f)
    change = slope * (level[-1] ** 2 - level[0] ** 2) / hertz
    sure = abs(slope) > significance * error and abs(change) > least_change
    return Backbone(int(k), float(hertz), level, f, sd_f, zeta, sd_z, float(change), bool(sure))


def _fit_line(x: FloatArray, y: FloatArray, deviation: FloatArray) -> tuple[float, float]:
    """Weighted slope and its standard deviation, not smaller than that from the scatter about the line."""
    w = 1.0 / np.maximum(deviation, 1e-300) ** 2
    mean_x, mean_y = np.average(x, weights=w), np.average(y, weights=w)
    spread = float(w @ (x - mean_x) ** 2)
    slope = float(w @ ((x - mean_x) * (y - mean_y))) / max(spread, 1e-300)
    residual = y - mean_y - slope * (x - mean_x)
    scatter = float(w @ residual**2) / max(len(x) - 2, 1)
    return slope, float(np.sqrt(max(scatter, 1.0) / max(spread, 1e-300)))
